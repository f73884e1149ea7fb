"""Selecting arms by keys and at random: against sorting in NumPy, and dependent rounding against what it promises."""

import functools
import itertools
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_rounds import QUICK
from sweeps import first_fast

from jaxbandit.core.xla.cpu_kernel import as_one_kernel
from jaxbandit.core.xla.cpu_kernel import compiled as kernel_compiled
from jaxbandit.policies.selection.arm_indices import arm_index, arm_indices, arms_as_mask, can_list_arms, take_arms
from jaxbandit.policies.selection.dependent_rounding import _level_by_level, dependent_rounding, uniforms_needed
from jaxbandit.policies.selection.knapsack import fractional_knapsack
from jaxbandit.policies.selection.sampling import intervals, sample_arm, sample_number
from jaxbandit.policies.selection.sortable_integers import FloatKey, float_key, sortable_integers
from jaxbandit.policies.selection.top_arms import best_arm, top_arms, top_available, top_available_number

K, RUNS = 7, 16
jitted = functools.partial(jax.jit, compiler_options=QUICK)
values = st.sampled_from([-np.inf, -1.5, -1e-30, -0.0, 0.0, 1e-30, 0.25, 0.5, 1.0, np.inf])
column = st.lists(values, min_size=K, max_size=K)
masks = st.lists(st.booleans(), min_size=K, max_size=K)


_top = {}


def compiled(most):
    """`top_arms` with two keys, compiled once for each bound and number of arms."""
    if most not in _top:
        _top[most] = jitted(lambda a, b, count, candidates: top_arms((a, b), count, most, candidates))
    return _top[most]


def in_order(first, second, candidates):
    """The candidates from the highest keys to the lowest, for one run."""
    return sorted(np.flatnonzero(candidates), key=lambda k: (-first[k], -second[k], k))


@pytest.mark.parametrize("most", [5, 17])  # 17: more than are picked one after the other
@given(st.lists(st.tuples(column, column, masks, st.integers(0, 5)), min_size=RUNS, max_size=RUNS))
@settings(deadline=None, max_examples=25)
def test_top_is_what_sorting_gives(most, runs):
    first, second, candidates = (np.array([run[i] for run in runs]).T for i in range(3))
    count = np.array([run[3] for run in runs])
    f32 = (jnp.asarray(x, jnp.float32) for x in (first, second))
    taken = np.asarray(compiled(most)(*f32, jnp.asarray(count[None], jnp.int32), jnp.asarray(candidates)))
    for i in range(RUNS):
        assert set(np.flatnonzero(taken[:, i])) == set(
            in_order(*(x[:, i] for x in (first, second, candidates)))[: count[i]]
        )


@pytest.mark.parametrize(("arms", "most"), first_fast([(131, 2), (131, 40), (40, 3), (131, 0), (131, 1)], 3))
@pytest.mark.parametrize("distinct", first_fast([9, 2, 10**6]))
def test_top_of_many_arms_is_what_sorting_gives(arms, most, distinct):
    """With few distinct keys the second key and the arm's number decide; some runs have fewer candidates than plays."""
    rng = np.random.default_rng(most + distinct)
    first, second = (rng.integers(0, distinct, (arms, 64)).astype(np.float32) / distinct - 0.3 for _ in range(2))
    first[rng.random(first.shape) < 0.05] = np.inf
    second[rng.random(first.shape) < 0.05] = -np.inf
    candidates = rng.random(first.shape) < np.where(np.arange(64) % 4, 0.9, 0.1)
    count = rng.integers(0, most + 1, (1, 64)).astype(np.int32)
    taken = np.asarray(jitted(lambda a, b, c, n: top_arms((a, b), n, most, c))(first, second, candidates, count))
    every = np.asarray(jitted(lambda a, b, c: top_arms((a, b), most, most, c))(first, second, candidates))
    for i in range(64):
        order = in_order(first[:, i], second[:, i], candidates[:, i])
        assert np.flatnonzero(taken[:, i]).tolist() == sorted(order[: count[0, i]])
        assert np.flatnonzero(every[:, i]).tolist() == sorted(order[:most])


@pytest.mark.parametrize(("arms", "runs"), [(67, 16), (131, 32), (131, 64), (1001, 16)])
@pytest.mark.parametrize("distinct", [2, 10**6])
def test_one_play_of_many_arms_in_one_kernel(arms, runs, distinct):
    """There a loop compares the rows of several arms at once where runs are few; no arm where a key is NaN."""
    rng = np.random.default_rng(arms + distinct)
    first, second = (rng.integers(0, distinct, (arms, runs)).astype(np.float32) / distinct - 0.3 for _ in range(2))
    first[rng.random(first.shape) < 0.1] = -np.inf
    candidates = rng.random(first.shape) < np.where(np.arange(runs) % 4, 0.9, 0.02)
    candidates[:, 1] = False
    first[arms // 2, 2], candidates[arms // 2, 2] = np.nan, True
    kernel = as_one_kernel(lambda a, b, c: (top_available_number(lambda: (a, b), one_play(c), None), a))
    number = np.asarray(kernel_compiled(kernel)(first, second, candidates)[0])
    for i in range(runs):
        order = [] if i == 2 else in_order(first[:, i], second[:, i], candidates[:, i])
        assert number[0, i] == (*order, arms)[0]


_top_number = jitted(lambda *keys_open: top_available_number(lambda: keys_open[:-1], one_play(keys_open[-1]), None))
_top_available = jitted(lambda *keys_open: top_available(lambda: keys_open[:-1], one_play(keys_open[-1]), None))


def one_play(candidates):
    counts = jnp.zeros(candidates.shape, jnp.int32)
    return SimpleNamespace(plays=1, pulls=counts, available=candidates, t=jnp.int32(3), tie_breaker=None)


integers = st.lists(st.integers(-1, 2), min_size=K, max_size=K)


@given(st.lists(st.tuples(integers, column, masks), min_size=RUNS, max_size=RUNS))
@settings(deadline=None, max_examples=25)
def test_one_play_by_an_integer_and_a_float_is_what_sorting_gives(runs):
    first, second, candidates = (np.array([run[i] for run in runs]).T for i in range(3))
    number = np.asarray(
        _top_number(jnp.asarray(first, jnp.int32), jnp.asarray(second, jnp.float32), jnp.asarray(candidates))
    )
    for i in range(RUNS):
        order = sorted(np.flatnonzero(candidates[:, i]), key=lambda k: (-first[k, i], -second[k, i], k))
        assert number[0, i] == (*order, K)[0]


@pytest.mark.parametrize("arms", [3, 70])
def test_keys_may_be_the_same_for_all_arms(arms):
    candidates = jnp.ones((arms, 2), bool).at[0, 1].set(False)
    for key in (jnp.zeros(()), jnp.zeros((1, 2))):
        assert np.asarray(_top_available(key, candidates)).argmax(axis=0).tolist() == [0, 1]


def test_only_a_key_that_decides_must_be_a_number():
    first = jnp.asarray([[0, 0], [1, 1], [1, 0]], jnp.int32)
    second = jnp.asarray([[jnp.nan, 0.0], [1.0, 2.0], [0.5, 9.0]], jnp.float32)
    everywhere = jnp.ones((3, 2), bool)
    assert np.asarray(_top_available(first, second, everywhere)).argmax(axis=0).tolist() == [1, 1]
    assert not np.asarray(_top_available(-first, second, everywhere))[:, 0].any()  # the arm that comes first has none


@pytest.mark.parametrize("arms", [1, 6, 70])  # 70: more than are written out
def test_sampled_arms_stand_at_their_number_among_the_sums_of_weights(arms):
    rng = np.random.default_rng(arms)
    weights = rng.integers(0, 4, (arms, 200)).astype(np.float32)  # sums without rounding, and weights of 0
    candidates = rng.random((arms, 200)) < 0.7
    candidates[0], candidates[:, 2] = True, False
    uniform = rng.random((1, 200), np.float32)
    uniform[:, :2] = 0.0, 1 - 2.0**-24
    number = np.asarray(jitted(sample_number)(jnp.asarray(weights), jnp.asarray(uniform), jnp.asarray(candidates)))[0]
    assert number[2] == arms  # no candidate
    for i in {*range(200)} - {2}:
        mass = np.where(candidates[:, i], weights[:, i], 0)
        mass = mass if mass.any() else candidates[:, i].astype(np.float32)
        point = np.float32(uniform[0, i] * mass.sum())
        assert number[i] == np.searchsorted(np.cumsum(mass), point, side="right")


def test_prepared_intervals_hold_the_arm_that_is_drawn_from_their_weights():
    rng = np.random.default_rng(8)
    weights = (rng.random((7, 500)) * (rng.random((7, 500)) < 0.6)).astype(np.float32)
    weights[3, weights.sum(axis=0) == 0] = 0.1
    uniform = rng.random((1, 500), np.float32)
    uniform[:, :50], uniform[:, 50:100] = 0.0, 1 - 2.0**-24
    arm = np.asarray(jitted(lambda w, u: intervals(w).arm(u))(jnp.asarray(weights), jnp.asarray(uniform)))[0]
    drawn = jitted(sample_arm)(jnp.asarray(weights), jnp.asarray(uniform), jnp.ones((7, 500), bool))
    assert arm.tolist() == np.asarray(drawn).argmax(axis=0).tolist()
    assert (weights[arm, np.arange(500)] > 0).all()


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_ordered_keeps_the_order_and_one_zero(dtype, float64):
    numbers = jnp.asarray([-jnp.inf, -3.0, -1e-37, -0.0, 0.0, 1e-37, 1.0, 1.5, jnp.inf, jnp.nan], dtype)
    keys = np.asarray(sortable_integers(numbers)).tolist()
    assert keys == sorted(keys)
    assert keys[3] == keys[4]
    assert len(set(keys)) == 9  # the zeros are one
    assert keys[-1] == np.iinfo(np.int32 if dtype == jnp.float32 else np.int64).max
    assert min(keys) > np.iinfo(np.int32 if dtype == jnp.float32 else np.int64).min


@pytest.mark.parametrize("arms", [7, 70])
@pytest.mark.parametrize("most", first_fast([2, 1, 6]))
def test_a_score_that_is_no_number_costs_a_play(most, arms):
    """It is left out, and no other arm comes in its place: the engine then sees that plays are missed."""
    score = jnp.asarray(np.resize([0.3, 0.1, 0.9, 0.1, 0.2, 0.4, 0.8], arms), jnp.float32).at[1].set(jnp.nan)[:, None]
    taken = jitted(top_arms, static_argnums=(1, 2))((score,), most, most, jnp.ones((arms, 1), bool))
    assert int(taken.sum()) < most
    assert not taken[1].any()
    assert not jitted(best_arm)(score, jnp.ones((arms, 1), bool)).any()


@pytest.mark.parametrize(("arms", "most"), first_fast([(7, 3), (70, 3), (7, 1), (7, 20)], 2))
def test_a_key_beside_its_sortable_integers_selects_the_same_arms(arms, most):
    """In both ways of comparing; with a second key that decides ties, sets of arms before others, and NaN."""
    rng = np.random.default_rng(arms + most)
    score = rng.choice([-np.inf, -0.5, -0.0, 0.0, 0.25, np.inf], (arms, 64)).astype(np.float32)
    second = rng.random((arms, 64), np.float32)
    score[arms // 2, :8] = np.nan
    candidates, first = rng.random((2, arms, 64)) < 0.6

    def select(key):
        scores = key(jnp.asarray(score))
        zero = scores.zero_where(first) if isinstance(scores, FloatKey) else jnp.where(first, 0.0, scores)
        rank = jnp.asarray(first, jnp.int32)
        return top_arms((rank, zero, jnp.asarray(second)), most, most, candidates), top_arms(
            (scores, jnp.asarray(second)), most, most, candidates
        )

    for one, plain in zip(*(jitted(select, static_argnums=0)(key) for key in (float_key, jnp.asarray)), strict=True):
        valid = ~np.isnan(score).any(axis=0)
        np.testing.assert_array_equal(one[:, valid], plain[:, valid])
        assert not (np.asarray(one) & np.isnan(score) & ~first).any()


@pytest.mark.parametrize("most", [3, 9])
@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=25)
def test_raised_amounts_are_those_of_a_sorted_list(most, number):
    rng = np.random.default_rng(number)
    arms, plays = 12, most
    score = rng.choice([0.1, 0.5, 0.7, 1.0], (arms, RUNS))  # ties in plenty
    floor = rng.dirichlet(np.ones(arms), RUNS).T * min(plays, 1 + plays * rng.random()) * 0.9
    floor = np.minimum(floor, 1.0)
    budget = np.full((1, RUNS), float(plays))
    amounts = _raise(most, *(jnp.asarray(x, jnp.float32) for x in (score, floor, budget)))
    for i in range(RUNS):
        expected, left = floor[:, i].copy(), plays - floor[:, i].sum()
        for k in sorted(range(arms), key=lambda k: (-score[k, i], k)):
            step = min(1 - expected[k], left)
            expected[k], left = expected[k] + step, left - step
        np.testing.assert_allclose(amounts[:, i], expected, atol=2e-6)  # a dozen float32 sums of up to 9


def _raise(most, score, floor, budget):
    if most not in _raised:
        _raised[most] = jitted(lambda s, f, b: fractional_knapsack(s, f, jnp.ones_like(f), b, most))
    return np.asarray(_raised[most](score, floor, budget))


_raised: dict = {}


@pytest.mark.parametrize("arms", [5, 32, 33, 70])
def test_arms_by_their_numbers(arms):
    rng = np.random.default_rng(arms)
    mask = np.zeros((arms, RUNS), bool)
    for run in range(RUNS - 1):  # the last run has no arm
        mask[rng.permutation(arms)[: 1 + run % 3], run] = True
    first = np.where(mask.any(axis=0), mask.argmax(axis=0), arms)
    one = mask & (np.arange(arms)[:, None] == first)
    assert np.asarray(jitted(arm_index)(one))[0].tolist() == first.tolist()
    numbers = np.array([np.append(np.flatnonzero(column), [arms] * 3)[:3] for column in mask.T], np.int32).T
    if can_list_arms(arms, 3):
        np.testing.assert_array_equal(jitted(arm_indices, static_argnums=1)(mask, 3), numbers)
        np.testing.assert_array_equal(jitted(arms_as_mask, static_argnums=1)(jnp.asarray(numbers), arms), mask)
    np.testing.assert_array_equal(
        jitted(arms_as_mask, static_argnums=1)(jnp.asarray(first[None], jnp.int32), arms), one
    )
    values = rng.random((arms, RUNS)).astype(np.float32)
    tree = {"per arm": values, "shared": values[:1], "scalar": np.float32(3.0)}
    taken = jitted(take_arms, static_argnums=2)(tree, jnp.asarray(numbers), arms)
    padded = np.concatenate([values, np.zeros((1, RUNS), np.float32)])
    np.testing.assert_array_equal(taken["per arm"], np.take_along_axis(padded, numbers, axis=0))
    np.testing.assert_array_equal(taken["shared"], values[:1])
    assert float(taken["scalar"]) == 3.0


@pytest.mark.cpu
def test_arms_are_listed_where_they_are_few():
    assert can_list_arms(32, 16)
    assert can_list_arms(5, 2)
    assert can_list_arms(64, 16)
    assert can_list_arms(1000, 4)
    assert can_list_arms(1000, 125)
    assert not can_list_arms(1000, 126)
    assert not can_list_arms(32, 17)
    assert not can_list_arms(5, 5)


# Dependent rounding

_rounding = jitted(dependent_rounding)


def random_marginals(rng, arms, plays):
    """Marginals that sum to `plays`, some of them 0 or 1."""
    y = rng.dirichlet(np.full(arms, rng.choice([0.2, 1.0, 5.0]))) * plays
    while np.any(y > 1):
        over = y > 1
        y[over] = 1.0
        free = ~over & (y < 1)
        y[free] *= (plays - (y >= 1).sum()) / y[free].sum() if y[free].sum() else 1.0
    return y


def exact_distribution(y):
    """The exact chance of every set, by the rule of `dependent_rounding` with each pair's two outcomes enumerated."""
    outcomes = {(): 1.0}
    level = [([(1.0, (), k)], v) for k, v in enumerate(y)]  # a place: [(chance, arms in so far, survivor)], its value
    while len(level) > 1:
        if len(level) % 2:
            level.append(([(1.0, (), None)], 0.0))
        merged = []
        for (left, a), (right, b) in zip(level[::2], level[1::2], strict=True):
            over = a + b > 1
            span = 2 - a - b if over else a + b
            chance = ((1 - b) if over else a) / span if span > 0 else 0.5
            place = {}
            for (p, inside, s), (q, within, r) in itertools.product(left, right):
                for weight, one, other in ((chance, s, r), (1 - chance, r, s)):
                    key = (tuple(sorted((*inside, *within, one))), other) if over else ((*inside, *within), one)
                    place[key] = place.get(key, 0.0) + p * q * weight
            merged.append(([(p, *key) for key, p in place.items() if p > 0], a + b - 1 if over else a + b))
        level = merged
    sets, value = level[0]
    outcomes = {}
    for p, inside, survivor in sets:
        chosen = tuple(sorted((*inside, survivor))) if value > 0.5 else tuple(sorted(inside))
        outcomes[chosen] = outcomes.get(chosen, 0.0) + p
    return outcomes


@pytest.mark.parametrize("number", range(6))
def test_rounding_has_the_marginals_the_size_and_negative_correlation(number):
    """The exact distribution has all three; 100,000 draws agree with it, set by set.

    Each set's share lies within 5 standard errors: a false alarm in 1.7 million a set, some 100 sets in all. The
    draws are fixed, so a pass stays a pass.
    """
    rng = np.random.default_rng(number)
    arms, plays, draws = 6, int(rng.integers(1, 5)), 100_000
    y = random_marginals(rng, arms, plays).astype(np.float32).astype(float)
    law = exact_distribution(y)
    assert all(len(chosen) == plays for chosen in law)
    together = {s: sum(p for c, p in law.items() if set(s) <= set(c)) for n in (1, 2, 3) for s in subsets(arms, n)}
    left_out = {s: sum(p for c, p in law.items() if not set(s) & set(c)) for n in (2, 3) for s in subsets(arms, n)}
    for s, chance in together.items():
        limit = np.prod(y[list(s)])
        assert chance == pytest.approx(limit, abs=1e-6) if len(s) == 1 else chance <= limit + 1e-6
    assert all(chance <= np.prod(1 - y[list(s)]) + 1e-6 for s, chance in left_out.items())

    u = np.random.default_rng(100 + number).random((uniforms_needed(arms), draws), np.float32)
    marginals = jnp.broadcast_to(jnp.asarray(y, jnp.float32)[:, None], (arms, draws))
    chosen = np.asarray(_rounding(marginals, jnp.asarray(u)))
    np.testing.assert_array_equal(chosen.sum(axis=0), plays)
    found, counts = np.unique(chosen.T, axis=0, return_counts=True)
    assert {tuple(np.flatnonzero(row)) for row in found} <= set(law)
    seen = dict(zip((tuple(np.flatnonzero(row).tolist()) for row in found), counts, strict=True))
    for s, p in law.items():
        assert abs(seen.get(s, 0) - p * draws) <= 5 * np.sqrt(p * (1 - p) * draws) + 1, (s, p)


def subsets(arms, size):
    return itertools.combinations(range(arms), size)


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 5, 13]))
@settings(deadline=None, max_examples=20)
def test_rounding_always_chooses_exactly_as_many(number, arms):
    rng = np.random.default_rng(number)
    plays = int(rng.integers(1, arms + 1))
    y = np.stack([random_marginals(rng, arms, plays) for _ in range(RUNS)], axis=1)
    u = rng.random((uniforms_needed(arms), RUNS), np.float32)
    u[:, 0], u[:, 1] = 0.0, 1 - 2.0**-24  # the ends of the interval
    chosen = np.asarray(_rounding(jnp.asarray(y, jnp.float32), jnp.asarray(u)))
    np.testing.assert_array_equal(chosen.sum(axis=0), plays)
    assert np.all(chosen[y == 1])
    assert not np.any(chosen[y == 0])


@pytest.mark.parametrize("arms", [2, 5, 8, 32])
def test_rounding_pair_by_pair_is_rounding_level_by_level(arms):
    rng = np.random.default_rng(arms)
    y = np.stack([random_marginals(rng, arms, 1 + i % arms) for i in range(RUNS)], axis=1)
    args = jnp.asarray(y, jnp.float32), jnp.asarray(rng.random((uniforms_needed(arms), RUNS), np.float32))
    levels = jitted(_level_by_level)(*args)
    np.testing.assert_array_equal(_rounding(*args), levels)
    assert np.all(np.asarray(levels).sum(axis=0) == 1 + np.arange(RUNS) % arms)


def test_rounding_of_one_arm_and_of_thousands():
    assert dependent_rounding(jnp.ones(1), jnp.zeros(0)).tolist() == [True]
    y = jnp.full((5000, 4), 50 / 5000, jnp.float32)
    u = np.random.default_rng(0).random((uniforms_needed(5000), 4), np.float32)
    np.testing.assert_array_equal(_rounding(y, jnp.asarray(u)).sum(axis=0), 50)
