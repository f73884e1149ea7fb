"""Bad configs: each error names the key at fault, its value and the rule."""

import re

import numpy as np
import pytest
from error_lines import assert_line
from small_config import DROP, TWO_INSTANCES, changed, make_plan

import jaxbandit as jb
from jaxbandit.experiments.configs import config

NAN, INF = float("nan"), float("inf")
ANYTHING = object()  # any value may be shown


def one(**table):
    """Changes to a config with one policy."""
    return {"policies": [table]}


def instances(**more):
    return {"problem.means": TWO_INSTANCES, **{f"problem.{name}": value for name, value in more.items()}}


def random_means(**table):
    return {"problem.means": {"random": "uniform", "arms": 3, **table}}


COUNT = "a whole number >= 1"
PER_ARM = "a number or 3 numbers, one per arm"
PER_ROW = "a number or 3 numbers, one per arm, or 2 rows of 3 numbers, one row per instance"
MEANS = "K numbers, rows of K numbers (one row per instance, not per round), a table { random = "
SCALED = "a number, or { scale = s, horizon_power = p } for s T^p"

# The changes, the key at fault, what it holds, and a piece of what it may hold.
BAD = [
    # sections and keys
    (
        {"problems": {}},
        "problems",
        {},
        "(did you mean 'problem'?); valid keys: grid, policies, problem, simulation, tuning",
    ),
    ({"simulation": DROP}, "simulation", None, "a table [simulation]"),
    ({"simulation": 3}, "simulation", 3, "a table [simulation]"),
    ({"problem": DROP}, "problem", None, "a table [problem]"),
    ({"problem": [1]}, "problem", [1], "a table [problem]"),
    ({"simulation.horizn": 3}, "simulation.horizn", 3, "(did you mean 'horizon'?)"),
    ({"problem.mean": [0.5]}, "problem.mean", [0.5], "(did you mean 'means'?)"),
    (
        {"problem.tau": 0.5},
        "problem.tau",
        0.5,
        "(did you mean 'fractions'?); valid keys: availability, delay, fractions, group_fractions, ",
    ),
    # [simulation]
    ({"simulation.horizon": DROP}, "simulation.horizon", None, COUNT),
    ({"simulation.seeds": DROP}, "simulation.seeds", None, COUNT),
    ({"simulation.horizon": 0}, "simulation.horizon", 0, COUNT),
    ({"simulation.horizon": -5}, "simulation.horizon", -5, COUNT),
    ({"simulation.horizon": 1e4 + 0.5}, "simulation.horizon", 1e4 + 0.5, COUNT),
    ({"simulation.horizon": True}, "simulation.horizon", True, COUNT),
    ({"simulation.horizon": "400"}, "simulation.horizon", "400", COUNT),
    ({"simulation.horizon": 2**24 + 1}, "simulation.horizon", 2**24 + 1, "at most 16777216 rounds; enable float64"),
    ({"simulation.seeds": 0}, "simulation.seeds", 0, COUNT),
    ({"simulation.seeds": [3]}, "simulation.seeds", [3], COUNT),
    ({"simulation.seeds": 2**23 + 1}, "simulation.seeds", 2**23 + 1, "at most 8388608"),
    ({"simulation.block": 0}, "simulation.block", 0, COUNT),
    ({"simulation.block": 2.5}, "simulation.block", 2.5, COUNT),
    ({"simulation.record": 0}, "simulation.record", 0, COUNT),
    ({"simulation.record": "every"}, "simulation.record", "every", '"all"'),
    ({"simulation.record": True}, "simulation.record", True, COUNT),
    ({"simulation.record": [0, 5]}, "simulation.record", [0, 5], "a list of rounds from 1 to 400"),
    ({"simulation.record": [5, 401]}, "simulation.record", [5, 401], "a list of rounds from 1 to 400"),
    ({"simulation.key": -1}, "simulation.key", -1, "an integer from 0 to 2^64 - 1"),
    ({"simulation.key": 2**64}, "simulation.key", 2**64, "an integer from 0 to 2^64 - 1"),
    ({"simulation.key": 0.5}, "simulation.key", 0.5, "an integer from 0 to 2^64 - 1"),
    ({"simulation.key": True}, "simulation.key", True, "an integer from 0 to 2^64 - 1"),
    ({"simulation.metrics": "regret"}, "simulation.metrics", "regret", 'a list of names, such as ["regret"]'),
    ({"simulation.metrics": [1]}, "simulation.metrics", [1], "a list of names"),
    ({"simulation.metrics": ["regret", "regrets"]}, "simulation.metrics", "regrets", "(did you mean 'regret'?)"),
    (
        {"simulation.metrics": ["unfairness"], "problem.fractions": DROP, **one(kind="ucb1")},
        "simulation.metrics",
        "unfairness",
        "one of regret; unfairness needs problem.fractions",
    ),
    (
        {"simulation.metrics": ["penalized_regret"], "problem.penalties": DROP},
        "simulation.metrics",
        "penalized_regret",
        "one of c_regret, max_deficit, r_regret, regret, unfairness; penalized_regret needs problem.fractions",
    ),
    # means and plays
    ({"problem.means": DROP}, "problem.means", None, MEANS),
    ({"problem.means": 0.5}, "problem.means", 0.5, MEANS),
    ({"problem.means": []}, "problem.means", [], MEANS),
    ({"problem.means": "0.5"}, "problem.means", "0.5", MEANS),
    ({"problem.means": True}, "problem.means", True, MEANS),
    ({"problem.means": [0.9, "high", 0.1]}, "problem.means", [0.9, "high", 0.1], MEANS),
    ({"problem.means": ["0.9", "0.5", "0.1"]}, "problem.means", ["0.9", "0.5", "0.1"], MEANS),
    ({"problem.means": [True, False, True]}, "problem.means", [True, False, True], MEANS),
    ({"problem.means": [0.9, INF, 0.1]}, "problem.means", [0.9, INF, 0.1], MEANS),
    ({"problem.means": [[0.9, 0.5], [0.1]]}, "problem.means", [[0.9, 0.5], [0.1]], MEANS),
    ({"problem.means": [[[0.9]]]}, "problem.means", [[[0.9]]], MEANS),
    ({"problem.means": [0.9, 1.5, 0.1]}, "problem.means", ANYTHING, "numbers from 0 to 1 for rewards of kind 'bern"),
    (random_means(random="normal"), "problem.means.random", "normal", "'uniform'"),
    (random_means(arms=0), "problem.means.arms", 0, COUNT),
    (random_means(arms=True), "problem.means.arms", True, COUNT),
    ({"problem.means": {"random": "uniform"}}, "problem.means.arms", None, COUNT),
    (random_means(instances=1.5), "problem.means.instances", 1.5, COUNT),
    (random_means(instance=2), "problem.means.instance", 2, "(did you mean 'instances'?)"),
    (random_means(low=0.5, high=0.2), "problem.means.high", 0.2, "a number >= low = 0.5"),
    (random_means(low="a"), "problem.means.low", "a", "a number"),
    ({"problem.plays": 4}, "problem.plays", 4, "a whole number from 1 to the number of arms, 3"),
    ({"problem.plays": 0}, "problem.plays", 0, "a whole number from 1 to the number of arms, 3"),
    ({"problem.plays": 1.5}, "problem.plays", 1.5, "a whole number from 1 to the number of arms, 3"),
    ({"problem.plays": True}, "problem.plays", True, "a whole number from 1 to the number of arms, 3"),
    ({"problem.plays": 2, **one(kind="naive")}, "problem.plays", 2, "1 with naive"),
    # what fairness asks
    ({"problem.fractions": -0.1}, "problem.fractions", -0.1, "a number from 0 to 1"),
    ({"problem.fractions": [0.1, 0.2, -0.01]}, "problem.fractions", [0.1, 0.2, -0.01], "numbers from 0 to 1"),
    ({"problem.fractions": 1.01, "problem.plays": 3}, "problem.fractions", 1.01, "a number from 0 to 1"),
    ({"problem.fractions": 0.34}, "problem.fractions", 0.34, "must sum to at most plays = 1 (they sum to 1.02)"),
    (
        {"problem.fractions": [0.30000000000000004, 0.3, 0.4]},
        "problem.fractions",
        [0.30000000000000004, 0.3, 0.4],
        "must sum to at most plays = 1 (they sum to 1 + 4e-17)",
    ),
    (
        {"problem.fractions": 0.67, "problem.plays": 2},
        "problem.fractions",
        0.67,
        "must sum to at most plays = 2 (they sum to 2.01)",
    ),
    (
        instances(fractions=[[0.1] * 3, [0.2, 0.2, 0.61]]),
        "problem.fractions",
        [[0.1] * 3, [0.2, 0.2, 0.61]],
        "(they sum to 1.01)",
    ),
    ({"problem.fractions": [0.1, 0.2]}, "problem.fractions", [0.1, 0.2], PER_ARM),
    (instances(fractions=[[0.1] * 3] * 3), "problem.fractions", [[0.1] * 3] * 3, PER_ROW),
    ({"problem.fractions": []}, "problem.fractions", [], PER_ARM),
    ({"problem.fractions": "0.1"}, "problem.fractions", "0.1", "finite numbers"),
    ({"problem.fractions": True}, "problem.fractions", True, "finite numbers"),
    ({"problem.fractions": NAN}, "problem.fractions", NAN, "finite numbers"),
    ({"problem.fractions": [0.1, [0.1], 0.1]}, "problem.fractions", ANYTHING, "finite numbers"),
    (
        {"problem.fractions": DROP},
        "problem.fractions",
        None,
        "must be given (a number or one number per arm); lfg needs it",
    ),
    ({"problem.penalties": -1}, "problem.penalties", -1, "a number >= 0"),
    ({"problem.penalties": NAN}, "problem.penalties", NAN, "a number >= 0"),
    ({"problem.penalties": "high"}, "problem.penalties", "high", "a number >= 0"),
    ({"problem.penalties": ["0.1", "0.2", "0.3"]}, "problem.penalties", ["0.1", "0.2", "0.3"], "numbers >= 0"),
    ({"problem.penalties": [0.1, 0.2]}, "problem.penalties", ANYTHING, PER_ARM),
    ({"problem.penalties": {"gap": 0.5}}, "problem.penalties", {"gap": 0.5}, "or a table { gap_fraction = x }"),
    ({"problem.penalties": {"gap_fraction": -1}}, "problem.penalties.gap_fraction", -1, "a number >= 0"),
    (
        {"problem.penalties": DROP, **one(kind="hard-threshold-ucb")},
        "problem.penalties",
        None,
        "must be given (a number or one number per arm), here or as `penalties` of hard-threshold-ucb, which needs it",
    ),
    (
        {"problem.penalties": DROP, **one(kind="soft-threshold-ucb")},
        "problem.penalties",
        None,
        "`penalties` of soft-threshold-ucb, which needs it",
    ),
    ({"problem.availability": 1.5}, "problem.availability", 1.5, "a number from 0 to 1"),
    ({"problem.availability": True}, "problem.availability", True, "a number from 0 to 1"),
    ({"problem.availability": [0.5, 0.5]}, "problem.availability", ANYTHING, PER_ARM),
    # rewards and delays
    ({"problem.reward": "gausian"}, "problem.reward.kind", "gausian", "(did you mean 'gaussian'?)"),
    ({"problem.reward": 3}, "problem.reward", 3, "a reward (bernoulli, beta, constant, gaussian, uniform)"),
    ({"problem.reward": {"sd": 1.0}}, "problem.reward", {"sd": 1.0}, 'or a table { kind = "...", ... }'),
    ({"problem.reward": {"kind": 7}}, "problem.reward.kind", 7, "one of bernoulli, beta, constant"),
    ({"problem.reward": {"kind": "gaussian", "std": 1}}, "problem.reward.std", 1, "(did you mean 'sd'?)"),
    ({"problem.reward": {"kind": "gaussian", "sd": -1}}, "problem.reward.sd", -1, "a number >= 0"),
    ({"problem.reward": {"kind": "gaussian", "sd": NAN}}, "problem.reward.sd", NAN, "a number >= 0"),
    ({"problem.reward": {"kind": "gaussian", "sd": True}}, "problem.reward.sd", True, "a number >= 0"),
    ({"problem.reward": {"kind": "gaussian", "sd": [0.1, 0.2]}}, "problem.reward.sd", [0.1, 0.2], PER_ARM),
    ({"problem.reward": {"kind": "beta", "concentration": 0}}, "problem.reward.concentration", 0, "a number >= 0.001"),
    (
        {"problem.reward": "beta", "problem.means": [0.5, -0.1, 0.5]},
        "problem.means",
        ANYTHING,
        "rewards of kind 'beta'",
    ),
    ({"problem.delay": "later"}, "problem.delay.kind", "later", "fixed"),
    ({"problem.delay": {"kind": "fixed", "d": 1.5}}, "problem.delay.d", 1.5, "whole numbers of rounds, >= 0"),
    ({"problem.delay": {"kind": "fixed", "d": -1}}, "problem.delay.d", -1, "a number >= 0"),
    ({"problem.delay": {"kind": "fixed", "d": [1, 2]}}, "problem.delay.d", [1, 2], PER_ARM),
    ({"problem.delay": {"kind": "fixed", "rounds": 2}}, "problem.delay.rounds", 2, "valid keys: d, kind"),
    # policies
    ({"policies": DROP}, "policies", None, "one or more tables [[policies]], each with a kind"),
    ({"policies": []}, "policies", [], "one or more tables [[policies]], each with a kind"),
    ({"policies": "ucb1"}, "policies", "ucb1", "one or more tables [[policies]], each with a kind"),
    ({"policies": {"kind": "ucb1"}}, "policies", {"kind": "ucb1"}, "one or more tables [[policies]], each with a kind"),
    ({"policies": ["ucb1"]}, "policies[0]", "ucb1", 'a table with a kind, such as { kind = "ucb1" }'),
    ({"policies": [{"kind": "ucb1"}, {"kind": "lgf"}]}, "policies[1].kind", "lgf", "(did you mean 'lfg'?)"),
    (one(label="mine"), "policies[0].kind", None, "constant-opportunity, cucb-d, discounted-thompson"),
    (one(kind=3), "policies[0].kind", 3, "constant-opportunity, cucb-d, discounted-thompson"),
    (one(kind="ucb1", label=3), "policies[0].label", 3, "a string"),
    ({"policies": [{"kind": "ucb1"}] * 2}, "policies.label", "ucb1", "must be unique (2 policies have this label)"),
    (
        {"policies": [{"kind": "ucb1", "label": "A"}, {"kind": "lfg", "label": "A"}]},
        "policies.label",
        "A",
        "must be unique (2 policies have this label)",
    ),
    (one(kind="lfg", eta=[1, 2, 1]), "policies.label", "lfg (eta=1)", "must be unique (2 policies have this label)"),
    (one(kind="lfg", eta=1e300), "policies[0].eta", 1e300, "a number >= 0"),
    (one(kind="lfg", eta={"scale": 1, "horizon_power": 1000}), "policies[0].eta", ANYTHING, "s T^p below 1e+30"),
    (one(kind="lfg", eta={"scale": 1, "horizon_power": 1000.5}), "policies[0].eta", ANYTHING, "s T^p below 1e+30"),
    (one(kind="lfg", eta=10**400), "policies[0].eta", 10**400, "a number >= 0"),
    (one(kind="lfg", etta=1), "policies[0].etta", 1, "(did you mean 'eta'?)"),
    (one(kind="ucb1", base="lfg"), "policies[0].base", "lfg", "valid keys: exploration, kind, label, log_offset"),
    (one(kind="fair-learn", base="ucb"), "policies[0].base", "ucb", "(did you mean 'ucb1'?)"),
    (one(kind="fair-learn", base=3), "policies[0].base", 3, "one of cucb-d, discounted-thompson"),
    (one(kind="fucb", base="kl-ucb"), "policies[0].base", "kl-ucb", "must not be given: the name 'fucb'"),
    (
        one(kind="fair-learn", base="thompson", exploration=2),
        "policies[0].exploration",
        2,
        "valid keys: alpha, base",
    ),
    (one(kind="lfg", eta=-1), "policies[0].eta", -1, "a number >= 0"),
    (one(kind="lfg", eta="1"), "policies[0].eta", "1", "a number >= 0"),
    (one(kind="lfg", eta=False), "policies[0].eta", False, "a number >= 0"),
    (one(kind="lfg", eta=INF), "policies[0].eta", INF, "a number >= 0"),
    (one(kind="lfg", eta=[]), "policies[0].eta", [], "at least one value"),
    (one(kind="lfg", eta=[1, -2]), "policies[0].eta", -2, "a number >= 0"),
    (one(kind="lfg", exploration=-1), "policies[0].exploration", -1, "a number >= 0"),
    (one(kind="epsilon-greedy", eps=1.01), "policies[0].eps", 1.01, "a number from 0 to 1"),
    (one(kind="kl-ucb", a=NAN), "policies[0].a", NAN, "a finite number"),
    (one(kind="explore-then-commit", rounds_per_arm=0), "policies[0].rounds_per_arm", 0, "a number >= 1"),
    (one(kind="lfg", eta={"scale": 1}), "policies[0].eta", {"scale": 1}, SCALED),
    (one(kind="lfg", eta={"scale": 1, "power": 2}), "policies[0].eta", {"scale": 1, "power": 2}, SCALED),
    (one(kind="lfg", eta={"scale": "1", "horizon_power": 1}), "policies[0].eta.scale", "1", "finite numbers"),
    (one(kind="lfg", eta={"scale": 1, "horizon_power": NAN}), "policies[0].eta.horizon_power", NAN, "finite numbers"),
    (one(kind="lfg", eta={"scale": -2, "horizon_power": 1}), "policies[0].eta", -800, "a number >= 0"),
    # policies and problems that do not go together
    (
        {"problem.reward": "gaussian", **one(kind="kl-ucb")},
        "problem.reward",
        "gaussian",
        "must give rewards in [0, 1] with kl-ucb",
    ),
    (
        {"problem.reward": "gaussian", **one(kind="eta-fucb", base="kl-ucb")},
        "problem.reward",
        "gaussian",
        "must give rewards in [0, 1] with kl-ucb",
    ),
    (
        {"problem.reward": {"kind": "uniform", "width": 0.5}, **one(kind="thompson")},
        "problem.reward",
        "uniform",
        "must give rewards in [0, 1] or Gaussian rewards with thompson, unless its parameter `sd`",
    ),
    (
        {"problem.reward": {"kind": "uniform", "width": 0.5}, **one(kind="f-ts")},
        "problem.reward",
        "uniform",
        "must give rewards in [0, 1] or Gaussian rewards with thompson, unless its parameter `sd`",
    ),
]


def title(case):
    changes, key = case[:2]
    name = re.sub(r"[^\w.,=-]+", " ", ", ".join(f"{k}={'' if v is DROP else v}" for k, v in changes.items()))
    return f"{key}: {name}"[:70]


@pytest.mark.parametrize(("changes", "key", "held", "allowed"), [pytest.param(*case, id=title(case)) for case in BAD])
def test_a_bad_config_is_refused_by_its_key(changes, key, held, allowed):
    with pytest.raises(jb.InputError) as caught:
        config.make_plan(changed(changes))
    error = caught.value
    assert error.key == key
    assert allowed in error.allowed
    if held is not ANYTHING:
        np.testing.assert_equal(error.held, held)  # NaN is NaN
        assert type(error.held) is type(held)
    assert_line(error)


def test_a_long_value_is_shortened_in_the_message():
    with pytest.raises(jb.InputError) as caught:
        make_plan(simulation__horizon=[0.5] * 9999)
    assert len(caught.value.held) == 9999
    assert re.match(r"simulation\.horizon = \[0\.5, 0\.5, .{80,120}\.\.\.: must be a whole number", str(caught.value))
