"""What `objective` may be: names, tables, goals, and an error that names the key for every wrong form."""

import tomllib

import numpy as np
import pytest
from small_problem import SMALL, TOML

import jaxbandit as jb
from jaxbandit import tuning
from jaxbandit.core.errors import InputError
from jaxbandit.tuning.command import make_task
from jaxbandit.tuning.goal import Goal, Limit, WeightedSum, make_goal

LIMIT = {"metric": "unfairness", "at_most": 3.0}


def test_the_forms_of_a_goal():
    budget = make_goal({"kind": "budget", "most": 4.0}, SMALL)
    assert budget == Goal(tuning.MetricObjective(metric="regret"), (Limit("unfairness", 4.0),))
    assert make_goal(tuning.Budget(metric="penalized_regret", limited="regret", most=1.0), SMALL) == Goal(
        tuning.MetricObjective(metric="penalized_regret"), (Limit("regret", 1.0),)
    )
    table = {"minimize": {"regret": 1.0}, "subject_to": [LIMIT, {"metric": "regret", "at_least": 1}], "over": "worst"}
    made = make_goal(table, SMALL)
    assert made.objective == tuning.MetricObjective(metric="regret")
    assert made.limits == (Limit("unfairness", 3.0), Limit("regret", 1.0, at_most=False))
    assert (made.over, made.metrics) == ("worst", ["regret", "unfairness"])
    assert make_goal(made, SMALL) == made
    assert make_goal({"minimize": "regret", "subject_to": LIMIT}, SMALL) == Goal(
        tuning.MetricObjective(metric="regret"), (Limit("unfairness", 3.0),)
    )
    assert make_goal("regret", SMALL) == Goal(tuning.MetricObjective(metric="regret"))
    assert make_goal({"kind": "reward"}, SMALL) == Goal(tuning.Reward())


def test_numbers_of_numpy_stand_for_numbers():
    made = make_goal(
        {"minimize": {"regret": np.float32(0.5)}, "subject_to": [{"metric": "unfairness", "at_most": np.int64(3)}]},
        SMALL,
    )
    assert str(made.limits[0]) == "unfairness <= 3"
    assert made.objective.weights == (("regret", 0.5),)


def test_signs():
    """A negative weight maximises; `minimize` never maximises a gain; names as objectives do."""
    utility = jb.Problem([0.9, 0.5], penalties=0.1, opportunity="uniform")
    assert make_goal("utility", utility).sign == -1
    assert make_goal({"minimize": "utility"}, utility).sign == 1
    assert make_goal({"minimize": {"utility": -1.0}}, utility).sign == 1
    assert make_goal("reward", SMALL).sign == -1


def test_limits_and_sums_in_words():
    assert str(Limit("penalized_regret", 2.5)) == "penalized regret <= 2.5"
    assert str(Limit("regret", 2.0, at_most=False)) == "regret >= 2"
    assert WeightedSum(weights={"regret": 1.0, "unfairness": -0.5}).label == "regret - 0.5 unfairness"
    np.testing.assert_array_equal(Limit("regret", 2.0).excess(np.array([1.0, 3.0])), [-1.0, 1.0])
    np.testing.assert_array_equal(Limit("regret", 2.0, at_most=False).excess(np.array([1.0, 3.0])), [1.0, -1.0])
    for limit in (Limit("regret", 2.0), Limit("regret", 2.0, at_most=False)):
        assert limit.mean(limit.excess(np.array(7.0))) == 7.0


def with_limit(**changes):
    return {"minimize": "regret", "subject_to": [{**LIMIT, **changes}]}


WRONG = {
    "a number": (3, "objective = 3: must be the name of a metric or of an objective, or a table"),
    "no metric": ("fame", "objective.kind = 'fame': must be one of awake_regret, budget, "),
    "an unknown key": (
        {"minimize": "regret", "subject": []},
        "unknown key objective.subject (did you mean 'subject_to'?)",
    ),
    "both forms": (
        {"minimize": "regret", "kind": "budget"},
        "unknown key objective.kind; valid keys: minimize, over, ",
    ),
    "nothing to minimize": (
        {"minimize": {}},
        "objective.minimize = {}: must be the name of a metric, or a table of weights",
    ),
    "a number to minimize": ({"minimize": 2.0}, "objective.minimize = 2.0: must be the name of a metric, or a table"),
    "a list to minimize": ({"minimize": ["regret"]}, "objective.minimize = ['regret']: must be the name of a metric"),
    "no metric to minimize": ({"minimize": "regert"}, "objective.minimize = 'regert': must be one of awake_regret, "),
    "no metric in a sum": (
        {"minimize": {"regert": 1.0}},
        "objective.minimize = 'regert': must be one of awake_regret, ",
    ),
    "a weight in words": (
        {"minimize": {"regret": "one"}},
        "objective.minimize.regret = 'one': must be a finite number",
    ),
    "a weight of several": (
        {"minimize": {"regret": [1, 2]}},
        "objective.minimize.regret = [1, 2]: must be a finite number",
    ),
    "a weight not finite": ({"minimize": {"regret": float("inf")}}, "objective.minimize.regret = inf: must be "),
    "a weight true": ({"minimize": {"regret": True}}, "objective.minimize.regret = True: must be a finite number"),
    "over all": ({"minimize": "regret", "over": "all"}, "objective.over = 'all': must be one of mean, worst"),
    "over a list": ({"minimize": "regret", "over": ["mean"]}, "objective.over = ['mean']: must be one of mean, worst"),
    "limits in words": (
        {"minimize": "regret", "subject_to": "unfairness"},
        "objective.subject_to = 'unfairness': must be a list of tables",
    ),
    "a number of limits": (
        {"minimize": "regret", "subject_to": 3},
        "objective.subject_to = 3: must be a list of tables",
    ),
    "a name as a limit": (
        {"minimize": "regret", "subject_to": ["unfairness"]},
        "objective.subject_to[0] = 'unfairness': must be a table",
    ),
    "the second limit": (
        {"minimize": "regret", "subject_to": [LIMIT, {"metric": "fame", "at_most": 1}]},
        "objective.subject_to[1].metric = 'fame': must be one of ",
    ),
    "no metric in a limit": (
        {"minimize": "regret", "subject_to": [{"at_most": 1}]},
        "objective.subject_to[0].metric is missing: must be one of",
    ),
    "a list as a metric": (
        with_limit(metric=["regret"]),
        "objective.subject_to[0].metric = ['regret']: must be one of",
    ),
    "no bound": (
        {"minimize": "regret", "subject_to": [{"metric": "regret"}]},
        "objective.subject_to[0] = {'metric': 'regret'}: must be a table with `metric` and one of",
    ),
    "two bounds": (with_limit(at_least=1.0), "objective.subject_to[0] = "),
    "a bound in words": (with_limit(at_most="few"), "objective.subject_to[0].at_most = 'few': must be a finite number"),
    "a bound that is missing": (
        with_limit(at_most=None),
        "objective.subject_to[0].at_most is missing: must be a finite",
    ),
    "a bound not finite": (
        with_limit(at_most=float("nan")),
        "objective.subject_to[0].at_most = nan: must be a finite number",
    ),
    "an unknown key of a limit": (
        with_limit(at_mots=1),
        "unknown key objective.subject_to[0].at_mots (did you mean 'at_most'?)",
    ),
    "a metric without its keys": ("utility", "objective = 'utility': must be one of "),
    "a limit without its keys": (
        {"minimize": "regret", "subject_to": [{"metric": "fairness_regret", "at_most": 1}]},
        "objective = 'fairness_regret': must be one of ",
    ),
    "a budget on no metric": ({"kind": "budget", "limited": "fame"}, "objective.limited = 'fame': must be one of "),
    "a budget that is missing": ({"kind": "budget", "mots": 1.0}, "unknown key objective.mots (did you mean 'most'?)"),
    "a budget in words": ({"kind": "budget", "most": "few"}, "objective.most = 'few': must be a finite number"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_goal_is_refused_with_its_key(case):
    given, message = WRONG[case]
    with pytest.raises(InputError) as caught:
        tuning.tune(SMALL, "hard-threshold-ucb", ["penalties"], objective=given, horizon=10)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_goal_of_a_config_is_refused_with_its_key(case, tmp_path):
    given, message = WRONG[case]
    config = tomllib.loads(TOML)
    task = make_task({**config, "tuning": {**config["tuning"], "objective": given}})
    with pytest.raises(InputError) as caught:
        task.run(tmp_path)
    where = message.replace("objective", "tuning.objective", 1)  # the first is the key
    assert str(caught.value).startswith(where)
    assert not list(tmp_path.iterdir())


GOALS = {
    "no objective": (lambda: Goal("regret"), "objective.objective = 'regret': must be an `Objective` other than"),
    "no limits": (
        lambda: Goal(tuning.Reward(), ("unfairness",)),
        "objective.limits[0] = 'unfairness': must be a `Limit`",
    ),
    "no metric": (
        lambda: Goal(tuning.Reward(), (Limit("fame", 1.0),)),
        "objective.limits[0].metric = 'fame': must be one of",
    ),
    "no bound": (
        lambda: Goal(tuning.Reward(), (Limit("regret", "few"),)),
        "objective.limits[0].bound = 'few': must be a finite number",
    ),
    "over all": (lambda: Goal(tuning.Reward(), (), "all"), "objective.over = 'all': must be one of mean, worst"),
    "a budget": (lambda: Goal(tuning.Budget()), "objective.objective = Budget("),
}


@pytest.mark.parametrize("case", GOALS)
def test_a_wrong_goal_object_is_refused(case):
    make, message = GOALS[case]
    with pytest.raises(InputError) as caught:
        tuning.tune(SMALL, "hard-threshold-ucb", ["penalties"], objective=make(), horizon=10)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("estimator", ["relaxed", "score"])
def test_the_worst_instance_needs_the_policy_itself(estimator):
    with pytest.raises(InputError, match=r"^objective\.over = 'worst': must be 'mean' with the estimator '"):
        tuning.tune(
            SMALL, "hard-threshold-ucb", ["penalties"],
            objective={"minimize": "regret", "over": "worst"}, horizon=10, estimator=estimator,
        )  # fmt: skip
