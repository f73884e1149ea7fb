"""The rewards that an agent is told, and the chances with which they are weighed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.errors import InputError
from jaxbandit.engine.stepping.placement import is_traced
from jaxbandit.environment.rewards import Reward

_AT_ONCE = 1 << 12  # rewards per call of the compiled program, a power of 2


def check_shapes(arms: Any, rewards: Any, count: int) -> None:
    """Refuse arms that are no whole numbers, and rewards that are not one per arm; values are not looked at.

    Args:
        arms, rewards: the arguments of `Agent.observe`.
        count: K.

    Raises:
        InputError: about one of them.
    """
    if arms.ndim != 1 or not (jnp.issubdtype(arms.dtype, jnp.integer) or not arms.size):
        raise InputError("arms", arms, _allowed(count))
    if rewards.shape != arms.shape:
        raise InputError("rewards", rewards, f"{len(arms)} numbers, one per arm observed")


def check_values(arms: np.ndarray, rewards: np.ndarray, count: int, kind: Reward, in_unit_interval: bool) -> None:
    """Refuse arms that do not exist, and rewards that cannot be.

    Args:
        arms, rewards, count: as for `check_shapes`, which they have passed.
        kind: the kind of the rewards.
        in_unit_interval: whether they are from 0 to 1.

    Raises:
        InputError: about one of them.
    """
    if ((arms < -1) | (arms >= count)).any():
        raise InputError("arms", arms, _allowed(count))
    most = float(jnp.finfo(jnp.result_type(float)).max)
    if rewards.dtype.kind not in "biuf" or not (np.abs(rewards.astype(float)) <= most).all():
        raise InputError("rewards", rewards, f"finite numbers of at most {most:.2g}")
    if kind.zero_one and ((rewards != 0) & (rewards != 1)).any():
        words = f"0 or 1, as rewards of kind {kind.name!r} are; jb.Agent(..., reward=...) tells the kind"
        raise InputError("rewards", rewards, words)
    if in_unit_interval and ((rewards < 0) | (rewards > 1)).any():
        words = f"numbers from 0 to 1, as rewards of kind {kind.name!r} are; jb.Agent(..., reward=...) tells the kind"
        raise InputError("rewards", rewards, words)


def _allowed(count: int) -> str:
    return f"whole numbers from 0 to {count - 1}, or -1 for none"


def padded_pieces(arms: np.ndarray, rewards: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Arms and rewards in pieces of few lengths, powers of 2: few are compiled, and long logs take little memory."""
    for start in range(0, max(len(arms), 1), _AT_ONCE):
        some = arms[start : start + _AT_ONCE]
        length = 1 << max(len(some) - 1, 0).bit_length()
        padded = np.full(length, -1, np.int32), np.zeros(length)
        padded[0][: len(some)], padded[1][: len(some)] = some, rewards[start : start + _AT_ONCE]
        yield padded


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
    default = np.ones(count) if last is None else last[:, 0]
    chances = default if given is None else given
    if is_traced((arms, chances)):
        return jnp.asarray(chances)
    values = np.asarray(chances)
    can_be = values.dtype.kind in "biuf" and ((values >= 0) & (values <= 1 + 1e-5)).all()  # a sum may be rounded up
    least = float(jnp.finfo(jnp.result_type(float)).tiny)  # a reward is divided by the chance
    if can_be and (values[arms[arms >= 0]] >= least).all():
        return values
    if given is None:
        words = "must be given with rewards of arms that the agent has not selected: the policy weighs rewards by them"
        raise InputError("chances", None, words)
    raise InputError("chances", given, f"numbers from 0 to 1, at least {least:.2g} for the arms observed")


def check_sums(sums: Iterable[Array], rewards: Any) -> None:
    """Refuse rewards whose sums with earlier ones are too large for a number.

    Raises:
        InputError: about `rewards`.
    """
    if not all(np.isfinite(total).all() for total in sums):
        most = float(jnp.finfo(jnp.result_type(float)).max)
        words = f"numbers whose sum with earlier rewards is at most {most:.2g}"
        raise InputError("rewards", rewards, f"{words}, and so are the sums of squares and of losses / chances")
