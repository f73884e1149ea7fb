"""Subclasses of this package's classes: the method that a class replaces is used, wherever a policy is played."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest
from sweeps import every, partly_fast

import jaxbandit as jb
from jaxbandit.core.errors import ReturnedError
from jaxbandit.environment.delays import GeometricDelay
from jaxbandit.environment.merit import Merit, Power
from jaxbandit.policies.base import Alias, Policy, Rule

MEANS = [0.9, 0.5, 0.4]
T, LAST = 40, [0, 0, 40]  # rounds, and the selections of policies that play the last arm


def rising(now):
    """A score that is the largest for the last arm."""
    number = jnp.arange(len(now.pulls), dtype=now.mean.dtype).reshape(-1, *[1] * (now.pulls.ndim - 1))
    return jnp.broadcast_to(number, now.pulls.shape)


def value(self, state, now):
    return rising(now)


def select(self, state, now):
    return now.best(rising(now))


def choose(self, state, now):
    mask = now.best(rising(now))
    return mask, mask.astype(now.mean.dtype)


def subclass(parent, **methods):
    return type("Mine", (parent,), {**methods, "__module__": "users_module"})


def simulated(policy, problem=None, **settings):
    """Selections of each arm, mean over runs."""
    return jb.simulate(problem or {"means": MEANS}, policy, horizon=T, seeds=4, **settings).pulls.values.mean((0, 1, 2))


def by_agent(policy, **problem):
    agent = jb.Agent(policy, arms=3, horizon=T, **problem)
    state = agent.init(key=0)
    for _ in range(T):
        state, arms, _ = agent.select(state)
        state = agent.observe(state, arms, rewards=[1.0])
    return state.pulls.tolist()


@pytest.mark.parametrize(
    ("kind", "reward"),
    [
        ("thompson", "bernoulli"),
        pytest.param("thompson", {"kind": "gaussian", "sd": 0.3}, marks=pytest.mark.slow),
        pytest.param("kl-ucb", "bernoulli", marks=pytest.mark.slow),
    ],
)
def test_an_index_of_a_subclass_is_used(kind, reward):
    mine = subclass(type(jb.policy(kind)), value=value, initial_pass=False)
    np.testing.assert_array_equal(simulated(mine, {"means": MEANS, "reward": reward}), LAST)
    if reward == "bernoulli":
        assert by_agent(mine) == LAST


@pytest.mark.slow
def test_a_subclass_of_thompson_keeps_its_parameters_state_and_attributes():
    class Mine(jb.indices.Thompson):
        """A draw with a bonus for the arm that was played last."""

        bonus: float = jb.parameter(0.0, low=0, doc="the bonus")

        def init(self, world, shape):
            return jnp.zeros(shape)

        def value(self, state, now):
            return super().value(state, now) + self.bonus * state

        def update(self, state, after, selected):
            return selected.astype(state.dtype)

    plain = simulated("thompson")
    np.testing.assert_array_equal(simulated(jb.policy(Mine, bonus=0.0)), plain)
    sticky = simulated(jb.policy(Mine, bonus=100.0))  # the arm of the first round, in all rounds
    assert sorted(sticky * 4) != sorted(plain * 4)
    assert set((sticky * 4 / T).tolist()) <= {0.0, 1.0, 2.0, 3.0, 4.0}


STATED = ["exp3", "fcts-d", "fcucb-d", "fgreedy-d", "calibrated-thompson", "min-probability"]


@pytest.mark.parametrize("kind", ["fcts-d", *every([kind for kind in STATED if kind != "fcts-d"], 2)])
@pytest.mark.parametrize("metrics", partly_fast(["regret", "fairness_regret"], ["fairness_regret"]))
def test_a_replaced_select_is_used_where_the_parent_states_chances(kind, metrics):
    """With metrics that need chances, and without."""
    mine = subclass(type(jb.policy(kind)), select=select)
    problem = {"means": MEANS, "merit": "power"}
    np.testing.assert_array_equal(simulated(mine, problem, metrics=[metrics]), LAST)


@pytest.mark.parametrize(
    "kind", partly_fast(["ucb1", "fair-learn", "uniform-random", "constant-opportunity"], ["ucb1"])
)
@pytest.mark.parametrize("metrics", partly_fast(["regret", "fairness_regret"], ["regret"]))
def test_a_replaced_choose_is_used_where_the_parent_has_select(kind, metrics):
    mine = subclass(type(jb.policy(kind)), choose=choose)
    problem = {"means": MEANS, "merit": "power", "fractions": 0.1, "penalties": 0.3, "opportunity": "uniform"}
    np.testing.assert_array_equal(simulated(mine, problem, metrics=[metrics]), LAST)
    if kind == "ucb1":
        assert by_agent(mine) == LAST


RULES = [
    name for name, kind in Policy.registry.items() if not isinstance(kind, Alias) and issubclass(kind, Rule) and name
]


FAST_RULE = ("fair-learn", 1)
OTHER_RULES = [case for case in itertools.product(RULES, (1, 2)) if case != FAST_RULE]


@pytest.mark.parametrize(("kind", "plays"), [FAST_RULE, *every(OTHER_RULES, 3)])
def test_a_replaced_value_of_a_rule_is_used(kind, plays):
    """Whichever rule it is, the last arm is played most, the worst one."""
    problem = {"means": MEANS, "fractions": 0.1, "penalties": 0.0, "plays": plays}
    mine = subclass(type(jb.policy(kind)), value=lambda self, state, now: 100.0 * rising(now) - 150.0)
    assert simulated(mine, problem)[2] > 0.7 * T
    assert simulated(kind, problem)[2] < 0.7 * T


@pytest.mark.slow
def test_bounds_of_a_subclass_that_compare_arms_see_all_arms():
    class Mine(jb.indices.SuccessiveElimination):
        def confidence_bounds(self, after):
            best = after.mean.max(axis=0, keepdims=True)
            return 0.9 * after.mean, jnp.where(after.mean < 0.6 * best, 0.5 * after.mean, best)

    problem = {"means": MEANS}
    late = simulated(Mine, {**problem, "delay": {"kind": "fixed", "d": 0}})  # which keeps no bounds
    np.testing.assert_array_equal(simulated(Mine, problem), late)


@pytest.mark.slow
def test_an_exact_peak_belongs_to_the_value_beside_it():
    """The peak of a power is not that of a subclass with another value."""

    class Bump(Power):
        def value(self, mu):
            return 1.0 + 40.0 * mu * (1.0 - mu) ** 4

    class Same(Merit):
        value = Bump.value

    problem = {"means": [0.2, 0.5, 0.9]}
    mine, right = (simulated("fcucb-d", {**problem, "merit": merit}) for merit in (Bump(), Same()))
    np.testing.assert_array_equal(mine, right)


def test_a_distribution_of_delays_belongs_to_the_draw_beside_it():
    """Bounds that need it are left out for a subclass that draws other delays."""

    class Later(GeometricDelay):
        def draw(self, reward, random):
            return super().draw(reward, random) + 5

    class Stated(Later):
        def cdf(self, rounds, means):
            return super().cdf(np.maximum(rounds - 5, 0), means) * (rounds >= 5)[:, None, None]

    plain, later, stated = (
        jb.bounds.bounds_for(jb.Problem(MEANS, merit="power", delay=kind(p=0.5)), "fcucb-d", "reward_regret")
        for kind in (GeometricDelay, Later, Stated)
    )
    assert plain
    assert not later
    assert [bound.source for bound in stated] == [bound.source for bound in plain]


@pytest.mark.slow
@pytest.mark.parametrize("plays", [1, 2])
def test_ucb_lp_tells_of_an_index_that_is_not_a_number(plays):
    class Hole(jb.Index):
        def value(self, state, now):
            return jnp.where(rising(now) == 2, jnp.nan, now.mean)

    with pytest.raises(FloatingPointError, match="policy 'ucb-lp': an index was not a number"):
        simulated(jb.policy("ucb-lp", base=Hole), {"means": MEANS, "fractions": 0.1, "plays": plays})


@pytest.mark.parametrize("chance", partly_fast([3.0, -0.5, 0.9], [3.0, 0.9]))
def test_chances_that_cannot_be_are_told(chance):
    class Sure(jb.Policy):
        def choose(self, state, now):
            return now.best(now.mean), jnp.full_like(now.mean, chance)

    words = r"policy 'Sure': choose returned 1 arm too few \(chances outside \[0, 1\] or that do not sum to the plays"
    with pytest.raises(ReturnedError, match=words):
        simulated(Sure, {"means": MEANS, "merit": "power"})


class Wide(jb.indices.UCB1):
    """ucb1 with another default of a parameter."""

    exploration = 50.0


class Tolerant(jb.policies.FairLearn):
    """fair-learn with other defaults."""

    base = jb.indices.KLUCB()
    alpha: float = 3.0


def test_a_default_that_a_subclass_replaces_is_used():
    assert Wide() == Wide(50.0)
    assert Wide(2.0).exploration == 2.0
    assert repr(Tolerant()) == f"Tolerant(base={jb.indices.KLUCB()!r}, alpha=3.0)"
    assert "exploration (>= 0, default 50)" in Wide.__doc__
    problem = jb.Problem([0.9, 0.5, 0.7])
    found, wanted, other = (
        jb.simulate(problem, policy, horizon=60, seeds=3, record=1, metrics=[]).pulls.values
        for policy in (Wide, jb.policy("ucb1", exploration=50.0), "ucb1")
    )
    np.testing.assert_array_equal(found, wanted)
    assert not np.array_equal(found, other)


@pytest.mark.slow
def test_a_list_is_a_default_per_arm():
    class Dear(jb.policies.HardThreshold):
        """Penalty rates of its own."""

        penalties = [0.45, 0.0, 0.1]  # noqa: RUF012  as a user writes it

    problem = jb.Problem([0.9, 0.5, 0.7], fractions=0.2)
    found, wanted = (
        jb.simulate(problem, policy, horizon=60, seeds=3, record=1, metrics=[]).pulls.values
        for policy in (Dear, jb.policy("hard-threshold-ucb", penalties=[0.45, 0.0, 0.1]))
    )
    np.testing.assert_array_equal(found, wanted)


def test_a_replaced_default_keeps_the_range_of_the_parameter():
    for name in ("exploration", "alpha"):
        parent = {"exploration": jb.indices.UCB1, "alpha": jb.policies.FairLearn}[name]
        wrong = type("Wrong", (parent,), {name: -1.0, "__annotations__": {name: float} if name == "alpha" else {}})
        with pytest.raises(jb.InputError, match=rf"policies\.{name} = -1\.0: must be a number >= 0"):
            jb.policy(wrong)


def test_a_parameter_needs_no_annotation():
    class Bonus(jb.Index):
        bonus = jb.parameter([0.5, 0.1], low=0, doc="per arm")

        def value(self, state, now):
            return now.mean + self.bonus

    class Less(Bonus):
        bonus = 0.1
        weight = jb.parameter(2.0)

    assert Bonus().bonus == (0.5, 0.1)
    assert (Less(weight=3.0).bonus, Less(weight=3.0).weight) == (0.1, 3.0)
    with pytest.raises(jb.InputError, match=r"bonus = -1: must be "):
        jb.policy(Less, bonus=-1)
