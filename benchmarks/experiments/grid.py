"""A grid of 10,000 configurations against the bare engine: the same rounds in the same blocks, nothing else.

python benchmarks/grid.py [--configurations 10000] [--record 20] [--repeats 5]
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
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from jaxbandit.core import prng
from jaxbandit.core.provenance import device_name, version
from jaxbandit.core.rationals import QuotaTable
from jaxbandit.engine import rollout
from jaxbandit.engine import simulation as engine
from jaxbandit.engine.batch import sharding
from jaxbandit.engine.batch.blocks import STOPS, Block, on_device, quota_on_device
from jaxbandit.engine.plan import Plan
from jaxbandit.experiments import dataset
from jaxbandit.experiments.configs import config

# Two parameters of each policy, from and to
GRIDS = {
    "hard-threshold-ucb": {"exploration": (0.1, 4.0), "penalties": (0.0, 2.0)},
    "lfg": {"exploration": (0.1, 4.0), "eta": (1.0, 1000.0)},
    "fair-learn": {"exploration": (0.1, 4.0), "alpha": (0.0, 50.0)},
}


def described(configurations: int, record: int, kind: str = "hard-threshold-ucb") -> dict[str, Any]:
    """A grid over two parameters of a policy, 10 arms."""
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


def bare(plan: Plan) -> float:
    """Seconds that the compiled programs alone take for every block, from as many threads."""
    group, blocks = plan.stacks[0], plan.blocks
    horizon = plan.settings.horizon
    stops = np.linspace(0, horizon, -(-len(plan.rounds) // STOPS) * STOPS + 1)[1:].astype(np.int32)

    def play(block: Block) -> None:
        cells, lanes = block.cells(), block.lanes()
        policy, world = on_device((group.policy, group.world), cells)
        key = tuple(map(jnp.asarray, prng.run_keys(0, cells[:, None] % group.instances, lanes)))
        state = rollout.start(policy, world, (group.arms, len(cells), lanes.shape[1]), False, ())
        first = 0
        for ends in np.split(stops, len(stops) // STOPS):
            scalars = (jnp.asarray(n, jnp.int32) for n in (0, horizon, first))
            state, counts, _, _ = rollout.advance(policy, world, key, quota, *scalars, jnp.asarray(ends), state)
            first = int(ends[-1])
        jax.block_until_ready(counts)

    assert group.ground_truth.fractions is not None
    table = QuotaTable(group.ground_truth.fractions, horizon + 1).rows(0, horizon + 1)
    quota = quota_on_device(table, blocks[0].places())
    play(blocks[0])
    begun = time.perf_counter()
    with ThreadPoolExecutor(sharding.workers()) as pool:
        list(pool.map(play, blocks))
    return time.perf_counter() - begun


def once(table: dict[str, Any]) -> tuple[Plan, xr.Dataset, int, dict[str, float]]:
    """Simulate a grid from its config to its results, and its rounds by the engine alone: the seconds of each."""
    before, begun = rollout.compiled()._cache_size(), time.perf_counter()  # type: ignore[attr-defined]
    plan = config.make_plan(table)
    checked = time.perf_counter()
    outcome = engine.run(plan)
    run = time.perf_counter()
    data = dataset.dataset(plan, outcome, table)
    whole = time.perf_counter() - begun
    programs = rollout.compiled()._cache_size() - before  # type: ignore[attr-defined]
    seconds = {
        "config to simulation": checked - begun,
        "compilation": outcome.compile_seconds,
        "run": outcome.run_seconds,
        "results": whole - (run - begun),
        "whole": whole,
        "bare engine": bare(plan),
    }
    return plan, data, programs, seconds


def measured(kind: str, configurations: int, record: int, repeats: int) -> dict[str, Any]:
    """One grid some times over, the whole and the engine alone in turn: medians, and the range of their ratio."""
    table = described(configurations, record, kind)
    made = [once(table) for _ in range(repeats)]
    plan, data, programs, first = made[0]
    times = [seconds for *_, seconds in made]
    middle = {name: float(np.median([seconds[name] for seconds in times])) for name in first}
    whole = sorted((one["whole"] - one["compilation"]) / one["bare engine"] for one in times)
    rounds = data.sizes["policy"] * plan.settings.seeds * plan.settings.horizon
    return {
        "policy": kind,
        "configurations": data.sizes["policy"],
        "seeds": plan.settings.seeds,
        "horizon": plan.settings.horizon,
        "recorded rounds": len(plan.rounds),
        "metrics": plan.metrics,
        "programs compiled": programs,
        "seconds": {
            **{name: round(value, 3) for name, value in middle.items()},
            "compilation": round(first["compilation"], 3),
        },
        "run / bare engine": round(float(np.median([one["run"] / one["bare engine"] for one in times])), 3),
        "whole but compilation / bare engine": round(float(np.median(whole)), 3),
        "from, to": [round(whole[0], 3), round(whole[-1], 3)],
        "million rounds a second": round(rounds / middle["run"] / 1e6, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configurations", type=int, default=10_000)
    parser.add_argument("--record", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, help="a JSON file")
    asked = parser.parse_args()
    measured("fair-learn", 100, asked.record, 1)  # what every process does once
    made = {
        "date": date.today().isoformat(),
        "device": device_name(),
        "versions": {"jaxbandit": version(), "jax": jax.__version__},
        "grids": [measured(kind, asked.configurations, asked.record, asked.repeats) for kind in GRIDS],
        "peak memory, MiB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }
    print(json.dumps(made, indent=2))
    if asked.out is not None:
        asked.out.write_text(json.dumps(made, indent=2) + "\n")


if __name__ == "__main__":
    main()
