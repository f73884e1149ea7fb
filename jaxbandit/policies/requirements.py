"""Raises the errors for what a policy needs and the problem does not have, before a simulation starts."""

from __future__ import annotations

import contextlib
import functools
import traceback
from collections.abc import Iterator
from typing import TYPE_CHECKING

import jax
import numpy as np

from jaxbandit.core.errors import InputError, ReturnedError, unknown_name
from jaxbandit.core.input_values import per_arm
from jaxbandit.core.users_code.contracts import Named, has_users_method, owner_name
from jaxbandit.core.users_code.failures import told_of

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


# The keys of a problem that a policy may need
KEYS = ("fractions", "penalties", "groups", "group_fractions", "group_penalties", "merit", "opportunity")
# The fields of a view that are None where the problem lacks a key
_FIELDS = {"quota_before": "fractions", "quota_now": "fractions"} | {key: key for key in KEYS[:3]}
# What views lack unless a class asks for it: where it is held, and the attribute of the class
_FLAGS = {
    "squares": (("squares",), "needs_squares"),
    "variance": (("squares",), "needs_squares"),
    "losses": (("arrived", "losses"), "needs_losses"),
}


def check_needs(needs: object, problem: Problem, policy: str) -> None:
    """Check that a problem has the keys that the attribute `needs` of a policy names.

    Raises:
        InputError: it lacks one, or `needs` names no key.
    """
    for key in [needs] if isinstance(needs, str) else list(needs):  # type: ignore[call-overload]
        if key not in KEYS:
            raise unknown_name(f"{policy}.needs", key, KEYS)
        if not problem.has(key):
            raise InputError(f"problem.{key}", None, f"must be given; {policy} needs it")


@contextlib.contextmanager
def called(policy: Named, method: str, state: object, view: object) -> Iterator[None]:
    """The context in which a method of a policy is called: it makes errors in users' code plain.

    Args:
        policy, method: the method.
        state, view: the state and the `RoundView` that it gets.

    Raises:
        InputError: the method uses a field of the view that is None, or changes the state that it gets.
        TypeError: it uses a field that its class has to ask for.
    """
    before = jax.tree.leaves(state)
    with told_of(policy, method), _missing_told(policy.name, method, view):
        try:
            yield
        except (TypeError, IndexError, KeyError, AttributeError) as error:
            empty = not before and "tuple" in str(error) and not has_users_method(policy, "init")
            if empty and not getattr(error, "__notes__", ()):
                error.add_note(f"The state is {state!r}: the class has no `init`, which makes the first one.")
            raise
    after = jax.tree.leaves(state)
    if len(before) != len(after) or any(one is not other for one, other in zip(before, after, strict=True)):
        expected = "an unchanged `state`: only `update` changes it, by the new state that it returns"
        raise ReturnedError(owner_name(policy), method, "with its argument `state` changed in place", expected)


@contextlib.contextmanager
def _missing_told(policy: str, method: str, view: object) -> Iterator[None]:
    """Within this context an error about None in users' code is one about what the problem lacks."""
    try:
        yield
    except (AttributeError, TypeError) as error:
        names = _names_in_users_code(error) if "NoneType" in str(error) else set()
        for field in sorted(names & _FIELDS.keys()):
            if getattr(view, field, ...) is None:
                words = f"must be given: `{method}` of policy {policy!r} uses `now.{field}`, and the problem has no "
                words += f"{_FIELDS[field]} (`needs = ({_FIELDS[field]!r},)` in the class checks this beforehand)"
                raise InputError(f"problem.{_FIELDS[field]}", None, words) from error
        for attribute, (held, flag) in _FLAGS.items():
            if attribute in names and functools.reduce(lambda of, name: getattr(of, name, ...), held, view) is None:
                words = f"`{method}` of policy {policy!r} uses `{attribute}`: set `{flag} = True` in the class"
                raise TypeError(words) from error
        raise


def _names_in_users_code(error: BaseException) -> set[str]:
    """The attributes that the functions outside this package use through which an error was raised."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    modules = [str(frame.f_globals.get("__name__")).partition(".")[0] for frame in frames]
    own = [frame.f_code for frame, name in zip(frames, modules, strict=True) if name not in ("jaxbandit", "jax")]
    return {name for code in own for name in code.co_names}


def number_per_arm(value: object, problem: Problem, name: str, held: object = None, exact: bool = False) -> np.ndarray:
    """A parameter of a policy, spread over the arms and instances of a problem; arguments and result as in `per_arm`.

    Raises:
        InputError: any other shape than a number, a number per arm, or a row of these per instance.
    """
    try:
        return per_arm(value, problem.arms, problem.instances, f"policies.{name}", held, exact)
    except InputError as error:
        grid, row = f"{{{name} = [...]}}", f"{{{name} = [[...]]}}"
        note = f"; in a table that is not in a list, {grid} makes a grid of numbers, and {row} has one per arm"
        raise error.with_key(error.key, note) from None


def fractions(problem: Problem, policy: str) -> np.ndarray:
    """The problem's exact fractions tau, `[K, J]` or `[K, 1]`.

    Raises:
        InputError: the problem has no fractions.
    """
    if problem.fractions is None:
        raise InputError(
            "problem.fractions", None, f"must be given (a number or one number per arm); {policy} needs it"
        )
    return problem.fractions


def fractions_or_groups(problem: Problem, policy: str) -> None:
    """Check that arms or groups are guaranteed plays.

    Raises:
        InputError: neither are.
    """
    if not problem.has("group_fractions"):
        fractions(problem, policy)


def penalties(problem: Problem, policy: str, given: object) -> np.ndarray:
    """The penalty rates that the policy is given, else the problem's; a scalar, `[K, 1]` or `[K, J]`.

    Raises:
        InputError: neither has penalty rates.
    """
    if given is not None:
        return number_per_arm(given, problem, "penalties")
    if problem.penalties is None:
        words = f"must be given (a number or one number per arm), here or as `penalties` of {policy}, which needs it"
        raise InputError("problem.penalties", None, words)
    return problem.penalties


def group_penalties(problem: Problem, policy: str) -> None:
    """Check that groups that are guaranteed plays have penalty rates.

    Raises:
        InputError: they have none.
    """
    if problem.has("group_fractions") and not problem.has("group_penalties"):
        words = f"must be given (a number or one number per group); {policy} needs it with group_fractions"
        raise InputError("problem.group_penalties", None, words)


def rewards_in_unit_interval(problem: Problem, policy: str) -> None:
    """Check that rewards lie in [0, 1].

    Raises:
        InputError: they may be outside.
    """
    low, high = problem.reward_support()
    if low < 0 or high > 1:
        raise InputError("problem.reward", problem.reward.name, f"must give rewards in [0, 1] with {policy}")
