"""MABWiser and SMPyBandits on the same problem, each in an interpreter of its own: they want other NumPy versions.

This file needs the standard library only, so that those interpreters can import it too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

Play = Callable[[str, list, int, int], Any]  # (kind, means, horizon, seed): N_k(T) of one run

SCRIPTS = {"MABWiser": "mabwiser_policies.py", "SMPyBandits": "smpybandits_policies.py"}
LONGEST = 2000  # rounds of a run; they simulate thousands of rounds a second


def ask(library: str, python: str, kind: str, means: list, horizon: int, seconds: float) -> dict | None:
    """Time a library's policy in another interpreter, one process a core.

    Returns:
        What `answer` prints; None where the library has no such policy.

    Raises:
        RuntimeError: the script failed.
    """
    script = Path(__file__).with_name(SCRIPTS[library])
    asked = {"kind": kind, "means": means, "horizon": min(horizon, LONGEST), "seconds": seconds, "processes": cores()}
    done = subprocess.run([python, str(script), json.dumps(asked)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{library}, {kind}: {done.stderr.strip().splitlines()[-1:]}")
    return json.loads(done.stdout.splitlines()[-1])


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def answer(known: Collection[str], play: Play, version: str) -> None:
    """What a script does: play runs until the time is over, and print one line of JSON.

    It holds the policy's `kind`, the library's `version`, `rounds` and `seconds` of all processes together, and
    `regret`, the mean over runs; or null where the policy is not `known`.

    Args:
        known: names of policies.
        play: plays one run.
        version: the library's.
    """
    asked = json.loads(sys.argv[1])
    if asked["kind"] not in known:
        print("null")
        return
    with ProcessPoolExecutor(asked["processes"]) as pool:
        jobs = [pool.submit(chunks_of, play, asked, seed) for seed in range(asked["processes"])]
        made = [job.result() for job in jobs]
    regrets = [regret for some, _ in made for regret in some]
    line = {"kind": asked["kind"], "version": version, "rounds": len(regrets) * asked["horizon"]}
    line["seconds"], line["regret"] = max(seconds for _, seconds in made), sum(regrets) / len(regrets)
    print(json.dumps(line))


def chunks_of(play: Play, asked: dict, process: int) -> tuple:
    """Regrets of the runs of one process, and the seconds they took; a first, short run warms it up."""
    kind, means, horizon = asked["kind"], asked["means"], asked["horizon"]
    play(kind, means, 100, process)
    regrets, begun = [], time.perf_counter()
    while not regrets or time.perf_counter() - begun < asked["seconds"]:
        pulls = play(kind, means, horizon, len(regrets) * asked["processes"] + process)
        regrets.append(sum((max(means) - means[k]) * float(pulls[k]) for k in range(len(means))))
    return regrets, time.perf_counter() - begun
