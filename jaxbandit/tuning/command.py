"""`jaxbandit tune`: from a config with a table `[tuning]` to a tuned config, a trajectory and a figure."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import re
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from jaxbandit.core.errors import InputError, WriteError, unknown_key, unknown_name
from jaxbandit.core.files.output_names import HEX, is_temporary, remove_files, unique_name
from jaxbandit.core.provenance import version
from jaxbandit.engine.host.checkpoint import forget
from jaxbandit.engine.plan import Plan, make_plan
from jaxbandit.engine.settings import Configuration
from jaxbandit.environment.problem import Problem
from jaxbandit.experiments import dataset
from jaxbandit.experiments.configs import config as configs
from jaxbandit.experiments.configs.description import policy_table
from jaxbandit.experiments.configs.grid import expanded
from jaxbandit.experiments.output.previous_run import read_previous
from jaxbandit.tuning.tune import make_run, tune
from jaxbandit.tuning.tuned import Tuned

_OPTIONS = ("steps", "final_seeds", "temperature", "width", "learning_rate")
KEYS = ("policy", "parameters", "objective", "estimator", "horizon", "seeds", *_OPTIONS)
TRAJECTORY = "tuning.nc"
FILES = ("tuned.toml", TRAJECTORY, "tuning.png", "tuning.pdf")
_STAGING = ".tuning-"  # the start of a staging folder's name
_ABANDONED = 86_400.0  # seconds since the last change of a staging folder after which no live process is using it


@dataclass(frozen=True)
class TuningTask:
    """The tuning that a config describes, checked except for what `tune` checks.

    Attributes:
        config: the whole config.
        plan: the simulation that the other tables of the config describe.
        configuration: the policy to tune.
        arguments: the arguments of `tune`, by name.
    """

    config: Mapping[str, Any]
    plan: Plan
    configuration: Configuration
    arguments: dict[str, Any]

    @property
    def problem(self) -> Problem:
        """The problem on which the policy is tuned; of a grid, that of the policy's label."""
        return self.configuration.problem or self.plan.problem

    def run(self, out: Path, progress: bool = False) -> Tuned:
        """Tune, or go on with a tuning that was interrupted.

        Args:
            out: the folder whose subfolder `unfinished` keeps what is simulated.
            progress: show a progress bar.

        Raises:
            InputError: naming `tuning.<key>`.
        """
        given = inspect.signature(tune).bind(self.problem, self.configuration.policy, **self.arguments)
        given.apply_defaults()
        arguments = {name: value for name, value in given.arguments.items() if name not in ("keep", "progress")}
        try:
            return make_run(**arguments).carry_out(out, shown=progress)
        except InputError as error:
            key = error.key.removeprefix("simulation.")
            of_tuning = key.split(".")[0] in (KEYS if key == error.key else self.config["tuning"])
            raise error.with_key(f"tuning.{key}" if of_tuning else error.key) from None

    def tuned_config(self, tuned: Tuned) -> dict[str, Any]:
        """The config without `[tuning]` and with the tuned policy as the last one, ready for `jaxbandit run`.

        Of a grid over the problem it has the problem on which the policy was tuned.
        """
        others = {name: value for name, value in self.config.items() if name not in ("tuning", "grid")}
        point = self.configuration.point
        problem = next(
            table
            for at, table in expanded(self.config["problem"], self.config.get("grid"))
            if all(point[name] == value for name, value in at.items())
        )
        taken = {one.label for one in self.plan.configurations}
        numbers = itertools.chain([""], (f" {number}" for number in itertools.count(2)))
        labels = (f"{self.configuration.label}, tuned{number}" for number in numbers)
        label = next(label for label in labels if label not in taken)
        tables = [*self.config["policies"], {"label": label, **policy_table(tuned.policy)}]
        return {**others, "problem": problem, "policies": tables}


def make_task(config: Mapping[str, Any]) -> TuningTask:
    """The tuning that the table `[tuning]` of a config describes.

    The keys are the arguments of `tune`, with `horizon` and `key` of `[simulation]` as defaults, and `policy`: the
    label of the policy, where the config has several.

    Raises:
        InputError: naming the key.
    """
    given = configs.table(config, "tuning")
    for name in given:
        if name not in KEYS:
            raise unknown_key(f"tuning.{name}", given[name], KEYS)
    plan = make_plan(*configs.read(config), warns=False)  # the tuning gives the warnings itself
    configurations = {configuration.label: configuration for configuration in plan.configurations}
    label = given.get("policy", next(iter(configurations)) if len(configurations) == 1 else None)
    if not isinstance(label, str) or label not in configurations:
        raise unknown_name("tuning.policy", label, configurations)
    if "parameters" not in given:
        words = 'a list of names, such as ["penalties"], or names with starting values, such as { eta = 1.0 }'
        raise InputError("tuning.parameters", None, words)
    settings = plan.settings
    if settings.ties != "lowest":
        raise InputError(
            "simulation.ties", settings.ties, '"lowest" in the config of a tuning, as with --set simulation.ties=lowest'
        )
    arguments = {"horizon": settings.horizon, "key": settings.key, **{n: v for n, v in given.items() if n != "policy"}}
    return TuningTask(config, plan, configurations[label], arguments)


def check_replaceable(task: TuningTask, out: Path, force: bool) -> None:
    """Refuse to replace the tuning of another config, or files that no tuning wrote, unless `force` is set.

    Raises:
        InputError: the tuning in the folder is of another config, or cannot be read, or is not there.
    """
    if force:
        return
    found = read_previous(out, TRAJECTORY)
    if found is None:
        there = [name for name in FILES if (out / name).exists()]
        if not there:
            return
        held = f"a {there[0]} that no tuning wrote, since there is no {TRAJECTORY}"
    elif found.config == tomllib.loads(tomli_w.dumps(dict(task.config))):
        return
    else:
        held = "the tuning of another config" if found.config is not None else f"a {TRAJECTORY} that cannot be read"
    raise InputError("--out", str(out), f"a folder without {held}; `--force` replaces {', '.join(FILES)}")


def summary(task: TuningTask, tuned: Tuned) -> str:
    """The table of the start, the best common value and the result, with the warnings."""
    label = task.configuration.label
    return f"{tuned}" if label == tuned.policy.name else f"{label}:\n{tuned}"


def write(task: TuningTask, tuned: Tuned, out: Path) -> list[Path]:
    """Write the tuned config, the trajectory and its figure into a folder; each file is written atomically.

    All files are made in a staging folder inside `out` and then moved, so a disk that is full leaves the old files as
    they were. A staging folder that a killed process left is removed by a later call, a day after its last change:
    until then it may belong to a process that is still writing.

    Returns:
        The files.

    Raises:
        WriteError: a file cannot be written.
    """
    from jaxbandit.tuning import plot  # late: matplotlib is slow to import

    trajectory = tuned.trajectory.assign_attrs(
        config=tomli_w.dumps(dict(task.config)),
        jaxbandit_version=version(),
        policy=task.configuration.label,
        step=tuned.step,
        converged=int(tuned.converged),
        warnings="\n".join(tuned.warnings),
    )
    try:
        out.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(out)
        staging = out / unique_name(_STAGING)
        staging.mkdir()
        try:
            (staging / "tuned.toml").write_text(tomli_w.dumps(task.tuned_config(tuned)))
            dataset.write(trajectory, staging / TRAJECTORY)
            plot.draw(tuned.trajectory, tuned.points[-1], tuned.goal, staging)
            written = [(staging / name).replace(out / name) for name in FILES]
        finally:
            remove_files(staging, _is_ours)
    except OSError as error:
        raise WriteError(out, error) from None
    forget(out)  # the progress, which is kept until the files are there
    return written


def _remove_abandoned(out: Path) -> None:
    """Remove the staging folders that killed processes left."""
    for folder in list(out.iterdir()):
        if re.fullmatch(re.escape(_STAGING) + HEX, folder.name):
            with contextlib.suppress(OSError):  # removed by another process meanwhile
                if time.time() - folder.lstat().st_mtime > _ABANDONED:
                    remove_files(folder, _is_ours)


def _is_ours(name: str) -> bool:
    """Whether `write` makes a file of this name in a staging folder."""
    return name in FILES or is_temporary(name, FILES.__contains__)
