"""Utility, the metric of the opportunities paper, against its definition, and the family of its lower bound."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import reference_transfer
from harness import plain_opportunity
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import judge

import jaxbandit as jb
from jaxbandit.environment.ground_truth import ground_truth_of
from jaxbandit.environment.hard_instances import lower_bound_family
from jaxbandit.metrics.optimal_allocations import optimal_utility

MEANS = [0.31, 0.62, 0.5, 0.83]
FUNCTIONS = {
    "uniform": "uniform",
    "linear": "linear",
    "piecewise-linear": {"kind": "piecewise-linear", "eps": 0.2, "scale": 4.0},
    "constant": {"kind": "constant", "gamma": 0.11},
    "zero": "zero",
}
cents = st.integers(0, 100).map(lambda n: Fraction(n, 100))


def utilities(problem, counts, rewards, t):
    """Utility and its regret of one run, by the package's metrics."""
    sums = {"reward": np.full((1, 1, 1), float(sum(rewards)))}
    counts = np.array(counts)[None, :, None, None]
    return judge(["utility", "utility_regret"], counts, np.array([t]), ground_truth_of(problem, 10), None, sums)


@given(
    mu=st.lists(cents, min_size=3, max_size=3),
    cost=st.lists(cents.map(lambda x: 2 * x), min_size=3, max_size=3),
    split=st.lists(st.integers(0, 12), min_size=3, max_size=3).filter(sum),
    f=st.sampled_from(["uniform", "linear", "zero", "constant", "piecewise-linear"]),
)
@settings(deadline=None, max_examples=150)
def test_utility_is_that_of_the_paper(mu, cost, split, f):
    t, floats = sum(split), [float(x) for x in mu]
    problem = jb.Problem(floats, penalties=[float(x) for x in cost], opportunity=FUNCTIONS[f])
    shares = [Fraction(x) for x in plain_opportunity(problem.opportunity, 3).value(mu)]
    values = utilities(problem, split, [1] * min(split), t)
    assert values["utility"].item() == pytest.approx(
        float(reference_transfer.utility(split, [1] * min(split), t, shares, cost)), abs=1e-12
    )
    best = reference_transfer.optimum(t, mu, shares, cost)
    mine = reference_transfer.utility(split, [m * n for m, n in zip(mu, split, strict=True)], t, shares, cost)
    assert values["utility_regret"].item() == pytest.approx(float(best - mine), abs=1e-12)


@given(
    mu=st.lists(cents, min_size=3, max_size=3),
    cost=st.lists(cents.map(lambda x: 2 * x), min_size=3, max_size=3),
    f=st.lists(st.integers(0, 8), min_size=3, max_size=3).filter(lambda parts: 0 < sum(parts) <= 24),
    t=st.integers(1, 9),
)
@settings(deadline=None, max_examples=80)
def test_no_allocation_beats_the_optimum_but_by_fractions(mu, cost, f, t):
    """Against every allocation of t rounds; where all t f_k are integers, the optimum is the best of them."""
    f = [Fraction(part, 24) for part in f]
    arrays = [np.array([[float(x)] for x in row]) for row in (mu, f, cost)]
    best = optimal_utility(*arrays, [t]).item()
    splits = [(a, b, t - a - b) for a, b in itertools.product(range(t + 1), repeat=2) if a + b <= t]
    others = [
        reference_transfer.utility(list(n), [m * k for m, k in zip(mu, n, strict=True)], t, f, cost) for n in splits
    ]
    parts = [t * share - int(t * share) for share in f]
    gains = [max(0, part * a - (max(mu) - m)) for part, a, m in zip(parts, cost, mu, strict=True)]
    assert best <= float(max(others)) + 1e-12
    assert best >= float(max(others) - sum(gains)) - 1e-12
    if not any(parts):
        assert best == pytest.approx(float(max(others)), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("f", ["uniform", "linear", "softmax"])
@pytest.mark.parametrize("cost", [0.0, 0.4, 0.8])
def test_the_optimum_is_not_beaten_in_expectation(f, cost):
    """Mean utility of 100 runs against the optimum: by chance 4 standard errors fail once in 30,000, here 27 times."""
    problem = jb.Problem([0.2 + 0.15 * i for i in range(6)], penalties=cost, opportunity=f)
    results = jb.simulate(problem, ["self-regulated", "fairness-aware-etc", "ucb1"], horizon=1200, seeds=100, record=1)
    best = optimal_utility(problem.means, problem.opportunities(), problem.penalties, [1200]).item()
    means, errors = results.utility.values[:, 0, -1], results.utility_stderr.values[:, 0, -1]
    assert (means <= best + 4 * errors).all()
    assert (results.utility_regret_final >= -1e-9).all()  # 1200 f(mu) is near enough to an integer here


LOST, LATE = {"kind": "packet-loss", "p": 0.4}, {"kind": "geometric", "p": 0.1}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plays", "delay"),
    [
        (3, LOST),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((1, LATE), (1, LOST), (3, LATE), (1, "none"))),
    ],
    ids=str,
)
def test_utility_counts_rewards_when_they_are_drawn(plays, delay):
    """Rewards equal to the means: their sum is sum mu N, whether they have arrived or not."""
    problem = jb.Problem(MEANS, plays=plays, penalties=0.3, opportunity="linear", delay=delay, reward="constant")
    results = jb.simulate(problem, "ucb1", horizon=60, seeds=5, metrics=["utility"])
    earned = (results.pulls * results.means).sum("arm")
    withheld = (60 * results.opportunities - results.pulls).clip(min=0).sum("arm")
    np.testing.assert_allclose(results.utility_final, earned - 0.3 * withheld, rtol=1e-6)


# The lower-bound family


def test_the_lower_bound_family_is_that_of_the_paper():
    eps = 2.0 * 8000 ** (-1 / 3)
    family = lower_bound_family(arms=3, horizon=8000, scale=1.5, c=2.0)
    rows = {tuple(row) for row in family.means.T.tolist()}
    expected = set()
    for j in range(3):
        for low in itertools.product([True, False], repeat=2):
            others = [0.5 if x else (1 + eps) / 2 for x in low]
            expected.add((*others[:j], 1.0, *others[j:]))
    assert family.instances == 12
    assert rows == expected
    shares = np.where(family.means == 0.5, 0.0, np.where(family.means == 1.0, 1.5 * eps / 3, 1.5 * eps / 6))
    np.testing.assert_allclose(family.opportunities(), shares, atol=1e-12)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"arms": 1, "horizon": 10}, r"arms = 1: must be a whole number from 2 to 12"),
        ({"arms": 3, "horizon": 0}, r"horizon = 0"),
        ({"arms": 3, "horizon": 1000, "c": 6.0}, r"c = 6\.0: must be at most T\^\(1/3\) / 2 = 5"),
        ({"arms": 3, "horizon": 1000, "scale": 30.0}, r"scale = 30\.0"),
    ],
    ids=str,
)
def test_a_family_that_cannot_be_is_refused(given, says):
    with pytest.raises(jb.InputError, match=says):
        lower_bound_family(**given)


@pytest.mark.slow
def test_the_worst_regret_of_the_family_grows_like_two_thirds():
    """K = 3, c = 4, L = 2: 16 runs of 12 instances. Where no arm is in S, opportunities worth (K-1) c L / (4 K) T^(2/3)
    are withheld, except for the black box's own plays, some log T, and a term in T^(1/3): 3 % by T = 1e4."""
    horizons, worst = [10_000, 100_000, 1_000_000], []
    for horizon in horizons:
        family = lower_bound_family(arms=3, horizon=horizon, scale=2.0, c=4.0)
        results = jb.simulate(family, "self-regulated", horizon=horizon, seeds=16, record=1, metrics=["utility_regret"])
        worst.append(float(results.utility_regret.max()))
        assert worst[-1] / horizon ** (2 / 3) == pytest.approx(2 * 4 * 2 / 12, rel=0.05)
    slope = np.polyfit(np.log(horizons), np.log(worst), 1)[0]
    assert abs(slope - 2 / 3) < 0.01
