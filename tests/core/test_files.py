"""Files: atomic writes, temporary names, checksums."""

import hashlib

import pytest
import xarray as xr

from jaxbandit.core.errors import WriteError
from jaxbandit.core.files import atomic_write, checksums
from jaxbandit.core.files.atomic_write import write_atomically
from jaxbandit.core.files.output_names import RESULTS, is_staged, is_temporary, remove_files, temporary_name


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("sync", [False, True])
def test_a_file_is_written_under_its_name_alone(tmp_path, sync):
    path = tmp_path / "new" / "file.txt"
    for content in (b"first", memoryview(b"second")):
        write_atomically(path, content, sync)
        assert path.read_bytes() == bytes(content)
        assert names(path.parent) == ["file.txt"]


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "file.txt"
    path.write_text("before")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic_write.os, "fsync", full)
    with pytest.raises(WriteError, match=r"file\.txt cannot be written: No space left on device") as caught:
        write_atomically(path, b"after", sync=True)
    assert caught.value.path == path
    assert path.read_text() == "before"
    assert names(tmp_path) == ["file.txt"]


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("a file")
    with pytest.raises(WriteError, match="cannot be written"):
        write_atomically(tmp_path / "file" / "more", b"content")


def test_temporary_names_are_recognised():
    first, second = temporary_name(RESULTS), temporary_name(RESULTS)
    assert first != second
    assert is_temporary(first, lambda name: name == RESULTS)
    assert not is_temporary(first, lambda name: name == "other.nc")
    assert not is_temporary(RESULTS, lambda name: True)
    assert is_staged(first)
    assert is_staged(RESULTS)
    assert is_staged("sweep-eta.png")
    assert not is_staged(temporary_name("thesis.txt"))


def test_only_files_of_some_names_are_removed(tmp_path):
    for name in (RESULTS, temporary_name(RESULTS), "thesis.txt"):
        (tmp_path / name).write_text("")
    remove_files(tmp_path, is_staged)
    assert names(tmp_path) == ["thesis.txt"]
    (tmp_path / "thesis.txt").unlink()
    link = tmp_path.with_name("link")
    link.symlink_to(tmp_path)
    remove_files(link, is_staged)
    assert tmp_path.is_dir()
    remove_files(tmp_path, is_staged)
    assert not tmp_path.exists()


def test_a_file_that_differs_from_its_checksum_is_damaged(tmp_path):
    path = tmp_path / "data.nc"
    with pytest.raises(FileNotFoundError):
        checksums.load_checked(path)
    xr.Dataset({"x": ("k", [1.0, 2.0])}).to_netcdf(path, engine="h5netcdf")
    with pytest.raises(checksums.DamagedError, match="has no digest beside it"):
        checksums.load_checked(path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    checksums.write_checksum(path, digest)
    assert path.with_name("data.nc.sha256").read_text() == f"{digest}  data.nc\n"
    assert checksums.load_checked(path)["x"].values.tolist() == [1.0, 2.0]
    path.write_bytes(path.read_bytes() + b"!")
    with pytest.raises(checksums.DamagedError, match="is damaged or was altered"):
        checksums.load_checked(path)
    checksums.write_checksum(path, hashlib.sha256(b"no netCDF").hexdigest())
    path.write_bytes(b"no netCDF")
    with pytest.raises(checksums.DamagedError, match="cannot be read as netCDF"):
        checksums.load_checked(path)
    checksums.remove_checksum(path)
    assert names(tmp_path) == ["data.nc"]
