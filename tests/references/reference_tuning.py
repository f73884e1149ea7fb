"""Exact objectives of soft policies on two arms, by enumeration in float64, written from their definitions.

Rewards are 0 or 1 and every table of them is gone through; derivatives are taken by complex steps (Squire & Trapp
1998), which lose no digits: a function of the parameters that is written without absolute values and comparisons of
complex numbers has the derivative Im f(x + ih) / h.
"""

import itertools
import math
from fractions import Fraction

import numpy as np

STEP = 1e-30


def gradient(objective, parameters):
    """The objective and its derivative in each entry of the parameters, a mapping from names to lists."""
    value, slopes = None, {}
    for name, entries in parameters.items():
        slopes[name] = []
        for k in range(len(entries)):
            moved = {n: np.array(v, complex) for n, v in parameters.items()}
            moved[name][k] += STEP * 1j
            made = objective(moved)
            value = float(np.real(made))
            slopes[name].append(float(np.imag(made)) / STEP)
    return value, slopes


def softmax(scores, temperature):
    """Chances of the two arms, numbers or arrays `[runs]`; an arm of score None is chosen for sure, the lower first."""
    for k, score in enumerate(scores):
        if score is None:
            return [1.0 if j == k else 0.0 for j in range(len(scores))]
    highest = np.maximum(*(np.real(s) for s in scores))
    weights = [np.exp((s - highest) / temperature) for s in scores]
    return [w / (weights[0] + weights[1]) for w in weights]


class HardThreshold:
    """index + A [N < tau t], each arm once first (penalties paper, eq. 12)."""

    def __init__(self, parameters, tau):
        self.A, self.x, self.tau = parameters["penalties"], parameters["exploration"][0], tau

    def scores(self, t, N, S, below):
        return [
            None
            if played_never(N[k])
            else S[k] / N[k] + np.sqrt(self.x * math.log(t) / N[k]) + self.A[k] * below(self.tau[k] * t, N[k])
            for k in range(2)
        ]

    def update(self, shares):
        pass


class LFG:
    """Q + eta min(index, 1), Q(t) = max(Q(t-1) + tau - played, 0), Q(1) = tau; no initial pass (Li et al. 2019)."""

    def __init__(self, parameters, tau):
        self.eta, self.x, self.tau = parameters["eta"][0], parameters["exploration"][0], tau
        self.Q = [np.array(float(q), complex) for q in tau]

    def scores(self, t, N, S, below):
        made = []
        for k in range(2):
            n = np.where(np.real(N[k]) < 1, 1.0, N[k])
            index = S[k] / n + np.sqrt(self.x * math.log(t) / n)
            truncated = np.where((np.real(N[k]) == 0) | (np.real(index) > 1), 1.0, index)
            made.append(self.Q[k] + self.eta * truncated)
        return made

    def update(self, shares):
        grown = [q + float(tau) - p for q, tau, p in zip(self.Q, self.tau, shares, strict=True)]
        self.Q = [np.where(np.real(q) < 0, 0.0, q) for q in grown]


def played_never(count):
    return bool(np.all(np.real(count) == 0))


def penalized_regret(N, means, tau, penalties, T):
    """Penalties paper, eq. 10."""
    gaps = [max(means) - mu for mu in means]
    total = 0.0
    for k, gap in enumerate(gaps):
        quota = float(tau[k] * T)
        short = np.where(np.real(N[k]) < quota, quota - N[k], 0.0)
        total = total + gap * N[k] + penalties[k] * short - min(gap, penalties[k]) * quota
    return total


def relaxed(policy, parameters, means, tau, penalties, T, temperature, width):
    """The expected objective of the relaxed policy: arms get shares of rounds, and of their rewards."""
    tables = np.array(list(itertools.product([0, 1], repeat=2 * T)), float).reshape(-1, 2, T).transpose(1, 2, 0)
    chance = np.prod([np.where(tables[k] == 1, means[k], 1 - means[k]).prod(axis=0) for k in range(2)], axis=0)
    runs = tables.shape[-1]

    def received(arm, count):
        """The reward of a real number of plays: that of the complete plays, then a part of the next."""
        count_floor = np.floor(np.real(count)).astype(int)
        sums = np.concatenate([np.zeros((1, runs)), tables[arm].cumsum(axis=0), np.zeros((1, runs))])
        following = np.concatenate([tables[arm], np.zeros((2, runs))])
        at = np.arange(runs)
        return sums[count_floor, at] + (count - count_floor) * following[count_floor, at]

    def below(quota, count):
        return 1 / (1 + np.exp(-(math.ceil(quota) - 0.5 - count) / width))

    def objective(parameters):
        rule = policy(parameters, tau)
        N = [np.zeros(runs, complex) for _ in range(2)]
        for t in range(1, T + 1):
            S = [received(k, N[k]) for k in range(2)]
            p = softmax(rule.scores(t, N, S, below), temperature)
            N = [N[k] + p[k] for k in range(2)]
            rule.update(p)
        return np.sum(chance * penalized_regret(N, means, tau, penalties, T))

    return gradient(objective, parameters)


def softened(policy, parameters, means, tau, penalties, T, temperature):
    """The expected objective of the softened policy: every sequence of arms and rewards, with its chance."""

    def below(quota, count):
        return 1.0 if Fraction(int(np.real(count))) < quota else 0.0

    def objective(parameters):
        total = 0.0
        for arms in itertools.product([0, 1], repeat=T):
            for rewards in itertools.product([0, 1], repeat=T):
                rule, N, S, chance = policy(parameters, tau), [0, 0], [0.0, 0.0], 1.0
                for t, (arm, reward) in enumerate(zip(arms, rewards, strict=True), start=1):
                    p = softmax(rule.scores(t, N, S, below), temperature)[arm]
                    chance = chance * p * (means[arm] if reward else 1 - means[arm])
                    if chance == 0:
                        break
                    N[arm] += 1
                    S[arm] += reward
                    rule.update([float(k == arm) for k in range(2)])
                else:
                    total = total + chance * penalized_regret(N, means, tau, penalties, T)
        return total

    return gradient(objective, parameters)
