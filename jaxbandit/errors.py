"""The error that bad input gets (which key, what it holds, what it may hold), and that of a disk that takes no more."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any


class InputError(ValueError):
    """Input that cannot be simulated as it stands; raised before any work starts.

    Attributes:
        key: the config key or argument at fault, dotted (`problem.means`).
        held: what it holds.
        allowed: what it may hold, in words.
    """

    def __init__(self, key: str, held: Any, allowed: str):
        self.key, self.held, self.allowed = key, held, allowed
        super().__init__(f"{key} holds {_short(held)}; it may hold {allowed}")


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
    near = difflib.get_close_matches(name, names, n=1) if isinstance(name, str) else []
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return InputError(key, name, "one of " + ", ".join(names) + hint)


def unknown_key(key: str, held: Any, allowed: Iterable[str]) -> InputError:
    """The error for a key that means nothing; its last part is not one of `allowed`."""
    name = key.rpartition(".")[2]
    near = difflib.get_close_matches(name, list(allowed), n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return InputError(key, held, f"nothing: there is no such key, but {', '.join(sorted(allowed))}{hint}")


def _short(held: Any, limit: int = 120) -> str:
    text = repr(held)
    return text if len(text) <= limit else text[: limit - 3] + "..."
