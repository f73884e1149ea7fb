"""Which parameters of which policies can be tuned, what is refused, and what keeps parameters in range."""

import numpy as np
import pytest
from small_problem import SMALL

import jaxbandit as jb
from jaxbandit import tuning
from jaxbandit.core.errors import InputError
from jaxbandit.policies.base import Alias, Policy
from jaxbandit.tuning.parameters import Tunable, supported_estimators


def test_policies_that_cannot_be_tuned_raise_an_error_that_lists_those_that_can():
    can = [n for n, entry in Policy.registry.items() if not isinstance(entry, Alias) and supported_estimators(entry())]
    utility = jb.Problem([0.9, 0.5], penalties=0.1, opportunity="uniform")
    cases = [(SMALL, kind, ["eps"]) for kind in ("naive", "t-fucb", "epsilon-greedy")]
    for problem, kind, parameters in [*cases, (utility, "self-regulated", ["alpha"])]:
        with pytest.raises(InputError) as caught:
            tuning.value_and_gradient(problem, kind, parameters, objective="regret", horizon=10, seeds=2)
        assert (caught.value.key, caught.value.held) == ("policy", kind)
        assert "Both estimators can tune " in caught.value.allowed
        assert all(name in caught.value.allowed for name in can)
    with pytest.raises(InputError) as caught:
        tuning.value_and_gradient(SMALL, "fcucb-d", ["eps"], horizon=10, seeds=2)
    assert caught.value.key == "problem.merit"


UNIT = jb.Problem([0.9, 0.5], fractions=0.1, penalties=0.3)
SEVERAL = jb.Problem([[0.9, 0.5], [0.5, 0.9]], penalties=1, fractions=0.1)
MERIT = jb.Problem([0.9, 0.5, 0.1], plays=2, fractions=0.1, penalties=1, merit={"kind": "power", "scale": 0.5})
DELAYED = jb.Problem([0.9, 0.5], fractions=0.1, penalties=1, delay={"kind": "fixed", "d": 3})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"estimator": "both"}, r"estimator = 'both': must be one of relaxed, score"),
        (
            {"problem": UNIT, "policy": jb.policy("eta-fucb", base="kl-ucb"), "parameters": ["eta"]},
            r"estimator = 'relaxed': must be 'score' for eta-fucb, whose scores or draws need counts that are",
        ),
        ({"problem": DELAYED}, r"problem\.delay = 'fixed': must be 'none' with the estimator 'relaxed'; "),
        (
            {"problem": MERIT, "policy": "fgreedy-d", "parameters": ["merit.scale"], "estimator": "score"},
            r"problem\.plays = 2: must be 1 for fgreedy-d with the estimator 'score'",
        ),
        ({"parameters": "penalties"}, r"parameters = 'penalties': must be a list of names, such as \[\"penalties\"\]"),
        ({"parameters": []}, r"parameters = \[\]: must be a list of names"),
        ({"parameters": ["eta"]}, r"parameters = 'eta': must be one of exploration, penalties"),
        ({"parameters": ["log_offset"]}, r"parameters = 'log_offset': must be one of "),
        ({"parameters": {"penalties": [0.1, 0.2]}}, r"parameters\.penalties = .* a number, or 3 numbers, one per arm"),
        ({"parameters": {"penalties": -1.0}}, r"parameters\.penalties = -1\.0: must be .* from 0 to inf"),
        (
            {"parameters": {"penalties": 0.0}, "constraint": "reparametrisation"},
            r"parameters\.penalties = 0\.0: must be inside the range of the parameter and not at its end",
        ),
        ({"constraint": "none"}, r"constraint = 'none': must be one of projection, reparametrisation"),
        ({"constraint": {"eta": "projection"}}, r"constraint = 'eta': must be one of penalties"),
        ({"objective": "fame"}, r"objective\.kind = 'fame': must be one of budget, c_regret, "),
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
        ({"objective": {"kind": "budget", "limited": "fame"}}, r"objective\.limited = 'fame': must be one of c_regret"),
        ({"temperature": 0.0}, r"temperature = 0\.0: must be a number >= 1e-6"),
        ({"width": [0.1]}, r"width = \[0\.1\]: must be a number >= 1e-6"),
        ({"seeds": 0}, r"simulation\.seeds = 0: "),
        ({"problem": SEVERAL, "seeds": 6_000_000}, r"seeds = 6000000: must be at most 5000000 with 2 instance\(s\)"),
        ({"estimator": "score", "seeds": 1}, r"seeds = 1: must be at least 2 with the estimator 'score'"),
        ({"horizon": 1 << 24}, r"horizon = 16777216: must be at most 11184809 rounds for tuning with 3 arms"),
        ({"steps": 0}, r"steps = 0: must be a whole number >= 1"),
        ({"check": 0.5}, r"check = 0\.5: must be a whole number >= 1"),
        ({"common": 1}, r"common = 1: must be true or false"),
        ({"learning_rate": -1.0}, r"learning_rate = -1\.0: must be a number >= 0"),
        ({"rate": 0.1}, r"unknown key rate \(did you mean 'learning_rate'\?\)"),
        ({"optimizer": "adam"}, r"optimizer = 'adam': must be an optimizer of optax, such as optax\.adam\(0\.05\)"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(changes, message):
    given = {"problem": SMALL, "policy": "hard-threshold-ucb", "parameters": ["penalties"], "horizon": 10, **changes}
    with pytest.raises(InputError, match=f"^{message}"):
        tuning.tune(**given)


def test_a_start_that_instances_do_not_share_must_be_given():
    problem = jb.Problem([[0.9, 0.5], [0.5, 0.9]], fractions=0.1, penalties=[[0.1, 0.2], [0.2, 0.1]])
    with pytest.raises(
        InputError, match=r"parameters\.penalties = .*: must be the same for all instances; give a start"
    ):
        tuning.tune(problem, "hard-threshold-ucb", ["penalties"], horizon=10)


def test_constraints_keep_parameters_in_range():
    free = np.array([-3.0, 0.2, 5.0])
    clipped = Tunable("a", ("a",), np.zeros(3), 0.0, 1.0, "projection")
    np.testing.assert_array_equal(clipped.value_of(free), [0.0, 0.2, 1.0])
    np.testing.assert_array_equal(clipped.project(free), [0.0, 0.2, 1.0])
    np.testing.assert_array_equal(clipped.slope_of(free), [1.0, 1.0, 1.0])
    for low, high in ((0.0, None), (0.0, 1.0), (None, None), (-1.0, 4.0)):
        tunable = Tunable("a", ("a",), np.zeros(3), low, high, "reparametrisation")
        value = tunable.value_of(free)
        assert np.all(value > (-np.inf if low is None else low))
        assert np.all(value < (np.inf if high is None else high))
        np.testing.assert_array_equal(tunable.project(free), free)
        np.testing.assert_allclose(tunable.free_of(value), free)
        h = 1e-6
        slope = (tunable.value_of(free + h) - tunable.value_of(free - h)) / (2 * h)
        np.testing.assert_allclose(tunable.slope_of(free), slope, rtol=1e-6)
