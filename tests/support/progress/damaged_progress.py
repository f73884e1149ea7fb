"""Ways in which a folder of progress may be damaged, and what has to come of it."""

import hashlib
import io
import os
import pickle
import shutil
import tomllib
import warnings

import numpy as np
import pytest
import tomli_w
from interruption import ONE, contents, rewrite

import jaxbandit as jb
from jaxbandit.core.errors import WriteError
from jaxbandit.engine import simulation as engine
from jaxbandit.engine.host import fingerprint
from jaxbandit.engine.host.checkpoint import FOLDER
from jaxbandit.experiments.configs.config import make_plan


def content(result):
    """All arrays of a result, by name."""
    return {f"{n} {key}": a for n, t in enumerate(result.statistics) for key, a in t.arrays(full=True).items()}


class Kept:
    """A run whose blocks are all done: its files, how to damage them, and what has to come of it."""

    def __init__(self, place):
        self.out, self.folder = place / "kept", place / "kept" / FOLDER
        self.own = make_plan(ONE)
        self.right = content(engine.run(self.own))
        self.digest = fingerprint.digest(self.own)  # of one plan, so that it is traced once
        self.files = self._files(self.own)
        self.others = [
            self._files(make_plan({**ONE, "simulation": {**ONE["simulation"], **change}}))
            for change in ({"key": 4}, {"seeds": 8})
        ]
        self.names = sorted(self.files)
        self.witness = place / "executed"

    def _files(self, run):
        shutil.rmtree(self.out, ignore_errors=True)
        engine.run(run, keep=self.out, about={"config": tomli_w.dumps(ONE)})
        return {path.name: path.read_bytes() for path in self.folder.iterdir()}

    def restore(self):
        shutil.rmtree(self.out, ignore_errors=True)
        self.folder.mkdir(parents=True)
        for name, held in self.files.items():
            (self.folder / name).write_bytes(held)

    def goes_on(self):
        """Go on: refused, in one line and with every file left, or right; returns how many blocks were simulated."""
        before, count, run_block = contents(self.out), [0], engine.simulate_block

        def watched(*arguments):
            count[0] += 1
            return run_block(*arguments)

        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            patch.setattr(engine, "simulate_block", watched)
            patch.setattr(fingerprint, "digest", lambda plan: self.digest)
            try:
                result = engine.run(self.own, keep=self.out)
            except (jb.InputError, WriteError) as error:
                told = str(error)
                assert told.count("\n") == 0
                assert before.items() <= contents(self.out).items()
                return None
        made = content(result)
        assert made.keys() == self.right.keys()
        for name, array in made.items():
            np.testing.assert_array_equal(array, self.right[name], err_msg=name, strict=True)
        assert not self.witness.exists()
        assert 0 < result.run_seconds < 1000
        return count[0]

    def forge(self, name, rest):
        """Write a block with a digest that is right."""
        run = tomllib.loads(self.files["run.toml"].decode())["run"]
        head = f"jaxbandit-block-1 {run} {name.removesuffix('.block')} {len(rest)} {hashlib.sha256(rest).hexdigest()}"
        (self.folder / name).write_bytes(f"{head}\n".encode() + rest)

    def arrays(self, name):
        with np.load(io.BytesIO(self.files[name].partition(b"\n")[2])) as arrays:
            return dict(arrays)


class Planted:
    """Creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def npz(arrays):
    made = io.BytesIO()
    np.savez(made, **arrays)
    return made.getvalue()


def truncated(kept, rng, name):
    held = kept.files[name]
    (kept.folder / name).write_bytes(held[: rng.integers(len(held))])


def flipped(kept, rng, name):
    held = bytearray(kept.files[name])
    for _ in range(rng.integers(1, 4)):
        place = rng.integers(min(len(held), 300 if rng.random() < 0.4 else len(held)))  # heads as often as bodies
        held[place] ^= 1 << rng.integers(8)
    (kept.folder / name).write_bytes(held)


def longer(kept, rng, name):
    (kept.folder / name).write_bytes(kept.files[name] + rng.bytes(rng.integers(1, 2000)))


def zeros(kept, rng, name):
    (kept.folder / name).write_bytes(bytes(len(kept.files[name])))


def noise(kept, rng, name):
    (kept.folder / name).write_bytes(rng.bytes(rng.integers(1, 5000)))


def large(kept, rng, name):
    """A terabyte that takes no room: never to be read."""
    os.truncate(kept.folder / name, 1 << 40)


def altered(kept, rng, name):
    """Numbers that were changed by a sound hand: the digest alone knows."""
    if name == "run.toml":
        rewrite(kept.out, lambda about: about.update(sizes=[[2, 6]]))
        head, text = kept.files[name].split(b"\n", 1)[0], (kept.folder / name).read_bytes().split(b"\n", 1)[1]
        (kept.folder / name).write_bytes(head + b"\n" + text)
        return
    arrays = kept.arrays(name)
    body = npz({**arrays, "pulls": arrays["pulls"] + 1})
    head = kept.files[name].split(b"\n", 1)[0]
    assert len(body) + len(head) + 1 == len(kept.files[name])
    (kept.folder / name).write_bytes(head + b"\n" + body)


def gone(kept, rng, name):
    (kept.folder / name).unlink()


def swapped(kept, rng, name):
    other = rng.choice(kept.names)
    (kept.folder / name).write_bytes(kept.files[other])
    (kept.folder / other).write_bytes(kept.files[name])


def foreign(kept, rng, name):
    other = kept.others[rng.integers(2)]
    (kept.folder / name).write_bytes(other[name if name in other else rng.choice(sorted(other))])


def link(kept, rng, name):
    (kept.folder / name).unlink()
    (kept.folder / name).symlink_to(kept.folder / "nowhere")


def folder(kept, rng, name):
    (kept.folder / name).unlink()
    (kept.folder / name).mkdir()


def pipe(kept, rng, name):
    (kept.folder / name).unlink()
    os.mkfifo(kept.folder / name)


def rewritten(kept, rng, name):
    changes = [
        *(lambda t, s=s: t.update(sizes=s) for s in ("many", [[0, 1]], [[1, 10**15]], [[1]], [], [[1.0, 2]], [1, 2])),
        *(lambda t, s=s: t.update(sizes=s) for s in ([[1, 1]], [[2, 6]], [[True, 2]], [[-1, 2]], [[1, 2], [1, 2]])),
        *(lambda t, r=r: t.update(run=r) for r in (5, ["a"], "", "0" * 64)),
        *(lambda t, k=k: t.pop(k) for k in ("run", "sizes", "config")),
        lambda t: t.clear(),
        lambda t: t.update(config="not TOML ["),
    ]
    rewrite(kept.out, changes[rng.integers(len(changes))])


def forged(kept, rng, name):
    name = rng.choice([n for n in kept.names if n != "run.toml"])
    arrays = kept.arrays(name)
    key = rng.choice(sorted(arrays))
    planted = np.array([Planted(kept.witness)], object)
    bodies = [
        lambda: npz({**arrays, key: planted}),
        lambda: npz({**arrays, "more": planted}),
        lambda: pickle.dumps(Planted(kept.witness)),
        lambda: npz({**arrays, key: arrays[key].astype(np.float32)}),
        lambda: npz({**arrays, key: np.asarray(arrays[key])[..., None]}),
        lambda: npz({**arrays, key: np.zeros(0)}),
        lambda: npz({n: a for n, a in arrays.items() if n in ("seconds", key)}),
        lambda: npz({n: a for n, a in arrays.items() if n != "seconds"}),
        *(lambda s=s: npz({**arrays, "seconds": np.asarray(s)}) for s in (np.nan, -1.0, np.inf, "soon", [1.0, 2.0])),
        lambda: npz(arrays)[: rng.integers(4000)],
        lambda: b"",
        lambda: b"PK\x05\x06" + bytes(18),
        lambda: b"\x93NUMPY\x01\x00\x10\x00{'descr': '<f8'}",
    ]
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    bodies.append(buffer.getvalue)
    body = bodies[rng.integers(len(bodies))]()
    kept.forge(name, body)


DAMAGES = [truncated, flipped, longer, zeros, noise, altered, large, gone, swapped, foreign, link, folder, pipe]
DAMAGES += [rewritten, forged]
