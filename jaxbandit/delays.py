"""Delay models: what stands between a reward that was drawn and the policy that waits for it.

Feedback is always per arm: how many rewards arrived and their sum (002 eq. 1), so no policy knows whether a delay
model stands in front of it. A reward of round t with delay D arrives at the end of round t + D.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from .component import Component, derived, parameter, per_arm
from .errors import InputError
from .struct import struct

if TYPE_CHECKING:
    from .problem import Problem


@struct
class Feedback:
    """Rewards under way or arrived, per arm; arrays `[K, *runs]`.

    Attributes:
        count: how many, int32.
        total: their sum, as deviations from the reward's centre, float.
        squares: the sum of the squared deviations, float; None unless the policy asks for it.
    """

    count: Any
    total: Any
    squares: Any = None


class Delay(Component):
    """A delay model: a state of its own, and `deliver`, which takes what was sent and gives what arrives."""

    family: ClassVar[str] = "delay"
    registry: ClassVar[dict[str, Any]] = {}
    immediate: ClassVar[bool] = False  # received counts are the selections themselves

    def prepare(self, problem: Problem) -> Delay:
        """Check the parameters against the problem and spread them over arms."""
        self.check("problem.delay")
        return self

    def init(self, sent: Feedback) -> Any:
        """The state before round 1, for feedback shaped as `sent`."""
        return ()

    def deliver(self, state: Any, sent: Feedback, t: Array) -> tuple[Any, Feedback]:
        """What arrives at the end of round t, when `sent` was sent in it."""
        raise TypeError(f"{type(self).__name__} has no deliver")


class NoDelay(Delay, name="none"):
    """Every reward arrives at the end of its own round."""

    immediate: ClassVar[bool] = True

    def deliver(self, state: Any, sent: Feedback, t: Array) -> tuple[Any, Feedback]:
        return state, sent


class FixedDelay(Delay, name="fixed"):
    """A reward of round t arrives at the end of round t + d. Memory: (max d + 1) times that of the counts."""

    d: Any = parameter(0, low=0, doc="rounds, a number or one an arm")
    ring: Any = derived()  # zeros [max d + 1]: its length is the number of rounds under way

    def prepare(self, problem: Problem) -> Delay:
        self.check("problem.delay")
        rounds = np.asarray(self.d)
        if not np.all(rounds == np.floor(rounds)):
            raise InputError("problem.delay.d", self.d, "whole numbers of rounds >= 0")
        arms, instances = problem.means.shape
        spread = per_arm(self.d, arms, instances, "problem.delay.d").astype(np.int32)
        return self.replace(d=np.atleast_2d(spread), ring=np.zeros(int(rounds.max()) + 1, np.int32))

    def init(self, sent: Feedback) -> Feedback:
        return jax.tree.map(lambda x: jnp.zeros((len(self.ring), *x.shape), x.dtype), sent)

    def deliver(self, state: Feedback, sent: Feedback, t: Array) -> tuple[Feedback, Feedback]:
        length = len(self.ring)
        due = (t + self.d) % length
        slots = jnp.arange(length, dtype=jnp.int32).reshape((length,) + (1,) * sent.count.ndim)
        pending = jax.tree.map(lambda p, x: p + jnp.where(slots == due[None], x[None], 0), state, sent)
        now = t % length
        arrived = jax.tree.map(lambda p: lax.dynamic_index_in_dim(p, now, keepdims=False), pending)
        return jax.tree.map(lambda p: jnp.where(slots == now, 0, p), pending), arrived
