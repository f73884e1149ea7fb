"""What a policy sees of a round: what came back so far, what is owed, and the round's randomness."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit.core.prng import Stream
from jaxbandit.core.rationals import Quota
from jaxbandit.core.struct import static, struct
from jaxbandit.core.xla.fusion import without_fusion


@struct
class RoundView:
    """The view of round t. Arm axis first, runs after: arrays are `[K, *runs]`, or `[1, *runs]` where no arm is
    meant; `[K]` for one run, `[K, cells, seeds]` in the engine. Reduce over axis 0 and keep it, and both work.

    Attributes:
        t: the round, counted from 1, int32 scalar; `[1, *runs]` where runs have clocks of their own.
        horizon: T, int32 scalar.
        pulls: N_k(t-1), selections so far, int32.
        received: M_k(t-1), feedbacks arrived so far, int32; the selections themselves without delay.
        available: the arms that can be selected now, bool.
        owed: tau_k (t-1), a `Quota` that counts compare with exactly; None where the problem has no fractions.
        due: tau_k t, likewise.
        fractions: tau_k, float; None where the problem has none.
        penalties: A_k, float; None where the problem has none.
        random: this round's random numbers, a `Stream`.
        plays: L.
    """

    t: Any
    horizon: Any
    pulls: Any
    received: Any
    deviation: Any
    squares: Any
    centre: Any
    available: Any
    quota_before: Any
    quota_now: Any
    fractions: Any
    penalties: Any
    random: Stream
    plays: int = static(1)

    @property
    def samples(self) -> Array:
        """max(M_k, 1), float: what an index divides by."""
        return jnp.maximum(self.received, 1).astype(self.deviation.dtype)

    @property
    def mean(self) -> Array:
        """m_k = S_k / max(M_k, 1), float; 0 where nothing came back."""
        offset = self.deviation / self.samples
        return offset if self.centre is None else jnp.where(self.received > 0, self.centre + offset, 0.0)

    def upper(self, weight: Any) -> Array:
        """m_k + sqrt(w_k / max(M_k, 1)), float: as (S_k + sqrt(w_k max(M_k, 1))) / max(M_k, 1), with one division.

        Args:
            weight: w_k >= 0, float, broadcasting to `[K, *runs]`.
        """
        offset = (self.deviation + root(weight * self.samples)) / self.samples
        if self.centre is None:
            return offset
        return offset + jnp.where(self.received > 0, self.centre, 0.0)

    @property
    def total(self) -> Array:
        """S_k, the sum of the feedbacks, float."""
        if self.centre is None:
            return self.deviation
        return self.centre * self.received.astype(self.deviation.dtype) + self.deviation

    @property
    def variance(self) -> Array:
        """The empirical variance (divisor M) of the feedbacks, float; for policies with `needs_squares`."""
        return jnp.maximum(self.squares / self.samples - (self.deviation / self.samples) ** 2, 0.0)

    def below(self, quota: Quota) -> Array:
        """[N_k(t-1) < tau_k s], exactly: 1 or 0, float `[K, *runs]`."""
        return unmet(quota, self.pulls).astype(self.deviation.dtype)

    def log(self, offset: Any = 0.0) -> Array:
        """log(t - offset), float, of the shape of `t` and `offset`; 0 where t - offset is below 1."""

        def log() -> Array:
            return jnp.log(jnp.maximum(self.t.astype(self.deviation.dtype) - offset, 1.0))

        return (
            without_fusion(log, self.t) if self.t.ndim else log()
        )  # a clock of a run's own: else computed for every arm

    def deeper(self) -> RoundView:
        """The same view for a wrapped policy, whose random numbers are its own."""
        return dataclasses.replace(self, random=self.random.for_purpose(self.random.purpose + 1))


def unmet(quota: Quota, counts: Array) -> Array:
    """N < tau s, exactly, bool `[K, *runs]`."""
    return counts - quota.floor < (quota.fraction > 0).astype(counts.dtype)


def deficit(quota: Quota, counts: Array) -> Array:
    """tau s - N, float `[K, *runs]`; its sign and its zeros are exact."""
    return (quota.floor - counts).astype(quota.fraction.dtype) + quota.fraction


@jax.custom_jvp
def root(value: Array) -> Array:
    """The square root, float; its derivative at 0, where it has none, is taken as 0."""
    return jnp.sqrt(value)


@root.defjvp
def _root_slope(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    value = jnp.sqrt(primals[0])
    return value, jnp.where(value > 0, tangents[0] / jnp.where(value > 0, 2.0 * value, 1.0), 0.0)
