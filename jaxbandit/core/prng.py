"""Counter-based random numbers: every number is a function of (key, instance, run, counter, purpose, arm).

The counter is the round or, for rewards and delays, the number of the arm's play. The generator has no state that is
carried from round to round, so run i of instance j draws the same numbers in every batch and block and on every
device. The generator is Threefry-2x32 (Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3",
SC 2011): with 20 rounds where keys are derived, with 13 for draws, which pass BigCrush (their Table 2).
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import TypeGuard, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.typing import DTypeLike

from jaxbandit.core.errors import InputError
from jaxbandit.core.input_values import is_key, is_whole_number, to_python
from jaxbandit.core.struct import static, struct
from jaxbandit.core.xla.fusion import without_fusion

Words = TypeVar("Words", Array, np.ndarray)

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)

# The purpose of a draw. A policy draws with POLICY, the policy that it wraps with POLICY + 1, and so on.
INSTANCE, REWARD, BINARISE, AVAILABILITY, DELAY, POLICY = range(6)
TIES = 15  # the largest purpose: no policy wraps so many


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
    return _unit(w0, w1, np.float64)


def _unit(w0: Words, w1: Words, dtype: DTypeLike) -> Words:
    """A number in [0, 1) from two words: 24 bits in float32, 53 in float64, of which the first 24 are the same."""
    if dtype == np.float32:
        return (w0 >> np.uint32(8)).astype(np.int32).astype(dtype) * np.float32(2.0**-24)
    high, low = w0.astype(dtype), (w1 >> np.uint32(11)).astype(dtype)
    return (high * 2.0**21 + low) * 2.0**-53


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
        which = _indices(slots, k0.ndim) if isinstance(slots, int) else slots
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
        return _unit(*self.words(slots, attempt), dtype=jnp.result_type(float))

    def normal(self, slots: int | Array = 1, attempt: int | Array = 0) -> Array:
        """Standard normal numbers, float `[slots, *runs]` (Box & Muller 1958), of magnitude up to 6.77.

        Args:
            slots, attempt: as for `words`; usually the number of slots alone.
        """
        return _normal(*without_fusion(lambda: self.words(slots, attempt), self.key[0]))  # else computed for each word

    def beta(self, a: Array, b: Array) -> Array:
        """Beta(a, b) for parameters >= 1, by rejection (Cheng 1978).

        Args:
            a, b: the parameters, floats `[slots, *runs]`.

        Returns:
            Numbers in [0, 1], float `[slots, *runs]`; NaN for parameters below 1 by more than a rounding error, which
            `small_beta` takes.
        """
        return _accepted(self, _propose_beta, a, b)

    def small_beta(self, a: Array, b: Array) -> Array:
        """Beta(a, b) for any positive parameters; arguments and result as for `beta`.

        Gamma(a) = Gamma(a + 1) U^(1/a) (Marsaglia & Tsang 2000, sec. 6); the powers are kept as logarithms, so that
        neither draw underflows.
        """
        shape = jnp.concatenate([a, b])
        uniform = 1.0 - self.uniform(len(shape), attempt=255)
        x, y = jnp.split(_accepted(self, _propose_gamma, shape + 1.0), 2)
        power_x, power_y = jnp.split(jnp.log(uniform) / shape, 2)
        larger = jnp.maximum(power_x, power_y)
        x, y = x * jnp.exp(power_x - larger), y * jnp.exp(power_y - larger)
        return x / (x + y)


NORMAL_TAIL = math.sqrt(2 * 33 * math.log(2))  # 6.76 = sqrt(-2 log u) for the least uniform number, u = 2^-33


def _normal(w0: Array, w1: Array) -> Array:
    """A standard normal number from two words, of the default float dtype."""
    dtype = jnp.result_type(float)
    radius = jnp.sqrt(-2.0 * jnp.log((w0.astype(dtype) + 0.5) * 2.0**-32))
    return radius * _cosine(_unit(w1, w0, dtype))


def _cosine(turn: Array) -> Array:
    """cos(2 pi turn) for turn in [0, 1).

    In float32 by a polynomial, with an error below 2e-7: XLA's CPU compiler does not vectorise its own cosine.
    """
    if turn.dtype != jnp.float32:
        return jnp.cos(2.0 * np.pi * turn)
    x = 2.0 * np.pi * (0.25 - jnp.abs(turn - 0.5))  # cos(2 pi turn) = -sin(x), |x| <= pi / 2
    y = x * x
    series: Array | float = 1.0
    for n in (10, 8, 6, 4, 2):  # the Taylor series of sin(x) / x, to x^10
        series = 1.0 - y / (n * (n + 1.0)) * series
    return -x * series


def _indices(count: int, ndim: int) -> Array:
    """0, ..., count - 1 along the first of `ndim` axes, int32."""
    return jnp.arange(count, dtype=jnp.int32).reshape((count,) + (1,) * (ndim - 1))


_COLUMN = 24  # slots per column, of which one at a time is redrawn (measured)


# Draws a candidate per slot with parameters that may have been refused before, and whether each is accepted:
# (stream, slots, attempt, *parameters) -> (candidates, accepted).
Proposal = Callable[..., tuple[Array, Array]]


def _propose_beta(stream: Stream, slot: Array, attempt: Array, a: Array, b: Array) -> tuple[Array, Array]:
    """A candidate for Beta(a, b), a, b >= 1, and whether it is accepted: 68 to 100 % are, 89 % for large equal a and b.

    Cheng (1978), "Generating beta variates with nonintegral shape parameters", algorithm BB: logit(x) - logit(m), for
    the mean m = a / (a + b), is proposed from a logistic distribution of scale 1 / l. With n = a + b, s = logit(x) -
    logit(m) and the uniform number u that s is made of, a candidate is accepted with probability
    exp(-n (log(1 + y) - m s)) / (4 u (1 - u)), where y = m (e^s - 1). So that no digits cancel, m s is taken out of
    both terms, and of x and 1 - x that of the smaller mean is drawn.
    """
    dtype = a.dtype

    def draws() -> tuple[Array, Array]:
        w0, w1 = stream.words(slot, 2 * attempt)
        if dtype == jnp.float32:
            return ((w0 >> np.uint32(9)).astype(jnp.int32).astype(dtype) + 0.5) * 2.0**-23, _unit(w1, w0, dtype)
        u = (_unit(w0, w1, dtype) + 2.0**-54) * (1.0 - 2.0**-53)
        return u, _unit(*stream.words(slot, 2 * attempt + 1), dtype)

    u, below = without_fusion(draws, stream.key[0])
    low, high, n = jnp.minimum(a, b), jnp.maximum(a, b), a + b
    rest = jnp.maximum(n - 2.0, jnp.finfo(dtype).tiny)  # not 0 / 0
    scale = jnp.sqrt(rest / (rest + 2.0 * (a - 1.0) * (b - 1.0)))  # 1 / l
    s = scale * jnp.log(u / (1.0 - u))
    beyond = _expm1_tail(s)
    y = low / n * (beyond + s)
    refused = jnp.log(4.0 * u * (1.0 - u) * (1.0 - below)) > -(n * _log1p_tail(y, 2) + low * beyond)
    odds = low * jnp.exp(s)
    x = jnp.where(a > b, high, odds) / (high + odds)
    # Parameters that should be 1 may be rounded to less. NaN is accepted, or the redraws would not end.
    return jnp.where(low < 0.9, jnp.nan, x), ~refused


def _propose_gamma(stream: Stream, slot: Array, attempt: Array, shape: Array) -> tuple[Array, Array]:
    """A candidate for Gamma(shape), shape >= 1, and whether it is accepted; at least 95 % are.

    Marsaglia & Tsang (2000), Fig. 1, with v = (1 + y)^3. Since x^2 / 2 = 9 d y^2 / 2, the bound on log U is
    3 d (log(1 + y) - y + y^2 / 2 - y^3 / 3), a form that loses no digits for large shapes.
    """
    d = shape - 1.0 / 3.0

    def draws() -> tuple[Array, Array]:
        # Numbers, not their words: a loop that makes one array calls Threefry once for both words of each number.
        return _normal(*stream.words(slot, 2 * attempt)), _unit(*stream.words(slot, 2 * attempt + 1), shape.dtype)

    x, u = without_fusion(draws, stream.key[0])
    y = x / jnp.sqrt(9.0 * d)
    refused = (y <= -1.0) | (jnp.log(1.0 - u) >= 3.0 * d * _log1p_tail(jnp.maximum(y, -1.0), 4))
    return d * (1.0 + y) ** 3, ~refused


def _log1p_tail(y: Array, first: int) -> Array:
    """The series of log(1 + y) from its power `first` on, continued to all y >= -1.

    In float32 by the series near 0, where the difference from log(1 + y) would lose digits.
    """
    difference = jnp.log1p(y) if y.dtype != jnp.float32 else jnp.log(1.0 + y)
    head: Array | float = 0.0
    for n in range(first - 1, 0, -1):
        head = 1.0 / n - y * head
    difference -= y * head
    if y.dtype != jnp.float32:
        return difference
    series: Array | float = 1.0 / 14.0
    for n in range(13, first - 1, -1):
        series = 1.0 / n - y * series
    return jnp.where(jnp.abs(y) < 0.25, (-1.0) ** (first + 1) * series * y**first, difference)


def _expm1_tail(s: Array) -> Array:
    """e^s - 1 - s; near 0 by its series, where the difference would lose digits."""
    series: Array | float = 1.0
    for n in range(9, 2, -1):
        series = 1.0 + s / n * series
    return jnp.where(jnp.abs(s) < 0.5, 0.5 * s * s * series, jnp.exp(s) - 1.0 - s)


def _accepted(stream: Stream, propose: Proposal, *parameters: Array) -> Array:
    """Numbers by rejection, `[slots, *runs]`: all slots at once, then the few that were refused again.

    The slots form columns of at most `_COLUMN`. Each later pass redraws one refused slot per column, so that it costs a
    fraction of the first pass.

    Args:
        propose: a `Proposal`.
        parameters: its parameters, floats `[slots, *runs]`, which may all be 1.
    """
    runs, slots = stream.key[0].shape[1:], len(parameters[0])
    columns = -(-slots // _COLUMN)
    rows = -(-slots // columns)
    table = (rows, columns, *runs)

    def filled(parameter: Array) -> Array:
        padding = jnp.ones((rows * columns - slots, *runs), parameter.dtype)
        return jnp.concatenate([jnp.broadcast_to(parameter, (slots, *runs)), padding])

    full = [filled(parameter) for parameter in parameters]
    slot = jnp.broadcast_to(_indices(rows * columns, full[0].ndim), full[0].shape)
    value, accepted = propose(stream, slot, jnp.zeros_like(slot), *full)
    tables, row = [x.reshape(table) for x in full], lax.broadcasted_iota(jnp.int32, table, 0)
    column = jnp.broadcast_to(_indices(columns, full[0].ndim), table[1:])
    # Bit r of a column: the slot in row r was refused.
    bits = jnp.where((~accepted & (slot < slots)).reshape(table), 1 << row, 0)
    refused = jnp.sum(bits, axis=0, dtype=jnp.int32)

    def unfinished(carry: tuple[Array, Array, Array]) -> Array:
        return jnp.any(carry[1] != 0)

    def redraw(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        value, refused, attempt = carry
        place = lax.population_count(~refused & (refused - 1))  # the first refused slot of each column; 32 for none
        own = [functools.reduce(lambda x, r: jnp.where(place == r, table[r], x), range(rows), ones) for table in tables]
        candidate, accepted = without_fusion(
            lambda: propose(stream, jnp.minimum(place, rows) * columns + column, attempt, *own), own[0]
        )
        done = jnp.where(accepted, place, -1)
        # Attempts stop at 126; more are needed once in 10^62 draws.
        attempt = jnp.where(accepted, 1, jnp.minimum(attempt + 1, 126))
        value = jnp.where(row == done[None], candidate[None], value)
        return value, jnp.where(accepted, refused & (refused - 1), refused), attempt

    first, ones = jnp.ones(table[1:], jnp.int32), jnp.ones(table[1:], value.dtype)
    value = lax.while_loop(unfinished, redraw, (value.reshape(table), refused, first))[0]
    return value.reshape((rows * columns, *runs))[:slots]
