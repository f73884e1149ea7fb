"""Results of a previous run in an output directory: whether they are those of a config, and all there."""

import os

import pytest
import tomli_w
import xarray as xr

from jaxbandit.experiments.output.previous_run import FILES_ATTRIBUTE, is_finished, read_previous, stamp

CONFIG = {
    "simulation": {"horizon": 9, "seeds": 2, "block": 7},
    "problem": {"means": [0.9, 0.5]},
    "policies": [{"kind": "ucb1"}],
}
FILES = ["results.nc", "curves.png"]


@pytest.fixture
def out(tmp_path):
    """A directory with the files of a run."""
    attributes = {"config": tomli_w.dumps(CONFIG), FILES_ATTRIBUTE: " ".join([*FILES, "../elsewhere.txt"])}
    xr.Dataset(attrs=attributes).to_netcdf(tmp_path / "results.nc", engine="h5netcdf")
    (tmp_path / "curves.png").write_bytes(b"")
    return tmp_path


def test_the_config_and_the_files_are_read(out):
    found = read_previous(out)
    assert (found.config, found.files) == (CONFIG, tuple(FILES))


def test_a_run_is_finished_where_all_its_files_were_written_since(out):
    other_block = {**CONFIG, "simulation": {"horizon": 9, "seeds": 2}}
    other_run = {**CONFIG, "simulation": {"horizon": 10, "seeds": 2}}
    assert is_finished(out, CONFIG, ())
    assert is_finished(out, other_block, ())
    assert not is_finished(out, other_run, ())
    assert not is_finished(out, CONFIG, stamp(out))
    (out / "curves.png").unlink()
    assert not is_finished(out, CONFIG, ())


@pytest.mark.parametrize("content", [b"", b"no results"])
def test_results_that_cannot_be_read_are_not_finished(out, content):
    (out / "results.nc").write_bytes(content)
    assert (read_previous(out).config, read_previous(out).files) == (None, ())
    assert not is_finished(out, CONFIG, ())


def test_without_results_nothing_is_finished(tmp_path):
    assert read_previous(tmp_path) is None
    assert not is_finished(tmp_path, CONFIG, ())
    os.mkdir(tmp_path / "results.nc")
    assert read_previous(tmp_path).config is None
