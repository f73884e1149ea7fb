"""Figures and the summary table, read back: what is drawn is what the results hold."""

import functools
import importlib
import itertools

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

import jaxbandit as jb
from jaxbandit.experiments import statistics, summary
from jaxbandit.experiments.plots import figures as plots
from jaxbandit.experiments.plots import style
from jaxbandit.metrics.definitions import METRICS
from jaxbandit.metrics.optimal_allocations import fair_allocation, penalized_allocation

MEANS = [0.5, 0.9, 0.1, 0.7]
MANY = [MEANS, [0.2, 0.3, 0.4, 0.8], [0.9, 0.85, 0.2, 0.1]]
FAIR = {"fractions": [0.1, 0.05, 0.2, 0.15], "penalties": 0.3}
SEVERAL = ["ucb1", "hard-threshold-ucb", "fucb", {"kind": "lfg", "label": "LFG"}]
GRID = ["ucb1", {"kind": "lfg", "eta": [0.1, 1, 10, 100, 1000]}]
CROWD = [{"kind": k, "label": f"{k}{i}"} for k in ("ucb1", "hard-threshold-ucb", "lfg", "eta-fucb") for i in range(5)]
T = 120


def simulate(policies=SEVERAL, means=MEANS, seeds=6, record=12, metrics=None, **more):
    return jb.simulate(jb.Problem(means, **more), policies, horizon=T, seeds=seeds, record=record, metrics=metrics)


CASES = {
    "one instance": lambda: simulate(**FAIR),
    "many instances": lambda: simulate(means=MANY, **FAIR),
    "one seed": lambda: simulate(seeds=1, **FAIR),
    "a grid": lambda: simulate(GRID, **FAIR),
    "a grid over many instances": lambda: simulate(GRID, means=MANY, **FAIR),
    "no fractions": lambda: simulate("ucb1"),
    "20 policies": lambda: simulate(CROWD, **FAIR),
    "two plays": lambda: simulate(plays=2, **FAIR),
}


@functools.cache
def simulated(case):
    """The results of a case, simulated once."""
    return CASES[case]()


@pytest.fixture(params=CASES)
def results(request):
    return simulated(request.param)


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    yield
    plt.close("all")


def figures(results):
    return dict(plots.figures(results))


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
    """The labels of a legend: of a grid's points only the first and the last, the others being shades between."""
    labels, families = (results[name].values.tolist() for name in ("policy", "family"))
    inner = {
        label for f in set(families) for label in [x for x, g in zip(labels, families, strict=True) if g == f][1:-1]
    }
    return [label for label in labels if label not in inner]


def test_the_figures_are_those_the_results_have_something_for(results):
    grid = set(results.family.values) != set(results.policy.values)
    assert list(figures(results)) == ["curves", "pulls"] + ["tradeoff", "sweep"] * grid


def test_curves_draw_one_line_a_policy_with_its_band(results):
    figure = figures(results)["curves"]
    drawn = [axis for axis in figure.axes if axis.get_visible()]
    recorded = [name for name in METRICS if name in results]
    assert [axis.get_ylabel() for axis in drawn] == [METRICS[name].label for name in recorded]
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
            half = 1.96 * np.sqrt(squares.sum(axis=0)) / results.sizes["instance"]
            xs, low, high = band(filled)
            np.testing.assert_array_equal(xs, x)
            np.testing.assert_allclose(high - low, 2 * half, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose((high + low) / 2, y, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(half[-1], 1.96 * error[i], rtol=1e-6, atol=1e-9)
            assert to_rgb(filled.get_facecolor()[0][:3]) == to_rgb(line.get_color())


def test_bands_are_wide_where_runs_differ_and_there_is_more_than_one():
    for case, wide in (("one instance", True), ("one seed", False)):
        axis = figures(simulated(case))["curves"].axes[0]
        widths = [np.ptp(band(filled)[1:], axis=0).max() for filled in axis.collections]
        assert all((width > 1) == wide for width in widths)


def test_pulls_draw_the_mean_of_each_arm_with_its_bar(results):
    (axis,) = figures(results)["pulls"].axes
    several = results.sizes["instance"] > 1
    assert axis.get_ylabel() == "selections by T = 120"
    sorted_ = "arm, from the best to the worst of its instance"
    assert axis.get_xlabel() == (sorted_ if several else "arm, and its mean reward")
    ticks = [text.get_text() for text in axis.get_xticklabels()]
    assert ticks == (list("0123") if several else ["0\n0.5", "1\n0.9", "2\n0.1", "3\n0.7"])
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
        np.testing.assert_allclose(np.diff(ends)[:, 0], 2 * 1.96 * error[i], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(ends.mean(axis=1), y, rtol=1e-9)
        low, high = axis.get_ylim()
        assert low <= y.min()
        assert y.max() <= high


def test_pulls_mark_what_is_owed_and_what_is_optimal(results):
    (axis,) = figures(results)["pulls"].axes
    marks = {lines.get_label(): lines for lines in axis.collections if not lines.get_label().startswith("_")}
    if "fractions" not in results:
        assert marks == {}
        return
    assert list(marks) == ["owed, τT", "optimal"]
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


def test_a_prophet_without_penalties_is_fair():
    results = simulate("fucb", fractions=FAIR["fractions"])
    (axis,) = figures(results)["pulls"].axes
    optimal = axis.collections[-1]
    assert optimal.get_label() == "optimal"
    heights = [segment[0, 1] for segment in optimal.get_segments()]
    np.testing.assert_allclose(heights, [0.1 * T, 0.55 * T, 0.2 * T, 0.15 * T])


@pytest.mark.parametrize("case", ["a grid", "a grid over many instances"])
def test_tradeoff_draws_reward_against_unfairness(case):
    results = simulated(case)
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
        order = np.argsort(unfair[members], kind="stable")
        np.testing.assert_allclose(x, unfair[members][order], rtol=1e-9, atol=1e-9)
        assert np.all(np.diff(x) >= 0)
        np.testing.assert_allclose(np.sort(y), np.sort(reward[members]), rtol=1e-9)
        heights = np.sort(np.diff(ends)[:, 0])
        np.testing.assert_allclose(heights, np.sort(2 * 1.96 * error[members]), rtol=1e-6, atol=1e-9)
    assert legend(axis.figure)[0] == ["ucb1", "lfg"]


def test_legends_name_the_policies_and_say_what_the_means_are_over(results):
    seeds, j = results.sizes["seed"], results.sizes["instance"]
    runs = "1 run" if seeds == 1 else f"{seeds} runs"
    runs = runs if j == 1 else f"{j} instances × {runs}"
    drawn = figures(results)
    labels, note = legend(drawn["curves"])
    assert labels == shown(results)
    assert note == f"mean over {runs}" + (", band: 95 % confidence" if seeds > 1 else "")
    labels, note = legend(drawn["pulls"])
    marked = "fractions" in results
    assert labels == shown(results) + ["owed, τT", "optimal"] * marked
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
        results = simulated(case)
        looks = [(to_rgb(look["color"]), look["linestyle"]) for look in plots.styles(results).values()]
        assert len(set(looks)) == len(looks) == results.sizes["policy"]


def test_a_policy_keeps_its_colour_whatever_stands_beside_it():
    alone, among = simulate("hard-threshold-ucb", **FAIR), simulated("one instance")
    colours = [to_rgb(plots.styles(results)["hard-threshold-ucb"]["color"]) for results in (alone, among)]
    assert colours[0] == colours[1]


def test_a_grid_goes_from_light_to_dark():
    looks = plots.styles(simulated("a grid"))
    shades = [sum(to_rgb(looks[f"lfg (eta={eta})"]["color"])) for eta in (0.1, 1, 10, 100, 1000)]
    assert np.all(np.diff(shades) < 0)


def test_a_single_recorded_round_makes_no_curve():
    assert list(figures(simulate("ucb1", record=1, **FAIR))) == ["pulls"]
    assert list(figures(simulate("ucb1", metrics=[]))) == ["pulls"]


def test_phases_are_bars_that_fill_the_horizon():
    problem = jb.Problem([0.3, 0.8], penalties=0.6, opportunity="uniform")
    policies = ["ucb1", jb.policy("self-regulated", beta=0.5), "fairness-aware-etc"]
    results = jb.simulate(problem, policies, horizon=400, seeds=4)
    (axis,) = figures(results)["phases"].axes
    assert [tick.get_text() for tick in axis.get_yticklabels()] == ["self-regulated", "fairness-aware-etc"]
    assert axis.get_xlabel() == "share of the T = 400 rounds, mean over 4 runs"
    for row, label in enumerate(["self-regulated", "fairness-aware-etc"]):
        bars = [bar for bar in axis.patches if round(bar.get_y() + bar.get_height() / 2) == row]
        spent = results.phase_rounds.sel(policy=label)
        shares = spent.where(spent >= 0).mean(("instance", "seed")).dropna("phase").values / 400
        assert [bar.get_width() for bar in bars] == pytest.approx(shares)
        assert sum(shares) == pytest.approx(1)


@pytest.mark.parametrize("case", ["no fractions", "a grid over many instances"])
def test_every_figure_is_drawn_to_files(case, tmp_path):
    results = simulated(case)
    written = plots.draw_all(results, tmp_path)
    assert sorted(written) == sorted(tmp_path.iterdir())
    assert [path.name for path in written] == [f"{name}{s}" for name in figures(results) for s in (".png", ".pdf")]
    for path in written[::2]:
        image = plt.imread(path)
        assert min(image.shape[:2]) > 200
        assert image.std() > 0.01
    plt.close("all")
    assert plots.draw_all(results, tmp_path) == written  # over what is there
    assert plt.get_fignums() == []


# The table


def cells(results):
    """The table's rows by label: the text of each column by its head."""
    head, rule, *rows, note = summary.table(results).splitlines()
    edges = np.cumsum([0, *(len(dashes) + 2 for dashes in rule.split("  "))])
    columns = [slice(a, b - 2) for a, b in itertools.pairwise(edges)]
    names = [head[column].strip() for column in columns]
    assert all(len(row.rstrip()) <= len(rule) for row in rows)
    return {
        row[columns[0]].strip(): {n: row[c].strip() for n, c in zip(names, columns, strict=True)} for row in rows
    }, note


def test_the_table_has_a_line_a_policy_and_a_column_a_metric(results):
    rows, note = cells(results)
    assert list(rows) == results.policy.values.tolist()
    recorded = [name for name in METRICS if name in results]
    columns = ["policy", *(name.replace("_", " ") for name in recorded)]
    ever = "max_deficit" in recorded
    assert note.startswith("at T = 120: mean ± 95 % confidence over ")
    assert note.endswith("; max deficit ever is the largest of all runs") == ever
    for i, row in enumerate(rows.values()):
        assert list(row) == columns + ["max deficit ever"] * ever
        if ever:
            assert float(row["max deficit ever"]) == pytest.approx(
                results.max_deficit_ever[i].max().item(), abs=0.005001
            )
        for name in recorded:
            average, error = (x[i] for x in means(results, name))
            text = row[name.replace("_", " ")]
            assert ("±" in text) == (results.sizes["seed"] > 1)
            mean, *half = (float(part) for part in text.split("±"))
            if half:
                shown_half = half[0]
                assert shown_half == pytest.approx(1.96 * error, rel=0.051)  # two digits
                assert mean == pytest.approx(average, abs=0.051 * 1.96 * error + 0.005001 * (error == 0))
            else:
                assert mean == pytest.approx(average, rel=1e-3, abs=1e-12)


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (1234.5678, 12.345, "1235 ± 12"),
        (1234.5678, 123.4, "1235 ± 123"),
        (1.23456, 0.0123, "1.235 ± 0.012"),
        (-0.5, 3.21, "-0.5 ± 3.2"),
        (2.0, 0.0, "2.00 ± 0.00"),
        (1234.5678, float("nan"), "1235"),
    ],
)
def test_a_number_has_the_digits_its_error_leaves_it(mean, half, text):
    assert statistics.with_error(mean, half) == text


def test_importing_plots_leaves_the_backend_alone():
    """In a notebook, whose own backend shows figures below their cell."""
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
