"""`jaxbandit policies`."""

from __future__ import annotations

import argparse
import re
import textwrap

from jaxbandit.cli.imports import import_files
from jaxbandit.core.component import Component
from jaxbandit.core.errors import unknown_name
from jaxbandit.core.files.streams import print_lines
from jaxbandit.core.input_values import values_in_words
from jaxbandit.policies.base import Alias, Policy

_SECTION = re.compile(r"\n\n(?:Source|Raises|Example):\s")  # of a docstring


def policies_command(parsed: argparse.Namespace) -> int:
    """Print policies with their sources and parameters: all, or those that are named."""
    import_files(parsed.imports)
    for name in parsed.names:
        if name not in Policy.registry:
            raise unknown_name("NAME", name, Policy.registry)
    for name in parsed.names or Policy.registry:
        found = Policy.registry[name]
        print_lines(name, *(_alias_lines(found) if isinstance(found, Alias) else _policy_lines(found)))
        if parsed.names:
            print_lines("", *_table_lines(name), "")
    return 0


def _alias_lines(alias: Alias) -> list[str]:
    return [f"    {alias.summary}", f"    source: {alias.source}"]


def _policy_lines(policy: type[Policy]) -> list[str]:
    """Description, source and parameters of a policy."""
    description = _SECTION.split(policy.own_docstring(), maxsplit=1)[0]
    about = f"{description}\nsource: {policy.source}" if policy.source else description
    return [textwrap.indent(about, "    "), *parameter_lines(policy)]


def parameter_lines(component: type[Component]) -> list[str]:
    """A line per parameter: its name, default, range and meaning."""
    lines = []
    for name, field in component.parameters().items():
        held: object = field.default
        default = f" = {_default_text(held)}" if isinstance(held, Component | int | float) else ""
        ends = values_in_words(field)
        lines.append(f"    {name}{default}{f' ({ends})' if ends else ''}: {field.metadata.get('doc', '')}")
    return lines


def _table_lines(name: str) -> list[str]:
    """The table of a config, with the parameters that have a default."""
    found = Policy.registry[name]
    fields = {} if isinstance(found, Alias) else found.parameters()
    given = {key: field.default for key, field in fields.items() if isinstance(field.default, Component | int | float)}
    assignments = [f"{key} = {_default_text(value)}" for key, value in given.items()]
    return ["    [[policies]]", f'    kind = "{name}"', *(f"    {line}" for line in assignments)]


def _default_text(value: Component | float) -> str:
    """A default value of a parameter as a config would give it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value.name}"' if isinstance(value, Component) else f"{value:g}"
