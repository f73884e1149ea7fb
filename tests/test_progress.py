"""Progress on disk: runs that are interrupted, whose folders are damaged, or whose disk is full."""

import contextlib
import hashlib
import io
import os
import pickle
import resource
import shutil
import signal
import threading
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest
import tomli_w
import xarray as xr

import jaxbandit as jb
from jaxbandit import cli, devices, plots, progress_folder, results, summary
from jaxbandit.config import simulation
from jaxbandit.errors import WriteError
from jaxbandit.progress_folder import FOLDER, ProgressFolder
from jaxbandit.setting import Entry, Setting
from jaxbandit.simulate import Simulation

WORLD = {
    "means": [[0.9, 0.5, 0.1], [0.2, 0.4, 0.3]],
    "fractions": 0.1,
    "penalties": 0.2,
    "opportunity": "linear",
    "delay": {"kind": "geometric", "p": 0.5},
}
SETTING = {"horizon": 40, "seeds": 6, "record": 5, "metrics": ["regret", "max_deficit"], "block": 2}
POLICIES = ["fucb", "self-regulated"]  # a program each; the second has phases
BLOCKS = 12  # two policies, two instances, six seeds by two
ONE = {"simulation": {**SETTING, "key": 3}, "problem": WORLD, "policies": [{"kind": "self-regulated"}]}


def simulated(**changes):
    return jb.simulate(WORLD, POLICIES, **{**SETTING, **changes})


@pytest.fixture(scope="module")
def whole():
    return simulated()


def assert_same(one, two):
    xr.testing.assert_identical(one.drop_attrs(deep=False), two.drop_attrs(deep=False))


@pytest.fixture
def played(monkeypatch):
    """The names of the blocks that are simulated, one thread at a time so that their order is known."""
    names, run_block = [], Simulation._run_block
    monkeypatch.setattr(devices, "workers", lambda: 1)

    def watched(self, job, bar):
        names.append(job.name)
        return run_block(self, job, bar)

    monkeypatch.setattr(Simulation, "_run_block", watched)
    return names


@contextlib.contextmanager
def stopping(saved, error=KeyboardInterrupt):
    """Raise `error` in place of saving a block, once so many are saved."""
    save, left = ProgressFolder.save, [saved]

    def saving(self, name, arrays):
        if not left[0]:
            raise error
        left[0] -= 1
        save(self, name, arrays)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ProgressFolder, "save", saving)
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


@pytest.mark.parametrize("done", range(1, BLOCKS))
def test_what_was_done_is_not_done_again(whole, played, tmp_path, done):
    out = tmp_path / "made"
    with interrupted(done):
        simulated(keep=out)
    kept = blocks(out)
    assert len(kept) == done
    assert set(played[:done]) == set(kept)
    played.clear()
    assert_same(simulated(keep=out), whole)
    assert len(played) == BLOCKS - done
    assert not set(played) & set(kept)
    assert list(out.iterdir()) == []


def test_a_run_may_be_interrupted_over_and_over(whole, played, tmp_path):
    for _ in range(BLOCKS // 2 - 1):
        with interrupted(2):
            simulated(keep=tmp_path, block=len(played) % 5 + 2)  # the first call's blocks stay
    played.clear()
    result = simulated(keep=tmp_path, block=12)
    assert_same(result, whole)
    assert len(played) == 2


def test_an_interruption_amid_a_block_keeps_those_before(whole, played, tmp_path, monkeypatch):
    class Bar:
        rounds = 0

        def add(self, rounds):
            self.rounds += rounds
            if self.rounds > 3 * 2 * 40:
                raise KeyboardInterrupt

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    config = {**ONE, "policies": [{"kind": kind} for kind in POLICIES]}
    with pytest.raises(KeyboardInterrupt):
        simulation(config).run(Bar(), tmp_path)
    assert len(blocks(tmp_path)) == 3
    played.clear()
    simulation(config).run(keep=tmp_path)
    assert len(played) == BLOCKS - 3


def test_threads_stop_at_an_interruption(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(devices, "workers", lambda: 3)
    with interrupted(4):
        simulated(keep=tmp_path)
    assert 4 <= len(blocks(tmp_path)) < BLOCKS
    assert not [thread for thread in threading.enumerate() if "ThreadPoolExecutor" in thread.name]
    assert_same(simulated(keep=tmp_path), whole)


def test_compilation_that_is_interrupted_drops_what_waits(played, tmp_path, monkeypatch):
    compiled = []

    def compile_one(self, number):
        compiled.append(number)
        raise KeyboardInterrupt

    monkeypatch.setattr(Simulation, "_compile", compile_one)
    with pytest.raises(KeyboardInterrupt):
        simulated(keep=tmp_path / "made")
    assert compiled
    assert played == []
    assert list(tmp_path.iterdir()) == []


def test_seconds_add_up(whole, played, tmp_path, monkeypatch):
    """A clock that ticks once a block: what is told of time is that of the blocks, each counted once."""
    ticks, run_block = [0.0], Simulation._run_block

    def slow(self, job, bar):
        ticks[0] += 1.0
        return run_block(self, job, bar)

    compile_all = Simulation._compile_all

    def slow_compilation(self, pool):
        ticks[0] += 100.0
        compile_all(self, pool)

    monkeypatch.setattr("time.perf_counter", lambda: ticks[0])
    monkeypatch.setattr(Simulation, "_run_block", slow)
    monkeypatch.setattr(Simulation, "_compile_all", slow_compilation)
    for saved in (3, 2):
        with interrupted(saved):  # the block that is not saved has no time
            simulated(keep=tmp_path)
        ticks[0] += 1000.0
    result = simulated(keep=tmp_path)
    assert result.attrs["run_seconds"] == BLOCKS
    assert result.attrs["compile_seconds"] == 100


@pytest.mark.parametrize("done", [5, 12, 13, 17])
def test_runs_added_until_an_error_is_small_are_kept_too(whole, played, tmp_path, done):
    until = f"regret_stderr<{0.8 * float(whole.regret_stderr.isel(round=-1).max())}"
    more = simulated(until=until)
    assert more.sizes["seed"] > 6
    played.clear()
    with interrupted(done):
        simulated(until=until, keep=tmp_path)
    played.clear()
    assert_same(simulated(until=until, keep=tmp_path), more)
    assert len(played) == BLOCKS * more.sizes["seed"] // 6 - done


@pytest.mark.parametrize(
    "other",
    [
        {"key": 1},
        {"horizon": 41},
        {"seeds": 7},
        {"record": [7]},
        {"metrics": ["regret"]},
        {"until": "regret_stderr<9"},
        *({"world": {name: value}} for name, value in [("penalties", 0.3), ("fractions", 0.2)]),
        {"world": {"plays": 2}, "policies": ["fucb"]},
        {"world": {"opportunity": {"kind": "constant", "gamma": 0.1}}, "policies": ["fucb"]},  # metrics alone need it
        {"world": {"delay": {"kind": "geometric", "p": 0.25}}},
        {"policies": {"fucb": "fucb", "another": "self-regulated"}},
        {"policies": ["fucb"]},
    ],
)
def test_every_change_that_decides_results_is_another_run(other):
    def digest(changes):
        problem = {**WORLD, **changes.pop("world", {})}
        policies = changes.pop("policies", POLICIES)
        made = [{"kind": p} for p in policies] if isinstance(policies, list) else None
        made = made or [{"kind": p, "label": label} for label, p in policies.items()]
        return simulation({"simulation": {**SETTING, **changes}, "problem": problem, "policies": made}).digest()

    assert digest(dict(other)) != digest({"policies": other.get("policies", POLICIES)} if "world" in other else {})
    assert digest({"block": 3}) == digest({})


def test_a_class_that_was_edited_is_another_run(monkeypatch):
    """A policy of one's own under the same name: blocks of the old one are not the new one's."""

    def digest(text):
        monkeypatch.setattr("inspect.getsource", lambda kind: text if kind is Own else kind.__name__)
        return Simulation(jb.Problem([0.5, 0.1]), [Entry("own", Own(), "own")], Setting(10, 2)).digest()

    assert digest("return now.mean") == digest("return now.mean") != digest("return now.mean + 1.0")


class Own(jb.Index):
    def value(self, state, now):
        return now.mean


# Damage.


def content(outcome):
    """All that an outcome holds, by name."""
    return {f"{n} {key}": a for n, t in enumerate(outcome.tallies) for key, a in t.arrays(full=True).items()}


class Kept:
    """A run whose blocks are all done: its files, how to damage them, and what has to come of it."""

    def __init__(self, place):
        self.out, self.folder = place / "kept", place / "kept" / FOLDER
        self.own = simulation(ONE)
        self.right = content(self.own.run())
        self.files = self._files(self.own)
        self.others = [
            self._files(simulation({**ONE, "simulation": {**ONE["simulation"], **change}}))
            for change in ({"key": 4}, {"seeds": 8})
        ]
        self.names = sorted(self.files)
        self.witness = place / "executed"

    def _files(self, run):
        shutil.rmtree(self.out, ignore_errors=True)
        run.run(keep=self.out, about={"config": tomli_w.dumps(ONE)})
        return {path.name: path.read_bytes() for path in self.folder.iterdir()}

    def restore(self):
        shutil.rmtree(self.out, ignore_errors=True)
        self.folder.mkdir(parents=True)
        for name, held in self.files.items():
            (self.folder / name).write_bytes(held)

    def goes_on(self):
        """Go on: refused, in one line and with every file left, or right; returns how many blocks were simulated."""
        before, count, run_block = contents(self.out), [0], Simulation._run_block

        def watched(simulation, job, bar):
            count[0] += 1
            return run_block(simulation, job, bar)

        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            patch.setattr(Simulation, "_run_block", watched)
            try:
                outcome = self.own.run(keep=self.out)
            except (jb.InputError, WriteError) as error:
                told = str(error)
                assert told.count("\n") == 0
                assert before.items() <= contents(self.out).items()
                return None
        made = content(outcome)
        assert made.keys() == self.right.keys()
        for name, array in made.items():
            np.testing.assert_array_equal(array, self.right[name], err_msg=name, strict=True)
        assert not self.witness.exists()
        return count[0]

    def forge(self, name, rest):
        """Write a block with a digest that is right."""
        run = tomllib.loads(self.files["run.toml"].decode())["run"]
        head = f"jaxbandit-block-1 {run} {name.removesuffix('.block')} {len(rest)} {hashlib.sha256(rest).hexdigest()}"
        (self.folder / name).write_bytes(f"{head}\n".encode() + rest)

    def arrays(self, name):
        with np.load(io.BytesIO(self.files[name].partition(b"\n")[2])) as arrays:
            return dict(arrays)

    def rewrite(self, change):
        """Change `run.toml` and write it with a digest that is right."""
        about = tomllib.loads(self.files["run.toml"].decode())
        change(about)
        text = tomli_w.dumps(about)
        head = f"# jaxbandit-run-1 {len(text.encode())} {hashlib.sha256(text.encode()).hexdigest()}"
        (self.folder / "run.toml").write_text(f"{head}\n{text}")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ProgressFolder, "__exit__", lambda *_: None)
        return Kept(tmp_path_factory.mktemp("damage"))


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


def _truncated(kept, rng, name):
    held = kept.files[name]
    (kept.folder / name).write_bytes(held[: rng.integers(len(held))])


def _flipped(kept, rng, name):
    held = bytearray(kept.files[name])
    for _ in range(rng.integers(1, 4)):
        place = rng.integers(min(len(held), 300 if rng.random() < 0.4 else len(held)))  # heads as often as bodies
        held[place] ^= 1 << rng.integers(8)
    (kept.folder / name).write_bytes(held)


def _longer(kept, rng, name):
    (kept.folder / name).write_bytes(kept.files[name] + rng.bytes(rng.integers(1, 2000)))


def _zeros(kept, rng, name):
    (kept.folder / name).write_bytes(bytes(len(kept.files[name])))


def _noise(kept, rng, name):
    (kept.folder / name).write_bytes(rng.bytes(rng.integers(1, 5000)))


def _large(kept, rng, name):
    """A terabyte that takes no room: never to be read."""
    os.truncate(kept.folder / name, 1 << 40)


def _gone(kept, rng, name):
    (kept.folder / name).unlink()


def _swapped(kept, rng, name):
    other = rng.choice(kept.names)
    (kept.folder / name).write_bytes(kept.files[other])
    (kept.folder / other).write_bytes(kept.files[name])


def _foreign(kept, rng, name):
    other = kept.others[rng.integers(2)]
    (kept.folder / name).write_bytes(other[name if name in other else rng.choice(sorted(other))])


def _link(kept, rng, name):
    (kept.folder / name).unlink()
    (kept.folder / name).symlink_to(kept.folder / "nowhere")


def _folder(kept, rng, name):
    (kept.folder / name).unlink()
    (kept.folder / name).mkdir()


def _pipe(kept, rng, name):
    (kept.folder / name).unlink()
    os.mkfifo(kept.folder / name)


def _rewritten(kept, rng, name):
    changes = [
        *(lambda t, s=s: t.update(sizes=s) for s in ("many", [[0, 1]], [[1, 10**15]], [[1]], [], [[1.0, 2]], [1, 2])),
        *(lambda t, s=s: t.update(sizes=s) for s in ([[1, 1]], [[2, 6]], [[True, 2]], [[-1, 2]], [[1, 2], [1, 2]])),
        *(lambda t, r=r: t.update(run=r) for r in (5, ["a"], "", "0" * 64)),
        *(lambda t, k=k: t.pop(k) for k in ("run", "sizes", "config")),
        lambda t: t.clear(),
        lambda t: t.update(config="not TOML ["),
    ]
    kept.rewrite(changes[rng.integers(len(changes))])


def _forged(kept, rng, name):
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


DAMAGES = [_truncated, _flipped, _longer, _zeros, _noise, _large, _gone, _swapped, _foreign, _link, _folder, _pipe]
DAMAGES += [_rewritten, _forged]


def _damaged(kept, seed, times):
    """Damage a whole folder so many times; how often the run was refused, and how many blocks were simulated."""
    rng = np.random.default_rng(seed)
    refused = again = 0
    for turn in range(times):
        kept.restore()
        damage = DAMAGES[turn % len(DAMAGES)]
        names = rng.choice(kept.names, rng.choice([1, 1, 2, len(kept.names)]), replace=False)
        for name in names:
            damage(kept, rng, str(name))
        count = kept.goes_on()
        if count is None:
            refused += 1
            continue
        assert count <= (2 if damage is _swapped else 1) * len(names) or damage is _rewritten
        again += count
    return refused, again


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_refused_or_mended(kept, damage):
    rng = np.random.default_rng(7)
    for name in rng.permutation(kept.names):
        kept.restore()
        damage(kept, rng, str(name))
        kept.goes_on()


def test_damage_of_every_kind_and_to_several_files(kept):
    refused, again = _damaged(kept, 0, 84)
    assert refused > 3
    assert again > 50


@pytest.mark.slow
def test_a_thousand_damages(kept):
    refused, again = _damaged(kept, 1, 1000)
    assert refused > 30
    assert again > 500


# The command line.

CLI = {
    "simulation": {"horizon": 40, "seeds": 6, "record": 1, "metrics": ["regret"], "block": 2},
    "problem": {"means": [0.9, 0.5, 0.1]},
    "policies": [{"kind": "ucb1"}],
}


@pytest.fixture
def there(tmp_path, monkeypatch):
    """A working folder with a config in it; figures cost nothing."""
    (tmp_path / "small.toml").write_text(tomli_w.dumps(CLI))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plots, "draw_all", _drawn)
    monkeypatch.setattr(devices, "workers", lambda: 1)
    return tmp_path


def _drawn(data, folder):
    (folder / "pulls.png").write_bytes(bytes(500))
    return [folder / "pulls.png"]


@pytest.fixture(scope="module")
def regret():
    return jb.simulate(CLI["problem"], "ucb1", **CLI["simulation"])


def run(*changes, out="made"):
    return cli.main(["run", "small.toml", "--out", out, "--set", "simulation.key=0", *changes])


def opened(folder):
    with xr.open_dataset(folder / "results.nc") as found:
        return found.load()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


KEPT = "jaxbandit: what is done is kept: `jaxbandit resume made` goes on with it\n"


def begun(saved=2, *changes):
    """Leave a run with so many blocks done."""
    with stopping(saved):
        assert run(*changes) == 130


def answer(capsys):
    """The one line on standard error."""
    told = capsys.readouterr().err
    assert told.startswith("jaxbandit: ")
    assert told.count("\n") == 1
    return told


def test_resume_ends_what_was_interrupted(there, regret, capsys):
    begun(2)
    assert capsys.readouterr().err == f"{KEPT}jaxbandit: interrupted\n"
    assert names(there / "made") == [FOLDER]
    assert len(blocks(there / "made")) == 2
    assert cli.main(["resume", "made"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "wrote results.nc, pulls.png to made/" in printed.out
    assert names(there / "made") == ["pulls.png", "results.nc"]
    assert_same(opened(there / "made"), regret)
    assert cli.main(["resume", "made"]) == 0
    assert capsys.readouterr().out == "nothing to resume: made/results.nc is complete\n"


def test_nothing_done_leaves_nothing(there, capsys):
    for made in (False, True):
        if made:
            (there / "made").mkdir()
        begun(0)
        assert answer(capsys) == "jaxbandit: interrupted\n"
        assert names(there) == ["made", "small.toml"] if made else ["small.toml"]
    assert names(there / "made") == []
    assert cli.main(["resume", "made"]) == 2
    assert "a folder with an unfinished run; `jaxbandit run CONFIG.toml` starts one" in answer(capsys)
    assert cli.main(["resume", "nowhere"]) == 2
    assert "DIR holds 'nowhere'" in answer(capsys)


def test_a_simulation_that_fails_is_not_gone_on_with(there, capsys):
    with stopping(2, FloatingPointError("an index was not a number")):
        assert run() == 1
    assert answer(capsys) == "jaxbandit: an index was not a number\n"
    assert names(there) == ["small.toml"]


@pytest.mark.parametrize(
    ("module", "name"),
    [(results, "write"), (plots, "draw_all"), (summary, "table"), (progress_folder, "forget")],
    ids=["results", "figures", "summary", "the end"],
)
def test_interrupted_while_writing(there, regret, monkeypatch, module, name):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, name, interrupt)
        assert run() == 130
    assert len(blocks(there / "made")) == 3
    assert cli.main(["resume", "made"]) == 0
    assert names(there / "made") == ["pulls.png", "results.nc"]
    assert_same(opened(there / "made"), regret)


def test_progress_goes_at_one_stroke(there, regret, capsys, monkeypatch):
    """Killed while the folder is removed: the results are known to be complete."""

    class Killed(BaseException):
        pass

    def killed(path, *_, **__):
        held = list(Path(path).glob("*.block"))
        if held:
            held[0].unlink()
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", killed)
        with pytest.raises(Killed):
            run()
    assert cli.main(["resume", "made"]) == 0
    assert "nothing to resume" in capsys.readouterr().out
    assert run("simulation.key=1") == 0
    assert names(there / "made") == ["pulls.png", "results.nc"]


def test_another_run_is_refused_and_what_is_there_stays(there, capsys):
    begun(1)
    capsys.readouterr()
    before = contents(there / "made")
    assert run("simulation.key=1") == 2
    told = answer(capsys)
    assert "--out holds 'made'; it may hold a folder without the unfinished run of another config" in told
    assert "`jaxbandit resume made`" in told
    assert contents(there / "made") == before
    assert run("simulation.block=3") == 0  # that is no other run
    assert names(there / "made") == ["pulls.png", "results.nc"]


def rewrite(out, **changes):
    """Change `run.toml`, with the digest that belongs to it."""
    path = out / FOLDER / "run.toml"
    about = {**tomllib.loads(path.read_text()), **changes}
    text = tomli_w.dumps({name: value for name, value in about.items() if value is not None})
    digest = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(f"# jaxbandit-run-1 {len(text.encode())} {digest}\n{text}")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"jaxbandit": "0.0.1"}, "'made, begun with jaxbandit 0.0.1'; it may hold a run begun with jaxbandit 0.1.0"),
        ({"jax": "0.9"}, "begun with jax 0.9"),
        ({"jaxbandit": None}, "begun otherwise than by `jaxbandit run`"),
        ({"config": None}, "it may hold an unfinished run with its config"),
        ({"config": 5}, "it may hold an unfinished run with its config"),
        ({"config": "a = ["}, "it may hold an unfinished run with its config"),
        ({"config": "a = " + "[" * 5000}, "it may hold an unfinished run with its config"),
        ({"config": "a = 5"}, "a holds 5; it may hold nothing: there is no such key"),
        ({"config": tomli_w.dumps({**CLI, "problem": {"means": [0.1, 0.2]}})}, "the unfinished run of another config"),
        ({"run": "0" * 64}, "the unfinished run of another config"),
        ({"run": None}, "the unfinished run of another config"),
    ],
)
def test_what_cannot_be_resumed_is_refused_in_a_line(there, capsys, changes, words):
    begun(1)
    capsys.readouterr()
    rewrite(there / "made", **changes)
    before = contents(there / "made")
    assert cli.main(["resume", "made"]) == 2
    assert words in answer(capsys)
    assert contents(there / "made") == before


@pytest.mark.parametrize("damage", [_truncated, _flipped, _zeros, _noise, _gone, _link, _pipe])
def test_a_damaged_folder_is_gone_on_with(there, regret, capsys, damage):
    begun(2)
    capsys.readouterr()
    folder = there / "made" / FOLDER
    held = type("Held", (), {"folder": folder, "files": {p.name: p.read_bytes() for p in folder.iterdir()}})
    block = sorted(held.files)[0]
    rng = np.random.default_rng(5)
    damage(held, rng, "run.toml")
    assert cli.main(["resume", "made"]) == 2
    answer(capsys)
    damage(held, rng, block)
    assert run() == 0  # the command goes on where `resume` cannot know the config
    told = capsys.readouterr().err
    lost = f"jaxbandit: note: made/{FOLDER}/{block} is damaged or of another run: simulating it again\n"
    assert told == ("" if damage in (_gone, _link, _pipe) else lost)
    assert_same(opened(there / "made"), regret)


# A disk that takes no more.


@contextlib.contextmanager
def full(most):
    """Files of at most so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


@pytest.mark.parametrize(("most", "done", "path"), [(100, 0, "run.toml"), (1500, 0, "block"), (5000, 3, "results.nc")])
def test_a_full_disk_is_told_and_leaves_what_was_there(there, regret, capsys, monkeypatch, most, done, path):
    assert run("simulation.key=1") == 0
    before = contents(there / "made")
    capsys.readouterr()
    with full(most):
        assert run() == 1
    told = capsys.readouterr().err.splitlines(keepends=True)
    assert told[-1].startswith("jaxbandit: made/")
    assert told[-1].endswith(f"{path} cannot be written: File too large\n")
    assert told[:-1] == ([KEPT] if done else [])
    after = contents(there / "made")
    assert before.items() <= after.items()
    assert len(blocks(there / "made")) == done
    assert not [name for name in after if name.name.startswith(".")]
    assert cli.main(["resume", "made"] if done else ["run", "small.toml", "--out", "made"]) == 0
    assert_same(opened(there / "made"), regret)
    assert names(there / "made") == ["pulls.png", "results.nc"]


def test_a_disk_that_is_full_at_the_figures_has_the_results(there, regret, capsys, monkeypatch):
    def large(data, folder):
        (folder / "pulls.png").write_bytes(bytes(10**6))
        return [folder / "pulls.png"]

    assert run("simulation.key=1") == 0
    figure = (there / "made" / "pulls.png").read_bytes()
    capsys.readouterr()
    monkeypatch.setattr(plots, "draw_all", large)
    with full(10**5):
        assert run() == 1
    assert capsys.readouterr().err == f"{KEPT}jaxbandit: made cannot be written: File too large\n"
    assert_same(opened(there / "made"), regret)
    assert (there / "made" / "pulls.png").read_bytes() == figure
    assert names(there / "made") == ["pulls.png", "results.nc", FOLDER]
    assert cli.main(["resume", "made"]) == 0
    assert len((there / "made" / "pulls.png").read_bytes()) == 10**6
    assert names(there / "made") == ["pulls.png", "results.nc"]


@pytest.mark.parametrize("fate", ["gone", "a file", "read-only", "out is a file"])
def test_a_folder_that_is_lost_on_the_way(there, regret, capsys, monkeypatch, fate):
    """After the second block."""
    made, count, write = there / "made", [0], Path.write_bytes

    def lost(path, content):
        if path.name.startswith(".group"):
            count[0] += 1
        if count[0] == 3:
            if fate == "read-only":
                raise OSError(30, "Read-only file system", str(path))
            shutil.rmtree(made if fate.startswith("out") else made / FOLDER, ignore_errors=True)
            if fate != "gone":
                write(made if fate.startswith("out") else made / FOLDER, b"")
        return write(path, content)

    (made).mkdir()
    (made / "mine.txt").write_text("kept")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", lost)
        assert run() == 1
    told = capsys.readouterr().err.splitlines(keepends=True)
    assert told[:-1] == ([KEPT] if fate == "read-only" else [])
    assert " cannot be written: " in told[-1]
    if fate == "out is a file":
        made.unlink()
    elif fate == "a file":
        assert (made / FOLDER).is_file()
        (made / FOLDER).unlink()
    if fate != "out is a file":
        assert (made / "mine.txt").read_text() == "kept"
        (made / "mine.txt").unlink()
    assert run() == 0
    assert_same(opened(made), regret)
    assert names(made) == ["pulls.png", "results.nc"]
