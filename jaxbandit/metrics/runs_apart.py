"""A check of users' metrics: the value of a run does not depend on the other runs."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax import Array

from jaxbandit.core.errors import ReturnedError
from jaxbandit.core.rationals import Quota, QuotaTable
from jaxbandit.core.users_code.contracts import owner_name
from jaxbandit.environment.ground_truth import GroundTruth
from jaxbandit.metrics.definitions import compute_metrics, metric_inputs, required_sums
from jaxbandit.metrics.metric import METRICS, MetricInputs

_INSTANCES, _SEEDS = 2, 3  # of the runs that are computed together
_ROUNDING = 1e-6  # relative: the order of sums may differ


def example(
    names: Sequence[str], ground_truth: GroundTruth, instances: int, seeds: int
) -> tuple[np.ndarray, MetricInputs]:
    """Arguments of `compute_metrics`: made-up counts in round 1 of copies of the first instance."""
    first = ground_truth.at_rows(np.zeros(instances, np.int64))
    quota = None
    if first.guarantees is not None:
        rows = QuotaTable(first.guarantees, 1).rows(0, 1)
        quota = Quota(rows.floor, rows.fraction, rows.fraction_rank)
    made_up = np.random.default_rng(0)
    sums = {name: made_up.uniform(1, 9, (1, instances, seeds)) for name in required_sums(names)}
    counts = made_up.integers(1, 100, (1, len(first.means), instances, seeds), dtype=np.int32)
    return counts, metric_inputs(names, np.ones(1, np.int64), first, quota, sums)


def check_runs_apart(names: Sequence[str], ground_truth: GroundTruth) -> None:
    """Compute users' metrics of some runs together, and of each of them alone.

    Args:
        names: names of `METRICS`.
        ground_truth: of the simulation.

    Raises:
        ReturnedError: a value differs.
    """
    counts, inputs = example(names, ground_truth, _INSTANCES, _SEEDS)
    with jax.enable_x64(True):
        compute = jax.jit(functools.partial(compute_metrics, names))
        together = compute(counts, inputs)
        try:
            for c, s in itertools.product(range(_INSTANCES), range(_SEEDS)):
                alone = functools.partial(_of_run, instance=c, seed=s)
                _compare(together, compute(alone(counts), jax.tree.map(alone, inputs)), c, s)
        except ReturnedError:
            _check_same(names, together, jax.jit(functools.partial(compute_metrics, names))(counts, inputs))
            raise


def _check_same(names: Sequence[str], one: Mapping[str, Array], other: Mapping[str, Array]) -> None:
    """Raise an error about a metric whose values of the same runs differ from one call to the next."""
    for name in names:
        if not np.array_equal(one[name], other[name], equal_nan=True):
            words = "the same: what a method takes from Python (random numbers, a counter, a clock) is fixed when the "
            words += "program is compiled"
            owner = owner_name(METRICS[name])
            raise ReturnedError(owner, "a second call with the same arguments", "something else", words)


def _of_run(part: Any, instance: int, seed: int) -> Any:
    """The part of one run; an axis of length 1 is that of all."""
    first = instance if part.shape[-2] == _INSTANCES else 0
    second = seed if part.shape[-1] == _SEEDS else 0
    return part[..., first : first + 1, second : second + 1]


def _compare(together: Mapping[str, Array], alone: Mapping[str, Array], instance: int, seed: int) -> None:
    """Raise an error where the values of a run, `[1, C, S]` and `[1, 1, 1]`, differ."""
    for name, values in together.items():
        beside, by_itself = float(values[0, instance, seed]), float(alone[name][0, 0, 0])
        if not np.isclose(beside, by_itself, rtol=_ROUNDING, atol=_ROUNDING, equal_nan=True):
            returned = f"{by_itself:.6g} for a run alone and {beside:.6g} for the same run beside others"
            expected = "a number per run that does not depend on other runs: reduce over axis 0, the arms, only"
            raise ReturnedError(owner_name(METRICS[name]), "value", returned, expected)
