"""The arguments of the commands, and the texts of `--help`."""

from __future__ import annotations

import argparse
import difflib
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from jaxbandit.cli import help_texts as texts
from jaxbandit.cli.lists import list_command
from jaxbandit.cli.policies import policies_command
from jaxbandit.cli.reproduce import reproduce_command
from jaxbandit.cli.run import resume_command, run_command
from jaxbandit.cli.tune import tune_command
from jaxbandit.core.provenance import version
from jaxbandit.experiments.configs.names import LISTS
from jaxbandit.papers import PAPERS

_WIDTH = 79  # characters of a line


class _Parser(argparse.ArgumentParser):
    """A parser that suggests the nearest command and the nearest option."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; what this parser does not know is its error, not that of the parser of all commands."""
        parsed, left = super().parse_known_args(args, namespace)
        if left:
            self._refuse(left[0])
        return parsed, left

    def _refuse(self, word: str) -> NoReturn:
        if word.startswith("-"):
            option = word.partition("=")[0]
            self.error(f"unknown option {option!r}{_nearest(option, self._option_string_actions)}")
        hint = f" (did you mean --set {word}?)" if "=" in word and "--set" in self._option_string_actions else ""
        self.error(f"unexpected argument {word!r}{hint}")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            names = list(action.choices)
            self.error(f"unknown command {value!r}{_nearest(str(value), names)}; commands: {', '.join(names)}")
        super()._check_value(action, value)


def _nearest(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f" (did you mean {near[0]!r}?)" if near else ""


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The parsed arguments of the command line; those of the process for None."""
    words, parser = list(sys.argv[1:] if arguments is None else arguments), make_parser()
    if words and words[0].startswith("-") and words[0] not in parser._option_string_actions:
        parser._refuse(words[0])
    return parser.parse_args(words)


def _filled(text: str) -> str:
    """A text with its paragraphs broken into lines."""
    return "\n\n".join(textwrap.fill(paragraph, _WIDTH, break_on_hyphens=False) for paragraph in text.split("\n\n"))


def make_parser() -> _Parser:
    """The parser of the command line; `command` of the parsed arguments is the function to call."""
    parser = _Parser(
        prog="jaxbandit",
        description=_filled(texts.ABOUT),
        epilog=texts.EXAMPLES,
        allow_abbrev=False,
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
            description=_filled(about),
            allow_abbrev=False,
            epilog=examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.set_defaults(command=function, quiet=False)
        return command

    run = add("run", run_command, "simulate the policies of a config", texts.RUN, texts.RUN_EXAMPLES)
    resume = add("resume", resume_command, "continue an interrupted run", texts.RESUME, texts.RESUME_EXAMPLES)
    tune = add("tune", tune_command, "find the best parameters of a policy", texts.TUNE, texts.TUNE_EXAMPLES)
    papers = "\n".join(
        textwrap.fill(
            paper.citation, _WIDTH, initial_indent=f"  {name:15}", subsequent_indent=" " * 17, break_on_hyphens=False
        )
        for name, paper in PAPERS.items()
    )
    reproduce = add(
        "reproduce",
        reproduce_command,
        "reproduce the papers",
        texts.REPRODUCE,
        f"papers:\n{papers}\n\n{texts.REPRODUCE_EXAMPLES}",
    )
    policies = add(
        "policies", policies_command, "print the policies and their parameters", texts.POLICIES, texts.POLICIES_EXAMPLES
    )
    policies.add_argument("names", nargs="*", metavar="NAME", help="the policies to print (default: all)")
    lists = add("list", list_command, "print the names that configs take", texts.LIST, texts.LIST_EXAMPLES)
    lists.add_argument("kind", metavar="KIND", help=", ".join(LISTS))
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
    tune.add_argument(
        "--force", action="store_true", help="replace files in DIR that are not of a tuning of this config"
    )
    resume.add_argument("out", type=Path, metavar="DIR", help="the output directory of the interrupted run")
    for command in (run, resume):
        command.add_argument("--no-figures", action="store_true", help="draw no figures")
        command.add_argument("--no-html", action="store_true", help="make no page results.html")
        _add_process_arguments(command)
    for command in (run, resume, tune, reproduce):
        command.add_argument("--quiet", action="store_true", help="print nothing but errors")
        command.add_argument(
            "--no-cache", action="store_true", help="neither load compiled programs of earlier commands nor keep them"
        )
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
        "--out", type=_folder, metavar="DIR", help="the output directory (default: results/reproduction[-quick])"
    )
    reproduce.add_argument(
        "--figure",
        metavar="N",
        help="draw this figure of PAPER alone, without report and verdicts, and simulate only what it shows",
    )
    reproduce.add_argument(
        "--conversion-log",
        type=Path,
        metavar="FILE",
        help="the conversion log for figure 3 of the merit paper, which is skipped without it",
    )
    return parser


def _folder(text: str) -> Path:
    """The path of a folder; a variable of the shell that is not set gives an empty one."""
    if not text.strip():
        raise argparse.ArgumentTypeError(f"must be the path of a folder, not {text!r}")
    return Path(text)


def _add_config_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the commands that read a config."""
    command.add_argument(
        "config",
        type=Path,
        metavar="CONFIG",
        help="the config: a TOML file, results.nc, or a name of `jaxbandit list configs`",
    )
    command.add_argument(
        "--out", type=_folder, metavar="DIR", help="the output directory (default: results/<config name>)"
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
