"""`jaxbandit run` and `jaxbandit resume`."""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import tomli_w

from jaxbandit.cli.preparation import check_writable, default_out, prepare_machine
from jaxbandit.core.errors import InputError, ReturnedError, WriteError
from jaxbandit.core.files.output_names import RESULTS, TABLE, is_output
from jaxbandit.core.files.streams import print_error, print_lines
from jaxbandit.core.provenance import version
from jaxbandit.engine import simulation
from jaxbandit.engine.host import checkpoint, distributed
from jaxbandit.experiments.configs import config as configs

if TYPE_CHECKING:
    from jaxbandit.engine.plan import Plan
    from jaxbandit.engine.result import SimulationResult
    from jaxbandit.experiments.configs.grid import Table
    from jaxbandit.experiments.output.previous_run import Stamp

# Modules that import xarray, pandas or matplotlib are imported in functions, after bad input is refused.


def run_command(parsed: argparse.Namespace) -> int:
    """Simulate the policies of a config, and write the results."""
    config = configs.load(parsed.config, parsed.set)
    if parsed.until is not None:
        configs.table(config, "simulation")  # refuses what is not a table
        config["simulation"]["until"] = parsed.until
    return _simulate(config, parsed.out or default_out(parsed.config), parsed, parsed.force)


def resume_command(parsed: argparse.Namespace) -> int:
    """Continue an interrupted run with the config that it keeps."""
    out = parsed.out
    try:
        if (out / RESULTS).is_file() and not (out / checkpoint.FOLDER).exists():
            print_lines(f"nothing to resume: {out}/{RESULTS} is complete")
            return 0
        about = checkpoint.unfinished(out)
    except OSError as error:
        raise InputError("DIR", str(out), f"a folder that can be read ({error.strerror})") from None
    for name, here in _versions().items():
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
    return _simulate(config, out, parsed, about.get("force") is True)


def _versions() -> dict[str, str]:
    """The versions that a run can only be resumed with."""
    return {"jaxbandit": version(), "jax": jax.__version__}


def _simulate(config: Table, out: Path, parsed: argparse.Namespace, force: bool) -> int:
    """Run a config and write its output directory; the common part of `run` and `resume`."""
    prepare_machine(parsed)
    with distributed.together():
        plan = configs.make_plan(config)
        check_writable(out, is_output)
        from jaxbandit.experiments.output import previous_run

        previous_run.check_replaceable(out, config, plan, force)
        before = previous_run.stamp(out)
    if (need := plan.results_bytes()) > 1 << 30:
        print_error(f"note: results will take about {need / 2**30:.1f} GiB of memory")
    about = {"config": tomli_w.dumps(config), **_versions(), **({"force": True} if force else {})}
    lines = [f"another process has finished this run; its results are in {out}/"]
    try:
        result = simulation.run(plan, progress=sys.stderr.isatty(), keep=out, about=about)
        before = ()  # from here on only another process may have removed the progress of this run
        with distributed.together():
            if distributed.number() == 0 and not _finished_elsewhere(out, config, before):
                lines = _write_outputs(plan, result, config, out)
    except (KeyboardInterrupt, FloatingPointError, ReturnedError, WriteError, ConnectionError) as error:
        if isinstance(error, WriteError) and _finished_elsewhere(out, config, before):
            checkpoint.forget(out)  # blocks that this process has written since
            print_lines(*lines)
            return 0
        if checkpoint.kept(out):
            words = f"; `jaxbandit resume {out}` continues the run"
            if isinstance(error, FloatingPointError | ReturnedError):
                words = f" in {out / checkpoint.FOLDER}, but `jaxbandit resume` would end with the same error:"
            print_error(f"finished blocks are kept{words}")
        raise
    checkpoint.forget(out)
    if distributed.number() == 0:
        print_lines(*lines)
    if result.short is not None:
        print_error(result.short)
        return 1
    return 0


def _finished_elsewhere(out: Path, config: Mapping[str, object], before: Stamp) -> bool:
    """Whether another process has finished the run, and removed its progress, while this one was at work."""
    from jaxbandit.experiments.output import previous_run

    return not checkpoint.begun(out) and previous_run.is_finished(out, config, before)


def _write_outputs(plan: Plan, result: SimulationResult, config: Table, out: Path) -> list[str]:
    """Write the output directory of a run, and return the lines to print."""
    from jaxbandit.experiments import dataset, summary
    from jaxbandit.experiments.output import export

    results = dataset.dataset(plan, result, config)
    names = [path.name for path in export.write_outputs(results, out)]
    speed = results.attrs["rounds_per_second"] / 1e6
    return [
        summary.table(results, f"{out}/{TABLE}") if TABLE in names else summary.table(results),
        f"compiled in {result.compile_seconds:.1f} s, ran in {result.run_seconds:.1f} s: "
        f"{speed:.1f} million rounds per second on {results.attrs['device']}",
        f"wrote {', '.join(names)} to {out}/",
    ]
