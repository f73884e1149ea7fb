"""Numbers read off the page equal those of the results."""

import csv
import io
import shlex

import numpy as np
import pytest
import xarray as xr
from made_up import by_relevance
from scipy import stats

import jaxbandit as jb
from jaxbandit.cli import main

pytestmark = pytest.mark.browser

ROWS = "table => [...table.rows].map(row => [...row.cells].map(cell => cell.textContent))"
SIX_DIGITS = {"rtol": 6e-6, "atol": 1e-12}


def numbers(texts):
    return np.array([np.nan if text in ("", "none") else float(text) for text in texts])


def column(table, name, nth=0):
    header = table[0]
    place = [i for i, one in enumerate(header) if one == name][nth]
    return numbers([row[place] for row in table[1:]])


def test_curves_of_every_metric(opened, file, results):
    page = opened.go(file, view="curves")
    for name, label in by_relevance(results).items():
        page.select_option("#choice-metric", name)
        table = opened.table(label)
        assert column(table, "round t").tolist() == results["round"].values.tolist()
        for policy in results.policy.values.tolist():
            one = results.sel(policy=policy, instance=0)
            np.testing.assert_allclose(column(table, policy), one[name].values, **SIX_DIGITS)
            errors = column(table, f"{policy}: standard error")
            np.testing.assert_allclose(errors, one[f"{name}_stderr"].values, **SIX_DIGITS)


def test_the_saved_data_are_exact(opened, file, results):
    opened.go(file, view="curves", metric="regret")
    rows = list(csv.reader(io.StringIO(opened.saved("Save CSV: regret"))))
    one = results.sel(instance=0)
    for policy in results.policy.values.tolist():
        held = [float(row[rows[0].index(policy)]) for row in rows[1:]]
        assert held == one.regret.sel(policy=policy).values.tolist()
    opened.go(file, view="table")
    rows = list(csv.reader(io.StringIO(opened.saved("Save CSV: table"))))
    at = rows[0].index(results.unfairness.attrs["long_name"])
    named = {row[0]: [float(cell) for cell in row[at : at + 2]] for row in rows[1:]}
    assert [named[label][0] for label in one.policy.values] == one.unfairness.values[:, -1].tolist()
    assert [named[label][1] for label in one.policy.values] == one.unfairness_stderr.values[:, -1].tolist()


def test_bounds_beside_curves(opened, file, results):
    page = opened.go(file, view="curves", metric="r_regret")
    page.check("#choice-theory")
    problem = jb.Problem([0.5, 0.9, 0.3, 0.7], fractions=[0.1, 0.05, 0.2, 0.1], penalties=0.3)
    bounds = jb.bounds.bounds_for(problem, "fair-learn", "r_regret")
    assert bounds
    table = opened.table("r-regret")
    for bound in bounds:
        value = bound.value(problem, int(results["round"][-1]), results["round"].values)[:, 0]
        np.testing.assert_allclose(column(table, f"FUCB: {bound.source}"), value, **SIX_DIGITS)
        assert page.get_by_text(repr(bound).strip("<>")[:60]).count() == 1
    page.select_option("#choice-metric", "unfairness")
    assert page.locator("#choice-theory").is_disabled()


def test_a_point_under_the_pointer_and_its_command(opened, file, results, tmp_path, monkeypatch):
    """The tip has the parameters, the value and its interval; the command gives the same runs."""
    page = opened.go(file, view="curves", metric="regret")
    over = page.locator(".u-over")
    box = over.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + 3)  # above the largest curve at T
    lines = page.locator("#tip div, #tip strong").all_inner_texts()
    finals = results.regret.isel(round=-1, instance=0)
    label = str(results.policy.values[int(np.argmax(finals.values))])
    assert lines[0] == label
    facts = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
    assert facts["round t"] == "400"
    mean, half = (float(part) for part in facts["regret (reward)"].replace(" (95 % confidence)", "").split(" ± "))
    one = results.sel(policy=label).isel(round=-1, instance=0)
    width = stats.t.ppf(0.975, results.sizes["seed"] - 1)
    np.testing.assert_allclose([mean, half], [one.regret, width * one.regret_stderr], rtol=6e-3)
    np.testing.assert_allclose(mean, one.regret, **SIX_DIGITS)
    assert float(facts["eta"]) == float(one["policies.eta"])
    over.click(position={"x": box["width"] - 2, "y": 3})
    command = page.locator("#point code").inner_text()
    results.to_netcdf(tmp_path / "results.nc", engine="h5netcdf")
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)[1:]) == 0
    with xr.open_dataset(tmp_path / "point/results.nc") as again:
        assert again.policy.values.tolist() == [label]
        assert again.regret_final.values.tolist() == [results.regret_final.sel(policy=label).values.tolist()]


def test_keys_move_over_points(opened, file, results):
    page = opened.go(file, view="curves", metric="regret")
    chart = page.locator(".chart").first
    chart.focus()
    for key, label, place in (("End", 0, -1), ("ArrowLeft", 0, -2), ("ArrowDown", 1, -2), ("Home", 1, 0)):
        page.keyboard.press(key)
        tip = page.locator("#tip").inner_text()
        assert str(results.policy.values[label]) in tip
        assert f"round t: {int(results['round'][place])}" in tip
    page.keyboard.press("Enter")
    assert str(results.policy.values[1]) in page.locator("#point").inner_text()
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()


def test_arms(opened, file, results):
    page = opened.go(file, view="arms")
    table = opened.table("Selections of each arm")
    one = results.isel(instance=0)
    np.testing.assert_allclose(column(table, "selections by T"), one.pulls.mean("seed").values.ravel(), **SIX_DIGITS)
    error = one.pulls.std("seed", ddof=1).values.ravel() / np.sqrt(results.sizes["seed"])
    np.testing.assert_allclose(column(table, "standard error"), error, **SIX_DIGITS)
    page.select_option("#choice-armpolicy", "1")
    rounds = results["round"].values[results["round"].values >= 4]
    counts = one.pulls_mean.sel(policy="FUCB", round=rounds).values
    tau = results.fractions.values[0]
    for quantity, values in (
        ("fraction", counts / rounds),
        ("selections", counts),
        ("deficit", tau[:, None] * rounds - counts),
    ):
        page.select_option("#choice-quantity", quantity)
        table = opened.table("of each arm: FUCB")
        for arm, mean in enumerate(results.means.values[0]):
            read = column(table, f"arm {arm}, μ = {mean:g}")
            np.testing.assert_allclose(read, values[arm], rtol=6e-6, atol=2e-5)


def test_phases_and_instances(opened, instances_file, instances):
    page = opened.go(instances_file, view="phases")
    table = opened.table("Rounds in each phase")
    means = instances.phase_rounds.where(instances.phase_rounds >= 0).mean(("instance", "seed")).values
    np.testing.assert_allclose(column(table, "mean rounds"), means[np.isfinite(means)], **SIX_DIGITS)
    page.click("#view-curves")
    page.select_option("#choice-metric", "utility")
    page.get_by_label("instance 2", exact=True).check()
    table = opened.table("utility")
    for policy in instances.policy.values.tolist():
        one = instances.utility.sel(policy=policy)
        np.testing.assert_allclose(column(table, policy), one.mean("instance").values, **SIX_DIGITS)
        np.testing.assert_allclose(column(table, f"{policy}, instance 2"), one.sel(instance=2).values, **SIX_DIGITS)
        squares = (instances.utility_stderr.sel(policy=policy) ** 2).sum("instance").values
        np.testing.assert_allclose(column(table, f"{policy}: standard error"), squares**0.5 / 3, **SIX_DIGITS)


def test_intervals_are_those_of_the_runs_they_are_over(opened, instances_file, instances):
    """The interval of one instance has the degrees of freedom of its runs; that of the mean, those of all runs."""
    page = opened.go(instances_file, view="table", instances="0.2")
    rows = page.locator("#results").evaluate(ROWS)
    [place] = [i for i, text in enumerate(rows[0]) if text.startswith("utility (")]
    last = instances.isel(round=-1)
    for row in rows[1:]:
        one = last.sel(policy=row[0])
        _, half = (float(part) for part in row[place].split(" ± "))
        if row[rows[0].index("instance")].startswith("mean"):
            error, degrees = float((one.utility_stderr**2).sum()) ** 0.5 / 3, 3 * (instances.sizes["seed"] - 1)
        else:
            error, degrees = float(one.utility_stderr.isel(instance=1)), instances.sizes["seed"] - 1
        np.testing.assert_allclose(half, stats.t.ppf(0.975, degrees) * error, rtol=6e-3)
    assert len(rows) == 1 + 2 * instances.sizes["policy"]


def test_trade_offs_of_any_two_metrics(opened, file, results):
    page = opened.go(file, view="tradeoffs")
    for x, y in (("unfairness", "regret"), ("max_deficit", "penalized_regret")):
        page.select_option("#choice-x", x)
        page.select_option("#choice-y", y)
        labels = [results[name].attrs["long_name"] for name in (x, y)]
        table = opened.table(f"{labels[1]} against {labels[0]}")
        for nth, name in enumerate((x, y)):
            last = results[name].isel(round=-1, instance=0).values
            np.testing.assert_allclose(column(table, labels[nth]), last, **SIX_DIGITS)
            errors = results[f"{name}_stderr"].isel(round=-1, instance=0).values
            np.testing.assert_allclose(column(table, f"{labels[nth]}: standard error"), errors, **SIX_DIGITS)
    page.get_by_label("FUCB", exact=True).uncheck()
    table = opened.table(f"{labels[1]} against {labels[0]}")
    assert "FUCB" not in [row[0] for row in table]


def test_a_grid_with_sliders(opened, large_file, large):
    page = opened.go(large_file, view="grid", gridmetric="regret")
    page.select_option("#choice-gridx", "1")  # exploration across
    page.select_option("#choice-gridy", "0")  # eta up
    page.locator("#slider-2").fill("7")
    for chart in ("map", "sweep"):
        page.select_option("#choice-gridchart", chart)
        table = opened.table("regret (reward) at T")
        chosen = large.isel(policy=np.flatnonzero(large["policies.width"].values == 7.0), instance=0)
        assert len(table) - 1 == chosen.sizes["policy"] == 500
        np.testing.assert_allclose(column(table, "exploration"), chosen["policies.exploration"].values, **SIX_DIGITS)
        np.testing.assert_allclose(column(table, "regret (reward)"), chosen.regret.values[:, -1], **SIX_DIGITS)
    chart = page.locator(".chart")
    chart.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    first = chosen.isel(policy=1)
    tip = page.locator("#tip").inner_text()
    assert str(first.policy.values) in tip
    assert f"regret (reward): {float(f'{float(first.regret.values[-1]):.6g}'):g}" in tip


def test_the_table_begins_with_the_best_policy_and_marks_those_that_may_be(opened, file, results):
    page = opened.go(file, view="table")
    rows = page.locator("#results").evaluate(ROWS)
    finals = results.penalized_regret.isel(round=-1, instance=0)
    assert [row[0] for row in rows[1:]] == finals.policy.values[np.argsort(finals.values, kind="stable")].tolist()
    marks = {row[0]: row[rows[0].index("best")] for row in rows[1:]}
    kept = jb.grids.confidence_set(results, "penalized_regret").policy.values.tolist()
    assert {label for label, mark in marks.items() if mark} == set(kept)
    assert [label for label, mark in marks.items() if mark == "best"] == kept[:1]
    assert page.get_by_text("Best: by penalized regret (reward) at T.").count() == 1
    page.fill("#choice-filter", "best=best")
    assert page.locator("#results tbody tr").count() == 1
    opened.go(file, view="curves")
    assert kept[0] in page.locator("#best").inner_text()
    assert page.locator(".switches label.best").all_inner_texts() == kept[:1]


def test_the_table_sorts_and_filters(opened, large_file, large):
    page = opened.go(large_file, view="table")
    rows = page.locator("#results tbody tr")
    finals = large.regret.values[:, 0, -1]

    def shown():
        header = page.locator("#results thead th").all_inner_texts()
        place = next(i for i, text in enumerate(header) if text.startswith("regret (reward)"))
        texts = page.locator("#results").evaluate(ROWS)
        return [row[0] for row in texts[1:]], numbers([row[place].split(" ")[0] for row in texts[1:]])

    assert rows.count() == 100
    page.get_by_role("button", name="regret (reward)", exact=True).click()
    np.testing.assert_allclose(shown()[1], np.sort(finals)[:100], **SIX_DIGITS)
    page.get_by_role("button", name="regret (reward) ▲", exact=True).click()
    np.testing.assert_allclose(shown()[1], np.sort(finals)[::-1][:100], **SIX_DIGITS)
    page.click("#page-on")
    np.testing.assert_allclose(shown()[1], np.sort(finals)[::-1][100:200], **SIX_DIGITS)
    limit = float(np.sort(finals)[40])
    page.fill("#choice-filter", f"eta=8 regret<{limit}")
    kept = (large["policies.eta"].values == 8) & (finals < limit)
    assert sorted(shown()[0]) == sorted(large.policy.values[kept].tolist())
    page.fill("#choice-filter", "ucb1")
    assert shown()[0] == ["ucb1"]
    page.fill("#choice-filter", "no such policy")
    assert rows.count() == 0
