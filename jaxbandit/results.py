"""Results as a labelled dataset: the same for Python and for `results.nc`."""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
import numpy as np
import tomli_w
import xarray as xr

from .metrics import METRICS
from .policy import Policy
from .simulate import Outcome, Simulation


def version() -> str:
    """The installed version of jaxbandit."""
    return metadata.version("jaxbandit")


def dataset(simulation: Simulation, outcome: Outcome, config: dict[str, Any]) -> xr.Dataset:
    """The results of a simulation.

    Dimensions `policy` (labels; beside it `family`, the label that a grid's points share, and `kind`, the policy's
    name, with its base's where that is not ucb1), `instance`, `seed`, `arm`, `round` (recorded rounds). Variables:

    - `pulls(policy, instance, seed, arm)`: N_k(T), int32;
    - for each metric `<metric>(policy, instance, round)`, the mean over seeds, `<metric>_stderr`, its standard
      error (NaN for one seed), and `<metric>_final(policy, instance, seed)`, its value at T; float64;
    - `max_deficit_ever(policy, instance, seed)`: the running maximum of `max_deficit` over every round;
    - `phase_rounds(policy, instance, seed, phase)`: rounds spent in each phase, int32, where a policy has phases; -1
      for those that it, or another policy, has not; `phase_name(policy, phase)` says what they are;
    - `means(instance, arm)`, and `fractions`, `penalties`, `opportunities` (f(mu)) likewise where the problem has them.

    Args:
        config: the config in full, kept as TOML in the attribute `config`.
    """
    problem, setting = simulation.problem, simulation.setting
    tallies = outcome.tallies

    def stack(pick: Any) -> np.ndarray:
        return np.stack([pick(tally) for tally in tallies])

    runs = ("policy", "instance", "seed")
    data: dict[str, Any] = {
        "pulls": (
            (*runs, "arm"),
            stack(lambda t: t.pulls),
            {"long_name": "selections of each arm by round T"},
        )
    }
    for name in outcome.metrics:
        about = {"long_name": METRICS[name].label, "formula": METRICS[name].summary}
        curve = ("policy", "instance", "round")
        data[name] = (curve, stack(lambda t, n=name: t.curves[n].mean().T), about)
        error = {"long_name": f"standard error of {METRICS[name].label}"}
        data[f"{name}_stderr"] = (curve, stack(lambda t, n=name: t.curves[n].stderr().T), error)
        data[f"{name}_final"] = (runs, stack(lambda t, n=name: t.finals[n]), about)
    if "max_deficit" in outcome.metrics:
        ever = {"long_name": "largest deficit over every round (rounds)"}
        data["max_deficit_ever"] = (runs, stack(lambda t: t.deepest), ever)
    known = {name: getattr(problem, name) for name in ("means", "fractions", "penalties")}
    known["opportunities"] = None if problem.opportunity is None else problem.opportunities()
    for name, values in known.items():
        if values is not None:
            rows = np.broadcast_to(values.astype(np.float64), problem.means.shape).T
            data[name] = (("instance", "arm"), rows)
    coordinates: dict[str, Any] = {}
    most = max(len(policy.phases) for policy in simulation.prepared)
    if most:
        about = {"long_name": "rounds spent in each phase", "absent": "-1: the policy has no such phase"}
        spent = np.full((len(tallies), *tallies[0].pulls.shape[:2], most), -1, np.int32)
        names = np.full((len(tallies), most), "", object)
        for row, (policy, tally) in enumerate(zip(simulation.prepared, tallies, strict=True)):
            if tally.phases is not None:
                spent[row, ..., : len(policy.phases)] = tally.phases
                names[row, : len(policy.phases)] = policy.phases
        data["phase_rounds"] = ((*runs, "phase"), spent, about)
        coordinates = {"phase": np.arange(1, most + 1), "phase_name": (("policy", "phase"), names.astype(str))}
    rounds = len(simulation.entries) * problem.instances * setting.seeds * setting.horizon
    return xr.Dataset(
        data,
        coords={
            "policy": [entry.label for entry in simulation.entries],
            "family": ("policy", [entry.family for entry in simulation.entries]),
            "kind": ("policy", [kind(entry.policy) for entry in simulation.entries]),
            "instance": np.arange(problem.instances),
            "seed": np.arange(setting.seeds),
            "arm": np.arange(problem.arms),
            "round": outcome.rounds,
            **coordinates,
        },
        attrs={
            "config": tomli_w.dumps(config),
            "plays": problem.plays,
            "jaxbandit_version": version(),
            "jax_version": jax.__version__,
            "device": device_name(),
            "compile_seconds": outcome.compile_seconds,
            "run_seconds": outcome.run_seconds,
            "rounds_per_second": rounds / outcome.run_seconds,
        },
    )


def kind(policy: Policy) -> str:
    """A policy's name, with that of its base where it is not ucb1: what figures choose colours by."""
    names = [part.name for part in policy.components()]
    return "/".join(names[:1] + [name for name in names[1:] if name != "ucb1"])


def device_name() -> str:
    """The kind and number of the devices JAX runs on."""
    devices = jax.devices()
    return f"{len(devices)} x {devices[0].device_kind} ({devices[0].platform})"


def write(results: xr.Dataset, path: Path) -> None:
    """Write `results.nc` (netCDF-4) whole or not at all: under another name first, then renamed."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    compressed = {name: {"zlib": True, "complevel": 1} for name in results.data_vars if results[name].size > 1024}
    try:
        results.to_netcdf(partial, engine="h5netcdf", format="NETCDF4", encoding=compressed)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
