"""What a rule needs of the problem, asked before any work starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.core.input_values import per_arm

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


def fractions(problem: Problem, policy: str) -> np.ndarray:
    """The problem's exact fractions, `[K, J]` or `[K, 1]`."""
    if problem.fractions is None:
        raise InputError("problem.fractions", None, f"tau, a number or one an arm: {policy} needs it")
    return problem.fractions


def penalties(problem: Problem, policy: str, own: Any) -> np.ndarray:
    """The policy's own penalty rates where it has them, else the problem's, as a scalar, `[K, 1]` or `[K, J]`."""
    if own is not None:
        return per_arm(own, problem.arms, problem.instances, "policies.penalties")
    if problem.penalties is None:
        words = f"A, a number or one an arm, here or as the policy's `penalties`: {policy} needs it"
        raise InputError("problem.penalties", None, words)
    return problem.penalties
