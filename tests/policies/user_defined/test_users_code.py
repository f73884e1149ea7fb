"""Users' classes: their code tells runs and compiled programs apart."""

import functools
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
from sweeps import partly_fast

import jaxbandit as jb
from jaxbandit.core.users_code.contracts import has_user_code
from jaxbandit.engine import rollout
from jaxbandit.engine.batch import package_code
from jaxbandit.engine.host import fingerprint
from jaxbandit.engine.plan import make_plan
from jaxbandit.engine.settings import Configuration, SimulationSettings
from jaxbandit.environment.delays import Delay
from jaxbandit.environment.merit import Merit
from jaxbandit.environment.opportunities import Opportunity
from jaxbandit.environment.rewards import Reward
from jaxbandit.policies.base import Alias, Policy

MEANS = [0.9, 0.5, 0.1]
SMALL = {"horizon": 40, "seeds": 4, "block": 2, "record": 2, "metrics": ["regret"]}


def pulls(policy, problem=None, **others):
    return jb.simulate(problem or {"means": MEANS}, policy, **{**SMALL, **others}).pulls.values.reshape(-1, 3).tolist()


@functools.cache
def pulls_of(factor):
    """Those of an index that is the mean times a factor."""
    return pulls(closure(factor)[0])


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


def opportunity(factor):
    """Which the policy holds in a structure of its own."""

    class Own(jb.Opportunity):
        def value(self, mu):
            return 0.1 * jnp.abs(factor) * mu

    return jb.policy("self-regulated", lipschitz=1.0), {"means": MEANS, "penalties": 0.5, "opportunity": Own()}


def base(factor):
    return jb.policy("fair-learn", base=closure(factor)[0]), {"means": MEANS, "fractions": 0.1}


EDITS = (cell, parent, closure, constant, helper, reward, inner_delay, merit, opportunity, base)


@pytest.mark.parametrize("made", partly_fast(EDITS, (cell, helper, merit)))
def test_edited_code_is_another_run(made):
    assert digest(*made(1.0)) != digest(*made(-3.0))


@pytest.mark.parametrize("made", partly_fast(EDITS, (cell, helper)))
def test_the_same_code_is_the_same_run(made):
    assert digest(*made(1.0)) == digest(*made(1.0))


def test_what_an_interrupted_run_kept_is_not_mixed_with_edited_code(tmp_path):
    out = tmp_path / "kept"
    with interrupted(1):
        pulls(cell(1.0)[0], keep=out)
    assert len(blocks(out)) == 1
    with pytest.raises(jb.InputError, match=r"^keep ="):
        pulls(cell(-1.0)[0], keep=out)
    assert pulls(cell(1.0)[0], keep=out) == pulls_of(1.0)


@pytest.mark.slow
def test_a_run_has_one_digest_in_all_processes():
    text = "import test_users_code as t; print(t.digest(*t.cell(2.0)), t.digest('lfg', t.FAIR))"
    environment = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True)
    here = [digest(*cell(2.0)), digest("lfg", FAIR)]
    assert done.stdout.split() == here
    assert here[0] != here[1]


FAIR = {"means": MEANS, "fractions": 0.1, "penalties": 0.2}


def test_code_that_calls_back_to_python_cannot_be_kept(tmp_path):
    class Called(jb.Index):
        def value(self, state, now):
            return jax.pure_callback(lambda x: np.asarray(x), jax.ShapeDtypeStruct(now.mean.shape, "float32"), now.mean)

    with pytest.raises(jb.InputError, match=r"policies = 'Called': .* without callbacks to Python \(pure_callback\)"):
        pulls(Called, keep=tmp_path / "kept")


@pytest.mark.slow
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
    assert after == pulls_of(-1.0)
    assert after != before == pulls_of(1.0)


@pytest.mark.slow
def test_an_edited_fairness_function_is_compiled_anew():
    """The policy holds it in a structure of its own."""
    share = 0.05

    class Own(jb.Opportunity):
        def value(self, mu):
            return jnp.full_like(mu, share)

    policy, problem = (
        jb.policy("self-regulated", lipschitz=0.01),
        {"means": MEANS, "penalties": 9.0, "opportunity": Own()},
    )
    before = pulls(policy, problem, horizon=2000)
    share = 0.3
    assert pulls(policy, problem, horizon=2000) != before


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
    assert pulls("moss") == pulls_of(-1.0) != before


def test_a_merit_function_inside_a_policy_is_users_code():
    class Own(jb.Merit):
        def value(self, mu):
            return 1.0 + mu

    problem = jb.Problem(MEANS, merit="power")
    assert has_user_code(jb.policy("fcucb-d", merit=Own()).prepare(problem, 40))
    assert not has_user_code(jb.policy("fcucb-d").prepare(problem, 40))


@pytest.mark.slow
def test_the_digest_of_the_packages_own_code_needs_no_tracing(monkeypatch):
    known = digest("self-regulated", {"means": MEANS, "penalties": 0.5, "opportunity": "softmax"})
    monkeypatch.setattr(rollout, "play", None)
    again = digest("self-regulated", {"means": MEANS, "penalties": 0.5, "opportunity": "softmax"})
    other = digest("self-regulated", {"means": MEANS, "penalties": 0.5, "opportunity": {"kind": "softmax", "c": 2.0}})
    static = [digest("fcucb-d", {"means": MEANS, "merit": {"kind": "power", "exponent": e}}) for e in (2.0, 4.0)]
    assert again == known != other
    assert static[0] != static[1]


def test_the_digest_follows_the_files_of_the_package(monkeypatch):
    known = digest("ucb1")
    monkeypatch.setattr(package_code, "source_digest", lambda: "edited")
    assert digest("ucb1") != known


@pytest.mark.slow
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
        options = {"objective": "regret", "horizon": 30, "seeds": 16, "estimator": "relaxed"}
        return jb.tuning.value_and_gradient(problem, module.Bent(), ["bonus"], **options).gradient["bonus"]

    assert gradient() == 0
    exec("def helper(now): return now.mean", module.__dict__)
    assert gradient() != 0
