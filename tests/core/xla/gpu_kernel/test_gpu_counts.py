"""The kernel selects as the program that XLA compiles for a CPU."""

import numpy as np
import pytest
from harness import DISTINCT, trajectory

import jaxbandit as jb

T, RUNS = 30, 256
FAST = ["ucb1", "fair-learn", "kl-ucb", "uniform-random", "successive-elimination", "thompson", "t-fucb"]
TOO_LARGE = ["sliding-window-ucb"]  # the rounds of its window do not fit into registers


@pytest.mark.parametrize(
    "kind", [kind if kind in FAST else pytest.param(kind, marks=pytest.mark.slow) for kind in DISTINCT]
)
def test_the_same_selections(kind, problem, interpreted, caplog):
    expected = trajectory(problem(kind), kind, T, RUNS)
    interpreted()
    np.testing.assert_array_equal(trajectory(problem(kind), kind, T, RUNS), expected)
    assert ("is simulated without" in caplog.text) == (kind in TOO_LARGE)


MANY = np.random.default_rng(0).uniform(0.1, 0.9, (40, 4)).round(2).tolist()
FOUR = [0.3, 0.6, 0.5, 0.8]
OWN = np.random.default_rng(1).uniform(0.01, 0.2, (20, 4)).round(3).tolist()
# Arguments of `jb.Problem`, a policy, and settings
CASES = {
    "few seeds of many instances": ({"means": MANY}, "ucb1", {"seeds": 3}),
    "fractions of each instance": ({"means": MANY[:20], "fractions": OWN}, "fair-learn", {"seeds": 2}),
    "many seeds of some instances": ({"means": MANY[:2], "fractions": 0.1}, "fair-learn", {"seeds": 130}),
    "fractions of some instances": ({"means": MANY[:2], "fractions": OWN[:2]}, "fair-learn", {"seeds": 20}),
    "a grid": ({"means": FOUR}, {"kind": "ucb1", "exploration": [1.0, 2.0]}, {"seeds": 120}),
    "random ties": ({"means": FOUR, "fractions": 0.1}, "lfg", {"ties": "random"}),
    "sleeping arms": ({"means": FOUR, "availability": 0.7}, "ucb1", {}),
    "a table of availability": ({"means": FOUR, "availability": {"table": [[1, 0, 1, 1], [1, 1, 0, 1]]}}, "ucb1", {}),
    "means that change": ({"means": {"changes": [[1, FOUR], [9, FOUR[::-1]]]}}, "discounted-ucb", {}),
    "compensated sums": (
        {"means": {"changes": [[1, FOUR], [9, FOUR[::-1]]]}, "reward": {"kind": "gaussian", "sd": 0.3}},
        "ucb-v",
        {},
    ),
    "Gaussian rewards": ({"means": FOUR, "reward": {"kind": "gaussian", "sd": 0.3}}, "thompson", {}),
    "Beta rewards": ({"means": FOUR, "reward": "beta"}, "ucb1", {}),
    "a fixed delay": ({"means": FOUR, "delay": {"kind": "fixed", "d": 2}}, "ucb1", {}),
    "packet loss": ({"means": FOUR, "delay": {"kind": "packet-loss", "p": 0.5}}, "cucb-d", {}),
    "groups": (
        {"means": FOUR, "fractions": 0.05, "groups": [[0, 1], [2, 3]], "group_fractions": [0.2, 0.3], "penalties": 0.1}
        | {"group_penalties": [0.2, 0.2]},
        "hard-threshold-ucb",
        {},
    ),
    "sums of chances": ({"means": FOUR, "plays": 2, "merit": "power"}, "fcucb-d", {}),
}
QUICK = ["few seeds of many instances", "a fixed delay", "means that change", "fractions of some instances"]


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in CASES]
)
def test_the_same_results(name, interpreted, caplog):
    problem, policy, settings = CASES[name]
    settings = {"horizon": 20, "seeds": 40, "record": 5, **settings}
    expected = jb.simulate(problem, policy, **settings)
    interpreted()
    found = jb.simulate(problem, policy, **settings)
    assert "is simulated without" not in caplog.text
    np.testing.assert_array_equal(found.pulls, expected.pulls)
    for metric in expected.data_vars:
        if expected[metric].dtype.kind == "f":
            np.testing.assert_allclose(found[metric], expected[metric], rtol=1e-5, atol=1e-5, err_msg=metric)
