"""Ties between arms that are broken at random."""

import itertools
import warnings
from collections import Counter
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest
from sweeps import FULL, partly_fast

import jaxbandit as jb
from jaxbandit.engine.advice.arm_order import helped_by_order
from jaxbandit.experiments.statistics import sample_size
from jaxbandit.policies.base import Policy
from jaxbandit.tuning.command import make_task

RUNS = 20_000
ORDERS = list(itertools.permutations(range(4)))
TAU = [Fraction(3, 10), Fraction(1, 10), Fraction(3, 10), Fraction(1, 10)]


def ucb1(t, counts, plays):
    """The key of each arm; the rewards are 1/2."""
    return [round(0.5 + np.sqrt(2 * np.log(t) / n), 9) if n else np.inf for n in counts]


def truncated(t, counts):
    return [min(index, 1.0) for index in ucb1(t, counts, 1)]


def fair_learn(t, counts, plays):
    owed = [tau * (t - 1) - n for tau, n in zip(TAU, counts, strict=True)]
    return [(d > 0, d if d > 0 else 0, index) for d, index in zip(owed, ucb1(t, counts, plays), strict=True)]


def ucb_pllp(t, counts, plays):
    """With alpha = 0 the queues do not count."""
    return truncated(t, counts)


def fair_mmab(t, counts, plays):
    """With one play, and fractions below 1/4: fair-learn, but for the index 0 of round 1."""
    return fair_learn(t, counts, plays) if t > 1 else [0] * 4


def law(keys, plays, rounds=3):
    """The probability of each sequence of selections, if all orders of arms of equal keys are equally likely."""
    found = {(): Fraction(1)}
    for t in range(1, rounds + 1):
        after = Counter()
        for past, chance in found.items():
            value = keys(t, [sum(k in arms for arms in past) for k in range(4)], plays)
            for order in ORDERS:
                ranked = sorted(order, key=lambda k: value[k], reverse=True)  # a stable sort: ties stay in this order
                after[*past, tuple(sorted(ranked[:plays]))] += chance / len(ORDERS)
        found = after
    return found


@pytest.mark.parametrize(
    ("kind", "keys", "plays"),
    [
        ("fair-learn", fair_learn, 2),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [
                ("ucb1", ucb1, 1),
                ("ucb1", ucb1, 2),
                ("fair-learn", fair_learn, 1),
                ("ucb-pllp", ucb_pllp, 1),
                ("ucb-pllp", ucb_pllp, 2),
                ("fair-mmab", fair_mmab, 1),
            ]
        ),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_the_law_of_the_first_three_selections(kind, keys, plays):
    """Each sequence within 5 standard errors of its probability: a false alarm in one of 10,000 tests at most."""
    fractions = [0.15, 0.1, 0.15, 0.1] if kind == "fair-mmab" else [float(tau) for tau in TAU]
    problem = jb.Problem([0.5] * 4, reward="constant", plays=plays, fractions=fractions)
    parameters = {"alpha": 0.0} if kind == "ucb-pllp" else {}
    results = jb.simulate(
        problem, jb.policy(kind, **parameters), horizon=3, seeds=RUNS, trace=True, ties="random", metrics=["regret"]
    )
    arms = np.sort(results.arms.values[0, 0], axis=-1)
    seen = Counter(tuple(map(tuple, run)) for run in arms.tolist())
    expected = law(keys, plays)
    assert set(seen) <= set(expected)
    for sequence, chance in expected.items():
        p = float(chance)
        assert abs(seen[sequence] - RUNS * p) < 5 * np.sqrt(RUNS * p * (1 - p)) + 1e-9, sequence


def test_ucb_lp_raises_equal_arms_in_random_order():
    """No fractions are owed: in round 1 all truncated indices are 1, and one arm gets the whole play."""
    problem = jb.Problem([0.5] * 4, reward="constant", fractions=0.0)
    pulls = jb.simulate(problem, "ucb-lp", horizon=1, seeds=RUNS, ties="random", metrics=["regret"]).pulls
    counts = pulls.sum("seed").values.ravel()
    assert np.all(abs(counts - RUNS / 4) < 5 * np.sqrt(RUNS * 3 / 16))


@pytest.mark.parametrize(
    "kind",
    partly_fast(["explore-then-commit", "successive-elimination", "t-fucb", "fairness-aware-etc"], ["t-fucb"]),
)
def test_arms_that_are_played_in_turn_keep_their_order(kind):
    problem = jb.Problem([0.5] * 4, fractions=0.25, penalties=0.1, opportunity="uniform")
    parameters = {"rounds_per_arm": 2} if "rounds_per_arm" in Policy.registry[kind].parameters() else {}
    results = jb.simulate(
        problem, jb.policy(kind, **parameters), horizon=8, seeds=4, trace=True, ties="random", metrics=["regret"]
    )
    first = results.arms.values[0, 0, :, :, 0]
    in_turn = [0, 0, 1, 1, 2, 2, 3, 3] if kind in ("t-fucb", "fairness-aware-etc") else [0, 1, 2, 3] * 2
    np.testing.assert_array_equal(first, [in_turn] * 4)


@pytest.mark.parametrize("kind", partly_fast(["explore-then-commit", "fairness-aware-etc"], ["fairness-aware-etc"]))
def test_a_commitment_holds(kind):
    """All means are equal: each run commits itself to one arm, and every arm is some run's."""
    problem = jb.Problem([0.5] * 4, reward="constant", penalties=0.1, opportunity="zero")
    results = jb.simulate(
        problem, jb.policy(kind, rounds_per_arm=2), horizon=40, seeds=64, ties="random", metrics=["regret"]
    )
    assert set(np.sort(results.pulls.values[0, 0], axis=-1).ravel().tolist()) == {2, 34}
    assert set(results.pulls.values[0, 0].argmax(axis=-1).tolist()) == {0, 1, 2, 3}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ucb1", "fair-learn"])
def test_simulators_and_agents_break_the_same_ties(kind):
    problem = jb.Problem([0.9, 0.8, 0.5, 0.3], fractions=0.2)
    results = jb.simulate(problem, kind, horizon=30, seeds=1, key=3, trace=True, ties="random", metrics=["regret"])
    simulator = jb.Simulator(problem, kind, horizon=30, ties="random")
    np.testing.assert_array_equal(simulator.rollout(3, 1).pulls[0], results.pulls.values[0, 0])
    agent = jb.Agent(kind, arms=4, fractions=0.2, ties="random")
    state = agent.init(key=3)
    for t in range(30):
        state, arms, _ = agent.select(state)
        assert arms.tolist() == results.arms.values[0, 0, 0, t].tolist()
        state = agent.observe(state, arms, rewards=results.rewards.values[0, 0, 0, t])
    assert "ties='random'" in repr(simulator)
    assert "ties='random'" in repr(agent)


def test_ties_are_recorded_in_the_config():
    problem = jb.Problem([0.9, 0.5])
    random = jb.simulate(problem, "ucb1", horizon=10, seeds=2, ties="random")
    assert 'ties = "random"' in random.attrs["config"]
    assert "ties" not in jb.simulate(problem, "ucb1", horizon=10, seeds=2).attrs["config"]
    with pytest.raises(jb.InputError, match=r"simulation\.ties"):
        jb.combine(random, jb.simulate(problem, "ucb1", horizon=10, seeds=2, first_seed=2))


@pytest.mark.parametrize("ties", ["first", None, 1])
def test_other_rules_are_refused(ties):
    with pytest.raises(jb.InputError, match=r'^simulation\.ties (= .*|is missing): must be "lowest" or "random"'):
        jb.simulate(jb.Problem([0.9, 0.5]), "ucb1", horizon=10, seeds=2, ties=ties)
    with pytest.raises(jb.InputError, match=r"^ties (=|is missing)"):
        jb.Simulator(jb.Problem([0.9, 0.5]), "ucb1", horizon=10, ties=ties)
    with pytest.raises(jb.InputError, match=r"^ties (=|is missing)"):
        jb.Agent("ucb1", arms=2, ties=ties)


def test_relaxed_runs_and_tunings_take_lowest_ties_alone():
    problem = {"means": [0.9, 0.5], "fractions": 0.1, "penalties": 0.2}
    with pytest.raises(jb.InputError, match=r"^ties = 'random': must be \"lowest\" with `relaxed`"):
        jb.Simulator(problem, "hard-threshold-ucb", horizon=10, relaxed={"temperature": 0.1}, ties="random")
    config = {
        "simulation": {"horizon": 10, "seeds": 2, "ties": "random"},
        "problem": problem,
        "policies": [{"kind": "hard-threshold-ucb"}],
        "tuning": {"parameters": ["penalties"], "objective": "penalized_regret"},
    }
    with pytest.raises(
        jb.InputError, match=r"^simulation\.ties = 'random': must be \"lowest\" in the config of a tuning"
    ):
        make_task(config)


@pytest.mark.parametrize("kind", partly_fast(["lfg", "ucb-lp", "ucb-pllp"], ["lfg"]))
def test_an_order_that_helps_is_said(kind):
    falling, other = ([0.9, 0.6, 0.6, 0.2], [0.6, 0.9, 0.2, 0.6])
    with pytest.warns(UserWarning, match=rf"ties go to the lowest arm: this helps {kind}.*ties='random'"):
        jb.simulate(jb.Problem(falling, fractions=0.1), kind, horizon=10, seeds=2, metrics=["regret"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jb.simulate(jb.Problem(falling, fractions=0.1), kind, horizon=10, seeds=2, metrics=["regret"], ties="random")
        jb.simulate(jb.Problem(other, fractions=0.1), kind, horizon=10, seeds=2, metrics=["regret"])
        jb.simulate(jb.Problem([0.5] * 4, fractions=0.1), kind, horizon=10, seeds=2, metrics=["regret"])
        jb.simulate(jb.Problem(falling, fractions=0.1), "fair-learn", horizon=10, seeds=2, metrics=["regret"])


def test_an_order_that_helps_a_wrapped_policy_is_said():
    problem, policy = jb.Problem([0.9, 0.6, 0.2], fractions=0.1), jb.policy("min-probability", base="ucb-lp")
    assert "this helps min-probability" in helped_by_order([policy], [problem], "")


@pytest.mark.slow
def test_a_tuning_warns_once_of_an_order_that_helps_and_advises_what_it_can_do():
    problem = jb.Problem([0.9, 0.5, 0.1], fractions=0.1, penalties=0.3)
    arguments = {"horizon": 20, "seeds": 8}
    for run in (
        lambda: jb.tuning.tune(problem, "lfg", ["eta"], steps=1, final_seeds=16, **arguments),
        lambda: jb.tuning.value_and_gradient(problem, "lfg", ["eta"], **arguments),
    ):
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            made = run()
        about = [str(one.message) for one in given if "helps lfg" in str(one.message)]
        assert len(about) == 1
        assert "ties='random'" not in about[0]
        assert "list the arms in another order" in about[0]
        assert about[0] in getattr(made, "warnings", about)


def test_figures_say_that_ties_are_random():
    results = jb.simulate(jb.Problem([0.9, 0.5]), "ucb1", horizon=10, seeds=2, ties="random")
    assert results.attrs["ties"] == "random"
    assert sample_size(results) == "2 runs with random ties"


class Lowest(jb.Policy):
    """Ties go to the lowest arm."""

    many_plays = False

    def select(self, state, now):
        return jnp.argmin(jnp.where(now.available, now.pulls, now.horizon), axis=0)


class LowestInTurn(Lowest):
    own_order = True


class Best(jb.Policy):
    def select(self, state, now):
        return now.best(-now.pulls)


class Remembered(Lowest):
    """Uses the ties of the round before."""

    def init(self, world, shape):
        return jnp.zeros(shape)

    def select(self, state, now):
        return jnp.argmin(state, axis=0)

    def update(self, state, after, selected):
        return jnp.zeros_like(state) if after.tie_breaker is None else after.tie_breaker.astype(state.dtype)


@pytest.mark.parametrize(
    ("policies", "ties", "warned"),
    [
        (Lowest, "lowest", False),
        *(
            pytest.param(*case, "random", warned, marks=pytest.mark.slow)
            for *case, warned in [
                (["ucb1", Lowest, Best], True),
                (jb.policy("min-probability", base=Lowest()), True),
                ([LowestInTurn, Best, Remembered, "ucb1"], False),
                (jb.policy("min-probability", base=Best()), False),
            ]
        ),
    ],
)
def test_a_select_that_does_not_use_the_tie_breaker_is_told(policies, ties, warned):
    problem = jb.Problem([0.5, 0.9, 0.5], fractions=0.1)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        jb.simulate(problem, policies, horizon=2, seeds=2, ties=ties)
    about = [str(one.message) for one in given if "has no effect" in str(one.message)]
    assert len(about) == warned
    assert not warned or "now.best(score)" in about[0]


@pytest.mark.slow
@pytest.mark.parametrize(("plays", "available"), [(1, 1.0), pytest.param(2, 1.0, marks=FULL), (2, 0.5)])
def test_best_selects_as_an_index_does(plays, available):
    class Least(jb.Index):
        initial_pass = False

        def value(self, state, now):
            return -now.pulls

    problem = jb.Problem([0.5] * 4, plays=plays, availability=available)
    made = jb.simulate(problem, [Best, Least], horizon=12, seeds=40, ties="random")
    np.testing.assert_array_equal(made.pulls[0], made.pulls[1])
    first = jb.simulate(problem, Best, horizon=1, seeds=400, ties="random").pulls.sum("seed").values.ravel()
    assert (first > 0).all()
    assert jb.simulate(problem, Best, horizon=1, seeds=400).pulls.sum("seed").values[0, 0, 0] > 190


def larger(scores):
    """The first of the largest scores, by comparisons."""
    best, arm = scores[0], jnp.zeros(scores.shape[1:], jnp.int32)
    for k in range(1, len(scores)):
        arm, best = jnp.where(scores[k] > best, k, arm), jnp.where(scores[k] > best, scores[k], best)
    return arm


@pytest.mark.slow
@pytest.mark.parametrize(
    "select",
    [
        lambda now: now.best(-now.pulls),
        lambda now: jnp.argmax(-now.pulls, axis=0),
        lambda now: jnp.argmin(now.pulls, axis=0),
        lambda now: larger(-now.pulls),
        lambda now: jnp.argmax(-now.pulls == jnp.max(-now.pulls, axis=0, keepdims=True), axis=0),
    ],
    ids=["best", "argmax", "argmin", "comparisons", "max"],
)
def test_the_arm_of_fewest_selections_by_whole_numbers(select):
    """A GPU's assembler took the largest of negated whole numbers wrongly within a loop."""

    class Fewest(jb.Policy):
        many_plays = False

        def select(self, state, now):
            return select(now)

    made = jb.simulate(jb.Problem([0.5] * 4), Fewest, horizon=14, seeds=40, metrics=["regret"])
    assert (made.pulls.values[0, 0] == [4, 4, 3, 3]).all()
