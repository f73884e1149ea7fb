"""Policies with one planted fault each, by the name of the check that finds it."""

import jax
import jax.numpy as jnp
import numpy as np

import jaxbandit as jb

PLANTED = [
    "numbers",
    "arms",
    "sleeping arms",
    "two arms",
    "chances",
    "zero delay",
    "late rewards",
    "batch",
    "Simulator",
    "vmap",
    "Agent",
]  # the faults of `Faulty`: numbers, so that all of them share their programs


@jax.custom_batching.custom_vmap
def misled_by_vmap(u, fault):
    return u


@misled_by_vmap.def_vmap
def _(size, mapped, u, fault):
    return jnp.where(fault == float(PLANTED.index("vmap")), 1 - u, u), mapped[0]


class Faulty(jb.Policy):
    """Selects one of the available arms at random. The fault is a number in `PLANTED`; -1 for none."""

    fault: float = jb.parameter(-1)
    many_plays = False

    def has(self, name):
        return self.fault == float(PLANTED.index(name))

    def init(self, world, shape):
        delayed = jnp.where(self.has("zero delay") & (not world.delay.immediate), 0.3, 0.0)
        peeked = jnp.where(self.has("Agent"), world.means[:1] + 0.1, 0.0)
        return jnp.broadcast_to(jnp.asarray(delayed + peeked), (1, *shape[1:]))

    def choose(self, state, now):
        arm = jnp.arange(len(now.pulls), dtype=jnp.int32).reshape((-1,) + (1,) * (now.pulls.ndim - 1))
        u = now.random.uniform(1)
        u = jnp.where(self.has("batch"), (u + jnp.sum(u)) % 1.0, u)
        u = jnp.where(self.has("Simulator") & (now.pulls.ndim == 2), 1 - u, u)
        u = misled_by_vmap(u, self.fault) if now.pulls.ndim == 2 else u
        u = (u + state) % 1.0
        awake = now.available | self.has("sleeping arms")
        awake = awake | (self.has("two arms") & (len(now.pulls) == 2))
        count = jnp.sum(awake, axis=0, keepdims=True, dtype=jnp.int32)
        place = jnp.floor(u * count.astype(u.dtype)).astype(jnp.int32)
        selected = awake & (jnp.cumsum(awake, axis=0, dtype=jnp.int32) - 1 == place)
        selected = selected & ~(self.has("arms") & (now.t == 9))
        lowest = jnp.argmax(now.available, axis=0, keepdims=True).astype(jnp.int32)
        selected = jnp.where(self.has("chances"), arm == lowest, selected)
        chances = jnp.where(awake, 1.0, 0.0) / jnp.maximum(count, 1).astype(u.dtype)
        chances = jnp.where(self.has("numbers") & (now.t == 5), jnp.nan, chances)
        lost = self.has("late rewards") & (now.pulls > now.received)  # the total may be 0
        return selected & now.available, jnp.where(lost, chances * now.total / now.total, chances)


def largest(now, scores):
    """The available arm with the largest score, int `[*runs]`; the first of several."""
    return jnp.argmax(now.best(scores.astype(float)), axis=0)


class Unprepared(jb.Index):
    """`prepare` fails."""

    def value(self, state, now):
        return now.mean

    def prepare(self, problem, horizon):
        raise ValueError("no table for these arms")


class Incomplete(jb.Index):
    """A parameter without default."""

    bonus: float

    def value(self, state, now):
        return now.mean + self.bonus


class Branching(jb.Policy):
    """Python's `if` on an array."""

    def select(self, state, now):
        if now.t > 10:
            return largest(now, now.mean)
        return largest(now, -now.pulls)


class Drifting(jb.Policy):
    """The state becomes a float."""

    def init(self, world, shape):
        return jnp.zeros(shape, jnp.int32)

    def select(self, state, now):
        return largest(now, state)

    def update(self, state, after, selected):
        return after.mean


class Transposed(Drifting):
    """The axes of the runs come first in the state."""

    def init(self, world, shape):
        return jnp.zeros((*shape[1:], shape[0]))

    def select(self, state, now):
        return largest(now, now.mean)

    def update(self, state, after, selected):
        return state


class Keyed(Transposed):
    """A key of `jax.random` in the state."""

    def init(self, world, shape):
        return jax.random.key(0)


class Counting(jb.Policy):
    """A list of Python remembers the calls."""

    calls = []  # noqa: RUF012

    def select(self, state, now):
        self.calls.append(now.t)
        return largest(now, -now.pulls)


class Drawing(jb.Policy):
    """NumPy's random numbers."""

    def select(self, state, now):
        return largest(now, now.mean + np.random.rand())  # noqa: NPY002


class Half(jb.Policy):
    """A state of float32, which becomes float64 where JAX uses it."""

    many_plays = False

    def init(self, world, shape):
        return jnp.zeros(shape, jnp.float32)

    def select(self, state, now):
        return largest(now, state)

    def update(self, state, after, selected):
        return after.mean


class OneOfSeveral(jb.Policy):
    """One arm, and `many_plays` is not set to False."""

    def select(self, state, now):
        return largest(now, -now.pulls)


class LowestFirst(jb.Policy):
    """Ties go to the lowest arm, whatever `ties` says."""

    many_plays = False

    def select(self, state, now):
        return jnp.argmin(jnp.where(now.available, now.pulls, now.horizon), axis=0)


class CallingBack(jb.Policy):
    """A callback to Python."""

    many_plays = False

    def select(self, state, now):
        jax.debug.callback(lambda t: None, now.t)
        return largest(now, -now.pulls)


class Recompiled(jb.Policy):
    """The horizon becomes part of the program."""

    window: int = jb.parameter(1, static=True)
    many_plays = False

    def prepare(self, problem, horizon):
        return super().prepare(problem, horizon).replace(window=horizon // 8)

    def select(self, state, now):
        return largest(now, -now.pulls)


class Misspelt(jb.Policy):
    """A method that nothing calls."""

    def select(self, state, now):
        return now.best(-now.pulls)

    def udpate(self, state, after, selected):
        return state


class Flat(jb.Policy):
    """A state without the axes of the runs."""

    def init(self, world, shape):
        return jnp.zeros(shape[0] - 1)

    def select(self, state, now):
        return now.best(now.mean + state)


class Undefined(jb.Policy):
    """A score is NaN until the first reward of its arm."""

    def select(self, state, now):
        return now.best(now.total / now.received.astype(now.total.dtype))


CLASSES = {
    "prepare": [Unprepared, Incomplete, Misspelt],
    "jit": [Branching, Flat, Keyed],
    "numbers": [Undefined],
    "scan": [Drifting, Transposed],
    "pure": [Counting, Drawing],
    "dtypes": [Half],
    "ties": [LowestFirst],
    "several plays": [OneOfSeveral],
    "simulate": [CallingBack],
    "compilations": [Recompiled],
}
