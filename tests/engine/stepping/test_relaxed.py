"""Relaxed runs of `jb.Simulator`: those of tuning, their gradients, and what they approach as the temperature falls."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from stepping import problem_for, scanned
from sweeps import FULL

import jaxbandit as jb
from jaxbandit.tuning.estimators.gradient_program import GradientProgram

T, SEEDS = 30, 3
QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}  # less time to compile
SOFT = {"temperature": 0.07, "width": 0.4}
NOISY = {"reward": {"kind": "gaussian", "sd": 0.2}}
CASES = [
    pytest.param(*case, marks=FULL if case[0] == "ucb-v" else pytest.mark.slow, id=case[0])
    for case in [
        ("hard-threshold-ucb", "penalties", {**NOISY, "means": [[0.9, 0.8, 0.7, 0.4], [0.2, 0.5, 0.6, 0.1]]}),
        ("lfg", "eta", {"plays": 2, "availability": 0.7}),
        ("ucb-v", "c", {"reward": "uniform"}),
    ]
]
VALUES = {"penalties": [0.3, 0.1, 0.4, 0.2], "eta": 1.5, "c": 0.6}


def final_of(simulator, instance, seed):
    """The final state of a run: a scan of `step` that computes each round anew for the derivatives."""
    play = jax.checkpoint(lambda state, _: (simulator.step(state)[0], None))
    return jax.lax.scan(play, simulator.init(5, instance, seed), length=T)[0]


def regret(problem, pulls):
    """By `[..., J, S, K]` counts."""
    means = problem.means.T  # [J, K]
    best = np.sort(means, axis=1)[:, ::-1][:, : problem.plays].sum(axis=1)
    return T * best[:, None] - jnp.einsum("jk,jsk->js", jnp.asarray(means), pulls)


@pytest.mark.parametrize(("kind", "name", "changes"), CASES)
def test_runs_and_gradients_are_those_of_tuning_and_of_finite_differences(kind, name, changes, float64):
    problem, value = problem_for(**changes), jnp.asarray(VALUES[name], float)
    simulator = jb.Simulator(problem, kind, horizon=T, relaxed=SOFT)
    instances, seeds = jnp.arange(problem.instances), jnp.arange(SEEDS)

    def regrets(value, temperature):
        run = simulator.replace(**{name: value}, relaxed=SOFT | {"temperature": temperature})
        one = lambda instance, seed: final_of(run, instance, seed).pulls  # noqa: E731
        found = regret(problem, jax.vmap(jax.vmap(one, (None, 0)), (0, None))(instances, seeds)).mean(axis=0)
        return found, found

    slopes_of = jax.jit(jax.jacrev(regrets, argnums=(0, 1), has_aux=True), compiler_options=QUICK)
    temperature = jnp.asarray(SOFT["temperature"])
    (slopes, slopes_in_temperature), found = slopes_of(value, temperature)

    program = GradientProgram(problem, kind, {name: VALUES[name]}, "regret", "relaxed", horizon=T, key=5, **SOFT)
    runs = program.runs({name: np.asarray(value)}, np.arange(SEEDS))
    np.testing.assert_allclose(found, runs.value, rtol=1e-9)
    assert np.abs(slopes).max() > 1e-3
    np.testing.assert_allclose(slopes, runs.gradient[name], rtol=1e-6, atol=1e-9)

    h, direction = 1e-6, np.random.default_rng(0).normal(size=value.shape)
    up, down = (slopes_of(value + jnp.asarray(step * direction), temperature + step)[1] for step in (h, -h))
    along = (np.asarray(slopes) * direction).reshape(SEEDS, -1).sum(axis=1) + slopes_in_temperature
    np.testing.assert_allclose(along, (up - down) / (2 * h), rtol=1e-4, atol=1e-6)

    pulls = simulator.replace(**{name: VALUES[name]}).rollout(5, SEEDS).pulls
    np.testing.assert_allclose(regret(problem, pulls).mean(axis=0), found, rtol=1e-9)


@pytest.mark.slow
def test_shares_approach_selections_and_the_temperature_may_be_traced(float64):
    problem = problem_for(plays=2, availability=0.6, **NOISY)
    hard = jb.Simulator(problem, "hard-threshold-ucb", horizon=T)
    _, info = scanned(hard, hard.init(8), T)
    softened = hard.replace(relaxed={"temperature": 1.0})

    def play(temperature):
        run = softened.replace(relaxed={"temperature": temperature, "width": 0.02})
        return jax.lax.scan(lambda state, _: run.step(state), run.init(8), length=T)

    final, shared = jax.tree.map(np.asarray, jax.jit(jax.vmap(play))(jnp.array([0.2, 1e-5])))
    available = (info.arms >= 0).sum(axis=1)
    assert (available < 2).any()
    np.testing.assert_allclose(shared.chances.sum(axis=2), np.tile(available, (2, 1)), rtol=1e-6)
    assert ((shared.chances >= 0) & (shared.chances <= 1)).all()
    np.testing.assert_allclose(final.pulls, shared.chances.sum(axis=1))
    total = final.run.deviation[..., 0] + problem.means.T * final.pulls
    np.testing.assert_allclose(shared.rewards.sum(axis=1), total)

    here = info.arms[..., None] == np.arange(4)  # [T, L, K]
    np.testing.assert_allclose(shared.chances[1], here.any(axis=1), atol=1e-3)
    np.testing.assert_allclose(shared.rewards[1], (here * info.rewards[..., None]).sum(axis=1), atol=1e-3)
    assert np.abs(shared.chances[0] - here.any(axis=1)).max() > 0.1


def relax(kind="ucb1", relaxed=SOFT, **changes):
    return jb.Simulator(problem_for(**changes), kind, horizon=T, relaxed=relaxed)


class Remembering(jb.Index):
    real_counts = True

    def init(self, world, shape):
        return jnp.zeros(shape), jnp.zeros(shape)

    def update(self, state, after, selected):
        return state[0] + after.arrived.count, state[1] + after.arrived.total

    def value(self, state, now):
        return now.mean


@pytest.mark.slow
@pytest.mark.parametrize("reward", ["gaussian", "uniform"])
def test_a_users_policy_is_told_the_shares_and_the_rewards_of_a_round(reward):
    simulator = relax(Remembering, reward=reward)
    final, info = scanned(simulator, simulator.init(1), T)
    for told, part in zip(final.policy, (info.chances, info.rewards), strict=True):
        np.testing.assert_allclose(told[:, 0], part.sum(axis=0), rtol=1e-5)
    np.testing.assert_allclose(final.pulls, info.chances.sum(axis=0), rtol=1e-5)


class Undefined(jb.Index):
    real_counts = True

    def value(self, state, now):
        return jnp.where(now.pulls > 5, jnp.nan, now.mean)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: relax(relaxed={"temperature": 0}), r"^relaxed.temperature = 0: must be a number >= 1e-6$"),
        (lambda: relax(relaxed={"temperature": [0.1]}), r"^relaxed.temperature = \[0.1\]: must be a number >= 1e-6$"),
        (lambda: relax(relaxed={"width": 1.0}), r"^relaxed.temperature is missing: must be a number >= 1e-6$"),
        (lambda: relax(relaxed={**SOFT, "width": "wide"}), r"^relaxed.width = 'wide': must be a number >= 1e-6$"),
        (
            lambda: relax(relaxed={"temprature": 0.1}),
            r"^unknown key relaxed.temprature \(did you mean 'temperature'\?\)",
        ),
        (lambda: relax(relaxed=0.05), r"^relaxed = 0.05: must be None, or a table such as"),
        (
            lambda: jax.vmap(lambda t: relax().replace(relaxed={"temperature": t}))(jnp.ones((2, 3))),
            r"^relaxed.temperature = 'an array of shape \(3,\)': must be a number",
        ),
        (lambda: relax("kl-ucb"), r"^policy = 'kl-ucb': must be a policy .* counts that are not integers: .*ucb1"),
        (lambda: relax("fair-learn"), r"^policy = 'fair-learn': must be a policy that selects by scores or chances"),
        (lambda: relax(delay={"kind": "fixed", "d": 2}), r"^problem.delay = 'fixed': must be 'none' in relaxed runs$"),
        (lambda: relax().step(relax(relaxed=None).init(0)), r"^state = .*: must be a state that `init` returned with"),
        (lambda: relax(relaxed=None).step(relax().init(0)), r"^state = .*: must be a state that `init` returned with"),
    ],
)
def test_what_cannot_be_relaxed_is_refused(call, words):
    with pytest.raises(jb.InputError, match=words):
        call()


@pytest.mark.slow
def test_shares_that_are_not_numbers_are_errors_of_rollout():
    with pytest.raises(FloatingPointError, match=r"'Undefined': a share was not a number, in round 30 or before"):
        relax(Undefined).rollout(0, 2)
