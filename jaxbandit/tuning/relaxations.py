"""Soft choices: what stands in for "the L highest scores" so that chances are smooth in the scores.

With one play, arm k has the chance exp(score_k / temperature) / sum_j exp(score_j / temperature). With several, drawn
arms come one after the other, each so among those left (Plackett 1975); and shares are those of largest entropy that
sum to L, sigmoids of (score_k - threshold) / temperature. As the temperature falls all go to the L highest scores.
Arms of infinite score, which a policy plays once before all else, are chosen for sure, the lowest first.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.prng import Stream
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.sampling import sample_arm

_NEVER = -1e30  # a score that no arm has, finite, so that derivatives at it are 0
_CHOICE = 15  # what the choice's random numbers are for: a purpose that no policy reaches
_HALVINGS = 24  # of an interval some 1000 wide at most, before two steps of Newton's


def shares(score: Array, now: RoundView, temperature: Array) -> Array:
    """What part of the round each arm gets, float `[K, *runs]` from 0 to 1, summing to the plays there are arms for."""
    sure, open_, left = _split(score, now)
    z = jnp.where(open_, score / temperature, _NEVER)
    if now.plays == 1:
        weight, mass, _ = _exponentials(z)
        soft = jnp.where(left > 0, weight / mass, 0.0)
    else:
        soft = _capped(z, open_, left)
    return jnp.where(sure, 1.0, soft)


def drawn(score: Array, now: RoundView, temperature: Array) -> tuple[Array, Array]:
    """The arms that a soft choice takes, bool `[K, *runs]`, and the logarithm of its chance, float `[1, *runs]`."""
    taken, open_, left = _split(score, now)
    z = jnp.where(open_, score / temperature, _NEVER)
    uniform = numbers(now).uniform(now.plays)
    log_chance = jnp.zeros_like(z[:1])
    for play in range(now.plays):
        weight, mass, highest = _exponentials(z)
        one = sample_arm(lax.stop_gradient(weight), uniform[play : play + 1], open_ & ~taken) & (left > play)
        log_chance += jnp.sum(jnp.where(one, z - highest - jnp.log(mass), 0.0), axis=0, keepdims=True)
        taken, z = taken | one, jnp.where(one, _NEVER, z)
    return taken, log_chance


def numbers(now: RoundView) -> Stream:
    """The random numbers of a soft choice."""
    return now.random.for_purpose(_CHOICE)


def _split(score: Array, now: RoundView) -> tuple[Array, Array, Array]:
    """Arms chosen for sure and the arms left to choose from, bool `[K, *runs]`; plays left, int32 `[1, *runs]`."""
    first = now.available & jnp.isposinf(lax.stop_gradient(score))
    sure = first & (jnp.cumsum(first, axis=0, dtype=jnp.int32) <= now.plays)
    there = jnp.sum(now.available, axis=0, keepdims=True, dtype=jnp.int32)
    left = jnp.minimum(there, now.plays) - jnp.sum(sure, axis=0, keepdims=True, dtype=jnp.int32)
    return sure, now.available & ~first, left


def _exponentials(z: Array) -> tuple[Array, Array, Array]:
    """exp(z - max z), their sum, and max z."""
    highest = lax.stop_gradient(jnp.max(z, axis=0, keepdims=True))
    weight = jnp.exp(z - highest)
    return weight, jnp.sum(weight, axis=0, keepdims=True), highest


def _capped(z: Array, open_: Array, left: Array) -> Array:
    """Sigmoids of z - u over the open arms, u such that they sum to `left`; float `[K, *runs]`."""
    count = jnp.sum(open_, axis=0, keepdims=True, dtype=jnp.int32)
    goal = left.astype(z.dtype)
    fixed = lax.stop_gradient(z)

    def parts(z: Array, u: Array) -> Array:
        return jnp.where(open_, jax.nn.sigmoid(z - u), 0.0)

    def halve(_: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        middle = 0.5 * (ends[0] + ends[1])
        over = jnp.sum(parts(fixed, middle), axis=0, keepdims=True) > goal
        return jnp.where(over, middle, ends[0]), jnp.where(over, ends[1], middle)

    def newton(z: Array, u: Array) -> Array:
        p = parts(z, u)
        slope = jnp.sum(p * (1.0 - p), axis=0, keepdims=True)
        step = (jnp.sum(p, axis=0, keepdims=True) - goal) / jnp.maximum(slope, 1e-6)
        return u + jnp.clip(step, -1.0, 1.0)

    margin = 1.0 + jnp.log(float(len(z)))
    low = jnp.min(jnp.where(open_, fixed, -_NEVER), axis=0, keepdims=True) - margin
    high = jnp.max(fixed, axis=0, keepdims=True) + margin
    low, high = lax.fori_loop(0, _HALVINGS, halve, (jnp.minimum(low, high), high))
    u = newton(fixed, 0.5 * (low + high))
    soft = parts(z, newton(z, lax.stop_gradient(u)))  # the last step carries the derivative of u
    return jnp.where(left >= count, open_.astype(z.dtype), jnp.where(left > 0, soft, 0.0))
