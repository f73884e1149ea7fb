"""Users' classes: their code tells runs and compiled programs apart, and what they return is checked."""

import os
import subprocess
import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from interruption import blocks, interrupted
from jax import lax

import jaxbandit as jb
from jaxbandit.core.component import has_user_code
from jaxbandit.core.errors import ReturnedError
from jaxbandit.engine import rollout
from jaxbandit.engine.host import fingerprint
from jaxbandit.engine.plan import make_plan
from jaxbandit.engine.settings import Configuration, SimulationSettings
from jaxbandit.environment.delays import NEVER, Delay
from jaxbandit.environment.merit import Merit
from jaxbandit.environment.opportunities import Opportunity
from jaxbandit.environment.rewards import Reward
from jaxbandit.policies.base import Alias, Policy

MEANS = [0.9, 0.5, 0.1]
SMALL = {"horizon": 40, "seeds": 4, "block": 2, "record": 2, "metrics": ["regret"]}


def pulls(policy, problem=None, **others):
    return jb.simulate(problem or {"means": MEANS}, policy, **{**SMALL, **others}).pulls.values.reshape(-1, 3).tolist()


def digest(policy, problem=None):
    problem = jb.Problem(**(problem or {"means": MEANS}))
    setting = SimulationSettings(40, 4, record=2, metrics=["regret"])
    plan = make_plan(problem, [Configuration("one", jb.policy(policy), "one")], setting)
    return fingerprint.digest(plan)


# Each makes a policy, or a problem beside ucb1, from a number: code that differs in it only


def cell(factor):
    """A class of a notebook's cell, whose text no one can look up."""
    space = {"jb": jb}
    exec(f"class Cell(jb.Index):\n    def value(self, state, now): return {factor} * now.mean", space)
    return space["Cell"], None


def parent(factor):
    space = {"jb": jb}
    exec(f"class Parent(jb.Index):\n    def value(self, state, now): return {factor} * now.mean", space)
    exec("class Child(Parent):\n    pass", space)
    return space["Child"], None


def closure(factor):
    class Closed(jb.Index):
        def value(self, state, now):
            return factor * now.mean

    return Closed, None


def in_module(text):
    """What a module of some text defines; its functions read its globals."""
    module = types.ModuleType("users_module")
    module.__dict__.update(jb=jb, jnp=jnp, lax=lax, jax=jax)
    exec(text, module.__dict__)
    return module


MODULE = """
FACTOR = 1.0
def helper(now):
    return now.mean
def body(i, total):
    return total + FACTOR * total
class Constant(jb.Index):
    def value(self, state, now): return FACTOR * now.mean
class Helped(jb.Index):
    def value(self, state, now): return helper(now)
class Looping(jb.Index):
    def value(self, state, now): return lax.fori_loop(0, 1, body, now.mean)
class Plain(jb.Index):
    def value(self, state, now): return now.mean
class Attribute(jb.Index):
    sign = 1.0
    def value(self, state, now): return self.sign * now.mean
"""


def constant(factor):
    return in_module(MODULE.replace("FACTOR = 1.0", f"FACTOR = {factor}")).Constant, None


def helper(factor):
    return in_module(MODULE.replace("return now.mean\ndef body", f"return {factor} * now.mean\ndef body")).Helped, None


def reward(factor):
    class Scaled(jb.Reward):
        def draw(self, mean, random):
            return factor * mean + 0.0 * random.uniform(mean.shape[0])

    return "ucb1", {"means": MEANS, "reward": Scaled()}


def inner_delay(factor):
    class Inner(Delay):
        def draw(self, reward, random):
            return jnp.full(reward.shape, int(abs(factor)), jnp.int32)

        def longest(self):
            return 50

    return "ucb1", {"means": MEANS, "delay": {"kind": "reward-dependent", "one": Inner()}}


def merit(factor):
    class Own(jb.Merit):
        def value(self, mu):
            return 1.0 + abs(factor) * mu

    return "fcucb-d", {"means": MEANS, "merit": Own()}


def base(factor):
    return jb.policy("fair-learn", base=closure(factor)[0]), {"means": MEANS, "fractions": 0.1}


EDITS = (cell, parent, closure, constant, helper, reward, inner_delay, merit, base)


@pytest.mark.parametrize("made", EDITS)
def test_edited_code_is_another_run(made):
    assert digest(*made(1.0)) == digest(*made(1.0))
    assert digest(*made(1.0)) != digest(*made(-3.0))


def test_what_an_interrupted_run_kept_is_not_mixed_with_edited_code(tmp_path):
    out = tmp_path / "kept"
    with interrupted(1):
        pulls(cell(1.0)[0], keep=out)
    assert len(blocks(out)) == 1
    with pytest.raises(jb.InputError, match=r"^keep ="):
        pulls(cell(-1.0)[0], keep=out)
    assert pulls(cell(1.0)[0], keep=out) == pulls(cell(1.0)[0])


def test_a_run_has_one_digest_in_all_processes():
    made = "*(t.digest(*made(2.0)) for made in (t.cell, t.inner_delay)), t.digest('lfg', t.FAIR)"
    text = f"import test_users_code as t; print({made})"
    found = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True)
        found.append(done.stdout.split())
    assert found[0] == found[1]
    assert len(set(found[0])) == 3


FAIR = {"means": MEANS, "fractions": 0.1, "penalties": 0.2}


def test_code_that_calls_back_to_python_cannot_be_kept(tmp_path):
    class Called(jb.Index):
        def value(self, state, now):
            return jax.pure_callback(lambda x: np.asarray(x), jax.ShapeDtypeStruct(now.mean.shape, "float32"), now.mean)

    with pytest.raises(jb.InputError, match=r"policies = 'Called': .* without calls back to Python \(pure_callback\)"):
        pulls(Called, keep=tmp_path / "kept")


@pytest.mark.parametrize("edit", ["constant", "helper", "in a loop", "attribute", "method"])
def test_edited_code_gives_new_results_without_a_new_class(edit):
    module = in_module(MODULE)
    name = {"constant": "Constant", "helper": "Helped", "in a loop": "Looping", "attribute": "Attribute"}
    kind = getattr(module, name.get(edit, "Plain"))
    before = pulls(kind)
    if edit in ("constant", "in a loop"):
        module.FACTOR = -3.0
    elif edit == "helper":
        exec("def helper(now): return -now.mean", module.__dict__)
    elif edit == "attribute":
        kind.sign = -1.0
    else:
        kind.value = lambda self, state, now: -now.mean
    after = pulls(kind)
    assert after == pulls(closure(-1.0)[0])
    assert after != before == pulls(closure(1.0)[0])


def test_an_edited_merit_gives_new_fair_shares():
    factor = 1.0

    class Own(jb.Merit):
        def value(self, mu):
            return 1.0 + factor * mu

    first = jb.Problem(MEANS, merit=Own()).fair_chances()
    factor = 9.0
    second = jb.Problem(MEANS, merit=Own()).fair_chances()
    shares = 1.0 + 9.0 * np.array(MEANS)
    np.testing.assert_allclose(second[:, 0], shares / shares.sum(), rtol=1e-6)
    assert not np.allclose(first, second)


def test_code_that_stays_compiles_once():
    kind = closure(1.0)[0]
    pulls(kind)
    compiled = rollout.compiled()._cache_size()
    pulls(kind)
    pulls(kind, key=5)
    assert rollout.compiled()._cache_size() == compiled


@pytest.mark.parametrize("family", [Policy, Reward, Delay, Merit, Opportunity])
def test_what_the_package_has_is_not_taken_for_users_code(family):
    kinds = [kind for kind in family.registry.values() if not isinstance(kind, Alias)]
    own = [kind for kind in kinds if kind.__module__.startswith("jaxbandit.")]
    assert own
    for kind in own:
        assert not has_user_code(kind())
        assert not (family is Policy and kind().selection_is_users)


def test_a_method_put_in_place_of_the_packages_is_users_code(monkeypatch):
    before = pulls("moss")
    monkeypatch.setattr(jb.Policy.registry["moss"], "value", lambda self, state, now: -now.mean)
    assert pulls("moss") == pulls(closure(-1.0)[0]) != before


def test_tuning_follows_edited_code():
    module = in_module("""
def helper(now):
    return 0.0 * now.mean
class Bent(jb.Index):
    bonus: float = jb.parameter(0.5, smooth=True)
    real_counts = True
    def value(self, state, now): return now.mean + self.bonus * helper(now)
""")

    def gradient():
        problem = jb.Problem(MEANS)
        options = {"objective": "regret", "horizon": 30, "seeds": 16}
        return jb.tuning.value_and_gradient(problem, module.Bent(), ["bonus"], **options).gradient["bonus"]

    assert gradient() == 0
    exec("def helper(now): return now.mean", module.__dict__)
    assert gradient() != 0


# What methods return


def returning(method, value, parent=jb.Index):
    """A class whose method gives `value(self, *arguments)`."""
    return type("Mine", (parent,), {method: value, "__module__": "users_module"})


def numbers(now):
    return jnp.broadcast_to(jnp.arange(3).reshape(3, 1, 1), now.pulls.shape)


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
        r"choose returned float32 \[3\]; expected a chance per arm as its second result",
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


@pytest.mark.parametrize("seeds", [3, 16, 40])
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
        (-2, "draw returned a delay of -2 rounds by round 40; expected 0 to 7 rounds"),
        (20, "draw returned a delay of 20 rounds by round 40; expected 0 to 7 rounds"),
    ],
)
@pytest.mark.parametrize("inside", [False, True])
def test_what_a_delay_returns_is_checked(rounds, words, inside):
    def draw(self, reward, random):
        return jnp.full(reward.shape, rounds)

    kind = returning("draw", draw, Delay)
    kind.longest = lambda self: 5
    delay = {"kind": "reward-dependent", "one": kind()} if inside else kind()
    with pytest.raises(ReturnedError, match=words):
        pulls("ucb1", {"means": MEANS, "delay": delay})


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
            "select returned 2 arms too many by round 40; expected 1 available arm in",
        ),
        (lambda self, state, now: ~now.available, 1, "select returned 1 arms too few .* expected 1 available arm"),
        (lambda self, state, now: numbers(now) == 1, 2, "select returned 1 arms too few .* expected 2 available arms"),
        (
            lambda self, state, now: (now.t < 30) & (numbers(now) == 1),
            1,
            "select returned 1 arms too few .* by round 40",
        ),
        (lambda self, state, now: jnp.zeros((2, *now.pulls.shape[1:]), int), 2, "select returned 1 arms too few"),
    ],
)
def test_selections_are_counted(select, plays, words):
    with pytest.raises(ReturnedError, match=f"^policy 'Mine': {words}"):
        pulls(returning("select", select, jb.Policy), {"means": MEANS, "plays": plays})


@pytest.mark.parametrize("plays", [1, 2])
def test_a_policy_may_give_a_mask_or_numbers_of_arms(plays):
    problem = {"means": MEANS, "plays": plays, "availability": 0.8}

    def ordered(now):
        return jnp.argsort(jnp.where(now.available, -now.mean, 9.0), axis=0)[:plays]

    def as_mask(self, state, now):
        return (numbers(now)[:, None] == ordered(now)[None]).any(axis=1)

    def as_numbers(self, state, now):
        return ordered(now)[0] if plays == 1 else ordered(now)

    mask = pulls(returning("select", as_mask, jb.Policy), problem)
    assert mask == pulls(returning("select", as_numbers, jb.Policy), problem)


@pytest.mark.parametrize("plays", [1, 2])
@pytest.mark.parametrize("first", [True, False])
def test_an_index_may_be_the_same_for_all_runs_or_arms(plays, first):
    problem = {"means": MEANS, "plays": plays}
    kind = returning("value", lambda self, state, now: jnp.arange(3.0).reshape(3, 1, 1))
    kind.initial_pass = first
    made = pulls(kind, problem)
    assert all(run[2] >= 38 for run in made)  # but for a first pass
    same = returning("value", lambda self, state, now: 1.0)
    same.initial_pass = first
    assert all(run[0] >= 38 for run in pulls(same, problem))


def test_an_error_of_the_users_own_says_where():
    def value(self, state, now):
        return now.mean + float(now.t)

    with pytest.raises(jax.errors.ConcretizationTypeError) as error:
        pulls(returning("value", value))
    assert error.value.__notes__[-1:] == ["This was raised while a round of policy 'Mine' was traced."]
