"""What the guarantees paper prints and does not hold as printed."""

from __future__ import annotations

import math

import numpy as np

from jaxbandit.papers.claim import Finding


def _r_regret(means: list[float], fractions: list[float], pulls: list[int]) -> float:
    """Definition 4, for given numbers of pulls."""
    mu, r, counts = (np.array(values, float) for values in (means, fractions, pulls))
    return float(((mu.max() - mu) * (counts - r * counts.sum())).sum())


def _zero_without_equality() -> tuple[str, bool]:
    """Three arms whose pulls differ from their quotas, and whose r-regret is 0."""
    pulls = [6, 3, 1]
    regret = _r_regret([1.0, 0.75, 0.5], [0.1, 0.1, 0.2], pulls)
    words = (
        f"T = 10, pulls {pulls}, quotas r T = [1, 1, 2]: r-regret {regret:g}, but arms 2 and 3 miss equality by 2 and 1"
    )
    return words, regret == 0 and pulls[1:] != [1, 2]


def _above_the_worst_case() -> tuple[str, bool]:
    """Two arms, of which the worse one is always pulled."""
    regret, bound = _r_regret([1.0, 0.0], [0.25, 0.25], [0, 4]), 4 * 1.0 * (1 - 0.5)
    return f"T = 4, arm 2 in every round: r-regret {regret:g}, bound {bound:g}", regret > bound


def _fixed_share_is_linear() -> tuple[str, bool]:
    """The r-regret of NAIVE with two arms whose means are 1 and 0, r = 0 and eps = 0.1, at two horizons."""
    regrets = [0.1 * horizon / 2 for horizon in (1_000, 1_000_000)]  # arm 2 gets half of the exploration: eq. 5
    rates = [
        regret / (horizon**2 * math.log(horizon)) ** (1 / 3)
        for regret, horizon in zip(regrets, (1_000, 1_000_000), strict=True)
    ]
    words = (
        f"r-regret {regrets[0]:,.0f} at T = 1,000 and {regrets[1]:,.0f} at T = 1,000,000; divided by (T² log T)^(1/3): "
        f"{rates[0]:.3g} and {rates[1]:.3g}"
    )
    return words, bool(regrets[1] / regrets[0] == 1000 and rates[1] > 3 * rates[0])


def _unclipped_eta_is_linear() -> tuple[str, bool]:
    """The selections of the worse of two arms under η-FUCB, η = 1, r = 0, with constant rewards 1 and 0."""
    counts = {clipped: [_worse_arm(clipped, horizon) for horizon in (1_000, 4_000)] for clipped in (False, True)}
    words = "; ".join(
        f"{'γ clipped at 0' if clipped else 'as printed'}: {at[0]} rounds of arm 2 by T = 1,000, {at[1]} by T = 4,000"
        for clipped, at in counts.items()
    )
    return words, counts[False][1] > 3.5 * counts[False][0] and counts[True][1] < 1.5 * counts[True][0]


def _worse_arm(clipped: bool, horizon: int) -> int:
    """N_2(T) of Alg. 4 by its own few lines."""
    counts, means = np.ones(2), np.array([1.0, 0.0])
    for t in range(3, horizon + 1):
        behind = np.minimum(-counts, 0.0) if not clipped else np.zeros(2)  # r (t-1) - N with r = 0
        index = means + np.sqrt(2 * math.log(t) / counts) + behind
        counts[np.argmax(index)] += 1
    return int(counts[1])


FINDINGS: tuple[Finding, ...] = (
    Finding(
        "guarantees-theorem-1",
        "Theorem 1",
        "The regret of NAIVE is O((T² ln T)^(1/3)), for the share ε of exploration that the algorithm takes as input.",
        "Any fixed ε > 0 gives a regret of at least (m/k) ε T times the sum of the gaps, eq. 5, which is linear in T. "
        "The theorem holds for the ε of its proof, which shrinks like (ln T / T)^(1/3) and depends on unknown gaps.",
        "two arms with means 1 and 0, r = 0, ε = 0.1",
        _fixed_share_is_linear,
    ),
    Finding(
        "guarantees-algorithm-4",
        "Alg. 4 and sec. 6",
        "η-FUCB adds η γ to the index, with γ = r (t-1) - N; even for large η its r-regret is logarithmic.",
        "γ falls without a bound for an arm that is ahead of its quota, so for any fixed η > 0 the rounds that are not "
        "guaranteed are shared among all arms, and the r-regret is linear in T. With γ clipped at 0 it is not.",
        "two arms with constant rewards 1 and 0, r = 0, η = 1",
        _unclipped_eta_is_linear,
    ),
    Finding(
        "guarantees-observation-1",
        "Observation 1",
        "An algorithm is optimal, with zero r-regret, if and only if E[N_i] = r_i T for every arm but the best.",
        "This holds for algorithms with E[N_i] >= r_i T for all arms. Section 3 calls any algorithm for the problem a "
        "FAIR S-MAB algorithm, and for those too many pulls of one arm may offset too few of another.",
        "three arms with means 1, 0.75 and 0.5, r = (0.1, 0.1, 0.2), T = 10",
        _zero_without_equality,
    ),
    Finding(
        "guarantees-theorem-5",
        "Theorem 5",
        "The r-regret of any FAIR S-MAB algorithm is at most T Δ_k (1 - Σ r_i).",
        "This holds for algorithms with E[N_i] >= r_i T for all arms. In general the rounds that arms lack to their "
        "quotas are added to T (1 - Σ r_i).",
        "two arms with means 1 and 0, r = (0.25, 0.25), T = 4",
        _above_the_worst_case,
    ),
)
