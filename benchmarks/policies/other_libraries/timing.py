"""Time policies of MABWiser and SMPyBandits in other interpreters, since these libraries need other NumPy versions.

`ask` starts a script of this folder in the other interpreter; the script calls `answer`. This file imports only the
standard library, so that the other interpreters can import it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TypedDict

# (kind, means, horizon, seed) -> the number of selections of each arm in one run
SimulateRun = Callable[[str, list[float], int, int], Sequence[int]]

SCRIPTS = {"MABWiser": "mabwiser_policies.py", "SMPyBandits": "smpybandits_policies.py"}
LONGEST_RUN = 2000  # rounds; the libraries simulate thousands of rounds per second


class Question(TypedDict):
    """What a script is asked to time: a policy, the means of its arms, and how long."""

    kind: str
    means: list[float]
    horizon: int
    seconds: float
    processes: int


class Answer(TypedDict):
    """What a script measured: rounds and seconds of all processes together, and the mean regret of a run."""

    kind: str
    version: str
    rounds: int
    seconds: float
    regret: float


def ask(library: str, python: str, kind: str, means: list[float], horizon: int, seconds: float) -> Answer | None:
    """Time a library's policy in another interpreter, with one process per core.

    Returns:
        The answer, or None if the library has no such policy.

    Raises:
        RuntimeError: the script failed.
    """
    script = Path(__file__).with_name(SCRIPTS[library])
    rounds = min(horizon, LONGEST_RUN)
    question: Question = {
        "kind": kind, "means": means, "horizon": rounds, "seconds": seconds, "processes": cores(),
    }  # fmt: skip
    done = subprocess.run([python, str(script), json.dumps(question)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{library}, {kind}: {done.stderr.strip().splitlines()[-1:]}")
    answered: Answer | None = json.loads(done.stdout.splitlines()[-1])
    return answered


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def answer(kinds: Collection[str], simulate_run: SimulateRun, version: str) -> None:
    """The main function of a script: print the `Answer` as one line of JSON, or null for a policy not in `kinds`."""
    question: Question = json.loads(sys.argv[1])
    if question["kind"] not in kinds:
        print("null")
        return
    with ProcessPoolExecutor(question["processes"]) as pool:
        tasks = [pool.submit(timed_runs, simulate_run, question, number) for number in range(question["processes"])]
        timed = [task.result() for task in tasks]
    regrets = [regret for regrets, _ in timed for regret in regrets]
    answered: Answer = {
        "kind": question["kind"],
        "version": version,
        "rounds": len(regrets) * question["horizon"],
        "seconds": max(seconds for _, seconds in timed),
        "regret": sum(regrets) / len(regrets),
    }
    print(json.dumps(answered))


def timed_runs(simulate_run: SimulateRun, question: Question, process: int) -> tuple[list[float], float]:
    """Simulate runs in one process until the time is over; returns their regrets and the seconds they took.

    A short run before the timing warms up the process.
    """
    kind, means, horizon = question["kind"], question["means"], question["horizon"]
    simulate_run(kind, means, 100, process)
    regrets: list[float] = []
    started = time.perf_counter()
    while not regrets or time.perf_counter() - started < question["seconds"]:
        pulls = simulate_run(kind, means, horizon, len(regrets) * question["processes"] + process)
        regrets.append(sum((max(means) - means[k]) * float(pulls[k]) for k in range(len(means))))
    return regrets, time.perf_counter() - started
