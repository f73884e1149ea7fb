"""Runs that are interrupted, and their folders."""

import contextlib
import hashlib
import tomllib

import pytest
import tomli_w
import xarray as xr

from jaxbandit.engine.host.checkpoint import FOLDER, Checkpoint

WORLD = {
    "means": [[0.9, 0.5, 0.1], [0.2, 0.4, 0.3]],
    "fractions": 0.1,
    "penalties": 0.2,
    "opportunity": "linear",
    "delay": {"kind": "geometric", "p": 0.5},
}
SETTING = {"horizon": 40, "seeds": 6, "record": 5, "metrics": ["regret", "max_deficit"], "block": 2}
ONE = {"simulation": {**SETTING, "key": 3}, "problem": WORLD, "policies": [{"kind": "self-regulated"}]}


def assert_same(one, two):
    xr.testing.assert_identical(one.drop_attrs(deep=False), two.drop_attrs(deep=False))


@contextlib.contextmanager
def stopping(saved, error=KeyboardInterrupt):
    """Raise `error` in place of saving a block, once so many are saved."""
    save, left = Checkpoint.save, [saved]

    def saving(self, name, arrays):
        if not left[0]:
            raise error
        left[0] -= 1
        save(self, name, arrays)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "save", saving)
        yield


@contextlib.contextmanager
def interrupted(saved):
    """The same around a call that passes it on."""
    with stopping(saved), pytest.raises(KeyboardInterrupt):
        yield


def blocks(out):
    return sorted(path.name.removesuffix(".block") for path in (out / FOLDER).glob("*.block"))


def contents(folder):
    """Every file of a folder, by its path in it: its size and its first megabyte."""
    return {
        path.relative_to(folder): (path.stat().st_size, path.open("rb").read(1 << 20))
        for path in folder.rglob("*")
        if path.is_file()
    }


def opened(folder):
    with xr.open_dataset(folder / "results.nc") as found:
        return found.load()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def rewrite(out, change):
    """Change the table in `run.toml`, and give it the digest that belongs to it."""
    path = out / FOLDER / "run.toml"
    about = tomllib.loads(path.read_text())
    change(about)
    text = tomli_w.dumps(about)
    path.write_text(f"# jaxbandit-run-1 {len(text.encode())} {hashlib.sha256(text.encode()).hexdigest()}\n{text}")
