"""`jb.Agent`: fed the rewards of a simulation, it selects what the simulation selects."""

import dataclasses
import itertools
import pickle
import warnings
from collections import defaultdict

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from harness import DISTINCT
from stepping import ARMS, DELAYS, PROBLEM, problem_for, scanned, some_cases
from sweeps import partly_fast

import jaxbandit as jb

T = 100
FAST = [("fair-mmab", 3, "geometric")]
FAIRNESS = {name: PROBLEM[name] for name in ("fractions", "penalties", "merit", "opportunity")}


def agent_for(kind, plays=1, horizon=T, **changes):
    return jb.Agent(kind, ARMS, plays, **{**FAIRNESS, "horizon": horizon, **changes})


def due_rewards(info):
    """By round, the arms and rewards that arrive at its end."""
    due = defaultdict(list)
    for t, (arms, rewards, delays) in enumerate(zip(info.arms, info.rewards, info.delays, strict=True)):
        for arm, reward, delay in zip(arms.tolist(), rewards.tolist(), delays.tolist(), strict=True):
            due[t + delay].append((arm, reward, t))
    return due


def assert_selects_as(agent, key, info):
    """The agent selects the simulated arms if it observes the simulated rewards, each when it is due, shuffled."""
    state, due, rng = agent.init(key), due_rewards(info), np.random.default_rng(0)
    for t, expected in enumerate(info.arms):
        state, arms, chances = agent.select(state)
        np.testing.assert_array_equal(arms, expected, err_msg=f"round {t + 1}")
        np.testing.assert_allclose(chances, info.chances[t], atol=1e-5)
        now = due.pop(t, [])
        rng.shuffle(now)
        if agent._policy.wants_losses:  # each reward with the chances of its round
            for arm, reward, s in now:
                state = agent.observe(state, arm, reward, info.chances[s])
            continue
        for part in np.array_split(np.array(now).reshape(-1, 3), rng.integers(1, 4)):
            if len(part):
                state = agent.observe(state, part[:, 0].astype(int), part[:, 1])
    return state


@pytest.mark.parametrize(
    ("kind", "plays", "delay"),
    [*FAST, *(pytest.param(*case, marks=pytest.mark.slow) for case in some_cases(1))],
)
def test_an_agent_selects_what_the_simulation_selects(kind, plays, delay):
    simulator = jb.Simulator(problem_for(plays=plays, delay=DELAYS[delay]), kind, horizon=T)
    final, info = scanned(simulator, simulator.init(8), T)
    state = assert_selects_as(agent_for(kind, plays), 8, info)
    np.testing.assert_array_equal(state.pulls, final.pulls)
    assert state.t == T


@pytest.mark.slow
def test_rewards_that_are_not_0_or_1_are_binarised_as_in_a_simulation():
    simulator = jb.Simulator(jb.Problem(PROBLEM["means"], reward="beta"), "mp-ts-d", horizon=T)
    _, info = scanned(simulator, simulator.init(2), T)
    assert_selects_as(jb.Agent("mp-ts-d", ARMS, reward="beta"), 2, info)


@pytest.mark.slow
def test_arms_that_are_not_available_are_not_selected():
    agent, rng = agent_for("lfg", plays=3), np.random.default_rng(1)
    state = agent.init(0)
    for _ in range(20):
        available = rng.random(ARMS) < 0.6
        state, arms, _ = agent.select(state, available)
        chosen = arms[arms >= 0].tolist()
        assert set(chosen) <= set(np.flatnonzero(available).tolist())
        assert len(chosen) == min(3, available.sum())


def test_naive_draws_available_arms_after_its_exploration():
    agent, rng = jb.Agent("naive", arms=4, fractions=0.1, horizon=100), np.random.default_rng(0)
    state = agent.init(0)
    for _ in range(60):
        available = rng.random(4) < 0.6
        state, arms, _ = agent.select(state, available)
        assert arms[0] == -1 if not available.any() else available[arms[0]]
        state = agent.observe(state, arms, [1.0])


def test_a_policy_that_needs_all_arms_refuses_arms_that_sleep():
    agent = jb.Agent({"kind": "min-probability", "floor": 0.1}, arms=3)
    state = agent.init(0)
    agent.select(state, [True, True, True])
    jax.jit(agent.select)(state)
    with pytest.raises(jb.InputError, match=r"available = .*must be left out: min-probability needs all arms"):
        agent.select(state, [True, False, True])
    with pytest.raises(jb.InputError, match=r"available = 'a traced array': must be left out: min-probability"):
        jax.jit(agent.select)(state, np.ones(3, bool))


def test_counts_and_sums_are_those_of_the_observed_rewards():
    agent = jb.Agent("ucb1", 3)
    state = agent.init(0)
    state, (arm,), _ = agent.select(state)
    state = agent.observe(state, [2, 0, 2], [1.0, 0.0, 1.0])
    state = agent.observe(state, [-1, 1], [1.0, 1.0])
    state = agent.observe(state, [], [])
    state = agent.observe(state, 1, 0.0)
    assert state.received.tolist() == [1, 2, 2]
    assert state.total.tolist() == [0.0, 1.0, 2.0]
    assert state.pulls.tolist() == [int(k == arm) for k in range(3)]


@pytest.mark.slow
def test_an_agent_runs_in_programs_of_ones_own():
    """200 agents at once, in one scan; each selects what it selects alone."""
    agent = jb.Agent("thompson", 3)
    means = jnp.array([0.2, 0.9, 0.5])

    def one(key):
        def play(state, number):
            state, arms, _ = agent.select(state)
            reward = jax.random.bernoulli(jax.random.fold_in(key, number), means[arms]).astype(float)
            return agent.observe(state, arms, reward), (arms[0], reward[0])

        return jax.lax.scan(play, agent.init(key), jnp.arange(50))

    keys = jax.random.split(jax.random.key(0), 200)
    final, (arms, rewards) = jax.jit(jax.vmap(one))(keys)
    assert final.pulls[:, 1].mean() > 25
    state = agent.init(keys[7])
    for arm, reward in itertools.islice(zip(arms[7].tolist(), rewards[7].tolist(), strict=True), 20):
        state, selected, _ = agent.select(state)
        assert selected.tolist() == [arm]
        state = agent.observe(state, arm, reward)


# Some of their defaults or of their scores depend on T.
NEED_THE_HORIZON = (
    *("explore-then-commit", "moss", "successive-elimination", "opse", "naive", "t-fucb", "fcucb-d", "op-fcucb-d"),
    *("constant-opportunity", "fairness-aware-etc", "self-regulated", "exp3"),
)


@pytest.mark.slow
def test_policies_that_use_the_horizon_ask_for_it():
    for kind in DISTINCT:
        if kind in NEED_THE_HORIZON:
            words = rf"^horizon is missing: must be given, the number of rounds: {kind} uses it$"
            with pytest.raises(jb.InputError, match=words):
                agent_for(kind, horizon=None)
        else:
            agent_for(kind, horizon=None)


def test_quotas_are_exact_without_a_horizon():
    """Of fractions with a short common denominator, in a round far from the first."""
    agent = jb.Agent("fair-learn", 3, fractions=["1/3", "1/7", 0.1])
    with_horizon = jb.Agent("fair-learn", 3, fractions=["1/3", "1/7", 0.1], horizon=1000)
    state, other = agent.init(0), with_horizon.init(0)
    for t in range(500):
        state, arms, _ = agent.select(state)
        other, others, _ = with_horizon.select(other)
        assert arms.tolist() == others.tolist()
        state, other = agent.observe(state, arms, [t % 2]), with_horizon.observe(other, others, [t % 2])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda a: jb.Agent("ucb1", 0), r"^arms = 0: must be a whole number from 1 to 10000000$"),
        (lambda a: jb.Agent("ucb1", 10**12), r"^arms = 10+: must be a whole number from 1 to 10000000$"),
        (lambda a: jb.Agent("ucb1", 3, 4), r"^plays = 4: must be a whole number from 1 to the number of arms, 3$"),
        (lambda a: jb.Agent("fair-learn", 3), r"^fractions is missing: must be given .*fair-learn needs it$"),
        (lambda a: jb.Agent("fair-learn", 3, fractions=0.5), r"^fractions = 0.5: must sum to at most plays = 1"),
        (lambda a: jb.Agent("ucb1", 3, horizon=-1), r"^horizon = -1: must be a whole number from 1 to 2147483646$"),
        (lambda a: jb.Agent("kl-ucb", 3, reward="gaussian"), r"^reward = 'gaussian': must give rewards in \[0, 1\]"),
        (lambda a: a.observe(a.init(0), [0, 1], [1.0]), r"^rewards = .*: must be 2 numbers, one per arm observed$"),
        (lambda a: a.observe(a.init(0), [3], [1.0]), r"^arms = .*: must be whole numbers from 0 to 2, or -1 for none$"),
        (lambda a: a.observe(a.init(0), [0.5], [1.0]), r"^arms = .*: must be whole numbers from 0 to 2"),
        (lambda a: a.observe(a.init(0), [0], [jnp.nan]), r"^rewards = .*: must be finite numbers of at most"),
        (
            lambda a: a.observe(a.init(0), [0], [0.5]),
            r"^rewards = .*: must be 0 or 1, as rewards of kind 'bernoulli' are",
        ),
        (lambda a: a.select(a.init(0), [True, False]), r"^available = .*: must be 3 booleans, one per arm$"),
    ],
)
def test_invalid_input_is_refused(call, words):
    with pytest.raises(jb.InputError, match=words):
        call(jb.Agent("ucb1", 3))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda a, x: a.observe(a.init(0), jnp.array([0, 1]), x[:1]), r"^rewards = .*: must be 2 numbers, one per arm"),
        (lambda a, x: a.observe(a.init(0), x[:2], x[:2]), r"^arms = .*: must be whole numbers from 0 to 2"),
        (lambda a, x: a.init(x), r"^key = 'a traced array of float32, shape \(3,\)': must be one integer or one key"),
    ],
)
def test_traced_shapes_and_types_are_checked(call, words):
    with pytest.raises(jb.InputError, match=words):
        jax.make_jaxpr(lambda x: call(jb.Agent("ucb1", 3), x))(jnp.zeros(3))


def test_rewards_of_a_kind_within_0_and_1_are_refused_outside():
    agent = jb.Agent("ucb1", 3, reward="beta")
    with pytest.raises(jb.InputError, match=r"^rewards = .*: must be numbers from 0 to 1, as rewards of kind"):
        agent.observe(agent.init(0), [0], [1.5])
    gaussian = jb.Agent("ucb1", 3, reward="gaussian")
    assert gaussian.observe(gaussian.init(0), [0], [1.5]).total[0] == 1.5


def test_a_new_state_may_be_donated():
    agent = jb.Agent("ucb-v", 3)
    state, _, _ = jax.jit(agent.select, donate_argnums=0)(agent.init(0))
    assert state.t == 1
    simulator = jb.Simulator(jb.Problem([0.5, 0.4], delay={"kind": "geometric", "p": 0.5}), "ucb1", horizon=9)
    state, _ = jax.jit(simulator.step, donate_argnums=0)(simulator.init(0))
    assert state.t == 1


@pytest.mark.parametrize("kind", partly_fast(["exp3", "tsallis-inf", "discounted-thompson", "fair-bandits"], ["exp3"]))
def test_a_log_from_before_round_1_is_learned_from(kind):
    """All of it: the first selection knows it, and it counts once, as rewards of round 1 do."""
    agent = jb.Agent(kind, arms=2, horizon=1000)
    arms, rewards = [0] * 60 + [1] * 60, [0.0] * 60 + [1.0] * 60
    before = agent.observe(agent.init(0), arms, rewards, chances=[0.5, 0.5])
    state, _, chances = agent.select(before)
    assert chances[1] > 0.9  # 0.5 without the log
    within, _, _ = agent.select(agent.init(0))
    within = agent.observe(within, arms, rewards, chances=[0.5, 0.5])
    within = dataclasses.replace(within, counts=state.counts, selected=state.selected, chances=state.chances)
    for one, other in zip(jax.tree.leaves(agent.select(state)), jax.tree.leaves(agent.select(within)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("chances", [[1.0, 0.0], [-0.01, 0.5], [0.5, 2.0], [0.5, np.nan], ["a", "b"], "ab", [0.5]])
def test_chances_that_cannot_be_are_refused(chances):
    agent = jb.Agent("exp3", arms=2, horizon=100)
    with pytest.raises(jb.InputError, match=r"^chances = .*: must be (numbers from 0 to 1|2 numbers)"):
        agent.observe(agent.init(0), [1], [0.0], chances=chances)


def test_rewards_of_arms_that_were_not_selected_need_chances():
    agent = jb.Agent("exp3", arms=2, horizon=100)
    with pytest.raises(
        jb.InputError, match=r"^chances is missing: must be given with rewards of arms that the agent has"
    ):
        agent.observe(agent.init(0), [0, 1], [0.0, 1.0])
    state, arms, _ = agent.select(agent.init(0))
    agent.observe(state, arms, [0.0])
    jb.Agent("ucb1", arms=2).observe(jb.Agent("ucb1", arms=2).init(0), [0], [0.0])  # does not weigh rewards


def test_numbers_that_are_none_are_said():
    class Undefined(jb.Index):
        def value(self, state, now):
            return jnp.log(-1.0 - now.mean)

    class Infinite(jb.policies.ChancePolicy):
        def chances(self, state, now):
            return jnp.exp(1000.0 * (1.0 + now.mean))

    def select_four_times(agent):
        state = agent.init(0)
        for _ in range(4):
            state, _, _ = agent.select(state)

    for policy, what in ((Undefined, "an index was not a number"), (Infinite, "a chance was not a finite number >= 0")):
        with pytest.raises(FloatingPointError, match=f"{what}, in round [12] or before; jb.check_policy finds"):
            select_four_times(jb.Agent(policy, arms=3))
    gaussian = jb.Agent("ucb1", arms=2, reward="gaussian")
    with pytest.raises(jb.InputError, match=r"^rewards = .*: must be finite numbers of at most 3\.4e\+38"):
        gaussian.observe(gaussian.init(0), [0], [1e39])


def test_states_of_several_agents_are_refused():
    agent = jb.Agent("ucb1", arms=3)
    several = jax.vmap(agent.init)(jnp.arange(4))
    for call in (lambda: agent.select(several), lambda: agent.observe(several, [1], [1.0])):
        with pytest.raises(
            jb.InputError, match=r"^state = 'states of shape \(4,\)': must be the state of one agent; map"
        ):
            call()
    one_each = jax.vmap(lambda state: agent.observe(state, [1], [1.0]))(several)
    np.testing.assert_array_equal(one_each.total, [[0, 1, 0]] * 4)


def test_penalties_that_need_gaps_are_refused():
    with pytest.raises(jb.InputError, match=r"^penalties = \{'gap_fraction': 0.5\}: must be numbers >= 0 \(an agent"):
        jb.Agent("hard-threshold-ucb", arms=3, fractions=0.3, penalties={"gap_fraction": 0.5})


@pytest.mark.parametrize(
    ("kind", "most"),
    [
        ("ucb1", 2**13),
        pytest.param("ucb1", 2**24, marks=pytest.mark.slow),
        pytest.param("thompson", 2**13, marks=pytest.mark.slow),
    ],
)
def test_long_logs_are_summed_without_loss(kind, most):
    """float32 holds all whole numbers up to 2^24 only: a plain sum of ones would end there."""
    agent = jb.Agent(kind, arms=2, reward="bernoulli" if kind == "ucb1" else "uniform")
    state, count = agent.init(0), most + 1001
    rewards = np.ones(count) if kind == "ucb1" else np.linspace(0, 1, count)
    arms = np.zeros(count, int)
    whole = agent.observe(state, arms, rewards)
    if kind == "ucb1":
        for some in (arms[:-1], arms[-1:]):
            state = agent.observe(state, some, np.ones(len(some)))
        for _ in range(3):
            state, whole = (agent.observe(told, 0, 1.0) for told in (state, whole))
        assert whole.total.tolist() == [float(jnp.asarray(count + 3, jnp.float32)), 0]
    else:  # rewards are turned into 0 or 1 by coins that depend on how many came before
        for some in np.array_split(np.arange(count), 3):
            state = agent.observe(state, arms[some], rewards[some])
        assert 0.4 * count < float(whole.total[0]) < 0.6 * count
    assert state.total.tolist() == whole.total.tolist()
    assert state.received.tolist() == whole.received.tolist()


def test_sums_do_not_depend_on_the_calls():
    agent, rewards = jb.Agent("ucb-v", arms=2, reward="uniform"), np.full(3000, 0.1)
    arms = np.arange(3000) % 2
    at_once = agent.observe(agent.init(0), arms, rewards)
    state = agent.init(0)
    for some in np.split(np.arange(3000), [1, 2, 70, 2000]):
        state = agent.observe(state, arms[some], rewards[some])
    for told in (at_once, state):
        np.testing.assert_allclose(told.total, 1500 * float(np.float32(0.1)), rtol=2e-7)
    jax.tree.map(np.testing.assert_array_equal, at_once, state)


@pytest.mark.parametrize(("kind", "told"), [("moss", ["round 3 is beyond horizon = 2, which moss uses"]), ("ucb1", [])])
def test_a_round_beyond_a_horizon_that_is_used_is_told_once(kind, told):
    agent = jb.Agent(kind, arms=2, horizon=2)
    state = agent.init(0)
    for t in range(1, 5):
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            state, arms, _ = agent.select(state)
        assert [str(one.message) for one in given] == told * (t == 3)
        state = agent.observe(state, arms, [1.0])


def test_simulators_and_agents_are_pickled_after_they_were_used():
    agent = jb.Agent("moss", arms=2, horizon=20)
    state, arms, _ = agent.select(agent.init(0))
    other = pickle.loads(pickle.dumps(agent))
    assert other.select(agent.observe(state, arms, [1.0]))[1] == agent.select(agent.observe(state, arms, [1.0]))[1]
    simulator = jb.Simulator(jb.Problem([0.9, 0.5]), "moss", horizon=20)
    state, _ = simulator.step(simulator.init(0))
    again = pickle.loads(pickle.dumps(simulator))
    np.testing.assert_array_equal(again.step(state)[1].arms, simulator.step(state)[1].arms)
