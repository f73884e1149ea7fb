"""The error that bad input gets (which key, what it holds, what it may hold), and that of a disk that takes no more."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_LENGTH = 478  # of a message's key, value and words: values are cut short for it, and
_WORD = 100  # keys,
_NAMES = 410, 340  # and lists of names, the second beside a hint


class InputError(ValueError):
    """Input that cannot be simulated as it stands; raised before any work starts. Its message is one line.

    Attributes:
        key: the config key or argument at fault, dotted (`problem.means`).
        held: what it holds.
        allowed: what it may hold, in words.
    """

    def __init__(self, key: str, held: Any, allowed: str):
        self.key, self.held, self.allowed = key, held, allowed
        bare = key == key.strip() and not ("." + key).endswith(".")
        place, words = _line(_cut(key if bare else repr(key), _WORD)), _line(allowed)
        room = max(40, min(120, _LENGTH - len(place) - len(words)))
        super().__init__(f"{place} holds {shown(held, room)}; it may hold {words}")


class ReturnedError(InputError):
    """What a method of a policy, reward, delay, merit or fairness function returned cannot be used.

    Attributes:
        key: what the method is of, and its name: `policy 'mine': value`.
        held: what came, in words.
        allowed: what is expected, in words.
    """

    def __init__(self, owner: str, method: str, came: str, expected: str):
        self.key, self.held, self.allowed = f"{owner}: {method}", came, expected
        ValueError.__init__(self, _line(f"{owner}: {method} returned {_cut(came, 160)}; expected {expected}"))


class WriteError(Exception):
    """A file that could not be written; what was there before still is.

    Attributes:
        path: its name.
    """

    def __init__(self, path: Path, error: OSError):
        self.path = path
        super().__init__(f"{path} cannot be written: {error.strerror or error}")


def unknown_name(key: str, name: Any, allowed: Iterable[str]) -> InputError:
    """The error for a name that is not one of `allowed`, with the nearest one suggested."""
    names = sorted(allowed)
    return InputError(key, name, f"one of {_listed(name, names)}")


def unknown_key(key: str, held: Any, allowed: Iterable[str]) -> InputError:
    """The error for a key that means nothing; its last part is not one of `allowed`."""
    names = sorted(allowed)
    return InputError(key, held, f"nothing: there is no such key, but {_listed(key.rpartition('.')[2], names)}")


def _listed(name: Any, names: list[str]) -> str:
    """The names, and the one that `name` may be a slip of the pen for."""
    near = []
    if isinstance(name, str) and len(name) <= _WORD:
        near = difflib.get_close_matches(name, [known for known in names if len(known) <= _WORD], n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return _cut(", ".join(names), _NAMES[bool(near)]) + hint


def shown(held: Any, limit: int = 120) -> str:
    """What a key holds, as an error shows it: cut short at `limit` characters."""
    try:
        return _cut(repr(held), limit)
    except (ValueError, RecursionError):  # Python writes out no whole number of thousands of digits
        return f"a value ({type(held).__name__}) too long to write out"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _line(text: str) -> str:
    """The text with line ends and what else does not print escaped."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
