"""Policies in a scripted world: tables say the rewards, delays and available arms of every round.

The program that plays a policy holds the policy and little else, so that it compiles fast, and one program per policy
and number of plays serves many worlds: they differ in numbers alone. `compare` plays a policy there and in the plain
reference, on the same random numbers.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import reference
from harness import BINARY, MERIT_ALIASES, PROPORTIONAL, TRANSFER, plain_merit, plain_opportunity

import jaxbandit as jb
from jaxbandit.core import prng
from jaxbandit.core.rationals import QuotaTable
from jaxbandit.core.xla.compat import quick_options
from jaxbandit.engine.batch.blocks import on_device, quota_on_device
from jaxbandit.policies.base import checked_choose, checked_init, checked_select_one, checked_update
from jaxbandit.policies.round_view import Arrived, RoundView

T, K = 150, 5
LONGEST = 8  # shorter delays arrive, others never do
QUICK = quick_options()

# Policies whose code does not look at the number of plays: all that they do with several, other policies do, too
ANY_PLAYS = ("ucb1", "moss", "ucb-v", "kl-ucb", "thompson", "hard-threshold-ucb", "soft-threshold-ucb", "eta-fucb")


@dataclass(frozen=True)
class Script:
    """What happens in T rounds of C instances x R runs.

    Attributes:
        problem: C instances of K arms.
        rewards: that of a play in each round, float `[T, K, C, R]`.
        delays: its delay, int `[T, K, C, R]`.
        available: bool `[T, K, C, R]`.
    """

    problem: jb.Problem
    rewards: np.ndarray
    delays: np.ndarray
    available: np.ndarray


# Instances that are in no paper: arms neither sorted nor evenly spaced, fractions with and without equal entries.
MEANS = [
    [0.35, 0.62, 0.5, 0.81, 0.12],
    [0.35, 0.62, 0.5, 0.81, 0.12],
    [0.71, 0.33, 0.9, 0.05, 0.52],
    [0.5, 0.5, 0.5, 0.5, 0.5],
    [0.44, 0.81, 0.79, 0.3, 0.66],
]
FRACTIONS = [
    [0.07, 0.29, 0.1, 0.1, 0.07],
    [0.07, 0.29, 0.1, 0.1, 0.07],
    [0.21, 0.0, 0.13, 0.13, 0.3],
    [0.1, 0.1, 0.1, 0.1, 0.1],
    ["1/3", "1/7", 0, "1/9", 0.29],
]
PENALTIES = [
    [0.4, 0.1, 0.35, 0.2, 0.75],
    [0.4, 0.1, 0.35, 0.2, 0.75],
    [0.0, 0.6, 0.15, 0.5, 0.3],
    [0.3, 0.3, 0.3, 0.3, 0.3],
    [1.5, 0.05, 0.2, 0.9, 0.45],
]
STEADY, SLEEPING, LATE, TIED, MIXED = range(5)


@functools.cache
def standard(plays=1, binary=True, opportunity="softmax", rounds=T, scale=1):
    """Five instances: steady; with sleeping arms; with late and lost feedback; with ties; with all of it.

    Rewards are 0 or 1, or where `binary` is false multiples of 1/8, whose sums are exact. Those of tied arms are equal.
    All are multiplied by `scale`.
    """
    rng = np.random.default_rng(plays)
    shape = rounds, K, len(MEANS), 2
    problem = jb.Problem(
        MEANS, fractions=FRACTIONS, penalties=PENALTIES, plays=plays, merit="power", opportunity=opportunity
    )
    drawn = rng.random(shape)
    rewards = (drawn < np.array(MEANS).T[:, :, None]).astype(float)
    if not binary:
        rewards[..., LATE:, :] = np.round((0.5 * drawn + 0.5 * np.array(MEANS).T[:, :, None]) * 8)[..., LATE:, :] / 8
        rewards[..., TIED, :] = 0.5
    delays = np.zeros(shape, int)
    delays[..., [LATE, MIXED], :] = rng.integers(0, LONGEST + 1, (rounds, K, 2, 2))  # of `LONGEST`: lost
    available = np.ones(shape, bool)
    awake = np.array([0.9, 0.3, 0.7, 0.5, 1.0])[:, None, None]
    available[..., [SLEEPING, MIXED], :] = rng.random((rounds, K, 2, 2)) < awake
    return Script(problem, scale * rewards, delays, available)


@functools.partial(jax.jit, static_argnames=("plays", "steady"), compiler_options=QUICK)
def program(policy, key, horizon, tables, fractions, penalties, plays, steady=False):
    """The selections and the chances of every round, `[T, K, C, R]`, the number of the one arm that is selected,
    `[T, 1, C, R]`, and the rounds of each phase.

    Args:
        steady: whether the policy is told that no feedback is late and no arm sleeps.
    """
    shape, real = tables[0].shape[1:], jnp.result_type(float)
    counts, sums = jnp.zeros(shape, jnp.int32), jnp.zeros(shape, real)
    none_waiting = jnp.zeros((LONGEST, *shape), jnp.int32)
    delay = SimpleNamespace(immediate=steady)
    world = SimpleNamespace(delay=delay, sleeping=not steady, plays=plays, random_ties=False, groups=())
    state = checked_init(policy, world, shape)
    squares = sums if policy.wants_squares else None
    waiting = (none_waiting, *[none_waiting.astype(real)] * 3)

    def step(carry, now):
        pulls, (received, total, squares), waiting, state = carry
        t, (reward, delay, available, quota_before, quota_now) = now

        def view(pulls, received, total, squares, arrived=None):
            random = prng.Stream(key, t.astype(jnp.uint32), prng.POLICY)
            known = available, quota_before, quota_now, fractions, penalties, random, plays
            return RoundView(t, horizon, pulls, received, total, squares, None, *known, arrived=arrived)

        now = view(pulls, received, total, squares)
        selected, chances = checked_choose(policy, state, now)
        number = checked_select_one(policy, state, now) if plays == 1 else None
        pulls = pulls + selected.astype(jnp.int32)
        places = jnp.arange(LONGEST, dtype=jnp.int32).reshape((-1,) + (1,) * len(shape))
        here = selected[None] & (places == delay[None])
        weighted = (1.0 - reward) / jnp.where(selected, chances, 1.0)
        terms = jnp.ones((1, *shape), jnp.int32), reward[None], reward[None] ** 2, weighted[None]
        waiting = [old + jnp.where(here, term, jnp.zeros_like(term)) for old, term in zip(waiting, terms, strict=True)]
        arrived = Arrived(waiting[0][0], waiting[1][0], waiting[3][0])
        received, total = received + arrived.count, total + arrived.total
        squares = None if squares is None else squares + waiting[2][0]
        waiting = tuple(jnp.concatenate([old[1:], jnp.zeros_like(old[:1])]) for old in waiting)
        state = checked_update(policy, state, view(pulls, received, total, squares, arrived), selected)
        return (pulls, (received, total, squares), waiting, state), (selected, chances, number)

    rounds = jnp.arange(1, len(tables[0]) + 1, dtype=jnp.int32)
    start = counts, (counts, sums, squares), waiting, state
    (*_, state), (selected, chances, number) = jax.lax.scan(step, start, (rounds, tables))
    return selected, chances, number, policy.phase_rounds(state, rounds[-1]) if policy.phases else None


def arguments(policy, script, key=0, horizon=None):
    """Those of `program`."""
    problem, (rounds, _, cells, runs) = script.problem, script.rewards.shape
    every = np.arange(cells)
    horizon = rounds if horizon is None else horizon
    table = _quotas(problem, rounds)
    quotas = [jax.tree.map(lambda rows, at=at: rows[at : at + rounds], table) for at in (0, 1)]
    tables = (
        jnp.asarray(script.rewards, jnp.result_type(float)),
        jnp.asarray(script.delays, jnp.int32),
        jnp.asarray(script.available),
        *quotas,
    )
    return {
        "policy": on_device(policy.prepare(problem, horizon), every),
        "key": tuple(jnp.asarray(word) for word in prng.run_keys(key, every[:, None], np.arange(runs))),
        "horizon": jnp.asarray(horizon, jnp.int32),
        "tables": tables,
        "fractions": on_device(problem.fractions.astype(float), every),
        "penalties": on_device(problem.penalties, every),
        "plays": problem.plays,
    }


@functools.lru_cache(maxsize=16)
def _quotas(problem, rounds):
    rows = QuotaTable(problem.fractions, rounds + 1).rows(0, rounds + 1)
    return quota_on_device(rows, np.arange(problem.instances))


def play(policy, script, key=0, horizon=None, steady=False):
    """The selections, bool `[T, K, C, R]`, the chances, float, and the phases, int `[phases, C, R]` or None."""
    selected, chances, number, phases = program(**arguments(policy, script, key, horizon), steady=steady)
    if number is not None:
        first = np.where(np.any(selected, 1), np.argmax(selected, 1), K)
        np.testing.assert_array_equal(number[:, 0], first, "the number of the selected arm")
    return np.asarray(selected), np.asarray(chances), None if phases is None else np.asarray(phases)


class Numbers:
    """The random numbers of one run, for a reference: what `reference.make` calls numbers."""

    def __init__(self, key, shape, cell, run):
        self._key, self._shape, self._run, self.t = key, shape, (cell, run), 0

    def uniform(self, slots=1, attempt=0, depth=0):
        return _table("uniform", self._key, self._shape, slots, attempt, depth)[self._run][self.t - 1]

    def normal(self, slots=1, depth=0):
        return _table("normal", self._key, self._shape, slots, 0, depth)[self._run][self.t - 1]

    def beta(self, a, b, depth=0):
        key = tuple(np.asarray(word) for word in prng.run_keys(self._key, *(np.array(i) for i in self._run)))
        a, b = (np.asarray(x, jnp.result_type(float)) for x in (a, b))
        made = _beta(key, np.uint32(self.t), a, b, prng.POLICY + depth)
        return np.asarray(made, float).tolist()


@functools.cache
def _table(method, key, shape, slots, attempt, depth):
    """The numbers of all runs and rounds: `[T][slots]` for each run."""
    rounds, _, cells, runs = shape
    words = tuple(jnp.asarray(w) for w in prng.run_keys(key, np.arange(cells)[:, None], np.arange(runs)))

    def draw(t):
        return getattr(prng.Stream(words, t, prng.POLICY + depth), method)(slots, attempt)

    numbers = np.asarray(
        jax.jit(jax.vmap(draw), compiler_options=QUICK)(jnp.arange(1, rounds + 1, dtype=jnp.uint32)), float
    )
    return {run: numbers[(..., *run)].tolist() for run in np.ndindex(cells, runs)}


@functools.partial(jax.jit, static_argnums=4, compiler_options=QUICK)
def _beta(key, t, a, b, purpose):
    return prng.Stream(key, t, purpose).beta(a, b)


def reference_rounds(kind, script, cell, run, key=0, horizon=None, sd=None, **parameters):
    """One run of a reference, round by round: its selected arms in order, and the reference itself, as it is then."""
    problem = script.problem
    if kind in PROPORTIONAL:
        parameters["merit"] = plain_merit(problem.merit)
    if kind in TRANSFER:
        parameters["opportunity"] = plain_opportunity(problem.opportunity, problem.arms)
    numbers = Numbers(key, script.rewards.shape, cell, run)
    policy = reference.make(
        MERIT_ALIASES.get(kind, kind),
        K=problem.arms,
        T=len(script.rewards) if horizon is None else horizon,
        tau=[Fraction(f) for f in problem.fractions[:, cell]],
        A=problem.penalties[:, cell].tolist(),
        numbers=numbers,
        gaussian_sd=sd,
        plays=problem.plays,
        **parameters,
    )
    waiting: dict[int, list] = {}
    for t, tables in enumerate(zip(script.available, script.delays, script.rewards, strict=True), start=1):
        available, delays, rewards = (table[:, cell, run].tolist() for table in tables)
        numbers.t = t
        selected = policy.select(t, available)
        for k in selected:
            if delays[k] < LONGEST:
                waiting.setdefault(t + delays[k], []).append((k, rewards[k], t))
        arrived = waiting.pop(t, [])
        policy.arrived_from = [s for *_, s in arrived]  # for importance weights
        policy.receive(t, selected, [(k, reward) for k, reward, _ in arrived])
        yield sorted(selected), policy


def compare(kind, script, runs, key=0, horizon=None, rounds=None, steady=False, **parameters):
    """The policy's selections are the reference's in some runs, (instance, run), round by round, and so are chances.

    Returns:
        What `play` returns.
    """
    ours = play(jb.policy(kind, **parameters), script, key, horizon, steady)
    for cell, run in runs:
        selected, chances = (part[:, :, cell, run] for part in ours[:2])
        theirs, expected = reference_rounds(kind, script, cell, run, key, horizon, **parameters), []
        for t, (arms, policy) in zip(range(rounds or len(selected)), theirs, strict=False):
            mine = np.flatnonzero(selected[t]).tolist()
            assert mine == arms, f"instance {cell}, run {run}, round {t + 1}: {mine}, not {arms}"
            expected.append(policy.chances if kind in PROPORTIONAL else getattr(policy, "stated", selected[t]))
        np.testing.assert_allclose(chances[: len(expected)], expected, atol=2e-5)
        if ours[2] is not None:
            assert ours[2][:, cell, run].tolist() == policy.phase_rounds
    return ours


def is_binary(kind, parameters):
    """Whether a policy wants rewards of 0 and 1."""
    gaussian = parameters.get("sd") is not None
    inner = parameters.get("base"), parameters.get("black_box")
    return not gaussian and (kind in BINARY or any(name in BINARY for name in inner))
