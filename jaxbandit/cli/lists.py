"""`jaxbandit list`."""

from __future__ import annotations

import argparse
import textwrap

from jaxbandit.cli.imports import import_files
from jaxbandit.cli.policies import parameter_lines
from jaxbandit.core.errors import unknown_name
from jaxbandit.core.files.streams import print_lines
from jaxbandit.experiments.configs import names
from jaxbandit.policies.base import Alias

_WIDTH = 100  # characters of a line


def list_command(parsed: argparse.Namespace) -> int:
    """Print the names of a kind, each with what it stands for and its parameters."""
    if parsed.kind not in names.LISTS:
        raise unknown_name("KIND", parsed.kind, names.LISTS)
    import_files(parsed.imports)
    for name in names.LISTS[parsed.kind]():
        print_lines(name)
        if about := names.in_a_line(parsed.kind, name):
            print_lines(textwrap.fill(about, _WIDTH, initial_indent="    ", subsequent_indent="    "))
        found = names.registered(parsed.kind, name)
        if found is not None and not isinstance(found, Alias) and parsed.kind not in ("policies", "indices"):
            for line in parameter_lines(found):
                print_lines(line)
    return 0
