"""What an agent is, as a text that its states carry: states of different agents are told apart by it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from jaxbandit.core.component import Component
from jaxbandit.core.errors import short_repr
from jaxbandit.core.input_values import to_python

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # in the `repr` of functions
_LENGTH = 60  # characters of a value in an error


def identity(arguments: Mapping[str, object]) -> str:
    """The arguments that make an agent, as JSON, the same in every process; those that are None are left out.

    Tables are flat: `policy.eta` is the parameter `eta` of the policy.
    """
    return json.dumps(_flat(arguments), default=lambda value: _ADDRESS.sub("", repr(value)))


def _flat(arguments: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in arguments.items():
        part = value.as_table() if isinstance(value, Component) else value
        if isinstance(part, Mapping):
            found |= _flat(part, f"{prefix}{name}.")
        elif part is not None:
            found[f"{prefix}{name}"] = to_python(part)
    return found


def differences(held: str, own: str) -> str:
    """The arguments in which two identities differ, in words: "fractions is 0.2, not 0.1"."""
    first, second = json.loads(held), json.loads(own)
    names = [name for name in {**second, **first} if first.get(name) != second.get(name)]
    return "; ".join(
        f"{name} is {short_repr(first.get(name), _LENGTH)}, not {short_repr(second.get(name), _LENGTH)}"
        for name in names
    )
