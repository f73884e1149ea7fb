"""Figures read back and compared with the results."""

import importlib

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from made_up import MEANS, T, by_relevance, grid, grids_beside_ucb1, in_phases, made_up, one
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgb
from scipy import stats

import jaxbandit as jb
from jaxbandit.experiments.plots import figures as plots
from jaxbandit.experiments.plots import style
from jaxbandit.metrics.optimal_allocations import fair_allocation, penalized_allocation

MANY = [MEANS, [0.2, 0.3, 0.4, 0.8], [0.9, 0.85, 0.2, 0.1]]
SEVERAL = ["ucb1", "hard-threshold-ucb", one("fucb", "fair-learn"), one("LFG", "lfg")]
GRID = ["ucb1", *grid("lfg", eta=[0.1, 1, 10, 100, 1000])]
CROWD = [one(f"{kind}{i}", kind) for kind in ("ucb1", "hard-threshold-ucb", "lfg", "eta-fucb") for i in range(5)]
CASES = {
    "one instance": made_up(SEVERAL),
    "many instances": made_up(SEVERAL, MANY),
    "one seed": made_up(SEVERAL, seeds=1),
    "a grid": made_up(GRID),
    "a grid over many instances": made_up(GRID, MANY),
    "no fractions": made_up(["ucb1"], fractions=None),
    "20 policies": made_up(CROWD),
    "two plays": made_up(SEVERAL, plays=2),
}
DRAWN = {}


@pytest.fixture(params=CASES)
def results(request):
    return CASES[request.param]


def figures(results):
    """The figures of a case, drawn once; those of other results."""
    if id(results) not in {id(case) for case in CASES.values()}:
        return dict(plots.figures(results))
    if id(results) not in DRAWN:
        DRAWN[id(results)] = dict(plots.figures(results))
    return DRAWN[id(results)]


def width(results):
    """The standard errors on each side of a mean in its 95 % confidence interval."""
    seeds = results.sizes["seed"]
    return stats.t.ppf(0.975, results.sizes["instance"] * (seeds - 1)) if seeds > 1 else 0.0


def bars(axis):
    """The error bars of an axis by label: the points, and the ends of the vertical bars."""
    found = {}
    for container in axis.containers:
        line, _, collections = container
        ends = np.array([segment[:, 1] for segment in collections[-1].get_segments()])
        found[container.get_label()] = (line, *np.transpose(line.get_xydata()), ends)
    return found


def means(results, metric):
    """Mean and standard error over seeds and instances, from every run."""
    runs = results[f"{metric}_final"].values
    n, j = runs.shape[2], runs.shape[1]
    error = np.sqrt((runs.var(axis=2, ddof=1) / n).sum(axis=1)) / j if n > 1 else np.zeros(len(runs))
    return runs.mean(axis=(1, 2)), error


def band(collection):
    """The lower and upper edge of a filled band by x."""
    vertices = collection.get_paths()[0].vertices
    xs = np.unique(vertices[:, 0])
    edges = [vertices[vertices[:, 0] == x, 1] for x in xs]
    return xs, np.array([e.min() for e in edges]), np.array([e.max() for e in edges])


def legend(figure):
    (box,) = figure.legends
    return [text.get_text() for text in box.get_texts()], box.get_title().get_text()


def shown(results):
    """The labels of a legend: of a grid only the first and the last point, the others have shades between theirs."""
    labels, families = (results[name].values.tolist() for name in ("policy", "family"))
    inner = {
        label for f in set(families) for label in [x for x, g in zip(labels, families, strict=True) if g == f][1:-1]
    }
    return [label for label in labels if label not in inner]


def test_which_figures_are_drawn(results):
    grid = set(results.family.values) != set(results.policy.values)
    assert list(figures(results)) == ["curves", "pulls"] + ["tradeoff", "sweep"] * grid


def test_curves_draw_one_line_per_policy_with_its_band(results):
    figure = figures(results)["curves"]
    drawn = [axis for axis in figure.axes if axis.get_visible()]
    recorded = by_relevance(results)
    assert [axis.get_ylabel() for axis in drawn] == [*recorded.values()]
    labels = results.policy.values.tolist()
    for axis, name in zip(drawn, recorded, strict=True):
        assert axis.get_xlabel() == "round t"
        assert axis.get_xlim() == (0, T)
        lines = [line for line in axis.lines if not line.get_label().startswith("_")]
        assert [line.get_label() for line in lines] == labels
        assert len(axis.collections) == len(labels)
        average, error = means(results, name)
        for i, (line, filled) in enumerate(zip(lines, axis.collections, strict=True)):
            x, y = line.get_data()
            np.testing.assert_array_equal(x, results["round"])
            np.testing.assert_allclose(y, results[name][i].mean("instance"), rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(y[-1], average[i], rtol=1e-9, atol=1e-9)
            squares = np.nan_to_num(results[f"{name}_stderr"][i].values) ** 2
            half = width(results) * np.sqrt(squares.sum(axis=0)) / results.sizes["instance"]
            xs, low, high = band(filled)
            np.testing.assert_array_equal(xs, x)
            np.testing.assert_allclose(high - low, 2 * half, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose((high + low) / 2, y, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(half[-1], width(results) * error[i], rtol=1e-6, atol=1e-9)
            assert to_rgb(filled.get_facecolor()[0][:3]) == to_rgb(line.get_color())


def test_panels_without_a_metric_are_hidden():
    figure = plots.curves(CASES["one seed"], ["regret", "unfairness", "r_regret", "c_regret"])
    assert [axis.get_visible() for axis in figure.axes] == [True] * 4 + [False] * 2


def test_bands_are_wide_where_there_are_several_runs():
    for case, wide in (("one instance", True), ("one seed", False)):
        axis = figures(CASES[case])["curves"].axes[0]
        widths = [np.ptp(band(filled)[1:], axis=0).max() for filled in axis.collections]
        assert all((width > 1) == wide for width in widths)


def test_pulls_draw_the_mean_of_each_arm_with_its_bar(results):
    (axis,) = figures(results)["pulls"].axes
    several = results.sizes["instance"] > 1
    assert axis.get_ylabel() == "selections by T = 120"
    sorted_ = "arm, from the best to the worst of its instance"
    assert axis.get_xlabel() == (sorted_ if several else "arm, and its mean reward")
    ticks = [text.get_text() for text in axis.get_xticklabels()]
    assert ticks == (["best", "2nd", "3rd", "4th"] if several else ["0\n0.5", "1\n0.9", "2\n0.1", "3\n0.7"])
    found = bars(axis)
    assert list(found) == results.policy.values.tolist()
    order = np.argsort(-results.means.values, axis=1) if several else np.arange(4)[None]
    counts = np.take_along_axis(results.pulls.values, order[None, :, None, :], axis=3)  # [policy, instance, seed, arm]
    n, j = counts.shape[2], counts.shape[1]
    error = np.sqrt((counts.var(axis=2, ddof=1) / n).sum(axis=1)) / j if n > 1 else np.zeros((len(counts), 4))
    for i, (_, x, y, ends) in enumerate(found.values()):
        assert np.round(x).tolist() == [0, 1, 2, 3]
        assert np.abs(x - np.round(x)).max() < 0.5
        np.testing.assert_allclose(y, counts[i].mean(axis=(0, 1)), rtol=1e-12)
        np.testing.assert_allclose(np.diff(ends)[:, 0], 2 * width(results) * error[i], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(ends.mean(axis=1), y, rtol=1e-9)
        low, high = axis.get_ylim()
        assert low <= y.min()
        assert y.max() <= high


def test_pulls_mark_the_guaranteed_and_the_optimal_selections(results):
    (axis,) = figures(results)["pulls"].axes
    marks = {lines.get_label(): lines for lines in axis.collections if not lines.get_label().startswith("_")}
    if "fractions" not in results:
        assert marks == {}
        return
    assert list(marks) == ["guaranteed, τT", "optimal"]
    mu, tau = results.means.values, results.fractions.values
    best = penalized_allocation(mu.T, tau.T, results.penalties.values.T).T
    if results.attrs["plays"] > 1:  # what a penalty makes optimal is defined for one play
        best = fair_allocation(mu.T, tau.T, results.attrs["plays"]).T
    if len(mu) > 1:
        order = np.argsort(-mu, axis=1)
        tau, best = (np.take_along_axis(x, order, axis=1) for x in (tau, best))
    for share, lines in zip((tau, best), marks.values(), strict=True):
        heights = [segment[0, 1] for segment in lines.get_segments()]
        np.testing.assert_allclose(heights, T * share.mean(axis=0), rtol=1e-12)


def test_without_penalties_the_optimal_selections_are_fair():
    results = made_up(["fucb"], penalties=None)
    (axis,) = figures(results)["pulls"].axes
    optimal = axis.collections[-1]
    assert optimal.get_label() == "optimal"
    heights = [segment[0, 1] for segment in optimal.get_segments()]
    np.testing.assert_allclose(heights, [0.1 * T, 0.55 * T, 0.2 * T, 0.15 * T])


@pytest.mark.parametrize("case", ["a grid", "a grid over many instances"])
def test_tradeoff_draws_reward_against_unfairness(case):
    results = CASES[case]
    (axis,) = figures(results)["tradeoff"].axes
    assert axis.get_xlabel() == "unfairness (missed rounds)"
    assert axis.get_ylabel().startswith("expected reward")
    assert axis.get_title(loc="left") == "T = 120"
    found = bars(axis)
    assert list(found) == ["ucb1", "lfg"]
    reward = (results.pulls * results.means).sum("arm").mean(("instance", "seed")).values
    unfair = means(results, "unfairness")[0]
    error = means(results, "regret")[1]
    for (_, x, y, ends), members in zip(found.values(), (slice(0, 1), slice(1, 6)), strict=True):
        order = np.argsort(results["policies.eta"].values[members], kind="stable")  # along the parameter
        np.testing.assert_allclose(x, unfair[members][order], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(y, reward[members][order], rtol=1e-9)
        heights = np.sort(np.diff(ends)[:, 0])
        np.testing.assert_allclose(heights, np.sort(2 * width(results) * error[members]), rtol=1e-6, atol=1e-9)
    assert legend(axis.figure)[0] == ["ucb1", "lfg"]
    ends = np.sort(results["policies.eta"].values[1:6])[[0, -1]]
    assert [text.get_text() for text in axis.texts] == [f"eta={end:.4g}" for end in ends]


def test_tradeoff_draws_a_grid_over_two_parameters_as_a_cloud_with_its_front():
    results = grids_beside_ucb1()
    lfg = results.family.values == "lfg"
    axis, bar = figures(results)["tradeoff"].axes
    assert bar.get_ylabel() == "eta, lfg"
    reward = (results.pulls * results.means).sum("arm").mean(("instance", "seed")).values[lfg]
    unfair = means(results, "unfairness")[0][lfg]
    (cloud,) = [c for c in axis.collections if isinstance(c, PathCollection)]
    np.testing.assert_allclose(cloud.get_offsets(), np.stack([unfair, reward], axis=1), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(cloud.get_array(), results["policies.eta"].values[lfg])
    (front,) = [line for line in axis.lines if str(line.get_label()).startswith("lfg: front of")]
    better = [
        (x, y)
        for x, y in zip(unfair, reward, strict=True)
        if not any((u <= x and r >= y) and (u, r) != (x, y) for u, r in zip(unfair, reward, strict=True))
    ]
    np.testing.assert_allclose(np.transpose(front.get_data()), sorted(set(better)), rtol=1e-9)


@pytest.mark.parametrize("case", ["a grid"])
def test_curves_mark_the_best_of_a_grid_on_one_problem(case):
    results = CASES[case]
    figure = figures(results)["curves"]
    assert "thick: the best of each grid at T" in legend(figure)[1].replace("\n", " ")
    (axis,) = [axis for axis in figure.axes if axis.get_ylabel() == "unfairness (missed rounds)"]
    members = [label for label in results.policy.values.tolist() if label.startswith("lfg")]
    best = min(members, key=lambda label: means(results.sel(policy=[label]), "unfairness")[0][0])
    (thick,) = [line for line in axis.lines if line.get_linewidth() == 2]
    np.testing.assert_allclose(thick.get_ydata(), results.unfairness.sel(policy=best).mean("instance"), rtol=1e-12)
    assert [text.get_text() for text in axis.texts] == [f"best lfg: {best.removeprefix('lfg (').removesuffix(')')}"]


def test_classes_of_ones_own_have_different_colours():
    kinds = [f"mine-{number}" for number in range(8)]
    results = CASES["a grid"].isel(policy=[0] * 8)
    results = results.assign_coords(policy=kinds, kind=("policy", kinds), family=("policy", kinds))
    colours = [look["color"] for look in jb.plots.styles(results).values()]
    assert len(set(colours)) == 8
    assert set(colours).isdisjoint(map(to_rgb, jb.plots.COLOURS.values()))
    alone = jb.plots.styles(results.isel(policy=[0]))
    assert alone["mine-0"]["color"] == colours[0]


def test_legends_name_the_policies_and_the_sample(results):
    seeds, j = results.sizes["seed"], results.sizes["instance"]
    runs = "1 run" if seeds == 1 else f"{seeds} runs"
    runs = runs if j == 1 else f"{j} instances × {runs}"
    drawn = figures(results)
    labels, note = legend(drawn["curves"])
    assert labels == shown(results)
    grids = "lfg" in results.family.values[2:3]
    thick = ", thick: the best of each grid at T" if grids else ""
    assert note.replace("\n", " ") == f"mean over {runs}" + (", band: 95 % confidence" if seeds > 1 else "") + thick
    labels, note = legend(drawn["pulls"])
    marked = "fractions" in results
    assert labels == shown(results) + ["guaranteed, τT", "optimal"] * marked
    assert note == f"mean over {runs}" + (", bars: 95 % confidence" if seeds > 1 else "")


def test_a_policy_has_one_look_in_every_figure(results):
    drawn = figures(results)
    looks = {}
    for axis in drawn["curves"].axes:
        for line in axis.lines:
            looks.setdefault(line.get_label(), set()).add((to_rgb(line.get_color()), line.get_linestyle()))
    colours = {}
    for label in results.policy.values.tolist():
        assert len(looks[label]) == 1
        ((colours[label], _),) = looks[label]
    for label, (line, *_) in bars(drawn["pulls"].axes[0]).items():
        assert to_rgb(line.get_color()) == colours[label]
    if "tradeoff" in drawn:
        last = dict(zip(results.family.values.tolist(), results.policy.values.tolist(), strict=True))
        for family, (line, *_) in bars(drawn["tradeoff"].axes[0]).items():
            assert to_rgb(line.get_color()) == colours[last[family]]


def test_no_two_policies_look_alike():
    for case in ("one instance", "a grid"):
        results = CASES[case]
        looks = [(to_rgb(look["color"]), look["linestyle"]) for look in style.styles(results).values()]
        assert len(set(looks)) == len(looks) == results.sizes["policy"]


def test_the_colour_of_a_policy_depends_on_its_kind_only():
    alone, among = made_up(["hard-threshold-ucb"]), CASES["one instance"]
    colours = [to_rgb(style.styles(results)["hard-threshold-ucb"]["color"]) for results in (alone, among)]
    assert colours[0] == colours[1]


def test_a_grid_goes_from_light_to_dark():
    looks = style.styles(CASES["a grid"])
    shades = [sum(to_rgb(looks[f"lfg (eta={eta})"]["color"])) for eta in (0.1, 1, 10, 100, 1000)]
    assert np.all(np.diff(shades) < 0)


def test_a_single_recorded_round_makes_no_curve():
    assert list(figures(made_up(["ucb1"], rounds=1))) == ["pulls"]
    assert list(figures(made_up(["ucb1"], metrics=[]))) == ["pulls"]


def test_phases_are_bars_that_fill_the_horizon():
    results = in_phases()
    (axis,) = figures(results)["phases"].axes
    assert [tick.get_text() for tick in axis.get_yticklabels()] == ["self-regulated", "fairness-aware-etc"]
    assert axis.get_xlabel() == "share of the T = 120 rounds, mean over 4 runs"
    for row, label in enumerate(["self-regulated", "fairness-aware-etc"]):
        bars = [bar for bar in axis.patches if round(bar.get_y() + bar.get_height() / 2) == row]
        spent = results.phase_rounds.sel(policy=label)
        shares = spent.where(spent >= 0).mean(("instance", "seed")).dropna("phase").values / T
        assert [bar.get_width() for bar in bars] == pytest.approx(shares)
        own = to_rgb(style.COLOURS[label])
        assert to_rgb(bars[-1].get_facecolor()) == pytest.approx(own)  # from light to the policy's own colour
        assert sum(to_rgb(bars[0].get_facecolor())) > sum(own)
        assert sum(shares) == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize("metrics", [["regret"], ["regret", "unfairness"]])
def test_every_figure_is_drawn_to_files(metrics, tmp_path, monkeypatch):
    results = made_up(GRID[:4], metrics=metrics)
    monkeypatch.setitem(style.STYLE, "figure.dpi", 80)
    names = ["curves", "pulls", *(["tradeoff"] if "unfairness" in metrics else []), "sweep"]
    (tmp_path / "pulls.png").write_text("another")  # it is replaced
    written = plots.draw_all(results, tmp_path)
    assert sorted(written) == sorted(tmp_path.iterdir())
    assert [path.name for path in written] == [f"{name}{s}" for name in names for s in (".png", ".pdf")]
    assert [path.name for path in written] == plots.file_names(results)
    for path in written[::2]:
        image = plt.imread(path)
        assert min(image.shape[:2]) > 80
        assert image.std() > 0.01
    assert plt.get_fignums() == []


def test_other_things_than_results_are_refused():
    for function in (plots.figures, plots.file_names, plots.curves, plots.pulls, plots.phases, plots.tradeoff):
        with pytest.raises(jb.InputError, match="the dataset that `simulate` returns"):
            function({"regret": [1.0]})


def test_importing_plots_leaves_the_backend_alone():
    """The backend of a notebook shows figures below their cells."""
    before = matplotlib.get_backend()
    try:
        matplotlib.use("svg")
        importlib.reload(plots)
        assert matplotlib.get_backend() == "svg"
    finally:
        matplotlib.use(before)


@pytest.mark.parametrize("label", ["$x^$", "$x_{$ y$", "a$b", "_hidden", "_", r"$\eta$ = 2", r"50 % \frac"])
def test_any_label_is_drawn_and_shown(label):
    figure, axis = plt.subplots(figsize=(1, 1))
    axis.plot([0, 1], label=style.caption(label))
    handles, shown = axis.get_legend_handles_labels()
    assert len(handles) == 1  # matplotlib leaves out what begins with an underscore
    assert shown[0].replace(r"\$", "$").strip() == label
    figure.legend(handles, shown)
    figure.canvas.draw()  # raises at mathematics that cannot be set
    plt.close(figure)
