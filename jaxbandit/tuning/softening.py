"""Soft choices: what stands in for "the L highest scores" so that chances are smooth in the scores.

A set S of L arms is chosen with chance proportional to exp(sum_{k in S} score_k / temperature): with one play the
softmax, with several the distribution of largest entropy for its marginals (conditional Poisson sampling; Hájek
1964; Chen, Dempster & Liu 1994). As the temperature falls it goes to the L highest scores. Arms of infinite score,
which a policy plays once before all else, are chosen for sure, the lowest first.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax import Array, lax

from ..randomness import Stream
from ..rounds import Round
from ..selection import sample, top

_NEVER = -1e30  # the logarithm of a chance of nothing, small enough and finite, so that its derivative is 0
_CHOICE = 15  # what the choice's random numbers are for: a purpose that no policy reaches


def split(score: Array, now: Round) -> tuple[Array, Array, Array]:
    """Arms chosen for sure and the arms left to choose from, bool `[K, *runs]`; plays left, int32 `[1, *runs]`."""
    first = now.available & jnp.isposinf(lax.stop_gradient(score))
    sure = top((first.astype(jnp.int32),), now.plays, now.plays, first)
    there = jnp.sum(now.available, axis=0, keepdims=True, dtype=jnp.int32)
    left = jnp.minimum(there, now.plays) - jnp.sum(sure, axis=0, keepdims=True, dtype=jnp.int32)
    return sure, now.available & ~first, left


def shares(score: Array, now: Round, temperature: Array) -> Array:
    """The chance that each arm is chosen, float `[K, *runs]`, summing to the plays there are arms for."""
    sure, open_, left = split(score, now)
    z = jnp.where(open_, score / temperature, _NEVER)
    if now.plays == 1:
        weight, mass, _ = _exponentials(z)
        soft = jnp.where(left > 0, weight / mass, 0.0)
    else:
        soft = jax.grad(lambda z: jnp.sum(_log_sets(z, open_, now.plays, left)))(z)
    return jnp.where(sure, 1.0, soft)


def drawn(score: Array, now: Round, temperature: Array) -> tuple[Array, Array]:
    """The arms that a soft choice takes, bool `[K, *runs]`, and the logarithm of its chance, float `[1, *runs]`."""
    sure, open_, left = split(score, now)
    z = jnp.where(open_, score / temperature, _NEVER)
    random = numbers(now)
    if now.plays == 1:
        weight, mass, highest = _exponentials(z)
        soft = sample(lax.stop_gradient(weight), random.uniform(), open_) & (left > 0)
        log_chance = jnp.sum(jnp.where(soft, z - highest - jnp.log(mass), 0.0), axis=0, keepdims=True)
    else:
        soft = _set(lax.stop_gradient(z), open_, now.plays, left, random)
        log_chance = jnp.sum(jnp.where(soft, z, 0.0), axis=0, keepdims=True) - _log_sets(z, open_, now.plays, left)
    return sure | soft, log_chance


def numbers(now: Round) -> Stream:
    """The random numbers of a soft choice."""
    return now.random.towards(_CHOICE)


def _exponentials(z: Array) -> tuple[Array, Array, Array]:
    """exp(z - max z), their sum, and max z."""
    highest = lax.stop_gradient(jnp.max(z, axis=0, keepdims=True))
    weight = jnp.exp(z - highest)
    return weight, jnp.sum(weight, axis=0, keepdims=True), highest


def _prefixes(z: Array, open_: Array, plays: int) -> list[list[Array]]:
    """log sum over sets S of j of the first k open arms of exp(sum_S z), for k = 0 .. K and j = 0 .. plays."""
    rows = [jnp.zeros_like(z[:1]), *[jnp.full_like(z[:1], _NEVER)] * plays]
    made = [rows]
    for k in range(len(z)):
        here, own = open_[k : k + 1], z[k : k + 1]
        grown = [jnp.where(here, jnp.logaddexp(rows[j], rows[j - 1] + own), rows[j]) for j in range(1, plays + 1)]
        rows = [rows[0], *grown]
        made.append(rows)
    return made


def _log_sets(z: Array, open_: Array, plays: int, left: Array) -> Array:
    """log sum over sets S of `left` open arms of exp(sum_S z), float `[1, *runs]`."""
    return _pick(_prefixes(z, open_, plays)[-1], left)


def _pick(rows: list[Array], place: Array) -> Array:
    return functools.reduce(lambda held, j: jnp.where(place == j, rows[j], held), range(1, len(rows)), rows[0])


def _set(z: Array, open_: Array, plays: int, left: Array, random: Stream) -> Array:
    """A set of `left` open arms, drawn arm by arm from the last one down, bool `[K, *runs]`."""
    rows, uniform, taken = _prefixes(z, open_, plays), random.uniform(len(z)), []
    for k in reversed(range(len(z))):
        own = z[k : k + 1]
        chance = jnp.exp(own + _pick([rows[k][0], *rows[k]][: plays + 1], left) - _pick(rows[k + 1], left))
        takes = open_[k : k + 1] & (left > 0) & (uniform[k : k + 1] < chance)
        left = left - takes.astype(left.dtype)
        taken.append(takes)
    return jnp.concatenate(taken[::-1])
