"""What arms may claim of a fairness function f by the horizon (004), and the accuracies that follow from T and L_f."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.errors import InputError
from jaxbandit.core.rationals import rounded_up
from jaxbandit.core.struct import struct
from jaxbandit.environment.opportunities import Opportunity
from jaxbandit.policies.round_view import RoundView

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


@struct
class Entitlements:
    """A fairness function, and what it grants by the horizon where that is known beforehand.

    Attributes:
        function: f.
        whole: floor(T f_k) where f is constant, exactly, int32 `[K, 1]`; else None.
    """

    function: Any
    whole: Any

    def rounds(self, after: RoundView) -> Array:
        """floor(T f(m)_k), int32 `[K, *runs]`, m clipped to [0, 1]."""
        if self.whole is not None:
            return jnp.broadcast_to(self.whole, after.pulls.shape)
        horizon = after.horizon.astype(after.deviation.dtype)
        return jnp.floor(rounded_up(horizon * self.function.value(jnp.clip(after.mean, 0.0, 1.0)))).astype(jnp.int32)


def entitlements(problem: Problem, policy: str, horizon: int) -> Entitlements:
    """The claims under the problem's fairness function by round `horizon`; `policy` is a name, for the error.

    Raises:
        InputError: `problem.opportunity`, where the problem has none.
    """
    f = problem.opportunity
    if f is None:
        words = f"a fairness function, as {{ kind = 'softmax' }}: {policy} needs it"
        raise InputError("problem.opportunity", None, words)
    shares = f.constant_shares(problem.arms)
    if shares is None:
        return Entitlements(f, None)
    return Entitlements(f, np.array([[int(share * horizon)] for share in shares], np.int32))


def slope(f: Opportunity, own: Any, arms: int) -> float:
    """L_f from l1 to l1 for a number of arms: the policy's `own` where it has it, else what the function says.

    Raises:
        InputError: `policies.lipschitz`, where neither is a finite number.
    """
    known = f.lipschitz(arms) if own is None else number(own, "lipschitz")
    if not math.isfinite(known):
        words = f"L_f, a Lipschitz constant of the fairness function: {f.name} does not tell one"
        raise InputError("policies.lipschitz", own, words)
    return known


def decay(horizon: int) -> float:
    """T^(-1/3) log(T)^(1/3) (004 Theorem 2)."""
    return (math.log(horizon) / horizon) ** (1 / 3)


def number(value: Any, name: str) -> float:
    """The value of a policy's parameter that is one number; an InputError naming it for a list."""
    if np.ndim(value):
        raise InputError(f"policies.{name}", value, "a number")
    return float(value)


def accuracy(value: Any, name: str) -> float:
    """The value of a policy's parameter that is a number above 0; an InputError naming it for any other."""
    if number(value, name) <= 0:
        raise InputError(f"policies.{name}", value, "a number above 0")
    return float(value)


def below(a: Array, b: Any) -> Array:
    """a < b for numbers up to 1 that were rounded: of two that stand for the same number neither is below.

    Args:
        a: float `[K, *runs]`.
        b: float, broadcasting with `a`.

    Returns:
        bool `[K, *runs]`.
    """
    margin = 4 * jnp.finfo(a.dtype).eps
    return (a < b) & ((a == 0) | (b - a > margin))
