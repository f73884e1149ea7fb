"""Progress on disk: runs that are interrupted from Python, and which blocks are a run's."""

import functools
import threading
import time

import pytest
from interruption import ONE, SETTING, WORLD, assert_same, blocks, interrupted

import jaxbandit as jb
from jaxbandit.engine import simulation as engine
from jaxbandit.engine.batch import sharding
from jaxbandit.engine.host import compilation, fingerprint
from jaxbandit.engine.host.checkpoint import FOLDER, Checkpoint, begun
from jaxbandit.experiments.configs.config import make_plan as simulation

POLICIES = ["fucb", "self-regulated"]  # a program each; the second has phases
BLOCKS = 12  # two policies, two instances, six seeds by two


def simulated(**changes):
    return jb.simulate(WORLD, POLICIES, **{**SETTING, **changes})


@pytest.fixture(scope="module")
def whole():
    return simulated()


@pytest.fixture
def chunks_of(monkeypatch):
    """The names of the blocks that are simulated, one thread at a time so that their order is known."""
    names, simulate_block = [], engine.simulate_block
    monkeypatch.setattr(sharding, "workers", lambda: 1)

    def watched(plan, task, *others):
        names.append(task.name)
        return simulate_block(plan, task, *others)

    monkeypatch.setattr(engine, "simulate_block", watched)
    return names


# Fast: within the blocks of one policy
@pytest.mark.parametrize("done", [pytest.param(n, marks=[pytest.mark.slow] * (n != 6)) for n in range(1, BLOCKS)])
def test_what_was_done_is_not_done_again(whole, chunks_of, tmp_path, done):
    out = tmp_path / "made"
    with interrupted(done):
        simulated(keep=out)
    kept = blocks(out)
    assert len(kept) == done
    assert set(chunks_of[:done]) == set(kept)
    chunks_of.clear()
    assert_same(simulated(keep=out), whole)
    assert len(chunks_of) == BLOCKS - done
    assert not set(chunks_of) & set(kept)
    assert list(out.iterdir()) == []


def test_a_run_may_be_interrupted_over_and_over(whole, chunks_of, tmp_path):
    for _ in range(BLOCKS // 2 - 1):
        with interrupted(2):
            simulated(keep=tmp_path, block=len(chunks_of) % 5 + 2)  # the first call's blocks stay
    chunks_of.clear()
    result = simulated(keep=tmp_path, block=4)
    assert_same(result, whole)
    assert len(chunks_of) == 2
    assert all(name.endswith(("seeds0-2", "seeds2-4", "seeds4-6")) for name in chunks_of)


def test_an_interruption_amid_a_block_keeps_those_before(whole, chunks_of, tmp_path, monkeypatch):
    class Bar:
        rounds = 0

        def compiled(self, policies, of):
            pass

        def simulating(self):
            pass

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
        engine.run(simulation(config), Bar(), tmp_path)
    assert len(blocks(tmp_path)) == 3
    chunks_of.clear()
    engine.run(simulation(config), keep=tmp_path)
    assert len(chunks_of) == BLOCKS - 3


def test_a_folder_that_another_process_uses_is_not_removed(tmp_path):
    """Two processes begin one run, and both are interrupted before a block is finished."""
    out, run = tmp_path / "made", "a" * 64
    first = Checkpoint(out, run, {}).__enter__()
    second = Checkpoint(out, run, {}).__enter__()
    first.__exit__(KeyboardInterrupt)
    assert begun(out)
    second.__exit__(KeyboardInterrupt)
    assert list(out.iterdir()) == []


def test_threads_stop_at_an_interruption(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(sharding, "workers", lambda: 3)
    with interrupted(4):
        simulated(keep=tmp_path)
    assert 4 <= len(blocks(tmp_path)) < BLOCKS
    assert not [thread for thread in threading.enumerate() if "ThreadPoolExecutor" in thread.name]
    assert_same(simulated(keep=tmp_path), whole)


def test_compilation_that_is_interrupted_drops_what_waits(chunks_of, tmp_path, monkeypatch):
    compiled = []

    def compile_one(plan, number):
        compiled.append(number)
        time.sleep(0.2)

    def wait(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(compilation, "compile_stack", compile_one)
    monkeypatch.setattr(compilation, "_wait", wait)
    with pytest.raises(KeyboardInterrupt):
        simulated(keep=tmp_path / "made")
    assert len(compiled) <= 1
    assert chunks_of == []
    assert list(tmp_path.iterdir()) == []


def test_seconds_add_up(whole, chunks_of, tmp_path, monkeypatch):
    """A clock that ticks once per block: the reported time is that of the blocks, each counted once."""
    ticks, simulate_block = [0.0], engine.simulate_block

    def slow(*arguments):
        ticks[0] += 1.0
        return simulate_block(*arguments)

    compile_programs = engine.compile_programs

    def slow_compilation(*arguments):
        ticks[0] += 100.0
        return compile_programs(*arguments)

    monkeypatch.setattr("time.perf_counter", lambda: ticks[0])
    monkeypatch.setattr(engine, "simulate_block", slow)
    monkeypatch.setattr(engine, "compile_programs", slow_compilation)
    for saved in (3, 2):
        with interrupted(saved):  # the block that is not saved has no time
            simulated(keep=tmp_path)
        ticks[0] += 1000.0
    result = simulated(keep=tmp_path)
    assert result.attrs["run_seconds"] == BLOCKS
    assert result.attrs["compile_seconds"] == 100


@pytest.mark.parametrize("done", [5, 12, 13, 17])
def test_runs_added_until_an_error_is_small_are_kept_too(whole, chunks_of, tmp_path, done):
    until = f"regret_stderr<{0.8 * float(whole.regret_stderr.isel(round=-1).max())}"
    more = simulated(until=until)
    assert more.sizes["seed"] > 6
    chunks_of.clear()
    with interrupted(done):
        simulated(until=until, keep=tmp_path)
    chunks_of.clear()
    assert_same(simulated(until=until, keep=tmp_path), more)
    added = -(-(more.sizes["seed"] - 6) // 2)  # blocks of two seeds, as the first three of each row
    assert len(chunks_of) == BLOCKS + BLOCKS // 3 * added - done


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
        {"world": {"delay": {"kind": "geometric", "p": 0.25}}},
        {"policies": {"fucb": "fucb", "another": "self-regulated"}},
        {"policies": ["fucb"]},
    ],
)
def test_every_change_that_decides_results_is_another_run(other):
    unchanged = _digest(policies=other["policies"]) if {"world", "policies"} <= set(other) else _unchanged_digest()
    assert _digest(**other) != unchanged


def test_the_size_of_blocks_decides_nothing():
    assert _digest(block=3) == _unchanged_digest()


def _digest(world=None, policies=POLICIES, **changes):
    made = [{"kind": p} for p in policies] if isinstance(policies, list) else None
    made = made or [{"kind": p, "label": label} for label, p in policies.items()]
    config = {"simulation": {**SETTING, **changes}, "problem": {**WORLD, **(world or {})}, "policies": made}
    return fingerprint.digest(simulation(config))


@functools.cache
def _unchanged_digest():
    return _digest()


def test_what_metrics_alone_need_decides_results():
    def digest(c):
        problem = {**WORLD, "opportunity": {"kind": "softmax", "c": c}}
        return fingerprint.digest(
            simulation({"simulation": SETTING, "problem": problem, "policies": [{"kind": "fucb"}]})
        )

    assert digest(1.0) != digest(2.0)


def test_what_else_a_folder_of_that_name_holds_is_not_touched(tmp_path):
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "novel.txt").write_text("Call me")
    with pytest.raises(jb.InputError, match=r"^keep = .* holds 'novel\.txt', which jaxbandit did not make$"):
        simulated(keep=tmp_path)
    assert (tmp_path / FOLDER / "novel.txt").read_text() == "Call me"
    assert len(list((tmp_path / FOLDER).iterdir())) == 1
