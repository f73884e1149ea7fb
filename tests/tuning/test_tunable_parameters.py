"""Which parameters of which policies can be tuned, what is refused, and what keeps parameters in range."""

import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit import tuning
from jaxbandit.core.errors import InputError
from jaxbandit.policies.base import Alias, Policy
from jaxbandit.tuning.parameters import Tunable, estimators_of

SMALL = jb.Problem([0.9, 0.5, 0.3], fractions=0.2, penalties=0.3)


def test_what_cannot_be_tuned_says_what_can():
    able = [n for n, entry in Policy.registry.items() if not isinstance(entry, Alias) and estimators_of(entry())]
    for kind in ("naive", "t-fucb", "self-regulated", "epsilon-greedy", "fcucb-d"):
        with pytest.raises(InputError) as caught:
            tuning.value_and_gradient(SMALL, kind, ["eps"], horizon=10, seeds=2) if kind != "self-regulated" else (
                tuning.value_and_gradient(
                    jb.Problem([0.9, 0.5], penalties=0.1, opportunity="uniform"),
                    kind,
                    ["alpha"],
                    objective="regret",
                    horizon=10,
                    seeds=2,
                )
            )
        if kind == "fcucb-d":
            assert caught.value.key == "problem.merit"
            continue
        assert caught.value.key == "policy"
        assert caught.value.held == kind
        assert "relaxed" in caught.value.allowed
        assert all(name in caught.value.allowed for name in able)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"estimator": "both"}, "estimator"),
        ({"policy": jb.policy("eta-fucb", base="kl-ucb"), "parameters": ["eta"]}, "estimator"),
        (
            {"problem": jb.Problem([0.9, 0.5], fractions=0.1, penalties=1, delay={"kind": "fixed", "d": 3})},
            "problem.delay",
        ),
        ({"parameters": "penalties"}, "parameters"),
        ({"parameters": []}, "parameters"),
        ({"parameters": ["eta"]}, "parameters"),
        ({"parameters": ["log_offset"]}, "parameters"),
        ({"parameters": {"penalties": [0.1, 0.2]}}, "parameters.penalties"),
        ({"parameters": {"penalties": -1.0}}, "parameters.penalties"),
        ({"parameters": {"penalties": 0.0}, "constraint": "reparametrisation"}, "parameters.penalties"),
        ({"constraint": "none"}, "constraint"),
        ({"constraint": {"eta": "projection"}}, "constraint"),
        ({"objective": "fame"}, "objective.kind"),
        ({"objective": "utility"}, "objective"),
        ({"objective": {"kind": "budget", "mots": 1.0}}, "objective.mots"),
        ({"objective": {"kind": "budget", "multiplier": -1.0}}, "objective.multiplier"),
        ({"objective": {"kind": "budget", "limited": "fame"}}, "objective.limited"),
        ({"temperature": 0.0}, "temperature"),
        ({"width": [0.1]}, "width"),
        ({"seeds": 0}, "simulation.seeds"),
        ({"estimator": "score", "seeds": 1}, "seeds"),
        ({"steps": 0}, "steps"),
        ({"check": 0.5}, "check"),
        ({"common": 1}, "common"),
        ({"learning_rate": -1.0}, "learning_rate"),
    ],
)
def test_input_that_cannot_be_tuned(changes, key):
    given = {"problem": SMALL, "policy": "hard-threshold-ucb", "parameters": ["penalties"], "horizon": 10, **changes}
    with pytest.raises(InputError) as caught:
        tuning.tune(**given)
    assert caught.value.key == key


def test_constraints_keep_parameters_in_range():
    free = np.array([-3.0, 0.2, 5.0])
    clipped = Tunable("a", ("a",), np.zeros(3), 0.0, 1.0, "projection")
    np.testing.assert_array_equal(clipped.value(free), [0.0, 0.2, 1.0])
    for low, high in ((0.0, None), (0.0, 1.0), (None, None), (-1.0, 4.0)):
        one = Tunable("a", ("a",), np.zeros(3), low, high, "reparametrisation")
        value = one.value(free)
        assert np.all(value > (-np.inf if low is None else low))
        assert np.all(value < (np.inf if high is None else high))
        np.testing.assert_allclose(one.free(value), free)
        h = 1e-6
        np.testing.assert_allclose(one.slope(free), (one.value(free + h) - one.value(free - h)) / (2 * h), rtol=1e-6)
