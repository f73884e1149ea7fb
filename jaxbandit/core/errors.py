"""Errors (input that cannot be used, files that cannot be written), and warnings about what a caller does."""

from __future__ import annotations

import contextlib
import difflib
import functools
import inspect
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

# Lengths in characters to which the parts of a message are cut, so that it stays readable on one line.
_MESSAGE_LENGTH = 478  # key, value and rule together: the value is cut
_KEY_LENGTH = 100
_NAMES_LENGTH, _NAMES_LENGTH_BESIDE_HINT = 410, 340  # a list of valid names


class InputError(ValueError):
    """Invalid input: a config key, an argument or a file that cannot be used. The message is one line.

    It is raised before any work starts, except where only the simulated rounds show the fault.

    Attributes:
        key: the config key or the argument at fault, dotted (`problem.means`).
        held: its value; None where it is missing.
        allowed: the values it may have, in words: a noun phrase ("a number >= 0"), which the message puts after
            "must be", or a clause that begins with "must" or "cannot".

    Example:
        >>> print(jb.InputError("problem.plays", 3, "a whole number from 1 to 2"))
        problem.plays = 3: must be a whole number from 1 to 2
        >>> print(jb.InputError("simulation.seeds", None, "a whole number >= 1"))
        simulation.seeds is missing: must be a whole number >= 1
    """

    def __init__(self, key: str, held: object, allowed: str):
        self.key, self.held, self.allowed = key, held, allowed
        super().__init__(self._message(_printable_key(key), held, _one_line(allowed)))

    def _message(self, key: str, held: object, allowed: str) -> str:
        rule = allowed if allowed.startswith(("must ", "cannot ")) else f"must be {allowed}"
        if held is None:
            return f"{key} is missing: {rule}"
        room = max(40, min(120, _MESSAGE_LENGTH - len(key) - len(rule)))
        return f"{key} = {short_repr(held, room)}: {rule}"

    def with_key(self, key: str, note: str = "") -> InputError:
        """The same error for another key, with a note appended to the rule."""
        return type(self)(key, self.held, self.allowed + note)


class UnknownKeyError(InputError):
    """A key, a keyword argument or a parameter that does not exist; `allowed` lists the valid ones."""

    def _message(self, key: str, held: object, allowed: str) -> str:
        return f"unknown key {key}{allowed}"


class UnreadableError(InputError):
    """A file that cannot be read: `held` is its path and `allowed` says why."""

    def _message(self, key: str, held: object, allowed: str) -> str:
        return f"cannot read {_one_line(_cut(str(held), 160))}: {allowed}"


class ReturnedError(InputError):
    """A method of a policy, reward, delay, metric, merit or fairness function returned a value that cannot be used.

    Attributes:
        key: the component and its method: `policy 'mine': value`.
        held: the returned value, in words.
        allowed: the expected value, in words.

    Example:
        >>> print(jb.ReturnedError("policy 'mine'", "value", "bool [3]", "an index per arm, float [3]"))
        policy 'mine': value returned bool [3]; expected an index per arm, float [3]
    """

    def __init__(self, owner: str, method: str, returned: str, expected: str):
        self.key, self.held, self.allowed = f"{owner}: {method}", returned, expected
        ValueError.__init__(self, _one_line(f"{owner}: {method} returned {_cut(returned, 160)}; expected {expected}"))

    def with_key(self, key: str, note: str = "") -> InputError:
        """The error itself: its key already names the component and the method."""
        return self

    def with_words(self, words: str) -> ReturnedError:
        """The same error with words after what is expected: what to do."""
        owner, _, method = self.key.rpartition(": ")
        return type(self)(owner, method, str(self.held), f"{self.allowed}; {words}")


class WriteError(Exception):
    """A file that could not be written. The file that was there before is unchanged.

    Attributes:
        path: the file.

    Example:
        >>> from pathlib import Path
        >>> print(jb.WriteError(Path("results.nc"), OSError(28, "No space left on device")))
        results.nc cannot be written: No space left on device
    """

    def __init__(self, path: Path, error: OSError):
        self.path = path
        super().__init__(f"{path} cannot be written: {error.strerror or error}")


class DeviceError(RuntimeError):
    """Two computations of a device, which must agree, do not: what it returned cannot be relied on."""


# Names in other libraries, folded as by `_folded`, and the names here; the first that is valid is suggested.
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
    "rate": ("learning_rate",),
    "price": ("multiplier",),
}


def unknown_name(key: str, name: object, allowed: Iterable[str]) -> InputError:
    """The error for a name that is not in `allowed`; it suggests the most similar name."""
    names = sorted(allowed)
    hint = _hint(name, names)
    room = _NAMES_LENGTH - max(0, min(len(key), _KEY_LENGTH) + len(hint) - 80)  # a long key or hint shortens the list
    return InputError(key, name, f"one of {_cut(', '.join(names), room)}{hint}")


def unknown_key(key: str, held: object, allowed: Iterable[str]) -> InputError:
    """The error for a key that does not exist; `allowed` are the valid names for the last part of the key."""
    names = sorted(allowed)
    hint = _hint(key.rpartition(".")[2], names)
    room = _NAMES_LENGTH_BESIDE_HINT if hint else _NAMES_LENGTH
    return UnknownKeyError(key, held, f"{hint}; valid keys: {_cut(', '.join(names), room)}")


def suggest_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator: an unknown keyword argument raises an `InputError` that suggests the most similar valid one."""
    known = [name for name in inspect.signature(function).parameters if name != "self"]

    @functools.wraps(function)
    def checked(*arguments: P.args, **keywords: P.kwargs) -> R:
        for name, held in keywords.items():
            if name not in known:
                raise unknown_key(name, held, known)
        return function(*arguments, **keywords)

    return checked


def _hint(name: object, names: list[str]) -> str:
    """The question "(did you mean ...?)", or "" where no valid name is similar."""
    near = _nearest(name, names) if isinstance(name, str) and len(name) <= _KEY_LENGTH else None
    return "" if near is None else f" (did you mean {near!r}?)"


def _nearest(name: str, names: list[str]) -> str | None:
    """The valid name that is probably meant: equal but for case and dashes, else a synonym, else a similar spelling."""
    folded = {_folded(known): known for known in names if len(known) <= _KEY_LENGTH}
    same = folded.get(_folded(name))
    meant = [known for known in _SYNONYMS.get(_folded(name), ()) if known in names]
    alike = difflib.get_close_matches(name, folded.values(), n=1)
    alike = alike or [folded[near] for near in difflib.get_close_matches(_folded(name), folded, n=1)]
    return next(iter([*([same] if same else []), *meant, *alike]), None)


def _folded(name: str) -> str:
    """The name without case, dashes, underscores and blanks."""
    return re.sub(r"[-_\s]", "", name).casefold()


def _printable_key(key: str) -> str:
    """A key as messages show it, in quotation marks where blanks or dots at its ends would be overlooked."""
    bare = key == key.strip() and not ("." + key).endswith(".")
    return _one_line(_cut(key if bare else repr(key), _KEY_LENGTH))


def short_repr(held: object, limit: int = 120) -> str:
    """The `repr` of a value on one line, cut at `limit` characters."""
    try:
        return _cut(re.sub(r"\s*\n\s*", " ", repr(held)), limit)  # the repr of an array has several lines
    except (ValueError, RecursionError):  # Python refuses to print integers of more than 4300 digits
        return f"a value ({type(held).__name__}) too long to write out"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _one_line(text: str) -> str:
    """The text with line ends and other unprintable characters escaped."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"


def warn(message: str) -> None:
    """Give a `UserWarning` about what a caller of this package did, at the caller's line.

    What callers cannot avoid, such as a damaged file, is logged instead, by the logger `jaxbandit`.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


class Interrupted(KeyboardInterrupt):
    """An interruption with a message. A notebook shows the message in the place of a traceback."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows of the exception."""
        return [f"Interrupted: {self}"]


@contextlib.contextmanager
def interruption_told(words: Callable[[], str]) -> Iterator[None]:
    """Within this context an interruption is raised as `Interrupted`.

    Args:
        words: gives the message, called when it happens.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(words()) from None
