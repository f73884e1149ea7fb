"""Counter-based randomness: every number is a function of (key, instance, run, round, purpose, arm).

Nothing is carried from round to round, so run i of instance j draws the same numbers whatever the batch, the
block or the device. The generator is Threefry-2x32 of Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as
easy as 1, 2, 3" (SC 2011): 20 rounds where keys are derived, 13 (which pass BigCrush, their Table 2) for draws.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from .errors import InputError
from .struct import static, struct

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)

# What a draw is for; policies start at POLICY and each base index they wrap draws one further.
INSTANCE, REWARD, BINARISE, AVAILABILITY, DELAY, POLICY = range(6)


def threefry2x32(key: tuple[Any, Any], counter: tuple[Any, Any], rounds: int) -> tuple[Any, Any]:
    """Threefry-2x32: two uint32 words of key and two of counter to two words, NumPy and JAX arrays alike."""
    schedule = (*key, key[0] ^ key[1] ^ _PARITY)
    x0, x1 = counter[0] + schedule[0], counter[1] + schedule[1]
    for r in range(rounds):
        turn = np.uint32(_ROTATIONS[(r // 4) % 2][r % 4])
        x0 = x0 + x1
        x1 = ((x1 << turn) | (x1 >> (np.uint32(32) - turn))) ^ x0
        if r % 4 == 3:  # a key injection after every fourth round
            n = r // 4 + 1
            x0, x1 = x0 + schedule[n % 3], x1 + schedule[(n + 1) % 3] + np.uint32(n)
    return x0, x1


def key_words(key: Any) -> tuple[np.ndarray, np.ndarray]:
    """The two words of a simulation's key.

    Args:
        key: an integer in [0, 2^64), or a key of `jax.random`.

    Raises:
        InputError: anything else.
    """
    if isinstance(key, Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        data = np.asarray(jax.random.key_data(key), np.uint32).ravel()
        return data[:1], data[-1:]
    if isinstance(key, bool) or not isinstance(key, int | np.integer) or not 0 <= key < 1 << 64:
        raise InputError("simulation.key", key, "an integer from 0 to 2^64 - 1")
    return tuple(np.array([word], np.uint32) for word in (int(key) >> 32, int(key) & 0xFFFFFFFF))  # type: ignore[return-value]


def run_keys(key: Any, instances: np.ndarray, seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The key words of runs.

    Args:
        key: of the simulation, as `key_words` takes it.
        instances, seeds: the number of each run's instance and its number among that instance's runs; integer
            arrays that broadcast to `[*runs]`.

    Returns:
        Two uint32 arrays `[1, *runs]`.
    """
    j, i = np.broadcast_arrays(instances.astype(np.uint32), seeds.astype(np.uint32))
    k0, k1 = threefry2x32(key_words(key), (j[None], i[None]), rounds=20)
    return k0, k1


def uniform_table(key: Any, instances: int, arms: int) -> np.ndarray:
    """Uniform float64 numbers in [0, 1), `[instances, arms]`: what instances drawn at random are drawn with."""
    j, k = np.meshgrid(np.arange(instances, dtype=np.uint32), np.arange(arms, dtype=np.uint32), indexing="ij")
    k0, k1 = key_words(key)
    w0, w1 = threefry2x32(
        (~k0, ~k1),  # a key of its own: no run shares it
        (j, k),
        rounds=20,
    )
    return _unit(w0, w1, np.float64)


def _unit(w0: Any, w1: Any, dtype: Any) -> Any:
    """Words to [0, 1): 24 bits in float32, 53 in float64, of which the first 24 are the same."""
    if dtype == np.float32:
        return (w0 >> np.uint32(8)).astype(np.int32).astype(dtype) * np.float32(2.0**-24)
    high, low = w0.astype(dtype), (w1 >> np.uint32(11)).astype(dtype)
    return (high * 2.0**21 + low) * 2.0**-53


@struct
class Stream:
    """The random numbers of one round of a batch of runs.

    Attributes:
        key: two uint32 arrays `[1, *runs]`.
        t: the round, uint32 scalar.
        purpose: what the numbers are for; two purposes never share one.
    """

    key: tuple[Any, Any]
    t: Any
    purpose: int = static(POLICY)

    def towards(self, purpose: int) -> Stream:
        """The same round's numbers for another purpose."""
        return dataclasses.replace(self, purpose=purpose)

    def words(self, slots: int, attempt: Any = 0) -> tuple[Array, Array]:
        """Two uint32 words for each of `slots` slots, `[slots, *runs]`; `attempt` (< 256) renews them."""
        k0, k1 = self.key
        slot = jnp.arange(slots, dtype=jnp.uint32).reshape((slots,) + (1,) * (k0.ndim - 1))
        place = np.uint32(self.purpose << 28) | (jnp.uint32(attempt) << np.uint32(20)) | slot
        return threefry2x32((k0, k1), (self.t, place), rounds=13)

    def uniform(self, slots: int = 1, attempt: Any = 0) -> Array:
        """Uniform on [0, 1), `[slots, *runs]`, of the default float dtype."""
        return _unit(*self.words(slots, attempt), dtype=jnp.result_type(float))

    def normal(self, slots: int = 1, attempt: Any = 0) -> Array:
        """Standard normal, `[slots, *runs]` (Box & Muller 1958); tails reach 6.7 standard deviations."""
        dtype = jnp.result_type(float)
        w0, w1 = (w.astype(dtype) for w in self.words(slots, attempt))
        radius = jnp.sqrt(-2.0 * jnp.log((w0 + 0.5) * 2.0**-32))
        return radius * jnp.cos(w1 * (2.0 * np.pi * 2.0**-32))

    def beta(self, a: Array, b: Array) -> Array:
        """Beta(a, b) for arrays `[slots, *runs]` of positive parameters, exact in distribution.

        X / (X + Y) of two Gamma draws; for shapes below 1, Gamma(a) = Gamma(a + 1) U^(1/a) with the powers
        kept as logarithms so that neither draw underflows (Marsaglia & Tsang 2000, sec. 6).
        """
        slots = a.shape[0]
        shape = jnp.concatenate([a, b])
        small = shape < 1.0
        draw = _gamma(self, jnp.where(small, shape + 1.0, shape))
        power = jnp.where(small, jnp.log(1.0 - self.uniform(2 * slots, attempt=255)) / shape, 0.0)
        x, y = draw[:slots], draw[slots:]
        top = jnp.maximum(power[:slots], power[slots:])
        x, y = x * jnp.exp(power[:slots] - top), y * jnp.exp(power[slots:] - top)
        return x / (x + y)


def _gamma(stream: Stream, shape: Array) -> Array:
    """Gamma(shape) for shapes >= 1 by Marsaglia & Tsang (2000): each attempt accepts at least 95 in 100."""
    slots = shape.shape[0]
    d = shape - 1.0 / 3.0
    c = 1.0 / jnp.sqrt(9.0 * d)

    def attempt(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        n, value, done = carry
        x = stream.normal(slots, attempt=2 * n)
        u = stream.uniform(slots, attempt=2 * n + 1)
        y = c * x
        v = (1.0 + y) ** 3
        # d - dv + d log v of the paper as d (3 log1p(y) - (v - 1)): no cancellation at large shapes.
        log_ratio = 0.5 * x * x + d * (3.0 * jnp.log1p(jnp.maximum(y, -1.0)) - y * (3.0 + y * (3.0 + y)))
        accept = (y > -1.0) & (jnp.log(1.0 - u) < log_ratio)
        return n + 1, jnp.where(accept & ~done, d * v, value), done | accept

    def unfinished(carry: tuple[Array, Array, Array]) -> Array:
        return ~jnp.all(carry[2]) & (carry[0] < 127)  # 127 refusals: once in 10^165

    start = (
        jnp.int32(0),
        d,
        jnp.zeros(jnp.broadcast_shapes(d.shape, (slots, *stream.key[0].shape[1:])), bool),
    )
    start = (start[0], jnp.broadcast_to(d, start[2].shape), start[2])
    return lax.while_loop(unfinished, attempt, start)[1]
