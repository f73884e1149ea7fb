"""`jaxbandit tune`: a config with a table [tuning] to a tuned config, a trajectory and a figure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
import xarray as xr

from jaxbandit.core.errors import InputError, WriteError, unknown_key, unknown_name
from jaxbandit.core.files.output_names import HEX, remove_files, unique_name
from jaxbandit.core.provenance import version
from jaxbandit.engine.plan import Plan
from jaxbandit.engine.settings import Configuration
from jaxbandit.experiments.configs import config as configs
from jaxbandit.experiments.configs.description import policy_table
from jaxbandit.experiments.dataset import write
from jaxbandit.tuning.tune import Tuned, tune

_HOW = ("steps", "temperature", "width", "learning_rate", "constraint", "common", "check")
KEYS = ("policy", "parameters", "objective", "estimator", "horizon", "seeds", *_HOW)
FILES = ("tuned.toml", "tuning.nc", "tuning.png", "tuning.pdf")
_STAGING = re.compile(rf"\.tuning-{HEX}")  # where they are made
_PARTIAL = re.compile(r"\.tuning\.nc\.\d+")  # of `results.write`


@dataclass(frozen=True)
class Task:
    """What a config asks to tune, checked but for what `tune` checks.

    Attributes:
        config: the config in full.
        simulation: of its other tables.
        entry: the policy to tune.
        arguments: of `tune`, by name.
    """

    config: Mapping[str, Any]
    plan: Plan
    configuration: Configuration
    arguments: dict[str, Any]

    def run(self, progress: bool = False) -> Tuned:
        """Tune.

        Raises:
            InputError: naming `tuning.<key>`.
        """
        try:
            return tune(self.plan.problem, self.configuration.policy, progress=progress, **self.arguments)
        except InputError as error:
            key = error.key.removeprefix("simulation.")
            named = key.split(".")[0] in (KEYS if key == error.key else self.config["tuning"])
            raise error.with_key(f"tuning.{key}" if named else error.key) from None

    def tuned(self, made: Tuned) -> dict[str, Any]:
        """The config with the tuned policy behind the others, ready for `jaxbandit run`."""
        plain = {name: value for name, value in self.config.items() if name != "tuning"}
        label = f"{self.configuration.label}, tuned"
        return {**plain, "policies": [*self.config["policies"], {"label": label, **policy_table(made.policy)}]}


def task(config: Mapping[str, Any]) -> Task:
    """What the table [tuning] of a config asks for.

    Its keys are the arguments of `tune`, `horizon` and `key` from [simulation] by default; beside them `policy`, the
    label of the policy where there are several, and `learning_rate`, Adam's first step.

    Raises:
        InputError: naming the key at fault.
    """
    given = configs.table(config, "tuning")
    for name in given:
        if name not in KEYS:
            raise unknown_key(f"tuning.{name}", given[name], KEYS)
    plan = configs.make_plan(config)
    configurations = {configuration.label: configuration for configuration in plan.configurations}
    label = given.get("policy", next(iter(configurations)) if len(configurations) == 1 else None)
    if not isinstance(label, str) or label not in configurations:
        raise unknown_name("tuning.policy", label, configurations)
    if "parameters" not in given:
        raise InputError("tuning.parameters", None, 'names, as ["penalties"], or a table of names and starts')
    settings = plan.settings
    arguments = {"horizon": settings.horizon, "key": settings.key, **{n: v for n, v in given.items() if n != "policy"}}
    return Task(config, plan, configurations[label], arguments)


def summary(task: Task, made: Tuned) -> str:
    """The parameters and what the policy itself came to on the tuning's seeds, before and after."""
    lines = [
        f"{task.configuration.label}, {len(made.trajectory.step) - 1} steps; "
        "the policy itself, simulated on the same seeds:",
    ]
    for words, step in (("before", 0), (f"after (step {made.step})", made.step)):
        at = made.trajectory.isel(step=step)
        parts = [f"{name} {float(at[name]):.6g}" for name in at if str(name).startswith("hard_")]
        lines.append(f"  {words}: " + ", ".join(part.removeprefix("hard_").replace("_", " ") for part in parts))
    lines += [f"  {name} = {np.round(value, 6).tolist()}" for name, value in made.values.items()]
    return "\n".join(lines)


def save(task: Task, made: Tuned, out: Path) -> list[Path]:
    """Write the tuned config, the trajectory and its figure into a folder, each whole or not at all.

    Raises:
        WriteError: one cannot be written.
    """
    from jaxbandit.tuning import plot

    trajectory: xr.Dataset = made.trajectory.assign_attrs(
        config=tomli_w.dumps(dict(task.config)),
        jaxbandit_version=version(),
        policy=task.configuration.label,
        step=made.step,
    )
    try:
        out.mkdir(parents=True, exist_ok=True)
        for left in filter(_STAGING.fullmatch, [path.name for path in out.iterdir()]):  # of a call that was killed
            remove_files(out / left, _made)
        there = out / unique_name(".tuning-")
        there.mkdir()
        try:
            (there / "tuned.toml").write_text(tomli_w.dumps(task.tuned(made)))
            write(trajectory, there / "tuning.nc")
            plot.draw(made.trajectory, there)
            return [(there / name).replace(out / name) for name in FILES]
        finally:
            remove_files(there, _made)
    except OSError as error:
        raise WriteError(out, error) from None


def _made(name: str) -> bool:
    """Whether `save` makes a file of this name."""
    return name in FILES or _PARTIAL.fullmatch(name) is not None
