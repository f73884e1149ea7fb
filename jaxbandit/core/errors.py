"""The error that bad input gets (which key, what it holds, what it may hold), and that of a disk that takes no more."""

from __future__ import annotations

import difflib
import functools
import inspect
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_LENGTH = 478  # of a message's key, value and words: values are cut short for it, and
_WORD = 100  # keys,
_NAMES = 410, 340  # and lists of names, the second beside a hint


class InputError(ValueError):
    """Input that cannot be simulated as it stands. The message is one line.

    It is raised before any work starts, except for a `ReturnedError` about what only the rounds show.

    Attributes:
        key: the config key or the argument at fault, dotted (`problem.means`).
        held: its value.
        allowed: what its value may be, in words: a noun phrase ("a number >= 0"), which the message puts after
            "must be", or a clause that begins with "must" or "cannot".

    Example:
        >>> print(InputError("problem.plays", 3, "a whole number from 1 to 2"))
        problem.plays = 3: must be a whole number from 1 to 2
        >>> print(InputError("simulation.seeds", None, "a whole number >= 1"))
        simulation.seeds is missing: must be a whole number >= 1
    """

    def __init__(self, key: str, held: Any, allowed: str):
        self.key, self.held, self.allowed = key, held, allowed
        super().__init__(self._message(_place(key), held, _line(allowed)))

    def _message(self, place: str, held: Any, allowed: str) -> str:
        rule = allowed if allowed.startswith(("must ", "cannot ")) else f"must be {allowed}"
        if held is None:
            return f"{place} is missing: {rule}"
        room = max(40, min(120, _LENGTH - len(place) - len(rule)))
        return f"{place} = {short_repr(held, room)}: {rule}"

    def with_key(self, key: str, note: str = "") -> InputError:
        """The same error about another key, with a note behind what is allowed."""
        return type(self)(key, self.held, self.allowed + note)


class UnknownKeyError(InputError):
    """A key, a keyword argument or a parameter that does not exist. `allowed` lists those that do."""

    def _message(self, place: str, held: Any, allowed: str) -> str:
        return f"unknown key {place}{allowed}"


class UnreadableError(InputError):
    """A file that cannot be read: `held` is its path and `allowed` says why."""

    def _message(self, place: str, held: Any, allowed: str) -> str:
        return f"cannot read {_line(_cut(str(held), 160))}: {allowed}"


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

    def with_key(self, key: str, note: str = "") -> InputError:
        """The error as it is: it names its own place."""
        return self


class WriteError(Exception):
    """A file that could not be written; what was there before still is.

    Attributes:
        path: its name.
    """

    def __init__(self, path: Path, error: OSError):
        self.path = path
        super().__init__(f"{path} cannot be written: {error.strerror or error}")


# What other libraries call what has another name here: folded names, and the first of these that is allowed is meant.
_SYNONYMS: dict[str, tuple[str, ...]] = {
    "normal": ("gaussian",),
    "binary": ("bernoulli",),
    "deterministic": ("constant", "fixed"),
    "exp": ("softmax", "geometric"),
    "exponential": ("softmax", "geometric"),
    "ucb": ("ucb1",),
    "klucb": ("kl-ucb",),
    "ts": ("thompson",),
    "thompsonsampling": ("thompson",),
    "egreedy": ("epsilon-greedy",),
    "epsgreedy": ("epsilon-greedy",),
    "etc": ("explore-then-commit",),
    "se": ("successive-elimination",),
    "random": ("uniform-random",),
    "uniform": ("uniform-random",),
    "t": ("horizon",),
    "steps": ("horizon",),
    "nsteps": ("horizon",),
    "rounds": ("horizon",),
    "nrounds": ("horizon",),
    "runs": ("seeds",),
    "nruns": ("seeds",),
    "repetitions": ("seeds",),
    "trials": ("seeds",),
    "seed": ("key",),
    "rng": ("key",),
    "randomstate": ("key",),
    "tau": ("fractions",),
    "mu": ("means",),
    "arms": ("means",),
    "lr": ("learning_rate",),
    "stepsize": ("learning_rate",),
}


def unknown_name(key: str, name: Any, allowed: Iterable[str]) -> InputError:
    """The error for a name that is not one of `allowed`, with the nearest one suggested."""
    names = sorted(allowed)
    return InputError(key, name, f"one of {_cut(', '.join(names), _NAMES[0])}{_hint(name, names)}")


def unknown_key(key: str, held: Any, allowed: Iterable[str]) -> InputError:
    """The error for a key that does not exist; `allowed` are those that may stand in place of its last part."""
    names = sorted(allowed)
    hint = _hint(key.rpartition(".")[2], names)
    return UnknownKeyError(key, held, f"{hint}; valid keys: {_cut(', '.join(names), _NAMES[bool(hint)])}")


def suggest_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """The function, with an `InputError` for a keyword argument that it does not have, which suggests the nearest."""
    known = [name for name in inspect.signature(function).parameters if name != "self"]

    @functools.wraps(function)
    def checked(*given: P.args, **keywords: P.kwargs) -> R:
        for name, held in keywords.items():
            if name not in known:
                raise unknown_key(name, held, known)
        return function(*given, **keywords)

    return checked


def _hint(name: Any, names: list[str]) -> str:
    """The name that `name` may be a slip of the pen for, as a question."""
    near = _nearest(name, names) if isinstance(name, str) and len(name) <= _WORD else None
    return "" if near is None else f" (did you mean {near!r}?)"


def _nearest(name: str, names: list[str]) -> str | None:
    """The known name that is meant: the same but for case and dashes, a synonym's, else one that looks alike."""
    folded = {_folded(known): known for known in names if len(known) <= _WORD}
    same = folded.get(_folded(name))
    meant = [known for known in _SYNONYMS.get(_folded(name), ()) if known in names]
    alike = difflib.get_close_matches(name, folded.values(), n=1)
    alike = alike or [folded[near] for near in difflib.get_close_matches(_folded(name), folded, n=1)]
    return next(iter([*([same] if same else []), *meant, *alike]), None)


def _folded(name: str) -> str:
    return re.sub(r"[-_\s]", "", name).casefold()


def _place(key: str) -> str:
    """A key as messages show it, in quotes where blanks or dots at its ends would be lost."""
    bare = key == key.strip() and not ("." + key).endswith(".")
    return _line(_cut(key if bare else repr(key), _WORD))


def short_repr(held: Any, limit: int = 120) -> str:
    """What a key holds, as an error shows it: cut short at `limit` characters."""
    try:
        return _cut(re.sub(r"\s*\n\s*", " ", repr(held)), limit)  # arrays are shown in several lines
    except (ValueError, RecursionError):  # Python writes out no whole number of thousands of digits
        return f"a value ({type(held).__name__}) too long to write out"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _line(text: str) -> str:
    """The text with line ends and what else does not print escaped."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
