"""The plays that a fairness function f entitles arms to by the horizon, and the accuracies that depend on T and L_f."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

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
    """A fairness function, and the plays that it entitles arms to where they do not depend on the means.

    Attributes:
        function: f.
        fixed_rounds: floor(T f_k) where f is constant, exact, int32 `[K, 1]`; else None.
    """

    function: Opportunity
    fixed_rounds: Array | np.ndarray | None

    def rounds(self, after: RoundView) -> Array:
        """floor(T f(m)_k), int32 `[K, *runs]`, with m clipped to [0, 1]."""
        if self.fixed_rounds is not None:
            return jnp.broadcast_to(self.fixed_rounds, after.pulls.shape)
        horizon = after.horizon.astype(after.deviation.dtype)
        return jnp.floor(rounded_up(horizon * self.function.value(jnp.clip(after.mean, 0.0, 1.0)))).astype(jnp.int32)


def entitlements_of(problem: Problem, policy: str, horizon: int) -> Entitlements:
    """The plays to which the problem's fairness function entitles arms by round `horizon`.

    Args:
        problem: the problem.
        policy: the name of the policy, for the error.
        horizon: T.

    Raises:
        InputError: the problem has no fairness function.
    """
    f = problem.opportunity
    if f is None:
        words = f"must be given, such as {{ kind = 'softmax' }}; {policy} needs it"
        raise InputError("problem.opportunity", None, words)
    shares = f.constant_shares(problem.arms)
    if shares is None:
        return Entitlements(f, None)
    return Entitlements(f, np.array([[int(share * horizon)] for share in shares], np.int32))


def lipschitz_constant(f: Opportunity, given: object, arms: int, instead: str = "") -> float:
    """L_f with |f(x) - f(y)|_1 <= L_f |x - y|_1 for K = `arms`: the policy's parameter, else that of the function.

    Args:
        f: the fairness function.
        given: the policy's parameter, or None.
        arms: K.
        instead: the name of a parameter with which no constant is needed, for the error.

    Raises:
        InputError: neither is a finite number.
    """
    constant = f.lipschitz(arms) if given is None else single_number(given, "lipschitz")
    if not math.isfinite(constant):
        other = f", or `{instead}`" if instead else ""
        words = f"must be given (a Lipschitz constant of the fairness function){other}; {f.name!r} does not define one"
        raise InputError("policies.lipschitz", given, words)
    return constant


def accuracy_rate(horizon: int) -> float:
    """T^(-1/3) log(T)^(1/3) (opportunities paper, Theorem 2)."""
    return (math.log(horizon) / horizon) ** (1 / 3)


def single_number(value: object, name: str) -> float:
    """The value of a policy's parameter that takes one number.

    Raises:
        InputError: a list, naming the parameter.
    """
    if np.ndim(value):  # type: ignore[arg-type]
        raise InputError(f"policies.{name}", value, "a number")
    return float(value)  # type: ignore[arg-type]


def positive_number(value: object, name: str) -> float:
    """The value of a policy's parameter that takes one number above 0.

    Raises:
        InputError: a list, or a number <= 0, naming the parameter.
    """
    if single_number(value, name) <= 0:
        raise InputError(f"policies.{name}", value, "a number above 0")
    return float(value)  # type: ignore[arg-type]


def clearly_below(a: Array, b: Array | float) -> Array:
    """a < b for numbers up to 1 that may be rounded: false where the difference may be due to rounding.

    Args:
        a: float `[K, *runs]`.
        b: float, broadcasting with `a`.

    Returns:
        bool `[K, *runs]`.
    """
    margin = 4 * jnp.finfo(a.dtype).eps
    return (a < b) & ((a == 0) | (b - a > margin))
