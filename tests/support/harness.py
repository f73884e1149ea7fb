"""Runs policies round by round, in the engine and in the plain references, on the same random numbers."""

from __future__ import annotations

import functools
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import reference
import reference_beyond
import reference_merit
import reference_plays  # noqa: F401  registers the policies of the plays paper
import reference_transfer

import jaxbandit as jb
from jaxbandit.core import prng
from jaxbandit.core.rationals import QuotaTable
from jaxbandit.core.xla.tiling import LANES
from jaxbandit.engine import plan, rollout
from jaxbandit.engine.batch import sharding
from jaxbandit.engine.batch.blocks import Calls, on_device, quota_on_device
from jaxbandit.environment.world import world_of
from jaxbandit.policies.base import Alias, Index, Policy

ALL = list(Policy.registry)
# The policies that the aliases of the merit paper stand for
MERIT_ALIASES = {"fairx-ucb": "fcucb-d", "fairx-ts": "fcts-d"}
MERIT = [*reference_merit.MERIT, *MERIT_ALIASES]
# Those that select in proportion to merit need `problem.merit`.
PROPORTIONAL = [kind for kind in MERIT if kind not in ("cucb-d", "mp-ts-d", "opse")]
DISTINCT = [kind for kind in ALL if not isinstance(Policy.registry[kind], Alias)]  # an alias runs another's program
TRANSFER = reference_transfer.TRANSFER  # of the opportunities paper: need `problem.opportunity`
PLAIN = [kind for kind in DISTINCT if kind not in (*MERIT, *TRANSFER)]
ONE_PLAY = ["naive", "fair-random", *TRANSFER, *reference_beyond.CHANCES[:-1]]
BINARY = (
    *("thompson", "f-ts", "fcts-d", "op-fcts-d", "mp-ts-d", "fairx-ts"),
    *("discounted-thompson", "calibrated-thompson"),
)
RULES = [n for n, p in Policy.registry.items() if not isinstance(p, Alias) and "base" in p.parameters()]
INDICES = [
    n
    for n, p in Policy.registry.items()
    if n not in RULES and p.__module__.startswith("jaxbandit.policies.indices") and issubclass(p, Index)
]


def trajectory(problem, policy, horizon, seeds, key=0):
    """Selections of every round: bool `[T, K, C, S]`, from the engine, recorded at every round."""
    return trajectory_and_sums(problem, policy, horizon, seeds, key)[0]


def trajectory_and_sums(problem, policy, horizon, seeds, key=0, asked=()):
    """`trajectory`, and the sums of `rollout.SUMS` in `asked` after every round, by name: float `[T, C, S]`.

    In whole vectors of lanes, as the engine is used: a handful of runs compiles to other code, whose last bits differ.
    """
    lanes = seeds + -seeds % LANES
    policy = policy if isinstance(policy, Policy) else jb.policy(policy)
    prepared = policy.prepare(problem, horizon)
    cells = np.arange(problem.instances)
    world = on_device(world_of(problem, prepared.wants_binary_feedback, horizon), cells)
    placed = on_device(prepared, cells)
    keys = tuple(jnp.asarray(w) for w in prng.run_keys(key, cells[:, None], np.arange(lanes)))
    state = rollout.start(placed, world, (problem.arms, problem.instances, lanes), False, asked)
    quotas = None
    if (owed := problem.guarantees()) is not None:
        quotas = quota_on_device(QuotaTable(owed, horizon + 1).rows(0, horizon + 1), cells)
    stops = jnp.arange(1, horizon + 1, dtype=jnp.int32)
    zero = jnp.asarray(0, jnp.int32)
    _, made, _ = rollout.advance(
        placed, world, keys, quotas, zero, jnp.asarray(horizon, jnp.int32), zero, stops, None, state
    )
    pulls = np.asarray(made.counts)[..., :seeds]
    selected = np.diff(pulls, axis=0, prepend=0).astype(bool)
    return selected, {name: np.asarray(values)[..., :seeds] for name, values in made.sums.items()}


class Numbers:
    """One run's random numbers as the engine draws them, for the references: what `reference.make` calls numbers."""

    def __init__(self, key, instance, seed):
        self._key = tuple(jnp.asarray(word) for word in prng.run_keys(key, np.array(instance), np.array(seed)))
        self.t = 0

    def uniform(self, slots=1, attempt=0, depth=0):
        return _uniform(self._key, jnp.uint32(self.t), prng.POLICY + depth, slots, attempt)

    def normal(self, slots=1, depth=0):
        return np.asarray(_normal(self._key, jnp.uint32(self.t), prng.POLICY + depth, slots), float).tolist()

    def beta(self, a, b, depth=0):
        a, b = (jnp.asarray(x, jnp.result_type(float)) for x in (a, b))
        return np.asarray(_beta(self._key, jnp.uint32(self.t), prng.POLICY + depth, a, b), float).tolist()

    def stream(self, purpose):
        return prng.Stream(self._key, jnp.uint32(self.t), purpose)


def _drawn(method, static):
    def draw(key, t, purpose, *arguments):
        return getattr(prng.Stream(key, t, purpose), method)(*arguments)

    return jax.jit(draw, static_argnums=static)


_uniform_jit, _normal, _beta = _drawn("uniform", (2, 3, 4)), _drawn("normal", (2, 3)), _drawn("beta", (2,))


def _uniform(*arguments):
    return np.asarray(_uniform_jit(*arguments), float).tolist()


@functools.cache
def _rewards_of(arms):
    """A compiled function that draws a reward, a coin and a delay of one arm."""

    def draw(reward, delay, mean, key, number, arm):
        numbers = prng.Stream(key, number, prng.REWARD, arms, arm)
        coins = numbers.for_purpose(prng.BINARISE).uniform()
        drawn = reward.draw(mean, numbers)
        return drawn, coins, delay.draw(drawn, numbers.for_purpose(prng.DELAY))

    return jax.jit(draw)


class _World:
    """Rewards, delays and availability of one run, drawn with the engine's random numbers."""

    def __init__(self, problem, numbers, binary):
        self.problem, self.numbers, self.binary = problem, numbers, binary
        self.plays_so_far = [0] * problem.arms
        self._draw = _rewards_of(problem.arms)

    def available(self):
        K = self.problem.arms
        if self.problem.availability_table is not None:
            rows = self.problem.availability_table
            return rows[(self.numbers.t - 1) % len(rows)].tolist()
        if self.problem.availability is None:
            return [True] * K
        u = self.numbers.uniform(K, depth=prng.AVAILABILITY - prng.POLICY)
        return [x < a for x, a in zip(u, self.problem.availability[:, 0], strict=True)]

    def rewards(self, arms, instance):
        """The rewards of the selected arms, `[(arm, reward, delay)]`: each those of the arm's next play."""
        return [(k, *self._reward(k, instance)) for k in arms]

    def _reward(self, arm, instance):
        problem = self.problem
        at = self._of_arm(problem.reward, arm), self._of_arm(problem.delay.device_model(), arm)
        mean = jnp.asarray(problem.means[[arm], instance], float)
        number, self.plays_so_far[arm] = self.plays_so_far[arm], self.plays_so_far[arm] + 1
        drawn, coin, rounds = self._draw(
            *at, mean, self.numbers._key, jnp.uint32(number), jnp.asarray([arm], jnp.int32)
        )
        reward = float(coin[0] < drawn[0]) if self.binary else float(drawn[0])
        return reward, int(np.ravel(rounds)[0])

    def _of_arm(self, model, arm):
        """A model's parameters for one arm."""

        def one(leaf):
            leaf = np.asarray(leaf)
            value = np.broadcast_to(leaf, (self.problem.arms, 1))[[arm], 0] if leaf.ndim in (0, 2) else leaf
            return jnp.asarray(value, jnp.int32 if leaf.dtype.kind == "i" else jnp.result_type(float))

        return jax.tree.map(one, model)


def plain_merit(merit):
    """A merit function for plain floats."""
    if merit.name == "power":
        return lambda mu: 1 + merit.scale * mu**merit.exponent
    return merit.plain


def plain_opportunity(opportunity, arms):
    """A fairness function for plain numbers."""
    given = {name: getattr(opportunity, name) for name in opportunity.parameters()}
    return reference_transfer.plain(opportunity.name, arms, **given)


def reference_run(problem, kind, horizon, seed, key=0, instance=0, **parameters):
    """Selections of one run by the plain reference: a list of lists of arms."""
    return list(reference_rounds(problem, kind, horizon, seed, key, instance, **parameters))


def reference_rounds(problem, kind, horizon, seed, key=0, instance=0, chances=None, phases=None, **parameters):
    """The selections round by round.

    The p_k(t) of a policy of the merit paper are appended to the list `chances`, and the rounds that a policy of the
    opportunities paper has spent in each phase so far to the list `phases`.
    """
    numbers = Numbers(key, instance, seed)
    gaussian = problem.reward.name == "gaussian"
    if kind in PROPORTIONAL:
        parameters["merit"] = plain_merit(problem.merit)
    if kind in TRANSFER:
        parameters["opportunity"] = plain_opportunity(problem.opportunity, problem.arms)
    inner = parameters.get("base"), parameters.get("black_box")
    binary = not gaussian and (kind in BINARY or any(name in BINARY for name in inner))
    policy = reference.make(
        MERIT_ALIASES.get(kind, kind),
        K=problem.arms,
        T=horizon,
        tau=None if problem.fractions is None else [Fraction(f) for f in problem.fractions[:, 0]],
        A=None if problem.penalties is None else problem.penalties[:, 0].tolist(),
        numbers=numbers,
        gaussian_sd=float(np.max(problem.reward.sd)) if gaussian else None,
        plays=problem.plays,
        **parameters,
    )
    if problem.groups is not None:
        policy.game.groups, policy.game.group_penalties = (
            problem.groups.members,
            problem.groups.penalties[:, 0].tolist(),
        )
        policy.game.phi = [Fraction(f) for f in problem.groups.fractions[:, 0]]
    world = _World(problem, numbers, binary)
    under_way: dict[int, list] = {}
    for t in range(1, horizon + 1):
        numbers.t = t
        selected = policy.select(t, world.available())
        for arm, reward, delay in world.rewards(selected, instance):
            under_way.setdefault(t + delay, []).append((arm, reward, t))
        arrived = under_way.pop(t, [])
        policy.arrived_from = [s for *_, s in arrived]  # for importance weights
        policy.receive(t, selected, [(arm, reward) for arm, reward, _ in arrived])
        if chances is not None:
            chances.append(policy.chances)
        if phases is not None:
            phases.append(list(policy.phase_rounds))
        yield sorted(selected)


def assert_same(world, kind, seeds=2, horizon=300, key=0, **parameters):
    """The engine's selections are the reference's, round by round."""
    ours = trajectory(world, jb.policy(kind, **parameters), horizon, seeds, key)
    for seed in range(seeds):
        theirs = reference_run(world, kind, horizon, seed, key, **parameters)
        mine = [np.flatnonzero(row).tolist() for row in ours[:, :, 0, seed]]
        differ = [t for t in range(horizon) if mine[t] != theirs[t]]
        assert not differ, f"round {differ[0] + 1}: {mine[differ[0]]}, not {theirs[differ[0]]}"


def in_several_calls(monkeypatch):
    """Let calls of the rounds have at most 64 recorded rounds, and none be whole."""
    monkeypatch.setattr(plan, "long_calls", lambda *_: Calls(rounds=2048, stops=64))


def places_of_calls(monkeypatch):
    """A list to which each call of the rounds adds its number of places for recorded rounds."""
    advance, places = sharding.advance, []

    def counted(*arguments):
        places.append(len(arguments[9]))
        return advance(*arguments)

    monkeypatch.setattr(sharding, "advance", counted)
    return places
