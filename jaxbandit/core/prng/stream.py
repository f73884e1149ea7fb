"""The random numbers of a round."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.prng.normal import normal
from jaxbandit.core.prng.rejection import gamma_numbers, indices
from jaxbandit.core.prng.threefry import threefry2x32, unit
from jaxbandit.core.struct import static, struct
from jaxbandit.core.xla.fusion import on_cpu, without_fusion

# The purpose of a draw. A policy draws with POLICY, the policy that it wraps with POLICY + 1, and so on.
INSTANCE, REWARD, BINARISE, AVAILABILITY, DELAY, POLICY = range(6)
TIES = 15  # the largest purpose: no policy wraps so many


@struct
class Stream:
    """The random numbers of one round of a batch of runs: `now.random` in policies, `random` in rewards and delays.

    `uniform(slots)` and `normal(slots)` return one number per slot and run, float `[slots, *runs]`; `beta(a, b)` and
    `small_beta(a, b)` return one per pair of parameters. Floats are float32, or float64 where JAX is told to use it.

    Every number is a function of the key of the simulation, the instance, the seed, the counter `t`, the purpose and
    the slot; nothing is carried from round to round. Equal calls therefore return equal numbers, also calls of
    `uniform` and `normal` with the same slots: ask once for all the slots that a round needs, and cut the result.

    In a policy the counter is the round: `now.random.uniform(len(now.pulls))` gives one number per arm. In
    `Reward.draw(mean, random)` and `Delay.draw(reward, random)` the counter is the number of the arm's play, so that
    the numbers of a play are the same in whichever round it takes place. There the slots are those of the n plays, in
    turn: `random.uniform(n)` gives one number per play, for n = `len(mean)` or `len(reward)`; `random.uniform(2 * n)`
    gives two, where rows i and n + i belong to play i. The numbers of policies, rewards and delays are independent.

    Attributes:
        key: the key words of the runs, two uint32 arrays `[1, *runs]`.
        t: the counter, uint32. In a policy it is the round, from 1 on, a scalar. In a reward or a delay it is the
            number of earlier plays of each played arm, from 0 on, `[n, *runs]`.
        purpose: an integer from 0 to 15; the numbers of different purposes are independent.
        arms: K where `t` is the number of a play, else 1. Slot s then belongs to arm s mod K.
        arm: the n arms whose numbers are drawn, int32 `[n, *runs]`, or None for all K. With n arms, slot s belongs to
            arm s mod n of the list and is slot (s div n) K + arm of the stream of all arms.

    Example:
        >>> class Perturbed(jb.Index):
        ...     def value(self, state, now):
        ...         return now.mean + now.random.normal(len(now.pulls)) / now.samples
        >>> class Mixture(jb.Reward):
        ...     def draw(self, mean, random):
        ...         u = random.uniform(2 * len(mean))
        ...         high, noise = u[: len(mean)] < 0.5, u[len(mean) :]
        ...         return mean + jnp.where(high, 0.5, -0.5) + 0.1 * (noise - 0.5)
        >>> run_keys = jnp.zeros((1, 3), jnp.uint32), jnp.arange(3, dtype=jnp.uint32)[None]  # three runs
        >>> random = jb.Stream(run_keys, t=jnp.uint32(1))
        >>> random.uniform(4).shape, random.normal(2).dtype
        ((4, 3), dtype('float32'))
    """

    key: tuple[Array, Array]
    t: Array
    purpose: int = static(default=POLICY)
    arms: int = static(default=1)
    arm: Array | None = None

    def for_purpose(self, purpose: int) -> Stream:
        """The numbers of the same round for another purpose."""
        return dataclasses.replace(self, purpose=purpose)

    def for_play(self, number: Array, arm: Array | None, arms: int) -> Stream:
        """The numbers of each arm's play `number`, in whatever round it takes place.

        Args:
            number: the number of earlier plays of the arm, int32 `[K, *runs]`, or `[n, *runs]` with `arm`.
            arm: the n arms that are played, int32 `[n, *runs]`; None for all arms.
            arms: K.
        """
        return dataclasses.replace(self, t=number.astype(jnp.uint32), arm=arm, arms=arms)

    def words(self, slots: int | Array, attempt: int | Array = 0) -> tuple[Array, Array]:
        """Two uint32 words per slot.

        Args:
            slots: the number of slots, or their indices below 2^20, int32 `[n, *runs]`.
            attempt: a number below 256, or an array of the shape of `slots`; each attempt has its own words.

        Returns:
            Two uint32 arrays `[n, *runs]`.
        """
        k0, k1 = self.key
        which = indices(slots, k0.ndim) if isinstance(slots, int) else slots
        counter, arm = self.t, self.arm
        listed = self.arms if arm is None else len(arm)
        if listed > 1 and not (isinstance(slots, int) and slots == listed):  # slot s: the listed arm s mod n
            runs = jnp.broadcast_shapes(which.shape[1:], counter.shape[1:])
            place = jnp.broadcast_to(which % listed, (len(which), *runs))
            counter = jnp.take_along_axis(counter, place, axis=0)
            arm = None if arm is None else jnp.take_along_axis(arm, place, axis=0)
        if arm is not None:
            which = which // listed * self.arms + arm
        again = jnp.asarray(attempt).astype(jnp.uint32) << np.uint32(20)
        place = np.uint32(self.purpose << 28) | again | which.astype(jnp.uint32)
        return threefry2x32((k0, k1), (counter, place), rounds=13)

    def uniform(self, slots: int | Array = 1, attempt: int | Array = 0) -> Array:
        """Uniform numbers in [0, 1), float `[slots, *runs]`: multiples of 2^-24, in float64 of 2^-53.

        Args:
            slots, attempt: as for `words`; usually the number of slots alone.
        """
        return unit(*self.words(slots, attempt), dtype=jnp.result_type(float))

    def normal(self, slots: int | Array = 1, attempt: int | Array = 0) -> Array:
        """Standard normal numbers, float `[slots, *runs]` (Box & Muller 1958), of magnitude up to 6.77.

        Args:
            slots, attempt: as for `words`; usually the number of slots alone.
        """
        return normal(*without_fusion(lambda: self.words(slots, attempt), self.key[0]))  # else computed for each word

    def beta(self, a: Array, b: Array) -> Array:
        """Beta(a, b) for parameters >= 1: X / (X + Y) for X and Y of Gamma distributions.

        Args:
            a, b: the parameters, floats `[slots, *runs]`.

        Returns:
            Numbers in [0, 1], float `[slots, *runs]`.
        """
        x, y = jnp.split(gamma_numbers(self, jnp.concatenate([a, b])), 2)
        return _share(x, y)

    def small_beta(self, a: Array, b: Array) -> Array:
        """Beta(a, b) for any positive parameters; arguments and result as for `beta`.

        Gamma(a) = Gamma(a + 1) U^(1/a) (Marsaglia & Tsang 2000, sec. 6); the powers are kept as logarithms, so that
        neither draw underflows.
        """
        shape = jnp.concatenate([a, b])
        uniform = 1.0 - self.uniform(len(shape), attempt=255)
        x, y = jnp.split(gamma_numbers(self, shape + 1.0), 2)
        power_x, power_y = jnp.split(jnp.log(uniform) / shape, 2)
        larger = jnp.maximum(power_x, power_y)
        x, y = x * jnp.exp(power_x - larger), y * jnp.exp(power_y - larger)
        return _share(x, y)


def _share(x: Array, y: Array) -> Array:
    """x / (x + y), at most 1. The quotient of a GPU has an error of up to two units in the last place."""
    share = x / (x + y)
    return share if on_cpu() else jnp.minimum(share, 1.0)
