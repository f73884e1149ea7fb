"""Run the steps of one part within a number of minutes, and gather what they measured in one file."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.gpu.plan import STEPS, Step


class Process:
    """The process of a step, or of a share of one."""

    def __init__(self, step: Step, share: int, out: Path, tiny: bool) -> None:
        self.name = f"{step.name}-{share}" if step.shares > 1 else step.name
        self.file, self.log, self.begun = out / f"{self.name}.json", out / f"{self.name}.log", time.perf_counter()
        words = [sys.executable, "-m", "benchmarks.gpu.process", step.name, "--out", str(self.file)]
        words += ["--share", str(share), str(step.shares), *(["--tiny"] * tiny)]
        with self.log.open("w") as stream:  # in a session of its own, so that the processes it starts end with it
            self.process = subprocess.Popen(
                words,
                env={**os.environ, **_environment(out)},
                stdout=stream,
                stderr=stream,
                start_new_session=True,
                preexec_fn=_leave_cores_to_host,
            )

    def finish(self, end: float) -> None:
        """Wait for the process, or end it at some time; what it has measured by then stays in its file."""
        try:
            code = self.process.wait(timeout=max(0.1, end - time.monotonic()))
            lines = self.log.read_text().strip().splitlines() or [f"exit code {code}"]
            state = "done" if code == 0 else f"failed: {lines[-1]}"
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            state = "ended at its limit"
        held = json.loads(self.file.read_text()) if self.file.exists() else {}
        held |= {"state": state, "seconds": round(time.perf_counter() - self.begun, 1)}
        self.file.write_text(json.dumps(held, indent=1))
        print(f"{self.name}: {state} ({held['seconds']} s, {len(held.get('rows', ()))} rows)", flush=True)


def _environment(out: Path) -> dict[str, str]:
    """Several processes share the device, its memory and the compiled programs."""
    return {
        "JAX_COMPILATION_CACHE_DIR": str(out / "programs"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        "MOSAIC_GPU_DUMP_PTXAS": "1",
    }


def _leave_cores_to_host() -> None:
    """Keep off the two cores that are measured beside the device, where there are enough others."""
    if len(cores := os.sched_getaffinity(0)) > 4:
        os.sched_setaffinity(0, cores - {0, 1})


def gather(out: Path) -> None:
    """Write `gpu.json`: the machine once, and the state and rows of every step."""
    held = {file.stem: json.loads(file.read_text()) for file in sorted(out.glob("*.json")) if file.name != "gpu.json"}
    machines = [one["machine"] for one in held.values() if "machine" in one]
    machine = next((one for one in machines if "cpu" not in one["device"]), machines[0] if machines else None)
    steps = {name: {key: one[key] for key in one if key != "machine"} for name, one in held.items()}
    (out / "gpu.json").write_text(json.dumps({"machine": machine, "steps": steps}, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--part", type=int, choices=(1, 2), help="the steps of one part (default: of both)")
    parser.add_argument("--steps", nargs="*", choices=[step.name for step in STEPS], help="these steps alone")
    parser.add_argument("--minutes", type=float, default=9.0, help="the time for all steps together (default: 9)")
    parser.add_argument("--out", type=Path, required=True, help="the folder for the JSON files and logs")
    parser.add_argument("--tiny", action="store_true", help="small sizes, to try the script on a CPU")
    options = parser.parse_args()
    steps = [step for step in STEPS if options.part in (None, step.part)]
    if options.steps:
        steps = [step for step in STEPS if step.name in options.steps]
    options.out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * options.minutes
    numbers = itertools.count()
    groups = [list(group) for _, group in itertools.groupby(steps, lambda step: next(numbers) if step.alone else -1)]
    for number, group in enumerate(groups):
        weights = [sum(step.weight for step in later) for later in groups[number:]]
        limit = time.monotonic() + (end - time.monotonic()) * weights[0] / sum(weights)
        processes = [Process(step, share, options.out, options.tiny) for step in group for share in range(step.shares)]
        for process in processes:
            process.finish(limit)
        gather(options.out)


if __name__ == "__main__":
    main()
