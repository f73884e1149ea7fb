"""Pages of results whose policies differ in the problem, in parameters per arm, or in the number of their digits."""

import shlex

import numpy as np
import pytest
import xarray as xr

import jaxbandit as jb
from jaxbandit.cli import main

pytestmark = pytest.mark.browser


def commands(page):
    """The command of each policy in the table, by its label."""
    found = {}
    for button in page.locator("#results tbody th button").all():
        button.click()
        found[page.locator("#point h2").inner_text()] = page.locator("#point code").inner_text()
    return found


def check_commands(results, opened, folder, monkeypatch):
    """The command of each policy simulates that policy alone, with the same pulls of every run."""
    folder.mkdir()
    results.to_netcdf(folder / "results.nc", engine="h5netcdf")
    found = commands(opened.go(jb.dashboard(results).save(folder / "results.html"), view="table"))
    assert set(found) == set(results.policy.values.tolist())
    monkeypatch.chdir(folder)
    for label, command in found.items():
        assert main([*shlex.split(command)[1:], "--force", "--quiet"]) == 0
        with xr.open_dataset(folder / "point/results.nc") as again:
            assert again.policy.values.tolist() == [label]
            np.testing.assert_array_equal(again.pulls.values[0], results.pulls.sel(policy=label).values)
            np.testing.assert_array_equal(again.fractions.values, results.fractions.sel(policy=label).values)


def test_commands_of_parameters_per_arm_and_of_many_digits(opened, folder, monkeypatch):
    results = jb.simulate(
        {"means": [0.5, 0.9, 0.3], "fractions": 0.1},
        [{"kind": "lfg", "eta": [[1.0, 5.0, 9.0], [2.0, 3.0, 1 / 3]]}],
        grid={"problem": {"fractions": [1 / 7, 0.123456789012345]}},
        horizon=60,
        seeds=3,
        metrics=["r_regret"],
    )
    assert results.sizes["policy"] == 4
    check_commands(results, opened, folder / "digits", monkeypatch)


def test_commands_of_results_with_a_stopping_rule(opened, folder, monkeypatch):
    results = jb.simulate(
        {"means": [0.9, 0.5, 0.3]},
        ["ucb1", "uniform-random"],
        grid={"problem": {"fractions": [0.1, 0.2]}},
        horizon=100,
        seeds=4,
        until="regret_stderr<0.4",
    )
    assert results.sizes["seed"] > 20
    check_commands(results, opened, folder / "until", monkeypatch)


@pytest.fixture(scope="module")
def varied():
    grid = {"problem": {"fractions": [0.05, 0.3], "means": [[0.9, 0.5, 0.3], [0.2, 0.4, 0.6]]}}
    return jb.simulate({"means": [0.9, 0.5, 0.3], "fractions": 0.05}, ["fucb"], grid=grid, horizon=500, seeds=5)


def test_arms_are_those_of_the_policys_problem(opened, varied, folder):
    file = jb.dashboard(varied).save(folder / "varied.html")
    for place, label in enumerate(varied.policy.values.tolist()):
        page = opened.go(file, view="arms", armpolicy=place)
        legend = page.locator("#charts .legend").last.inner_text()
        means = varied.means.sel(policy=label, instance=0).values
        assert [f"arm {k}, μ = {mu:g}" in legend for k, mu in enumerate(means)] == [True] * 3


def test_guarantees_are_marked_for_each_policy_where_they_differ(opened, varied, folder):
    file = jb.dashboard(varied).save(folder / "guarantees.html")
    marks = opened.go(file, view="arms").locator("svg .guaranteed")
    assert marks.count() == 3 * varied.sizes["policy"]
    heights = [round(float(mark.get_attribute("y1")), 1) for mark in marks.all()]
    assert len(set(heights)) == 2  # 25 and 150 selections
    page = opened.go(file, view="arms", hide="1.3" if varied.fractions[1].max() > 0.1 else "2.3")
    assert page.locator("svg .guaranteed").count() in (3, 6)


@pytest.mark.parametrize("logarithmic", [0, 1])
def test_missed_guarantees_and_wide_intervals_are_in_sight(opened, folder, logarithmic):
    problem = jb.Problem([0.9, 0.5], fractions=[0, 0.9])
    results = jb.simulate(problem, ["uniform-random"], horizon=1000, seeds=2, metrics=["regret"])
    page = opened.go(jb.dashboard(results).save(folder / "missed.html"), view="arms", logpulls=logarithmic)
    lines = page.locator("#charts svg").first.locator("line.guaranteed, g line")
    assert min(float(line.get_attribute("y1")) for line in lines.all()) >= 12
    assert min(float(line.get_attribute("y2")) for line in lines.all()) >= 12


def test_a_logarithmic_axis_without_a_positive_value(opened, folder):
    problem = jb.Problem([0.9, 0.5, 0.3], fractions=0.05)
    results = jb.simulate(problem, ["fucb", "uniform-random"], horizon=500, seeds=5)
    assert float(results.max_deficit.isel(round=-1).max()) < 0
    file = jb.dashboard(results).save(folder / "negative.html")
    page = opened.go(file, view="tradeoffs", x="max_deficit", y="regret", logx=1)
    assert "2 points have values at or below 0" in page.locator("#body").inner_text()
    opened.go(file, view="curves", metric="max_deficit", logvalues=1)
    assert "<svg" in opened.saved("Save SVG: max_deficit")


def test_a_metric_with_capitals_is_a_condition_of_the_filter(opened, folder):
    class Cost(jb.Metric, name="MyCost"):
        def value(self, now):
            return 3.0 * now.pulls[0]

    results = jb.simulate(jb.Problem([0.9, 0.5]), ["ucb1", "moss"], horizon=100, seeds=4, metrics=["MyCost", "regret"])
    page = opened.go(jb.dashboard(results).save(folder / "capitals.html"), view="table")
    page.fill("#choice-filter", "MyCost<100000")
    assert page.get_by_text("2 of 2 rows at T = 100").count() == 1
    page.fill("#choice-filter", "MyCost<0")
    assert page.get_by_text("0 of 2 rows at T = 100").count() == 1
