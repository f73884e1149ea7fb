"""Merit functions, the box optimum, and the policies of the merit paper, against plain references."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference_merit
from harness import MERIT, MERIT_ALIASES, PROPORTIONAL, plain_merit, reference_rounds, trajectory_and_sums
from hypothesis import given, settings
from hypothesis import strategies as st
from sweeps import every, swept

import jaxbandit as jb
from jaxbandit.environment.merit import Merit, Power, box_optimum, proportional_chances

# Not an instance of the paper.
MEANS = [0.35, 0.62, 0.5, 0.81, 0.12, 0.44]
LATE = {
    "none": "none",
    "geometric": {"kind": "geometric", "p": 0.1},
    "packet loss": {"kind": "packet-loss", "p": [0.3, 0.9, 0.5, 0.7, 1.0, 0.4]},
    "reward-dependent": {"kind": "reward-dependent", "one": {"kind": "fixed", "d": 40}},
}
REGRETS = ("reward_regret", "fairness_regret")
AWAKE = [0.9, 0.3, 0.7, 0.5, 1.0, 0.2]  # the availability of each arm
SLOW = ["fcucb-d", "op-fcucb-d"]  # their references maximise over a box
QUICK = [kind for kind in MERIT if kind not in (*SLOW, *MERIT_ALIASES)]
WITH_DELAY = ("fcucb-d",)  # in the fast tests; opse, with another parameter, too


class Bumpy(Merit):
    """Neither increasing nor smooth in a few points: ups and downs between 0.6 and 1.4."""

    turns: float = 3.0
    phase: float = 0.0

    def value(self, mu):
        return 1.0 + 0.4 * jnp.sin(2 * np.pi * self.turns * mu + self.phase) * jnp.cos(5.0 * mu)

    @property
    def plain(self):
        return lambda mu: 1 + 0.4 * math.sin(2 * math.pi * self.turns * mu + self.phase) * math.cos(5 * mu)


class Falling(Merit):
    """Less merit to better arms."""

    rate: float = 1.0

    def value(self, mu):
        return jnp.exp(-self.rate * mu)

    @property
    def plain(self):
        return lambda mu: math.exp(-self.rate * mu)


def problem(**changes):
    return jb.Problem(**{"means": MEANS, "plays": 2, "merit": "power", **changes})


def assert_same(world, kind, horizon, seeds=1, **parameters):
    """Selections are those of the reference, and at every round the regrets those of its p_k(t), by eq. 4-6."""
    policy = jb.policy(kind, **parameters)
    selected, sums = trajectory_and_sums(world, policy, horizon, seeds, asked=REGRETS)
    for seed in range(seeds):
        chances: list = []
        theirs = list(reference_rounds(world, kind, horizon, seed, chances=chances, **parameters))
        assert [np.flatnonzero(row).tolist() for row in selected[:, :, 0, seed]] == theirs
        expected = reference_merit.merit_regrets(chances, MEANS, plain_merit(world.merit), world.plays)
        for name, values in zip(REGRETS, expected, strict=True):
            np.testing.assert_allclose(sums[name][:, 0, seed], values, rtol=2e-5, atol=2e-5, err_msg=name)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        *(
            (kind, {}) if kind in WITH_DELAY else pytest.param(kind, {}, marks=pytest.mark.slow)
            for kind in (*QUICK, *SLOW)
        ),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [("fgreedy-d", {"eps": 0.6, "decay": 1 / 3}), ("fgreedy-d", {"eps": 1.0})]
        ),
        ("opse", {"exploration": 0.05}),
    ],
    ids=str,
)
@pytest.mark.usefixtures("quick")
def test_runs_with_delays_and_sleeping_arms_are_those_of_the_reference(kind, parameters):
    world = problem(delay=LATE["geometric"], availability=AWAKE)
    assert_same(world, kind, 50 if kind in SLOW else 150, **parameters)


@pytest.mark.parametrize(
    ("kind", "late"), every([(kind, late) for late in LATE if late != "geometric" for kind in (*QUICK, *SLOW)], 5)
)
def test_runs_with_any_delay_are_those_of_the_reference(kind, late):
    assert_same(problem(delay=LATE[late]), kind, 70 if kind in SLOW else 250)


ONE_PLAY = ["fcts-d"]  # the others are slow tests


@pytest.mark.parametrize(
    "kind", [*ONE_PLAY, *(pytest.param(kind, marks=pytest.mark.slow) for kind in MERIT if kind not in ONE_PLAY)]
)
@pytest.mark.usefixtures("quick")
def test_one_play(kind):
    """With one play and without delay, fcucb-d and fcts-d are FairX-UCB and FairX-TS."""
    assert_same(problem(plays=1), kind, 30 if "ucb" in kind else 250)


@pytest.mark.parametrize("kind", MERIT_ALIASES)
def test_fairx_is_another_name(kind):
    assert jb.policy(kind) == jb.policy(MERIT_ALIASES[kind])


@pytest.mark.parametrize("kind", every([kind for kind in PROPORTIONAL if kind not in MERIT_ALIASES], 5))
@pytest.mark.parametrize("merit", [Bumpy(turns=2.0), Falling(rate=1.2), Power(scale=0.7, exponent=2.0)], ids=str)
def test_a_users_merit_function(kind, merit):
    assert_same(problem(merit=merit), kind, 30 if kind in SLOW else 250)


@pytest.mark.parametrize("kind", swept(["fcts-d", "op-fcts-d", "fgreedy-d", "cucb-d"], ["fcts-d", "cucb-d"]))
def test_other_rewards_in_the_unit_interval(kind):
    for reward in ("uniform", "beta"):
        assert_same(problem(reward=reward), kind, 200)


@pytest.mark.slow
@pytest.mark.parametrize("kind", QUICK)
def test_float64(kind, float64):
    assert_same(problem(), kind, 150)


# Regrets


class Plain(Merit):
    """Falling, in NumPy, by a branch on its parameter: JAX cannot trace it, but it can be evaluated."""

    rate: float = 1.0

    def value(self, mu):
        return np.exp(-self.rate * np.asarray(mu)) if self.rate > 0 else np.ones_like(mu)


@pytest.mark.usefixtures("quick")
def test_a_merit_function_that_no_policy_uses_need_not_be_traced():
    world = problem(merit=Plain(rate=1.2))
    fair = problem(merit=Falling(rate=1.2)).fair_chances()
    np.testing.assert_allclose(world.fair_chances(), fair, rtol=1e-6)
    results = jb.simulate(world, "ucb1", horizon=30, seeds=1, metrics=["fairness_regret"], record="all")
    first = abs(np.bincount([0, 1], minlength=6) - fair.ravel()).sum()  # ucb1 plays every arm once, in order
    np.testing.assert_allclose(results.fairness_regret.values[0, 0, 0], first, rtol=1e-5)


@pytest.mark.usefixtures("quick")
def test_a_policy_without_chances_has_those_of_its_selection():
    """The p of ucb1 is 0 or 1: with constant rewards of two arms, its regrets by hand."""
    world = jb.Problem([0.9, 0.1], merit=Power(scale=1.0, exponent=1.0), reward="constant")
    selected, sums = trajectory_and_sums(world, "ucb1", 50, 1, asked=REGRETS)
    fair = np.array([1.9, 1.1]) / 3.0
    n = selected[:, :, 0, 0].cumsum(axis=0)
    np.testing.assert_allclose(sums["fairness_regret"].ravel(), n @ (2 * fair[::-1]), rtol=1e-5)
    np.testing.assert_allclose(sums["reward_regret"].ravel(), n[:, 1] * fair[0] * 0.8, rtol=1e-5)


@pytest.mark.slow
def test_sums_of_a_long_run_do_not_drift():
    world = jb.Problem([0.9, 0.1], merit=Power(scale=1.0, exponent=1.0), reward="constant")
    horizon = 300_000
    results = jb.simulate(world, "ucb1", horizon=horizon, seeds=1, record=3)
    n = results.pulls.values[0, 0, 0]
    fair = np.array([1.9, 1.1]) / 3.0
    assert float(results.fairness_regret_final.squeeze()) == pytest.approx(n @ (2 * fair[::-1]), rel=3e-7)


def test_the_fair_policy_by_hand():
    """Eq. 4 of the merit paper with 1 + 2 mu^4, seven arms and three plays: L f / sum f."""
    world = jb.Problem([0.3, 0.5, 0.7, 0.9, 0.8, 0.6, 0.4], plays=3, merit="power")
    f = [1 + 2 * mu**4 for mu in world.means.ravel()]
    np.testing.assert_allclose(world.fair_chances().ravel(), 3 * np.array(f) / sum(f), rtol=1e-6)


# The box optimum

_solve = jax.jit(box_optimum)
ends = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=4, max_size=4)


@pytest.mark.parametrize(
    "merits",
    [
        st.builds(
            Power, scale=st.floats(0, 50), exponent=st.sampled_from([1.0, 2.0, 2.5, 4.0, 9.0])
        ),  # one program each
        st.builds(Bumpy, turns=st.floats(0, 4), phase=st.floats(0, 6)),
        st.builds(Falling, rate=st.floats(-3, 6)),
    ],
    ids=["power", "bumpy", "falling"],
)
@given(data=st.data())
@settings(deadline=None, max_examples=40)
def test_the_box_optimum_is_the_global_one(merits, data):
    """On random boxes, within 1e-5 of the value that a fine grid and golden sections find."""
    merit, box = data.draw(merits), data.draw(ends)
    low, high = (np.float32([f(pair) for pair in box])[:, None] for f in (min, max))
    x = np.asarray(_solve(jax.tree.map(jnp.float32, merit), jnp.asarray(low), jnp.asarray(high)))[:, 0]
    assert np.all((low[:, 0] <= x) & (x <= high[:, 0]))
    f = plain_merit(merit)
    found = sum(f(v) * v for v in x.tolist()) / sum(f(v) for v in x.tolist())
    _, best = reference_merit.box_optimum(low[:, 0].tolist(), high[:, 0].tolist(), f)
    assert found >= best * (1 - 1e-5) - 1e-7


class Hump(Merit):
    """Highest in the middle."""

    def value(self, mu):
        return 0.3 + 5.0 * mu * (1.0 - mu)


@pytest.mark.parametrize("steps", [0.1, 0.5, 0.9, 3.0])
def test_the_peak_is_found_next_to_the_ends_of_an_interval(steps):
    """The maximum of (0.3 + 5 x (1 - x)) (x - 0.5) is so many steps of the search's grid within either end."""
    top = (15 + math.sqrt(15**2 - 4 * 15 * 2.2)) / 30  # the larger root of the derivative, -15 x^2 + 15 x - 2.2
    part = steps / 128
    low, high = np.float32([0.1, (top - 0.95 * part) / (1 - part)]), np.float32([(top - 0.1 * part) / (1 - part), 0.95])
    found = Hump().peak(jnp.asarray(low)[:, None], jnp.asarray(high)[:, None], jnp.float32([[0.5], [0.5]]))
    np.testing.assert_allclose(found.ravel(), top, atol=3e-4)


def test_chances_of_few_arms_are_capped_at_one():
    """Merit 8, 1, 1 and two plays: the first arm has chance 1, the others share the second play."""
    chances = jax.jit(proportional_chances)
    merit, three = np.float32([[8.0], [1.0], [1.0]]), np.ones((3, 1), bool)
    np.testing.assert_allclose(chances(merit, np.float32([[2.0]]), three).ravel(), [1.0, 0.5, 0.5])
    alone = chances(merit, np.float32([[1.0]]), np.array([[False], [True], [False]]))
    np.testing.assert_allclose(alone.ravel(), [0.0, 1.0, 0.0])


# Invalid input


class Negative(Merit):
    """Not positive near 1."""

    def value(self, mu):
        return 1.0 - 2.0 * mu


class OfTheLargest(Merit):
    def value(self, mu):
        return 1.0 + mu / jnp.maximum(jnp.max(mu), 0.1)


class OfOthers(Merit):
    def value(self, mu):
        return 0.05 + mu / (mu.sum() + 0.01)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"merit": OfTheLargest()},
            r"must be a merit function of the arm's own mean; for 0\.25 it is 2 alone and 1\.25",
        ),
        (
            {"merit": OfOthers()},
            r"must be a merit function of the arm's own mean; for 0\.25 it is 1\.01\d* alone and 0\.05",
        ),
        ({"merit": "wealth"}, r"problem\.merit\.kind = 'wealth'"),
        ({"merit": {"kind": "power", "scale": -1}}, r"problem\.merit\.scale = -1: must be a number >= 0"),
        ({"merit": {"kind": "power", "exponent": 0.5}}, r"problem\.merit\.exponent = 0\.5"),
        ({"merit": {"kind": "power", "c": 2}}, r"unknown key problem\.merit\.c; valid keys: exponent, kind, scale"),
        ({"merit": Negative()}, r"problem\.merit = 'Negative'.* positive and finite on \[0, 1\]"),
        ({"plays": 4}, r"problem\.merit = 'power'.*at most \(K-1\)/\(L-1\) = 5/3 .*Assumption 1\), not 3 times"),
        ({"means": [1.2, 0.1, 0.3], "reward": "gaussian"}, r"problem\.means = .*numbers from 0 to 1"),
    ],
)
def test_bad_merit_is_refused(changes, message):
    with pytest.raises(jb.InputError, match=message):
        problem(**changes)


@pytest.mark.slow
def test_a_merit_may_be_a_number():
    class Equal(Merit):
        def value(self, mu):
            return 1.0

    results = jb.simulate(jb.Problem([0.9, 0.5, 0.4], merit=Equal()), ["fcucb-d", "fgreedy-d"], horizon=50, seeds=3)
    assert float(abs(results.fairness_regret_final.sel(policy="fcucb-d")).max()) > 0


def test_equality_in_assumption_1_is_allowed():
    assert jb.Problem([0.5] * 7, plays=3, merit={"kind": "power", "scale": 2.0}).merit is not None  # 3 = 6/2


@pytest.mark.parametrize("kind", PROPORTIONAL)
def test_what_the_policies_need(kind):
    with pytest.raises(jb.InputError, match=r"problem\.merit is missing: .*" + MERIT_ALIASES.get(kind, kind)):
        jb.simulate(problem(merit=None), kind, horizon=10, seeds=1)
    with pytest.raises(jb.InputError, match=r"problem\.reward = 'gaussian': must .*\[0, 1\]"):
        jb.simulate(problem(reward="gaussian"), kind, horizon=10, seeds=1)


def test_merits_are_documented():
    for merit in Merit.registry.values():
        assert merit.__doc__
        assert all(field.metadata.get("doc") for field in merit.parameters().values())
