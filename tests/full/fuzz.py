"""Simulate and judge thousands of random configs: `python tests/full/fuzz.py --runs 2000 --seed 0 [--state FILE]`.

Exits with 1 if a number of a dataset is wrong, or if the program fails in another way than by refusing a config.
"""

import argparse
import json
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / name) for name in ("fuzz", "references", "support")]

import jax  # noqa: E402
from fuzzing import Coverage, tried  # noqa: E402

PROGRAMS = 60  # configs after which compiled programs are forgotten: a process may have 65,530 memory maps


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000, help="configs in the campaign")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the first config, to look at some of a campaign")
    parser.add_argument("--state", type=Path, help="a file to keep what was done in, and to go on from")
    given = parser.parse_args()
    campaign = Campaign(given.start)
    if given.state is not None and given.state.exists():
        campaign.load(given.state)
    begun, first = time.perf_counter(), campaign.next
    while campaign.next < given.runs:
        campaign.one(given.seed)
        if campaign.next % PROGRAMS == 0:
            jax.clear_caches()
        if campaign.next % 20 == 0:
            spent = time.perf_counter() - begun
            print(
                f"{campaign.next}: {campaign.said()}; {spent:.0f} s, {spent / (campaign.next - first):.2f} s each",
                flush=True,
            )
            if given.state is not None:
                campaign.save(given.state)
    campaign.report()
    sys.exit(bool(campaign.bad))


class Campaign:
    """Configs one after the other, and what became of them."""

    def __init__(self, start):
        self.next, self.ran, self.refused, self.bad, self.coverage = start, 0, 0, {}, Coverage()

    def one(self, seed):
        config, results, faults = tried(seed, self.next, self.coverage)
        self.ran += results is not None
        self.refused += results is None and not faults
        if faults:
            self.bad[str(self.next)] = faults
            print(f"config {self.next}: {json.dumps(config)}", *faults, sep="\n    ", flush=True)
        self.next += 1

    def said(self):
        return f"{self.ran} ran, {self.refused} refused, {len(self.bad)} bad"

    def save(self, path):
        made = {"next": self.next, "ran": self.ran, "refused": self.refused, "bad": self.bad}
        made["coverage"] = [[list(key), times] for key, times in self.coverage.ran.items()]
        made["refusals"] = [[list(key), words] for key, words in self.coverage.refused.items()]
        path.write_text(json.dumps(made))

    def load(self, path):
        made = json.loads(path.read_text())
        self.next, self.ran, self.refused, self.bad = (made[name] for name in ("next", "ran", "refused", "bad"))
        self.coverage.ran.update({tuple(key): times for key, times in made["coverage"]})
        self.coverage.refused.update({tuple(key): words for key, words in made["refusals"]})

    def report(self):
        print(f"{self.said()}: {list(self.bad)}")
        for family, (times, name) in self.coverage.least().items():
            print(f"the {family} that ran least: {name}, {times} times")
        uncovered = self.coverage.uncovered()
        for (kind, family, name), refusal in uncovered.items():
            if refusal is not None:
                print(f"never ran: {kind} with {family} {name}: {refusal}")
        print(f"never drawn: {sum(refusal is None for refusal in uncovered.values())} pairs")


if __name__ == "__main__":
    main()
