"""The benchmark `benchmarks/tuning/random_problems.py`: its verdicts, its search, and its problems."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks.tuning.problem_generator import FAMILIES, Measured, draw_problem
from benchmarks.tuning.random_problems import Judged, read_value, verdict
from benchmarks.tuning.rivals import EvolutionStrategy

NOISE = np.tile([-1.0, 1.0], 500)  # its standard error is 0.032


@pytest.mark.parametrize(
    ("minimised", "limited", "budget", "reason"),
    [
        ([50.2, 50.0], [19.0, 19.0], 20.0, ""),  # 0.4 % above the rival
        ([50.3, 50.0], [19.0, 19.0], 20.0, "objective"),  # 0.6 %
        ([50.0, 50.0], [20.15, 19.0], 20.0, ""),  # within 0.5 % and 3 standard errors: 20.195
        ([50.0, 50.0], [20.25, 19.0], 20.0, "budget"),
        ([60.0, 50.0], [19.0, 21.0], 20.0, ""),  # the rival exceeds the budget
        ([60.0, 50.0, 55.0], [19.0, 21.0, 19.0], 20.0, "objective"),
        ([60.0, 50.0], [0.0, 0.0], None, "objective"),
        ([1.0, 1.0], [-1.5, 1.0], -2.0, "budget"),
    ],
)
def test_verdict(minimised, limited, budget, reason):
    runs = [np.array(means)[:, None] + NOISE for means in (minimised, limited)]
    assert verdict(Judged(*runs), budget) == reason


def test_differences_within_their_noise_are_not_lost():
    """The objective is 10 % above that of the rival, but by less than 3 standard errors of the paired difference."""
    runs = np.stack([1.1 + 2 * NOISE, 1.0 - 0 * NOISE])
    assert verdict(Judged(runs, 0 * runs), None) == ""


def test_evolution_strategy_minimises_a_rotated_ellipsoid():
    rng = np.random.default_rng(1)
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    scales = np.geomspace(1, 100, 6)

    def values(points):
        return (((points - 1.0) @ turn * scales) ** 2).sum(1)

    search = EvolutionStrategy(np.zeros(6), 0.5, 24, rng)
    for _ in range(150):
        points = search.ask()
        search.tell(points, np.argsort(values(points)))
    assert values(search.mean[None])[0] < 1e-8


@pytest.mark.slow
def test_budgets_bind():
    """Some common values meet the budget; the one that minimises the objective does not."""
    task = draw_problem(3, quick=True)  # eta of lfg
    measured = Measured.of(task, task.values, 256, key=1)
    inside = measured.limited <= task.budget
    assert inside.any()
    assert not inside[measured.minimised.argmin()]


@pytest.mark.parametrize("family", FAMILIES)
def test_values_are_read_back(family):
    for seed in range(3):
        task = FAMILIES[family](seed, np.random.default_rng(seed), 600)
        value = np.arange(1.0, task.numbers + 1)
        assert read_value(task.policy_at(value), task.parameter) == value.tolist()
