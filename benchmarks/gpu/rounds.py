"""Rounds of a policy on the device, played by the engine's own program without recording metrics."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import filelock
import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

import jaxbandit as jb
from jaxbandit.core import prng
from jaxbandit.core.rationals import QuotaTable
from jaxbandit.core.xla import gpu_kernel
from jaxbandit.engine import rollout
from jaxbandit.engine.batch.blocks import STOPS, on_device, quota_on_device
from jaxbandit.environment.world import world_of
from jaxbandit.policies.base import Alias, Policy

KINDS = [kind for kind, made in Policy.registry.items() if not isinstance(made, Alias)]
GAMMA = [kind for kind in KINDS if any(word in kind for word in ("thompson", "fcts"))]  # draw from Gamma distributions


TURNS: list[Path] = []  # the lock of the device, where several processes share it


@contextlib.contextmanager
def turn() -> Iterator[None]:
    """Wait until no other process plays rounds, and keep the others waiting."""
    if not TURNS or jax.default_backend() == "cpu":
        yield
        return
    with filelock.FileLock(TURNS[0], poll_interval=0.01):
        yield


def problem(kind: str, arms: int) -> jb.Problem:
    """A problem of some arms that a policy takes."""
    means = np.linspace(0.9, 0.1, arms).round(3)[::-1].tolist()
    made = Policy.registry[kind]
    if made.__module__.startswith("jaxbandit.policies.merit"):
        return jb.Problem(means, plays=2 if made.many_plays else 1, merit="power")
    opportunity = "uniform" if kind == "constant-opportunity" else "softmax"
    return jb.Problem(means, fractions=0.3 / arms, penalties=0.3, opportunity=opportunity)


@dataclass(frozen=True)
class Rounds:
    """A policy, ready to play.

    Attributes:
        kind: the policy's name.
        arms, runs, horizon: K, the number of runs in the block, T.
        kernel: whether the rounds shall be one kernel.
        key: the key of the simulation.
    """

    kind: str
    arms: int
    runs: int
    horizon: int
    kernel: bool = False
    key: int = 0

    def arguments(self) -> tuple[Any, ...]:
        """The arguments of `rollout.compiled()` up to the horizon's; the state is new."""
        of = problem(self.kind, self.arms)
        prepared = jb.policy(self.kind).prepare(of, self.horizon)
        cells = np.zeros(1, np.int64)
        world = on_device(world_of(of, prepared.wants_binary_feedback, self.horizon), cells)
        placed = on_device(prepared, cells)
        words = prng.run_keys(self.key, cells[:, None], np.arange(self.runs))
        quotas = None
        if (owned := of.guarantees()) is not None:
            quotas = quota_on_device(QuotaTable(owned, self.horizon + 1).rows(0, self.horizon + 1), cells)
        key = tuple(jnp.asarray(word) for word in words)
        return placed, world, key, quotas, np.int32(0), np.int32(self.horizon), np.int32(0)

    def state(self, arguments: tuple[Any, ...]) -> rollout.State:
        """The state before round 1."""
        return rollout.start(arguments[0], arguments[1], (self.arms, 1, self.runs), False)

    def played(self) -> np.ndarray:
        """The counts `[STOPS, K, runs]` at rounds that are spread over the horizon."""
        arguments = self.arguments()
        stops = np.unique(np.geomspace(1, self.horizon, STOPS).astype(np.int32))
        stops = np.concatenate([stops, np.full(STOPS - len(stops), self.horizon, np.int32)])
        made = self.lowered(arguments).compile()
        with turn():
            counts = made(*arguments, stops, None, self.state(arguments))[1].counts
            return np.asarray(counts)[:, :, 0]

    def lowered(self, arguments: tuple[Any, ...]) -> Any:
        """The program of the rounds."""
        with gpu_kernel.WANTED(gpu_kernel.works(self.kernel)):
            return rollout.compiled().lower(*arguments, np.full(STOPS, 1, np.int32), None, self.state(arguments))

    def timed(self, seconds: float) -> dict[str, object]:
        """Rates, the time to compile, and memory. A timing takes about `seconds`."""
        arguments = self.arguments()
        times = [time.perf_counter()]

        def lap() -> float:
            times.append(time.perf_counter())
            return times[-1] - times[-2]

        lowered = self.lowered(arguments)
        found: dict[str, object] = {"one_kernel": "mosaic_gpu" in lowered.as_text(), "lower_seconds": lap()}
        made = lowered.compile()
        found["compile_seconds"] = lap()

        def spent(rounds: int) -> float:
            state = jax.block_until_ready(self.state(arguments))
            begun = time.perf_counter()
            jax.block_until_ready(made(*arguments, np.full(STOPS, rounds, np.int32), None, state))
            return time.perf_counter() - begun

        spent(2)
        found["first_run_seconds"] = lap()  # kernels are compiled when they first run
        rounds = 8
        with turn():
            while (once := spent(rounds)) < seconds / 3 and rounds < self.horizon:
                rounds = min(self.horizon, rounds * (8 if once < seconds / 30 else 2))
            best = min(once, *(spent(rounds) for _ in range(2)))
        used = jax.local_devices()[0].memory_stats() or {}
        memory = made.memory_analysis()
        return found | {
            "rounds": rounds,
            "rounds_per_second": self.runs * rounds / best,
            "microseconds_per_round": 1e6 * best / rounds,
            "temporary_bytes": getattr(memory, "temp_size_in_bytes", None),
            "peak_bytes": used.get("peak_bytes_in_use"),
        }


def differing(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The share of runs that differ in some count."""
    return float((ours != theirs).any(axis=(0, 1)).mean())


def law(ours: np.ndarray, theirs: np.ndarray) -> dict[str, float]:
    """The least p-value over the arms of chi-square tests that last counts of independent runs have one law.

    It is multiplied by the number of arms (Bonferroni). Counts are put into at most ten classes of about equal size.
    """
    least = 1.0
    for one, other in zip(ours[-1], theirs[-1], strict=True):
        edges = np.unique(np.quantile(np.concatenate([one, other]), np.linspace(0, 1, 11)[1:-1]))
        tables = [np.bincount(np.searchsorted(edges, side), minlength=len(edges) + 1) for side in (one, other)]
        table = np.array(tables)[:, np.sum(tables, axis=0) > 0]
        if table.shape[1] > 1:
            least = min(least, float(stats.chi2_contingency(table).pvalue))
    return {"p_value": min(1.0, least * len(ours[0]))}
