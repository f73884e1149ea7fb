"""Simulate and judge thousands of random configs: `python tests/full/fuzz.py --runs 2000 --seed 0 [--start N]`.

Exits with 1 where a dataset breaks what SPEC.md says of it, or the program fails other than by refusing a config.
"""

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import jax
from fuzzing import Coverage, tried

PROGRAMS = 60  # configs after which compiled programs are forgotten: a process may have 65,530 memory maps


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000, help="configs in the campaign")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the first config, to go on with a campaign")
    given = parser.parse_args()
    coverage, begun = Coverage(), time.perf_counter()
    ran = refused = 0
    bad = {}
    for number in range(given.start, given.runs):
        config, results, faults = tried(given.seed, number, coverage)
        ran, refused = ran + (results is not None), refused + (results is None and not faults)
        if faults:
            bad[number] = faults
            print(f"config {number}: {json.dumps(config)}", *faults, sep="\n    ", flush=True)
        if (number + 1) % PROGRAMS == 0:
            jax.clear_caches()
        if (number + 1) % 20 == 0:
            spent = time.perf_counter() - begun
            each = spent / (number + 1 - given.start)
            print(f"{number + 1}: {ran} ran, {refused} refused, {len(bad)} bad; {spent:.0f} s, {each:.2f} s each", flush=True)
    print(f"{ran} configs ran, {refused} were refused, {len(bad)} have faults: {list(bad)}")
    for family, (times, name) in coverage.least().items():
        print(f"the {family} that ran least: {name}, {times} times")
    for (kind, family, name), refusal in coverage.uncovered().items():
        print(f"never ran: {kind} with {family} {name}: {refusal}")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
