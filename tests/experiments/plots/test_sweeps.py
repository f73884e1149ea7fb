"""Figures of grids over one parameter against plain NumPy, and the arguments that they refuse."""

import numpy as np
import pytest
from made_up import MEANS, T, grid, made_up, one
from scipy import stats

import jaxbandit as jb
from jaxbandit.experiments.plots import figures
from jaxbandit.metrics.definitions import METRICS

SEEDS, ETA, X = 20, [100.0, 1.0, 10.0], "policies.eta"
TWO = [MEANS, [0.2, 0.3, 0.4, 0.8]]


@pytest.fixture(scope="module")
def results():
    policies = [*grid("lfg", eta=ETA), "ucb1", *grid("lfg", "both", eta=[5.0, 7.0], exploration=[0.5, 2.0])]
    return made_up(policies, TWO, seeds=SEEDS, metrics=["regret", "unfairness"])


def mean_and_half(results, policy, metric):
    """The mean over runs and instances, and the half width of its interval given the instances."""
    runs = results[f"{metric}_final"].sel(policy=policy).transpose("instance", "seed").values
    variances = [row.var(ddof=1) / SEEDS for row in runs]
    return runs.mean(), stats.t.ppf(0.975, len(runs) * (SEEDS - 1)) * np.sqrt(sum(variances)) / len(runs)


def test_a_line_goes_through_the_points_of_a_family_and_others_are_level(results):
    figure = figures.sweep(results, X)
    panels = [axis for axis in figure.axes if axis.get_visible()]
    assert [axis.get_ylabel() for axis in panels] == [METRICS[name].label for name in ("unfairness", "regret")]
    for axis, metric in zip(panels, ["unfairness", "regret"], strict=True):
        assert axis.get_xlabel() == "eta"
        assert axis.get_xscale() == "log"
        (bars,) = axis.containers
        line, _, (segments,) = bars
        np.testing.assert_array_equal(line.get_xdata(), sorted(ETA))
        for eta, y, (low, high) in zip(sorted(ETA), line.get_ydata(), segments.get_segments(), strict=True):
            mean, half = mean_and_half(results, f"lfg (eta={eta:g})", metric)
            assert y == pytest.approx(mean)
            assert (high[1] - low[1]) / 2 == pytest.approx(half)
        (level,) = [one for one in axis.lines if one.get_label() == "ucb1"]
        mean, half = mean_and_half(results, "ucb1", metric)
        assert level.get_ydata()[0] == pytest.approx(mean)
        (shade,) = axis.patches
        low, high = shade.get_extents().transformed(axis.transData.inverted()).intervaly
        assert [low, high] == pytest.approx([mean - half, mean + half])
    assert [text.get_text() for text in figure.legends[0].texts] == ["ucb1", "lfg"]
    assert f"T = {T}, mean over 2 instances × {SEEDS} runs" in figure.legends[0].get_title().get_text()


def test_one_seed_has_no_intervals(results):
    axis = figures.sweep(results.isel(seed=[0]), X, ["regret"]).axes[0]
    (bars,) = axis.containers
    assert not bars.has_yerr
    assert not axis.patches


def test_words_stand_side_by_side():
    kinds = ["none", "fixed d=3", "geometric p=0.5"]
    results = made_up([{**one(kind, "ucb1", "ucb1"), "point": {"problem.delay": kind}} for kind in kinds])
    axis = figures.sweep(results, "problem.delay").axes[0]
    assert [label.get_text() for label in axis.get_xticklabels()] == kinds
    assert axis.get_xscale() == "linear"


def test_the_figure_is_drawn_where_a_family_varies_one_parameter_alone(results):
    assert "sweep" in dict(figures.figures(results))
    both = results.isel(policy=results.family.values == "both")
    assert not [name for name in dict(figures.figures(both)) if name.startswith("sweep")]
    assert set(figures.file_names(results)) > {"sweep.png", "sweep.pdf"}


@pytest.mark.parametrize(
    ("x", "metrics", "words"),
    [
        ("eta", None, "x = 'eta'.*did you mean 'policies.eta'"),
        (
            "policies.exploration",
            None,
            r"varies \(lfg: policies.eta; both: policies.eta, policies.exploration\); select",
        ),
        (X, ["r_regret"], "metrics = 'r_regret'"),
        (X, [], "at least one metric"),
    ],
)
def test_unknown_parameters_and_metrics_are_refused(results, x, metrics, words):
    with pytest.raises(jb.InputError, match=words):
        figures.sweep(results, x, metrics)


def test_results_without_a_grid_are_refused(results):
    with pytest.raises(jb.InputError, match="these results have no grid"):
        figures.sweep(made_up(["ucb1"]), X)


@pytest.mark.parametrize(
    ("eta", "shown"),
    [
        ([20.0, 50.0, 100.0, 200.0, 400.0], ["20", "50", "100", "200", "400"]),
        ([20.0, 30.0, 40.0, 50.0, 100.0, 200.0, 400.0], ["$\\mathdefault{10^{2}}$"]),
    ],
    ids=["few", "many"],
)
def test_a_logarithmic_axis_labels_few_values_one_by_one_and_no_minor_ticks(eta, shown):
    figure = figures.sweep(made_up([*grid("lfg", eta=eta)], TWO, seeds=SEEDS, metrics=["regret"]), X)
    figure.canvas.draw()
    axis = figure.axes[0]
    low, high = axis.get_xlim()
    labels = zip(axis.get_xticks(), axis.get_xticklabels(), strict=True)
    assert [label.get_text() for place, label in labels if low <= place <= high] == shown
    assert not any(label.get_text() for label in axis.get_xticklabels(minor=True))
