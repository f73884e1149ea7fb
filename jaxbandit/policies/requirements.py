"""Raises the errors for what a policy needs and the problem does not have, before a simulation starts."""

from __future__ import annotations

import contextlib
import dis
import functools
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
    """Within this context an error about None in users' code tells of what the problem or the view lacks."""
    try:
        yield
    except (AttributeError, TypeError) as error:
        if "NoneType" not in str(error):
            raise
        at_fault, used = _names_in_users_code(error)
        for field, key in _FIELDS.items():
            if field in used and getattr(view, field, ...) is None:
                if field not in at_fault:  # it may be another None
                    _add_note(error, f"`now.{field}` is None, since the problem has no {key}.")
                    continue
                words = f"must be given: `{method}` of policy {policy!r} uses `now.{field}`, and the problem has no "
                words += f"{key} (`needs = ({key!r},)` in the class checks this beforehand)"
                raise InputError(f"problem.{key}", None, words) from error
        for attribute, (held, flag) in _FLAGS.items():
            lacks = functools.reduce(lambda of, name: getattr(of, name, ...), held, view) is None
            if lacks and attribute in at_fault:
                words = f"`{method}` of policy {policy!r} uses `{attribute}`: set `{flag} = True` in the class"
                raise TypeError(words) from error
            if lacks and attribute in used:
                _add_note(error, f"`{attribute}` is None: `{flag} = True` in the class sets it.")
        raise


def _add_note(error: BaseException, note: str) -> None:
    """Add a note once: one method of a policy may call another one."""
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)


def _names_in_users_code(error: BaseException) -> tuple[set[str], set[str]]:
    """Attributes that users' functions name through which an error was raised: where it was raised, and anywhere."""
    at_fault: set[str] = set()
    used: set[str] = set()
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if str(step.tb_frame.f_globals.get("__name__")).partition(".")[0] not in ("jaxbandit", "jax"):
            loads = [one for one in dis.get_instructions(code) if one.opname in ("LOAD_ATTR", "LOAD_METHOD")]
            places = (one.positions for one in dis.get_instructions(code) if one.offset == step.tb_lasti)
            failing = next(places, None)
            used.update(str(one.argval) for one in loads)
            at_fault.update(str(one.argval) for one in loads if _is_within(one.positions, failing))
        step = step.tb_next
    return at_fault, used


def _is_within(inner: dis.Positions | None, outer: dis.Positions | None) -> bool:
    """Whether a place in the source is within another one; True where one of them is not known."""
    if inner is None or outer is None or None in (*inner, *outer):
        return True
    begins, ends = (inner[0], inner[2]) >= (outer[0], outer[2]), (inner[1], inner[3]) <= (outer[1], outer[3])
    return begins and ends


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
