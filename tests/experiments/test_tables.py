"""Grids: their tables, heat maps and differences against plain NumPy, and what is shown of thousands of policies."""

import importlib
import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import LogNorm, to_rgb

import jaxbandit as jb
from jaxbandit.experiments import statistics, summary, tables
from jaxbandit.experiments.plots import figures, heat_maps
from jaxbandit.metrics.definitions import METRICS

T, SEEDS = 120, 20
MEANS = [[0.5, 0.9, 0.1, 0.7], [0.2, 0.3, 0.4, 0.8]]
PROBLEM = jb.Problem(MEANS, fractions=[0.1, 0.05, 0.2, 0.15], penalties=0.3)
ETA, EXPLORATION = [1.0, 10.0, 100.0], [0.5, 2.0]
POINTS = list(itertools.product(ETA, EXPLORATION))
NAN = float("nan")


def on_grid(results, **values):
    """The results with coordinates that hold the parameters of their grids."""
    return results.assign_coords(
        {name: ("policy", np.array(held), {"key": f"policies.{name}"}) for name, held in values.items()}
    )


@pytest.fixture(scope="module")
def results():
    """lfg over two parameters and over one, and ucb1; out of order, as a selection may leave them."""
    policies = [
        {"kind": "lfg", "eta": ETA, "exploration": EXPLORATION},
        "ucb1",
        {"kind": "lfg", "label": "short", "eta": [5.0, 7.0]},
    ]
    made = jb.simulate(PROBLEM, policies, horizon=T, seeds=SEEDS, record=12)
    eta, exploration = zip(*POINTS, strict=True)
    made = on_grid(made, eta=[*eta, NAN, 5.0, 7.0], exploration=[*exploration, NAN, NAN, NAN])
    return made.isel(policy=[3, 0, 6, 5, 2, 8, 1, 4, 7])


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    yield
    plt.close("all")


def crowd(results, sizes, spread=1.0):
    """Made-up results: of some of the policies many copies, with metrics of their own and a parameter `number`.

    Args:
        sizes: copies by label.
        spread: how far the metrics of the copies are apart.
    """
    labels = results.policy.values.tolist()
    places = [labels.index(label) for label, size in sizes.items() for _ in range(size)]
    copies = [i for size in sizes.values() for i in range(size)]
    made = results.isel(policy=places)
    names = [
        f"{label} ({i})" if sizes[label] > 1 else label for label, i in zip(made.policy.values, copies, strict=True)
    ]
    made = made.assign_coords(policy=names)
    rng = np.random.default_rng(1)
    for name in figures.recorded(results):
        shift = made[name].isel(round=-1, instance=0, drop=True) * 0 + spread * rng.permutation(len(names))
        made[name] = made[name] + shift
        made[f"{name}_final"] = made[f"{name}_final"] + shift
    return on_grid(made.drop_vars(["eta", "exploration"], errors="ignore"), number=np.array(copies, float))


def without(results, metrics):
    """The results as if these metrics had not been asked for."""
    held = {name: (name, f"{name}_stderr", f"{name}_final") for name in metrics}
    ever = ["max_deficit_ever"] if "max_deficit" in metrics else []
    return results.drop_vars([*itertools.chain(*held.values()), *ever])


def unranked(results):
    return without(results, figures.recorded(results))


def lfg(eta, exploration):
    return f"lfg (eta={eta:g}, exploration={exploration:g})"


def runs(results, label, metric):
    return results[f"{metric}_final"].sel(policy=label).values


# The table


def test_the_parameters_are_the_coordinates_that_say_so(results):
    assert tables.parameters(results) == ["eta", "exploration"]
    assert tables.parameters(results.drop_vars(["eta", "exploration"])) == []
    assert tables.varying(results) == {"lfg": ["eta", "exploration"], "short": ["eta"]}


@pytest.mark.parametrize("at", [None, 1, T])
def test_the_table_has_a_row_for_each_policy_and_instance(results, at):
    table = tables.table(results, at=at)
    recorded = [name for name in METRICS if name in results]
    both = [column for name in recorded for column in (name, f"{name}_stderr")]
    about = ["policy", "family", "kind", "eta", "exploration", "instance", "round"]
    assert table.columns.tolist() == about + both
    assert len(table) == 9 * 2
    assert set(table["round"]) == {T if at is None else at}
    for label, instance in itertools.product(results.policy.values, range(2)):
        row = table[(table.policy == label) & (table.instance == instance)].squeeze()
        one = results.sel(policy=label, instance=instance, round=row["round"])
        assert (row.family, row.kind) == (one.family, one.kind)
        np.testing.assert_array_equal([row.eta, row.exploration], [one.eta, one.exploration])
        np.testing.assert_array_equal([row[name] for name in both], [one[name].item() for name in both])
    if at != 1:
        ends = [runs(results, row.policy, "r_regret")[row.instance].mean() for row in table.itertuples()]
        np.testing.assert_allclose(table.r_regret, ends, rtol=1e-12, atol=1e-9)


def test_the_table_holds_the_metrics_asked_for(results):
    table = tables.table(results, ["unfairness", "regret"])
    assert table.columns[-4:].tolist() == ["unfairness", "unfairness_stderr", "regret", "regret_stderr"]


def test_what_the_results_do_not_hold_is_refused(results):
    with pytest.raises(jb.InputError, match=r"metrics = 'utility'.*one of .*r_regret"):
        tables.table(results, ["utility"])
    with pytest.raises(jb.InputError, match=r"at = 119: must be one of the 12 recorded rounds.* 120$"):
        tables.table(results, at=119)
    with pytest.raises(jb.InputError, match=r"metric = 'regrets'.*did you mean 'regret'"):
        tables.difference(results, "ucb1", "ucb1", "regrets")
    with pytest.raises(jb.InputError, match=r"second = 'ucb2'.*did you mean 'ucb1'"):
        tables.difference(results, "ucb1", "ucb2", "regret")
    with pytest.raises(jb.InputError, match=r"first = 'lf'; .* 61 labels, as 'lfg .*\(0\)'"):
        tables.difference(crowd(results, {lfg(1, 0.5): 60, "ucb1": 1}), "lf", "ucb1", "regret")
    with pytest.raises(jb.InputError, match=r"family = 'LFG'"):
        tables.best(results, "regret", "LFG")


# Differences and the best


def test_a_difference_is_taken_run_by_run(results):
    made = tables.difference(results, lfg(100, 2), "ucb1", "penalized_regret")
    apart = runs(results, lfg(100, 2), "penalized_regret") - runs(results, "ucb1", "penalized_regret")
    error = np.sqrt(sum(row.var(ddof=1) / SEEDS for row in apart)) / 2
    assert made.mean == pytest.approx(apart.mean())
    assert made.stderr == pytest.approx(error)
    assert (made.low, made.high) == pytest.approx((apart.mean() - 1.96 * error, apart.mean() + 1.96 * error))
    words = "penalized regret (reward), lfg (eta=100, exploration=2) less ucb1: "
    assert (
        str(made) == f"{words}{statistics.with_error(made.mean, 1.96 * error)} (95 % confidence, 2 instances × 20 runs)"
    )


def test_a_difference_from_itself_is_none(results):
    made = tables.difference(results, "ucb1", "ucb1", "regret")
    assert (made.mean, made.low, made.high) == (0, 0, 0)


def test_one_seed_has_no_error(results):
    made = tables.difference(results.isel(seed=[0]), lfg(1, 0.5), "ucb1", "regret")
    assert np.isnan(made.stderr)
    assert str(made).endswith(" (2 instances × 1 run)")


def test_the_best_has_the_least_of_a_loss_and_the_most_of_utility(results):
    labels, means = results.policy.values, results.r_regret_final.mean(("instance", "seed")).values
    inside = results.family.values == "short"
    assert tables.best(results, "r_regret") == labels[np.argmin(means)]
    assert tables.best(results, "r_regret", "short") == labels[inside][np.argmin(means[inside])]
    gain = results.assign(utility=results.r_regret, utility_final=results.r_regret_final)
    assert tables.best(gain, "utility") == labels[np.argmax(means)]


@pytest.mark.parametrize(
    ("more", "metric"),
    [({}, "regret"), ({"fractions": 0.1}, "r_regret"), ({"fractions": 0.1, "penalties": 0.5}, "penalized_regret")],
)
def test_policies_are_ranked_by_what_needs_most_of_the_problem(results, more, metric):
    absent = {"r_regret", "c_regret", "unfairness", "max_deficit"} if not more else set()
    absent |= {"penalized_regret"} if "penalties" not in more else set()
    assert tables.leading(without(results, absent)) == metric
    assert tables.leading(unranked(results)) is None


# Heat maps


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
    """The edges between cells inside and cells that are not, one cell after the other."""
    found = set()
    for row, column in inside:
        left, right, low, high = column - 0.5, column + 0.5, row - 0.5, row + 0.5
        found ^= {((left, low), (right, low)), ((left, high), (right, high))}
        found ^= {((left, low), (left, high)), ((right, low), (right, high))}
    return found


@pytest.mark.parametrize("metric", ["penalized_regret", "unfairness"])
def test_a_heat_map_shows_every_point_where_it_belongs(results, metric):
    figure = figures.heat_map(results, metric, x="eta", y="exploration")
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
        apart = held - cells[first]
        if abs(apart.mean()) <= 1.96 * np.sqrt((apart.var(axis=1, ddof=1) / SEEDS).sum()) / 2:
            alike.add(place)
    assert edges == border(alike)
    axis, bar = figure.axes
    assert [(axis.get_xlabel(), axis.get_ylabel())] == [("eta", "exploration")]
    assert [t.get_text() for t in axis.get_xticklabels()] == ["1", "10", "100"]
    assert [t.get_text() for t in axis.get_yticklabels()] == ["0.5", "2"]
    assert bar.get_ylabel() == METRICS[metric].label
    assert "T = 120, mean over 2 instances × 20 runs" in figure.get_suptitle()
    assert "framed: the best" in figure.get_suptitle()


def test_what_a_grid_leaves_out_is_hatched(results):
    some = results.isel(policy=(results.policy != lfg(10, 2)).values)
    values, texts, _, _, hatched = panel(figures.heat_map(some, "regret", "eta", "exploration"))
    assert np.isnan(values[1, 1])
    assert np.isnan(values).sum() == 1
    assert hatched == {(1, 1)}
    assert (1, 1) not in texts


def test_light_is_good_and_of_utility_the_most_is_best(results):
    gain = results.assign(utility=results.r_regret, utility_final=results.r_regret_final)
    for metric, best in (("r_regret", np.nanargmin), ("utility", np.nanargmax)):
        figure = figures.heat_map(gain, metric, "eta", "exploration")
        values, _, _, frames, _ = panel(figure)
        image = figure.axes[0].images[0]
        light = sum(image.cmap(image.norm(values.ravel()[best(values)]))[:3])
        assert light == max(sum(image.cmap(image.norm(value))[:3]) for value in values.ravel())
        assert frames == {tuple(np.unravel_index(best(values), values.shape))}


def test_names_stand_as_they_appear(results):
    words = np.array(["late" if x == 2 else "early" if x == 0.5 else "" for x in results.exploration.values])
    named = results.drop_vars("exploration").assign_coords(base=("policy", words, {"key": "policies.base"}))
    figure = figures.heat_map(named, "regret", "base", "eta")
    assert [t.get_text() for t in figure.axes[0].get_xticklabels()] == ["late", "early"]
    values = panel(figure)[0]
    assert values[1, 0] == pytest.approx(runs(results, lfg(10, 2), "regret").mean())
    assert tables.varying(named)["lfg"] == ["eta", "base"]


def test_a_large_map_has_colours_and_a_star_alone(results):
    many = crowd(results, {"ucb1": 180})
    many = on_grid(many, x=np.tile(np.arange(15.0), 12), y=np.repeat(np.arange(12.0), 15), number=np.zeros(180))
    figure = figures.heat_map(many, "regret", "x", "y")
    values, texts, _, frames, _ = panel(figure)
    assert (values.shape, texts, frames) == ((12, 15), {}, set())
    (star,) = figure.axes[0].lines
    column, row = star.get_xydata()[0].astype(int)
    assert values[row, column] == values.min()
    assert "number = 0.0: T = 120" in figure.get_suptitle().replace("ucb1, ", "")
    assert "starred: the best" in figure.get_suptitle()


def test_colours_are_logarithmic_over_a_wide_range():
    assert isinstance(heat_maps.scale(np.array([1.0, 5.0])), LogNorm)
    for values in ([1.0, 4.9], [0.0, 10.0], [-1.0, 100.0], [3.0, 3.0]):
        norm = heat_maps.scale(np.array(values))
        assert not isinstance(norm, LogNorm)
        assert norm.vmin < norm.vmax


def test_a_metric_that_is_the_same_everywhere_has_no_best(results):
    still = results.assign(regret_final=results.regret_final * 0 + 4)
    _, texts, edges, frames, _ = panel(figures.heat_map(still, "regret", "eta", "exploration"))
    assert set(texts.values()) == {"4.00"}
    assert (edges, frames) == (set(), set())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (("regrets", "eta", "exploration"), r"metric = 'regrets'.*did you mean 'regret'"),
        (("regret", "etas", "exploration"), r"x = 'etas'.*did you mean 'eta'"),
        (("regret", "eta", "eta"), r"y = 'eta': must be another parameter than x, one of exploration"),
        (("regret", "eta", "exploration", "LFG"), r"family = 'LFG': must be one of lfg, short, ucb1"),
        (("regret", "eta", "exploration", "short"), r"y = 'exploration'; .*short's grid: eta"),
        (("regret", "eta", "exploration", "ucb1"), r"x = 'eta'; .*ucb1's grid: it has none"),
    ],
)
def test_a_heat_map_of_what_is_not_there_is_refused(results, call, message):
    with pytest.raises(jb.InputError, match=message):
        figures.heat_map(results, *call)


def test_the_family_has_to_be_clear(results):
    twice = results.assign_coords(family=("policy", np.where(results.exploration == 2, "two", results.family)))
    with pytest.raises(
        jb.InputError, match=r"two parameters that one family varies \(two: eta; lfg: eta; short: eta\)"
    ):
        figures.heat_map(twice, "regret", "eta", "exploration")
    other = results.assign_coords(family=results.family.str.upper(), policy=results.policy.str.upper())
    both = xr.concat([results, other], "policy", combine_attrs="override", data_vars="minimal")
    with pytest.raises(jb.InputError, match=r"family is missing: must be one of LFG, lfg"):
        figures.heat_map(both, "regret", "eta", "exploration")
    assert panel(figures.heat_map(both, "regret", "eta", "exploration", "LFG"))[0].shape == (2, 3)


def test_of_a_third_parameter_one_value_is_selected_first(results):
    three = on_grid(
        results, eta=results.eta, exploration=results.exploration, third=np.where(results.eta > 50, 8.0, 4.0)
    )
    with pytest.raises(jb.InputError, match=r"varies third \(2 values\).*isel\(policy=results\[\"third\"\] == 4.0\)"):
        figures.heat_map(three, "regret", "eta", "exploration")
    figure = figures.heat_map(three.isel(policy=three["third"] == 4.0), "regret", "eta", "exploration")
    assert panel(figure)[0].shape == (2, 2)
    assert "lfg, third = 4.0: T = 120" in figure.get_suptitle()


def test_a_grid_over_two_parameters_draws_its_heat_maps(results, tmp_path):
    results = without(results, {"penalized_regret", "r_regret", "max_deficit"})
    names = [path.name for path in figures.draw_all(results, tmp_path)]
    assert names[-2:] == ["heat-maps.png", "heat-maps.pdf"]
    figure = dict(figures.figures(results))["heat-maps"]
    drawn = [axis for axis in figure.axes if axis.images]
    bars = [axis.get_ylabel() for axis in figure.axes if not axis.images and axis.get_visible()]
    assert bars == [METRICS[name].label for name in figures.recorded(results)]
    for axis, name in zip(drawn, figures.recorded(results), strict=True):
        mean = runs(results, lfg(100, 0.5), name).mean()
        assert axis.images[0].get_array()[0, 2] == pytest.approx(mean)


def test_files_of_heat_maps_have_safe_names():
    assert figures._file_names("heat-maps", ["lfg/thompson"]) == ["heat-maps"]
    made = figures._file_names("heat-maps", ["lfg/thompson", "LFG (a: b)", "lfg a-b", "τ", "../x", "x" * 300])
    assert made[:5] == [
        "heat-maps-lfg-thompson",
        "heat-maps-LFG-a-b",
        "heat-maps-lfg-a-b-2",
        "heat-maps-3",
        "heat-maps-x",
    ]
    assert len(made[5]) < 100


# Many policies


@pytest.fixture(scope="module")
def many(results):
    """Sixty copies of one policy beside ucb1 and 24 of another, which is as many as are shown one by one."""
    return crowd(results, {lfg(1, 0.5): 60, "ucb1": 1, "short (eta=5)": 24})


def places(many, metric):
    """The labels of the sixty from the least of a metric to the most."""
    inside = many.isel(policy=slice(60))
    scores = inside[f"{metric}_final"].mean(("instance", "seed")).values
    return inside.policy.values[np.argsort(scores, kind="stable")]


def test_curves_show_the_best_the_median_and_the_worst_of_a_large_group(many):
    figure = figures.curves(many)
    words = [f"lfg: {place} of 60" for place in ("best", "median", "worst")]
    for axis, name in zip(figure.axes, figures.recorded(many), strict=True):
        lines = {line.get_label(): line for line in axis.lines if not line.get_label().startswith("_")}
        assert list(lines) == [*words, *many.policy.values[60:]]
        order = places(many, name)
        for word, label in zip(words, order[[0, 29, 59]], strict=True):
            np.testing.assert_allclose(
                lines[word].get_ydata(), many[name].sel(policy=label).mean("instance"), rtol=1e-12
            )
        shades = [sum(to_rgb(lines[word].get_color())) for word in words]
        assert shades == sorted(set(shades))
        assert [text.get_text() for text in axis.texts] == [f"best: {order[0].removeprefix('lfg (').removesuffix(')')}"]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()][:4] == [*words, "ucb1"]
    assert legend.get_title().get_text().endswith("; ranked by each panel's metric at T")


def test_curves_of_chosen_metrics(results):
    figure = figures.curves(results, ["unfairness", "regret"])
    assert [axis.get_ylabel() for axis in figure.axes] == ["unfairness (missed rounds)", "regret (reward)"]
    for asked, message in (
        (["x"], "metrics = 'x'"),
        ("regret", r'a list of names, as \["regret"\]'),
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


def test_policies_that_no_metric_ranks_stand_as_they_are(many):
    axis = figures.pulls(unranked(many)).axes[0]
    labels = [container.get_label() for container in axis.containers]
    assert labels[:4] == ["lfg: first of 60", "lfg: middle of 60", "lfg: last of 60", "ucb1"]
    assert "ranked" not in axis.figure.legends[0].get_title().get_text()


def test_policies_of_one_kind_are_a_group_too(many):
    apart = many.assign_coords(family=("policy", many.policy.values))
    assert {name: len(held) for name, held in tables.groups(apart).items()} == {"lfg": 84, "ucb1": 1}
    labels = [line.get_label() for line in figures.curves(apart, ["regret"]).axes[0].lines]
    assert labels[:4] == ["lfg: best of 84", "lfg: median of 84", "lfg: worst of 84", "ucb1"]


def test_the_summary_lists_the_ten_best_of_a_large_group(many):
    lines = summary.table(many, rest="table.csv").splitlines()
    assert [line.split("  ")[0] for line in lines[2:37]] == [
        *places(many, "penalized_regret")[:10],
        *many.policy.values[60:],
    ]
    assert lines[37].startswith("at T = 120: mean ± 95 % confidence over 2 instances × 20 runs")
    assert lines[38:] == ["lfg: the 10 best by penalized regret of 60; all are in table.csv"]
    assert "lfg: the 10 first of 60; all are in" in summary.table(unranked(many))


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
    with pytest.raises(jb.InputError, match=r"colour = 'eta': must be one of number"):
        figures.tradeoff(many, "eta")


def test_ten_thousand_policies_draw_no_more_than_a_few(results):
    huge = crowd(results.isel(round=[0, -1]), {lfg(1, 0.5): 10_000, "ucb1": 1})
    assert len(figures.curves(huge, ["regret"]).axes[0].collections) == 4
    assert len(figures.pulls(huge).axes[0].containers) == 4
    assert len(summary.table(huge).splitlines()) == 2 + 11 + 2
    assert len(tables.table(huge)) == 2 * 10_001
    assert len(figures.tradeoff(huge).axes[0].containers) == 1


def test_phases_show_three_of_a_large_group():
    problem = jb.Problem([0.3, 0.8], penalties=0.6, opportunity="uniform")
    made = jb.simulate(problem, ["ucb1", "fairness-aware-etc"], horizon=200, seeds=4)
    many = crowd(made, {"ucb1": 30, "fairness-aware-etc": 30})
    (axis,) = figures.phases(many).axes
    words = [f"fairness-aware-etc: {place} of 30" for place in ("best", "median", "worst")]
    assert [tick.get_text() for tick in axis.get_yticklabels()] == words
    assert axis.get_xlabel().endswith("mean over 4 runs; ranked by utility at T")


# Grids over the problem


def test_a_problem_that_varies_is_each_policy_s_own(results):
    """Where a grid varies means, fractions or penalties, these have the dimension `policy` too."""
    by = xr.DataArray(np.linspace(0.2, 1.0, 9), dims="policy")
    varied = {name: results[name] * by for name in ("means", "fractions", "penalties")}
    axis = figures.tradeoff(results.assign(varied)).axes[0]
    (_, y) = next(c for c in axis.containers if c.get_label() == "ucb1")[0].get_xydata()[0]
    ideal = T * np.array(MEANS).max(axis=1).mean() * by.values[results.policy.values.tolist().index("ucb1")]
    assert y == pytest.approx(ideal - runs(results, "ucb1", "regret").mean())
    marks = {"means": ["owed, τT"], "penalties": ["owed, τT"], "fractions": []}  # means keep their order here
    for name, expected in marks.items():
        axis = figures.pulls(results.assign({name: varied[name].transpose("instance", "arm", "policy")})).axes[0]
        assert [c.get_label() for c in axis.collections if not c.get_label().startswith("_")] == expected


def test_the_package_has_plots_and_grids():
    assert jb.plots is importlib.import_module("jaxbandit.experiments.plots.figures")
    assert jb.grids.table is tables.table
    assert jb.plots.heat_map is heat_maps.heat_map
    with pytest.raises(AttributeError, match="no attribute 'plot'"):
        _ = jb.plot
