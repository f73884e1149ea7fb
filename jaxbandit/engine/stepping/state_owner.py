"""Whether a state belongs to an agent or a simulator.

What an agent is stands in its states, as a text. A simulator takes every state of the right arrays, so that it can go
on with other numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from jaxbandit.core.component import Component
from jaxbandit.core.errors import InputError, short_repr
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


def check_single(t: Any, whose: str) -> None:
    """Refuse the states of several runs at once, given the rounds they have played.

    Raises:
        InputError: about `state`.
    """
    if np.ndim(t):
        words = f"the state of one {whose}; map over the states of several with `jax.vmap`"
        raise InputError("state", f"states of shape {np.shape(t)}", words)


def check_arrays(state: object, own: Mapping[str, str]) -> None:
    """Refuse a state of a simulator with other arrays: other names, shapes or dtypes.

    Args:
        state: the state.
        own: the arrays of the simulator's states, as of `arrays_in_words`.

    Raises:
        InputError: about `state`, naming the first array that differs.
    """
    held, none = arrays_in_words(state), "missing"
    for name in {**own, **held}:
        if held.get(name) != own.get(name):
            about = f"{name} is {held.get(name, none)}, not {own.get(name, none)}"
            raise InputError("state", f"{type(state).__name__}(...)", f"a state of this simulator; in it {about}")


def arrays_in_words(tree: object) -> dict[str, str]:
    """The dtypes and shapes of the arrays of a pytree, in words, by name."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(place): f"{leaf.dtype} of shape {leaf.shape}" for place, leaf in leaves}
