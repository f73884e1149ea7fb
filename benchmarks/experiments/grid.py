"""Time grids of 10,000 configurations, from the config to the dataset, against the engine alone.

The engine alone simulates the same rounds with the same program and the same blocks, without fetching results or
computing metrics. The two run in turns.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.core import prng
from jaxbandit.core.provenance import device_name, version
from jaxbandit.core.rationals import QuotaTable
from jaxbandit.engine import rollout, simulation
from jaxbandit.engine.batch import sharding
from jaxbandit.engine.batch.blocks import STOPS, Block, on_device, quota_on_device
from jaxbandit.engine.plan import Plan
from jaxbandit.experiments import dataset
from jaxbandit.experiments.configs.config import make_plan

# By policy: two parameters with the first and the last value of each
GRIDS = {
    "hard-threshold-ucb": {"exploration": (0.1, 4.0), "penalties": (0.0, 2.0)},
    "lfg": {"exploration": (0.1, 4.0), "eta": (1.0, 1000.0)},
    "fair-learn": {"exploration": (0.1, 4.0), "alpha": (0.0, 50.0)},
}


def grid_config(kind: str, configurations: int, record: int) -> dict[str, object]:
    """The config of a square grid over two parameters of a policy, with ten arms."""
    side = math.isqrt(configurations)
    lists = {name: np.linspace(*ends, side).round(4).tolist() for name, ends in GRIDS[kind].items()}
    return {
        "simulation": {
            "horizon": 1000,
            "seeds": 100,
            "record": record,
            "metrics": ["penalized_regret", "unfairness"],
        },
        "problem": {"means": np.linspace(0.1, 0.9, 10).round(3).tolist(), "fractions": 0.05, "penalties": 0.4},
        "policies": [{"kind": kind, **lists}],
    }


def time_engine(plan: Plan) -> float:
    """The seconds that the compiled program alone takes for every block, called from as many threads as in a run."""
    stack, blocks = plan.stacks[0], plan.blocks
    horizon = plan.settings.horizon
    stops = np.linspace(0, horizon, -(-len(plan.rounds) // STOPS) * STOPS + 1)[1:].astype(np.int32)

    def play(block: Block) -> None:
        cells, lanes = block.cells(), block.lanes()
        policy, world = on_device((stack.policy, stack.world), cells)
        key = tuple(map(jnp.asarray, prng.run_keys(0, cells[:, None] % stack.instances, lanes)))
        state = rollout.start(policy, world, (stack.arms, len(cells), lanes.shape[1]), False, ())
        first = 0
        for ends in np.split(stops, len(stops) // STOPS):
            scalars = (jnp.asarray(n, jnp.int32) for n in (0, horizon, first))
            state, made, _ = rollout.advance(policy, world, key, quota, *scalars, jnp.asarray(ends), None, state)
            first = int(ends[-1])
        jax.block_until_ready(made.counts)

    assert stack.ground_truth.fractions is not None
    table = QuotaTable(stack.ground_truth.fractions, horizon + 1).rows(0, horizon + 1)
    quota = quota_on_device(table, blocks[0].places())
    play(blocks[0])
    started = time.perf_counter()
    with ThreadPoolExecutor(sharding.workers()) as pool:
        list(pool.map(play, blocks))
    return time.perf_counter() - started


def time_grid(config: dict[str, object]) -> tuple[Plan, int, dict[str, float]]:
    """Simulate a grid, and its rounds by the engine alone: the plan, the programs compiled, and the seconds."""
    compiled_before, started = rollout.compiled()._cache_size(), time.perf_counter()
    plan = make_plan(config)
    planned = time.perf_counter()
    results = simulation.run(plan)
    simulated = time.perf_counter()
    dataset.dataset(plan, results, config)
    ended = time.perf_counter()
    programs = rollout.compiled()._cache_size() - compiled_before
    seconds = {
        "config to plan": planned - started,
        "compilation": results.compile_seconds,
        "run": results.run_seconds,
        "dataset": ended - simulated,
        "total with compilation": ended - started,
        "engine alone": time_engine(plan),
    }
    return plan, programs, seconds


def measure(kind: str, configurations: int, record: int, repeats: int) -> dict[str, object]:
    """Time one grid repeatedly: medians of the times, and median and range of their ratio to the engine alone."""
    config = grid_config(kind, configurations, record)
    timings = [time_grid(config) for _ in range(repeats)]
    plan, programs, first = timings[0]
    seconds = [seconds for _, _, seconds in timings]
    medians = {name: float(np.median([times[name] for times in seconds])) for name in first}
    ratios = sorted((s["total with compilation"] - s["compilation"]) / s["engine alone"] for s in seconds)
    size, settings = len(plan.configurations), plan.settings
    return {
        "policy": kind,
        "configurations": size,
        "seeds": settings.seeds,
        "horizon": settings.horizon,
        "recorded rounds": len(plan.rounds),
        "metrics": plan.metrics,
        "programs compiled": programs,
        "seconds": {
            **{name: round(value, 3) for name, value in medians.items()},
            "compilation": round(first["compilation"], 3),
        },
        "run / engine alone": round(float(np.median([s["run"] / s["engine alone"] for s in seconds])), 3),
        "total / engine alone": round(float(np.median(ratios)), 3),
        "range of the ratio": [round(ratios[0], 3), round(ratios[-1], 3)],
        "million rounds per second": round(size * settings.seeds * settings.horizon / medians["run"] / 1e6, 1),
    }


def main() -> None:
    """Time the grids, and print the times and the peak memory as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configurations", type=int, default=10_000, help="points of each grid, a square number")
    parser.add_argument("--record", type=int, default=20, help="number of recorded rounds")
    parser.add_argument("--repeats", type=int, default=5, help="timings of each grid")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    chosen = parser.parse_args()
    measure("fair-learn", 100, chosen.record, 1)  # initialises JAX
    report = {
        "date": date.today().isoformat(),
        "device": device_name(),
        "versions": {"jaxbandit": version(), "jax": jax.__version__},
        "grids": [measure(kind, chosen.configurations, chosen.record, chosen.repeats) for kind in GRIDS],
        "peak memory, MiB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }
    print(json.dumps(report, indent=2))
    if chosen.out is not None:
        chosen.out.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
