"""`jaxbandit run` and `jaxbandit resume`."""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import tomli_w

from jaxbandit.cli import carrying_out
from jaxbandit.cli.add import add
from jaxbandit.cli.imports import import_files, imports_of_run
from jaxbandit.cli.preparation import check_writable, default_out, prepare_machine
from jaxbandit.core.errors import InputError
from jaxbandit.core.files.output_names import RESULTS, is_output
from jaxbandit.core.files.streams import print_error, print_lines
from jaxbandit.engine.host import checkpoint, distributed
from jaxbandit.experiments.configs import config as configs

if TYPE_CHECKING:
    from jaxbandit.engine.result import SimulationResult
    from jaxbandit.experiments.configs.grid import Table

# Modules that import xarray, pandas or matplotlib are imported in functions, after bad input is refused.


def run_command(parsed: argparse.Namespace) -> int:
    """Simulate the policies of a config, and write the results."""
    config = configs.load(parsed.config, parsed.set)
    if parsed.until is not None:
        configs.table(config, "simulation")  # refuses what is not a table
        config["simulation"]["until"] = parsed.until
    out = parsed.out or default_out(parsed.config)
    if parsed.add:
        return add(config, out, parsed, parsed.imports, {})
    return _simulate(config, out, parsed, parsed.imports, {"force": parsed.force})


def resume_command(parsed: argparse.Namespace) -> int:
    """Continue an interrupted run with the config that it keeps."""
    out = parsed.out
    try:
        if (out / RESULTS).is_file() and not (out / checkpoint.FOLDER).exists():
            _check_readable(out)
            print_lines(f"nothing to resume: {out}/{RESULTS} is complete")
            return 0
        about = checkpoint.unfinished(out)
    except OSError as error:
        raise InputError("DIR", str(out), f"a folder that can be read ({error.strerror})") from None
    if about.get("command") == "tune":
        words = (
            "must hold a run that `jaxbandit run` began; this is an unfinished tuning: repeat the command or the call "
        )
        raise InputError("DIR", str(out), words + "that began it, with the same folder")
    for name, here in carrying_out.versions().items():
        if name not in about:
            words = "must hold a run that `jaxbandit run` began; `jb.simulate` began this one and can resume it"
            raise InputError("DIR", str(out), words)
        if about[name] != here:
            words = f"must hold a run of the installed {name} {here}; resume this one with version {about[name]}"
            raise InputError("DIR", str(out), f"{words}, or run its config with another --out")
    try:
        config = tomllib.loads(about["config"])
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
        raise InputError("DIR", str(out), "must hold an unfinished run with its config; this one has none") from None
    imports = imports_of_run(about.get("imports"), parsed.imports)
    if "add" in about:
        return add(config, out, parsed, imports, about)
    return _simulate(config, out, parsed, imports, about)


def _check_readable(out: Path) -> None:
    """Refuse a folder whose `results.nc` is damaged.

    Raises:
        InputError: naming the folder.
    """
    from jaxbandit.experiments.output.previous_run import read_previous

    found = read_previous(out)
    if found is None or found.config is None:
        words = f"must hold an unfinished run or results; its {RESULTS} cannot be read"
        raise InputError("DIR", str(out), f"{words}, and `jaxbandit run CONFIG --force` makes it anew")


def _simulate(
    config: Table, out: Path, parsed: argparse.Namespace, files: Sequence[Path], begun: Mapping[str, object]
) -> int:
    """Run a config and write its output directory; the common part of `run` and `resume`.

    Args:
        begun: what the run's progress holds of its arguments.
    """
    outputs = carrying_out.outputs_of(parsed, begun)
    with carrying_out.views_beside(parsed, outputs, files) as begin:
        force = begun.get("force") is True
        prepare_machine(parsed)
        with distributed.together():
            imports = import_files(files)
            plan = configs.make_plan(config)
            check_writable(out, is_output)
            from jaxbandit.experiments.output import previous_run

            previous_run.check_replaceable(out, config, plan, force)
            before = previous_run.stamp(out)

        def write(result: SimulationResult) -> list[str]:
            results = carrying_out.simulated_dataset(plan, result, config, imports)
            table, files = carrying_out.write_outputs(results, out, begin)
            return [table, carrying_out.speed_line(results), files]

        def is_finished(simulated: bool) -> bool:
            """Whether another process has finished the run, and removed its progress, while this one was at work.

            Once this process has simulated, only another process can have removed the progress.
            """
            return not checkpoint.begun(out) and previous_run.is_finished(out, config, () if simulated else before)

        forced = {"force": True} if force else {}
        about = carrying_out.resume_table(tomli_w.dumps(config), imports, **forced, **carrying_out.left_out(outputs))
        result = carrying_out.carry_out(plan, out, about, write, is_finished)
        if result is not None and result.short is not None:
            print_error(result.short)
            return 1
        return 0
