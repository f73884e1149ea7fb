"""Policies and metrics beyond the five papers in plain Python and NumPy, as functions of the whole history of a run.

Written from the specification by somebody who had not seen the array code; `reference_beyond` plays runs with them.

`history` is the list of rounds 1..t-1; round s is history[s - 1], a dict with "selected" (arms), "arrived" (list of
(arm, reward, round in which it was selected), arrived at the end of round s), "chances" (K floats or None), "available"
(K bools). Everything is recomputed from the whole history in each call. Ties go to the lowest arm.
"""

import math
from fractions import Fraction

import numpy as np

# Shared small things


def exact(number):
    """The exact decimal that a number stands for, as a Fraction (tau is the decimal number the user wrote)."""
    if isinstance(number, Fraction):
        return number
    if isinstance(number, (int, np.integer)):
        return Fraction(int(number))
    return Fraction(repr(float(number)))


def selections_of(history, k):
    """N_k(t-1): how often arm k was selected in the rounds of history."""
    return sum(1 for entry in history for arm in entry["selected"] if arm == k)


def group_plays(history, group):
    """Plays of all arms of a group in the rounds of history."""
    return sum(selections_of(history, k) for k in group)


def group_of(groups, k):
    """The number of the group arm k is in, or None (an arm is in at most one)."""
    for g, group in enumerate(groups):
        if k in group:
            return g
    return None


def feedback_of(history, k):
    """(M_k, S_k): number and sum of the rewards of arm k that arrived in the rounds of history."""
    rewards = [reward for entry in history for arm, reward, _ in entry["arrived"] if arm == k]
    return len(rewards), math.fsum(rewards)


def discounted_feedback(history, k, discount):
    """(N'_k, S'_k): at a round's end N' = g N' + arrived, S' = g S' + their sum."""
    count, total = 0.0, 0.0
    for entry in history:
        rewards = [reward for arm, reward, _ in entry["arrived"] if arm == k]
        count = discount * count + len(rewards)
        total = discount * total + math.fsum(rewards)
    return count, total


def top(keys, available, L):
    """The L available arms with the largest keys, best first, ties to the lowest arm (fewer available: all)."""
    arms = [k for k in range(len(keys)) if available[k]]
    return sorted(arms, key=lambda k: (-keys[k], k))[:L]


def restrict(p, available):
    """Chances p restricted to the available arms and rescaled to sum 1 (nobody available: all zeros)."""
    kept = [float(p[k]) if available[k] else 0.0 for k in range(len(p))]
    total = math.fsum(kept)
    return [value / total for value in kept] if any(available) else kept


# Changing means: policies


def discounted_ucb(history, t, K, discount=0.99, exploration=2.0):
    """D-UCB scores S'/N' + sqrt(x log(max(sum N', 1)) / N') (Garivier & Moulines 2011, x = 4 xi B^2)."""
    # The paper plays each arm once first (as +infinity does) and has no floor of 1 under n_t and no 1e-30.
    feedback = [discounted_feedback(history, k, discount) for k in range(K)]
    log_term = math.log(max(math.fsum(count for count, _ in feedback), 1.0))
    scores = []
    for k in range(K):
        count, total = feedback[k]
        if selections_of(history, k) == 0:
            scores.append(math.inf)
        elif feedback_of(history, k)[0] == 0:  # selected, nothing back yet: one feedback of mean 0, not in sum N'
            scores.append(0.0 + math.sqrt(exploration * log_term / 1.0))
        elif count < 1e-30:
            scores.append(math.inf)
        else:
            scores.append(total / count + math.sqrt(exploration * log_term / count))
    return scores


def sliding_window_ucb(history, t, K, window=1000, exploration=2.0):
    """SW-UCB scores m + sqrt(x log(min(t, w)) / M), M and S of what arrived in rounds t-w..t-1 (x = xi B^2)."""
    recent = history[max(0, len(history) - window) :]
    log_term = math.log(min(t, window))
    scores = []
    for k in range(K):
        count, total = feedback_of(recent, k)
        if count == 0:
            if selections_of(recent, k) == 0:
                scores.append(math.inf)
                continue
            count, total = 1, 0.0
        scores.append(total / count + math.sqrt(exploration * log_term / count))
    return scores


def discounted_thompson(history, t, K, discount=0.99):
    """(a, b) of the draws Beta(1 + S', 1 + N' - S'); rewards in history are taken as binarised already."""
    a, b = [], []
    for k in range(K):
        count, total = discounted_feedback(history, k, discount)
        a.append(1.0 + total)
        b.append(1.0 + max(count - total, 0.0))  # the max only guards against rounding
    return a, b


# Policies that state chances


def importance_weighted_losses(history, K):
    """L_k: sum over arm k's feedbacks of (1 - r)/p, p the chance arm k was drawn with in the round it was selected."""
    losses = [[] for _ in range(K)]
    for entry in history:
        for arm, reward, selected_in in entry["arrived"]:
            losses[arm].append((1.0 - reward) / history[selected_in - 1]["chances"][arm])
    return [math.fsum(terms) for terms in losses]


def exp3(history, t, K, T, available, eta=None, mix=0.0):
    """Exp3 chances (1 - mix) w/sum w + mix/K, w_k = exp(-eta L_k), then restricted and rescaled (B. & C.-B. 2012)."""
    # Bubeck & Cesa-Bianchi's Exp3 has no mixing (mix = 0, the default) and no sleeping arms.
    if not any(available):
        return [0.0] * K
    if eta is None:
        eta = math.sqrt(2.0 * math.log(K) / (K * T))
    losses = importance_weighted_losses(history, K)
    if mix == 0:  # the same number; the shift among the available alone keeps it from being 0/0
        shift = min(losses[k] for k in range(K) if available[k])
        return restrict([math.exp(-eta * (losses[k] - shift)) if available[k] else 0.0 for k in range(K)], available)
    weights = [math.exp(-eta * (loss - min(losses))) for loss in losses]
    total = math.fsum(weights)
    return restrict([(1.0 - mix) * weight / total + mix / K for weight in weights], available)


def tsallis_inf(history, t, K, available):
    """Tsallis-INF chances p_k = 4/(eta_t (L_k - x))^2, eta_t = 2/sqrt(t), restricted (Zimmert & Seldin 2021)."""
    # x is found by bisection here (the array code: Newton): z = min L - x lies between 2/eta and 2 sqrt(K)/eta.
    if not any(available):
        return [0.0] * K
    eta = 2.0 / math.sqrt(t)
    losses = importance_weighted_losses(history, K)
    above = [loss - min(losses) for loss in losses]

    def chances_at(z):
        return [4.0 / (eta * (d + z)) ** 2 for d in above]

    low, high = 2.0 / eta, 2.0 * math.sqrt(K) / eta
    for _ in range(200):
        middle = (low + high) / 2.0
        if math.fsum(chances_at(middle)) > 1.0:  # the sum falls in z
            low = middle
        else:
            high = middle
    return restrict(restrict(chances_at((low + high) / 2.0), [True] * K), available)


def min_probability(q, floor, K, L):
    """Chances v + (1 - K v/L) q over a base policy's marginals q, which sum to L (Chen et al. 2020, L = 1 there)."""
    return [floor + (1.0 - K * floor / L) * q[k] for k in range(K)]


# Fair bandits, calibrated Thompson


def renewed_intervals(intervals, history, delta):
    """Intervals at the end of the last round s of history: arms with feedback in it are renewed, with t = s + 1."""
    # Joseph et al. start at [0, 1]; here on all of the line. They have no delays: here feedback renews an interval.
    s, renewed = len(history), list(intervals)
    for k in {arm for arm, _, _ in history[-1]["arrived"]}:
        count, total = feedback_of(history, k)
        radius = math.sqrt(math.log((math.pi * (s + 1)) ** 2 / (3.0 * delta)) / (2.0 * count))
        renewed[k] = (total / count - radius, total / count + radius)
    return renewed


def grow_chain(candidates, intervals):
    """All candidates whose interval is linked, through meeting intervals (ends included), to the highest upper end."""
    first = max(candidates, key=lambda k: (intervals[k][1], -k))
    chain = {first}
    grown = True
    while grown:
        grown = False
        for k in candidates:
            if k not in chain and any(
                intervals[k][0] <= intervals[j][1] and intervals[j][0] <= intervals[k][1] for j in chain
            ):
                chain.add(k)
                grown = True
    return chain


def fair_bandits_step(members, available, intervals, readmit):
    """(chain of the round, members afterwards): chain among the available members; the other available ones leave."""
    awake = {k for k in range(len(available)) if available[k]}
    if not awake:
        return set(), members
    candidates = members & awake
    chain = grow_chain(sorted(candidates if candidates else awake), intervals)
    if readmit:
        return chain, (members - awake) | chain
    return chain, members - (awake - chain)


def fair_bandits(history, t, K, available, delta=0.05, readmit=False):
    """FairBandits chances, uniform in the chain (Joseph et al. 2016); readmit: whether arms that left may come back."""
    members, intervals = set(range(K)), [(-math.inf, math.inf)] * K
    for s in range(1, t):
        _, members = fair_bandits_step(members, history[s - 1]["available"], intervals, readmit)
        intervals = renewed_intervals(intervals, history[:s], delta)
    chain, _ = fair_bandits_step(members, available, intervals, readmit)
    return [1.0 / len(chain) if k in chain else 0.0 for k in range(K)]


def calibrated_thompson_posterior(history, t, K):
    """(a, b) of the posterior Beta(1 + S, 1 + M - S); rewards in history are taken as binarised already."""
    # The prior is Beta(1, 1), as for Thompson sampling
    feedback = [feedback_of(history, k) for k in range(K)]
    return [1.0 + total for _, total in feedback], [1.0 + count - total for count, total in feedback]


def calibrated_thompson(history, t, K, available, theta, coins):
    """Chances given theta and coins: uniform among the available arms of largest x_k = [coins_k < theta_k]."""
    x = [1 if coins[k] < theta[k] else 0 for k in range(K)]
    best = max((x[k] for k in range(K) if available[k]), default=0)
    winners = [k for k in range(K) if available[k] and x[k] == best]
    return [1.0 / len(winners) if k in winners else 0.0 for k in range(K)]


# Groups


def fair_learn_groups(history, t, K, available, scores, L, tau, alpha, groups, phi):
    """fair-learn with groups: slot by slot the largest deficit above alpha, the rest by the index; in order taken."""
    own = [exact(tau[k]) * (t - 1) - selections_of(history, k) for k in range(K)]
    owed = [exact(phi[g]) * L * (t - 1) - group_plays(history, groups[g]) for g in range(len(groups))]
    tolerance = exact(alpha)
    taken = []
    while len(taken) < L:
        left = [k for k in range(K) if available[k] and k not in taken]
        if not left:
            break
        deficit = {}
        for k in left:
            g = group_of(groups, k)
            deficit[k] = own[k] if g is None else max(own[k], owed[g])
        due = [k for k in left if deficit[k] > tolerance]
        if due:
            largest = max(deficit[k] for k in due)
            tied = [k for k in due if deficit[k] == largest]
            sources = {group_of(groups, k) for k in tied}
            g = next(iter(sources))
            if len(sources) == 1 and g is not None and owed[g] == largest:  # all from one group: the index decides
                choice = top(scores, [k in tied for k in range(K)], 1)[0]
            else:
                choice = min(tied)
        else:
            choice = top(scores, [k in left for k in range(K)], 1)[0]
        taken.append(choice)
        g = group_of(groups, choice)
        if g is not None:
            owed[g] -= 1  # falls by one with every slot given in the round
    return taken


def queue(history, t, grows, arms):
    """Q(t) = max(Q(t-1) + grows - plays of `arms` in round t-1, 0), Q(0) = 0, nothing selected in round 0."""
    length = Fraction(0)
    for s in range(1, t + 1):
        served = 0 if s == 1 else sum(1 for arm in history[s - 2]["selected"] if arm in arms)
        length = max(length + grows - served, Fraction(0))
    return length


def lfg_groups(history, t, K, available, index_values, L, tau, eta, groups, phi):
    """lfg with groups: top L of Q_k + Q_group(k) + eta min(ucb_k, 1), best first (weights 1)."""
    group_queues = [queue(history, t, exact(phi[g]) * L, groups[g]) for g in range(len(groups))]
    keys = []
    for k in range(K):
        g = group_of(groups, k)
        q = queue(history, t, exact(tau[k]), [k]) + (Fraction(0) if g is None else group_queues[g])
        keys.append(q + exact(eta) * Fraction(float(min(index_values[k], 1.0))))
    return top(keys, available, L)


def hard_threshold_groups(history, t, K, available, index_values, L, tau, penalties, groups, phi, group_penalties):
    """hard-threshold-ucb with groups: top L of ucb_k + A_k [N_k < tau_k t] + A_g [N_g < phi_g L t], best first."""
    keys = []
    for k in range(K):
        key = index_values[k]
        if selections_of(history, k) < exact(tau[k]) * t:
            key = key + penalties[k]
        g = group_of(groups, k)
        if g is not None and group_plays(history, groups[g]) < exact(phi[g]) * L * t:
            key = key + group_penalties[g]
        keys.append(key)
    return top(keys, available, L)
