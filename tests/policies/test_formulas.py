"""What single methods compute, against the formulas of the papers with plain numbers: views, bounds and radii."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sweeps import first_fast

import jaxbandit as jb
from jaxbandit.core.prng import Stream
from jaxbandit.core.rationals import QuotaTable
from jaxbandit.engine.batch.blocks import quota_on_device
from jaxbandit.policies.indices.kl_ucb import kl_upper_bound
from jaxbandit.policies.opportunity.phases import BlackBoxState, _view_of_black_box, confidence_intervals, gap_bounds
from jaxbandit.policies.round_view import deficit, is_below

T, L = 500, 2
PULLS, RECEIVED = [0, 3, 40, 17], [0, 2, 31, 17]
REWARDS = [[], [1.0, 0.0], [0.25] * 20 + [0.75] * 11, [0.5] * 10 + [1.0] * 7]
CENTRES = [0.5, 0.25, 0.125, 0.75]
MEAN = [sum(rewards) / max(len(rewards), 1) for rewards in REWARDS]


def column(values, dtype=jnp.float32):
    return jnp.asarray(values, dtype)[:, None]


def view(centred=False, **changes):
    """A round of one run in which the arms have had `REWARDS`."""
    centres = CENTRES if centred else [0.0] * 4
    off = [[r - c for r in rewards] for rewards, c in zip(REWARDS, centres, strict=True)]
    made = jb.RoundView(
        t=jnp.int32(61),
        horizon=jnp.int32(T),
        pulls=column(PULLS, jnp.int32),
        received=column(RECEIVED, jnp.int32),
        deviation=column([sum(rewards) for rewards in off]),
        squares=column([sum(r * r for r in rewards) for rewards in off]),
        centre=column(CENTRES) if centred else None,
        available=jnp.ones((4, 1), bool),
        quota_before=None,
        quota_now=None,
        fractions=None,
        penalties=None,
        random=Stream((jnp.zeros((1, 1), jnp.uint32),) * 2, jnp.uint32(61)),
        plays=L,
    )
    return dataclasses.replace(made, **changes)


def close(ours, theirs):
    np.testing.assert_allclose(np.asarray(ours)[:, 0], theirs, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("centred", [False, True])
def test_a_view_tells_the_rewards_so_far(centred):
    now = view(centred)
    close(now.samples, [1, 2, 31, 17])
    close(now.mean, MEAN)
    close(now.total, [sum(rewards) for rewards in REWARDS])
    close(now.variance, [np.var(rewards) if rewards else 0.0 for rewards in REWARDS])
    weights = [0.5, 1.0, 2.0, 3.0]
    radii = [math.sqrt(w / max(len(rewards), 1)) for w, rewards in zip(weights, REWARDS, strict=True)]
    close(now.upper(column(weights)), [m + r for m, r in zip(MEAN, radii, strict=True)])


def test_the_logarithm_of_the_round_is_never_that_of_less_than_1():
    assert float(view().log()) == pytest.approx(math.log(61))
    assert float(view().log(1.0)) == pytest.approx(math.log(60))
    assert float(view(t=jnp.int32(1)).log(1.0)) == 0.0
    clocks = view(t=jnp.asarray([[1, 2, 9]], jnp.int32)).log(1.0)
    np.testing.assert_allclose(np.asarray(clocks), [[0.0, 0.0, math.log(8)]], rtol=1e-6)


def test_counts_are_compared_with_quotas_exactly():
    tau = jb.Problem([0.1] * 4, fractions=[0.05, 0.1, "1/3", 0.0], plays=2).fractions
    for s in (60, 61):
        quota = quota_on_device(QuotaTable(tau, s + 1).rows(0, s + 1), np.zeros(1, int))
        quota = jax.tree.map(lambda part, s=s: part[s, :, :, 0], quota)
        ceilings = [math.ceil(share * s) for share in tau[:, 0]]
        with_ceiling = dataclasses.replace(quota, ceiling=column(ceilings, jnp.int32))
        exact = [share * s for share in tau[:, 0]]
        for counts in ([3, 6, 20, 0], [2, 7, 21, 1], [4, 5, 19, 0]):
            below = [float(n < x) for n, x in zip(counts, exact, strict=True)]
            n = column(counts, jnp.int32)
            np.testing.assert_array_equal(np.asarray(is_below(quota, n))[:, 0], below)
            np.testing.assert_array_equal(np.asarray(is_below(with_ceiling, n))[:, 0], below)
            np.testing.assert_array_equal(np.asarray(view(pulls=n).below_quota(quota))[:, 0], below)
            close(deficit(quota, n), [float(x - k) for k, x in zip(counts, exact, strict=True)])


def test_a_wrapped_policy_draws_numbers_of_its_own():
    now = view()
    assert now.for_wrapped_policy() == dataclasses.replace(
        now, random=dataclasses.replace(now.random, purpose=now.random.purpose + 1)
    )


def test_confidence_bounds_of_successive_elimination():
    radii = [math.sqrt(0.7 * math.log(T) / max(m, 1)) for m in RECEIVED]
    low, high = jb.policy("successive-elimination", exploration=0.7).confidence_bounds(view())
    close(low, [m - r for m, r in zip(MEAN, radii, strict=True)])
    close(high, [m + r for m, r in zip(MEAN, radii, strict=True)])


# Rewards that are missing count as 0 below and as 1 above; all divided by the number of plays.
LEAST = [sum(rewards) / max(n, 1) for rewards, n in zip(REWARDS, PULLS, strict=True)]
MOST = [(sum(x) + n - m) / max(n, 1) for x, n, m in zip(REWARDS, PULLS, RECEIVED, strict=True)]


def test_confidence_bounds_of_opse():
    radii = [math.sqrt(0.7 * math.log(T) / max(n, 1)) for n in PULLS]
    low, high = jb.policy("opse", exploration=0.7).confidence_bounds(view())
    close(low, [x - r for x, r in zip(LEAST, radii, strict=True)])
    close(high, [x + r for x, r in zip(MOST, radii, strict=True)])


@pytest.mark.parametrize(
    ("kind", "weight", "counts", "least", "most"),
    [("fcucb-d", 4, RECEIVED, MEAN, MEAN), ("op-fcucb-d", 6, PULLS, LEAST, MOST)],
)
def test_confidence_regions_of_the_merit_paper(kind, weight, counts, least, most):
    """Merit paper, Theorems 6 and 8: radii sqrt(log(weight L K T) / count)."""
    radii = [math.sqrt(math.log(weight * L * 4 * T) / max(n, 1)) for n in counts]
    low, high = jb.policy(kind).confidence_region(view())
    close(low, [x - r for x, r in zip(least, radii, strict=True)])
    close(high, [x + r for x, r in zip(most, radii, strict=True)])


def test_gaps_and_confidence_intervals_of_the_opportunities_paper():
    """Opportunities paper, Alg. 4, lines 14-18: radii c_k = sqrt(2 log T / M_k), gaps to within 2 c_k."""
    now = view(deviation=column([0.0, 1.5, 120.0, 5.0]), horizon=jnp.int32(3))
    mean = [0.0, 1.5 / 2, 120.0 / 31, 5.0 / 17]
    radii = [math.sqrt(2 * math.log(3) / max(m, 1)) for m in RECEIVED]
    gaps = [max(mean) - m for m in mean]
    least, most = gap_bounds(now)
    close(least, [0.0] + [max(gap - 2 * c, 0.0) for gap, c in list(zip(gaps, radii, strict=True))[1:]])
    close(most, [1.0] + [min(gap + 2 * c, 1.0) for gap, c in list(zip(gaps, radii, strict=True))[1:]])
    assert float(least[3, 0]) > 0
    low, high = confidence_intervals(now)
    clipped = [min(m, 1.0) for m in mean]
    close(low, [0.0] + [max(m - c, 0.0) for m, c in list(zip(clipped, radii, strict=True))[1:]])
    close(high, [1.0] + [min(m + c, 1.0) for m, c in list(zip(clipped, radii, strict=True))[1:]])


def divergence(p, q):
    """Of Bernoulli(q) from Bernoulli(p), p and q in (0, 1)."""
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


@pytest.mark.slow
def test_the_kl_bound_is_where_the_divergence_reaches_its_budget():
    means = np.array([0.003, 0.05, 0.3, 0.5, 0.77, 0.98])
    for budget in (1e-5, 0.003, 0.1, 1.0, 4.0):
        bound = np.asarray(kl_upper_bound(column(means), column([budget] * 6)), float)[:, 0]
        for mean, q in zip(means, bound, strict=True):
            assert divergence(mean, max(q - 2e-6, mean)) <= budget
            assert q + 2e-6 >= 1 or divergence(mean, q + 2e-6) >= budget
    assert np.asarray(kl_upper_bound(column([0.0, 1.0]), column([0.5, 0.5])))[:, 0].tolist() == pytest.approx(
        [1 - math.exp(-0.5), 1.0]
    )


@pytest.mark.parametrize(("float64", "error"), first_fast([(False, 5e-7), (True, 1e-13)]))
def test_the_kl_bound_is_that_of_bisection(float64, error):
    """Means near 0 and 1, and divergences from 1e-12 to 60, among them."""
    rng = np.random.default_rng(3)
    near = rng.uniform(size=300) ** 8
    means = np.concatenate([rng.uniform(size=300), near, 1 - near, [0.0, 1.0, 0.5]])
    budgets = np.exp(rng.uniform(math.log(1e-12), math.log(60), size=means.size))
    with jax.enable_x64(float64):
        given = [jnp.asarray(values[:, None], jnp.result_type(float)) for values in (means, budgets)]
        found = np.asarray(kl_upper_bound(*given), float)[:, 0]
        means, budgets = (np.asarray(values, float)[:, 0] for values in given)
    low, high = np.zeros_like(means), 1 - means
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(100):
            x = (low + high) / 2
            zero, one = np.where(means > 0, means * np.log1p(x / means), 0.0), (1 - means) * np.log1p(-x / (1 - means))
            inside = -(zero + np.where(means < 1, one, 0.0)) <= budgets
            low, high = np.where(inside, x, low), np.where(inside, high, x)
    assert np.abs(found - means - low).max() < error


def test_a_black_box_sees_the_rounds_and_rewards_since_its_start():
    start = {"pulls": [0, 1, 10, 2], "received": [0, 0, 9, 2], "deviation": [0.0, 0.0, 2.5, 1.0]}
    box = BlackBoxState(
        pulls=column(start["pulls"], jnp.int32),
        received=column(start["received"], jnp.int32),
        deviation=column(start["deviation"]),
        squares=None,
        started=jnp.asarray([[13]], jnp.int32),
        inner=None,
    )
    seen = _view_of_black_box(box, view())
    assert seen.t.item() == 61 - 13
    close(seen.pulls, np.subtract(PULLS, start["pulls"]))
    close(seen.received, np.subtract(RECEIVED, start["received"]))
    close(seen.total, [sum(rewards) - before for rewards, before in zip(REWARDS, start["deviation"], strict=True)])
    assert seen.random.purpose != view().random.purpose


@pytest.mark.slow
@pytest.mark.parametrize("mix", [0.0, 0.1])
def test_exp3_where_the_best_arm_sleeps_and_the_weights_of_others_are_0_beside_its_own(mix):
    """Against logarithms in float64. The weights of arms 1 and 2 fall below exp(-110), which is 0 in float32."""
    eta, arms = 10.0, 3
    agent = jb.Agent(jb.policy("exp3", eta=eta, mix=mix), arms=arms, horizon=200)
    state, losses = agent.init(key=1), np.zeros(arms)
    largest = np.inf
    for t in range(120):
        available = np.array([t % 3 > 0, True, True])
        state, (arm,), chances = agent.select(state, available=available)
        logs = -eta * losses
        shares = np.exp(logs - np.logaddexp.reduce(logs))
        own = (1 - mix) * shares + mix / arms
        if mix == 0:
            own = np.exp(logs - logs[available].max())
        expected = np.where(available, own, 0) / own[available].sum()
        np.testing.assert_allclose(chances, expected, atol=1e-3, err_msg=f"round {t + 1}")
        losses[arm] += float(arm > 0) / chances[arm]
        state = agent.observe(state, [arm], rewards=[float(arm == 0)])
        largest = min(largest, logs[1:].max())
    assert mix > 0 or largest < -110
