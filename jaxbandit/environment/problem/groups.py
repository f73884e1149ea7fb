"""Groups of arms, and what each group is owed."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.core.input_values import finite_numbers, is_whole_number, number_or_numbers, row_per_arm, to_python
from jaxbandit.core.rationals import exact_fractions
from jaxbandit.environment.problem.requirements import sum_in_words


@dataclass(frozen=True)
class Groups:
    """Groups of arms.

    Attributes:
        members: the arms of each group.
        fractions: phi_g, the fraction of the plays that group g is guaranteed, exact, `[G, J or 1]`; or None.
        penalties: A_g, the penalty rate of group g, float64 `[G, J or 1]`; or None.
    """

    members: tuple[tuple[int, ...], ...]
    fractions: np.ndarray | None
    penalties: np.ndarray | None

    def of_arms(self, arms: int) -> np.ndarray:
        """The group of each arm, -1 for an arm in none; int32 `[K]`."""
        found = np.full(arms, -1, np.int32)
        for number, members in enumerate(self.members):
            found[list(members)] = number
        return found


def read_groups(groups: Any, fractions: Any, penalties: Any, arms: int, instances: int, plays: int) -> Groups | None:
    """The groups that the arguments `groups`, `group_fractions` and `group_penalties` of `Problem` describe.

    Raises:
        InputError: an argument is not valid.
    """
    if groups is None:
        for name, value in (("group_fractions", fractions), ("group_penalties", penalties)):
            if value is not None:
                raise InputError(f"problem.{name}", value, "given only with `groups`, the arms of each group")
        return None
    members = _members(groups, arms)
    owed = None if fractions is None else _fractions(fractions, members, instances, plays)
    rates = None
    if penalties is not None:
        key = "problem.group_penalties"
        numbers = finite_numbers(penalties, key, number_or_numbers(penalties, ">= 0"), low=0)
        rates = _per_group(numbers, len(members), instances, key, penalties)
    return Groups(members, owed, rates)


def _members(groups: Any, arms: int) -> tuple[tuple[int, ...], ...]:
    key, given = "problem.groups", to_python(groups)
    if not isinstance(given, list | tuple) or not given:
        raise InputError(key, given, "lists of arms, one list per group")
    holder: dict[int, int] = {}
    for number, group in enumerate(given):
        if not isinstance(group, list | tuple) or not group:
            raise InputError(f"{key}[{number}]", group, f"a list of at least one arm, each from 0 to {arms - 1}")
        for arm in group:
            if isinstance(arm, bool) or not (is_whole_number(arm) or arm == 0) or arm >= arms:
                raise InputError(f"{key}[{number}]", arm, f"arms from 0 to {arms - 1}")
            if int(arm) in holder:
                words = f"arms that are in no other place (arm {arm} is in group {holder[int(arm)]})"
                raise InputError(f"{key}[{number}]", arm, words)
            holder[int(arm)] = number
    return tuple(tuple(sorted(int(arm) for arm in group)) for group in given)


def _fractions(value: Any, members: tuple[tuple[int, ...], ...], instances: int, plays: int) -> np.ndarray:
    key = "problem.group_fractions"
    exact = exact_fractions(value, key)
    rows = _per_group(exact, len(members), instances, key, value, exact=True)
    if any(not 0 <= phi <= 1 for phi in rows.flat):
        raise InputError(key, value, number_or_numbers(value, "from 0 to 1"))
    sums = [sum(column, Fraction(0)) for column in rows.T]
    if max(sums) > 1:
        raise InputError(key, value, f"must sum to at most 1 (they sum to {sum_in_words(max(sums), 1)})")
    for number, group in enumerate(members):
        if max(rows[number]) * plays > len(group):
            most = f"{len(group)}/{plays}, for {len(group)} arms can get no more of {plays} plays per round"
            raise InputError(f"{key}[{number}]", float(max(rows[number])), f"at most {most}")
    return rows


def _per_group(
    numbers: np.ndarray, groups: int, instances: int, key: str, held: Any, exact: bool = False
) -> np.ndarray:
    """Numbers per group as `[G, J or 1]`."""
    if numbers.ndim and numbers.shape[-1] != groups:
        raise InputError(key, held, f"one number for all groups or {groups} numbers, one per group")
    return row_per_arm(numbers, groups, instances, key, held, exact=exact)


def check_together(groups: Groups, fractions: np.ndarray, plays: int) -> None:
    """Refuse fractions of arms and of groups that no policy can meet together.

    Raises:
        InputError: naming `problem.group_fractions`.
    """
    if groups.fractions is None:
        return
    count = max(fractions.shape[1], groups.fractions.shape[1])
    arms = np.broadcast_to(fractions, (len(fractions), count))
    owed = np.broadcast_to(groups.fractions, (len(groups.members), count))
    for column in range(count):
        rest = sum((arms[k, column] for k in np.flatnonzero(groups.of_arms(len(arms)) < 0)), Fraction(0))
        for number, members in enumerate(groups.members):
            own = sum((arms[k, column] for k in members), Fraction(0))
            rest += max(own, owed[number, column] * plays)
        if rest > plays:
            words = (
                f"small enough to be met beside problem.fractions: together they ask for {float(rest):g} of "
                f"{plays} plays per round"
            )
            raise InputError("problem.group_fractions", [float(value) for value in owed[:, column]], words)
