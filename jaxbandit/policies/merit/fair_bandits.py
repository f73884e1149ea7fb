"""fair-bandits: Joseph, Kearns, Morgenstern & Roth (2016), Alg. 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.component import parameter
from jaxbandit.core.input_values import Number
from jaxbandit.core.struct import struct
from jaxbandit.environment.world import World
from jaxbandit.policies import requirements
from jaxbandit.policies.base import ChancePolicy, Policy
from jaxbandit.policies.round_view import RoundView

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


@struct
class Chain:
    """The state of fair-bandits.

    Attributes:
        low, high: the ends of the confidence intervals, float `[K, *runs]`.
        linked: the arms that every chain so far has held, bool `[K, *runs]`.
    """

    low: Array
    high: Array
    linked: Array


class FairBandits(ChancePolicy, name="fair-bandits"):
    """FairBandits: plays, all equally likely, the arms that are chained by their confidence intervals to the best one.

    With high probability, no arm is played more often than an arm of higher mean. The interval of arm k is
    m_k -+ sqrt(log((pi t)^2 / (3 delta)) / (2 M_k)), from the M_k rewards that have arrived and their mean m_k; it is
    renewed when a reward arrives, with the next round as t, and is the whole line before. The chain starts with the arm
    of the highest upper end and grows by every arm whose interval meets that of an arm in the chain. An arm that was
    left out once is never played again.

    With sleeping arms, the chain is among the available arms. An arm that sleeps keeps its place in the chain; if all
    available arms were left out before, the chain is among all available arms. One play per round.

    Source: Joseph, Kearns, Morgenstern & Roth (2016), "Fairness in learning: classic and contextual bandits", Alg. 1.

    Raises:
        InputError: when the simulation starts, if rewards can leave [0, 1].

    Example:
        >>> jb.policy("fair-bandits", delta=0.1)
        FairBandits(delta=0.1)
    """

    source: ClassVar[str] = "Joseph et al. 2016, Alg. 1"
    delta: Number = parameter(0.05, low=1e-30, high=1, doc="the probability with which the intervals may be wrong")

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        requirements.rewards_in_unit_interval(problem, self.name)
        return super().prepare(problem, horizon)

    def init(self, world: World, shape: tuple[int, ...]) -> Chain:
        ends = jnp.full(shape, jnp.inf, jnp.result_type(float))
        return Chain(-ends, ends, jnp.ones(shape, bool))

    def chances(self, state: Chain, now: RoundView) -> Array:
        return _chain(state, now.available).astype(now.deviation.dtype)

    def update(self, state: Chain, after: RoundView, selected: Array) -> Chain:
        linked = state.linked & (_chain(state, after.available) | ~after.available)
        t = after.t.astype(after.deviation.dtype) + 1.0  # Joseph et al. 2016, Alg. 1: the intervals of round t + 1
        log = 2.0 * jnp.log(jnp.pi * t) - jnp.log(3.0 * self.delta)  # of a ratio that can exceed all float32 numbers
        width = jnp.sqrt(log / (2.0 * after.samples))
        renewed = after.arrived.count > 0
        low = jnp.where(renewed, after.mean - width, state.low)
        return Chain(low, jnp.where(renewed, after.mean + width, state.high), linked)

    needs_arrived: ClassVar[bool] = True


def _chain(state: Chain, available: Array) -> Array:
    """The arms of the chain among the available ones, bool `[K, *runs]`."""
    among = available & state.linked
    among = jnp.where(jnp.any(among, axis=0, keepdims=True), among, available)
    high, low = jnp.where(among, state.high, -jnp.inf), jnp.where(among, state.low, jnp.inf)
    top = jnp.max(high, axis=0, keepdims=True)
    reach = jnp.min(jnp.where(high == top, low, jnp.inf), axis=0, keepdims=True)

    def grow(_: Array, reach: Array) -> Array:
        # No interval starts above the chain: one meets it where its upper end reaches it.
        return jnp.min(jnp.where(among & (high >= reach), low, jnp.inf), axis=0, keepdims=True)

    reach = lax.fori_loop(0, len(high) - 1, grow, reach)
    return among & (high >= reach)
