"""Figures of runs, of their quantiles and of selection fractions, read back and compared with the results."""

import numpy as np
import pytest
from made_up import MEANS, T, crowd, grid, made_up, one
from matplotlib.colors import to_rgb
from scipy import stats

import jaxbandit as jb
from jaxbandit.experiments.plots import figures

TWO = [MEANS, [0.2, 0.3, 0.4, 0.8]]
PLACES = ["best arm", "2nd best", "3rd best", "4th best"]
CURVE, RUNS = ("policy", "instance", "arm", "round"), ("policy", "instance", "seed", "round")


def with_runs(results, metrics=("regret",)):
    """The results with curves of every run, which leap at random."""
    draw = np.random.default_rng(3)
    for name in metrics:
        finals = results[f"{name}_final"].values
        curves = finals[..., None] * draw.random((*finals.shape, results.sizes["round"])) ** 3
        results = results.assign({f"{name}_runs": (RUNS, curves)})
    return results


def with_pulls_mean(results):
    """The results with mean pulls that grow at random, and standard errors."""
    draw = np.random.default_rng(4)
    shape = tuple(results.sizes[name] for name in CURVE)
    pulls = np.sort(draw.random(shape), axis=-1) * results["round"].values
    error = np.sqrt(pulls) / 10 if results.sizes["seed"] > 1 else np.full(shape, np.nan)
    return results.assign(pulls_mean=(CURVE, pulls), pulls_mean_stderr=(CURVE, error))


@pytest.fixture(scope="module")
def results():
    return with_pulls_mean(with_runs(made_up(["ucb1", one("LFG", "lfg"), "fair-learn"], TWO, seeds=7)))


def labelled(axis):
    """The lines of an axis by label, and the lines without one."""
    lines = {line.get_label(): line for line in axis.lines if not line.get_label().startswith("_")}
    return lines, [line for line in axis.lines if line.get_label().startswith("_")]


def edges(collection, x):
    """The lower and the upper edge of a filled band at the places x."""
    vertices = collection.get_paths()[0].vertices
    held = [vertices[vertices[:, 0] == place, 1] for place in x]
    return np.array([values.min() for values in held]), np.array([values.max() for values in held])


def note(figure):
    """The title of the legend on one line."""
    return figure.legends[0].get_title().get_text().replace("\n", " ")


# Quantiles and single runs.


@pytest.mark.parametrize(
    ("levels", "quantiles", "words"),
    [
        (None, [0.05, 0.95, 0.25, 0.75], "bands: 5–95 % and 25–75 % of runs"),
        ([0.8], [0.1, 0.9], "band: 10–90 % of runs"),
        (0.8, [0.1, 0.9], "band: 10–90 % of runs"),
        ([0.5, 0.99, 0.9], [0.005, 0.995, 0.05, 0.95, 0.25, 0.75], "bands: 0.5–99.5 %, 5–95 % and 25–75 % of runs"),
    ],
)
def test_quantiles_are_those_of_the_runs_of_all_instances(results, levels, quantiles, words):
    figure = figures.curves(results, ["regret"], band="quantiles", levels=levels)
    (axis,) = figure.axes
    lines, _ = labelled(axis)
    assert list(lines) == results.policy.values.tolist()
    assert axis.get_ylabel() == "regret (reward)"
    assert note(figure) == f"median over 2 instances × 7 runs, {words}"
    rounds, bands = results["round"].values, len(quantiles) // 2
    assert len(axis.collections) == bands * len(lines)
    for i, line in enumerate(lines.values()):
        runs = np.concatenate([results.regret_runs.values[i, j] for j in range(2)])
        np.testing.assert_array_equal(line.get_xdata(), rounds)
        np.testing.assert_allclose(line.get_ydata(), np.sort(runs, axis=0)[6:8].mean(axis=0), rtol=1e-12)
        drawn = [edge for filled in axis.collections[bands * i : bands * (i + 1)] for edge in edges(filled, rounds)]
        np.testing.assert_allclose(drawn, [np.quantile(runs, q, axis=0) for q in quantiles], rtol=1e-12)


def test_quantiles_of_a_hundred_and_one_runs_are_runs():
    held = made_up(["ucb1"], seeds=101)
    values = np.random.default_rng(0).permutation(np.arange(101.0))[None, None, :, None]
    held = held.assign(regret_runs=(RUNS, values.repeat(held.sizes["round"], axis=3)))
    (axis,) = figures.curves(held, band="quantiles").axes
    assert labelled(axis)[0]["ucb1"].get_ydata().tolist() == [50] * held.sizes["round"]
    drawn = [edges(filled, held["round"].values) for filled in axis.collections]
    np.testing.assert_allclose(np.array(drawn)[..., 0], [[5, 95], [25, 75]], rtol=1e-12)


@pytest.mark.parametrize("band", ["confidence", "quantiles", None])
def test_single_runs_are_thin_lines_in_the_colour_of_their_policy(results, band):
    figure = figures.curves(results.transpose(..., "seed"), band=band, runs=3)
    (axis,) = figure.axes  # without names, the metrics whose runs are kept
    lines, others = labelled(axis)
    thin = [line for line in others if line.get_linewidth() < 0.5]
    assert len(thin) == 9
    assert "thin lines: 3 runs" in note(figure)
    for i, own in enumerate(lines.values()):
        for line, (seed, instance) in zip(thin[3 * i :], ((0, 0), (0, 1), (1, 0)), strict=False):
            np.testing.assert_array_equal(line.get_ydata(), results.regret_runs.values[i, instance, seed])
            assert to_rgb(line.get_color()) == to_rgb(own.get_color())
            assert line.get_linewidth() < own.get_linewidth()
            assert line.get_zorder() < own.get_zorder()


def test_without_a_band_only_means_are_drawn(results):
    figure = figures.curves(results, ["regret", "unfairness"], band=None)
    assert note(figure) == "mean over 2 instances × 7 runs"
    for axis, name in zip(figure.axes, ("regret", "unfairness"), strict=True):
        assert len(axis.collections) == 0
        for line, mean in zip(labelled(axis)[0].values(), results[name].mean("instance").values, strict=True):
            np.testing.assert_allclose(line.get_ydata(), mean, rtol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"band": "stderr"}, "band = 'stderr': must be one of confidence, quantiles"),
        ({"band": "quantile"}, "did you mean 'quantiles'"),
        ({"levels": [0.5]}, r'levels = \[0.5\]: must not be given without band = "quantiles"'),
        ({"band": "quantiles", "levels": [0.9, 1]}, "levels = .* must be numbers between 0 and 1"),
        ({"band": "quantiles", "levels": []}, "levels = .* must be numbers between 0 and 1"),
        ({"band": "quantiles", "levels": [[0.5]]}, "levels = .* must be numbers between 0 and 1"),
        ({"band": "quantiles", "levels": "0.5"}, "levels = .* must be numbers between 0 and 1"),
        ({"runs": 15}, "runs = 15: must be a whole number from 0 to 14, the number of runs per policy"),
        ({"runs": -1}, "runs = -1: must be a whole number from 0 to 14"),
        ({"runs": True}, "runs = True: must be a whole number from 0 to 14"),
        ({"band": "quantiles", "metrics": []}, "must name at least one metric"),
        (
            {"band": "quantiles", "metrics": ["regret", "unfairness"]},
            r"band = .quantiles.: cannot be drawn without unfairness_runs, .*runs=..unfairness..\)`",
        ),
        ({"runs": 1, "metrics": ["unfairness"]}, "runs = 1: cannot be drawn without unfairness_runs"),
    ],
)
def test_arguments_of_curves_that_cannot_be_drawn_are_refused(results, arguments, message):
    with pytest.raises(jb.InputError, match=message):
        figures.curves(results, **arguments)


def test_results_without_runs_name_the_argument_that_keeps_them(results):
    with pytest.raises(
        jb.InputError, match=r'without regret_runs, .* which `simulate\(..., runs=\["regret"\]\)` keeps'
    ):
        figures.curves(results.drop_vars("regret_runs"), band="quantiles")


# Selection fractions.


def check_panel(axis, results, policy, instance, names):
    """Compare the lines of a panel with the mean pulls of a policy on an instance; `names` are those of the arms."""
    late = results["round"].values >= results.sizes["arm"]
    rounds = results["round"].values[late]
    lines, _ = labelled(axis)
    for arm, name in enumerate(names):
        place = [line.get_label() for line in axis.lines].index(name)
        x, y = lines[name].get_data()
        np.testing.assert_array_equal(x, rounds)
        np.testing.assert_allclose(y, results.pulls_mean.values[policy, instance, arm, late] / rounds, rtol=1e-12)
        low, high = edges(axis.collections[place], rounds)
        width = stats.t.ppf(0.975, max(1, results.sizes["seed"] - 1))
        half = width * np.nan_to_num(results.pulls_mean_stderr.values[policy, instance, arm, late]) / rounds
        np.testing.assert_allclose((high - low) / 2, half, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose((high + low) / 2, y, rtol=1e-9)


def dashed(axis):
    """Heights and colours of the lines of required fractions."""
    levels = [line for line in axis.lines if line.get_linestyle() == "--" and len(line.get_xdata()) == 2]
    return [line.get_ydata()[0] for line in levels], [to_rgb(line.get_color()) for line in levels]


@pytest.mark.parametrize("seeds", [1, 6])
def test_each_policy_has_a_panel_with_a_line_per_arm(seeds):
    held = with_pulls_mean(made_up(["ucb1", "lfg"], seeds=seeds, rounds=40))
    figure = figures.selection_fractions(held)
    names = [f"arm {k}, μ = {mu:g}" for k, mu in enumerate(MEANS)]
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["ucb1", "lfg"]
    assert figure.axes[0].get_ylabel().startswith("selection fraction\n")
    assert note(figure) == ("mean over 1 run" if seeds == 1 else "mean over 6 runs, bands: 95 % confidence")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [*names, "required, τ"]
    for i, axis in enumerate(figure.axes):
        check_panel(axis, held, i, 0, names)
        heights, colours = dashed(axis)
        assert heights == held.fractions.values[0].tolist()
        lines, _ = labelled(axis)
        assert colours == [to_rgb(lines[name].get_color()) for name in names]
        shades = [sum(to_rgb(lines[names[arm]].get_color())) for arm in np.argsort(MEANS)[::-1]]
        assert shades == sorted(shades)  # the best arm is darkest


def test_each_instance_has_a_panel(results):
    figure = figures.selection_fractions(results)
    assert [axis.get_title(loc="left") for axis in figure.axes] == [
        f"{label}, instance {j}" for label in results.policy.values for j in range(2)
    ]
    for panel, axis in enumerate(figure.axes):
        i, j = divmod(panel, 2)
        rank = np.argsort(np.argsort(-np.array(TWO[j])))
        check_panel(axis, results, i, j, [PLACES[rank[arm]] for arm in range(4)])
    assert note(figure) == "mean over 7 runs, bands: 95 % confidence"


def test_many_instances_are_averaged_with_their_arms_sorted_by_means():
    draw = np.random.default_rng(2)
    held = with_pulls_mean(made_up(["ucb1", "lfg", "fair-learn"], draw.permuted(np.tile(MEANS, (9, 1)), axis=1)))
    figure = figures.selection_fractions(held)
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["ucb1", "lfg", "fair-learn"]
    assert note(figure) == "mean over 9 instances × 6 runs, bands: 95 % confidence"
    late = held["round"].values >= 4
    for i, axis in enumerate(figure.axes):
        lines, _ = labelled(axis)
        for place, (name, mean) in enumerate(zip(PLACES, sorted(MEANS)[::-1], strict=True)):
            arms = np.argwhere(held.means.values == mean)
            share, error = (
                np.array([values.values[i, j, k, late] for j, k in arms]) / held["round"].values[late]
                for values in (held.pulls_mean, held.pulls_mean_stderr)
            )
            np.testing.assert_allclose(lines[name].get_ydata(), share.mean(axis=0), rtol=1e-12)
            low, high = edges(axis.collections[place], held["round"].values[late])
            np.testing.assert_allclose(
                (high - low) / 2, stats.t.ppf(0.975, 45) * np.sqrt((error**2).sum(axis=0)) / 9, rtol=1e-8
            )
        tau = [np.mean([held.fractions.values[j, k] for j, k in np.argwhere(held.means.values == m)]) for m in MEANS]
        np.testing.assert_allclose(sorted(dashed(axis)[0]), sorted(tau))


def test_fractions_that_all_arms_share_are_one_line():
    held = with_pulls_mean(made_up(["ucb1"], fractions=0.2))
    (axis,) = figures.selection_fractions(held).axes
    assert dashed(axis)[0] == [0.2]
    assert "required, τ" in labelled(axis)[0]
    (axis,) = figures.selection_fractions(with_pulls_mean(made_up(["ucb1"], fractions=None))).axes
    assert dashed(axis)[0] == []


def test_fifty_arms_have_a_colour_bar():
    means = np.random.default_rng(1).permutation(np.linspace(0.1, 0.9, 50))
    held = with_pulls_mean(made_up(["ucb1", "lfg"], means, np.linspace(0.001, 0.015, 50), rounds=60))
    figure = figures.selection_fractions(held)
    *drawn, bar = figure.axes
    assert bar.get_ylabel() == "place of the arm by mean reward"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["required, τ"]
    check_panel(drawn[1], held, 1, 0, [f"arm {k}, μ = {mu:.3g}" for k, mu in enumerate(means)])
    levels = [line for line in drawn[0].lines if line.get_linestyle() == "--" and len(line.get_xdata()) == 2]
    assert len(levels) == 50
    assert min(line.get_xdata()[0] for line in levels) > 0.9  # short lines at the right


@pytest.mark.slow
def test_of_many_policies_three_of_each_group_are_shown():
    few = made_up([*grid("lfg", eta=[1.0, 10.0]), "ucb1"])
    many = with_pulls_mean(crowd(few, {"lfg (eta=1)": 20, "ucb1": 6}))
    titles = [axis.get_title(loc="left") for axis in figures.selection_fractions(many).axes if axis.get_visible()]
    assert [title.partition(" (")[0] for title in titles] == [
        f"{name}: {place} of {size}"
        for name, size in (("lfg", 20), ("ucb1", 6))
        for place in ("best", "median", "worst")
    ]
    assert len(figures.selection_fractions(many.isel(policy=slice(24))).axes) == 24


def test_of_many_rounds_some_are_drawn():
    held = with_pulls_mean(made_up(["ucb1"], metrics=[]).assign_coords(round=np.arange(1, 5001)))
    (axis,) = figures.selection_fractions(held).axes
    x, y = labelled(axis)[0]["arm 0, μ = 0.5"].get_data()
    assert (x[0], x[-1]) == (4, 5000)
    assert 300 < len(x) <= 400
    np.testing.assert_allclose(y, held.pulls_mean.sel(round=x.astype(int)).values[0, 0, 0] / x)


def test_results_without_mean_pulls_name_the_argument_that_keeps_them(results):
    with pytest.raises(jb.InputError, match=r"must have pulls_mean, .*; `simulate\(..., pulls_mean=True\)` keeps it"):
        figures.selection_fractions(results.drop_vars("pulls_mean"))
    with pytest.raises(jb.InputError, match=r"results = \[120\]: must have at least two recorded rounds"):
        figures.selection_fractions(results.isel(round=[-1]))


# Results of a simulation.


@pytest.mark.slow
def test_figures_of_a_simulation():
    """The data of the figures against the trace."""
    simulated = jb.simulate(
        jb.Problem(MEANS, fractions=0.1, plays=2), ["fair-mmab"], horizon=T, seeds=5, runs=["regret"], trace=True
    )
    assert [name for name, _ in figures.figures(simulated)] == ["curves", "quantiles", "pulls", "selection-fractions"]
    counts = (simulated.arms.values[0, 0, ..., None] == np.arange(4)).any(axis=2).cumsum(axis=1)  # [seed, t, arm]
    rounds = simulated["round"].values
    (axis,) = figures.selection_fractions(simulated).axes
    for arm, line in enumerate(list(labelled(axis)[0].values())[:4]):
        np.testing.assert_allclose(
            line.get_ydata(), counts[:, rounds[rounds >= 4] - 1, arm].mean(axis=0) / line.get_xdata()
        )
    regret = np.arange(1, T + 1) * (0.9 + 0.7) - counts @ np.array(MEANS)
    (axis,) = figures.curves(simulated, ["regret"], band="quantiles").axes
    median = labelled(axis)[0]["fair-mmab"].get_ydata()
    np.testing.assert_allclose(median, np.quantile(regret, 0.5, axis=0)[rounds - 1], rtol=1e-4, atol=1e-4)
