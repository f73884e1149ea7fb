"""Which policies have a soft choice, and which of them can also be played by shares of plays."""

from __future__ import annotations

from jaxbandit.core.errors import InputError
from jaxbandit.environment.problem import Problem
from jaxbandit.policies.base import Alias, Index, Policy
from jaxbandit.policies.merit.proportional import ConfidenceRegionPolicy, MeritPolicy


def selects_by_chances(policy: Policy) -> bool:
    """Whether a policy selects by chances that are smooth functions of its estimates."""
    return isinstance(policy, MeritPolicy) and not isinstance(policy, ConfidenceRegionPolicy)


def has_soft_choice(policy: Policy) -> bool:
    """Whether a policy selects by scores or by chances, which need not be prepared."""
    return selects_by_chances(policy) or (isinstance(policy, Index) and type(policy).select is Index.select)


def accepts_shares(policy: Policy) -> bool:
    """Whether a policy works with counts that are sums of shares."""
    return all(part.real_counts for part in policy.nested_policies())


def check_relaxable(policy: Policy, prepared: Policy, problem: Problem) -> None:
    """Refuse a policy or a problem that has no relaxed runs.

    Raises:
        InputError: naming `policy`, `problem.means` or `problem.delay`.
    """
    if not (has_soft_choice(prepared) and accepts_shares(prepared)):
        kinds = {name: entry() for name, entry in Policy.registry.items() if not isinstance(entry, Alias)}
        names = ", ".join(name for name, kind in kinds.items() if has_soft_choice(kind) and accepts_shares(kind))
        words = f"a policy that selects by scores or chances and accepts counts that are not integers: {names}"
        raise InputError("policy", policy.name, f"{words} (or leave out `relaxed`)")
    check_constant_means(problem)
    check_no_delay(problem, "in relaxed runs")


def check_constant_means(problem: Problem) -> None:
    """Refuse a problem whose means change.

    Raises:
        InputError: naming `problem.means`.
    """
    if problem.changing is not None:
        raise InputError("problem.means", problem.as_table()["means"], "constant means in relaxed runs")


def check_no_delay(problem: Problem, where: str) -> None:
    """Refuse a problem with delays.

    Raises:
        InputError: naming `problem.delay`.
    """
    if not problem.delay.immediate:
        raise InputError("problem.delay", problem.delay.name, f"'none' {where}")
