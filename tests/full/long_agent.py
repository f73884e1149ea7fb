"""Agents over many rounds against simulators, with late rewards and a restart from a file at a random round.

    python tests/full/long_agent.py --rounds 100000 --seed 0

Some two minutes per policy. Prints the round of the restart, and the first round that differs; exits with 1 if one
does.
"""

import argparse
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / folder) for folder in ("support", "references", "engine/stepping")]

import numpy as np  # noqa: E402
from stepping import ARMS, DELAYS, problem_for, scanned  # noqa: E402
from test_agent import agent_for, due_rewards  # noqa: E402

import jaxbandit as jb  # noqa: E402

CASES = [
    ("hard-threshold-ucb", 1, DELAYS["geometric"]),
    ({"kind": "fair-learn", "base": "thompson"}, 1, {"kind": "pareto", "alpha": 0.7}),
    ("lfg", 3, DELAYS["reward-dependent"]),
]


def first_difference(policy, plays, delay, rounds, rng):
    """The first round in which the agent selects other arms than the simulator; None where there is none."""
    simulator = jb.Simulator(problem_for(plays=plays, delay=delay), policy, horizon=rounds)
    _, info = scanned(simulator, simulator.init(5), rounds)
    agent, due, restart = agent_for(policy, plays, rounds), due_rewards(info), rng.integers(rounds)
    print(f"{policy}: restart after round {restart}", flush=True)
    state = agent.init(5)
    for t, expected in enumerate(info.arms):
        state, arms, _ = agent.select(state)
        if np.asarray(arms).tolist() != expected.tolist():
            return t + 1
        now = due.pop(t, [])
        rng.shuffle(now)
        if now:
            arms, rewards, _ = np.array(now).T
            state = agent.observe(state, arms.astype(int), rewards)
        if t == restart:
            with tempfile.TemporaryDirectory() as folder:
                jb.save(state, Path(folder) / "state.npz")
                agent = agent_for(policy, plays, rounds)
                state = jb.load(Path(folder) / "state.npz", like=agent.init(0))
    assert state.pulls.sum() == rounds * plays
    assert len(state.pulls) == ARMS
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng, differ = np.random.default_rng(given.seed), 0
    for policy, plays, delay in CASES:
        found = first_difference(policy, plays, delay, given.rounds, rng)
        differ += found is not None
        print("the same arms in every round" if found is None else f"differs in round {found}", flush=True)
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
