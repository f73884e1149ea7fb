"""`jb.Simulator`: its runs are those of the engine, selection by selection, and its functions are pure."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from harness import trajectory
from stepping import DELAYS, problem_for, scanned, some_cases

import jaxbandit as jb
from jaxbandit.core.prng import run_keys

T, SEEDS = 120, 3
FAST = [("lfg", 3, "geometric")]


def runs_of(simulator, key, instances=1, seeds=SEEDS):
    """The states before round 1, with the axes `[instances, seeds]`."""
    init = jax.vmap(jax.vmap(functools.partial(simulator.init, key), (None, 0)), (0, None))
    return jax.jit(init)(jnp.arange(instances), jnp.arange(seeds))


class Batched:
    """A simulator whose `step` plays the runs `[instances, seeds]`."""

    def __init__(self, simulator):
        self.step = jax.vmap(jax.vmap(simulator.step))


@pytest.mark.parametrize(
    ("kind", "plays", "delay"),
    [*FAST, *(pytest.param(*case, marks=pytest.mark.slow) for case in some_cases(0))],
)
def test_runs_are_those_of_the_engine(kind, plays, delay):
    problem = problem_for(plays=plays, delay=DELAYS[delay])
    simulator = jb.Simulator(problem, kind, horizon=T)
    final, info = scanned(Batched(simulator), runs_of(simulator, 7), T)
    selected = trajectory(problem, kind, T, SEEDS, key=7)  # [T, K, 1, seeds]
    ours = (info.arms[..., None] == np.arange(problem.arms)).any(axis=-2)  # [T, 1, seeds, K]
    np.testing.assert_array_equal(np.moveaxis(ours, -1, 1), selected)
    np.testing.assert_array_equal(final.pulls, selected.sum(axis=0).transpose(1, 2, 0))
    assert info.chances.sum(axis=-1) == pytest.approx(plays, abs=1e-4)


def test_what_is_told_of_a_round_is_what_happened():
    """Rewards arrive after their delays, and what arrived is the sum of the rewards that were due."""
    simulator = jb.Simulator(problem_for(plays=2, delay=DELAYS["geometric"], availability=0.6), "lfg", horizon=T)
    _, info = scanned(simulator, simulator.init(3), T)
    count, total = np.zeros((2 * T, 4), int), np.zeros((2 * T, 4))
    for t, (arms, rewards, delays) in enumerate(zip(info.arms, info.rewards, info.delays, strict=True)):
        here = arms >= 0
        assert sorted(set(arms[here].tolist())) == arms[here].tolist()
        assert (rewards[~here] == 0).all()
        assert here.tolist() == sorted(here, reverse=True)
        np.add.at(count, (np.minimum(t + delays[here], 2 * T - 1), arms[here]), 1)
        np.add.at(total, (np.minimum(t + delays[here], 2 * T - 1), arms[here]), rewards[here])
    assert (info.arms < 0).any()
    np.testing.assert_array_equal(info.arrived.count, count[:T])
    np.testing.assert_array_equal(info.arrived.total, total[:T])


@pytest.mark.parametrize("reward", ["gaussian", pytest.param("uniform", marks=pytest.mark.slow)])
def test_totals_that_arrive_are_sums_of_rewards(reward):
    simulator = jb.Simulator(jb.Problem([0.2, 0.7], reward=reward), "ucb1", horizon=T)
    _, info = scanned(simulator, simulator.init(0), T)
    np.testing.assert_allclose(info.arrived.total.sum(axis=1), info.rewards[:, 0], rtol=1e-6, atol=1e-6)


@pytest.mark.slow
def test_instances_and_seeds_are_those_of_a_simulation():
    problem = jb.Problem([[0.9, 0.8, 0.1], [0.5, 0.6, 0.2]], fractions=[[0.1, 0.2, 0.3], ["1/7", "1/3", 0.1]])
    simulator = jb.Simulator(problem, "fair-learn", horizon=T)
    final, _ = scanned(Batched(simulator), runs_of(simulator, 5, instances=2), T)
    results = jb.simulate(problem, "fair-learn", horizon=T, metrics=["regret"], seeds=SEEDS, key=5)
    np.testing.assert_array_equal(final.pulls, results.pulls[0])
    whole = simulator.rollout(5, SEEDS)
    assert jax.tree.structure(whole) == jax.tree.structure(final)
    for one, other in zip(jax.tree.leaves(whole), jax.tree.leaves(final), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


@pytest.mark.parametrize("key", [3, 3 << 40 | 9, "typed", "raw", "four words"])
def test_a_key_gives_the_runs_that_it_gives_in_a_simulation(key):
    made = {"typed": jax.random.key(11), "raw": jax.random.PRNGKey(11), "four words": jax.random.key(5, impl="rbg")}
    key = made.get(key, key)
    simulator = jb.Simulator(jb.Problem([0.9, 0.5]), "thompson", horizon=9)
    expected = [word.item() for word in run_keys(key, np.array(0), np.array(2))]
    assert simulator.init(key, seed=2).key.tolist() == expected
    assert jax.jit(lambda: simulator.init(key, seed=2).key)().tolist() == expected  # a constant of another program
    if not isinstance(key, int) or key < 1 << 31:
        assert jax.jit(lambda key: simulator.init(key, seed=2).key)(key).tolist() == expected


# Other numbers


class Cube(jb.Merit):
    def value(self, mu):
        return 1 + mu**3


class Even(jb.Opportunity):
    def value(self, mu):
        return jax.nn.softmax(mu, axis=0) / 2


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("fair-random", {"fractions": 0.1}),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [
                ("fcucb-d", {"merit": "power"}),
                ("fcucb-d", {"plays": 2, "merit": Cube()}),
                ("self-regulated", {"penalties": 0.3, "opportunity": "softmax"}),
                ("self-regulated", {"penalties": 0.3, "opportunity": Even()}),
            ]
        ),
    ],
)
def test_a_simulator_may_be_made_where_a_function_is_traced(kind, problem):
    """Numbers that a policy computes before round 1 are constants of the program that is traced."""

    def pulls(seed):
        parameters = {"lipschitz": 1.0} if kind == "self-regulated" else {}
        simulator = jb.Simulator(jb.Problem([0.2, 0.5, 0.9], **problem), jb.policy(kind, **parameters), horizon=9)
        return jax.lax.fori_loop(0, 9, lambda _, state: simulator.step(state)[0], simulator.init(0, seed=seed)).pulls

    np.testing.assert_array_equal(jax.jit(pulls)(3), pulls(3))


@pytest.mark.slow
def test_rates_that_are_traced_share_a_compilation():
    simulator = jb.Simulator(problem_for(), "hard-threshold-ucb", horizon=T)
    traced = []

    def pulls(rate):
        traced.append(rate)
        other = simulator.replace(penalties=rate)
        return scanned_pulls(other)

    def scanned_pulls(other):
        return jax.lax.scan(lambda s, _: (other.step(s)[0], None), other.init(4), length=T)[0].pulls

    rates = jnp.array([0.0, 0.3, 2.0])
    found = jax.jit(jax.vmap(pulls))(rates)
    assert len(traced) == 1
    for rate, one in zip(rates.tolist(), found, strict=True):
        expected = jb.simulate(
            problem_for(penalties=rate), "hard-threshold-ucb", horizon=T, metrics=["regret"], seeds=1, key=4
        )
        np.testing.assert_array_equal(one, expected.pulls[0, 0, 0])
        np.testing.assert_array_equal(one, simulator.replace(penalties=rate).rollout(4, 1).pulls[0, 0])


@pytest.mark.slow
@pytest.mark.parametrize("reward", ["bernoulli", "gaussian", "uniform"])
def test_means_that_are_traced_are_those_of_another_problem(reward):
    simulator = jb.Simulator(jb.Problem([0.5, 0.5, 0.5], reward=reward), "ucb1", horizon=T)
    means = [0.25, 0.75, 0.5]
    found = jax.jit(lambda means: simulator.replace(means=means).rollout(1, 4).pulls)(jnp.array(means))
    expected = jb.simulate(jb.Problem(means, reward=reward), "ucb1", horizon=T, metrics=["regret"], seeds=4, key=1)
    np.testing.assert_array_equal(found, expected.pulls[0])
    np.testing.assert_array_equal(simulator.replace(means=means).rollout(1, 4).pulls, expected.pulls[0])


@pytest.mark.slow
def test_a_parameter_of_the_index_in_a_rule_is_replaced():
    simulator = jb.Simulator(problem_for(), "fair-learn", horizon=T)
    expected = jb.simulate(
        problem_for(), jb.policy("fair-learn", exploration=0.1), horizon=T, metrics=["regret"], seeds=2
    )
    found = jax.jit(lambda x: simulator.replace(exploration=x).rollout(0, 2).pulls)(0.1)
    np.testing.assert_array_equal(found, expected.pulls[0])
    np.testing.assert_array_equal(simulator.replace(exploration=0.1).rollout(0, 2).pulls, expected.pulls[0])


@pytest.mark.slow
def test_numbers_that_are_traced_stay_when_others_are_replaced():
    simulator = jb.Simulator(problem_for(), "hard-threshold-ucb", horizon=T)
    one_by_one = jax.jit(lambda rate: simulator.replace(penalties=rate).replace(exploration=0.1).rollout(0, 2).pulls)
    together = simulator.replace(penalties=2.0, exploration=0.1).rollout(0, 2).pulls
    np.testing.assert_array_equal(one_by_one(2.0), together)
    assert (together != simulator.replace(exploration=0.1).rollout(0, 2).pulls).any()


# Invalid input


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: jb.Simulator(s.problem, s.policy, horizon=0), r"^horizon = 0: must be a whole number >= 1$"),
        (lambda s: jb.Simulator({"means": [0.5]}, "ucb2", 9), r"^policies.kind = 'ucb2': must be one of .*'ucb1'"),
        (lambda s: s.init(0, instance=1), r"^instance = 1: must be a whole number from 0 to 0$"),
        (lambda s: s.init(0, seed=-1), r"^seed = -1: must be a whole number from 0 to"),
        (lambda s: s.init(-1), r"^key = -1: must be an integer from 0 to 2\^64 - 1"),
        (lambda s: s.rollout(0, 0), r"^seeds = 0: must be a whole number >= 1$"),
        (lambda s: s.rollout(-1, 3), r"^key = -1: must be an integer from 0 to 2\^64 - 1, or one key of jax.random$"),
        (lambda s: s.replace(fractions=0.2), r"^fractions = 0.2: must be left out: .* make another `jb.Simulator`"),
        (lambda s: s.replace(horizon=9), r"^horizon = 9: must be left out"),
        (lambda s: s.replace(base="moss"), r"^base = 'moss': must be left out"),
        (lambda s: s.replace(penalties=-1), r"^problem.penalties = -1: must be"),
        (lambda s: s.replace(explorations=1), r"^replace = 'explorations': must be one of .*'exploration'"),
        (
            lambda s: jax.vmap(lambda x: s.replace(means=x))(jnp.ones((2, 3))),
            r"^means = .*: must be a number, 4 num",
        ),
    ],
)
def test_invalid_input_is_refused(call, words):
    with pytest.raises(jb.InputError, match=words):
        call(jb.Simulator(problem_for(), "fair-learn", horizon=T))


def test_faults_of_a_users_policy_are_errors_of_rollout():
    class Undefined(jb.Index):
        def value(self, state, now):
            return jnp.where(now.pulls > 5, jnp.nan, now.mean)

    with pytest.raises(FloatingPointError, match=r"'Undefined': an index was not a number, in round 50 or before"):
        jb.Simulator(jb.Problem([0.9, 0.5]), Undefined, horizon=50).rollout(0, 2)


@pytest.mark.slow
def test_several_keys_instances_or_seeds_need_vmap():
    simulator = jb.Simulator(jb.Problem([[0.5, 0.4], [0.1, 0.3]]), "ucb1", horizon=9)
    keys, numbers = jax.random.split(jax.random.key(0), 2), jnp.arange(2)
    for arguments in ({"key": keys}, {"key": jax.random.key_data(keys)}, {"key": numbers}):
        with pytest.raises(jb.InputError, match=r"^key = 'a traced array .*: must be one .*`jax.vmap`"):
            jax.make_jaxpr(lambda given: simulator.init(**given))(arguments)
    for name in ("instance", "seed"):
        with pytest.raises(jb.InputError, match=rf"^{name} = 'a traced array .*: must be one whole number; map"):
            jax.make_jaxpr(lambda given, name=name: simulator.init(0, **{name: given}))(numbers)
    assert jax.vmap(lambda key, j: simulator.init(key, j).key)(keys, numbers).shape == (2, 2)
    with pytest.raises(jb.InputError, match=r"^problem is missing: must be one Problem"):
        jb.Simulator(None, "ucb1", horizon=9)


@pytest.mark.parametrize("means", [[0.1, 0.2], [[0.1, 0.2, 0.3]] * 3, "random", {"random": "uniform"}])
def test_other_numbers_of_arms_and_instances_are_refused(means):
    simulator = jb.Simulator(jb.Problem([[0.1, 0.2, 0.9], [0.5, 0.4, 0.3]]), "ucb1", 20)
    with pytest.raises(jb.InputError, match=r"^means = .*: must be a number, 3 numbers, one per arm, or 2 rows of 3"):
        simulator.replace(means=means)
    assert simulator.replace(means=[0.1, 0.2, 0.3]).problem.means.T.tolist() == [[0.1, 0.2, 0.3]] * 2


@pytest.mark.slow
def test_what_is_no_state_of_the_simulator_is_refused():
    simulator, other = (jb.Simulator(jb.Problem(means), "ucb1", 20) for means in ([0.1, 0.2, 0.9], [0.1, 0.2]))
    with pytest.raises(jb.InputError, match=r"^state = 'tuple': must be a state of this simulator; .*\(state, info\)$"):
        simulator.step(simulator.step(simulator.init(0)))
    with pytest.raises(jb.InputError, match=r"^state = 'a state with 2 arms': must be one with 3 arms$"):
        simulator.step(other.init(0))
    simulator.step(jb.Simulator(jb.Problem([0.5, 0.6, 0.7]), "ucb1", 30).init(0))  # other numbers
    prompt, late = (jb.Simulator(problem_for(delay=DELAYS[delay]), "ucb1", 20) for delay in ("none", "geometric"))
    phases = jb.Simulator(problem_for(), "fairness-aware-etc", 20)
    for one, state, words in [
        (
            late,
            prompt.init(0),
            r"a state of this simulator; in it \.run\.received is missing, not int32 of shape \(4, 1\)$",
        ),
        (prompt, late.init(0), r"a state of this simulator; in it \.run\.received is int32 of shape .*, not missing$"),
        (prompt, phases.init(0), r"a state of this simulator; in it \.run\.policy.* is .*, not missing$"),
        (prompt, prompt.rollout(0, 3), r"the state of one run; map over the states of several with `jax.vmap`$"),
    ]:
        with pytest.raises(jb.InputError, match=rf"^state = .*: must be {words}"):
            one.step(state)


def test_a_state_of_all_rounds_is_refused_where_it_is_not_traced():
    simulator = jb.Simulator(jb.Problem([0.1, 0.9]), "ucb1", 2)
    state, _ = simulator.step(simulator.step(simulator.init(0))[0])
    with pytest.raises(jb.InputError, match=r"^state = 'a state of 2 rounds': must be one of fewer than horizon = 2"):
        simulator.step(state)
    second = jb.Simulator(jb.Problem([[0.1, 0.9], [0.2, 0.3]]), "ucb1", 2).init(0, instance=1)
    with pytest.raises(
        jb.InputError, match=r"^state = 'a state of instance 1': must be one of an instance from 0 to 0"
    ):
        simulator.step(second)


def test_a_step_says_what_a_class_of_the_users_did_wrong():
    class TooLong(jb.Delay):
        def draw(self, reward, random):
            return jnp.full(reward.shape, 9, jnp.int32)

        def longest(self):
            return 5

    class Undefined(jb.Index):
        def value(self, state, now):
            return jnp.where(now.pulls > 1, jnp.nan, now.mean)

    problem = jb.Problem([0.9, 0.5], delay=TooLong())
    with pytest.raises(jb.ReturnedError, match=r"'TooLong': draw returned a delay of 9 rounds, in round 1 or before"):
        jb.Simulator(problem, "ucb1", 20).step(jb.Simulator(problem, "ucb1", 20).init(0))
    simulator = jb.Simulator(jb.Problem([0.9, 0.5]), Undefined, 20)
    with pytest.raises(FloatingPointError, match=r"'Undefined': an index was not a number, in round [3-6] or before"):
        functools.reduce(lambda state, _: simulator.step(state)[0], range(8), simulator.init(0))


@pytest.mark.slow
def test_a_simulator_with_other_numbers_keeps_its_ties():
    """Arms 1 to 3 are equal, so that the order of the arms decides between them."""
    problem = jb.Problem([0.9, 0.5, 0.5, 0.5], fractions=0.1, penalties=0.3)
    simulator = jb.Simulator(problem, "hard-threshold-ucb", 40, ties="random").replace(penalties=0.0)
    other = jb.Simulator(problem.replace(penalties=0.0), "hard-threshold-ucb", 40, ties="random")
    assert simulator.ties == "random"
    np.testing.assert_array_equal(simulator.rollout(0, 8).pulls, other.rollout(0, 8).pulls)


def test_a_state_may_be_a_constant_of_a_program():
    simulator = jb.Simulator(jb.Problem([0.9, 0.5]), "ucb1", 10)
    state = simulator.init(0)
    in_program = jax.jit(lambda: simulator.step(state)[0].pulls)()
    np.testing.assert_array_equal(in_program, simulator.step(state)[0].pulls)
