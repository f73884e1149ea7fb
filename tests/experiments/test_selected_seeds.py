"""Results from which seeds or rounds were selected: means are over all seeds, and values of runs are those at T."""

import io

import numpy as np
import pytest
import xarray as xr

import jaxbandit as jb

SETTINGS = {"horizon": 40, "record": 5, "metrics": ["regret", "unfairness"], "runs": ["regret"]}
POLICIES = ["ucb1", "uniform-random"]
PROBLEM = {"means": [0.9, 0.5, 0.2], "fractions": 0.2}
SELECTIONS = {
    "some": lambda results: results.isel(seed=slice(0, 3)),
    "by number": lambda results: results.sel(seed=[1, 4]),
    "one": lambda results: results.isel(seed=[5]),
    "drawn with replacement": lambda results: results.isel(seed=[0, 1, 1, 2, 3, 5]),
    "and a policy": lambda results: results.isel(seed=slice(0, 3), policy=0),
}
READERS_OF_MEANS = {
    "summary": jb.summary.table,
    "table": jb.grids.table,
    "best": lambda results: jb.grids.best(results, "regret"),
    "curves": jb.plots.curves,
    "tradeoff": jb.plots.tradeoff,
    "selection fractions": jb.plots.selection_fractions,
}
READERS_OF_RUNS = {
    **{name: READERS_OF_MEANS[name] for name in ("summary", "best")},
    "best per instance": lambda results: jb.grids.best(results, "regret", per="instance"),
    "confidence set": lambda results: jb.grids.confidence_set(results, "regret"),
    "difference": lambda results: jb.grids.difference(results, *POLICIES, "regret"),
    "dashboard": jb.dashboard,
    "pulls": jb.plots.pulls,
}
WORDS = r"^results\.seed = '\d seeds?.*': must hold all 6 seeds, each once: the means in the results are over them; "


@pytest.fixture(scope="module")
def results():
    return jb.simulate(PROBLEM, POLICIES, seeds=6, **SETTINGS)


@pytest.fixture(scope="module")
def three():
    """The simulation of the first three seeds alone."""
    return jb.simulate(PROBLEM, POLICIES, seeds=3, **SETTINGS)


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("reader", READERS_OF_MEANS)
def test_their_means_are_refused(results, selection, reader):
    READERS_OF_MEANS[reader](results)
    with pytest.raises(jb.InputError, match=WORDS):
        READERS_OF_MEANS[reader](SELECTIONS[selection](results))


def test_no_figure_is_written(results, tmp_path):
    with pytest.raises(jb.InputError, match=WORDS):
        jb.plots.draw_all(results.isel(round=[-1], seed=slice(0, 3)), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_differences_and_quantiles_are_those_of_the_selected_runs(results, three):
    selected = results.isel(seed=slice(0, 3))
    assert jb.grids.difference(selected, *POLICIES, "regret") == jb.grids.difference(three, *POLICIES, "regret")
    for found, expected in zip(*(lines(one) for one in (selected, three)), strict=True):
        np.testing.assert_array_equal(found, expected)
    for found, expected in zip(*(bars(one) for one in (selected, three)), strict=True):
        assert found == pytest.approx(expected)


def lines(results):
    """The points of the medians over runs."""
    figure = jb.plots.curves(results, ["regret"], band="quantiles")
    return [line.get_xydata() for line in figure.axes[0].lines]


def bars(results):
    """The lengths of the bars of selections."""
    return [(bar.get_height(), bar.get_width()) for axis in jb.plots.pulls(results).axes for bar in axis.patches]


def test_results_read_from_a_file_are_refused_and_those_without_the_attribute_are_not(results):
    file = io.BytesIO()
    results.to_netcdf(file, engine="h5netcdf")
    with xr.open_dataset(io.BytesIO(file.getvalue()), engine="h5netcdf") as found:
        read = found.load()
    assert jb.summary.table(read) == jb.summary.table(results)
    with pytest.raises(jb.InputError, match=WORDS):
        jb.summary.table(read.isel(seed=slice(0, 3)))
    assert jb.summary.table(read.drop_attrs(deep=False)) == jb.summary.table(results)


def test_joined_results_know_their_seeds(results, three):
    added = jb.simulate(PROBLEM, POLICIES, seeds=3, first_seed=3, **SETTINGS)
    joined = jb.combine(three, added)
    assert joined.attrs["seeds"] == 6
    assert jb.summary.table(joined) == jb.summary.table(results)
    with pytest.raises(jb.InputError, match=WORDS):
        jb.summary.table(joined.isel(seed=slice(0, 3)))
    with pytest.raises(jb.InputError, match=r"^more\.seed = .*: must "):
        jb.combine(three, results.isel(seed=slice(3, 6)))


@pytest.mark.parametrize("reader", READERS_OF_RUNS)
def test_values_of_runs_are_not_taken_as_those_of_an_earlier_round(results, reader):
    with pytest.raises(jb.InputError, match=r"^results\.round = .*: must end with round T = 40, whose values the runs"):
        READERS_OF_RUNS[reader](results.isel(round=slice(0, 2)))
    READERS_OF_RUNS[reader](results.isel(round=slice(2, None)))


def test_figures_of_grids_do_not_take_values_of_runs_as_those_of_an_earlier_round():
    grid = {"kind": "ucb1", "exploration": [0.5, 1.0, 2.0], "log_offset": [0.0, 1.0]}
    early = jb.simulate(PROBLEM, grid, seeds=3, **SETTINGS).isel(round=slice(0, 2))
    one = early.sel(policy=(early["policies.log_offset"] == 0).values)
    for draw in (
        lambda: jb.plots.sweep(one, "policies.exploration"),
        lambda: jb.plots.heat_map(early, "regret", "policies.exploration", "policies.log_offset"),
        lambda: jb.plots.heat_maps(early, "policies.exploration", "policies.log_offset"),
    ):
        with pytest.raises(jb.InputError, match=r"^results\.round = "):
            draw()


def test_means_of_earlier_rounds_can_be_read_and_drawn(results):
    early = results.isel(round=slice(0, 3))
    assert jb.grids.table(early)["round"].max() == int(results["round"][2])
    assert jb.plots.curves(early, ["regret"]).axes[0].get_xlim()[1] == int(results["round"][2])


def test_joined_results_know_their_last_round(three):
    joined = jb.combine(three, jb.simulate(PROBLEM, POLICIES, seeds=3, first_seed=3, **SETTINGS))
    with pytest.raises(jb.InputError, match=r"^results\.round = "):
        jb.summary.table(joined.isel(round=[0]))


def test_a_line_needs_two_rounds(results):
    with pytest.raises(jb.InputError, match=r"^results\.round = \[40\]: must have at least two recorded rounds"):
        jb.plots.curves(results.isel(round=[-1]))
