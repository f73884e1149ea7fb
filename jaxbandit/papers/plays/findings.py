"""What the plays paper prints and does not hold as printed. The numbers use the paper's M arms and K plays."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction

import numpy as np

from jaxbandit.metrics.bounds.plays import bernoulli_divergence
from jaxbandit.papers.claim import Finding

_C4 = (0.03, 0.05, 0.07, 0.09, 0.11, 0.13, 0.15, 0.17)  # App. G.2
_LARGE = (0.05, 0.10, 0.20, 0.15, 0.10, 0.15, 0.20, 0.25)  # sec. 5.2
_THETA1 = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)

Counts = tuple[int, ...]


def _ucb1(counts: Counts, successes: Counts, t: int) -> list[float]:
    """The indices u(t) of eq. 8; 0 in round 0, and infinite for an arm that was never selected."""
    if t == 0:
        return [0.0] * len(counts)
    return [s / n + math.sqrt(2 * math.log(t) / n) if n else math.inf for n, s in zip(counts, successes, strict=True)]


def _algorithm_1(counts: Counts, successes: Counts, c: Fraction, t: int, plays: int) -> tuple[list[int], list[int]]:
    """The arms in the order of their indices u(t-1), and the arms that Algorithm 1 selects in round t."""
    index = _ucb1(counts, successes, t - 1)
    ranked = sorted(range(len(counts)), key=lambda arm: -index[arm])
    chosen, others = ranked[: plays - 1], ranked[plays - 1 :]
    behind = [arm for arm in others if c * (t - 1) > counts[arm]]
    last = max(behind, key=lambda arm: c * (t - 1) - counts[arm]) if behind else others[0]
    return ranked, [*chosen, last]


def _reserved(c_max: float, arms: int, plays: int) -> int:
    """The L of sec. 4: the least with c_max < L / (M - K + L)."""
    return next(j for j in range(1, plays + 1) if c_max < j / (arms - plays + j))


def _condition_of_algorithm_1() -> tuple[str, bool]:
    bound, largest = 1 / (8 - 3 + 1), max(_C4)
    words = f"the largest entry of c₄ and of c₅ is {largest:g}, the bound {bound:.4f}; sec. 4 gives L = "
    return f"{words}{_reserved(largest, 8, 3)}", largest >= bound


def _set_of_algorithm_2() -> tuple[str, bool]:
    plays, reserved = 3, _reserved(max(_LARGE), 8, 3)
    behind: set[int] = set()  # F(1): no arm has c_i * 0 - 0 > 0
    chosen = list(range(plays - reserved))  # C(1), of equal indices
    for_fairness = sorted(behind)[: min(len(behind), reserved)]
    for_index = sorted(behind - set(for_fairness))[: reserved - len(for_fairness)]
    selected = len({*chosen, *for_fairness, *for_index})
    return f"with L = {reserved}, round 1 selects {selected} of K = {plays} arms", selected < plays


def _two_optima() -> tuple[str, bool]:
    theta, c = np.array([0.9, 0.8, 0.7, 0.6]), np.array([0.1, 0.4, 0.4, 0.4])
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3)]
    held = np.array([[arm in pair for pair in pairs] for arm in range(4)], float)
    one, other = np.array([0.2, 0.2, 0.4, 0.2, 0.0]), np.array([0.4, 0.2, 0.2, 0.0, 0.2])
    feasible = all(np.all(held @ x >= c - 1e-12) and abs(x.sum() - 1) < 1e-12 for x in (one, other))
    rewards = [float(theta @ held @ x) for x in (one, other)]
    # Each bad share at its least and arm 1 with all that is left: no solution has a larger reward.
    largest = float(theta @ [2 - c[1:].sum(), *c[1:]])
    best = all(abs(reward - largest) < 1e-12 for reward in rewards)
    words = f"x and x' differ by up to {np.abs(one - other).max():.1f}, both satisfy (4) to (6), and both have reward "
    return f"{words}{largest:.2f}, the largest there is", feasible and best


def _condition_with_one_play() -> tuple[str, bool]:
    total = sum([Fraction(1, 2)] * 2)
    return f"the sum over j from K = 1 to M = 2 of c_j = 1/2 is {total}", total >= 1


def _strict_fairness() -> tuple[str, bool]:
    counts = [1] * 3 + [0] * 5  # after round 1
    failing = sum(math.floor(c) >= n for c, n in zip(_LARGE, counts, strict=True))
    return f"after round 1, ⌊c_i t⌋ < n is false for {failing} of 8 arms: both are 0", failing > 0


def _logarithm() -> tuple[str, bool]:
    t, a = 100, 2
    left, right = math.log(t * math.log(t) ** a), math.log(t + a * math.log(t))
    return f"at t = {t}, a = {a}: {left:.2f} and {right:.2f}; ln t + a ln ln t is {left:.2f}", left != right


def _empty_index() -> tuple[str, bool]:
    grid = np.linspace(0.5, 1, 100_001)[1:-1]
    found = int((bernoulli_divergence(np.full_like(grid, 0.5), grid) <= math.log(1)).sum())
    return f"of {grid.size:,} values q from 0.5 to 1, {found} have d(0.5, q) ≤ ln 1", found == 0


def _missed_arm() -> tuple[str, bool]:
    """All runs of Algorithm 1 with their chances: M = 3, K = 2, c = 0.45, means 0.9, 0.8 and 0.1."""
    c, theta, plays = Fraction(9, 20), (0.9, 0.8, 0.1), 2
    states: dict[tuple[Counts, Counts], float] = {((0, 0, 0), (0, 0, 0)): 1.0}
    missed = below = 0.0
    last = 8
    for t in range(1, last + 1):
        following: dict[tuple[Counts, Counts], float] = defaultdict(float)
        missed = below = 0.0
        for (counts, successes), chance in states.items():
            ranked, selected = _algorithm_1(counts, successes, c, t, plays)
            missed += chance * (0 not in selected)
            below += chance * (0 not in ranked[:plays])
            for rewards in range(4):
                n, s, weight = list(counts), list(successes), chance
                for place, arm in enumerate(selected):
                    reward = rewards >> place & 1
                    n[arm] += 1
                    s[arm] += reward
                    weight *= theta[arm] if reward else 1 - theta[arm]
                following[tuple(n), tuple(s)] += weight
        states = following
    words = f"in round t = {last}, P[1 ∉ Z(t)] is {missed:.4f} and P[1 ∉ B_K(t-1)] is {below:.4f}"
    return words, missed > below + 1e-9


def _rounds_at_quota() -> tuple[str, bool]:
    """One run of Algorithm 1: M = 4, K = 2, c = 0.3, means 0.9, 0.8, 0.2 and 0.1."""
    c, theta, rounds, start = Fraction(3, 10), (0.9, 0.8, 0.2, 0.1), 2_000, 10
    draw = np.random.default_rng(0).random((rounds, 4))
    counts, successes, at_quota = [0] * 4, [0] * 4, 0
    for t in range(1, rounds + 1):
        at_quota += t > start and counts[3] == math.floor(c * (t - 1))
        for arm in _algorithm_1(tuple(counts), tuple(successes), c, t, 2)[1]:
            counts[arm] += 1
            successes[arm] += int(draw[t - 1, arm] < theta[arm])
    bound = float(c * (rounds - start) + 1)
    words = f"arm 4 has n = ⌊c (t-1)⌋ in {at_quota:,} of the rounds {start + 1} to {rounds:,} of a run"
    return f"{words}; the bound is {bound:.0f}", at_quota > bound


def _sum_of_tails() -> tuple[str, bool]:
    eps, c, start, end = 0.1, 0.1, 20, 4_000
    total = sum(float(np.exp(-2 * np.arange(math.floor(c * t), t + 1) * eps**2).sum()) for t in range(start, end))
    bound = math.exp(-2 * c * (start - 1) * eps**2) / (4 * eps**2 * c)
    words = f"ε₁ = {eps}, c_j = {c}, T_0 = {start}: the sum up to T = {end:,} is {total:,.0f}"
    return f"{words}, the bound {bound:,.0f}", total > bound


def _pll_behind() -> tuple[str, bool]:
    """UCB-PLL with c = 0.1 and the constants of App. G.1, when it knows the means θ₁."""
    counts, queues = [0] * 8, [0.0] * 8
    largest, first, rounds = -math.inf, 0, 40_000
    for t in range(1, rounds + 1):
        root = math.sqrt(t)
        weights = [mean + 0.9 / root * queue for mean, queue in zip(_THETA1, queues, strict=True)]
        selected = sorted(range(8), key=lambda arm: -weights[arm])[:3]
        queues = [queue + 0.1 + 0.2 / root for queue in queues]
        for arm in selected:
            counts[arm] += 1
            queues[arm] -= 1
        queues = [max(queue, 0.0) for queue in queues]
        largest = max(largest, 0.1 * t - min(counts))
        first = first or (t if largest >= 1 else 0)
    return f"the largest c_i t - n reaches 1 in round {first:,}, and {largest:.1f} by t = {rounds:,}", largest >= 1


FINDINGS: tuple[Finding, ...] = (
    Finding(
        "plays-condition-of-algorithm-1",
        "Algorithm 1; Theorems 3.4 to 3.6; App. G.2",
        "Algorithm 1 is stated for c_i < 1/(M-K+1) for all i, and App. G.2 says: 'We run Fair-MMAB(K) algorithms with "
        "two different c settings'.",
        "c₄ and c₅ do not satisfy the condition, so no theorem of the paper covers these runs. Sec. 4 would take "
        "Algorithm 2 with L = 2. Measured in plays-19, Algorithm 1 keeps every arm within a round all the same.",
        "M = 8, K = 3, c₄ of App. G.2",
        _condition_of_algorithm_1,
    ),
    Finding(
        "plays-set-of-algorithm-2",
        "Algorithm 2",
        "Φ_C(t) = {i ∈ F(t) \\ Φ_F(t) | arms with L - η_F highest UCB indices}",
        "Where fewer than L arms are behind, F(t) \\ Φ_F(t) is empty and fewer than K arms are selected. The text of "
        "sec. 4, step 3, has the set that is meant: 'the arms which are not selected during steps 1) and 2)'. "
        "`fair-mmab` takes that.",
        "the setting of Fig. 5 in round 1",
        _set_of_algorithm_2,
    ),
    Finding(
        "plays-unique-optimum",
        "sec. 3.1, below eq. 6",
        "The linear optimization problem (3) with constraints (4)-(6) 'has a unique optimal solution'.",
        "The reward and the constraints depend on the shares of single arms alone, and several shares of super-arms "
        "can give these. The solution is unique where the condition of Theorem 3.1 holds.",
        "M = 4, K = 2, θ = (0.9, 0.8, 0.7, 0.6), c = (0.1, 0.4, 0.4, 0.4); shares of the pairs 12, 13, 14, 23, 34: "
        "x = (0.2, 0.2, 0.4, 0.2, 0), x' = (0.4, 0.2, 0.2, 0, 0.2)",
        _two_optima,
    ),
    Finding(
        "plays-condition-with-one-play",
        "sec. 3.1, below Corollary 3.2",
        "'the condition c_i ≤ 1/M for all i is often satisfied in practice, which in turn implies Σ_{j=K}^M c_j < 1'",
        "It implies this for K of 2 or more. With K = 1, which sec. 2 admits, c_i = 1/M gives a sum of 1.",
        "M = 2, K = 1, c = (1/2, 1/2)",
        _condition_with_one_play,
    ),
    Finding(
        "plays-theorem-4.1",
        "Theorem 4.1",
        "'Fair-MMAB(K)-MF satisfies [c_i t] < n_{i,t} for all i and all t.'",
        "⌊c_i t⌋ ≤ n_{i,t}, as in Theorem 3.4 and sec. 7.",
        "the setting of Fig. 5, t = 1",
        _strict_fairness,
    ),
    Finding(
        "plays-logarithm",
        "sec. 3.2, footnote 1",
        "'Note that ln(t ln^a t) = ln(t + a ln t).'",
        "ln(t ln^a t) = ln t + a ln ln t. `kl-ucb` takes this; for a = 0, as in the experiments, there is no "
        "difference.",
        "t = 100, a = 2",
        _logarithm,
    ),
    Finding(
        "plays-kl-ucb-index",
        "sec. 3.2, definition of the KL-UCB index",
        "u_i(t) = max{q > θ̂ | d(θ̂, q) ≤ ln(t ln^a t)/n} for t ≥ 1",
        "The set is empty for t = 1, and in every round in which θ̂ = 1. `kl-ucb` takes q ≥ θ̂.",
        "t = 1, n = 2, one success, a = 0",
        _empty_index,
    ),
    Finding(
        "plays-proof-of-theorem-3.5",
        "App. D, the first bound",
        "P[i ∉ Z(t)] ≤ P[i ∉ B_K(t-1)] for i ≤ K-1",
        "Algorithm 1 selects the arms of the K-1 highest indices. Arm i with the K-th highest is left out while "
        "another arm is behind, so the gap to arm K counts, too: `fair_mmab_ucb1_regret` and `fair_mmab_kl_ucb_regret` "
        "take the smaller of the gaps on both sides of arm K. The bound stays O(1), with another constant.",
        "M = 3, K = 2, θ = (0.9, 0.8, 0.1), c = 0.45, UCB1, ties to the lowest arm: all runs with their chances",
        _missed_arm,
    ),
    Finding(
        "plays-eq-28",
        "App. D, ii) and eq. 28",
        "ψ_j = Σ_{t > T_0} P[n_{j,t-1} = ⌊c_j (t-1)⌋] ≤ c_j (T - T_0) + 1",
        "An arm that waits for others further behind stays at its quota for several rounds. The proof bounds the "
        "number of rounds in which arm j is selected at its quota, and this is what the regret needs.",
        "M = 4, K = 2, θ = (0.9, 0.8, 0.2, 0.1), c = 0.3, UCB1, one run",
        _rounds_at_quota,
    ),
    Finding(
        "plays-proof-of-theorem-3.6",
        "App. E, ii)",
        "Σ_{t=T_0}^{T-1} Σ_{s=⌊c_j t⌋}^t exp(-2 s ε₁²) ≤ exp(-2 c_j (T_0-1) ε₁²) / (4 ε₁² c_j)",
        "Two geometric series give ε₁⁴ in the denominator. `fair_mmab_kl_ucb_regret` sums both. The bound stays O(1).",
        "ε₁ = 0.1, c_j = 0.1, T_0 = 20",
        _sum_of_tails,
    ),
    Finding(
        "plays-ucb-pll-fairness",
        "sec. 5.1.2",
        "'As observed, UCB-PLL satisfies the uniform fairness property.'",
        "With the constants of App. G.1 it does up to some horizon (plays-9). An arm whose mean is d below that of arm "
        "K is behind by (d/0.9 - 0.4) sqrt(t) rounds in the long run, which grows for d above 0.36; under θ₁ and θ₂ "
        "arm 8 has d = 0.5.",
        "θ₁, c_i = 0.1, UCB-PLL that knows the means",
        _pll_behind,
    ),
)
