"""What the penalties paper prints and does not hold as printed."""

from __future__ import annotations

import math

import numpy as np

from jaxbandit.metrics.bounds.penalties import hard_threshold_pulls
from jaxbandit.papers.claim import Finding

_TAU = np.array([0.1, 0.1])


def _critical_term() -> tuple[str, bool]:
    """The term of the critical arm in eq. 13 as printed and as it follows from the bound on E N_k."""
    gap, tau, horizon = 0.4, 0.1, 2_000
    printed = max(8 * math.log(horizon) / gap - tau * horizon, 0.0)
    counts = hard_threshold_pulls([[0.9], [0.5]], [[tau], [tau]], [[1.0], [1.0]], [horizon], constant=0.0)[0, 1, 0]
    right = gap * (counts - tau * horizon)
    return f"printed {printed:.1f}, gap times (bound on E N_2 minus its quota) {right:.1f} rewards", bool(
        printed < right
    )


def _fair_learn_share() -> tuple[str, bool]:
    """Selections of the worse arm under Fair-Learn with alpha = 10, constant rewards 1 and 0."""
    shares = []
    for horizon in (1_000, 10_000):
        counts = np.ones(2)
        for n in range(3, horizon + 1):
            behind = _TAU * (n - 1) - counts
            index = np.array([1.0, 0.0]) + np.sqrt(2 * math.log(n) / counts)
            counts[np.argmax(behind if behind.max() > 10 else index)] += 1
        shares.append(counts[1] / horizon)
    words = f"share of arm 2 with α = 10: {shares[0]:.4f} by T = 1,000 and {shares[1]:.4f} by T = 10,000, for τ = 0.1"
    return words, bool(0.1 - shares[1] <= 11 / 10_000)


def _lfg_share() -> tuple[str, bool]:
    """Selections of the worse arm under LFG with eta = 50, constant rewards 1 and 0."""
    shares = []
    for horizon in (2_000, 20_000):
        counts, queues = np.zeros(2), _TAU.copy()
        for n in range(1, horizon + 1):
            bonus = np.sqrt(2 * math.log(n) / np.maximum(counts, 1))
            index = np.where(counts > 0, np.minimum(np.array([1.0, 0.0]) + bonus, 1.0), 1.0)
            arm = int(np.argmax(queues + 50 * index))
            counts[arm] += 1
            queues = np.maximum(queues + _TAU - np.eye(2)[arm], 0)
        shares.append(counts[1] / horizon)
    words = f"share of arm 2 with η₀ = 50: {shares[0]:.4f} by T = 2,000 and {shares[1]:.4f} by T = 20,000, for τ = 0.1"
    return words, bool(0.1 - shares[1] <= 60 / 20_000)


def _hard_threshold_count(penalty_rate: float, horizon: int) -> int:
    """Selections of the worse arm under hard-threshold UCB with constant rewards 1 and 0."""
    counts = np.ones(2)
    for n in range(3, horizon + 1):
        index = np.array([1.0, 0.0]) + np.sqrt(2 * math.log(n) / counts) + penalty_rate * (counts < _TAU * n)
        counts[np.argmax(index)] += 1
    return int(counts[1])


def _direction() -> tuple[str, bool]:
    low, high = (_hard_threshold_count(rate, 10_000) for rate in (0.1, 1.0))
    words = f"arm 2 with quota 1,000 is selected {low} times at η = 0.1 and {high} times at η = 1, T = 10,000"
    return words, low < 500 < 999 <= high


def _any_round() -> tuple[str, bool]:
    counts = {horizon: _hard_threshold_count(0.1, horizon) for horizon in (1_000, 10_000)}
    lacks = [0.1 * horizon - count for horizon, count in counts.items()]
    words = f"arm 2 lacks {lacks[0]:.0f} rounds at T = 1,000 and {lacks[1]:.0f} at T = 10,000"
    return words, lacks[1] > 9 * lacks[0] > 0


FINDINGS: tuple[Finding, ...] = (
    Finding(
        "penalties-theorem-2",
        "Theorem 2, eq. 13",
        "The regret has the term (8 log T / Δ_k - τ_k T)_+ for each critical arm.",
        "The term that follows from the bound on E N_k is Δ_k (8 log T / Δ_k² - τ_k T)_+: a number of rounds is not a "
        "regret. The printed term is smaller.",
        "two arms with means 0.9 and 0.5, τ = 0.1, A = 1, T = 2,000",
        _critical_term,
    ),
    Finding(
        "penalties-theorem-3",
        "sec. 4.1, after Theorem 3",
        "Theorem 3 nearly guarantees the any-round fairness for all arms k in [K] up to O(log T).",
        "The theorem is about arms whose penalty exceeds their gap. Another arm lacks a share of its rounds for ever.",
        "two arms with constant rewards 1 and 0, τ = 0.1, A = 0.1",
        _any_round,
    ),
    Finding(
        "penalties-scale",
        "App. A, experiment D",
        "With η → 1 the three algorithms pay less attention to fairness; with η → 0 fairness is the priority.",
        "It is the other way round: the penalty rates are A_k = η, and α = (1 - η) τ T and η₀ = (1 - η) T vanish at "
        "η = 1. Section 6 has it right: arms become unfair as the scale decreases from 1.",
        "two arms with constant rewards 1 and 0, τ = 0.1, hard-threshold UCB",
        _direction,
    ),
    Finding(
        "penalties-fair-learn",
        "sec. 5, comparison with baselines",
        "Fair-Learn can enforce that each arm is played at the proportion τ_k only when α = 0.",
        "A fixed α costs at most α + 1 rounds per arm, so every proportion tends to at least τ_k.",
        "two arms with constant rewards 1 and 0, τ = 0.1, α = 10",
        _fair_learn_share,
    ),
    Finding(
        "penalties-lfg",
        "sec. 5, comparison with baselines",
        "LFG fails to guarantee the asymptotic fairness when η₀ > 0.",
        "With a fixed η₀ no queue grows far above η₀, so every proportion tends to at least τ_k (Li et al. 2019). It "
        "fails where η₀ grows with T, as η₀ = (1 - η) T does in experiment D.",
        "two arms with constant rewards 1 and 0, τ = 0.1, η₀ = 50",
        _lfg_share,
    ),
)
