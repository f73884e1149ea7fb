"""The command line: `jaxbandit run`, `resume`, `tune`, `reproduce` and `policies`."""

from __future__ import annotations

import argparse
import inspect
import os
import sys
import tempfile
import textwrap
import tomllib
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from jaxbandit.core.component import Component
from jaxbandit.core.errors import InputError, ReturnedError, WriteError
from jaxbandit.core.files import streams
from jaxbandit.core.files.output_names import RESULTS, TABLE, is_output
from jaxbandit.core.files.streams import print_error, print_lines
from jaxbandit.engine import simulation
from jaxbandit.engine.batch import memory, sharding
from jaxbandit.experiments.configs import config as configs
from jaxbandit.papers import PAPERS, Sizes
from jaxbandit.policies.base import Alias, Policy

_LONG = "n" * 200  # a name longer than those of the files that are written


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns:
        The exit status: 0; 2 for bad input, with one message on standard error; 1 where work had to stop; 130 when
        interrupted.
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


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print_error(f"note: {message}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="jaxbandit", description="Fair and delayed bandits, simulated in batches.")
    parser.add_argument("--version", action="version", version=f"jaxbandit {_version()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="simulate what a config describes", description=_run.__doc__)
    run.set_defaults(command=_run)
    run.add_argument("--until", metavar="METRIC_stderr<x", help="add runs until a metric's standard error is below x")
    run.add_argument("--force", action="store_true", help="replace the results of another config in DIR")
    resume = commands.add_parser("resume", help="go on with an interrupted run", description=_resume.__doc__)
    resume.set_defaults(command=_resume)
    resume.add_argument("out", type=Path, metavar="DIR", help="what the run was writing to")
    for command in (run, resume):
        others = command.add_argument_group("several processes, each started with the same command but for its number")
        others.add_argument("--coordinator", metavar="HOST:PORT", help="of the process of number 0")
        others.add_argument("--processes", type=int, metavar="N")
        others.add_argument("--process-id", type=int, metavar="I", help="from 0 to N - 1")
    tune = commands.add_parser("tune", help="tune a policy's parameters by gradients", description=_tune.__doc__)
    tune.set_defaults(command=_tune)
    for command in (run, tune):
        command.add_argument("config", type=Path, metavar="CONFIG.toml")
        command.add_argument("--out", type=Path, metavar="DIR", help="default: results/<config name>")
        command.add_argument(
            "--set", action="extend", nargs="+", default=[], metavar="KEY=VALUE", help="as simulation.seeds=200"
        )
    again = commands.add_parser(
        "reproduce",
        help="the figures and claims of the papers",
        description=inspect.getdoc(_reproduce),
        epilog="papers:\n" + "\n".join(f"  {name:15}{paper.citation}" for name, paper in PAPERS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    again.add_argument("paper", nargs="?", metavar="PAPER", help=f"{', '.join(PAPERS)}; default: all")
    again.add_argument("--quick", action="store_true", help="the same with smaller problems and fewer runs")
    again.add_argument("--out", type=Path, metavar="DIR", help="default: results/reproduction[-quick]")
    again.add_argument(
        "--conversion-log", type=Path, metavar="FILE", help="for figure 3 of the merit paper, left out without it"
    )
    again.set_defaults(command=_reproduce)
    listing = commands.add_parser("policies", help="list the policies and their parameters")
    listing.set_defaults(command=_policies)
    return parser


def _version() -> str:
    from jaxbandit.core.provenance import version

    return version()


def _run(parsed: argparse.Namespace) -> int:
    """Simulate, print a summary table, write DIR/results.nc and the figures.

    What is done is kept in DIR/unfinished until then, block by block: interrupted by Ctrl-C or killed in whatever way,
    SIGTERM among them, which ends it at once, the run goes on with `jaxbandit resume DIR` or the same command again.
    """
    config = configs.load(parsed.config, parsed.set)
    if parsed.until is not None:
        configs.table(config, "simulation")
        config["simulation"]["until"] = parsed.until
    return _simulate(config, parsed.out or _named_after(parsed.config), parsed, parsed.force)


def _resume(parsed: argparse.Namespace) -> int:
    """Go on with a run that was interrupted, in whatever way, and end it as `jaxbandit run` would have."""
    from jaxbandit.engine.host.checkpoint import unfinished

    try:
        if (parsed.out / RESULTS).is_file() and not (parsed.out / "unfinished").exists():
            print_lines(f"nothing to resume: {parsed.out}/{RESULTS} is complete")
            return 0
        about = unfinished(parsed.out)
    except OSError as error:
        raise InputError("DIR", str(parsed.out), f"a folder that can be read ({error.strerror})") from None
    for name, here in _made_with().items():
        if about.get(name) != here:
            words = f"a run begun with {name} {here}, as here; end it where it began, or start it with another --out"
            began = f"begun with {name} {about[name]}" if name in about else "begun otherwise than by `jaxbandit run`"
            raise InputError("DIR", f"{parsed.out}, {began}", words)
    try:
        config = tomllib.loads(about["config"])
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
        raise InputError("DIR", str(parsed.out), "an unfinished run with its config; this one has none") from None
    return _simulate(config, parsed.out, parsed, about.get("force") is True)


def _made_with() -> dict[str, str]:
    import jax

    return {"jaxbandit": _version(), "jax": jax.__version__}


def _simulate(config: dict[str, Any], out: Path, parsed: argparse.Namespace, force: bool) -> int:
    from jaxbandit.engine.host import distributed  # late: bad input is refused before JAX and matplotlib load
    from jaxbandit.experiments.output import previous_run

    memory.check_limit()
    distributed.connect(parsed.coordinator, parsed.processes, parsed.process_id)
    sharding.check()
    with distributed.together():
        plan = configs.make_plan(config)
        _ask_for(out, is_output)
        previous_run.check(out, config, plan, force)
        before = previous_run.stamp(out)
        _draw_to_files()
    from jaxbandit.engine.host import checkpoint
    from jaxbandit.experiments import dataset, summary
    from jaxbandit.experiments.output import export

    if (need := plan.results_bytes()) > 1 << 30:
        print_error(f"note: results will take about {need / 2**30:.1f} GiB of memory")
    about = {"config": tomli_w.dumps(config), **_made_with(), **({"force": True} if force else {})}
    told = [f"{out}/ has its results: another process has finished this run"]
    try:
        result = simulation.run(plan, progress=sys.stderr.isatty(), keep=out, about=about)
        before = ()  # a run that fails may have removed its progress; from here on another process alone does
        with distributed.together():
            if distributed.number() == 0 and not _finished(out, config, before):
                data = dataset.dataset(plan, result, config)
                names = [path.name for path in export.write(data, out)]
                told = _told(data, result, names, out, summary)
    except (KeyboardInterrupt, FloatingPointError, ReturnedError, WriteError, ConnectionError) as error:
        if isinstance(error, WriteError) and _finished(out, config, before):
            checkpoint.forget(out)  # what this one has put there since
            print_lines(*told)
            return 0
        if checkpoint.kept(out):
            again = isinstance(error, FloatingPointError | ReturnedError)
            words = "goes on with it, and meets this error again:" if again else "goes on with it"
            print_error(f"what is done is kept: `jaxbandit resume {out}` {words}")
        raise
    checkpoint.forget(out)
    if distributed.number() == 0:
        print_lines(*told)
    if result.short is not None:
        print_error(result.short)
        return 1
    return 0


def _finished(out: Path, config: Mapping[str, Any], before: tuple[int, ...]) -> bool:
    """Whether another process has finished the run, and removed its progress, while this one was at work."""
    from jaxbandit.engine.host import checkpoint
    from jaxbandit.experiments.output import previous_run

    return not checkpoint.begun(out) and previous_run.finished(out, config, before)


def _told(data: Any, result: Any, names: list[str], out: Path, summary: Any) -> list[str]:
    return [
        summary.table(data, rest=f"{out}/{TABLE}") if TABLE in names else summary.table(data),
        f"compiled in {result.compile_seconds:.1f} s, ran in {result.run_seconds:.1f} s: "
        f"{data.attrs['rounds_per_second'] / 1e6:.1f} million rounds a second on {data.attrs['device']}",
        f"wrote {', '.join(names)} to {out}/",
    ]


def _reproduce(parsed: argparse.Namespace) -> int:
    """Simulate the experiments of the papers, draw their figures, decide their claims, write a report to DIR.

    DIR/report.html, DIR/report.md and DIR/claims.json hold the report. After an interruption the same command runs only
    the simulations that are missing.
    """
    out = parsed.out or Path("results") / ("reproduction-quick" if parsed.quick else "reproduction")
    memory.check_limit()
    _draw_to_files()
    sharding.check()
    from jaxbandit.papers import report, reproduce  # late: these load matplotlib

    names = list(reproduce.REPRODUCTIONS) if parsed.paper is None else [parsed.paper]
    for name in names:
        reproduce.check_name(name)
    _ask_for(out, report.FILES.__contains__)
    made = reproduce.reproduce(names, out, Sizes(parsed.quick, parsed.conversion_log), sys.stderr.isatty())
    print_lines(report.table(made), f"wrote report.html, report.md, claims.json and the figures to {out}/")
    return 0


def _tune(parsed: argparse.Namespace) -> int:
    """Tune the policy that the table [tuning] names, write DIR/tuned.toml, DIR/tuning.nc and the figure.

    What was interrupted starts anew: only simulations are kept and gone on with.
    """
    config = configs.load(parsed.config, parsed.set)
    memory.check_limit()
    _draw_to_files()
    sharding.check()
    from jaxbandit.tuning import command as tasks  # late, as in `_run`: with the figure comes matplotlib

    task = tasks.make_task(config)
    out = parsed.out or _named_after(parsed.config)
    _ask_for(out, tasks.FILES.__contains__)
    made = task.run(progress=sys.stderr.isatty())
    written = tasks.write(task, made, out)
    print_lines(tasks.summary(task, made), f"wrote {', '.join(path.name for path in written)} to {out}/")
    return 0


def _draw_to_files() -> None:
    """No window and no display, unless asked for; refuse what was asked for and cannot be, before work starts."""
    asked = os.environ.setdefault("MPLBACKEND", "Agg")
    try:
        import matplotlib.pyplot as plt

        plt.close(plt.figure())
    except (ValueError, ImportError) as error:
        reason = str(error).partition(";")[0]
        raise InputError("MPLBACKEND", asked, f"a backend of matplotlib that works here, as Agg ({reason})") from None


def _named_after(config: Path) -> Path:
    """Where results go by default: `results/<config name>`."""
    if not config.stem.strip("."):  # . and .. are other folders
        words = f"a folder, which has to be given here: the name of the config, {config.name!r}, does not name one"
        raise InputError("--out", None, words)
    return Path("results") / config.stem


def _ask_for(out: Path, written: Callable[[str], bool]) -> None:
    """Refuse, before work starts, a folder that cannot be written to; leave nothing behind.

    Args:
        written: whether a file of such a name may be written into it.
    """
    try:
        if (out.exists() or out.is_symlink()) and not out.is_dir():
            raise InputError("--out", str(out), "a folder, or a name that is free")
        for path in sorted(out.iterdir()) if out.is_dir() else []:
            if written(path.name) and path.is_dir():
                raise InputError("--out", str(out), f"a folder whose {path.name}, if any, is a file")
        (out / _LONG).exists()  # and what is written has names that are not too long
        parent = out
        while not parent.exists():
            parent = parent.parent
        with tempfile.TemporaryFile(dir=parent):
            pass
    except OSError as error:
        raise InputError("--out", str(out), f"a folder that can be written to ({error.strerror})") from None


def _policies(parsed: argparse.Namespace) -> int:
    """Print every policy with its parameters, their defaults and its source."""
    for name, entry in Policy.registry.items():
        if isinstance(entry, Alias):
            print_lines(f"{name}\n    {entry.summary}")
            continue
        about = f"{entry.own_docstring()}\nsource: {entry.source}"
        print_lines(f"{name}\n{textwrap.indent(about, '    ')}")
        for parameter, field in entry.parameters().items():
            default = "" if field.default is None else f" = {_default(field.default)}"
            print_lines(f"    {parameter}{default}: {field.metadata.get('doc', '')}")
    return 0


def _default(value: Any) -> str:
    return f'"{value.name}"' if isinstance(value, Component) else f"{value:g}"
