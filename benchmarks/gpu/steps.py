"""The steps: each is a function of its record."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import jax
import numpy as np

import jaxbandit as jb
from benchmarks.gpu import rounds
from benchmarks.gpu.operations import OPERATIONS, in_kernel
from benchmarks.gpu.process import Record
from benchmarks.gpu.rounds import GAMMA, KINDS, Rounds, differing, law
from jaxbandit.core.xla import gpu_kernel

_FEW = ["ucb1", "thompson", "fcucb-d"]
_KERNEL_FIRST = ["ucb1", "hard-threshold-ucb", "lfg", "fair-mmab"]


def _sizes(record: Record, *powers: int) -> list[int]:
    return [1 << power for power in ((8, 10) if record.tiny else powers)]


def _kinds(record: Record, kinds: list[str] = KINDS) -> list[str]:
    return [kind for kind in kinds if kind in ("ucb1", "fair-learn")] if record.tiny else kinds


def _seconds(record: Record) -> float:
    return 0.02 if record.tiny else 0.4


def _timed(record: Record, kind: str, runs: int, kernel: bool = False, arms: int = 10, **about: object) -> bool:
    made = Rounds(kind, arms, runs, 64 if record.tiny else 1 << 14, kernel)
    return record.attempt(made.timed, _seconds(record), kind=kind, arms=arms, runs=runs, kernel=kernel, **about)


def first(record: Record) -> None:
    """What a user calls, then one policy as a scan and as one kernel."""
    for kind, wanted in itertools.product(("ucb1", "fcucb-d"), (False, True)):

        def simulated(kind: str = kind, wanted: bool = wanted) -> dict[str, object]:
            found = jb.simulate(rounds.problem(kind, 10), kind, horizon=200, seeds=1000, gpu_kernel=wanted)
            return {"device": found.attrs["device"], "pulls": found["pulls_mean"][..., -1].values.ravel().tolist()}

        record.attempt(simulated, kind=kind, kernel=wanted, call="simulate")
    for wanted in (False, True):
        _timed(record, "ucb1", _sizes(record, 20)[0], wanted)


def arithmetic(record: Record) -> None:
    """How often operations on float32 numbers differ from the nearest number to the exact result, and by how much."""
    most = 64 if record.tiny else 2048
    a, b = (x.ravel().astype(np.float32) for x in np.meshgrid(np.arange(1, most + 1), np.arange(1, most + 1)))
    for name, (plain, exact) in OPERATIONS.items():
        nearest = exact(a.astype(np.float64), b.astype(np.float64)).astype(np.float32)
        for where, found in (("xla", jax.jit(plain)), ("kernel", in_kernel(plain))):
            if where == "kernel" and not gpu_kernel.works(True):
                continue

            def compare(found=found, nearest=nearest) -> dict[str, object]:
                ulps = np.abs(np.asarray(found(a, b)).astype(np.float64) - nearest) / np.spacing(np.abs(nearest))
                return {"differing": float((ulps > 0).mean()), "most_ulps": float(ulps.max())}

            record.attempt(compare, operation=name, where=where, pairs=len(a))


def rates(record: Record) -> None:
    """Rates of three policies at four sizes."""
    for kind in record.own(_FEW[:1] if record.tiny else _FEW):
        for runs in _sizes(record, 20, 17, 22, 14):
            _timed(record, kind, runs)


def _on_host(record: Record, step: str, given: dict[str, object], cores: int | None = None) -> subprocess.Popen:
    """The process of another step, on the CPU of this machine."""
    file = record.file.with_name(f"{record.file.stem}-{step}.json")
    words = ["-m", "benchmarks.gpu.process", step, "--out", str(file), "--given", json.dumps(given)]
    own = range(cores) if cores else None  # the other steps keep off these
    return subprocess.Popen(
        [sys.executable, *words, *(["--tiny"] * record.tiny)],
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
        preexec_fn=None if own is None else lambda: os.sched_setaffinity(0, own),
    )


def counts(record: Record, folder: str, kinds: list[str], arms: int, horizon: int, runs: int, key: int = 0) -> None:
    """The counts of some policies, a file each, for a comparison with those of another device."""
    for kind in kinds:
        try:
            found = Rounds(kind, arms, runs, horizon, key=key).played()
        except Exception as error:
            record.add(kind=kind, error=str(error)[:300])
            continue
        new = Path(folder) / f"{kind}.new"
        with new.open("wb") as file:
            np.save(file, found)
        os.replace(new, new.with_suffix(".npy"))


def _compared(record: Record, kinds: list[str], arms: int, horizon: int, runs: int, key: int, kernel: bool) -> None:
    """Shares of differing runs, or p-values where the host has another key, policy by policy."""
    folder = record.file.with_name(record.file.stem + "-host")
    folder.mkdir(exist_ok=True)
    given = {"folder": str(folder), "kinds": kinds, "arms": arms, "horizon": horizon, "runs": runs, "key": key}
    host = _on_host(record, "counts", given)

    def compare(kind: str) -> dict[str, object]:
        ours, file = Rounds(kind, arms, runs, horizon, kernel).played(), folder / f"{kind}.npy"
        while not file.exists() and host.poll() is None:
            time.sleep(0.2)
        theirs = np.load(file)
        return law(ours, theirs) if key else {"differing": differing(ours, theirs)}

    try:
        for kind in kinds:
            record.attempt(compare, kind, kind=kind, arms=arms, horizon=horizon, gamma=kind in GAMMA)
    finally:
        host.terminate()
        host.wait()


def agreement(record: Record) -> None:
    """The share of runs that select otherwise than on the CPU: at most 0.1 % are hoped for without Gamma draws."""
    _compared(
        record, record.own(_kinds(record)), 4, 30 if record.tiny else 300, 1000 if record.tiny else 10_000, 0, False
    )


def laws(record: Record) -> None:
    """Whether the last counts of independent runs on the device and on the CPU have one law."""
    horizon, runs = (50, 1000) if record.tiny else (10_000, 10_000)
    _compared(record, record.own(_kinds(record)), 10, horizon, runs, 1, False)


def kernel(record: Record) -> None:
    """The one kernel against the scan: differing runs, the law, and rates."""
    kinds = [*_KERNEL_FIRST, *(kind for kind in KINDS if kind not in (*GAMMA, *_KERNEL_FIRST)), *GAMMA]
    horizon, runs = (20, 256) if record.tiny else (300, 10_000)

    def compare(kind: str) -> dict[str, object]:
        scan = Rounds(kind, 4, runs, horizon).played()
        one = Rounds(kind, 4, runs, horizon, kernel=True).played()
        other = Rounds(kind, 4, runs, horizon, kernel=True, key=1).played()
        return {"differing": differing(one, scan), **law(other, scan)}

    for kind in record.own(_kinds(record, kinds)):
        _timed(record, kind, _sizes(record, 20)[0], True)
        record.attempt(compare, kind, kind=kind, arms=4, horizon=horizon)
        if kind in _KERNEL_FIRST:
            _timed(record, kind, _sizes(record, 17)[0], True)
            for arms in (4, 32):
                _timed(record, kind, _sizes(record, 20)[0], True, arms)


def host(record: Record) -> None:
    """Two cores of the host beside the device, and the number of runs from which the device is faster."""
    beside = _on_host(record, "rates_of_host", {}, cores=2)
    for kind in _FEW[:1] if record.tiny else ["ucb1", "hard-threshold-ucb", "thompson"]:
        for runs in _sizes(record, 8, 10, 12, 14, 16):
            _timed(record, kind, runs)
    beside.wait()


def few(record: Record) -> None:
    """Few runs, as a scan and as one kernel."""
    for kind in record.own(_FEW[:1] if record.tiny else ["ucb1", "hard-threshold-ucb", "thompson", "fcucb-d"]):
        for runs, wanted in itertools.product(_sizes(record, 16, 12, 8, 14, 10), (False, True)):
            _timed(record, kind, runs, wanted)


def instances(record: Record) -> None:
    """Several instances, and a grid, as a scan and as one kernel: the largest differences of means over runs."""
    draws = np.random.default_rng(1)
    seeds, horizon, count = (64, 40, 3) if record.tiny else (4096, 500, 24)
    options = {"horizon": horizon, "seeds": seeds, "record": 20, "metrics": ["regret", "r_regret", "max_deficit"]}
    means, fractions = draws.uniform(0.1, 0.9, (count, 6)), draws.uniform(0.0, 0.15, (count, 6))
    penalties = draws.uniform(0.1, 1.0, (count, 6))
    own = jb.Problem(means=means.tolist(), fractions=fractions.tolist(), penalties=penalties.tolist())
    late = jb.Problem(means=means[0].tolist(), fractions=0.1, penalties=0.3, delay={"kind": "fixed", "d": 2})
    grid = {"kind": "ucb1", "exploration": [0.5, 1.0, 2.0, 4.0]}
    for kind, of in itertools.product(("ucb1", "lfg", "hard-threshold-ucb", "thompson", grid), (own, late)):

        def compared(kind: object = kind, of: jb.Problem = of) -> dict[str, object]:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                scan, one = (jb.simulate(of, kind, gpu_kernel=wanted, **options) for wanted in (False, True))
            names = ("regret", "r_regret", "max_deficit", "pulls_mean")
            off = {name: float(np.abs(scan[name] - one[name]).max()) for name in names}
            return {"largest_difference": off, "warnings": [str(one.message)[:200] for one in said]}

        record.attempt(compared, kind=str(kind), instances=count if of is own else 1, late=of is late, seeds=seeds)


def rates_of_host(record: Record) -> None:
    """Rates of simulations on the cores of this process, with one recorded round."""
    for kind in _FEW[:1] if record.tiny else ["ucb1", "hard-threshold-ucb", "thompson", "fcucb-d"]:
        seeds = 1024 if record.tiny else 1 << 16
        of = rounds.problem(kind, 10)

        def simulated(kind: str = kind, of: jb.Problem = of, seeds: int = seeds) -> dict[str, object]:
            found = jb.simulate(of, kind, horizon=50 if record.tiny else 500, seeds=seeds, record=1, metrics=["regret"])
            return {name: found.attrs[name] for name in ("rounds_per_second", "compile_seconds", "run_seconds")}

        record.attempt(simulated, kind=kind, arms=10, runs=seeds, cores=len(os.sched_getaffinity(0)))


def policies(record: Record) -> None:
    """Rates of all policies."""
    for kind in record.own(_kinds(record, [*(kind for kind in KINDS if kind not in GAMMA), *GAMMA])):
        _timed(record, kind, _sizes(record, 20)[0])


def blocks(record: Record) -> None:
    """Rates over block sizes, and whether runs have the same counts in each."""
    for kind in record.own(_kinds(record, ["ucb1", "lfg", "thompson"])):
        first = None
        for runs in _sizes(record, 13, 15, 16, 17, 18, 19, 21):
            _timed(record, kind, runs)

            def same(kind: str = kind, runs: int = runs, first: np.ndarray | None = first) -> dict[str, object]:
                found = Rounds(kind, 10, runs, 200).played()[..., : _sizes(record, 13)[0]]
                return {"differing": 0.0 if first is None else differing(found, first)}

            record.attempt(same, kind=kind, runs=runs, compared="counts in this block with those in the smallest")
            if first is None:
                first = Rounds(kind, 10, runs, 200).played()


def graphs(record: Record) -> None:
    """Loops as CUDA graphs, by flags of XLA in processes of their own."""
    settings = ("", "--xla_gpu_enable_command_buffer=+WHILE", "--xla_gpu_enable_command_buffer=")
    for number, flags in enumerate(settings):
        file = record.file.with_name(f"graphs-{number}.json")
        words = [sys.executable, "-m", "benchmarks.gpu.process", "rates_with_flags", "--out", str(file)]
        given = {**os.environ, "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()}
        ended = subprocess.run([*words, *(["--tiny"] * record.tiny)], env=given, capture_output=True, check=False)
        held = json.loads(file.read_text())["rows"] if file.exists() else []
        record.add(flags=flags, exit_code=ended.returncode, rows=held, error=ended.stderr.decode()[-300:])


def rates_with_flags(record: Record) -> None:
    """Rates of two policies at two sizes."""
    for kind, runs in itertools.product(("ucb1",) if record.tiny else ("ucb1", "thompson"), _sizes(record, 14, 18)):
        _timed(record, kind, runs)


def profile(record: Record) -> None:
    """A profile of a few rounds, in a folder beside the file, and the operations of the compiled program of a round."""
    made = Rounds("ucb1", 10, _sizes(record, 20)[0], 64)
    made.played()
    with jax.profiler.trace(str(record.file.with_name("profile"))):
        made.played()
    arguments = made.arguments()
    from jaxbandit.engine import rollout

    text = (
        rollout.compiled().lower(*arguments, np.full(16, 8, np.int32), None, made.state(arguments)).compile().as_text()
    )
    record.add(kind="ucb1", fusions=text.count(" fusion("), copies=text.count(" copy("), loops=text.count(" while("))


def memory(record: Record) -> None:
    """The largest block that fits: each that does not is followed by one of half the size."""
    runs = 1 << (12 if record.tiny else 27)
    while runs >= 1 << 10 and not _timed(record, "ucb1", runs):
        runs //= 2


def metrics(record: Record) -> None:
    """What metrics cost, which are computed in float64: the same simulation with few and with many recorded rounds."""
    seeds, horizon = (512, 40) if record.tiny else (1 << 20, 2000)
    of = rounds.problem("ucb1", 10)

    def simulated(block: int | None, kernel: bool, recorded: int, names: list[str] | None) -> dict[str, object]:
        options = {"horizon": horizon, "record": recorded, "metrics": names, "block": block, "gpu_kernel": kernel}
        jb.simulate(of, "ucb1", seeds=min(seeds, block or seeds), **options)
        with rounds.turn():
            begun = time.perf_counter()
            found = jb.simulate(of, "ucb1", seeds=seeds, **options)
            spent = time.perf_counter() - begun
        known = {name: found.attrs[name] for name in ("compile_seconds", "run_seconds")}
        return {"rounds_per_second": seeds * horizon / spent, "seconds": spent, **known}

    for names, recorded, kernel in itertools.product((None, ["regret"]), (200, 1), (False, True)):
        for block in _sizes(record, 17, 18, 19, 20):
            about = {"recorded": recorded, "metrics": names or "all", "seeds": seeds, "block": block, "kernel": kernel}
            record.attempt(simulated, block, kernel, recorded, names, **about)
