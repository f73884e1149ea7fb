"""Long horizons: counts stay exact and regrets stay within 1e-4 of a float64 run at T = 1e6."""

import jax
import numpy as np
import pytest
from harness import ALL

import jaxbandit as jb

T = 10**6
# Rewards that neither sum nor compare exactly in float32; a float32 sum of a million 0.3 is off by some 4 %.
LONG = {
    "means": [0.3, 0.6, 0.59, 0.1],
    "fractions": [0.07, 0.11, 0.2, 0.05],
    "penalties": [0.2, 0.3, 0.1, 0.9],
}
# Policies that choose by draws: in these, no choice hangs on the last bit of an index.
RANDOMISED = ("epsilon-greedy", "uniform-random", "fair-random", "naive")


def final(kind, reward):
    return jb.simulate(jb.Problem(**LONG, reward=reward), kind, horizon=T, seeds=1, record=3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in ALL if kind not in (*RANDOMISED, "thompson", "f-ts")])
def test_constant_rewards_to_a_million_rounds(kind):
    single = final(kind, "constant")
    with jax.enable_x64(True):
        double = final(kind, "constant")
    assert single.pulls.values.sum() == double.pulls.values.sum() == T
    for name in ("regret", "penalized_regret", "r_regret", "unfairness"):
        a, b = (float(results[f"{name}_final"].squeeze()) for results in (single, double))
        scale = float(double["regret_final"].squeeze()) if name == "r_regret" else abs(b)
        assert abs(a - b) <= 1e-4 * max(scale, 1.0), (name, a, b)


@pytest.mark.slow
@pytest.mark.parametrize("kind", RANDOMISED)
def test_random_rewards_to_a_million_rounds(kind):
    """Runs draw the same numbers in both, and part only where a draw lies within rounding of a threshold."""
    single = final(kind, "bernoulli")
    with jax.enable_x64(True):
        double = final(kind, "bernoulli")
    assert single.pulls.values.sum() == T
    a, b = (float(results["regret_final"].squeeze()) for results in (single, double))
    assert abs(a - b) <= 1e-4 * abs(b)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ucb1", "hard-threshold-ucb", "lfg", "thompson"])
def test_float32_is_not_biased(kind):
    """Single runs part where two indices lie within float32's rounding; their means do not.

    The mean difference of 256 runs in float32 and float64 (on the same random numbers) is held to 5 of its standard
    errors: a false alarm in 1.7 million.
    """
    problem = jb.Problem(**LONG, reward={"kind": "gaussian", "sd": 0.3})

    def finals():
        results = jb.simulate(problem, kind, horizon=T // 10, seeds=256, record=3, metrics=["regret"])
        return results.regret_final.values.ravel()

    single = finals()
    with jax.enable_x64(True):
        double = finals()
    difference = single - double
    assert abs(difference.mean()) <= 5 * difference.std(ddof=1) / 16
    assert abs(difference.mean()) <= 0.02 * double.mean()


@pytest.mark.slow
def test_a_million_gaussian_rewards_leave_the_mean_exact():
    """The sum the engine keeps, against the same rewards summed in float64: what an index sees at T = 1e6."""
    import jax.numpy as jnp

    from jaxbandit import engine, randomness
    from jaxbandit.blocks import on_device
    from jaxbandit.problem import world_of

    problem = jb.Problem([0.3], reward={"kind": "gaussian", "sd": 0.25})
    policy = jb.policy("ucb1").prepare(problem, T)
    cells = np.zeros(1, int)
    placed, world = on_device(policy, cells), on_device(world_of(problem, False), cells)
    keys = tuple(jnp.asarray(w) for w in randomness.run_keys(0, cells[:, None], np.arange(16)))
    start = engine.start(placed, world, (1, 1, 16), False)
    stops, zero = jnp.asarray([T], jnp.int32), jnp.asarray(0, jnp.int32)
    state, _, _ = engine.advance(placed, world, keys, None, zero, stops[0], zero, stops, start)
    mean = 0.3 + np.asarray(state.deviation, float)[0, 0] / T

    @jax.jit
    def drawn(t):
        return randomness.Stream(keys, t, randomness.REWARD).normal()[0, 0]

    normals = np.asarray(jax.lax.map(drawn, jnp.arange(T, dtype=jnp.uint32), batch_size=1000), float)
    exact = np.float32(0.3) + np.float32(0.25) * normals.mean(0)
    np.testing.assert_allclose(mean, exact, atol=1e-7)  # one float32 step of a mean near 0.3 is 3e-8
