"""Counter-based randomness: every number is a function of (key, instance, run, counter, purpose, arm).

The counter is the round or, for rewards, the number of the arm's play. Nothing is carried from round to round, so
run i of instance j draws the same numbers whatever the batch, the block or the device. The generator is
Threefry-2x32 of Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011): 20 rounds
where keys are derived, 13 (which pass BigCrush, their Table 2) for draws.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.errors import InputError
from jaxbandit.core.input_values import is_key, is_whole_number, to_python
from jaxbandit.core.struct import static, struct
from jaxbandit.core.xla.fusion import without_fusion

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


def key_as_integer(key: Any) -> int:
    """A simulation's key as an integer in [0, 2^64), which gives the same runs.

    Args:
        key: such an integer, NumPy's and JAX's among them; or one key of `jax.random`: of `jax.random.key`, or the
            words of `jax.random.PRNGKey`. Of a key of more than two words every word counts.

    Raises:
        InputError: anything else, and arrays of keys.
    """
    allowed = "an integer from 0 to 2^64 - 1, or one key of jax.random"
    if is_key(key) or _is_raw_key(key):
        data = np.asarray(jax.random.key_data(key) if is_key(key) else key)
        if data.ndim != 1 or len(data) % 2 or not len(data):
            raise InputError("simulation.key", key, f"{allowed}; this is an array of keys: take one, as key[0]")
        pairs: list[Any] = list(data.astype(np.uint32).reshape(-1, 2, 1))
        high, low = functools.reduce(lambda key, pair: threefry2x32((*key,), (*pair,), rounds=20), pairs)
        return int(high[0]) << 32 | int(low[0])
    number = to_python(key)
    if not is_whole_number(number, 0) or number >= 1 << 64:
        raise InputError("simulation.key", key, allowed)
    return int(number)


def _is_raw_key(key: Any) -> bool:
    """Whether it is what `jax.random.PRNGKey` gives, or an array of such."""
    return isinstance(key, np.ndarray | Array) and key.ndim > 0 and key.dtype == np.uint32


def key_words(key: Any) -> tuple[np.ndarray, np.ndarray]:
    """The two words of a simulation's key, as `key_number` takes it, uint32 `[1]`."""
    number = key_as_integer(key)
    return np.array([number >> 32], np.uint32), np.array([number & 0xFFFFFFFF], np.uint32)


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
        t: the counter, uint32: the round, a scalar; or the number of a play, `[K or n, *runs]`.
        purpose: what the numbers are for; two purposes never share one.
        arms: K where `t` is the number of a play: slot s is one of arm s mod K.
        arm: the n arms whose numbers these are, int32 `[n, *runs]`: slot s is arm s mod n's, slot (s div n) K + arm of
            all; None for all K.
    """

    key: tuple[Any, Any]
    t: Any
    purpose: int = static(default=POLICY)
    arms: int = static(default=1)
    arm: Any = None

    def for_purpose(self, purpose: int) -> Stream:
        """The same round's numbers for another purpose."""
        return dataclasses.replace(self, purpose=purpose)

    def for_play(self, number: Array, arm: Array | None, arms: int) -> Stream:
        """The numbers of each arm's play `number`, whichever its round: of all arms, or of the n in `arm`.

        Args:
            number: plays of the arm before this one, int32 `[K, *runs]`; `[n, *runs]` with `arm`.
            arm: None, or int32 `[n, *runs]`.
            arms: K.
        """
        return dataclasses.replace(self, t=number.astype(jnp.uint32), arm=arm, arms=arms)

    def words(self, slots: int | Array, attempt: Any = 0) -> tuple[Array, Array]:
        """Two uint32 words for each slot.

        Args:
            slots: how many, or which: an int32 array `[n, *runs]`, below 2^20.
            attempt: below 256; another one renews the words. A number, or an array as `slots`.

        Returns:
            Two uint32 arrays `[n, *runs]`.
        """
        k0, k1 = self.key
        which = _range(slots, k0.ndim) if isinstance(slots, int) else slots
        counter, arm = self.t, self.arm
        listed = self.arms if arm is None else len(arm)
        if listed > 1 and not (isinstance(slots, int) and slots == listed):  # slot s is the (s mod n)-th listed arm's
            runs = jnp.broadcast_shapes(which.shape[1:], counter.shape[1:])
            place = jnp.broadcast_to(which % listed, (len(which), *runs))
            counter = jnp.take_along_axis(counter, place, axis=0)
            arm = None if arm is None else jnp.take_along_axis(arm, place, axis=0)
        if arm is not None:
            which = which // listed * self.arms + arm
        again = jnp.asarray(attempt).astype(jnp.uint32) << np.uint32(20)
        place = np.uint32(self.purpose << 28) | again | which.astype(jnp.uint32)
        return threefry2x32((k0, k1), (counter, place), rounds=13)

    def uniform(self, slots: int | Array = 1, attempt: Any = 0) -> Array:
        """Uniform on [0, 1), `[slots, *runs]`, of the default float dtype."""
        return _unit(*self.words(slots, attempt), dtype=jnp.result_type(float))

    def normal(self, slots: int | Array = 1, attempt: Any = 0) -> Array:
        """Standard normal, `[slots, *runs]` (Box & Muller 1958); tails reach `NORMAL_TAIL` standard deviations."""
        return _normal(*without_fusion(lambda: self.words(slots, attempt), self.key[0]))  # once for both

    def beta(self, a: Array, b: Array) -> Array:
        """Beta(a, b) for arrays `[slots, *runs]` of parameters >= 1, exact in distribution: X / (X + Y), both Gamma."""
        x, y = jnp.split(_gamma(self, jnp.concatenate([a, b])), 2)
        return x / (x + y)

    def small_beta(self, a: Array, b: Array) -> Array:
        """Beta(a, b) for arrays `[slots, *runs]` of any positive parameters, exact in distribution.

        Gamma(a) = Gamma(a + 1) U^(1/a) (Marsaglia & Tsang 2000, sec. 6), the powers kept as logarithms so that
        neither draw underflows.
        """
        shape = jnp.concatenate([a, b])
        uniform = 1.0 - self.uniform(len(shape), attempt=255)
        x, y = jnp.split(_gamma(self, shape + 1.0), 2)
        power_x, power_y = jnp.split(jnp.log(uniform) / shape, 2)
        top = jnp.maximum(power_x, power_y)
        x, y = x * jnp.exp(power_x - top), y * jnp.exp(power_y - top)
        return x / (x + y)


NORMAL_TAIL = math.sqrt(2 * 33 * math.log(2))  # 6.76: the root of -2 log of the least uniform number, 2^-33


def _normal(w0: Array, w1: Array) -> Array:
    """A standard normal number of two words, of the default float dtype."""
    dtype = jnp.result_type(float)
    radius = jnp.sqrt(-2.0 * jnp.log((w0.astype(dtype) + 0.5) * 2.0**-32))
    return radius * _cosine(_unit(w1, w0, dtype))


def _cosine(turn: Array) -> Array:
    """cos(2 pi turn) for turn in [0, 1); in float32 to 2e-7, by a polynomial, since XLA's own runs lane by lane."""
    if turn.dtype != jnp.float32:
        return jnp.cos(2.0 * np.pi * turn)
    x = 2.0 * np.pi * (0.25 - jnp.abs(turn - 0.5))  # cos(2 pi turn) = -sin(x), |x| <= pi / 2
    y = x * x
    series: Any = 1.0
    for n in (10, 8, 6, 4, 2):  # Taylor's for sin(x) / x, to x^10
        series = 1.0 - y / (n * (n + 1.0)) * series
    return -x * series


def _range(count: int, ndim: int) -> Array:
    """0 .. count - 1 along the first of `ndim` axes, int32."""
    return jnp.arange(count, dtype=jnp.int32).reshape((count,) + (1,) * (ndim - 1))


_COLUMN = 24  # slots of which one at a time is redrawn; the Beta draws of a dozen arms


def _propose(stream: Stream, shape: Array, slot: Array, attempt: Any) -> tuple[Array, Array]:
    """A candidate for Gamma(shape), shape >= 1, and whether it is accepted: at least 95 in 100 are.

    Marsaglia & Tsang (2000), Fig. 1, with v = (1 + y)^3: as x^2 / 2 is 9 d y^2 / 2, what bounds log U is
    3 d (log(1 + y) - y + y^2 / 2 - y^3 / 3), in which large shapes lose no digits.
    """
    d = shape - 1.0 / 3.0
    attempts = jnp.broadcast_to(2 * attempt, slot.shape)
    both = jnp.concatenate([slot, slot]), jnp.concatenate([attempts, attempts + 1])

    def words() -> tuple[Array, ...]:
        # Each array is a Threefry of its own: all first words in one, as a smaller program is compiled sooner.
        return stream.words(*both)[0], stream.words(slot, attempts)[1], stream.words(slot, attempts + 1)[1]

    first, second, last = without_fusion(words, stream.key[0])
    x = _normal(first[: len(slot)], second)
    u = _unit(first[len(slot) :], last, shape.dtype)
    y = x / jnp.sqrt(9.0 * d)
    return d * (1.0 + y) ** 3, (y > -1.0) & (jnp.log(1.0 - u) < 3.0 * d * _log1p_remainder(jnp.maximum(y, -1.0)))


def _log1p_remainder(y: Array) -> Array:
    """log(1 + y) - y + y^2 / 2 - y^3 / 3; in float32 by its series near 0, where little of the difference is left."""
    difference = jnp.log1p(y) if y.dtype != jnp.float32 else jnp.log(1.0 + y)
    difference -= y * (1.0 - y * (1.0 / 2.0 - y * (1.0 / 3.0)))
    if y.dtype != jnp.float32:
        return difference
    series: Any = 1.0 / 14.0
    for n in range(13, 3, -1):
        series = 1.0 / n - y * series
    return jnp.where(jnp.abs(y) < 0.25, -series * (y * y) ** 2, difference)


def _gamma(stream: Stream, shape: Array) -> Array:
    """Gamma(shape) for shapes >= 1, `[slots, *runs]`: all slots at once, then the few refused ones.

    Slots stand in columns of at most `_COLUMN`, and each run's column its refused ones in turn: a pass then costs a
    fraction of the first, and there are hardly more passes than in a column's worst luck.
    """
    runs, slots = stream.key[0].shape[1:], len(shape)
    columns = -(-slots // _COLUMN)
    rows = -(-slots // columns)
    padding = jnp.ones((rows * columns - slots, *runs), shape.dtype)
    filled = jnp.concatenate([jnp.broadcast_to(shape, (slots, *runs)), padding])
    slot = jnp.broadcast_to(_range(rows * columns, filled.ndim), filled.shape)
    value, accepted = _propose(stream, filled, slot, 0)
    table = (rows, columns, *runs)
    filled, row = filled.reshape(table), lax.broadcasted_iota(jnp.int32, table, 0)
    refused = (~accepted & (slot < slots)).reshape(table)
    column = jnp.broadcast_to(_range(columns, filled.ndim - 1), table[1:])

    def unfinished(carry: tuple[Array, Array, Array]) -> Array:
        return jnp.any(carry[1])

    def again(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        value, refused, attempt = carry
        one = lax.argmax(refused, 0, jnp.int32)  # each column's first refused slot
        here = refused & (row == one[None])
        its = jnp.sum(jnp.where(here, filled, 0.0), axis=0)
        candidate, accepted = without_fusion(
            lambda: _propose(stream, jnp.where(its > 0, its, 1.0), one * columns + column, attempt), its
        )
        done = here & accepted[None]
        # Attempts end at 126: to need more happens once in 10^164 draws.
        attempt = jnp.where(accepted, 1, jnp.minimum(attempt + 1, 126))
        return jnp.where(done, candidate[None], value), refused & ~done, attempt

    first = jnp.ones(table[1:], jnp.int32)
    value = lax.while_loop(unfinished, again, (value.reshape(table), refused, first))[0]
    return value.reshape((rows * columns, *runs))[:slots]
