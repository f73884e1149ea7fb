"""Users' classes: what their methods return is checked, when their programs are traced or in the rounds."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
import scripted_rounds

import jaxbandit as jb
from jaxbandit.core.errors import ReturnedError
from jaxbandit.environment.delays import NEVER, Delay
from jaxbandit.environment.rewards import Reward

MEANS = [0.9, 0.5, 0.1]
SMALL = {"horizon": 40, "seeds": 4, "block": 2, "record": 2, "metrics": ["regret"]}


def pulls(policy, problem=None, **others):
    return jb.simulate(problem or {"means": MEANS}, policy, **{**SMALL, **others}).pulls.values.reshape(-1, 3).tolist()


def returning(method, value, parent=jb.Index):
    """A class whose method gives `value(self, *arguments)`."""
    return type("Mine", (parent,), {method: value, "__module__": "users_module"})


def numbers(now):
    return jnp.broadcast_to(jnp.arange(len(now.pulls), dtype=jnp.int32).reshape(-1, 1, 1), now.pulls.shape)


WRONG = {
    "a value without the axis of the arms": (
        "value",
        lambda self, state, now: now.mean[0],
        r"value returned float32 \[",
    ),
    "a value without the axes of the runs": (
        "value",
        lambda self, state, now: jnp.arange(3.0),
        r"value returned float32 \[3\]; expected",
    ),
    "nothing": ("value", lambda self, state, now: None, "value returned None; expected an index per arm, float"),
    "a list": ("value", lambda self, state, now: [now.mean], "value returned a list"),
    "complex numbers": ("value", lambda self, state, now: now.mean.astype(jnp.complex64), "value returned complex64"),
    "a mask of floats": (
        "select",
        lambda self, state, now: now.available.astype(jnp.float32),
        "select returned float32 .* bool",
    ),
    "a mask without runs": ("select", lambda self, state, now: jnp.arange(3) < 1, r"select returned bool \[3\]"),
    "no mask": ("select", lambda self, state, now: None, "select returned None; expected a mask"),
    "one thing of two": ("choose", lambda self, state, now: now.available, "choose returned bool .* two arrays"),
    "chances of another shape": (
        "choose",
        lambda self, state, now: (numbers(now) == 0, jnp.ones(3)),
        r"choose returned float32 \[3\]; expected a chance per arm as second result",
    ),
    "no state": ("update", lambda self, state, after, selected: None, r"update returned None; expected .* \(\)"),
    "another state": ("update", lambda self, state, after, selected: (after.mean,), "update returned .*float32"),
    "a state of words": (
        "init",
        lambda self, world, shape: ["x"],
        "init returned .*expected a state: a tree of arrays",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_a_policy_returns_is_checked(name):
    method, value, words = WRONG[name]
    kind = returning(method, value, jb.Index if method == "value" else jb.Policy)
    if method in ("update", "init"):
        kind.select = lambda self, state, now: numbers(now) == 0
    problem = {"means": MEANS, "merit": "power"} if method == "choose" else {"means": MEANS}
    with pytest.raises(ReturnedError, match=f"^policy 'Mine': {words}"):
        jb.simulate(problem, kind, horizon=40, seeds=4)


def test_a_policy_with_choose_alone_plays_its_arms():
    def choose(self, state, now):
        return numbers(now) == 1, jnp.full(now.pulls.shape, 1 / 3)

    kind = returning("choose", choose, jb.Policy)
    assert pulls(kind) == [[0, 40, 0]] * 4
    assert pulls(kind, {"means": MEANS, "merit": "power"}, metrics=["fairness_regret"]) == [[0, 40, 0]] * 4
    wrong = returning("choose", lambda self, state, now: now.available, jb.Policy)
    with pytest.raises(ReturnedError, match=r"choose returned bool .* two arrays"):
        pulls(wrong)


@pytest.mark.parametrize("method", ["select", "choose"])
def test_a_method_that_asks_its_parent_for_the_arms_is_refused(method):
    kind = returning(method, lambda self, state, now: getattr(jb.Policy, method)(self, state, now), jb.Policy)
    with pytest.raises(TypeError, match=r"^Mine has no select"):
        pulls(kind)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["value", "score"])
@pytest.mark.parametrize("parent", [jb.indices.UniformRandom, jb.indices.SuccessiveElimination])
def test_an_index_of_ones_own_is_used_where_the_parent_finds_its_arm_without_one(parent, method):
    policy = returning(method, lambda self, state, now: (numbers(now) == 1).astype(now.mean.dtype), parent)
    assert pulls(policy) == [[0, 40, 0]] * 4


def test_rewards_of_0_and_1_have_their_support():
    kind = returning("draw", lambda self, mean, random: jnp.round(random.uniform(len(mean))), Reward)
    assert jb.Problem(MEANS, reward=kind()).reward_support() == (-np.inf, np.inf)
    kind.zero_one = True
    assert jb.Problem(MEANS, reward=kind()).reward_support() == (0.0, 1.0)


def test_bounds_leave_out_delays_without_cdf():
    kind = returning("draw", lambda self, reward, random: jnp.zeros(reward.shape, jnp.int32), Delay)
    for delay in (kind(), {"kind": "reward-dependent", "one": kind()}):
        problem = jb.Problem(MEANS, merit="power", delay=delay)
        assert jb.bounds.bounds_for(problem, "op-fcucb-d", "reward_regret") == []
        with pytest.raises(jb.InputError, match=r"^problem\.delay = 'Mine': must be a delay .* method `cdf`$"):
            jb.bounds.op_fcucb_d_reward_regret(problem.delay, problem.means, 1, [100])


@pytest.mark.parametrize("seeds", [3, 16])
def test_an_index_along_the_runs_is_never_taken_for_one_along_the_arms(seeds):
    kind = returning("value", lambda self, state, now: jnp.arange(16.0))
    with pytest.raises(ReturnedError, match=r"value returned float32 \[16\]; expected an index per arm"):
        jb.simulate({"means": np.linspace(0, 1, 16).tolist()}, kind, horizon=40, seeds=seeds)


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda self, mean, random: None, "draw returned None; expected a reward per play, float"),
        (lambda self, mean, random: mean[0], r"draw returned float32 \[.*expected a reward per play"),
    ],
)
def test_what_a_reward_returns_is_checked(draw, words):
    with pytest.raises(ReturnedError, match=f"^reward 'Mine': {words}"):
        pulls("ucb1", {"means": MEANS, "reward": returning("draw", draw, Reward)()})


@pytest.mark.parametrize(
    ("rounds", "words"),
    [
        (0.5, "draw returned float32 .* expected a delay per reward, in rounds, int32"),
        pytest.param(
            -2,
            "draw returned a delay of -2 rounds, in round 40 or before; expected a delay from 0 to 7 rounds ",
            marks=pytest.mark.slow,
        ),
        (
            20,
            "draw returned a delay of 20 rounds, in round 40 or before; expected a delay from 0 to 7 rounds ",
        ),
    ],
)
@pytest.mark.parametrize("inside", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_what_a_delay_returns_is_checked(rounds, words, inside):
    def draw(self, reward, random):
        return jnp.full(reward.shape, rounds)

    kind = returning("draw", draw, Delay)
    kind.longest = lambda self: 5
    delay = {"kind": "reward-dependent", "one": kind()} if inside else kind()
    with pytest.raises(ReturnedError, match=words):
        pulls("ucb1", {"means": MEANS, "delay": delay})


@pytest.mark.parametrize("longest", ["a", -1, None, np.nan])
def test_a_longest_delay_that_cannot_be_is_refused(longest):
    kind = returning("draw", lambda self, reward, random: jnp.zeros(reward.shape), Delay)
    kind.longest = lambda self: longest
    with pytest.raises(
        ReturnedError, match=r"^delay 'Mine': longest returned .*; expected a number of rounds, 0 or more"
    ):
        pulls("ucb1", {"means": MEANS, "delay": kind()})


@pytest.mark.slow
def test_a_delay_past_the_horizon_never_arrives_and_is_no_fault():
    def draw(self, reward, random):
        return jnp.where(random.uniform(len(reward)) < 0.5, NEVER, 39)

    kind = returning("draw", draw, Delay)
    kind.longest = lambda self: 5
    assert np.sum(pulls("ucb1", {"means": MEANS, "delay": kind()}, horizon=39)) == 4 * 39


@pytest.mark.parametrize(
    ("select", "plays", "words"),
    [
        (
            lambda self, state, now: now.available,
            1,
            "select returned 2 arms too many, in round 40 or before; expected 1 available arm per round",
        ),
        pytest.param(
            lambda self, state, now: ~now.available,
            1,
            "select returned 1 arm too few .* expected 1 available arm",
            marks=pytest.mark.slow,
        ),
        (lambda self, state, now: numbers(now) == 1, 2, "select returned 1 arm too few .* expected 2 available arms"),
        (
            lambda self, state, now: (now.t < 30) & (numbers(now) == 1),
            1,
            "select returned 1 arm too few .*, in round 40 or before",
        ),
        (lambda self, state, now: jnp.zeros((2, *now.pulls.shape[1:]), int), 2, "select returned 1 arm too few"),
    ],
)
def test_selections_are_counted(select, plays, words):
    advice = "; an arm that is not in `now.available` does not count; jb.check_policy finds the round and the cause$"
    with pytest.raises(ReturnedError, match=f"^policy 'Mine': {words}.*{advice}"):
        pulls(returning("select", select, jb.Policy), {"means": MEANS, "plays": plays})


@pytest.mark.parametrize("plays", [1, 2])
def test_a_policy_may_give_a_mask_or_numbers_of_arms(plays):
    script = scripted_rounds.standard(plays)
    everywhere = dataclasses.replace(script, available=np.ones_like(script.available))

    def ordered(now):
        return jnp.argsort(jnp.where(now.available, -now.mean, 9.0), axis=0)[:plays].astype(jnp.int32)

    def as_mask(self, state, now):
        return (numbers(now)[:, None] == ordered(now)[None]).any(axis=1)

    def as_numbers(self, state, now):
        return ordered(now)[0] if plays == 1 else ordered(now)

    masks, listed = (
        scripted_rounds.play(jb.policy(returning("select", select, jb.Policy)), everywhere)[0]
        for select in (as_mask, as_numbers)
    )
    np.testing.assert_array_equal(masks, listed)
    assert (masks.sum(axis=1) == plays).all()


@pytest.mark.parametrize("plays", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("first", [True, False])
def test_an_index_may_be_the_same_for_all_runs_or_arms(plays, first):
    script = scripted_rounds.standard(plays)
    steady = dataclasses.replace(script, available=np.ones_like(script.available))
    for value, best in (
        (lambda self, state, now: jnp.arange(5.0).reshape(5, 1, 1), 4),
        (lambda self, state, now: 1.0, 0),
    ):
        kind = returning("value", value)
        kind.initial_pass = first
        selected = scripted_rounds.play(jb.policy(kind), steady)[0]
        assert selected[5 * first :, best].all()
        assert (selected.sum(axis=1) == plays).all()


@pytest.mark.parametrize(
    ("value", "advice"),
    [
        (lambda self, state, now: now.mean + float(now.t), "do not use `int`, `float`, `bool` or `.item()`"),
        (lambda self, state, now: now.mean if now.t > 5 else -now.mean, "use `jnp.where` or `lax.cond` instead of"),
        (lambda self, state, now: np.sqrt(now.mean), "Use the functions of `jax.numpy` instead of those of NumPy."),
        (lambda self, state, now: now.mean + len(now.missing), ""),
    ],
    ids=["float", "if", "numpy", "attribute"],
)
def test_an_error_of_the_users_own_says_where_and_what_to_do(value, advice):
    with pytest.raises((TypeError, AttributeError)) as error:
        pulls(returning("value", value))
    notes = "\n".join(error.value.__notes__)
    assert "This was raised in `value` of policy 'Mine' (line" in notes
    assert advice.lower() in notes.lower()


class Stating(jb.Index):
    needs = ("fractions", "penalties")

    def value(self, state, now):
        return now.mean + now.penalties * now.below_quota(now.quota_now)


class Silent(jb.Policy):
    def select(self, state, now):
        return now.best(now.quota_now.floor - now.pulls)


def in_a_helper(now):
    return now.fractions + now.mean


class Helped(jb.Index):
    def value(self, state, now):
        return in_a_helper(now)


@pytest.mark.parametrize("policy", [Stating, jb.policy("min-probability", base=Stating())])
@pytest.mark.parametrize(("given", "missing"), [({}, "fractions"), ({"fractions": 0.1}, "penalties")])
def test_what_a_policy_says_that_it_needs_is_checked(policy, given, missing):
    words = f"{missing} is missing: must be given; Stating needs it$"
    with pytest.raises(jb.InputError, match=rf"^problem\.{words}"):
        pulls(policy, {"means": MEANS, **given})
    with pytest.raises(jb.InputError, match=f"^{words}"):
        jb.Agent(policy, arms=3, horizon=10, **given)


def test_a_policy_with_what_it_needs_runs():
    assert np.sum(pulls(Stating, {"means": MEANS, "fractions": 0.1, "penalties": 0.2})) == 4 * 40
    assert jb.check_policy(Stating, ["jit"], show=False).ok


@pytest.mark.parametrize("needs", ["fraction", ("fractions", "tau")])
def test_needs_are_keys_of_a_problem(needs):
    wrong = needs if isinstance(needs, str) else "tau"
    with pytest.raises(jb.InputError, match=rf"^Other\.needs = '{wrong}': must be one of .*did you mean 'fractions'"):
        pulls(type("Other", (Stating,), {"needs": needs}), {"means": MEANS, "fractions": 0.1})


@pytest.mark.parametrize(
    ("policy", "method", "field"),
    [(Silent, "select", "quota_now"), (Helped, "value", "fractions")],
)
def test_a_field_that_is_none_is_told_as_what_the_problem_lacks(policy, method, field):
    words = rf"`{method}` of policy '{policy.__name__}' uses `now\.{field}`, and the problem has no fractions"
    for run in (
        lambda: pulls(policy),
        lambda: (made := jb.Simulator({"means": MEANS}, policy, 9)).step(made.init(0)),
        lambda: (made := jb.Agent(policy, arms=3, horizon=9)).select(made.init(0)),
    ):
        with pytest.raises(jb.InputError, match=rf"^problem\.fractions is missing: must be given: {words}"):
            run()


def test_other_errors_about_none_stay_as_they_are():
    class Forgetful(jb.Index):
        def value(self, state, now):
            return now.mean + None

    with pytest.raises(TypeError, match="NoneType"):
        pulls(Forgetful)


@pytest.mark.parametrize(
    ("method", "code", "parent", "words"),
    [
        (
            "value",
            lambda self, state, now: now.mean + now.variance,
            jb.Index,
            "`value` .* `variance`: set `needs_squares",
        ),
        (
            "update",
            lambda self, state, after, _: state - after.arrived.losses,
            jb.indices.UCB1,
            "`update` .* `losses`: set",
        ),
    ],
)
def test_what_a_class_has_to_ask_for_is_named(method, code, parent, words):
    kind = returning(method, code, parent)
    kind.init = lambda self, world, shape: jnp.zeros(shape)
    with pytest.raises(TypeError, match=words):
        pulls(kind)
