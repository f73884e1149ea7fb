"""What tells one run from another: a digest of all that decides its results."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import randomness
from .about import version
from .component import Component
from .groups import Group
from .problem import Problem
from .setting import Setting


def digest(
    setting: Setting, asked: tuple[Any, ...], labels: list[str], groups: list[Group], problems: Sequence[Problem]
) -> str:
    """A digest of all that decides the results: two runs of one digest have blocks in common, bit for bit.

    Args:
        setting: with the key, horizon and seeds; how blocks are cut decides nothing.
        asked: what is recorded of the runs, and until when; of a clear `repr`.
        labels: of the entries.
        groups: with every number of the policies and problems.
        problems: those of the groups.
    """
    about = (
        *(version(), jax.__version__, jax.default_backend(), jax.local_devices()[0].device_kind),
        *(str(jnp.result_type(float)), [int(word[0]) for word in randomness.key_words(setting.key)]),
        *(setting.horizon, setting.seeds, asked, labels, [group.entries for group in groups]),
    )
    made = hashlib.sha256(repr(about).encode())
    for group in groups:
        leaves, structure = jax.tree.flatten((group.policy, group.world))
        made.update(str(structure).encode())
        facts = group.facts  # of which metrics ask for more than the world holds
        for part in (*leaves, facts.means, facts.fractions, facts.penalties, facts.opportunities, facts.plays):
            array = np.asarray(part)
            exact = repr(array.tolist()).encode() if array.dtype == object else array.tobytes()
            made.update(repr((array.shape, str(array.dtype))).encode() + exact)
    for kind in dict.fromkeys(_kinds(groups, problems)):
        made.update(_source(kind).encode())
    return made.hexdigest()


def _kinds(groups: list[Group], problems: Sequence[Problem]) -> Iterator[type]:
    """The classes of all that is simulated, the users' own among them."""
    for group in groups:
        yield from map(type, group.policy.components())
    for problem in {id(problem): problem for problem in problems}.values():
        parts = (problem.reward, problem.delay, problem.merit, problem.opportunity)
        yield from (type(part) for part in parts if isinstance(part, Component))


def _source(kind: type) -> str:
    """The text of a class, so that one that was edited is another; its name where there is no text."""
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):
        return kind.__qualname__
