"""Soft choices: stand-ins for "the L arms of highest score" whose chances are smooth functions of the scores.

With one play, arm k has the chance exp(score_k / temperature) / sum_j exp(score_j / temperature). With several plays,
arms that are drawn come one after the other, each from the arms that are left (Plackett 1975); shares are those of
largest entropy that sum to L, sigmoids of (score_k - threshold) / temperature. As the temperature approaches 0, all
approach the L arms of highest score. Arms of infinite score, which a policy plays once before all others, are chosen
with certainty, the lowest arm first.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.prng import Stream
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.sampling import sample_arm

_EXCLUDED = -1e30  # below every score; finite, so that derivatives there are 0
_PURPOSE = 15  # of the random numbers of a soft choice; no policy uses this purpose
_BISECTIONS = 24  # of an interval of length 1000 at most, before two steps of Newton's method


def soft_shares(score: Array, now: RoundView, temperature: Array) -> Array:
    """The share of the round that each arm gets, float `[K, *runs]` from 0 to 1.

    Shares sum to L, or to the number of available arms where fewer are available.
    """
    certain, candidates, left = _certain_arms(score, now)
    z = _scaled(score, candidates, temperature)
    if now.plays == 1:
        weight, mass, _ = _softmax_terms(z)
        soft = jnp.where(left > 0, weight / mass, 0.0)
    else:
        soft = _sigmoid_shares(z, candidates, left)
    return jnp.where(certain, 1.0, soft)


def draw_arms(score: Array, now: RoundView, temperature: Array) -> tuple[Array, Array]:
    """Draw arms by a soft choice.

    Returns:
        The drawn arms, bool `[K, *runs]`, and the logarithm of the chance of the draw, float `[1, *runs]`.
    """
    drawn, candidates, left = _certain_arms(score, now)
    z = _scaled(score, candidates, temperature)
    uniform = choice_stream(now).uniform(now.plays)
    log_chance = jnp.zeros_like(z[:1])
    for play in range(now.plays):
        weight, mass, highest = _softmax_terms(z)
        one = sample_arm(lax.stop_gradient(weight), uniform[play : play + 1], candidates & ~drawn) & (left > play)
        log_chance += jnp.sum(jnp.where(one, z - highest - jnp.log(mass), 0.0), axis=0, keepdims=True)
        drawn, z = drawn | one, jnp.where(one, _EXCLUDED, z)
    return drawn, log_chance


def choice_stream(now: RoundView) -> Stream:
    """The random numbers of a soft choice."""
    return now.random.for_purpose(_PURPOSE)


def _scaled(score: Array, candidates: Array, temperature: Array) -> Array:
    """score / temperature of the candidates; an infinite score would make the derivative in the temperature NaN."""
    return jnp.where(candidates, jnp.where(candidates, score, 0.0) / temperature, _EXCLUDED)


def _certain_arms(score: Array, now: RoundView) -> tuple[Array, Array, Array]:
    """The arms chosen with certainty, the arms left to choose from, bool `[K, *runs]`, and the plays left, int32."""
    infinite = now.available & jnp.isposinf(lax.stop_gradient(score))
    certain = infinite & (jnp.cumsum(infinite, axis=0, dtype=jnp.int32) <= now.plays)
    available = jnp.sum(now.available, axis=0, keepdims=True, dtype=jnp.int32)
    left = jnp.minimum(available, now.plays) - jnp.sum(certain, axis=0, keepdims=True, dtype=jnp.int32)
    return certain, now.available & ~infinite, left


def _softmax_terms(z: Array) -> tuple[Array, Array, Array]:
    """exp(z - max z), their sum, and max z."""
    highest = lax.stop_gradient(jnp.max(z, axis=0, keepdims=True))
    weight = jnp.exp(z - highest)
    return weight, jnp.sum(weight, axis=0, keepdims=True), highest


def _sigmoid_shares(z: Array, candidates: Array, left: Array) -> Array:
    """Sigmoids of z - u over the candidates, with u such that they sum to `left`; float `[K, *runs]`."""
    count = jnp.sum(candidates, axis=0, keepdims=True, dtype=jnp.int32)
    goal = left.astype(z.dtype)
    fixed = lax.stop_gradient(z)

    def shares(z: Array, u: Array) -> Array:
        return jnp.where(candidates, jax.nn.sigmoid(z - u), 0.0)

    def bisect(_: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        middle = 0.5 * (ends[0] + ends[1])
        too_many = jnp.sum(shares(fixed, middle), axis=0, keepdims=True) > goal
        return jnp.where(too_many, middle, ends[0]), jnp.where(too_many, ends[1], middle)

    def newton(z: Array, u: Array) -> Array:
        p = shares(z, u)
        slope = jnp.sum(p * (1.0 - p), axis=0, keepdims=True)
        step = (jnp.sum(p, axis=0, keepdims=True) - goal) / jnp.maximum(slope, 1e-6)
        return u + jnp.clip(step, -1.0, 1.0)

    margin = 1.0 + jnp.log(float(len(z)))
    low = jnp.min(jnp.where(candidates, fixed, -_EXCLUDED), axis=0, keepdims=True) - margin
    high = jnp.max(fixed, axis=0, keepdims=True) + margin
    low, high = lax.fori_loop(0, _BISECTIONS, bisect, (jnp.minimum(low, high), high))
    u = newton(fixed, 0.5 * (low + high))
    soft = shares(z, newton(z, lax.stop_gradient(u)))  # the last step carries the derivative of u
    return jnp.where(left >= count, candidates.astype(z.dtype), jnp.where(left > 0, soft, 0.0))
