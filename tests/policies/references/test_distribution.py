"""In distribution: pulls and metrics of 1000 runs against 1000 runs of the plain reference with NumPy's own numbers.

Each comparison of two means is held to 5 standard errors of their difference: by chance it fails once in 1.7
million; the roughly 330 comparisons here once in 5,000 choices of the seeds (which are fixed).
"""

from fractions import Fraction

import numpy as np
import pytest
import reference
from harness import PLAIN, PROPORTIONAL, TRANSFER, plain_merit, plain_opportunity
from sweeps import swept

import jaxbandit as jb

RUNS, T = 1000, 40
MEANS, TAU, PENALTIES = [0.45, 0.9, 0.7, 0.2], [0.13, 0.05, 0.2, 0.11], [0.3, 0.6, 0.1, 0.9]


class Numbers:
    """What a reference draws from, from one NumPy generator."""

    def __init__(self, rng):
        self._rng = rng

    def uniform(self, slots=1, attempt=0, depth=0):
        return self._rng.uniform(size=slots).tolist()

    def normal(self, slots=1, depth=0):
        return self._rng.normal(size=slots).tolist()

    def beta(self, a, b, depth=0):
        return self._rng.beta(a, b).tolist()


def reference_pulls(kind, rng, problem, runs, horizon):
    tau = [Fraction(str(x)) for x in TAU]
    pulls = np.zeros((runs, len(MEANS)))
    own = {}
    if kind in PROPORTIONAL:
        own["merit"] = plain_merit(problem.merit)
    if kind in TRANSFER:
        own["opportunity"] = plain_opportunity(problem.opportunity, problem.arms)
    for run in range(runs):
        policy = reference.make(
            kind, K=len(MEANS), T=horizon, tau=tau, A=PENALTIES, numbers=Numbers(rng), plays=problem.plays, **own
        )
        for t in range(1, horizon + 1):
            selected = policy.select(t, [True] * len(MEANS))
            policy.arrived_from = [t] * len(selected)
            policy.receive(t, selected, [(k, float(rng.uniform() < MEANS[k])) for k in selected])
            pulls[run, selected] += 1
    return pulls


def metrics_of(pulls, plays, horizon):
    """The metrics of final counts `[runs, K]`, by their definitions."""
    mu, tau, a = (np.array(x) for x in (MEANS, TAU, PENALTIES))
    gap, quota = mu.max() - mu, tau * horizon
    missing = quota - pulls
    return {
        "regret": horizon * np.sort(mu)[-plays:].sum() - pulls @ mu,
        "penalized_regret": (gap * pulls + a * np.maximum(missing, 0) - np.minimum(gap, a) * quota).sum(1),
        "r_regret": (gap * -missing).sum(1),
        "unfairness": np.maximum(missing, 0).sum(1),
        "max_deficit": missing.max(1),
    }


def assert_same_distribution(kind, problem, runs=RUNS, horizon=T):
    ours = jb.simulate(problem, kind, horizon=horizon, seeds=runs, key=2026)
    theirs = reference_pulls(kind, np.random.default_rng(1), problem, runs, horizon)
    pairs = {f"pulls of arm {k}": (ours.pulls.values[0, 0, :, k], theirs[:, k]) for k in range(len(MEANS))}
    expected = metrics_of(theirs, problem.plays, horizon)
    pairs |= {name: (ours[f"{name}_final"].values[0, 0], value) for name, value in expected.items()}
    for name, (a, b) in pairs.items():
        error = np.sqrt(a.var(ddof=1) / runs + b.var(ddof=1) / runs)
        assert abs(a.mean() - b.mean()) <= 5 * error + 1e-9, f"{name}: {a.mean()} and {b.mean()}, error {error}"


# Policies that draw numbers, one per way of drawing. The others differ in formulas, which references check
DRAWING = (
    *("epsilon-greedy", "thompson", "calibrated-thompson", "naive"),
    *("fair-random", "ucb-lp", "exp3", "min-probability"),
)


@pytest.mark.parametrize("kind", swept(PLAIN, DRAWING))
def test_same_distribution(kind):
    assert_same_distribution(kind, jb.Problem(MEANS, fractions=TAU, penalties=PENALTIES))


@pytest.mark.parametrize(
    "kind",
    swept(
        [
            *("fair-mmab", "ucb-lp", "ucb-pllp", "lfg", "fair-learn", "thompson"),  # of the plays paper
            *("fcts-d", "op-fcts-d", "fgreedy-d", "opse"),  # of the merit paper
        ],
        ["fcts-d", "fgreedy-d"],
    ),
)
def test_same_distribution_of_two_plays(kind):
    world = jb.Problem(MEANS, fractions=TAU, penalties=PENALTIES, plays=2, merit="power")
    assert_same_distribution(kind, world)


@pytest.mark.slow
@pytest.mark.parametrize("kind", TRANSFER)
def test_same_distribution_of_phases(kind):
    f = "uniform" if kind == "constant-opportunity" else "softmax"
    assert_same_distribution(kind, jb.Problem(MEANS, fractions=TAU, penalties=PENALTIES, opportunity=f))


@pytest.mark.parametrize("kind", swept(["fcucb-d", "op-fcucb-d"], ["fcucb-d"]))
def test_same_distribution_of_boxes(kind):
    """Their reference searches each box on a grid: 15 ms a round."""
    world = jb.Problem(MEANS, fractions=TAU, penalties=PENALTIES, plays=2, merit="power")
    assert_same_distribution(kind, world, runs=100, horizon=12)
