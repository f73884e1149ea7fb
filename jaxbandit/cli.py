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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tomli_w

from . import config as configs
from .component import Component
from .errors import InputError, WriteError, unknown_name
from .policy import Alias, Policy


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns:
        The exit status: 0; 2 for bad input, with one message on standard error; 1 where work had to stop; 130 when
        interrupted.
    """
    parsed = _parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            return int(parsed.command(parsed))
    except InputError as error:
        print(f"jaxbandit: {error}", file=sys.stderr)
        return 2
    except (FloatingPointError, WriteError, ConnectionError) as error:
        print(f"jaxbandit: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("jaxbandit: interrupted", file=sys.stderr)
        return 130


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"jaxbandit: note: {message}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="jaxbandit", description="Fair and delayed bandits, simulated in batches.")
    parser.add_argument("--version", action="version", version=f"jaxbandit {_version()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="simulate what a config describes", description=_run.__doc__)
    run.set_defaults(command=_run)
    run.add_argument("--until", metavar="METRIC_stderr<x", help="add runs until a metric's standard error is below x")
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
        "reproduce", help="the figures and claims of the papers", description=_reproduce.__doc__
    )
    again.add_argument("paper", nargs="?", metavar="PAPER", help="000 ... 004; all by default")
    again.add_argument("--quick", action="store_true", help="the same figures, small")
    again.add_argument("--out", type=Path, metavar="DIR", help="default: results/reproduction, or ...-quick")
    again.add_argument(
        "--conversion-log", type=Path, metavar="FILE", help="for figure 3 of 002, which is left out without it"
    )
    again.set_defaults(command=_reproduce)
    listing = commands.add_parser("policies", help="list the policies and their parameters")
    listing.set_defaults(command=_policies)
    return parser


def _version() -> str:
    from .about import version

    return version()


def _run(parsed: argparse.Namespace) -> int:
    """Simulate, print a summary table, write DIR/results.nc and the figures.

    What is done is kept in DIR/unfinished until then, block by block: interrupted by Ctrl-C or killed in whatever way,
    SIGTERM among them, which ends it at once, the run goes on with `jaxbandit resume DIR` or the same command again.
    """
    config = configs.load(parsed.config, parsed.set)
    if parsed.until is not None:
        config.setdefault("simulation", {})["until"] = parsed.until
    return _simulate(config, parsed.out or Path("results") / parsed.config.stem, parsed)


def _resume(parsed: argparse.Namespace) -> int:
    """Go on with a run that was interrupted, in whatever way, and end it as `jaxbandit run` would have."""
    from .progress_folder import unfinished

    if (parsed.out / "results.nc").is_file() and not (parsed.out / "unfinished").exists():
        print(f"nothing to resume: {parsed.out}/results.nc is complete")
        return 0
    about = unfinished(parsed.out)
    for name, here in _made_with().items():
        if about.get(name) != here:
            words = f"a run begun with {name} {here}, as here; end it where it began, or start it with another --out"
            began = f"begun with {name} {about[name]}" if name in about else "begun otherwise than by `jaxbandit run`"
            raise InputError("DIR", f"{parsed.out}, {began}", words)
    try:
        config = tomllib.loads(about["config"])
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
        raise InputError("DIR", str(parsed.out), "an unfinished run with its config; this one has none") from None
    return _simulate(config, parsed.out, parsed)


def _made_with() -> dict[str, str]:
    import jax

    return {"jaxbandit": _version(), "jax": jax.__version__}


def _simulate(config: dict[str, Any], out: Path, parsed: argparse.Namespace) -> int:
    from . import processes  # late: bad input is refused before JAX and matplotlib load

    processes.connect(parsed.coordinator, parsed.processes, parsed.process_id)
    with processes.together():
        simulation = configs.simulation(config)
        _ask_for(out, ["results.nc"])
    _draw_to_files()
    from . import progress_folder, results, summary, writing

    if (need := simulation.results_bytes()) > 1 << 30:
        print(f"jaxbandit: note: results will take about {need / 2**30:.1f} GiB of memory", file=sys.stderr)
    about = {"config": tomli_w.dumps(config), **_made_with()}
    try:
        outcome = simulation.run(progress=sys.stderr.isatty(), keep=out, about=about)
        with processes.together():
            if processes.number() == 0:
                data = results.dataset(simulation, outcome, config)
                names = [path.name for path in writing.write(data, out)]
    except (KeyboardInterrupt, WriteError, ConnectionError):
        if progress_folder.kept(out):
            print(f"jaxbandit: what is done is kept: `jaxbandit resume {out}` goes on with it", file=sys.stderr)
        raise
    if processes.number() == 0:
        print(summary.table(data, rest=f"{out}/table.csv") if "table.csv" in names else summary.table(data))
        print(
            f"compiled in {outcome.compile_seconds:.1f} s, ran in {outcome.run_seconds:.1f} s: "
            f"{data.attrs['rounds_per_second'] / 1e6:.1f} million rounds a second on {data.attrs['device']}"
        )
        print(f"wrote {', '.join(names)} to {out}/")
    progress_folder.forget(out)
    if outcome.short is not None:
        print(f"jaxbandit: {outcome.short}", file=sys.stderr)
        return 1
    return 0


def _reproduce(parsed: argparse.Namespace) -> int:
    """Simulate a paper's experiments, draw its figures, weigh its claims, write report.html, report.md and claims.json.

    Interrupted and started again it goes on with what is not simulated yet.
    """
    out = parsed.out or Path("results") / ("reproduction-quick" if parsed.quick else "reproduction")
    _draw_to_files()
    from . import report, reproduce  # late: bad input is refused before matplotlib loads
    from .papers import PAPERS, Sizes

    if parsed.paper is not None and parsed.paper not in PAPERS:
        raise unknown_name("PAPER", parsed.paper, PAPERS)
    _ask_for(out, report.FILES)
    numbers = list(PAPERS) if parsed.paper is None else [parsed.paper]
    whole = reproduce.reproduce(numbers, out, Sizes(parsed.quick, parsed.conversion_log), sys.stderr.isatty())
    print(report.table(whole))
    print(f"wrote report.html, report.md, claims.json and the figures to {out}/")
    return 0


def _tune(parsed: argparse.Namespace) -> int:
    """Tune the policy that the table [tuning] names, write DIR/tuned.toml, DIR/tuning.nc and the figure."""
    config = configs.load(parsed.config, parsed.set)
    _draw_to_files()
    from .tuning import task as tasks  # late, as in `_run`: with the figure comes matplotlib

    job = tasks.task(config)
    out = parsed.out or Path("results") / parsed.config.stem
    _ask_for(out, tasks.FILES)
    made = job.run(progress=sys.stderr.isatty())
    written = tasks.save(job, made, out)
    print(tasks.summary(job, made))
    print(f"wrote {', '.join(path.name for path in written)} to {out}/")
    return 0


def _draw_to_files() -> None:
    """No window and no display, unless asked for."""
    os.environ.setdefault("MPLBACKEND", "Agg")


def _ask_for(out: Path, files: Sequence[str]) -> None:
    """Refuse, before work starts, a folder that cannot be written to; leave nothing behind."""
    if (out.exists() or out.is_symlink()) and not out.is_dir():
        raise InputError("--out", str(out), "a folder, or a name that is free")
    for name in files:
        if (out / name).is_dir():
            raise InputError("--out", str(out), f"a folder whose {name}, if any, is a file")
    parent = out
    while not parent.exists():
        parent = parent.parent
    try:
        with tempfile.TemporaryFile(dir=parent):
            pass
    except OSError as error:
        raise InputError("--out", str(out), f"a folder that can be written to ({error.strerror})") from None


def _policies(parsed: argparse.Namespace) -> int:
    """Print every policy with its parameters, their defaults and its source."""
    for name, entry in Policy.registry.items():
        if isinstance(entry, Alias):
            print(f"{name}\n    {entry.summary}")
            continue
        about = f"{inspect.getdoc(entry)}\nsource: {entry.source}"
        print(f"{name}\n{textwrap.indent(about, '    ')}")
        for parameter, field in entry.parameters().items():
            default = "" if field.default is None else f" = {_default(field.default)}"
            print(f"    {parameter}{default}: {field.metadata.get('doc', '')}")
    return 0


def _default(value: Any) -> str:
    return f'"{value.name}"' if isinstance(value, Component) else f"{value:g}"
