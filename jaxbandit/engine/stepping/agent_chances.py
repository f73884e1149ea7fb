"""The chances with which rewards are weighed that an agent is told."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.errors import InputError
from jaxbandit.engine.stepping.placement import is_traced


def chances_of_rewards(given: Any, last: Array | None, arms: Any, count: int) -> Any:
    """The chance of each arm when it was selected, `[K]`: those given, or those of the last selection of each arm.

    Args:
        given: the argument `chances` of `Agent.observe`.
        last: the chance of the last selection of each arm, `[K, 1]`, 0 for an arm that was never selected; None where
            the policy does not weigh rewards.
        arms: the arms of the rewards; -1 for none.
        count: K.

    Raises:
        InputError: chances that cannot be, or that are missing. Values that are traced are not checked.
    """
    if given is not None and np.shape(given) != (count,):
        raise InputError("chances", given, f"{count} numbers, one per arm")
    default = jnp.ones(count) if last is None else last[:, 0]
    chances = default if given is None else given
    if is_traced((arms, chances)):
        return jnp.asarray(chances)
    values = np.asarray(chances)
    can_be = values.dtype.kind in "biuf" and ((values >= 0) & (values <= 1 + 1e-5)).all()  # a sum may be rounded up
    if can_be and (values[arms[arms >= 0]] > 0).all():
        return values
    if given is None:
        words = "must be given with rewards of arms that the agent has not selected: the policy weighs rewards by them"
        raise InputError("chances", None, words)
    raise InputError("chances", given, "numbers from 0 to 1, above 0 for the arms observed")
