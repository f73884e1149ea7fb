"""What the opportunities paper prints and does not hold as printed."""

from __future__ import annotations

import numpy as np

from jaxbandit.environment.opportunities import Softmax
from jaxbandit.metrics.optimal_allocations import optimal_utility
from jaxbandit.papers.claim import Finding
from jaxbandit.papers.opportunities.theory import (
    ARMS,
    GAPS,
    LIPSCHITZ,
    MEANS,
    beta,
    printed_rate_of_theorem_2,
    pulls_of_phase_1,
    radius,
)

_ARM_3, _COST = 2, 0.4  # arm 3 of sec. 5, whose gap is 0.05 above this transfer cost


def shortest_horizon_with_opportunities(distance: float) -> int:
    """The smallest T at which phase 1 ends before T if estimated means are exact, for the arms of sec. 5."""
    times = np.arange(1_000, 2_000_000)
    return int(times[np.argmax(times >= ARMS * pulls_of_phase_1(times, distance))])


def _exploration_takes_every_round() -> tuple[str, bool]:
    first = shortest_horizon_with_opportunities(0.05)
    at_first, at_10_000 = (float(pulls_of_phase_1(t, 0.05)) for t in (first, 10_000))
    numbers = (
        f"at T = 10,000 phase 1 needs {at_10_000:,.0f} rounds per arm of {10_000 / ARMS:,.0f}; the smallest T at which "
        f"T/K suffices is {first:,}, with {at_first:,.0f} rounds per arm"
    )
    return numbers, at_10_000 > 10_000 / ARMS


def arm_3_is_withheld_from() -> int:
    """The smallest T, in steps of 1 %, from which phases 1 and 2 show that arm 3 has a gap above 0.4.

    Estimated means are taken to be exact.
    """
    half = np.geomspace(1e-4, 0.5, 4_000)  # of the confidence intervals of the means
    low, high = np.clip(MEANS[:, None] - half, 0, 1), np.clip(MEANS[:, None] + half, 0, 1)
    exponents = np.exp(np.stack([low, high]))
    totals = exponents.sum(axis=1, keepdims=True) - exponents  # of the other arms
    ranges = exponents[1] / (exponents[1] + totals[0]) - exponents[0] / (exponents[0] + totals[1])
    widest = ranges.max(axis=0)  # of the ranges of f_k over the box (App. A.5): that of the best arm, whose gap is 0
    times = np.geomspace(1e4, 1e9, 1_158)
    alpha = (ARMS * LIPSCHITZ["softmax"]) ** (2 / 3) * beta(times)
    reached = np.array([half[widest <= one].max() for one in alpha])
    of_phase_2 = 2 * np.log(times) / reached**2
    pulls = np.maximum(pulls_of_phase_1(times, np.abs(GAPS - _COST).min()), of_phase_2)
    known = GAPS[_ARM_3] - radius(times, pulls) >= _COST
    return int(times[np.flatnonzero(~known).max() + 1])


def _arm_3_gets_its_opportunities() -> tuple[str, bool]:
    first = arm_3_is_withheld_from()
    pulls = pulls_of_phase_1(1_000_000, 0.05)
    bound = float(GAPS[_ARM_3] - radius(1_000_000, pulls))
    share = float(np.asarray(Softmax().values_float64(MEANS[:, None]))[_ARM_3, 0])
    numbers = (
        f"at T = 1,000,000 the lower confidence bound on the gap of arm 3 is {bound:.3f} after phase 1, below λ = "
        f"{_COST}, so the arm gets its {share:.1%} of the rounds; the bound reaches λ from about T = {first:.2g} on"
    )
    return numbers, bound < _COST


def _uniform_does_not_change() -> tuple[str, bool]:
    times = np.array([6_000, 600_000])
    columns = MEANS[:, None], np.full((ARMS, 1), 1 / ARMS), np.full((ARMS, 1), 0.8)
    best = optimal_utility(*columns, times)[:, 0] / times
    in_turn = float(MEANS.mean())  # T/K rounds of each arm leave no opportunity withheld
    numbers = (
        f"all arms in turn have {in_turn:.3f} per round at every T that K divides, and the optimum has {best[0]:.3f} "
        f"at T = {times[0]:,} and {best[1]:.3f} at T = {times[1]:,}"
    )
    return numbers, bool(np.allclose(best, in_turn))


def _etc_explores_for_its_utility() -> tuple[str, bool]:
    horizon, cost, gap = 1_000, 0.6, 0.5
    printed = horizon - cost * horizon / 2
    utility = {pulls: horizon - gap * pulls - cost * (horizon / 2 - pulls) for pulls in (10, 100, 500)}
    in_words = ", ".join(f"{value:.0f} with N = {pulls}" for pulls, value in utility.items())
    return f"at T = {horizon:,} the utility is {in_words}; printed: at most {printed:.0f}", min(
        utility.values()
    ) > printed


def _theorem_1_without_exploration() -> tuple[str, bool]:
    pulls = 8 * 0.0 ** (2 / 3) * 1_000 ** (2 / 3) * np.log(1_000) ** (1 / 3)
    regret = {horizon: 0.5 * 0.1 * horizon / 2 for horizon in (1_000, 1_000_000)}
    in_words = ", ".join(f"{value:,.0f} at T = {horizon:,}" for horizon, value in regret.items())
    numbers = (
        f"L = 0 gives N = {pulls:g}; even with N = 1 the reward of arm 2 is 0 with probability 1/2, its gap is then "
        f"estimated as 1 > λ, and its T/2 opportunities are withheld: the regret is about {in_words}; the printed rate "
        "is 0"
    )
    return numbers, min(regret.values()) > 0


def _theorem_2_without_its_maximum() -> tuple[str, bool]:
    horizon = 1_000_000
    distance = 0.5 * horizon ** (-1 / 3)
    pulls = float(pulls_of_phase_1(horizon, distance))
    regret = (pulls - 1) * (0.5 - distance)
    printed = float(printed_rate_of_theorem_2(2, 0.0, horizon))
    numbers = (
        f"at T = {horizon:,} phase 1 has {pulls:,.0f} rounds per arm, which cost {regret:,.0f}; the printed rate is "
        f"{printed:g}"
    )
    return numbers, regret > printed


def _lemma_2_counts_rounds_per_arm() -> tuple[str, bool]:
    horizon, arms = 1_000_000, 2
    rounds = 8 * horizon * float(beta(horizon))
    half, accuracy = float(radius(horizon, rounds / arms)), float(beta(horizon))
    numbers = (
        f"at T = {horizon:,} with a gap equal to λ, after 8 Tβ = {rounds:,.0f} rounds in all the interval is λ ± "
        f"{half:.4f} with K = {arms}, and β = {accuracy:.4f}"
    )
    return numbers, half > accuracy


FINDINGS: tuple[Finding, ...] = (
    Finding(
        "opportunities-exploration",
        "sec. 5, Fig. 2",
        "The proportion of approximation rounds (phases 1 and 2) decreases, and that of phase 3 increases, as the "
        "horizon increases.",
        "Phase 1 ends after 8 log T/(d + β)² rounds per arm, d the distance of λ from the closest gap, β = T^(-1/3) "
        "log(T)^(1/3). Where K times that exceeds T, phases 1 and 2 take every round, and the shares do not change.",
        "K = 6, means 0.2 + 0.15 (i - 1), λ = 0.4 or 0.8 (d = 0.05 for both), α and β of Theorem 2, T = 10,000.",
        _exploration_takes_every_round,
    ),
    Finding(
        "opportunities-arm-3",
        "sec. 5, Fig. 2",
        "For λ = 0.4, it realizes that for arms 1, 2, and 3 (with Δ_i > λ = 0.4) paying the transfer cost is better.",
        "Phase 1 ends for an arm when its gap is known to be above λ - β, not above λ. Arm 3, with gap 0.45, gets its "
        "opportunities in phase 3 at every horizon that is too short for phase 2 to narrow the interval further.",
        "K = 6, means 0.2 + 0.15 (i - 1), f softmax with c = 1, λ = 0.4, α and β of Theorem 2, T = 1,000,000.",
        _arm_3_gets_its_opportunities,
    ),
    Finding(
        "opportunities-uniform",
        "sec. 5, Fig. 1c",
        "The expected utility increases with the horizon.",
        "It does not with f uniform at λ = 0.8: every phase gives all arms the same share of the rounds, as the "
        "optimum does, so that the average expected utility is the mean of all arms at every horizon.",
        "K = 6, means 0.2 + 0.15 (i - 1), f uniform, λ = 0.8, T = 6,000.",
        _uniform_does_not_change,
    ),
    Finding(
        "opportunities-utility-of-etc",
        "sec. 3",
        "The utility of ETC with optimized exploration parameter is T - λT/2 - o(1).",
        "It is T - λT/2 + (λ - Δ_2) N, more than printed: each of the N exploration rounds of arm 2 costs Δ_2 = 0.5 "
        "and saves λ = 0.6. With N = T/2, the best N for the utility, ETC has the optimum 0.75 T. The regret is 0.05 T "
        "for an N that is chosen for the rewards, and small against T.",
        "K = 2, means (1, 1/2), λ = 0.6, f = 1/2, T = 1,000; arm 1 taken as found.",
        _etc_explores_for_its_utility,
    ),
    Finding(
        "opportunities-rate-of-theorem-1",
        "Theorem 1",
        "With N = 8 L^(2/3) T^(2/3) log(T)^(1/3), Algorithm 1 has a regret of O(K L^(2/3) T^(2/3) log(T)^(1/3)) on any "
        "instance.",
        "The estimated gaps have errors of the order L^(-1/3) T^(-1/3) log(T)^(1/3), and on each depend up to T rounds "
        "of an arm, so the rate needs a further term L^(-1/3) T^(2/3) log(T)^(1/3). Where f is constant (L = 0), N is "
        "0 and the regret is linear. In this package N is at least 1.",
        "K = 2, means (1, 1/2), λ = 0.6, f = 1/2.",
        _theorem_1_without_exploration,
    ),
    Finding(
        "opportunities-rate-of-theorem-2",
        "Theorem 2",
        "Algorithm 2 has a regret of O(K^(5/3) L^(2/3) T^(2/3) log(T)^(1/3)) on any instance.",
        "The rate is K max(1, (K L)^(2/3)) T^(2/3) log(T)^(1/3): phase 1 does not depend on L and costs up to the "
        "order of K T β. App. B of the paper gives an instance with L = 0 on which the regret is of order T^(2/3).",
        "K = 2, means 1 and (1 + T^(-1/3))/2, λ = 1/2, f = 1/T (the example of App. B).",
        _theorem_2_without_its_maximum,
    ),
    Finding(
        "opportunities-lemma-2",
        "App. A.4, Lemmas 2 and 3",
        "After at most 8 Tβ rounds, for every arm i either UCB(Δ_i) < λ + β or LCB(Δ_i) > λ - β. (The proof: after "
        "Tβ pulls of each arm.)",
        "It takes 8 Tβ pulls of each arm, K times as many rounds, as the proof of Theorem 2 and Lemma 3 have it.",
        "K = 2, a gap equal to λ, estimated without error.",
        _lemma_2_counts_rounds_per_arm,
    ),
)
