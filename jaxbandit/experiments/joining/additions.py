"""What a config has and finished results lack: policies, or seeds. The simulations that add them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import xarray as xr

from jaxbandit.core.errors import InputError
from jaxbandit.engine.batch.blocks import recorded_rounds
from jaxbandit.engine.plan import Plan, make_plan, metrics_and_runs
from jaxbandit.engine.settings import SimulationSettings
from jaxbandit.experiments.configs import config as configs
from jaxbandit.experiments.configs.grid import Table
from jaxbandit.experiments.dataset import provenance
from jaxbandit.experiments.joining import joined_configs, programs
from jaxbandit.experiments.joining.joined_configs import differing
from jaxbandit.experiments.joining.runs import Runs, read_runs


@dataclass(frozen=True)
class Addition:
    """A simulation of runs that results lack.

    Attributes:
        config: a config with these runs.
        plan: the plan of the simulation.
    """

    config: Table
    plan: Plan

    @property
    def labels(self) -> list[str]:
        """The labels of the simulated policies."""
        return [one.label for one in self.plan.configurations]

    @property
    def text(self) -> str:
        """What is added, in words."""
        settings = self.plan.settings
        count = len(self.plan.configurations)
        policies = f"{count} policies" if count > 1 else f"policy {self.labels[0]!r}"
        return f"runs of {policies}, seeds {settings.first_seed} to {settings.first_seed + settings.seeds - 1}"

    def table(self) -> Table:
        """The runs, as `is_in` takes them."""
        settings = self.plan.settings
        return {"policies": self.labels, "first_seed": settings.first_seed, "seeds": settings.seeds}

    def is_in(self, results: xr.Dataset) -> bool:
        """Whether results have these runs."""
        return is_in(results, self.table())


def is_in(results: xr.Dataset, runs: object) -> bool:
    """Whether results have the runs in the table of an `Addition`; False for anything else."""
    try:
        assert isinstance(runs, Mapping)
        seeds = range(runs["first_seed"], runs["first_seed"] + runs["seeds"])
        return set(runs["policies"]) <= {*results.policy.values} and set(seeds) <= {*results.seed.values.tolist()}
    except (AssertionError, KeyError, TypeError):
        return False


def next_addition(config: Mapping[str, object], results: xr.Dataset, out: Path) -> Addition | None:
    """The next simulation that adds to results what they lack of a config; None where they lack nothing.

    Policies come first, with the seeds that the results have. Seeds come next, for all policies of the results.

    Args:
        config: the config.
        results: the results in the folder `out`.
        out: their folder, for errors.

    Raises:
        InputError: the config is not valid, or its problem, key, horizon or what it records is not that of the results.
    """
    problem, configurations, settings = configs.read(config)
    have = _runs(results, out)
    recorded = have.configs[0]
    metrics, runs = metrics_and_runs(settings, problem)
    try:
        joined_configs.check_same_problem(recorded, dict(config))
        _check_settings(dataclasses.replace(settings, metrics=metrics, runs=runs), have, recorded, out)
        joined_configs.check_same_policies([recorded], [dict(config)])
    except InputError as error:
        allowed = error.allowed.replace(joined_configs.OTHER, f"as in {out}")
        raise InputError(error.key, error.held, allowed) from None
    first, count = have.seeds[0][1], len(have.seeds)
    settings = dataclasses.replace(settings, metrics=metrics, pulls_mean="pulls_mean" in results)
    labels = set(have.labels)
    new = [one for one in configurations if one.label not in labels]
    if new:
        given = joined_configs.with_seeds(dict(config), first, count)
        return Addition(given, make_plan(problem, new, _with_seeds(settings, first, count)))
    if settings.seeds == count:
        return None
    given = joined_configs.with_seeds(recorded, first + count, settings.seeds - count)
    problem, configurations, _ = configs.read(given)
    own = [one for one in configurations if one.label in labels]
    plan = make_plan(problem, own, _with_seeds(settings, first + count, settings.seeds - count))
    programs.check_same(results.attrs, provenance(plan), have.metrics, metrics)
    return Addition(given, plan)


def _with_seeds(settings: SimulationSettings, first: int, count: int) -> SimulationSettings:
    return dataclasses.replace(settings, first_seed=first, seeds=count)


def _runs(results: xr.Dataset, out: Path) -> Runs:
    """The runs of the results in a folder, which one config gives."""
    try:
        have = read_runs(results, "--out")
    except InputError as error:
        raise InputError("--out", str(out), f"must hold results of `jaxbandit run` ({error})") from None
    if len(have.configs) > 1:
        words = f"must hold the runs of one config; its results are joined from {len(have.configs)}"
        raise InputError("--out", str(out), words)
    return have


def _check_settings(settings: SimulationSettings, have: Runs, recorded: Table, out: Path) -> None:
    """Raise an error where the seeds, the key or what is recorded do not fit the results."""
    if settings.until is not None:
        raise InputError("simulation.until", settings.until, "cannot be used with --add; give simulation.seeds instead")
    own = SimulationSettings(**recorded["simulation"])
    if settings.key != own.key:
        raise differing("simulation.key", settings.key, own.key)
    rounds, recorded_before = recorded_rounds(settings.horizon, settings.record), have.data["round"].values
    if rounds.tolist() != recorded_before.tolist():
        raise differing("simulation.record", settings.record, own.record)
    for name in ("metrics", "runs"):
        if sorted(getattr(settings, name)) != sorted(getattr(own, name)):
            raise differing(f"simulation.{name}", getattr(settings, name), getattr(own, name))
    for name in ("first_seed", "trace", "pulls_mean"):
        if getattr(settings, name) != getattr(own, name):
            raise differing(f"simulation.{name}", getattr(settings, name), getattr(own, name))
    if settings.seeds < own.seeds:
        words = f"a whole number >= {own.seeds}, the number of seeds in {out}; every policy gets the same seeds"
        raise InputError("simulation.seeds", settings.seeds, words)
