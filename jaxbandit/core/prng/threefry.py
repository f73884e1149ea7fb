"""Threefry-2x32, the keys of runs, and uniform numbers from words."""

from __future__ import annotations

from typing import TypeGuard, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import DTypeLike

from jaxbandit.core.errors import InputError
from jaxbandit.core.input_values import is_key, is_whole_number, to_python

Words = TypeVar("Words", Array, np.ndarray)

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)


def threefry2x32(key: tuple[Words, Words], counter: tuple[Words, Words], rounds: int) -> tuple[Words, Words]:
    """Threefry-2x32: two uint32 words from two words of key and two of counter; NumPy or JAX arrays."""
    schedule = (*key, key[0] ^ key[1] ^ _PARITY)
    x0, x1 = counter[0] + schedule[0], counter[1] + schedule[1]
    for r in range(rounds):
        rotation = np.uint32(_ROTATIONS[(r // 4) % 2][r % 4])
        x0 = x0 + x1
        x1 = ((x1 << rotation) | (x1 >> (np.uint32(32) - rotation))) ^ x0
        if r % 4 == 3:  # a key injection after every fourth round
            n = r // 4 + 1
            x0, x1 = x0 + schedule[n % 3], x1 + schedule[(n + 1) % 3] + np.uint32(n)
    return x0, x1


def key_as_integer(key: object) -> int:
    """The key of a simulation as an integer from 0 to 2^64 - 1, which gives the same runs.

    Args:
        key: such an integer, of Python, NumPy or JAX; or one key of `jax.random.key` or `jax.random.PRNGKey`. All words
            of a key of more than two words are used.

    Raises:
        InputError: anything else, such as an array of keys.
    """
    allowed = "an integer from 0 to 2^64 - 1, or one key of jax.random"
    if is_key(key) or _is_raw_key(key):
        with jax.ensure_compile_time_eval():  # where a function is traced, the key is a constant of it
            data = np.asarray(jax.random.key_data(key) if is_key(key) else key)
        if data.ndim != 1 or len(data) % 2 or not len(data):
            raise InputError("simulation.key", key, f"{allowed}; this is an array of keys: take one, as key[0]")
        (high, low), *more = data.astype(np.uint32).reshape(-1, 2, 1)
        for pair in more:
            high, low = threefry2x32((high, low), (pair[0], pair[1]), rounds=20)
        return int(high[0]) << 32 | int(low[0])
    number = to_python(key)
    if not is_whole_number(number, 0) or number >= 1 << 64:
        raise InputError("simulation.key", key, allowed)
    return int(number)


def _is_raw_key(key: object) -> TypeGuard[np.ndarray | Array]:
    """Whether the value is a key of `jax.random.PRNGKey`, or an array of such keys."""
    return isinstance(key, np.ndarray | Array) and key.ndim > 0 and bool(key.dtype == np.uint32)


def key_words(key: object) -> tuple[np.ndarray, np.ndarray]:
    """The two words of the key of a simulation, uint32 `[1]`; `key` as for `key_as_integer`."""
    number = key_as_integer(key)
    return np.array([number >> 32], np.uint32), np.array([number & 0xFFFFFFFF], np.uint32)


def run_keys(key: object, instances: np.ndarray, seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The key words of runs.

    Args:
        key: the key of the simulation, as for `key_as_integer`.
        instances: the index of each run's instance, an integer array.
        seeds: the index of each run among the runs of its instance, an integer array; both broadcast to `[*runs]`.

    Returns:
        Two uint32 arrays `[1, *runs]`.
    """
    j, i = np.broadcast_arrays(instances.astype(np.uint32), seeds.astype(np.uint32))
    k0, k1 = threefry2x32(key_words(key), (j[None], i[None]), rounds=20)
    return k0, k1


def traced_run_keys(key: object, instances: Array, seeds: Array) -> tuple[Array, Array]:
    """`run_keys` of arguments that JAX may trace: two uint32 arrays of the shape to which they broadcast.

    Args:
        key: as for `key_as_integer`; if it is traced, a key of `jax.random` or an integer of 32 bits.
        instances, seeds: integer arrays.
    """
    j, i = jnp.broadcast_arrays(instances.astype(jnp.uint32), seeds.astype(jnp.uint32))
    return threefry2x32(_traced_words(key), (j, i), rounds=20)


def _traced_words(key: object) -> tuple[Array, Array]:
    """`key_words` of a key that JAX may trace, uint32 scalars."""
    if not isinstance(key, jax.core.Tracer):
        known = key_words(key)
        return jnp.asarray(known[0][0]), jnp.asarray(known[1][0])
    typed = is_key(key)
    one_number = key.ndim == 0 and jnp.issubdtype(key.dtype, jnp.integer)
    one_key = key.ndim == 0 if typed else key.dtype == jnp.uint32 and key.shape in ((2,), (4,))
    if not (one_number or one_key):
        words = "one integer or one key of `jax.random`; map over several with `jax.vmap`"
        raise InputError("key", f"a traced array of {key.dtype}, shape {key.shape}", words)
    if typed:
        key = jax.random.key_data(key)
    if key.ndim == 0:
        return jnp.zeros((), jnp.uint32), key.astype(jnp.uint32)
    first, *more = key.reshape(-1, 2)
    high, low = first[0], first[1]
    for pair in more:
        high, low = threefry2x32((high, low), (pair[0], pair[1]), rounds=20)
    return high, low


def uniform_table(key: object, instances: int, arms: int) -> np.ndarray:
    """Uniform numbers in [0, 1), float64 `[instances, arms]`, for means that are drawn at random."""
    j, k = np.meshgrid(np.arange(instances, dtype=np.uint32), np.arange(arms, dtype=np.uint32), indexing="ij")
    k0, k1 = key_words(key)
    w0, w1 = threefry2x32(
        (~k0, ~k1),  # another key than any run has
        (j, k),
        rounds=20,
    )
    return unit(w0, w1, np.float64)


def unit(w0: Words, w1: Words, dtype: DTypeLike) -> Words:
    """A number in [0, 1) from two words: 24 bits in float32, 53 in float64, of which the first 24 are the same."""
    if dtype == np.float32:
        return (w0 >> np.uint32(8)).astype(np.int32).astype(dtype) * np.float32(2.0**-24)
    high, low = w0.astype(dtype), (w1 >> np.uint32(11)).astype(dtype)
    return (high * 2.0**21 + low) * 2.0**-53
