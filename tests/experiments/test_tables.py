"""Tables of grids, differences and the best policy, against plain NumPy."""

import itertools
import warnings

import numpy as np
import pytest
from made_up import T, crowd, grids_beside_ucb1, lfg, runs, unranked, without
from scipy import stats

import jaxbandit as jb
from jaxbandit.experiments import grids as tables
from jaxbandit.experiments import statistics, summary
from jaxbandit.experiments.grids import range_ends, ranking
from jaxbandit.metrics.definitions import METRICS


@pytest.fixture(scope="module")
def results():
    return grids_beside_ucb1()


# The table


def test_parameters_varying_parameters_and_families(results):
    both = ["policies.eta", "policies.exploration"]
    assert tables.parameters(results) == both
    assert tables.parameters(results.drop_vars(both)) == []
    assert tables.varying(results) == {"lfg": both, "short": ["policies.eta"]}
    assert tables.families(results) == ["lfg", "ucb1", "short"]


def test_a_round_that_is_not_recorded_names_the_nearest_ones(results):
    rounds = results["round"].values
    at = next(int(r) + 1 for r in rounds[3:] if r + 1 not in rounds)
    nearest = sorted(sorted(rounds.tolist(), key=lambda r: abs(r - at))[:4])
    words = ", ".join(map(str, dict.fromkeys([*nearest, T])))
    with pytest.raises(jb.InputError, match=f"the nearest ones and the last are {words}$"):
        tables.table(results, at=at)


@pytest.mark.parametrize("at", [None, 1, T])
def test_the_table_has_a_row_for_each_policy_and_instance(results, at):
    table = tables.table(results, at=at)
    recorded = [name for name in METRICS if name in results]
    both = [column for name in recorded for column in (name, f"{name}_stderr")]
    about = ["policy", "family", "kind", "policies.eta", "policies.exploration", "instance", "round"]
    assert table.columns.tolist() == about + both
    assert len(table) == 9 * 2
    assert set(table["round"]) == {T if at is None else at}
    for label, instance in itertools.product(results.policy.values, range(2)):
        row = table[(table.policy == label) & (table.instance == instance)].squeeze()
        one = results.sel(policy=label, instance=instance, round=row["round"])
        assert (row.family, row.kind) == (one.family, one.kind)
        for name in ("policies.eta", "policies.exploration"):
            np.testing.assert_array_equal(row[name], one[name])
        np.testing.assert_array_equal([row[name] for name in both], [one[name].item() for name in both])
    if at != 1:
        ends = [runs(results, row.policy, "r_regret")[row.instance].mean() for row in table.itertuples()]
        np.testing.assert_allclose(table.r_regret, ends, rtol=1e-12, atol=1e-9)


def test_the_table_holds_the_metrics_asked_for(results):
    table = tables.table(results, ["unfairness", "regret"])
    assert table.columns[-4:].tolist() == ["unfairness", "unfairness_stderr", "regret", "regret_stderr"]


def test_unknown_names_and_rounds_are_refused(results):
    with pytest.raises(jb.InputError, match=r"metrics = 'utility'.*one of .*r_regret"):
        tables.table(results, ["utility"])
    with pytest.raises(jb.InputError, match=r"at = 119: must be one of the \d+ recorded rounds.* 120$"):
        tables.table(results, at=119)
    with pytest.raises(jb.InputError, match=r"metric = 'regrets'.*did you mean 'regret'"):
        tables.difference(results, "ucb1", "ucb1", "regrets")
    with pytest.raises(jb.InputError, match=r"second = 'ucb2'.*did you mean 'ucb1'"):
        tables.difference(results, "ucb1", "ucb2", "regret")
    with pytest.raises(jb.InputError, match=r"first = 'lf': .* 61 labels, such as 'lfg .*\(0\)'"):
        tables.difference(crowd(results, {lfg(1, 0.5): 60, "ucb1": 1}), "lf", "ucb1", "regret")
    with pytest.raises(jb.InputError, match=r"family = 'LFG'"):
        tables.best(results, "regret", "LFG")


# Differences and the best


def test_a_difference_of_a_metric_whose_class_is_not_defined_here(results):
    names = {f"regret{end}": f"own_metric{end}" for end in ("", "_stderr", "_final")}
    made = tables.difference(results.rename(names), lfg(100, 2), "ucb1", "own_metric")
    assert str(made).startswith("own_metric, lfg (eta=100, exploration=2) minus ucb1: ")


@pytest.mark.parametrize("degrees", [1, 2, 7, 39, 40, 41, 199, 10**6])
def test_quantiles_of_students_t(degrees):
    assert statistics.t_quantile_of(1, degrees + 1) == pytest.approx(stats.t.ppf(0.975, degrees), abs=1e-8)
    assert statistics.t_quantile_of(degrees, 2) == statistics.t_quantile_of(1, degrees + 1)


def test_intervals_of_few_runs_are_wider():
    """Student's t for two runs: 12.7 standard errors instead of 1.96."""
    two = jb.simulate(jb.Problem([0.9, 0.5]), ["ucb1", "moss"], horizon=40, record=2, seeds=2)
    made = jb.grids.difference(two, "ucb1", "moss", "regret")
    assert made.high - made.mean == pytest.approx(12.706 * made.stderr, rel=1e-4)
    row = jb.summary.table(two).splitlines()[2].split()
    assert float(row[3]) == pytest.approx(12.706 * two.regret_stderr.sel(policy="ucb1")[0, -1].item(), rel=0.06)


def test_a_difference_is_taken_run_by_run(results):
    made = tables.difference(results, lfg(100, 2), "ucb1", "penalized_regret")
    difference = runs(results, lfg(100, 2), "penalized_regret") - runs(results, "ucb1", "penalized_regret")
    error = np.sqrt(sum(row.var(ddof=1) / 20 for row in difference)) / 2
    assert made.mean == pytest.approx(difference.mean())
    assert made.stderr == pytest.approx(error)
    half = stats.t.ppf(0.975, 2 * 19) * error
    assert (made.low, made.high) == pytest.approx((difference.mean() - half, difference.mean() + half))
    words = "penalized regret (reward), lfg (eta=100, exploration=2) minus ucb1: "
    number = statistics.with_error(made.mean, half)
    assert str(made) == f"{words}{number} (95 % confidence, 2 instances × 20 runs)"
    assert repr(made) == f"Difference({made})"


def test_the_difference_from_itself_is_zero(results):
    made = tables.difference(results, "ucb1", "ucb1", "regret")
    assert (made.mean, made.low, made.high) == (0, 0, 0)


def test_one_seed_has_no_error(results):
    made = tables.difference(results.isel(seed=[0]), lfg(1, 0.5), "ucb1", "regret")
    assert np.isnan(made.stderr)
    assert str(made).endswith(" (2 instances × 1 run)")


def test_best_is_the_smallest_loss_or_the_largest_utility(results):
    labels, means = results.policy.values, results.r_regret_final.mean(("instance", "seed")).values
    inside = results.family.values == "short"
    assert tables.best(results, "r_regret") == labels[np.argmin(means)]
    assert tables.best(results, "r_regret", "short") == labels[inside][np.argmin(means[inside])]
    gain = results.assign(utility=results.r_regret, utility_final=results.r_regret_final)
    assert tables.best(gain, "utility") == labels[np.argmax(means)]


@pytest.mark.parametrize(
    ("more", "metric"),
    [({}, "regret"), ({"fractions": 0.1}, "r_regret"), ({"fractions": 0.1, "penalties": 0.5}, "penalized_regret")],
)
def test_the_ranking_metric_is_the_one_that_needs_most_of_the_problem(results, more, metric):
    absent = {"r_regret", "c_regret", "unfairness", "max_deficit"} if not more else set()
    absent |= {"penalized_regret"} if "penalties" not in more else set()
    assert ranking.ranking_metric(without(results, absent)) == metric
    assert ranking.ranking_metric(unranked(results)) is None


@pytest.mark.slow
@pytest.mark.parametrize("of", ["best", "set"])
def test_instances_are_compared_by_themselves(of):
    problem = {"means": [[0.9, 0.5, 0.1], [0.3, 0.4, 0.5]], "fractions": 0.1, "penalties": 0.3}
    policies = ["ucb1", {"kind": "lfg", "eta": [1.0, 100.0]}]
    grid = {"problem": {"penalties": [0.1, 0.6]}}
    results = jb.simulate(problem, policies, grid=grid, horizon=60, seeds=10, ties="random")
    compare = jb.grids.best if of == "best" else jb.grids.confidence_set
    found = compare(results, "penalized_regret", per=["problem.penalties", "instance"])
    assert found.columns[:4].tolist() == ["problem.penalties", "instance", "policy", "policies.eta"]
    parts = [
        compare(results.sel(instance=[instance]), "penalized_regret", per=["problem.penalties"]) for instance in (0, 1)
    ]
    for (instance, rate), rows in found.groupby(["instance", "problem.penalties"]):
        alone = parts[instance][parts[instance]["problem.penalties"] == rate]
        assert rows.policy.tolist() == alone.policy.tolist()
        assert rows.penalized_regret.tolist() == alone.penalized_regret.tolist()
    one_problem = results.sel(policy=results["problem.penalties"] == 0.1)
    assert compare(one_problem, "penalized_regret", per=["instance"]).instance.drop_duplicates().tolist() == [0, 1]
    with pytest.raises(jb.InputError, match=r"per=\['problem.penalties'\] for each problem"):
        compare(results, "penalized_regret", per=["instance"])
    with pytest.raises(jb.InputError, match=r"^per = 'instances': .*did you mean 'instance'"):
        compare(results, "penalized_regret", per=["instances"])


# Ends of ranges


@pytest.fixture(scope="module")
def ranged():
    """A grid over two parameters of lfg, and two values of one of ucb1; `with_scores` sets the regrets."""
    problem = jb.Problem([0.9, 0.5], fractions=0.1)
    table = {"kind": "lfg", "eta": [1.0, 2.0, 5.0, 9.0], "exploration": [0.0, 0.5, 1.0]}
    policies = [table, {"kind": "ucb1", "exploration": [1.0, 2.0]}]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the order of the arms
        return jb.simulate(problem, policies, horizon=9, seeds=20, metrics=["regret"], record=2)


def with_scores(ranged, scores):
    """The results with runs of `regret` at T around some scores, one per policy."""
    noise = np.random.default_rng(0).normal(size=(1, 1, 20))
    runs = np.array(scores)[:, None, None] + noise + np.random.default_rng(1).normal(0, 0.01, (len(scores), 1, 20))
    results = ranged.copy(deep=True)
    results.regret_final[:] = runs
    results.regret[:, :, -1] = runs.mean(axis=2)
    return results


def ends_of(results):
    return range_ends.notes_on_families(results, "regret")


@pytest.mark.slow
def test_the_best_at_an_end_of_a_range_is_said(ranged):
    eta, exploration = (ranged[f"policies.{name}"].values[:12] for name in ("eta", "exploration"))
    results = with_scores(ranged, [*(-eta + (exploration - 0.5) ** 2), 3.0, 1.0])
    words = "lfg: by regret the best eta is the largest of the grid (9); larger values may be better"
    assert ends_of(results) == [words]  # two values of ucb1 are no range, 0.5 is inside
    assert summary.table(results).splitlines()[-1] == words
    with pytest.warns(UserWarning, match="the best eta is") as given:
        assert tables.best(results, "regret", family="lfg") == "lfg (eta=9, exploration=0.5)"
    assert [str(warning.message) for warning in given] == [words]


@pytest.mark.slow
def test_an_end_is_not_said_where_nothing_lies_beyond_or_nothing_is_gained(ranged):
    eta, exploration = (ranged[f"policies.{name}"].values[:12] for name in ("eta", "exploration"))
    inside = with_scores(ranged, [*((eta - 5) ** 2 + exploration), 3.0, 1.0])  # an exploration below 0 does not exist
    assert ends_of(inside) == []
    flat = with_scores(ranged, [*(-1e-4 * eta + (exploration - 0.5) ** 2), 3.0, 1.0])
    assert ends_of(flat) == []
    smallest = with_scores(ranged, [*(eta + (exploration - 0.5) ** 2), 3.0, 1.0])
    assert ends_of(smallest) == [
        "lfg: by regret the best eta is the smallest of the grid (1); smaller values may be better"
    ]
    without_next = smallest.isel(policy=~((smallest["policies.eta"] == 2) & (smallest["policies.exploration"] == 0.5)))
    assert ends_of(without_next) == []  # no policy differs in the next value alone
