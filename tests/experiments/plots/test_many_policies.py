"""Figures and the summary of thousands of policies, and of grids over the problem."""

import numpy as np
import pytest
import xarray as xr
from made_up import T, by_relevance, crowd, grids_beside_ucb1, in_phases, lfg, runs, unranked
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgb

import jaxbandit as jb
from jaxbandit.experiments import grids as tables
from jaxbandit.experiments import summary
from jaxbandit.experiments.grids.ranking import policy_groups
from jaxbandit.experiments.plots import figures


@pytest.fixture(scope="module")
def results():
    return grids_beside_ucb1()


@pytest.fixture(scope="module")
def many(results):
    """Sixty copies of one policy, ucb1, and 24 copies of another: the most that are shown one by one."""
    return crowd(results, {lfg(1, 0.5): 60, "ucb1": 1, "short (eta=5)": 24})


def places(many, metric):
    """The labels of the sixty copies, from the smallest value of a metric to the largest."""
    inside = many.isel(policy=slice(60))
    scores = inside[f"{metric}_final"].mean(("instance", "seed")).values
    return inside.policy.values[np.argsort(scores, kind="stable")]


def best_short(many, metric):
    """The best of the 24 copies by a metric, without the name of its family."""
    scores = many[f"{metric}_final"].mean(("instance", "seed")).values[61:]
    best = np.argmax(scores) if metric == "utility" else np.argmin(scores)
    return str(many.policy.values[61 + best]).removeprefix("short (").removesuffix(")")


def test_curves_show_the_best_the_median_and_the_worst_of_a_large_group(many):
    figure = figures.curves(many)
    words = [f"lfg: {place} of 60" for place in ("best", "median", "worst")]
    for axis, name in zip(figure.axes, by_relevance(many), strict=True):
        lines = {line.get_label(): line for line in axis.lines if not line.get_label().startswith("_")}
        assert list(lines) == [*words, *many.policy.values[60:]]
        order = places(many, name)
        for word, label in zip(words, order[[0, 29, 59]], strict=True):
            np.testing.assert_allclose(
                lines[word].get_ydata(), many[name].sel(policy=label).mean("instance"), rtol=1e-12
            )
        shades = [sum(to_rgb(lines[word].get_color())) for word in words]
        assert shades == sorted(set(shades))
        assert to_rgb(lines[words[0]].get_color()) == pytest.approx(to_rgb(figures.COLOURS["lfg"]))  # darkest
        assert [text.get_text() for text in axis.texts] == [
            f"best short: {best_short(many, name)}",
            f"best lfg: {order[0].removeprefix('lfg (').removesuffix(')')}",
        ]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()][:4] == [*words, "ucb1"]
    assert legend.get_title().get_text().endswith("; ranked by each panel's metric at T")


def test_curves_of_chosen_metrics(results):
    figure = figures.curves(results, ["unfairness", "regret"])
    assert [axis.get_ylabel() for axis in figure.axes] == ["unfairness (missed rounds)", "regret (reward)"]
    for asked, message in (
        (["x"], "metrics = 'x'"),
        ("regret", r'a list of names, such as \["regret"\]'),
        ([], "at least"),
    ):
        with pytest.raises(jb.InputError, match=message):
            figures.curves(results, asked)


def test_pulls_show_three_of_a_large_group(many):
    axis = figures.pulls(many).axes[0]
    found = {container.get_label(): container[0].get_ydata() for container in axis.containers}
    words = [f"lfg: {place} of 60" for place in ("best", "median", "worst")]
    assert list(found) == [*words, *many.policy.values[60:]]
    assert axis.figure.legends[0].get_title().get_text().endswith("; ranked by penalized regret at T")
    order = np.argsort(-many.means.values, axis=1)[None, :, None]
    counts = np.take_along_axis(many.pulls.values, order, axis=3).mean(axis=(1, 2))
    np.testing.assert_allclose(found["ucb1"], counts[60])
    np.testing.assert_allclose(found[words[0]], counts[0])  # copies: each has the pulls of the first


def test_without_metrics_policies_keep_their_order(many):
    axis = figures.pulls(unranked(many)).axes[0]
    labels = [container.get_label() for container in axis.containers]
    assert labels[:4] == ["lfg: first of 60", "lfg: middle of 60", "lfg: last of 60", "ucb1"]
    assert "ranked" not in axis.figure.legends[0].get_title().get_text()


def test_policies_of_one_kind_are_a_group_too(many):
    ungrouped = many.assign_coords(family=("policy", many.policy.values))
    assert {name: len(held) for name, held in policy_groups(ungrouped).items()} == {"lfg": 84, "ucb1": 1}
    labels = [line.get_label() for line in figures.curves(ungrouped, ["regret"]).axes[0].lines]
    assert labels[:4] == ["lfg: best of 84", "lfg: median of 84", "lfg: worst of 84", "ucb1"]


def test_the_summary_lists_the_ten_best_of_a_large_group(many):
    lines = summary.table(many, full_table="table.csv").splitlines()
    assert [line.split("  ")[0] for line in lines[2:37]] == [
        *places(many, "penalized_regret")[:10],
        *many.policy.values[60:],
    ]
    assert lines[37].startswith("at T = 120: mean ± 95 % confidence over 2 instances × 20 runs")
    assert lines[38:] == ["lfg: the 10 best by penalized regret of 60 policies; all are in table.csv"]
    assert "lfg: the 10 first of 60 policies; all are in" in summary.table(unranked(many))


def test_the_tradeoff_of_a_large_group_is_a_cloud_with_its_front(many):
    axis, bar = figures.tradeoff(many).axes
    (points,) = [c for c in axis.collections if isinstance(c, PathCollection)]
    unfair = many.unfairness_final.mean(("instance", "seed")).values[:60]
    ideal = T * many.means.max("arm").mean().item()
    reward = ideal - many.regret_final.mean(("instance", "seed")).values[:60]
    np.testing.assert_allclose(points.get_offsets(), np.stack([unfair, reward], 1), rtol=1e-9)
    np.testing.assert_array_equal(points.get_array(), np.arange(60))
    assert bar.get_ylabel() == "number, lfg"
    front = next(line for line in axis.lines if line.get_label() == "lfg: front of 60")
    beaten = [
        ((unfair <= u) & (reward >= r) & ((unfair < u) | (reward > r))).any()
        for u, r in zip(unfair, reward, strict=True)
    ]
    expected = sorted(zip(unfair[~np.array(beaten)], reward[~np.array(beaten)], strict=True))
    np.testing.assert_allclose(front.get_xydata(), expected, rtol=1e-9)
    assert [c.get_label() for c in axis.containers] == ["ucb1", "short"]
    with pytest.raises(jb.InputError, match=r"colour = 'number': .* \(did you mean 'policies.number'"):
        figures.tradeoff(many, "number")


def test_ten_thousand_policies_draw_no_more_than_a_few(results):
    huge = crowd(results.isel(round=[0, -1]), {lfg(1, 0.5): 10_000, "ucb1": 1})
    assert len(figures.curves(huge, ["regret"]).axes[0].collections) == 4
    assert len(figures.pulls(huge).axes[0].containers) == 4
    assert len(summary.table(huge).splitlines()) == 2 + 11 + 2
    assert len(tables.table(huge)) == 2 * 10_001
    assert len(figures.tradeoff(huge).axes[0].containers) == 1


def test_phases_show_three_of_a_large_group():
    many = crowd(in_phases(), {"ucb1": 30, "fairness-aware-etc": 30})
    (axis,) = figures.phases(many).axes
    words = [f"fairness-aware-etc: {place} of 30" for place in ("best", "median", "worst")]
    assert [tick.get_text() for tick in axis.get_yticklabels()] == words
    assert axis.get_xlabel().endswith("mean over 4 runs; ranked by utility at T")


# Grids over the problem


def test_variables_of_the_problem_may_depend_on_the_policy(results):
    """Where a grid varies means, fractions or penalties, these also have the dimension `policy`."""
    by = xr.DataArray(np.linspace(0.2, 1.0, 9), dims="policy")
    varied = {name: results[name] * by for name in ("means", "fractions", "penalties")}
    axis = figures.tradeoff(results.assign(varied)).axes[0]
    (_, y) = next(c for c in axis.containers if c.get_label() == "ucb1")[0].get_xydata()[0]
    ideal = T * results.means.max("arm").mean().item() * by.values[results.policy.values.tolist().index("ucb1")]
    assert y == pytest.approx(ideal - runs(results, "ucb1", "regret").mean())
    marks = {
        "means": ["guaranteed, τT"],
        "penalties": ["guaranteed, τT"],
        "fractions": [],
    }  # means keep their order here
    for name, expected in marks.items():
        axis = figures.pulls(results.assign({name: varied[name].transpose("instance", "arm", "policy")})).axes[0]
        assert [c.get_label() for c in axis.collections if not c.get_label().startswith("_")] == expected
