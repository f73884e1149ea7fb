"""Gradients against enumeration of every run of a small problem, by both estimators."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest
import reference_tuning
from small_problem import HORIZON, SEEDS, SMALL
from sweeps import FULL

import jaxbandit as jb
from jaxbandit import tuning
from jaxbandit.core import prng
from jaxbandit.tuning.estimators import gradient_program
from jaxbandit.tuning.estimators.gradient_program import GradientProgram
from jaxbandit.tuning.parameters import supported_estimators

MEANS, TAU, PENALTIES, T = [0.9, 0.2], [Fraction(11, 20), Fraction(2, 5)], [0.2, 0.45], 6
TEMPERATURE, WIDTH = 0.3, 0.4
CASES = {
    "hard-threshold-ucb": (reference_tuning.HardThreshold, {"penalties": [0.2, 0.45], "exploration": [1.3]}),
    "lfg": (reference_tuning.LFG, {"eta": [0.8], "exploration": [0.1]}),
}


class Enumerated(jb.Reward):
    """Run i's n-th reward of arm k is bit k T + n of i: runs go through all tables of rewards."""

    def draw(self, mean, random):
        arm = jnp.arange(2).reshape(2, 1, 1) if random.arm is None else random.arm  # all arms, or the played ones
        place = arm.astype(jnp.uint32) * jnp.uint32(T) + jnp.minimum(random.t, T - 1)
        return ((random.key[1] >> place) & 1).astype(mean.dtype)

    def support(self, means):
        return 0.0, 1.0


def two_arms(reward="bernoulli", instances=1):
    return jb.Problem([MEANS] * instances, fractions=[float(tau) for tau in TAU], penalties=PENALTIES, reward=reward)


def as_arguments(parameters):
    return {name: values if len(values) > 1 else values[0] for name, values in parameters.items()}


@pytest.mark.parametrize("kind", ["hard-threshold-ucb", pytest.param("lfg", marks=pytest.mark.slow)])
def test_the_relaxed_gradient_is_that_of_the_relaxed_objective(kind, float64, monkeypatch):
    """For two equal instances, over which the objective is the mean."""
    reference, parameters = CASES[kind]
    value, slopes = reference_tuning.relaxed(reference, parameters, MEANS, TAU, PENALTIES, T, TEMPERATURE, WIDTH)
    monkeypatch.setattr(
        prng,
        "run_keys",
        lambda key, cells, seeds: (
            np.zeros((1, 2, seeds.size), np.uint32),
            np.tile(seeds[None].astype(np.uint32), (1, 2, 1)),
        ),
    )
    program = GradientProgram(
        two_arms(Enumerated(), instances=2), kind, as_arguments(parameters), "penalized_regret", "relaxed",
        horizon=T, temperature=TEMPERATURE, width=WIDTH, key=0,
    )  # fmt: skip
    tables = np.arange(4**T)
    bits = (tables[:, None] >> np.arange(2 * T)) & 1
    mu = np.repeat(MEANS, T)
    chance = np.where(bits == 1, mu, 1 - mu).prod(axis=1)
    runs = program.runs({tunable.name: tunable.start for tunable in program.tunables}, tables)
    np.testing.assert_allclose(chance @ runs.value, value, rtol=1e-9)
    for name, exact in slopes.items():
        assert min(np.abs(exact)) > 1e-4
        np.testing.assert_allclose(np.atleast_1d(chance @ runs.gradient[name]), exact, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["hard-threshold-ucb", "lfg"])
def test_the_score_gradient_is_unbiased_for_the_softened_policy(kind):
    """Within 4 standard errors: one false alarm in 5,000 runs for six numbers."""
    reference, parameters = CASES[kind]
    rounds = 5
    value, slopes = reference_tuning.softened(reference, parameters, MEANS, TAU, PENALTIES, rounds, TEMPERATURE)
    found = tuning.value_and_gradient(
        two_arms(), kind, as_arguments(parameters),
        estimator="score", horizon=rounds, seeds=1 << 15, temperature=TEMPERATURE,
    )  # fmt: skip
    assert abs(found.value - value) < 4 * found.value_stderr
    for name, exact in slopes.items():
        error = np.atleast_1d(found.gradient_stderr[name])
        assert np.all(error < 0.15 * np.max(np.abs(exact))), "too noisy to tell"
        assert np.all(np.abs(np.atleast_1d(found.gradient[name]) - exact) < 4 * error), name


@pytest.mark.slow
def test_the_score_gradient_of_a_run_uses_the_mean_of_the_others_as_its_baseline():
    _, parameters = CASES["hard-threshold-ucb"]
    program = GradientProgram(
        two_arms(), "hard-threshold-ucb", as_arguments(parameters), "penalized_regret", "score",
        horizon=5, temperature=TEMPERATURE, width=0.5, key=0,
    )  # fmt: skip
    values, seeds = {tunable.name: tunable.start for tunable in program.tunables}, np.arange(128)
    arguments = program.arguments(values, seeds, 128, program.objective)
    (value,), _, scores, _ = gradient_program.derivatives(*arguments, **program.structure)
    value = np.asarray(value, float)[0]
    runs = program.runs(values, seeds)
    weight = value - (value.sum() - value) / 127
    for (name, found), score in zip(runs.gradient.items(), scores, strict=True):
        expected = (np.asarray(score, float)[:, 0] * weight).T
        np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.slow
def test_the_relaxed_objective_approaches_that_of_the_policy_itself():
    """Run by run, on the same rewards, as temperature and width fall."""
    policy = jb.policy("hard-threshold-ucb", exploration=1.0)
    hard = jb.simulate(SMALL, policy, horizon=HORIZON, seeds=SEEDS, metrics=["penalized_regret"], record=1)
    hard = hard.penalized_regret_final.values[0, 0]
    distances = []
    for temperature, width in ((0.1, 0.5), (1e-2, 0.1), (1e-5, 0.02)):
        program = GradientProgram(
            SMALL, policy, ["penalties"], "penalized_regret", "relaxed",
            horizon=HORIZON, temperature=temperature, width=width, key=0,
        )  # fmt: skip
        soft = program.runs({"penalties": program.tunables[0].start}, np.arange(SEEDS)).value
        distances.append(np.abs(soft - hard).mean())
    assert distances[0] > 2 * distances[1] > 4 * distances[2]
    assert distances[2] < 0.02 * hard.mean()


RELAXED, SCORE = ("relaxed",), ("score",)


@pytest.mark.parametrize(
    ("kind", "parameters", "problem", "estimators"),
    [
        *(
            pytest.param(
                *case,
                marks=FULL if case[0] in ("eta-fucb", "ucb-v", "ucb1", "soft-threshold-ucb") else pytest.mark.slow,
                id=case[0],
            )
            for case in [
                ("ucb1", ["exploration"], {}, RELAXED),
                ("hard-threshold-ucb", ["exploration"], {"delay": {"kind": "fixed", "d": 2}}, SCORE),
                ("soft-threshold-ucb", ["penalties"], {}, RELAXED),
                ("eta-fucb", {"eta": 0.1}, {}, RELAXED),
                ("lfg", ["eta"], {"plays": 2}, SCORE),
                ("ucb-pllp", ["alpha", "eps"], {"plays": 2, "fractions": 0.6}, RELAXED),
                ("ucb-v", ["exploration", "c"], {}, RELAXED),
                ("fgreedy-d", ["merit.scale"], {"plays": 2, "merit": {"kind": "power", "scale": 0.5}}, RELAXED),
                ("fcts-d", ["merit.scale"], {"merit": "power"}, SCORE),
                ("thompson", ["sd"], {"reward": {"kind": "gaussian", "sd": 0.2}}, SCORE),
                (
                    "hard-threshold-ucb",
                    ["penalties"],
                    {"availability": 0.7, "means": [[0.9, 0.5, 0.3], [0.1, 0.2, 0.8]]},
                    RELAXED,
                ),
            ]
        ),
    ],
)
def test_policies_of_every_kind_have_gradients(kind, parameters, problem, estimators):
    """By each estimator they are finite, and not all 0."""
    world = jb.Problem(**{"means": [0.9, 0.5, 0.3], "fractions": 0.2, "penalties": 0.3, **problem})
    assert set(estimators) <= set(supported_estimators(jb.policy(kind).prepare(world, 25)))
    objective = "fairness_regret" if "merit" in problem else "regret"
    for estimator in estimators:
        found = tuning.value_and_gradient(
            world, kind, parameters, objective=objective, estimator=estimator, horizon=25, seeds=16, temperature=0.1
        )
        assert any(np.any(slope != 0) for slope in found.gradient.values()), estimator


def test_a_given_start_makes_the_keys_of_the_problem_optional():
    """The policy is then the one that takes its penalties from the problem."""
    problem = jb.Problem(SMALL.means[:, 0].tolist(), fractions=0.2)
    arguments = {"horizon": HORIZON, "temperature": 0.05, "width": 0.5, "key": 0}
    given = GradientProgram(problem, "hard-threshold-ucb", {"penalties": [0.3] * 3}, "regret", "relaxed", **arguments)
    held = GradientProgram(SMALL, "hard-threshold-ucb", ["penalties"], "regret", "relaxed", **arguments)
    np.testing.assert_array_equal(given.tunables[0].start, held.tunables[0].start)
    np.testing.assert_array_equal(given.prepared.penalties, np.broadcast_to(held.prepared.penalties, (3, 1)))
    assert given.prepared.replace(penalties=None) == held.prepared.replace(penalties=None)


@pytest.mark.slow
def test_the_memory_of_a_gradient_grows_like_the_root_of_the_horizon():
    """XLA's own count of temporary bytes, at T and 16 T: about 4 times, where keeping every round would be 16."""

    def temporary(horizon):
        program = GradientProgram(
            jb.Problem([0.9, 0.5], fractions=0.2, penalties=0.3), "hard-threshold-ucb", ["penalties"],
            "penalized_regret", "relaxed", horizon=horizon, temperature=0.1, width=0.5, key=0,
        )  # fmt: skip
        arguments = program.arguments({"penalties": program.tunables[0].start}, np.arange(512), 512, program.objective)
        compiled = gradient_program.derivatives.lower(*arguments, **program.structure).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    assert temporary(16 * 256) < 6 * temporary(256)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ["relaxed", "score"])
def test_a_derivative_that_is_0_in_every_run_is_said(estimator):
    """The root of `exploration` has none at 0."""
    problem = jb.Problem([0.9, 0.6, 0.4])
    with pytest.warns(UserWarning, match="^exploration: the derivative is 0 in every run: .*estimator='perturbation'"):
        found = tuning.value_and_gradient(
            problem, "ucb1", {"exploration": 0.0}, objective="regret", estimator=estimator, horizon=20, seeds=8
        )
    assert not found.gradient["exploration"].any()
