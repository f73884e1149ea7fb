"""The settings of a simulation: labelled policies, and the horizon, the seeds and the recorded rounds."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp

from jaxbandit.core import prng
from jaxbandit.core.errors import InputError, short_repr
from jaxbandit.core.input_values import boolean, finite_numbers, is_whole_number, to_python, without_fraction
from jaxbandit.environment.problem import Problem
from jaxbandit.metrics.metric import METRICS, Metric, is_users
from jaxbandit.metrics.moments import MOST_RUNS
from jaxbandit.policies.base import Policy

TIES = ("lowest", "random")  # where ties between arms go


@dataclass(frozen=True)
class Configuration:
    """A labelled policy to simulate; in a grid over the problem, with the problem to simulate it on.

    Attributes:
        label: the name of its results, unique in a simulation.
        policy: the policy with its parameters, not yet prepared.
        family: the label that all points of a grid share; outside grids, the label.
        problem: the problem; None for the problem of the simulation.
        point: the point of the grid: the value of each varied config key.
    """

    label: str
    policy: Policy
    family: str
    problem: Problem | None = None
    point: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.label.isprintable():
            raise InputError("policies.label", self.label, "text without control characters")


@dataclass(frozen=True)
class SimulationSettings:
    """How much to simulate, and what to record.

    Attributes:
        horizon: T, rounds.
        seeds: runs per policy and instance.
        key: the only source of randomness, an integer or a JAX key; stored as the integer that gives the same runs.
        record: the number of recorded rounds, log-spaced and with the last round; "all" for every round; or a list of
            rounds.
        metrics: names of metrics; None for all that the problem defines.
        block: runs simulated together; None for a number that suits the device. Results do not depend on it.
        runs: names of metrics whose curve is kept for every run; they are recorded even if `metrics` lacks them.
        trace: whether to keep every selection, its reward and its delay.
        pulls_mean: whether to keep the means of N_k at the recorded rounds; None to keep them if they take at most 64
            MiB in the dataset.
        until: "METRIC_stderr<x": add seeds until the standard error of the metric's mean at T is below x. An empty
            string is None, which a config cannot hold.
        ties: where ties between arms go: "lowest", to the lowest arm, or "random".
        p_mean: the exponent of the metric `p_mean_regret`; None where it is not computed.
        gpu_kernel: whether a GPU plays many rounds in one kernel; None for yes, if it can.
        first_seed: the number of the first run; the runs are `first_seed`, `first_seed` + 1, ...
    """

    horizon: int
    seeds: int
    key: Any = 0
    record: int | str | list[int] = 200
    metrics: list[str] | None = None
    block: int | None = None
    until: str | None = None
    first_seed: int = 0
    runs: list[str] = field(default_factory=list)
    trace: bool = False
    pulls_mean: bool | None = None
    ties: str = "lowest"
    p_mean: float | None = None
    gpu_kernel: bool | None = None

    def __post_init__(self) -> None:
        # NumPy's and JAX's numbers among them
        numbers, others = (
            ("horizon", "seeds", "first_seed", "block"),
            ("record", "trace", "pulls_mean", "ties", "p_mean", "gpu_kernel"),
        )
        for name in (*numbers, *others, "metrics", "runs"):
            object.__setattr__(self, name, to_python(getattr(self, name)))
        for name in (*numbers, "record"):
            object.__setattr__(self, name, without_fraction(getattr(self, name)))
        for name in ("metrics", "runs"):
            object.__setattr__(self, name, _as_names(getattr(self, name)))
        object.__setattr__(self, "until", None if self.until == "" else self.until)
        object.__setattr__(self, "key", prng.key_as_integer(self.key))

    def check(self) -> None:
        """Refuse settings that cannot be simulated.

        Raises:
            InputError: naming `simulation.<key>`.
        """
        for name in ("horizon", "seeds", "block"):
            value = getattr(self, name)
            if not (name == "block" and value is None) and not is_whole_number(value):
                raise InputError(f"simulation.{name}", value, "a whole number >= 1")
        if not is_whole_number(self.first_seed, 0):
            raise InputError("simulation.first_seed", self.first_seed, "a whole number >= 0")
        listed = isinstance(self.record, list) and all(is_whole_number(t) and t <= self.horizon for t in self.record)
        if not (listed or self.record == "all" or is_whole_number(self.record)):
            words = f'a whole number >= 1, "all", or a list of rounds from 1 to {self.horizon}'
            raise InputError("simulation.record", self.record, words)
        # Counts are int32; sums of rewards of 0 and 1 are exact while the dtype holds consecutive integers.
        most = 2**24 if jnp.result_type(float) == jnp.float32 else 2**31 - 2
        if self.horizon > most:
            more = "; enable float64 (jax_enable_x64) for more" if most == 2**24 else ""
            raise InputError("simulation.horizon", self.horizon, f"at most {most} rounds{more}")
        if self.seeds > MOST_RUNS:
            raise InputError("simulation.seeds", self.seeds, f"at most {MOST_RUNS} (beyond this, means are not exact)")
        if self.first_seed + self.seeds > MOST_RUNS:
            words = f"at most {MOST_RUNS - self.seeds}, so that no seed is beyond {MOST_RUNS - 1}"
            raise InputError("simulation.first_seed", self.first_seed, words)
        if self.ties not in TIES:
            raise InputError("simulation.ties", self.ties, '"lowest" or "random"')
        if self.metrics is not None:
            check_names(self.metrics, "simulation.metrics")
        check_names(self.runs, "simulation.runs")
        boolean(self.trace, "simulation.trace")
        if self.gpu_kernel is not None:
            boolean(self.gpu_kernel, "simulation.gpu_kernel")
        if self.p_mean is not None and finite_numbers(self.p_mean, "simulation.p_mean", "a number").ndim:
            raise InputError("simulation.p_mean", self.p_mean, "a number")
        named, metric = [*(self.metrics or []), *self.runs], METRICS.get("p_mean_regret")
        if self.p_mean is None and "p_mean_regret" in named and metric is not None and not is_users(metric):
            raise InputError("simulation.p_mean", None, "given for p_mean_regret, as its exponent (0 is Nash regret)")
        if self.pulls_mean is not None:
            boolean(self.pulls_mean, "simulation.pulls_mean")


def _as_names(metrics: object) -> object:
    """Metrics that are given as classes or objects of `jb.Metric`, by name."""
    if not isinstance(metrics, list):
        return metrics
    own = (one if isinstance(one, type) else type(one) for one in metrics)
    return [kind.name if issubclass(kind, Metric) else one for one, kind in zip(metrics, own, strict=True)]


def check_names(names: object, key: str) -> None:
    """Raise an error unless these are names of metrics, in a list.

    Raises:
        InputError: naming the key.
    """
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        example = names if isinstance(names, str) and names.isidentifier() and len(names) < 40 else "regret"
        raise InputError(key, names, f'a list of names, such as ["{example}"]')


_ROUNDING = 1e-14  # relative


def short(value: object) -> str:
    """A value of a grid, as labels show it."""
    try:
        return _short(value)
    except (ValueError, OverflowError):  # a whole number of hundreds of digits
        return short_repr(value, 40)


def _short(value: object) -> str:
    if isinstance(value, Mapping):
        text = " ".join(_short(part) if name == "kind" else f"{name}={_short(part)}" for name, part in value.items())
        return text if "kind" in value else f"{{{text}}}"
    return _short_float(value) if isinstance(value, float) else str(value)


@functools.lru_cache(maxsize=1024)
def _short_float(value: float) -> str:
    rounded = f"{value:.6g}"  # 0.3 for 0.30000000000000004
    return rounded if math.isclose(float(rounded), value, rel_tol=_ROUNDING) else repr(float(value))
