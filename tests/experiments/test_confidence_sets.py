"""The best per problem, confidence sets for the best and pooled tables, against plain NumPy; coverage by simulation."""

import warnings

import numpy as np
import pytest
from made_up import MEANS, grid, made_up
from scipy import stats
from sweeps import FULL

import jaxbandit as jb
from jaxbandit.experiments import summary
from jaxbandit.experiments.grids import ranking
from jaxbandit.experiments.grids.confidence_sets import _set_of_best

LFG = "lfg (eta={eta}, problem.penalties={penalties})"
ETAS, RATES = [1.0, 10.0, 100.0], [0.1, 0.3]


@pytest.fixture(scope="module")
def problems():
    """A grid over a policy's eta and the problem's penalty rates, on two instances."""
    points = grid("lfg", eta=ETAS, penalties=RATES)
    for one in points:
        one["point"]["problem.penalties"] = one["point"].pop("policies.penalties")
    return made_up(points, means=[MEANS, MEANS[::-1]], seeds=8)


def final(results, metric):
    return results[f"{metric}_final"].transpose("policy", "instance", "seed").values


# The best


def test_the_best_of_each_problem(problems):
    found = jb.grids.best(problems, "regret", per=["problem.penalties"])
    assert found.columns.tolist() == ["problem.penalties", "policy", "policies.eta", "regret", "regret_stderr"]
    assert found["problem.penalties"].tolist() == RATES
    runs, labels = final(problems, "regret"), problems.policy.values
    for row in found.itertuples():
        inside = np.flatnonzero(problems["problem.penalties"].values == row[1])
        first = inside[np.argmin(runs[inside].mean(axis=(1, 2)))]
        assert row.policy == labels[first]
        np.testing.assert_array_equal(row[3], problems["policies.eta"].values[first])
        error = np.sqrt(sum(runs[first, j].var(ddof=1) / 8 for j in range(2))) / 2
        np.testing.assert_allclose([row.regret, row.regret_stderr], [runs[first].mean(), error], rtol=1e-12)


def test_problems_are_never_compared_unasked(problems):
    for call in (jb.grids.best, jb.grids.confidence_set):
        with pytest.raises(jb.InputError, match=r"per is missing: must be given, as per=\['problem.penalties'\]"):
            call(problems, "regret")
        with pytest.raises(jb.InputError, match=r"per = \['policies.eta'\]: must name problem.penalties, too"):
            call(problems, "regret", per=["policies.eta"])
        with pytest.raises(jb.InputError, match=r"did you mean 'problem\.penalties'"):
            call(problems, "regret", per=["penalties"])
        with pytest.raises(jb.InputError, match="a parameter or a list of parameters"):
            call(problems, "regret", per=3)
        by_name, by_list = (call(problems, "regret", per=per) for per in ("problem.penalties", ["problem.penalties"]))
        assert by_name.equals(by_list)
    one = problems.isel(policy=problems["problem.penalties"].values == 0.1)
    assert jb.grids.best(one, "regret") == jb.grids.best(problems, "regret", per=["problem.penalties"]).policy[0]
    every = jb.grids.best(problems, "regret", per=[])
    assert every.policy.tolist() == [problems.policy.values[final(problems, "regret").mean(axis=(1, 2)).argmin()]]


def test_policies_are_ranked_within_their_problem(problems):
    """An easy problem, whose policies all have less regret, does not push the others down."""
    easy = problems["problem.penalties"].values == 0.3
    shift = np.where(easy, 0.0, 1e6)[:, None, None]
    apart = problems.assign(regret=problems.regret + shift)
    order = ranking.ranked_within_problems(apart, "regret", np.arange(6))
    means = apart.regret.values[:, :, -1].mean(axis=1)
    for place in range(3):  # the best of both problems, then the second of both, ...
        pair = order[2 * place : 2 * place + 2]
        assert sorted(easy[pair].tolist()) == [False, True]
        for one in pair:
            assert (means[easy == easy[one]] < means[one]).sum() == place
    assert "regret" in summary.table(apart)


def test_problems_that_no_coordinate_tells_apart_are_refused(problems):
    apart = problems.drop_vars("problem.penalties")
    apart["penalties"] = (
        ("policy", "instance", "arm"),
        np.broadcast_to(np.arange(6.0)[:, None, None], (6, 2, 4)).copy(),
    )
    with pytest.raises(jb.InputError, match="cannot compare policies whose problems differ in penalties"):
        jb.grids.best(apart, "regret")
    assert len(jb.grids.best(apart, "regret", per=[])) == 1


def test_missing_values_stay_missing():
    points = grid("lfg", eta=ETAS)
    both = made_up(["ucb1", *points], seeds=4)
    found = jb.grids.best(both, "regret", per=["policies.eta"])
    assert found["policies.eta"].dtype == float
    assert np.isnan(found["policies.eta"][0])
    assert found["policies.eta"].tolist()[1:] == ETAS


# Pooled tables


@pytest.mark.parametrize("at", [None, 1])
def test_the_pooled_table_is_the_mean_over_instances(problems, at):
    table = jb.grids.pooled_table(problems, ["regret", "unfairness"], at=at)
    assert table.columns.tolist() == [
        *("policy", "family", "kind", "policies.eta", "problem.penalties", "instances", "round"),
        *("regret", "regret_stderr", "unfairness", "unfairness_stderr"),
    ]
    at_round = problems.isel(round=-1) if at is None else problems.sel(round=at)
    for name in ("regret", "unfairness"):
        np.testing.assert_allclose(table[name], at_round[name].values.mean(axis=1), rtol=1e-12)
        error = np.sqrt((at_round[f"{name}_stderr"].values ** 2).sum(axis=1)) / 2
        np.testing.assert_allclose(table[f"{name}_stderr"], error, rtol=1e-12)
    assert set(table["instances"]) == {2}


# Confidence sets


def losses(draw, count, behind, runs=40):
    """Runs of policies that are behind the first by so many standard errors of the difference of two."""
    noise = draw.standard_normal((count, 1, runs))
    noise[1:] += behind * np.sqrt(2 / runs)
    return noise


def test_the_table_of_a_set(problems):
    table = jb.grids.confidence_set(problems, "regret", per=["problem.penalties"])
    assert table.columns.tolist() == [
        *("problem.penalties", "policy", "policies.eta", "regret", "regret_stderr", "difference", "low", "high")
    ]
    bests = jb.grids.best(problems, "regret", per=["problem.penalties"])
    for rate, group in table.groupby("problem.penalties"):
        assert group.policy.iloc[0] == bests[bests["problem.penalties"] == rate].policy.iloc[0]
        assert (group.difference.iloc[0], group.low.iloc[0], group.high.iloc[0]) == (0, 0, 0)
        runs = dict(zip(problems.policy.values, final(problems, "regret"), strict=True))
        for row in group.itertuples():
            apart = runs[row.policy] - runs[group.policy.iloc[0]]
            error = np.sqrt((apart.var(axis=1, ddof=1) / 8).sum()) / 2
            np.testing.assert_allclose(row.difference, apart.mean(), atol=1e-12)
            np.testing.assert_allclose(row.high - row.low, 2 * stats.t.ppf(0.975, 2 * 7) * error, atol=1e-12)


def test_two_policies_are_compared_by_their_differences():
    """With two policies the test is about Student's t of the paired differences, whatever the runs share."""
    draw = np.random.default_rng(1)
    shared = 100 * draw.standard_normal((1, 1, 50))
    apart = draw.standard_normal((1, 1, 50))
    apart -= apart.mean()
    error = apart.std(ddof=1) / np.sqrt(50)
    for ratio, kept in ((1.0, 2), (3.5, 1)):
        runs = np.concatenate([shared, shared + apart + ratio * error])
        assert len(_set_of_best(runs, 0.05)) == kept
        assert len(_set_of_best(runs[::-1], 0.05)) == kept


def test_equal_runs_stay_together_and_constant_differences_decide():
    runs = np.random.default_rng(2).standard_normal((1, 2, 6))
    equal = np.concatenate([runs, runs, runs + 1e-9])
    assert sorted(_set_of_best(equal, 0.05)) == [0, 1]
    assert _set_of_best(np.zeros((4, 1, 3)), 0.05).tolist() == [0, 1, 2, 3]


def test_skewed_differences_are_warned_about():
    """Where one run in thirty decides, 40 seeds are too few: the warning says about how many are needed."""
    draw = np.random.default_rng(3)
    rare = draw.standard_normal((2, 1, 40))
    rare[1, 0, 0] += 40.0
    with pytest.warns(UserWarning, match="too skewed for 40 seeds.*simulate about .* seeds or more"):
        _set_of_best(rare, 0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seeds in (2, 3, 5, 10, 40):  # chance alone makes few runs look skewed
            _set_of_best(draw.standard_normal((5, 1, seeds)), 0.05)


def test_larger_is_better_for_gains(problems):
    gain = problems.assign(
        utility=problems.regret, utility_final=problems.regret_final, utility_stderr=problems.regret_stderr
    )
    table = jb.grids.confidence_set(gain, "utility", per=["problem.penalties"])
    runs = final(problems, "regret").mean(axis=(1, 2))
    inside = problems["problem.penalties"].values == 0.1
    assert table.policy[0] == problems.policy.values[inside][runs[inside].argmax()]
    assert (table.difference >= 0).all()


def test_what_is_refused(problems):
    one = problems.isel(policy=[0, 2])
    with pytest.raises(jb.InputError, match=r"results\.seed = 1: must be at least 2 seeds"):
        jb.grids.confidence_set(one.isel(seed=[0]).assign_attrs(seeds=1), "regret")
    for level in (0.4, 1, True, "0.9"):
        with pytest.raises(jb.InputError, match="level"):
            jb.grids.confidence_set(one, "regret", level=level)
    with pytest.raises(jb.InputError, match="metric"):
        jb.grids.confidence_set(one, "regrets")


@pytest.mark.parametrize(
    ("count", "behind", "repetitions"),
    [
        pytest.param(2, 0.0, 1000, marks=FULL),
        (3, 0.0, 1000),
        pytest.param(30, 0.0, 1000, marks=pytest.mark.slow),
        pytest.param(300, 0.0, 1000, marks=FULL),
        pytest.param(30, 2.0, 500, marks=pytest.mark.slow),
    ],
)
def test_the_best_is_in_the_set(count, behind, repetitions):
    """In at least 95 % of the repetitions less 2 standard errors: a false alarm in 2.3 %, if it is exactly 95 %."""
    draw = np.random.default_rng(count)
    held = sum(0 in _set_of_best(losses(draw, count, behind), 0.05) for _ in range(repetitions))
    assert held / repetitions >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / repetitions)


@pytest.mark.parametrize(("count", "repetitions"), [(3, 300), pytest.param(30, 1000, marks=pytest.mark.slow)])
def test_a_leader_by_five_standard_errors_stands_almost_alone(count, repetitions):
    """On average at most 1.1 policies. Among 300, even a test that knows the leader would keep 1.13."""
    draw = np.random.default_rng(count)
    sizes = [len(_set_of_best(losses(draw, count, 5.0), 0.05)) for _ in range(repetitions)]
    assert np.mean(sizes) <= 1.1


@pytest.mark.parametrize("runs", ["one", "all"])
def test_a_policy_without_a_mean_is_refused(runs):
    """And not left out without a word."""
    results = jb.simulate(jb.Problem([0.9, 0.5]), ["ucb1", "moss"], horizon=40, record=2, seeds=5).copy(deep=True)
    place = {"policy": "moss"} if runs == "all" else {"policy": "moss", "seed": 3}
    results["regret_final"].loc[place] = np.nan
    for reader in (jb.grids.confidence_set, jb.grids.best):
        with pytest.raises(jb.InputError, match=r"NaN at T for policy 'moss'"):
            reader(results, "regret")
