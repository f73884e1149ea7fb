"""`jaxbandit policies`."""

from __future__ import annotations

import argparse
import re
import textwrap

from jaxbandit.cli.imports import import_files
from jaxbandit.core.component import Component
from jaxbandit.core.files.streams import print_lines
from jaxbandit.policies.base import Alias, Policy

_SECTION = re.compile(r"\n\n(?:Source|Raises|Example):\s")  # of a docstring


def policies_command(parsed: argparse.Namespace) -> int:
    """Print every policy with its source and its parameters."""
    import_files(parsed.imports)
    for name, entry in Policy.registry.items():
        if isinstance(entry, Alias):
            print_lines(f"{name}\n    {entry.summary}")
            continue
        description = _SECTION.split(entry.own_docstring(), maxsplit=1)[0]
        about = f"{description}\nsource: {entry.source}" if entry.source else description
        print_lines(f"{name}\n{textwrap.indent(about, '    ')}")
        for parameter, field in entry.parameters().items():
            default = "" if field.default is None else f" = {_default_text(field.default)}"
            print_lines(f"    {parameter}{default}: {field.metadata.get('doc', '')}")
    return 0


def _default_text(value: Component | float) -> str:
    """A default value of a parameter as a config would give it."""
    return f'"{value.name}"' if isinstance(value, Component) else f"{value:g}"
