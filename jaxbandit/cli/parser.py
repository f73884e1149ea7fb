"""The arguments of the commands, and the texts of `--help`."""

from __future__ import annotations

import argparse
import difflib
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from jaxbandit.cli.lists import KINDS, list_command
from jaxbandit.cli.policies import policies_command
from jaxbandit.cli.reproduce import reproduce_command
from jaxbandit.cli.run import resume_command, run_command
from jaxbandit.cli.tune import tune_command
from jaxbandit.core.provenance import version
from jaxbandit.papers import PAPERS

EXAMPLES = """\
examples:
  jaxbandit run quickstart
  jaxbandit policies fair-learn
  jaxbandit list delays"""
RUN = """\
Simulate the policies of a config, print a summary table, and write to DIR: the results (results.nc), a page to walk
around in (results.html), figures and, for a grid, a table (table.csv).

Finished blocks of runs are saved in DIR/unfinished until DIR/results.nc is written. After an interruption
(Ctrl-C, a kill, a power cut), `jaxbandit resume DIR` or the same command again continues the run."""
RUN_EXAMPLES = """\
examples:
  jaxbandit run configs/quickstart.toml
  jaxbandit run my.toml --out results/long --set simulation.horizon=100000 simulation.seeds=1000
  jaxbandit run my.toml --set policies.0.eta=[1,10,100] grid.problem.penalties=[0.1,0.4]
  jaxbandit run my.toml --until "regret_stderr<0.5"
  jaxbandit run my.toml --add --set simulation.seeds=2000
  jaxbandit run my.toml --import my_policies.py
  jaxbandit run penalties/figure-2-k5 --set simulation.seeds=50     (a config of `jaxbandit list configs`)
  jaxbandit run results/my/results.nc --out results/again           (the config that results hold)
"""
RESUME = """\
Continue an interrupted run. It ends as `jaxbandit run` would have, with the same results."""
RESUME_EXAMPLES = """\
example:
  jaxbandit resume results/my"""
TUNE = """\
Find the parameters of a policy with the best expected objective within limits, as the table [tuning] of a config says.
Print the start, the best common value and the result, with warnings. Write the config with the tuned policy added, the
steps of the search and their figure to DIR: tuned.toml, tuning.nc, tuning.png and tuning.pdf.

After an interruption the same command runs only the simulations that are missing."""
TUNE_EXAMPLES = """\
examples:
  jaxbandit tune my.toml
  jaxbandit tune my.toml --set tuning.steps=60 && jaxbandit run results/my/tuned.toml"""
REPRODUCE = """\
Simulate the experiments of the papers, draw their figures, decide their claims, and write a report to DIR:
report.html, report.md and claims.json.

After an interruption the same command runs only the simulations that are missing."""
REPRODUCE_EXAMPLES = """\
examples:
  jaxbandit reproduce guarantees --quick
  jaxbandit reproduce plays --figure 7
  jaxbandit reproduce --out results/all"""
POLICIES = """\
Print policies: what each does, its source, and its parameters with their ranges and defaults. With names, only these,
each with the table that a config takes."""
POLICIES_EXAMPLES = """\
examples:
  jaxbandit policies
  jaxbandit policies fair-learn lfg
  jaxbandit policies my-policy --import my_policies.py"""
LIST = "Print the names that configs take, each with what it stands for and, where it has any, its parameters."
LIST_EXAMPLES = """\
examples:
  jaxbandit list delays
  jaxbandit list configs"""


class _Parser(argparse.ArgumentParser):
    """A parser that suggests the nearest command and the nearest option."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; an option that does not exist raises the error of the parser that it was given to."""
        parsed, left = super().parse_known_args(args, namespace)
        for word in left:
            if word.startswith("-"):
                self.error(f"unknown option {word}{self._nearest(word.partition('=')[0], self._option_string_actions)}")
        return parsed, left

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            names = list(action.choices)
            self.error(f"unknown command {value!r}{self._nearest(str(value), names)}; commands: {', '.join(names)}")
        super()._check_value(action, value)

    @staticmethod
    def _nearest(word: str, known: Sequence[str] | dict[str, Any]) -> str:
        near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
        return f" (did you mean {near[0]!r}?)" if near else ""


def make_parser() -> argparse.ArgumentParser:
    """The parser of the command line; `command` of the parsed arguments is the function to call."""
    about = "Simulate fair and delayed multi-armed bandits in batches. `jaxbandit COMMAND --help` explains a command."
    parser = _Parser(
        prog="jaxbandit",
        description=about,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
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
        command.set_defaults(command=function, quiet=False)
        return command

    run = add("run", run_command, "simulate the policies of a config", RUN, RUN_EXAMPLES)
    resume = add("resume", resume_command, "continue an interrupted run", RESUME, RESUME_EXAMPLES)
    tune = add("tune", tune_command, "find the best parameters of a policy", TUNE, TUNE_EXAMPLES)
    papers = "\n".join(
        textwrap.fill(paper.citation, 100, initial_indent=f"  {name:15}", subsequent_indent=" " * 17)
        for name, paper in PAPERS.items()
    )
    reproduce = add(
        "reproduce", reproduce_command, "reproduce the papers", REPRODUCE, f"papers:\n{papers}\n\n{REPRODUCE_EXAMPLES}"
    )
    policies = add("policies", policies_command, "print the policies and their parameters", POLICIES, POLICIES_EXAMPLES)
    policies.add_argument("names", nargs="*", metavar="NAME", help="the policies to print (default: all)")
    lists = add("list", list_command, "print the names that configs take", LIST, LIST_EXAMPLES)
    lists.add_argument("kind", metavar="KIND", help=", ".join(KINDS))
    for command in (run, tune):
        _add_config_arguments(command)
    run.add_argument(
        "--until", metavar="METRIC_stderr<X", help="add seeds until the standard error of the metric's mean is below X"
    )
    what = run.add_mutually_exclusive_group()
    what.add_argument("--force", action="store_true", help="replace the results of another config in DIR")
    what.add_argument(
        "--add", action="store_true", help="add the policies and seeds that the results in DIR do not have yet"
    )
    resume.add_argument("out", type=Path, metavar="DIR", help="the output directory of the interrupted run")
    for command in (run, resume):
        command.add_argument("--no-figures", action="store_true", help="draw no figures")
        command.add_argument("--no-html", action="store_true", help="make no page results.html")
        _add_process_arguments(command)
    for command in (run, resume, tune, reproduce):
        command.add_argument("--quiet", action="store_true", help="print nothing but errors")
    for command in (run, resume, tune, policies, lists):
        command.add_argument(
            "--import",
            dest="imports",
            action="append",
            default=[],
            type=Path,
            metavar="FILE.py",
            help="run a Python file first, so that configs can name its classes (repeatable)",
        )
    reproduce.add_argument("paper", nargs="?", metavar="PAPER", help=f"{', '.join(PAPERS)} (default: all)")
    reproduce.add_argument("--quick", action="store_true", help="run smaller problems and fewer seeds")
    reproduce.add_argument(
        "--out", type=Path, metavar="DIR", help="the output directory (default: results/reproduction[-quick])"
    )
    reproduce.add_argument(
        "--figure", metavar="N", help="draw this figure of PAPER alone, and simulate only what it shows"
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
    command.add_argument(
        "config",
        type=Path,
        metavar="CONFIG",
        help="the config: a TOML file, results.nc, or a name of `jaxbandit list configs`",
    )
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
