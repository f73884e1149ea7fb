"""Mistakes in users' classes that would be silent, or hard to understand: each is told, with what to do."""

import itertools
import random as python_random
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sweeps import first_fast

import jaxbandit as jb
from jaxbandit.core.errors import InputError, ReturnedError
from jaxbandit.core.users_code.failures import is_library
from jaxbandit.engine.advice.misspelt_methods import misspelt_method
from jaxbandit.engine.advice.mixed_runs import lines_of

PROBLEM = {"means": [0.8, 0.9, 0.7]}
COUNTER = itertools.count()
NUMPY = np.random.default_rng()


def simulate(policy="ucb1", **others):
    return jb.simulate({**PROBLEM, **others}, policy, horizon=12, seeds=3, metrics=["regret"], record=2)


def index(value, **attributes):
    return type("Mine", (jb.Index,), {"value": value, **attributes})


def reward(draw):
    return {"reward": type("MyReward", (jb.Reward,), {"draw": draw})}


def delay(draw):
    return {"delay": type("MyDelay", (jb.Delay,), {"draw": draw})}


# What is fixed when the program is compiled


@pytest.mark.parametrize(
    ("policy", "problem", "owner"),
    [
        (index(lambda self, state, now: now.mean + NUMPY.random() / now.samples), {}, "policy 'Mine'"),
        (index(lambda self, state, now: now.mean + python_random.random() / now.samples), {}, "policy 'Mine'"),
        (index(lambda self, state, now: now.mean + next(COUNTER)), {}, "policy 'Mine'"),
        ("ucb1", reward(lambda self, mean, random: mean + 1e-5 * NUMPY.normal()), "reward 'MyReward'"),
        (
            "ucb1",
            delay(lambda self, reward, random: jnp.full(reward.shape, next(COUNTER), jnp.int32)),
            "delay 'MyDelay'",
        ),
    ],
    ids=["numpy", "random", "counter", "reward", "delay"],
)
def test_what_a_method_takes_from_python_is_refused(policy, problem, owner):
    with pytest.raises(ReturnedError, match=f"{owner}: a second call .* returned something else; .* `random`"):
        simulate(policy, **problem)


def test_delays_of_a_key_of_their_own_are_refused():
    def draw(self, reward, random):
        return jax.random.randint(jax.random.key(0), reward.shape, 0, 9)

    with pytest.raises(ReturnedError, match="delay 'MyDelay': draw returned the same random delays for all seeds"):
        simulate(**delay(draw))


# Runs that depend on one another


def combining(function, *others):
    """The lines of a function that combine numbers of runs, for arrays [4, 3, 5]."""
    return lines_of(jax.make_jaxpr(function)(jnp.zeros((4, 3, 5)), *others), (3, 5, 15, 12, 20, 60))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x - x.mean(),
        lambda x: x - x.max(axis=1, keepdims=True),
        lambda x: jnp.argmax(x, axis=-1),
        lambda x: jnp.sort(x, axis=2),
        lambda x: jnp.median(x),
        lambda x: jnp.cumsum(x, axis=1),
        lambda x: jnp.einsum("kij,kij->k", x, x),
        lambda x: jnp.flip(x, axis=1),
        lambda x: jax.lax.fori_loop(0, 3, lambda i, y: y + x.sum(), x),
        lambda x: jax.lax.top_k(x, 2)[0],
        jax.jit(lambda x: x.std()),
        lambda x: x.at[jnp.argmax(x, axis=0)].add(1.0),
        lambda x: jnp.zeros(4).at[jnp.argmax(x, axis=0).ravel()].add(1.0),
        lambda x: x[..., :1],
        lambda x: jnp.roll(x, 1, axis=-1),
        lambda x: jax.lax.reduce(x, 0.0, lambda one, other: one + other, (1,)),
        lambda x: jax.lax.scan(lambda total, row: (total + row, total), jnp.zeros((4, 3)), jnp.moveaxis(x, -1, 0))[1],
    ],
)
def test_operations_along_runs_are_found(function):
    (line,) = set(combining(function))
    assert "test_users_mistakes.py" in line


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x - x.mean(axis=0, keepdims=True),
        lambda x: jnp.argmax(x, axis=0),
        lambda x: jnp.sort(x, axis=0)[::-1],
        lambda x: jnp.median(x, axis=0),
        lambda x: jnp.einsum("kij,kij->ij", x, x),
        lambda x: jax.lax.fori_loop(0, 3, lambda i, y: y + x.sum(axis=0, keepdims=True), x),
        lambda x: jnp.where(x > 0, x, 1) ** 2,
        lambda x: x.at[jnp.argmax(x, axis=0), jnp.arange(3)[:, None], jnp.arange(5)[None]].add(1.0),
        jax.vmap(jax.vmap(lambda x: x.at[jnp.argmax(x)].add(1.0), 1, 1), 2, 2),
        lambda x: jax.lax.top_k(x, 2, axis=0)[0],
        jax.grad(lambda x: (x**2).sum()),
        lambda x: jax.lax.cond(jnp.any(x > 0), lambda: x, lambda: 2 * x),
        lambda x: jax.lax.while_loop(lambda y: jnp.any(y > 1), lambda y: jnp.minimum(y, 0.5 * y + 0.5), x),
        lambda x: jax.lax.map(lambda row: 2 * row, jnp.moveaxis(x, -1, 0)),
    ],
)
def test_operations_along_arms_are_not(function):
    assert not combining(function)


def test_an_index_that_combines_runs_is_told():
    def value(self, state, now):
        return now.mean - jnp.where(now.pulls > 5, now.mean.mean(), 0.0)

    with pytest.warns(
        UserWarning, match=r"policy 'Mine': combines numbers of several runs \(line \d+ of test_users_mi"
    ):
        simulate(index(value))
    simulate(
        index(lambda self, state, now: now.mean - now.mean.mean(axis=0, keepdims=True))
    )  # no warning, which would be an error


@pytest.mark.parametrize("length", first_fast([17, 13, 101]))
def test_axes_of_a_policy_are_not_those_of_runs(length):
    def value(self, state, now):
        return now.mean + state.mean(axis=0)

    simulate(index(value, init=lambda self, world, shape: jnp.zeros((length, *shape))))  # a warning would be an error


@jax.jit
def beta(random, a, b):
    return random.beta(a, b)


@pytest.mark.slow
def test_operations_of_this_package_are_not_those_of_users():
    simulate(index(lambda self, state, now: beta(now.random, 1 + now.total, 1 + now.samples - now.total)))


class Own(jb.Policy):
    def init(self, world, shape):
        return jnp.zeros(shape)

    def select(self, state, now):
        return now.best(state)


def udpate(self, state, after, selected):
    return after.mean


@pytest.mark.slow
def test_a_misspelt_method_is_told():
    simulate(type("Forgetful", (Own,), {}))
    for method in (udpate, jax.jit(udpate), staticmethod(udpate)):  # the program is the same without it
        with pytest.warns(
            UserWarning, match="policy 'Forgetful': the class Forgetful has a method `udpate`, which is not"
        ):
            simulate(type("Forgetful", (Own,), {"udpate": method}))


@pytest.mark.parametrize(
    ("name", "misspelt", "family", "given"),
    [
        ("suport", "support", jb.Reward, {"support": lambda self, means: (0.0, 1.0)}),
        ("longst", "longest", jb.Delay, {"longest": lambda self: 3.0}),
        ("cfd", "cdf", jb.Delay, {"cdf": lambda self, rounds, means: np.ones((len(rounds), *means.shape))}),
        ("peek", "peak", jb.Merit, {"peak": lambda self, low, high, ratio: high}),
        ("bonds", "bounds", jb.Opportunity, {"bounds": lambda self, low, high: (low, high)}),
        ("prepar", "prepare", jb.Delay, {"prepare": lambda self, means: self}),
    ],
)
def test_misspelt_methods_of_every_family(name, misspelt, family, given):
    made = type("Mine", (family,), given)()
    assert misspelt_method(made) == ""
    wrong = type("Mine", (family,), {name: given[misspelt]})()
    assert misspelt_method(wrong) == (
        f"the class Mine has a method `{name}`, which is not called: the method is `{misspelt}`"
    )


@pytest.mark.slow
def test_a_misspelt_method_of_a_reward_is_told():
    kind = type(
        "Mine", (jb.Reward,), {"draw": lambda self, mean, random: mean, "suport": lambda self, means: (0.0, 1.0)}
    )
    with pytest.warns(UserWarning, match="reward 'Mine': the class Mine has a method `suport`, which is not called"):
        simulate(reward=kind())


def test_helpers_are_not_misspelt_methods():
    """Those that take other arguments, or that another class calls."""
    simulate(type("Helped", (Own,), {"updated": lambda self, x: x, "unit": lambda self: 1}))
    parent = type("Parent", (Own,), {"elect": lambda self, state, now: now.best(state)})
    simulate(type("Child", (parent,), {"select": lambda self, state, now: self.elect(state, now)}))


# Errors with words on what to do


def if_of_array(self, state, now):
    if now.mean[0] > 0.5:
        return now.mean
    return -now.mean


def changed_in_place(self, state, now):
    state["n"] = state["n"] + 1
    return state["n"]


def zeros_of_arms(self, world, shape):
    return {"n": jnp.zeros(shape[0])}


CONDITION = "use `jnp.where` or `lax.cond` instead of Python's `if`"


@pytest.mark.parametrize(
    ("policy", "notes"),
    [
        (index(if_of_array), ["`value` of policy 'Mine' (line", "in if_of_array: `if now.mean[0] > 0.5:`", CONDITION]),
        (index(lambda self, state, now: state["n"]), ["the class has no `init`"]),
        (
            type("Mine", (jb.Policy,), {"init": zeros_of_arms, "select": lambda self, s, now: now.best(s["n"])}),
            ["`select` of policy 'Mine'", "[K, *runs]"],
        ),
    ],
    ids=["if", "no init", "shape of the state"],
)
def test_errors_in_a_policy_have_notes(policy, notes):
    with pytest.raises((ValueError, TypeError)) as error:
        simulate(policy)
    for note in notes:
        assert note in "\n".join(error.value.__notes__)


def kept(memo, arms):
    return memo.setdefault(arms, jnp.ones((arms, 1, 1)))


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (lambda self, state, now: now.mean + now.quota_now.floor, InputError, r"problem.fractions is missing"),
        (
            lambda self, state, now: None * now.mean if now.quota_now is None else 0,
            TypeError,
            "`now.quota_now` is None",
        ),
        (
            lambda self, state, now, memo={}: now.mean + kept(memo, 3),
            jax.errors.TracerArrayConversionError,
            "kept an array of an earlier call in an attribute, a global variable or a cache",
        ),
    ],
    ids=["what the problem lacks", "another None", "a kept array"],
)
def test_the_cause_of_an_error_is_told(value, kind, words):
    with pytest.raises(kind) as error:
        simulate(index(value))
    assert words in "\n".join([str(error.value), *getattr(error.value, "__notes__", ())])


def test_a_key_in_the_state_is_refused():
    made = index(lambda self, state, now: now.mean, init=lambda self, world, shape: jax.random.key(0))
    with pytest.raises(ReturnedError, match=r"init returned a key of `jax.random`; expected a state of numbers"):
        simulate(made)


def test_files_beside_the_package_are_not_of_the_package():
    package = Path(jb.__file__).parent
    assert is_library(str(package / "mine.py"))
    assert not is_library(f"{package}_policies/mine.py")


def test_a_state_that_is_changed_in_place_is_refused():
    made = index(changed_in_place, init=lambda self, world, shape: {"n": jnp.zeros(shape)})
    with pytest.raises(ReturnedError, match="value returned with its argument `state` changed in place"):
        simulate(made)


def test_errors_of_an_agent_and_of_a_simulator_have_notes():
    with pytest.raises(jax.errors.TracerBoolConversionError) as error:
        jb.Agent(index(if_of_array), arms=3)
    assert CONDITION in "\n".join(error.value.__notes__)
    simulator = jb.Simulator(PROBLEM, index(if_of_array), horizon=5)
    with pytest.raises(jax.errors.TracerBoolConversionError) as error:
        simulator.step(simulator.init(key=0))
    assert CONDITION in "\n".join(error.value.__notes__)


def value_of_one(self, mu):
    return mu + 1 if mu > 0.5 else mu + 2


@pytest.mark.parametrize(
    ("policy", "problem", "where"),
    [
        ("ucb1", reward(lambda self, mean, random: mean if mean[0] > 0.5 else 0 * mean), "`draw` of reward 'MyReward'"),
        ("ucb1", delay(lambda self, reward, random: reward if reward[0] > 0.5 else 0), "`draw` of delay 'MyDelay'"),
        ("fcucb-d", {"merit": type("MyMerit", (jb.Merit,), {"value": value_of_one})}, "`value` of merit 'MyMerit'"),
        (
            "fairness-aware-etc",
            {"opportunity": type("MyF", (jb.Opportunity,), {"value": value_of_one}), "penalties": 0.3},
            "`value` of opportunity 'MyF'",
        ),
    ],
    ids=["reward", "delay", "merit", "opportunity"],
)
def test_errors_in_other_classes_name_the_class(policy, problem, where):
    with pytest.raises(ValueError, match="truth value") as error:
        simulate(policy, **problem)
    assert where in "\n".join(error.value.__notes__)
    assert CONDITION in "\n".join(error.value.__notes__)


def test_a_metric_with_a_name_needs_a_value():
    with pytest.raises(InputError, match=r"Bare\.value is missing: must be a method that returns the metric"):
        type("Bare", (jb.Metric,), {}, name="bare")
    assert "bare" not in jb.list_metrics()


@pytest.mark.parametrize("key", ["reward", "delay"])
def test_a_class_stands_for_itself_with_its_defaults(key):
    made = {"reward": jb.Reward, "delay": jb.Delay}[key].registry[{"reward": "gaussian", "delay": "geometric"}[key]]
    assert jb.Problem([0.5], **{key: made}) is not None
