"""Means that change and metrics beyond the five papers, in plain Python and NumPy.

Written from the specification by somebody who had not seen the array code.
"""

import math
from fractions import Fraction

import numpy as np
from plain_beyond import exact

# Means that change


def fold(x, low, high):
    """x reflected at low and high as often as needed until it lies in [low, high]."""
    if low <= x <= high:
        return float(x)
    width = high - low
    if width == 0:
        return float(low)
    offset = (x - low) % (2.0 * width)  # Python's %: never negative
    return float(low + (offset if offset <= width else 2.0 * width - offset))


def walk(start, steps, low, high):
    """Rows of means [n + 1, K]: the start, then each row is the last one plus a step, folded into [low, high]."""
    rows = [[float(value) for value in start]]
    for step in np.asarray(steps, dtype=float):
        rows.append([fold(rows[-1][k] + float(step[k]), low, high) for k in range(len(start))])
    return np.array(rows)


def means_by_round(changes, T):
    """Means [T, K] from [[1, row], [t2, row], ...]: a row holds from its round until the next."""
    result = []
    for t in range(1, T + 1):
        result.append([row for first, row in changes if first <= t][-1])
    return np.array(result, dtype=float)


# Metrics


def best_sum(values, L):
    """The sum of the L largest values (fewer than L: of all)."""
    return math.fsum(sorted((float(v) for v in values), reverse=True)[:L])


def dynamic_regret(selections, means, L):
    """Cumulative sum of (L largest mu(s)) - (mu(s) of the selected), against all arms; [T]."""
    T, K = np.shape(selections)
    rounds = [best_sum(means[s], L) - math.fsum(means[s][k] for k in range(K) if selections[s][k]) for s in range(T)]
    return np.cumsum(rounds)


def dynamic_r_regret(selections, means, tau, L=1):
    """Cumulative sum over rounds and arms of gap_k(s) (selected_k(s) - tau_k), gap_k = max mu - mu_k; L unused."""
    T, K = np.shape(selections)
    rounds = []
    for s in range(T):
        best = max(means[s])
        rounds.append(math.fsum((best - means[s][k]) * (int(selections[s][k]) - float(tau[k])) for k in range(K)))
    return np.cumsum(rounds)


def awake_regret(selections, means, available, L):
    """As dynamic_regret, against the L best available arms of the round (fewer available: all of them)."""
    T, K = np.shape(selections)
    rounds = []
    for s in range(T):
        best = best_sum([means[s][k] for k in range(K) if available[s][k]], L)
        rounds.append(best - math.fsum(means[s][k] for k in range(K) if selections[s][k]))
    return np.cumsum(rounds)


def fair_chances(mu, merit, L):
    """p*_k = L f(mu_k) / sum f(mu) (002 eq. 4)."""
    merits = [float(merit(float(value))) for value in mu]
    return [L * value / math.fsum(merits) for value in merits]


def dynamic_reward_regret(chances, means, merit, L):
    """Cumulative sum of max(sum_k (p*_k(s) - p_k(s)) mu_k(s), 0) (002 eq. 5 with p*(s)); [T]."""
    T, K = np.shape(means)
    rounds = []
    for s in range(T):
        target = fair_chances(means[s], merit, L)
        rounds.append(max(math.fsum((target[k] - chances[s][k]) * means[s][k] for k in range(K)), 0.0))
    return np.cumsum(rounds)


def dynamic_fairness_regret(chances, means, merit, L):
    """Cumulative sum of sum_k abs(p*_k(s) - p_k(s)) (002 eq. 6 with p*(s)); [T]."""
    T, K = np.shape(means)
    rounds = []
    for s in range(T):
        target = fair_chances(means[s], merit, L)
        rounds.append(math.fsum(abs(target[k] - chances[s][k]) for k in range(K)))
    return np.cumsum(rounds)


def group_deficits(selections, groups, phi, L):
    """phi_g L t - (plays of group g in rounds 1..t), exact Fractions in an object array [T, G]."""
    T = len(selections)
    result = np.empty((T, len(groups)), dtype=object)
    for g, group in enumerate(groups):
        for t in range(1, T + 1):
            plays = sum(int(selections[s][k]) for s in range(t) for k in group)
            result[t - 1, g] = exact(phi[g]) * L * t - plays
    return result


def group_unfairness(selections, groups, phi, L):
    """sum_g (phi_g L t - N_g)+ at each round; [T]."""
    deficits = group_deficits(selections, groups, phi, L)
    return np.array([float(sum(max(d, Fraction(0)) for d in row)) for row in deficits])


def group_max_deficit(selections, groups, phi, L):
    """max_g (phi_g L t - N_g) at each round, not clipped at 0; [T]."""
    return np.array([float(max(row)) for row in group_deficits(selections, groups, phi, L)])


def group_max_deficit_ever(selections, groups, phi, L):
    """Running maximum of group_max_deficit over rounds 1..t; [T]."""
    return np.maximum.accumulate(group_max_deficit(selections, groups, phi, L))


def nash_regret(counts, mu, t):
    """max mu - exp(sum_k N_k log mu_k / t), of one run (Barman et al. 2022 take the expectation inside)."""
    played = [k for k in range(len(mu)) if counts[k] > 0]  # 0 log 0 = 0
    if any(mu[k] == 0 for k in played):
        return float(max(mu))  # the mean is 0
    return max(mu) - math.exp(math.fsum(counts[k] * math.log(mu[k]) for k in played) / t)


def p_mean_regret(counts, mu, t, p):
    """max mu - (sum_k N_k mu_k^p / t)^(1/p), of one run; p = 0 is Nash; through logs, for large abs(p)."""
    if p == 0:
        return nash_regret(counts, mu, t)
    played = [k for k in range(len(mu)) if counts[k] > 0]
    if p < 0 and any(mu[k] == 0 for k in played):
        return float(max(mu))
    logs = [p * math.log(mu[k]) + math.log(counts[k] / t) for k in played if mu[k] > 0]
    if not logs:  # nothing but arms of mean 0 played, p > 0 (or nothing at all)
        return float(max(mu))
    largest = max(logs)
    return max(mu) - math.exp((largest + math.log(math.fsum(math.exp(value - largest) for value in logs))) / p)


def price_of_fairness(mu, tau, L):
    """(best without - best with)/best without; with: y raised from tau to 1 in order of mu until sum y = L."""
    without = sum(sorted((exact(value) for value in mu), reverse=True)[:L])
    y = [exact(value) for value in tau]
    budget = L - sum(y)
    for k in sorted(range(len(mu)), key=lambda k: (-mu[k], k)):
        raised = min(1 - y[k], budget)
        y[k] += raised
        budget -= raised
    best_with = sum(exact(mu[k]) * y[k] for k in range(len(mu)))
    return float((without - best_with) / without) if without != 0 else 0.0
