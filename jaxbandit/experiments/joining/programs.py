"""The attribute `programs` of results: by family, digests of what the rounds of policies with users' code compute."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from jaxbandit.core.errors import InputError

# Digests are comparable where all of these are equal.
_ATTRIBUTES = ("jaxbandit_version", "jax_version", "dtype", "device")


def joined(first: Mapping[str, object], second: Mapping[str, object]) -> dict[str, str]:
    """The attribute of joined results, in a dictionary that is empty where no digest is known."""
    one, two = _read(first), _read(second)
    both = {family: sorted({*one.get(family, ()), *two.get(family, ())}) for family in one | two}
    return {"programs": json.dumps(both)} if both else {}


def check_same(
    first: Mapping[str, object], second: Mapping[str, object], metrics: Sequence[str], more_metrics: Sequence[str]
) -> None:
    """Refuse to join runs of a policy whose code has changed between two results.

    Args:
        first, second: the attributes of the two.
        metrics, more_metrics: the recorded metrics, which decide what a program computes beside its rounds.

    Raises:
        InputError: the digests of a policy differ.
    """
    if sorted(metrics) != sorted(more_metrics) or any(first.get(name) != second.get(name) for name in _ATTRIBUTES):
        return
    one, two = ({family: set(held) for family, held in _read(about).items()} for about in (first, second))
    # A part of a grid, selected from results, may have some of its programs
    shared = [name for name in one if name in two]
    changed = [name for name in shared if not (one[name] <= two[name] or two[name] <= one[name])]
    if changed:
        words = (
            "must be computed by the same code in both results; that of its class, of the rewards or of the delays has "
            "changed between them, or code that it calls. Simulate all runs with the new code"
        )
        raise InputError("policy", changed[0], words)


def _read(attributes: Mapping[str, object]) -> dict[str, list[str]]:
    text = attributes.get("programs")
    return dict(json.loads(text)) if isinstance(text, str) else {}
