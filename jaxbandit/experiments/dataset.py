"""Results as a labelled dataset: the same for Python and for `results.nc`."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path
from typing import Any

import jax
import numpy as np
import tomli_w
import xarray as xr

from jaxbandit.core.errors import WriteError
from jaxbandit.core.provenance import device_name, version
from jaxbandit.engine.plan import Plan
from jaxbandit.engine.result import SimulationResult
from jaxbandit.engine.settings import short
from jaxbandit.environment.ground_truth import ground_truth_of
from jaxbandit.environment.problem import Problem
from jaxbandit.metrics.block_statistics import BlockStatistics
from jaxbandit.metrics.definitions import METRICS
from jaxbandit.policies.base import kind_of as kind


def dataset(plan: Plan, result: SimulationResult, config: dict[str, Any]) -> xr.Dataset:
    """The results of a simulation.

    Dimensions `policy` (labels; beside it `family`, the label that a grid's points share, and `kind`, the policy's
    name, with its base's where that is not ucb1), `instance`, `seed`, `arm`, `round` (recorded rounds). Variables:

    - `pulls(policy, instance, seed, arm)`: N_k(T), int32;
    - for each metric `<metric>(policy, instance, round)`, the mean over seeds, `<metric>_stderr`, its standard
      error (NaN for one seed), and `<metric>_final(policy, instance, seed)`, its value at T; float64;
    - `max_deficit_ever(policy, instance, seed)`: the running maximum of `max_deficit` over every round;
    - `phase_rounds(policy, instance, seed, phase)`: rounds spent in each phase, int32, where a policy has phases; -1
      for those that it, or another policy, has not; `phase_name(policy, phase)` says what they are;
    - `means(instance, arm)`, and `fractions`, `penalties`, `opportunities` (f(mu)) likewise where the problem has them;
      `(policy, instance, arm)` where configurations differ in them;
    - along `policy`, a coordinate for each parameter that a grid varies, by its name (`alpha`; of the problem by its
      key, `problem.penalties`), its config key in the attribute `key`: numbers, NaN for policies without it, or words.

    Args:
        config: the config in full, kept as TOML in the attribute `config`.
    """
    problem, settings = plan.problem, plan.settings
    runs = ("policy", "instance", "seed")
    data: dict[str, Any] = {
        "pulls": ((*runs, "arm"), result.each(lambda t: t.pulls), {"long_name": "selections of each arm by round T"})
    }
    for name in result.metrics:
        about = {"long_name": METRICS[name].label, "formula": METRICS[name].summary}
        curve = ("policy", "instance", "round")
        data[name] = (curve, result.each(lambda t, n=name: t.curves[n].mean(result.seeds), axis=1), about)  # type: ignore[misc]
        error = {"long_name": f"standard error of {METRICS[name].label}"}
        spread = result.each(lambda t, n=name: t.curves[n].stderr(result.seeds), axis=1)  # type: ignore[misc]
        data[f"{name}_stderr"] = (curve, spread, error)
        data[f"{name}_final"] = (runs, result.each(lambda t, n=name: t.finals[n]), about)  # type: ignore[misc]
    if "max_deficit" in result.metrics:
        ever = {"long_name": "largest deficit over every round (rounds)"}
        data["max_deficit_ever"] = (runs, result.each(_max_deficit_ever), ever)
    data |= _ground_truth(plan)
    coordinates: dict[str, Any] = {}
    phases, named = _phases(plan, result)
    if phases is not None:
        data["phase_rounds"] = ((*runs, "phase"), phases, {**_SPENT})
        coordinates = {"phase": np.arange(1, phases.shape[-1] + 1), "phase_name": (("policy", "phase"), named)}
    coordinates |= _points(plan, data)
    rounds = len(plan.configurations) * problem.instances * result.seeds * settings.horizon
    plays = {own.plays for own in plan.problems}
    return xr.Dataset(
        data,
        coords={
            "policy": [configuration.label for configuration in plan.configurations],
            "family": ("policy", [configuration.family for configuration in plan.configurations]),
            "kind": ("policy", [kind(configuration.policy) for configuration in plan.configurations]),
            "instance": np.arange(problem.instances),
            "seed": np.arange(result.seeds),
            "arm": np.arange(problem.arms),
            "round": result.rounds,
            **coordinates,
        },
        attrs={
            "config": tomli_w.dumps(config),
            **({"plays": problem.plays} if len(plays) == 1 else {}),  # else along `policy`, `problem.plays`
            "jaxbandit_version": version(),
            "jax_version": jax.__version__,
            "device": device_name(),
            "compile_seconds": result.compile_seconds,
            "run_seconds": result.run_seconds,
            "rounds_per_second": rounds / result.run_seconds,
        },
    )


_SPENT = {"long_name": "rounds spent in each phase", "absent": "-1: the policy has no such phase"}


def _max_deficit_ever(statistics: BlockStatistics) -> np.ndarray:
    assert statistics.max_deficit_ever is not None
    return statistics.max_deficit_ever


def _ground_truth(plan: Plan) -> dict[str, Any]:
    """What the problems hold, once where it is the same for all."""
    problems = {id(problem): problem for problem in plan.problems}
    ground_truth = {which: ground_truth_of(problem) for which, problem in problems.items()}
    data: dict[str, Any] = {}
    for name in ("means", "fractions", "penalties", "opportunities"):
        rows = {which: _rows(getattr(one, name), plan.problem) for which, one in ground_truth.items()}
        first = rows[id(plan.problems[0])]
        if first is None:
            continue
        if all(np.array_equal(row, first) for row in rows.values()):
            data[name] = (("instance", "arm"), first)
        else:
            every = np.stack([rows[id(problem)] for problem in plan.problems])
            data[name] = (("policy", "instance", "arm"), every)
    return data


def _rows(values: np.ndarray | None, problem: Problem) -> Any:
    return None if values is None else np.broadcast_to(values.astype(np.float64), problem.means.shape).T


def _phases(plan: Plan, result: SimulationResult) -> tuple[np.ndarray | None, np.ndarray]:
    """Rounds in phases, int32 `[policy, instance, seed, phase]`, and the phases' names; None where there are none."""
    named = [policy.phases for policy in plan.prepared]
    most = max(map(len, named))

    def filled(statistics: BlockStatistics) -> np.ndarray:
        spent = np.full((*statistics.pulls.shape[:2], most), -1, np.int32)
        if statistics.phases is not None:
            spent[..., : statistics.result_shape.phases] = statistics.phases
        return spent

    names = np.array([[*names, *[""] * (most - len(names))] for names in named], dtype=str)
    return (result.each(filled) if most else None), names


def _points(plan: Plan, data: dict[str, Any]) -> dict[str, Any]:
    """The coordinates of grids; under the whole key where a variable has the parameter's name."""
    points = [configuration.point for configuration in plan.configurations]
    keys = dict.fromkeys(key for point in points for key in point)
    taken = {*data, "policy", "family", "kind", "instance", "seed", "arm", "round", "phase", "phase_name"}
    made: dict[str, Any] = {}
    for key in keys:
        values = [point.get(key) for point in points]
        name = key if key.removeprefix("policies.") in taken else key.removeprefix("policies.")
        about = {"key": key}
        if all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values):
            made[name] = ("policy", np.array([np.nan if value is None else value for value in values], float), about)
        else:
            made[name] = ("policy", ["" if value is None else short(value) for value in values], about)
    return made


def write(results: xr.Dataset, path: Path) -> str:
    """Write `results.nc` (netCDF-4) whole or not at all: under another name first, then renamed.

    It is made in memory, so that a disk that fills up meets a plain write and not the library in the middle of a file.

    Returns:
        The SHA-256 of the file.

    Raises:
        WriteError: it cannot be written; a file that was there before still is.
    """
    compressed = {name: {"zlib": True, "complevel": 1} for name in results.data_vars if results[name].size > 1024}
    made = io.BytesIO()
    results.to_netcdf(made, engine="h5netcdf", format="NETCDF4", encoding=compressed)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with partial.open("wb") as file:
                file.write(made.getbuffer())
                os.fsync(file.fileno())  # on the disk before anything that it was made from goes
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise WriteError(path, error) from None
    return hashlib.sha256(made.getbuffer()).hexdigest()
