"""Gradients against enumeration of every run of a small problem, by both estimators."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest
import reference_tuning

import jaxbandit as jb
from jaxbandit import tuning
from jaxbandit.core import prng
from jaxbandit.tuning import gradients
from jaxbandit.tuning.parameters import estimators_of

MEANS, TAU, PENALTIES, T = [0.9, 0.2], [Fraction(11, 20), Fraction(2, 5)], [0.2, 0.45], 6
TEMPERATURE, WIDTH = 0.3, 0.4
CASES = {
    "hard-threshold-ucb": (reference_tuning.HardThreshold, {"penalties": [0.2, 0.45], "exploration": [1.3]}),
    "lfg": (reference_tuning.LFG, {"eta": [0.8], "exploration": [0.1]}),
}
SMALL = jb.Problem([0.9, 0.5, 0.3], fractions=0.2, penalties=0.3)


class Listed(jb.Reward):
    """Run i's n-th reward of arm k is bit k T + n of i: all tables of rewards, a run each."""

    def draw(self, mean, random):
        arm = jnp.arange(2).reshape(2, 1, 1) if random.arm is None else random.arm  # all arms, or those that are played
        place = arm.astype(jnp.uint32) * jnp.uint32(T) + jnp.minimum(random.t, T - 1)
        return ((random.key[1] >> place) & 1).astype(mean.dtype)

    def support(self, means):
        return 0.0, 1.0


def two_arms(reward="bernoulli"):
    return jb.Problem(MEANS, fractions=[float(tau) for tau in TAU], penalties=PENALTIES, reward=reward)


def made(parameters):
    return {name: values if len(values) > 1 else values[0] for name, values in parameters.items()}


@pytest.mark.parametrize("kind", CASES)
def test_the_relaxed_gradient_is_that_of_the_relaxed_objective(kind, float64, monkeypatch):
    reference, parameters = CASES[kind]
    value, slopes = reference_tuning.relaxed(reference, parameters, MEANS, TAU, PENALTIES, T, TEMPERATURE, WIDTH)
    monkeypatch.setattr(
        prng,
        "run_keys",
        lambda key, cells, seeds: (np.zeros((1, 1, seeds.size), np.uint32), seeds[None].astype(np.uint32)),
    )
    program = gradients.Program(
        two_arms(Listed()), kind, made(parameters), "penalized_regret", "relaxed",
        horizon=T, temperature=TEMPERATURE, width=WIDTH, key=0,
    )  # fmt: skip
    table = np.arange(4**T)
    bits = (table[:, None] >> np.arange(2 * T)) & 1
    mu = np.repeat(MEANS, T)
    chance = np.where(bits == 1, mu, 1 - mu).prod(axis=1)
    runs = program.runs({one.name: one.start for one in program.tunables}, table)
    np.testing.assert_allclose(chance @ runs.value, value, rtol=1e-9)
    for name, exact in slopes.items():
        assert min(np.abs(exact)) > 1e-4
        np.testing.assert_allclose(np.atleast_1d(chance @ runs.gradient[name]), exact, rtol=1e-6)


@pytest.mark.parametrize("kind", ["hard-threshold-ucb", pytest.param("lfg", marks=pytest.mark.slow)])
def test_the_score_gradient_is_unbiased_for_the_softened_policy(kind):
    """Within 4 standard errors: a false alarm in 5,000 runs for six numbers."""
    reference, parameters = CASES[kind]
    rounds = 5
    value, slopes = reference_tuning.softened(reference, parameters, MEANS, TAU, PENALTIES, rounds, TEMPERATURE)
    found = tuning.value_and_gradient(
        two_arms(), kind, made(parameters), estimator="score", horizon=rounds, seeds=1 << 15, temperature=TEMPERATURE
    )
    assert abs(found.value - value) < 4 * found.value_stderr
    for name, exact in slopes.items():
        error = np.atleast_1d(found.gradient_stderr[name])
        assert np.all(error < 0.15 * np.max(np.abs(exact))), "too noisy to tell"
        assert np.all(np.abs(np.atleast_1d(found.gradient[name]) - exact) < 4 * error), name


def test_the_relaxed_policy_goes_to_the_policy_itself():
    """Run by run: as temperature and width fall, on the same rewards."""
    policy = jb.policy("hard-threshold-ucb", exploration=1.0)
    problem = jb.Problem([0.9, 0.6, 0.3], fractions=0.2, penalties=0.3, reward={"kind": "gaussian", "sd": 0.1})
    hard = jb.simulate(problem, policy, horizon=64, seeds=64, metrics=["penalized_regret"], record=1)
    hard = hard.penalized_regret_final.values[0, 0]
    distances = []
    for temperature, width in ((0.1, 0.5), (1e-2, 0.1), (1e-5, 0.02)):
        program = gradients.Program(
            problem, policy, ["penalties"], "penalized_regret", "relaxed",
            horizon=64, temperature=temperature, width=width, key=0,
        )  # fmt: skip
        soft = program.runs({"penalties": program.tunables[0].start}, np.arange(64)).value
        distances.append(np.abs(soft - hard).mean())
    assert distances[0] > 2 * distances[1] > 4 * distances[2]
    assert distances[2] < 0.02 * hard.mean()


@pytest.mark.parametrize(
    ("kind", "parameters", "problem"),
    [
        pytest.param(*("ucb1", ["exploration"], {}), marks=pytest.mark.slow),
        pytest.param(*("soft-threshold-ucb", ["penalties"], {}), marks=pytest.mark.slow),
        pytest.param(*("eta-fucb", {"eta": 0.1}, {}), marks=pytest.mark.slow),
        pytest.param(*("lfg", ["eta"], {"plays": 2}), marks=pytest.mark.slow),
        pytest.param(*("ucb-pllp", ["alpha", "eps"], {"plays": 2, "fractions": 0.6}), marks=pytest.mark.slow),
        pytest.param(*("ucb-v", ["exploration", "c"], {}), marks=pytest.mark.slow),
        pytest.param(
            *("fgreedy-d", ["merit.scale"], {"plays": 2, "merit": {"kind": "power", "scale": 0.5}}),
            marks=pytest.mark.slow,
        ),
        pytest.param(*("fcts-d", ["merit.scale"], {"merit": "power"}), marks=pytest.mark.slow),
        ("hard-threshold-ucb", ["exploration"], {"delay": {"kind": "fixed", "d": 2}}),
        pytest.param(*("thompson", ["sd"], {"reward": {"kind": "gaussian", "sd": 0.2}}), marks=pytest.mark.slow),
        pytest.param(
            *("hard-threshold-ucb", ["penalties"], {"availability": 0.7, "means": [[0.9, 0.5, 0.3], [0.1, 0.2, 0.8]]}),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_every_kind_of_policy_gives_gradients(kind, parameters, problem):
    """By each estimator it has: numbers, and not all 0."""
    world = jb.Problem(**{"means": [0.9, 0.5, 0.3], "fractions": 0.2, "penalties": 0.3, **problem})
    able = estimators_of(jb.policy(kind).prepare(world, 25))
    objective = "fairness_regret" if "merit" in problem else "regret"
    if not world.delay.immediate:
        able = ("score",)
    elif "merit" in problem and world.plays > 1:
        able = ("relaxed",)
    for estimator in able:
        found = tuning.value_and_gradient(
            world, kind, parameters, objective=objective, estimator=estimator, horizon=25, seeds=16, temperature=0.1
        )
        assert any(np.any(slope != 0) for slope in found.gradient.values()), estimator


def test_a_start_that_is_given_needs_no_other():
    problem = jb.Problem([0.9, 0.5, 0.3], fractions=0.2)
    found = tuning.value_and_gradient(
        problem, "hard-threshold-ucb", {"penalties": [0.3] * 3}, objective="regret", horizon=64, seeds=16
    )
    held = tuning.value_and_gradient(
        SMALL, "hard-threshold-ucb", ["penalties"], objective="regret", horizon=64, seeds=16
    )
    np.testing.assert_array_equal(found.gradient["penalties"], held.gradient["penalties"])


@pytest.mark.slow
def test_the_memory_of_a_gradient_grows_like_the_root_of_the_horizon():
    """XLA's own count of temporary bytes, at T and 16 T: about 4 times, where keeping every round would be 16."""

    def temporary(horizon):
        program = gradients.Program(
            jb.Problem([0.9, 0.5], fractions=0.2, penalties=0.3), "hard-threshold-ucb", ["penalties"],
            "penalized_regret", "relaxed", horizon=horizon, temperature=0.1, width=0.5, key=0,
        )  # fmt: skip
        arguments = program.arguments({"penalties": program.tunables[0].start}, np.arange(512), 512, program.objective)
        compiled = gradients.derivatives.lower(*arguments, **program.structure).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    assert temporary(16 * 256) < 6 * temporary(256)
