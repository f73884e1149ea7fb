"""The command line: `jaxbandit run`, `resume`, `tune`, `reproduce` and `policies`."""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import textwrap
import tomllib
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import tomli_w

from jaxbandit.core.component import Component
from jaxbandit.core.errors import InputError, ReturnedError, WriteError
from jaxbandit.core.files import streams
from jaxbandit.core.files.output_names import RESULTS, TABLE, is_output
from jaxbandit.core.files.streams import print_error, print_lines
from jaxbandit.core.provenance import version
from jaxbandit.engine import simulation
from jaxbandit.engine.batch import memory, sharding
from jaxbandit.engine.host import checkpoint, distributed
from jaxbandit.experiments.configs import config as configs
from jaxbandit.papers import PAPERS, Sizes
from jaxbandit.policies.base import Alias, Policy

if TYPE_CHECKING:
    from jaxbandit.engine.plan import Plan
    from jaxbandit.engine.result import SimulationResult
    from jaxbandit.experiments.configs.grid import Table
    from jaxbandit.experiments.output.previous_run import Stamp

# Modules that import xarray, pandas, matplotlib or optax are imported in functions, after bad input is refused.

_SECTION = re.compile(r"\n\n(?:Source|Raises|Example):\s")  # of a docstring
_LONGEST_NAME = "n" * 200  # longer than the names of the files that are written

RUN = """\
Simulate the policies of a config, print a summary table, and write the results and figures to DIR.

Finished blocks of runs are saved in DIR/unfinished until DIR/results.nc is written. After an interruption
(Ctrl-C, a kill, a power cut), `jaxbandit resume DIR` or the same command again continues the run."""
RUN_EXAMPLES = """\
examples:
  jaxbandit run configs/quickstart.toml
  jaxbandit run my.toml --out results/long --set simulation.horizon=100000 simulation.seeds=1000
  jaxbandit run my.toml --set policies.0.eta=[1,10,100] grid.problem.penalties=[0.1,0.4]
  jaxbandit run my.toml --until "regret_stderr<0.5"
"""
RESUME = """\
Continue an interrupted run. It ends as `jaxbandit run` would have, with the same results."""
RESUME_EXAMPLES = """\
example:
  jaxbandit resume results/my"""
TUNE = """\
Tune the policy that the table [tuning] of a config names, by gradients of an expected objective. Write the tuned
config, the trajectory and a figure to DIR: tuned.toml, tuning.nc, tuning.png and tuning.pdf.

An interrupted tuning starts again from the beginning."""
TUNE_EXAMPLES = """\
examples:
  jaxbandit tune my.toml
  jaxbandit tune my.toml --set tuning.steps=500 && jaxbandit run results/my/tuned.toml"""
REPRODUCE = """\
Simulate the experiments of the papers, draw their figures, decide their claims, and write a report to DIR:
report.html, report.md and claims.json.

After an interruption the same command runs only the simulations that are missing."""
REPRODUCE_EXAMPLES = """\
examples:
  jaxbandit reproduce guarantees --quick
  jaxbandit reproduce --out results/all"""
POLICIES = "List the policies: what each does, its source, and its parameters with their defaults."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: the words after `jaxbandit`; default: those of the process.

    Returns:
        The exit status: 0; 2 for bad input, with one message on standard error; 1 for a failed or incomplete run; 130
        after an interruption.
    """
    with streams.usable_streams():
        return _main(arguments)


def _main(arguments: Sequence[str] | None) -> int:
    parsed = _parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            return int(parsed.command(parsed))
    except InputError as error:
        print_error(str(error))
        return 2
    except (FloatingPointError, WriteError, ConnectionError) as error:
        print_error(str(error))
        return 1
    except KeyboardInterrupt:
        print_error("interrupted")
        return 130


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print_error(f"note: {message}")


def _parser() -> argparse.ArgumentParser:
    about = "Simulate fair and delayed multi-armed bandits in batches. `jaxbandit COMMAND --help` explains a command."
    parser = argparse.ArgumentParser(prog="jaxbandit", description=about)
    parser.add_argument("--version", action="version", version=f"jaxbandit {version()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", title="commands")

    def add(
        name: str, function: Callable[[argparse.Namespace], int], summary: str, about: str, examples: str = ""
    ) -> argparse.ArgumentParser:
        command = commands.add_parser(
            name,
            help=summary,
            description=about,
            epilog=examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.set_defaults(command=function)
        return command

    run = add("run", _run, "simulate the policies of a config", RUN, RUN_EXAMPLES)
    resume = add("resume", _resume, "continue an interrupted run", RESUME, RESUME_EXAMPLES)
    tune = add("tune", _tune, "tune a policy's parameters by gradients", TUNE, TUNE_EXAMPLES)
    papers = "\n".join(f"  {name:15}{paper.citation}" for name, paper in PAPERS.items())
    reproduce = add(
        "reproduce", _reproduce, "reproduce the papers", REPRODUCE, f"papers:\n{papers}\n\n{REPRODUCE_EXAMPLES}"
    )
    add("policies", _policies, "list the policies and their parameters", POLICIES)
    for command in (run, tune):
        _add_config_arguments(command)
    run.add_argument(
        "--until", metavar="METRIC_stderr<X", help="add seeds until the standard error of the metric's mean is below X"
    )
    run.add_argument("--force", action="store_true", help="replace the results of another config in DIR")
    resume.add_argument("out", type=Path, metavar="DIR", help="the output directory of the interrupted run")
    for command in (run, resume):
        _add_process_arguments(command)
    reproduce.add_argument("paper", nargs="?", metavar="PAPER", help=f"{', '.join(PAPERS)} (default: all)")
    reproduce.add_argument("--quick", action="store_true", help="run smaller problems and fewer seeds")
    reproduce.add_argument(
        "--out", type=Path, metavar="DIR", help="the output directory (default: results/reproduction[-quick])"
    )
    reproduce.add_argument(
        "--conversion-log",
        type=Path,
        metavar="FILE",
        help="the conversion log for figure 3 of the merit paper, which is skipped without it",
    )
    return parser


def _add_config_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the commands that read a config."""
    command.add_argument("config", type=Path, metavar="CONFIG.toml", help="the config, described in README.md")
    command.add_argument(
        "--out", type=Path, metavar="DIR", help="the output directory (default: results/<config name>)"
    )
    command.add_argument(
        "--set",
        action="extend",
        nargs="+",
        default=[],
        metavar="KEY=VALUE",
        help="change keys of the config, as simulation.seeds=200 or policies.0.eta=[1,10]; a value is TOML or a word",
    )


def _add_process_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the commands that several processes can run together."""
    group = command.add_argument_group(
        "several processes", "Start the same command in each process, with its own --process-id."
    )
    group.add_argument("--coordinator", metavar="HOST:PORT", help="the address of process 0")
    group.add_argument("--processes", type=int, metavar="N", help="the number of processes")
    group.add_argument("--process-id", type=int, metavar="I", help="the number of this process, from 0 to N - 1")


def _run(parsed: argparse.Namespace) -> int:
    config = configs.load(parsed.config, parsed.set)
    if parsed.until is not None:
        configs.table(config, "simulation")  # refuses what is not a table
        config["simulation"]["until"] = parsed.until
    return _simulate(config, parsed.out or _default_out(parsed.config), parsed, parsed.force)


def _resume(parsed: argparse.Namespace) -> int:
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
    _prepare_machine(parsed)
    with distributed.together():
        plan = configs.make_plan(config)
        _check_writable(out, is_output)
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


def _reproduce(parsed: argparse.Namespace) -> int:
    out = parsed.out or Path("results") / ("reproduction-quick" if parsed.quick else "reproduction")
    _prepare_machine(parsed)
    from jaxbandit.papers import report, reproduce

    names = list(reproduce.REPRODUCTIONS) if parsed.paper is None else [parsed.paper]
    for name in names:
        reproduce.check_name(name)
    _check_writable(out, report.FILES.__contains__)
    made = reproduce.reproduce(names, out, Sizes(parsed.quick, parsed.conversion_log), sys.stderr.isatty())
    print_lines(report.table(made), f"wrote report.html, report.md, claims.json and the figures to {out}/")
    return 0


def _tune(parsed: argparse.Namespace) -> int:
    config = configs.load(parsed.config, parsed.set)
    _prepare_machine(parsed)
    from jaxbandit.tuning import command as tasks

    task = tasks.make_task(config)
    out = parsed.out or _default_out(parsed.config)
    _check_writable(out, tasks.FILES.__contains__)
    made = task.run(progress=sys.stderr.isatty())
    written = tasks.write(task, made, out)
    print_lines(tasks.summary(task, made), f"wrote {', '.join(path.name for path in written)} to {out}/")
    return 0


def _prepare_machine(parsed: argparse.Namespace) -> None:
    """Check the memory limit, the devices and matplotlib's backend, and join the other processes, if there are any.

    Raises:
        InputError: one of these cannot be used, or the arguments about processes are wrong.
        ConnectionError: the other processes were not found.
    """
    memory.check_limit()
    if "coordinator" in parsed:
        distributed.connect(parsed.coordinator, parsed.processes, parsed.process_id)
    sharding.check()
    with distributed.together():
        _check_backend()


def _check_backend() -> None:
    """Let matplotlib draw to files, without a window or display, unless the environment asks for another backend."""
    backend = os.environ.setdefault("MPLBACKEND", "Agg")
    if backend.lower() == "agg":
        return
    try:
        import matplotlib.pyplot as plt

        plt.close(plt.figure())
    except (ValueError, ImportError) as error:
        reason = str(error).partition(";")[0]
        words = f"a backend of matplotlib that works here, such as Agg ({reason})"
        raise InputError("MPLBACKEND", backend, words) from None


def _default_out(config: Path) -> Path:
    """The default output directory, `results/<config name>`."""
    if not config.stem.strip("."):  # "." and ".." are other folders
        raise InputError("--out", None, f"must be given: the config's name, {config.name!r}, does not name a folder")
    return Path("results") / config.stem


def _check_writable(out: Path, is_written: Callable[[str], bool]) -> None:
    """Raise an error, before work starts, where an output directory cannot be written to; leave nothing behind.

    Args:
        out: the directory.
        is_written: whether a file of this name may be written to it.

    Raises:
        InputError: it is not a folder, cannot be written to, or holds a folder in the place of a file.
    """
    try:
        if (out.exists() or out.is_symlink()) and not out.is_dir():
            raise InputError("--out", str(out), "a folder, or a name that is not in use")
        for path in sorted(out.iterdir()) if out.is_dir() else []:
            if is_written(path.name) and path.is_dir():
                words = f"must not hold a folder {path.name}, since a file of this name is written"
                raise InputError("--out", str(out), words)
        (out / _LONGEST_NAME).exists()  # raises where names of files would be too long
        parent = out
        while not parent.exists():
            parent = parent.parent
        with tempfile.TemporaryFile(dir=parent):
            pass
    except OSError as error:
        raise InputError("--out", str(out), f"a folder that can be written to ({error.strerror})") from None


def _policies(parsed: argparse.Namespace) -> int:
    for name, entry in Policy.registry.items():
        if isinstance(entry, Alias):
            print_lines(f"{name}\n    {entry.summary}")
            continue
        description = _SECTION.split(entry.own_docstring(), maxsplit=1)[0]
        about = f"{description}\nsource: {entry.source}"
        print_lines(f"{name}\n{textwrap.indent(about, '    ')}")
        for parameter, field in entry.parameters().items():
            default = "" if field.default is None else f" = {_default_text(field.default)}"
            print_lines(f"    {parameter}{default}: {field.metadata.get('doc', '')}")
    return 0


def _default_text(value: Component | float) -> str:
    """A default value of a parameter as a config would give it."""
    return f'"{value.name}"' if isinstance(value, Component) else f"{value:g}"
