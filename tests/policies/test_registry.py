"""One suite over every policy: pure, scannable, mappable, its dtypes kept, compiled once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from harness import ALL, DISTINCT, ONE_PLAY, trajectory
from jax import lax

import jaxbandit as jb
from jaxbandit.core import prng
from jaxbandit.core.rationals import QuotaTable
from jaxbandit.core.xla import cpu_kernel
from jaxbandit.engine import rollout
from jaxbandit.engine.batch.blocks import on_device, quota_on_device
from jaxbandit.environment.delays import Delay
from jaxbandit.environment.merit import Merit
from jaxbandit.environment.opportunities import Opportunity
from jaxbandit.environment.rewards import Reward
from jaxbandit.environment.world import world_of

T, SEEDS = 120, 6
ASKED = {
    "fractions": [0.1, 0.05, 0.2, 0.15],
    "penalties": [0.2, 0.5, 0.4, 0.3],
    "merit": "power",
    "opportunity": "uniform",
}
PROBLEM = jb.Problem([0.3, 0.6, 0.5, 0.8], **ASKED)
FAST = ["ucb1", "thompson", "lfg", "fair-mmab", "fcucb-d", "self-regulated"]  # one of each kind of policy
MANY = [kind for kind in DISTINCT if kind not in ONE_PLAY]


def one_run(tree):
    """Arrays of the engine's layout, `[K or 1, 1, 1]`, as a single run's, `[K or 1]`."""
    return jax.tree.map(lambda x: x[..., 0, 0] if x.ndim >= 3 else x, tree)


def single(kind):
    """A policy, its world and its quotas for one run: nothing has a run axis."""
    prepared = jb.policy(kind).prepare(PROBLEM, T)
    cells = np.zeros(1, int)
    world = on_device(world_of(PROBLEM, prepared.wants_binary_feedback, T), cells)
    quotas = quota_on_device(QuotaTable(PROBLEM.fractions, T + 1).rows(0, T + 1), cells)
    return one_run(on_device(prepared, cells)), one_run(world), one_run(quotas)


def row(quotas, s):
    return jax.tree.map(lambda rows: lax.dynamic_index_in_dim(rows, s, keepdims=False), quotas)


def play(policy, world, quotas, state, t, key):
    owed, due = row(quotas, t - 1), row(quotas, t)
    return rollout.play(policy, world, state, jnp.asarray(t, jnp.int32), jnp.asarray(T, jnp.int32), owed, due, key)


@pytest.mark.parametrize("kind", [k if k in FAST else pytest.param(k, marks=pytest.mark.slow) for k in DISTINCT])
def test_one_run_is_a_column_of_the_batch(kind):
    """A scan of one run without run axes, mapped over runs, against the engine's batch."""
    policy, world, quotas = single(kind)
    k0, k1 = (jnp.asarray(w[0]) for w in prng.run_keys(0, np.array(0), np.arange(SEEDS)))

    def run(k0, k1):
        state = rollout.begin(policy, world, (PROBLEM.arms,), False)
        start = (state, jnp.asarray(0, jnp.int32))

        def step(carry, _):
            state, before = carry
            owed, due = row(quotas, before), row(quotas, before + 1)
            after = rollout.play(
                policy, world, state, before + 1, jnp.asarray(T, jnp.int32), owed, due, (k0[None], k1[None])
            )
            return (after, before + 1), after.pulls - state.pulls

        return lax.scan(step, start, length=T)[1]

    alone = np.asarray(jax.jit(jax.vmap(run))(k0, k1))  # [S, T, K]
    batch = trajectory(PROBLEM, kind, T, SEEDS)[:, :, 0, :]  # [T, K, S]
    np.testing.assert_array_equal(alone.astype(bool), batch.transpose(2, 0, 1))


@pytest.mark.parametrize("kind", DISTINCT)
def test_a_round_is_pure_and_keeps_dtypes(kind):
    policy, world, quotas = single(kind)
    key = tuple(jnp.asarray(w) for w in prng.run_keys(0, np.array(0), np.array(0)))
    state = rollout.begin(policy, world, (PROBLEM.arms,), True)
    copy = jax.tree.map(np.array, state)
    run = jax.jit(lambda s: play(policy, world, quotas, s, 1, key))
    after = jax.eval_shape(run, state)
    assert jax.tree.structure(after) == jax.tree.structure(state)
    shapes = [(x.shape, x.dtype) for x in jax.tree.leaves(state)]
    assert [(x.shape, x.dtype) for x in jax.tree.leaves(after)] == shapes
    assert not any(x.dtype == jnp.float64 or x.dtype == jnp.int64 for x in jax.tree.leaves(state))
    program = jax.make_jaxpr(run)(state)
    assert not program.effects
    assert not cpu_kernel.unsupported_operations(program)
    once, again = (run(state) for _ in range(2))
    jax.tree.map(np.testing.assert_array_equal, once, again)
    jax.tree.map(np.testing.assert_array_equal, copy, jax.tree.map(np.array, state))


@pytest.mark.parametrize("kind", DISTINCT)
def test_other_numbers_compile_nothing_new(kind):
    def simulate(problem, horizon, key, **parameters):
        return jb.simulate(problem, jb.policy(kind, **parameters), horizon=horizon, seeds=SEEDS, key=key)

    simulate(PROBLEM, T, 0)
    compiled = rollout.compiled()._cache_size(), rollout.start._cache_size()
    simulate(PROBLEM, T, 0)
    other = jb.Problem(
        [0.9, 0.1, 0.2, 0.3],
        fractions=[0.2, 0.07, 0.02, 0.0],
        penalties=[0.0, 0.1, 0.2, 0.3],
        merit={"kind": "power", "scale": 0.5},
        opportunity="uniform",
    )
    simulate(other, 77, 5)
    numbers = {
        "exploration": 0.7,
        "eta": 0.3,
        "eps": 0.4,
        "alpha": 1.5,
        "a": 2.0,
        "c": 0.5,
        "beta": 0.3,
        "rounds_per_arm": 3,
    }
    known = {*jb.policy(kind).parameters()} | {n for p in jb.policy(kind).components() for n in p.parameters()}
    simulate(other, 200, 6, **{name: value for name, value in numbers.items() if name in known})
    assert (rollout.compiled()._cache_size(), rollout.start._cache_size()) == compiled


def test_two_classes_are_two_structures():
    """A compiled program is looked up by its arguments' structure: that of one class must not pass for another's."""
    families = (jb.policy(kind).components() for kind in ALL)
    classes = {type(part) for family in families for part in family}
    classes |= {*Reward.registry.values(), *Delay.registry.values(), *Merit.registry.values()}
    classes |= {*Opportunity.registry.values()}
    structures = [jax.tree.structure(made()) for made in classes]
    for i, one in enumerate(structures):
        assert [other == one for other in structures] == [i == j for j in range(len(structures))]


@pytest.mark.slow
@pytest.mark.parametrize("kind", DISTINCT)
def test_zero_delay_is_no_delay(kind):
    late = jb.Problem(PROBLEM.means.T[0], **ASKED, delay="fixed")
    np.testing.assert_array_equal(trajectory(late, kind, T, SEEDS), trajectory(PROBLEM, kind, T, SEEDS))


@pytest.mark.parametrize("kind", DISTINCT)
def test_a_run_does_not_depend_on_the_block(kind):
    whole = jb.simulate(PROBLEM, kind, horizon=T, seeds=SEEDS, record=20)
    parts = jb.simulate(PROBLEM, kind, horizon=T, seeds=SEEDS, record=20, block=4)
    for name in whole.data_vars:
        np.testing.assert_array_equal(whole[name], parts[name], err_msg=name)


def test_an_alias_is_the_policy_with_its_parameters():
    assert jb.policy("fucb") == jb.policy("fair-learn", base="ucb1")
    assert jb.policy("f-ts", alpha=2.0) == jb.policy("fair-learn", base="thompson", alpha=2.0)
    assert jb.policy("mp-ts-d") == jb.policy("thompson")
    assert jb.policy("fairx-ucb") == jb.policy("fcucb-d")
    assert jb.policy("fairx-ts") == jb.policy("fcts-d")


@pytest.mark.parametrize("kind", ALL)
def test_it_is_documented(kind):
    entry = type(jb.policy(kind))
    assert entry.source
    assert entry.__doc__
    assert all(field.metadata.get("doc") for field in entry.parameters().values())


@pytest.mark.slow
@pytest.mark.parametrize("kind", MANY)
def test_all_arms_can_be_played_at_once(kind):
    equal = {"kind": "power", "scale": 0.0}  # all arms are played for sure only where merit is the same
    everything = jb.Problem([0.3, 0.6], plays=2, fractions=0.1, penalties=0.2, merit=equal)
    assert jb.simulate(everything, kind, horizon=20, seeds=2).pulls.values.min() == 20


@pytest.mark.parametrize("kind", ["naive", "fair-random"])
def test_policies_of_one_play_say_so(kind):
    with pytest.raises(jb.InputError, match=r"problem\.plays = 2: must be 1 with"):
        jb.simulate(jb.Problem([0.3, 0.6, 0.1], plays=2, fractions=0.1), kind, horizon=20, seeds=2)
