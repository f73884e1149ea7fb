"""Results from which seeds were selected: their means are over all seeds, their runs are the selected ones."""

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
