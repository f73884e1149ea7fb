"""Run the steps of one part, each in a process of its own, within a number of minutes."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.gpu.plan import STEPS, Step


def run(step: Step, out: Path, seconds: float, tiny: bool) -> str:
    """Run a step. It is ended after some seconds; what it has measured by then stays in its file.

    Returns:
        How it ended, in a word or a line.
    """
    file = out / f"{step.name}.json"
    words = [sys.executable, "-m", "benchmarks.gpu.process", step.name, "--out", str(file), *(["--tiny"] * tiny)]
    environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(out / "programs")}
    begun, log = time.perf_counter(), out / f"{step.name}.log"
    with log.open("w") as stream:  # in a session of its own, so that the processes it starts end with it
        process = subprocess.Popen(words, env=environment, stdout=stream, stderr=stream, start_new_session=True)
    try:
        code = process.wait(timeout=seconds)
        lines = log.read_text().strip().splitlines() or [f"exit code {code}"]
        state = "done" if code == 0 else f"failed: {lines[-1]}"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        state = f"ended after {seconds:.0f} s"
    held = json.loads(file.read_text()) if file.exists() else {}
    held |= {"state": state, "seconds": round(time.perf_counter() - begun, 1)}
    file.write_text(json.dumps(held, indent=1))
    return state


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--part", type=int, choices=(1, 2), help="the steps of one part (default: of both)")
    parser.add_argument("--steps", nargs="*", choices=[step.name for step in STEPS], help="these steps alone")
    parser.add_argument("--minutes", type=float, default=9.0, help="the time for all steps together (default: 9)")
    parser.add_argument("--out", type=Path, required=True, help="the folder for a JSON file per step")
    parser.add_argument("--tiny", action="store_true", help="small sizes, to try the script on a CPU")
    options = parser.parse_args()
    steps = [step for step in STEPS if options.part in (None, step.part)]
    if options.steps:
        steps = [step for step in STEPS if step.name in options.steps]
    options.out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * options.minutes
    for number, step in enumerate(steps):
        left = end - time.monotonic()
        if left < 5:
            print(f"{step.name}: no time left", flush=True)
            continue
        share = step.weight / sum(later.weight for later in steps[number:])
        print(f"{step.name}: {run(step, options.out, left * share, options.tiny)}", flush=True)


if __name__ == "__main__":
    main()
