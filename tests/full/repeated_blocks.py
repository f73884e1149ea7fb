"""Whether a device returns the same arrays each time that the same blocks are simulated, and what decides it.

    python tests/full/repeated_blocks.py                         # 60 seconds per variant
    python tests/full/repeated_blocks.py --seconds 20 --variants default one-thread

On an H100 a block once had zeros in place of the sums of a metric, with right values beside them. This script simulates
six small blocks over and over, in four host threads on an accelerator, and compares every array with that of the first
time. Variants do without what may be the cause: CUDA graphs, the kernel of many rounds, several threads. It prints a
line of JSON per variant, and exits with 1 where an array differed.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HERE / "support" / "progress"), str(HERE / "support")]

VARIANTS = {  # variables of the environment
    "default": {},
    "no-graphs": {"XLA_FLAGS": "--xla_gpu_enable_command_buffer="},
    "no-kernel": {"REPEATED_KERNEL": "0"},
    "one-thread": {"REPEATED_THREADS": "1"},
}


def repeated(seconds):
    """Simulate the blocks again and again; what differed, by name of the array."""
    import jax
    from damaged_progress import content
    from interruption import ONE

    import jaxbandit as jb
    from jaxbandit.engine import simulation
    from jaxbandit.engine.batch import sharding
    from jaxbandit.engine.batch.recorder import Recorder
    from jaxbandit.experiments.configs.config import make_plan

    if "REPEATED_THREADS" in os.environ:
        sharding._WORKERS_OF_DEVICE = int(os.environ["REPEATED_THREADS"])
    Recorder._compare = Recorder._compare_counts = lambda *_: None  # what is wrong shall be seen here
    kernel = False if "REPEATED_KERNEL" in os.environ else None
    setting = {name: value for name, value in (("gpu_kernel", kernel),) if value is not None}
    plan = make_plan({**ONE, "simulation": {**ONE["simulation"], **setting}})
    right, counts, times = content(simulation.run(plan)), {}, 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        made, times = content(simulation.run(plan)), times + 1
        for name, array in made.items():
            if (array != right[name]).any():
                at = np.argwhere(array != right[name])[0].tolist()
                counts.setdefault(name, [0, at, array.tolist(), right[name].tolist()])[0] += 1
    return {"device": str(jax.devices()[0].device_kind), "version": jb.__version__, "times": times, "differing": counts}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="per variant")
    parser.add_argument("--variants", nargs="*", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--processes", type=int, default=4, help="at a time, which share the device")
    parser.add_argument("--here", action="store_true", help="simulate in this process, in its environment")
    options = parser.parse_args()
    if options.here:
        print(json.dumps(repeated(options.seconds)))
        return
    wrong = False
    for name in options.variants:
        command = [sys.executable, __file__, "--here", "--seconds", str(options.seconds)]
        environment = {**os.environ, **VARIANTS[name], "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
        started = [
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
            for _ in range(options.processes)
        ]
        found = [json.loads(one.communicate()[0].splitlines()[-1]) for one in started]
        wrong |= any(one["differing"] for one in found)
        print(json.dumps({"variant": name, "processes": found}), flush=True)
    sys.exit(wrong)


if __name__ == "__main__":
    main()
