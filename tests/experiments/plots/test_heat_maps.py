"""Heat maps of grids against plain NumPy, and the arguments that they refuse."""

from unittest.mock import patch

import numpy as np
import pytest
import xarray as xr
from made_up import (
    ETA,
    EXPLORATION,
    by_relevance,
    crowd,
    grid,
    grids_beside_ucb1,
    lfg,
    made_up,
    runs,
    with_parameters,
    without,
)
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm
from matplotlib.text import Text
from scipy import stats
from sweeps import first_fast

import jaxbandit as jb
from jaxbandit.experiments import grids as tables
from jaxbandit.experiments.plots import figures, heat_maps
from jaxbandit.metrics.definitions import METRICS

X, Y = "policies.eta", "policies.exploration"


@pytest.fixture(scope="module")
def results():
    return grids_beside_ucb1()


def panel(figure):
    """The values of a heat map, its texts by cell, and the edges drawn around cells."""
    axis = figure.axes[0]
    texts = {(round(t.get_position()[1]), round(t.get_position()[0])): t.get_text() for t in axis.texts}
    lines = [c for c in axis.collections if isinstance(c, LineCollection)]
    edges = {tuple(map(tuple, segment)) for line in lines for segment in line.get_segments()}
    frames = {(round(p.get_y() + 0.41), round(p.get_x() + 0.41)) for p in axis.patches if not p.get_hatch()}
    hatched = {(round(p.get_y() + 0.5), round(p.get_x() + 0.5)) for p in axis.patches if p.get_hatch()}
    return np.ma.filled(axis.images[0].get_array(), np.nan), texts, edges, frames, hatched


def border(inside):
    """The edges between the given cells and the others, found cell by cell."""
    found = set()
    for row, column in inside:
        left, right, low, high = column - 0.5, column + 0.5, row - 0.5, row + 0.5
        found ^= {((left, low), (right, low)), ((left, high), (right, high))}
        found ^= {((left, low), (left, high)), ((right, low), (right, high))}
    return found


@pytest.mark.parametrize("metric", ["penalized_regret", "unfairness"])
def test_a_heat_map_shows_every_point_where_it_belongs(results, metric):
    figure = figures.heat_map(results, metric, X, Y)
    values, texts, edges, frames, hatched = panel(figure)
    cells = {(r, c): runs(results, lfg(a, x), metric) for r, x in enumerate(EXPLORATION) for c, a in enumerate(ETA)}
    means = {place: held.mean() for place, held in cells.items()}
    assert values.shape == (2, 3)
    for place, mean in means.items():
        assert values[place] == pytest.approx(mean)
        assert float(texts[place]) == pytest.approx(mean, abs=0.5 * 10.0 ** -len(texts[place].partition(".")[2]) + 1e-9)
    first = min(means, key=means.get)
    assert frames == {first}
    assert hatched == set()
    alike = set()
    for place, held in cells.items():
        difference = held - cells[first]
        if (
            abs(difference.mean())
            <= stats.t.ppf(0.975, 2 * 19) * np.sqrt((difference.var(axis=1, ddof=1) / 20).sum()) / 2
        ):
            alike.add(place)
    assert edges == border(alike)
    axis, bar = figure.axes
    assert [(axis.get_xlabel(), axis.get_ylabel())] == [("eta", "exploration")]
    assert [t.get_text() for t in axis.get_xticklabels()] == ["1", "10", "100"]
    assert [t.get_text() for t in axis.get_yticklabels()] == ["0.5", "2"]
    assert bar.get_ylabel() == METRICS[metric].label
    assert "T = 120, mean over 2 instances × 20 runs" in figure.get_suptitle()
    assert "framed: the best" in figure.get_suptitle()


def test_one_seed_outlines_no_cells(results):
    figure = figures.heat_map(results.isel(seed=[0]), "regret", X, Y)
    assert panel(figure)[2] == set()
    assert "framed: the best" in figure.get_suptitle()
    assert "outlined" not in figure.get_suptitle()


def test_cells_without_a_policy_are_hatched(results):
    some = results.isel(policy=(results.policy != lfg(10, 2)).values)
    values, texts, _, _, hatched = panel(figures.heat_map(some, "regret", X, Y))
    assert np.isnan(values[1, 1])
    assert np.isnan(values).sum() == 1
    assert hatched == {(1, 1)}
    assert (1, 1) not in texts


def test_the_best_cell_is_lightest_for_losses_and_for_utility(results):
    gain = results.assign(utility=results.r_regret, utility_final=results.r_regret_final)
    for metric, best in (("r_regret", np.nanargmin), ("utility", np.nanargmax)):
        figure = figures.heat_map(gain, metric, X, Y)
        values, _, _, frames, _ = panel(figure)
        image = figure.axes[0].images[0]
        light = sum(image.cmap(image.norm(values.ravel()[best(values)]))[:3])
        assert light == max(sum(image.cmap(image.norm(value))[:3]) for value in values.ravel())
        assert frames == {tuple(np.unravel_index(best(values), values.shape))}


def test_values_that_are_words_keep_their_order(results):
    words = np.array(["late" if x == 2 else "early" if x == 0.5 else "" for x in results[Y].values])
    named = results.drop_vars(Y).assign_coords({"policies.base": ("policy", words, {"key": "policies.base"})})
    figure = figures.heat_map(named, "regret", "policies.base", X)
    assert [t.get_text() for t in figure.axes[0].get_xticklabels()] == ["late", "early"]
    values = panel(figure)[0]
    assert values[1, 0] == pytest.approx(runs(results, lfg(10, 2), "regret").mean())
    assert tables.varying(named)["lfg"] == [X, "policies.base"]


def test_a_large_map_has_no_numbers_and_a_star(results):
    many = crowd(results, {"ucb1": 180})
    places = {"x": np.tile(np.arange(15.0), 12), "y": np.repeat(np.arange(12.0), 15)}
    many = with_parameters(many, **places, number=np.zeros(180))
    figure = figures.heat_map(many, "regret", "policies.x", "policies.y")
    values, texts, _, frames, _ = panel(figure)
    assert (values.shape, texts, frames) == ((12, 15), {}, set())
    (star,) = figure.axes[0].lines
    column, row = star.get_xydata()[0].astype(int)
    assert values[row, column] == values.min()
    assert figure.get_suptitle().startswith("ucb1, number = 0.0: T = 120")
    assert "starred: the best" in figure.get_suptitle()


def test_colours_are_logarithmic_over_a_wide_range():
    assert isinstance(heat_maps.colour_scale(np.array([1.0, 5.0])), LogNorm)
    for values in ([1.0, 4.9], [0.0, 10.0], [-1.0, 100.0], [3.0, 3.0]):
        norm = heat_maps.colour_scale(np.array(values))
        assert not isinstance(norm, LogNorm)
        assert norm.vmin < norm.vmax


def test_a_constant_metric_has_no_best_cell(results):
    still = results.assign(regret_final=results.regret_final * 0 + 4)
    _, texts, edges, frames, _ = panel(figures.heat_map(still, "regret", X, Y))
    assert set(texts.values()) == {"4.00"}
    assert (edges, frames) == (set(), set())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (("regrets", X, Y), r"metric = 'regrets'.*did you mean 'regret'"),
        (("regret", "policies.etas", Y), r"x = 'policies.etas'.*did you mean 'policies.eta'"),
        (("regret", "eta", Y), r"x = 'eta'.*did you mean 'policies.eta'"),
        (("regret", X, X), r"y = 'policies.eta': must be a parameter other than x, one of policies.exploration$"),
        (("regret", X, Y, "LFG"), r"family = 'LFG': must be one of lfg, short, ucb1"),
        (("regret", X, Y, "short"), r"y = 'policies.exploration': .*short's grid: policies.eta$"),
        (("regret", X, Y, "ucb1"), r"x = 'policies.eta': must not be given: ucb1 has no grid$"),
    ],
)
def test_unknown_metrics_parameters_and_families_are_refused(results, call, message):
    with pytest.raises(jb.InputError, match=message):
        figures.heat_map(results, *call)


def test_one_varied_parameter_is_drawn_by_sweep(results):
    with pytest.raises(jb.InputError, match=r"other than x, and the grids vary no other; `jb.plots.sweep` draws one"):
        figures.heat_map(results.drop_vars(Y), "regret", X, X)


def test_the_family_must_be_unique(results):
    twice = results.assign_coords(family=("policy", np.where(results[Y] == 2, "two", results.family)))
    varied = r"\(two: policies.eta; lfg: policies.eta; short: policies.eta\)"
    with pytest.raises(jb.InputError, match=rf"two parameters that one family varies {varied}"):
        figures.heat_map(twice, "regret", X, Y)
    other = results.assign_coords(family=results.family.str.upper(), policy=results.policy.str.upper())
    both = xr.concat([results, other], "policy", combine_attrs="override", data_vars="minimal")
    with pytest.raises(jb.InputError, match=r"family is missing: must be one of LFG, lfg"):
        figures.heat_map(both, "regret", X, Y)
    assert panel(figures.heat_map(both, "regret", X, Y, "LFG"))[0].shape == (2, 3)


def test_a_third_parameter_must_have_one_value(results):
    three = with_parameters(results, third=np.where(results[X] > 50, 8.0, 4.0))
    select = r"isel\(policy=results\[\"policies.third\"\] == 4.0\)"
    with pytest.raises(jb.InputError, match=rf"varies policies.third \(2 values\).*{select}"):
        figures.heat_map(three, "regret", X, Y)
    figure = figures.heat_map(three.isel(policy=three["policies.third"] == 4.0), "regret", X, Y)
    assert panel(figure)[0].shape == (2, 2)
    assert "lfg, third = 4.0: T = 120" in figure.get_suptitle()


def test_a_grid_over_two_parameters_draws_its_heat_maps(results):
    results = without(results, {"penalized_regret", "r_regret", "c_regret", "max_deficit"})
    assert figures.file_names(results)[-2:] == ["heat-maps.png", "heat-maps.pdf"]
    figure = dict(figures.figures(results))["heat-maps"]
    drawn = [axis for axis in figure.axes if axis.images]
    bars = [axis.get_ylabel() for axis in figure.axes if not axis.images and axis.get_visible()]
    assert bars == [*by_relevance(results).values()]
    for axis, name in zip(drawn, by_relevance(results), strict=True):
        mean = runs(results, lfg(100, 0.5), name).mean()
        assert axis.images[0].get_array()[0, 2] == pytest.approx(mean)


def test_files_of_heat_maps_have_safe_names():
    assert figures._distinct_names("heat-maps", ["lfg/thompson"]) == ["heat-maps"]
    made = figures._distinct_names("heat-maps", ["lfg/thompson", "LFG (a: b)", "lfg a-b", "τ", "../x", "x" * 300])
    assert made[:5] == [
        "heat-maps-lfg-thompson",
        "heat-maps-LFG-a-b",
        "heat-maps-lfg-a-b-2",
        "heat-maps-3",
        "heat-maps-x",
    ]
    assert len(made[5]) < 100


def test_each_problem_has_a_best_cell_of_its_own():
    """Numbers on different problems are not comparable: one frame per value of the problem's key."""
    points = grid("lfg", eta=[1.0, 10.0, 100.0], rate=[0.1, 0.3])
    for point in points:
        point["point"]["problem.penalties"] = point["point"].pop("policies.rate")
    results = made_up(points, seeds=5)
    figure = figures.heat_map(results, "regret", "policies.eta", "problem.penalties")
    frames = [patch for patch in figure.axes[0].patches if not patch.get_fill()]
    found = sorted((round(patch.get_y() + 0.41), round(patch.get_x() + 0.41)) for patch in frames)
    means = results.regret_final.mean(("instance", "seed")).values.reshape(3, 2)  # by eta, then rate
    assert found == [(rate, int(means[:, rate].argmin())) for rate in range(2)]
    assert "framed: the best on each problem" in figure.get_suptitle()


def cut_texts(figure):
    """The titles, labels of axes and texts of legends that are not within the figure."""
    figure.canvas.draw()
    labels = [part for axis in figure.axes for part in (axis.xaxis.label, axis.yaxis.label, axis.title)]
    others = [text for legend in figure.legends for text in legend.findobj(Text)]
    texts = [text for text in (*figure.texts, *labels, *others) if text.get_text().strip() and text.get_visible()]
    assert len(texts) >= 3
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    edge = figure.bbox.padded(1)
    return [text for text, box in boxes if not (edge.contains(box.x0, box.y0) and edge.contains(box.x1, box.y1))]


@pytest.mark.parametrize(
    "family", first_fast(["a long name for a family of policies that takes lines of its own", "lfg"])
)
def test_titles_and_labels_of_axes_are_not_cut(family):
    grids = grid("lfg", family, eta=[1.0, 5.0, 20.0], exploration=[0.5, 2.0])
    results = made_up(grids, means=[[0.5, 0.9, 0.1, 0.7]] * 3)
    long_label = "the largest deficit of any arm, per round (a share of the rounds)"
    results.unfairness.attrs["long_name"] = long_label
    with patch.object(METRICS["unfairness"], "label", long_label):
        assert cut_texts(jb.plots.heat_map(results, "unfairness", x="policies.eta", y="policies.exploration")) == []
        assert cut_texts(jb.plots.heat_maps(results, x="policies.eta", y="policies.exploration")) == []
        figure = jb.plots.curves(results, ["unfairness", "regret"])
        assert cut_texts(figure) == []
    assert figure.axes[0].get_ylabel().replace("\n", " ") == long_label
    assert "\n" in figure.axes[0].get_ylabel()
