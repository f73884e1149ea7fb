"""This package's own code as a part of digests: where all code is the package's, programs need not be traced."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import jaxbandit

FOLDERS = ("core", "environment", "policies", "metrics", "engine")  # which compute the rounds and what is recorded
_VALUES = (bool, int, float, str, Fraction, type(None))  # whose `repr` is the same in every process


@functools.cache
def source_digest() -> str:
    """The digest of the files that decide results; of edited files it is another one."""
    made, top = hashlib.sha256(), Path(jaxbandit.__file__).parent
    for path in sorted(path for folder in FOLDERS for path in (top / folder).rglob("*.py")):
        content = path.read_bytes()
        made.update(f"{path.relative_to(top).as_posix()} {len(content)}\n".encode() + content)
    return made.hexdigest()


def structure_in_words(structure: Any) -> str | None:
    """A pytree's structure as text, the same in every process: names of classes and their static values.

    Returns:
        None where a class is not of this package, or a static value is not a plain one.
    """
    words = list(_words(structure))
    return None if None in words else " ".join(map(str, words))


def _words(structure: Any) -> Iterator[str | None]:
    node = structure.node_data()
    if node is None:  # a leaf
        yield "*"
        return
    kind, static = node
    packaged = kind.__module__.partition(".")[0] == jaxbandit.__name__
    plain = kind in (tuple, list, dict, type(None))
    yield f"{kind.__module__}.{kind.__qualname__}" if packaged or plain else None
    yield repr(static) if _is_plain(static) else None
    yield "("
    for child in structure.children():
        yield from _words(child)
    yield ")"


def _is_plain(value: object) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    return isinstance(value, _VALUES)
