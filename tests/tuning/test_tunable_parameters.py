"""Which parameters of which policies can be tuned, what is refused, and what keeps parameters in range."""

import numpy as np
import pytest
from small_problem import SMALL

import jaxbandit as jb
from jaxbandit import tuning
from jaxbandit.core.errors import InputError
from jaxbandit.policies.base import Alias, Policy
from jaxbandit.tuning.parameters import (
    make_tunables,
    numeric_parameters,
    smooth_parameters,
    supported_estimators,
    tuned_policy,
)


def test_policies_that_cannot_be_tuned_raise_an_error_that_lists_those_that_can():
    can = [n for n, entry in Policy.registry.items() if not isinstance(entry, Alias) and supported_estimators(entry())]
    utility = jb.Problem([0.9, 0.5], penalties=0.1, opportunity="uniform")
    cases = [(SMALL, kind, ["eps"]) for kind in ("naive", "t-fucb", "epsilon-greedy")]
    for problem, kind, parameters in [*cases, (utility, "self-regulated", ["alpha"])]:
        with pytest.raises(InputError) as caught:
            tuning.value_and_gradient(
                problem, kind, parameters, objective="regret", estimator="relaxed", horizon=10, seeds=2
            )
        assert (caught.value.key, caught.value.held) == ("policy", kind)
        assert "Both estimators can tune " in caught.value.allowed
        assert all(name in caught.value.allowed for name in can)
    with pytest.raises(InputError) as caught:
        tuning.value_and_gradient(SMALL, "fcucb-d", ["eps"], horizon=10, seeds=2)
    assert caught.value.key == "problem.merit"


UNIT = jb.Problem([0.9, 0.5], fractions=0.1, penalties=0.3)
SEVERAL = jb.Problem([[0.9, 0.5], [0.5, 0.9]], penalties=1, fractions=0.1)
MERIT = jb.Problem([0.9, 0.5, 0.1], plays=2, fractions=0.1, penalties=1, merit={"kind": "power", "scale": 0.5})
RELAXED = {"estimator": "relaxed"}
DELAYED = jb.Problem([0.9, 0.5], fractions=0.1, penalties=1, delay={"kind": "fixed", "d": 3})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"estimator": "both"}, r"estimator = 'both': must be one of perturbation, relaxed, score"),
        (
            {"problem": UNIT, "policy": jb.policy("eta-fucb", base="kl-ucb"), "parameters": ["eta"], **RELAXED},
            r"estimator = 'relaxed': must be 'score' for eta-fucb, whose scores or draws need counts that are",
        ),
        ({"problem": DELAYED, **RELAXED}, r"problem\.delay = 'fixed': must be 'none' with the estimator 'relaxed'; "),
        (
            {"problem": MERIT, "policy": "fgreedy-d", "parameters": ["merit.scale"], "estimator": "score"},
            r"problem\.plays = 2: must be 1 for fgreedy-d with the estimator 'score'",
        ),
        ({"parameters": "penalties"}, r"parameters = 'penalties': must be a list of names, such as \[\"penalties\"\]"),
        ({"parameters": []}, r"parameters = \[\]: must be a list of names"),
        ({"parameters": ["eta"]}, r"parameters = 'eta': must be one of exploration, log_offset, penalties"),
        (
            {"parameters": ["log_offset"], **RELAXED},
            r"parameters = 'log_offset': must be one of exploration, penalties",
        ),
        ({"parameters": {"penalties": [0.1, 0.2]}}, r"parameters\.penalties = .* a number, or 3 numbers, one per arm"),
        ({"parameters": {"penalties": -1.0}}, r"parameters\.penalties = -1\.0: must be .* from 0 to inf"),
        ({"objective": "fame"}, r"objective\.kind = 'fame': must be one of awake_regret, budget, "),
        ({"objective": 3}, r"objective = 3: must be the name of a metric or of an objective, or a table"),
        ({"objective": {"kind": "regret", "most": 1}}, r"unknown key objective\.most; valid keys: kind"),
        (
            {"objective": "utility"},
            r"objective = 'utility': must be one of .*; utility needs problem\.opportunity and problem\.pen",
        ),
        ({"objective": {"kind": "budget", "mots": 1.0}}, r"unknown key objective\.mots \(did you mean 'most'\?\)"),
        (
            {"objective": {"kind": "budget", "price": 1.0}},
            r"unknown key objective\.price \(did you mean 'multiplier'\?\)",
        ),
        (
            {"objective": {"kind": "budget", "multiplier": -1.0}},
            r"objective\.multiplier = -1\.0: must be a number >= 0",
        ),
        ({"objective": {"kind": "budget", "most": "few"}}, r"objective\.most = 'few': must be a finite number"),
        (
            {"objective": {"kind": "budget", "limited": "fame"}},
            r"objective\.limited = 'fame': must be one of awake_regret",
        ),
        ({"temperature": 0.0, **RELAXED}, r"temperature = 0\.0: must be a number >= 1e-6"),
        ({"width": [0.1], **RELAXED}, r"width = \[0\.1\]: must be a number >= 1e-6"),
        ({"seeds": 0}, r"seeds = 0: "),
        (
            {"horizon": 1 << 24, **RELAXED},
            r"horizon = 16777216: must be at most 11184809 rounds for tuning with 3 arms",
        ),
        ({"steps": 0}, r"steps = 0: must be a whole number >= 1"),
        ({"learning_rate": -1.0}, r"learning_rate = -1\.0: must be a number > 0"),
        ({"rate": 0.1}, r"unknown key rate \(did you mean 'learning_rate'\?\)"),
        ({"optimizer": "adam"}, r"optimizer = 'adam': must be an optimizer of optax, such as optax\.adam\(0\.05\)"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(changes, message):
    given = {"problem": SMALL, "policy": "hard-threshold-ucb", "parameters": ["penalties"], "horizon": 10, **changes}
    with pytest.raises(InputError, match=f"^{message}"):
        tuning.tune(**given)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"problem": SEVERAL, "seeds": 6_000_000}, r"seeds = 6000000: must be at most 5000000 with 2 instance\(s\)"),
        ({"estimator": "score", "seeds": 1}, r"seeds = 1: must be at least 2 with the estimator 'score'"),
    ],
)
def test_seeds_of_soft_gradients(changes, message):
    given = {"problem": SMALL, "estimator": "relaxed", "horizon": 10, **changes}
    with pytest.raises(InputError, match=f"^{message}"):
        tuning.value_and_gradient(policy="hard-threshold-ucb", parameters=["penalties"], **given)


def test_a_start_that_instances_do_not_share_must_be_given():
    problem = jb.Problem([[0.9, 0.5], [0.5, 0.9]], fractions=0.1, penalties=[[0.1, 0.2], [0.2, 0.1]])
    with pytest.raises(
        InputError, match=r"parameters\.penalties = .*: must be the same for all instances; give a start"
    ):
        tuning.tune(problem, "hard-threshold-ucb", ["penalties"], horizon=10)


def test_every_number_of_a_policy_can_be_tuned_by_perturbation():
    """Those of its base and of its merit function as well; the soft estimators tune those that scores depend on."""
    for kind, problem, numbers, smooth in [
        ("hard-threshold-ucb", UNIT, ["exploration", "log_offset", "penalties"], ["exploration", "penalties"]),
        ("fgreedy-d", MERIT, ["decay", "eps", "merit.scale"], ["merit.scale"]),
        (jb.policy("fair-learn", base="kl-ucb"), UNIT, ["a", "alpha", "log_offset"], []),
    ]:
        prepared = jb.policy(kind).prepare(problem, 20)
        assert sorted(numeric_parameters(prepared)) == numbers
        assert sorted(smooth_parameters(prepared)) == smooth


def test_the_tuned_policy_is_written_as_a_user_would():
    """Numbers and lists, also inside a base and a merit function, whichever the start was."""
    given = jb.policy("fair-learn", base="ucb1")
    prepared = given.prepare(UNIT, 20)
    tunables = make_tunables(prepared, {"alpha": 0.5, "exploration": 1.5}, "perturbation", 2)
    found = tuned_policy(given, prepared, tunables, {"alpha": np.array(0.25), "exploration": np.array(3.0)})
    assert found == jb.policy("fair-learn", base="ucb1", alpha=0.25, exploration=3.0)
    given = jb.policy("fgreedy-d")
    prepared = given.prepare(MERIT, 20)
    tunables = make_tunables(prepared, ["merit.scale"], "perturbation", 3)
    assert tunables[0].start == 0.5
    found = tuned_policy(given, prepared, tunables, {"merit.scale": np.array(0.75)})
    assert found.merit.scale == 0.75
    assert found.prepare(MERIT, 20).merit.scale == 0.75
