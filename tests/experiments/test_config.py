"""Configs: each complaint names the key, what it holds and what it may hold; every good form means what it says."""

import copy
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.engine import simulation as engine
from jaxbandit.experiments.configs import config

TOML = """
[simulation]
horizon = 400
seeds = 3

[problem]
means = [0.9, 0.5, 0.1]
fractions = 0.1
penalties = 0.2

[[policies]]
kind = "lfg"
eta = 2.0

[[policies]]
kind = "ucb1"
"""
TWO = [[0.9, 0.5, 0.1], [0.2, 0.3, 0.4]]
NAN, INF = float("nan"), float("inf")
DROP = object()
ANYTHING = object()  # what the error shows is left open


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "good.toml"
    path.write_text(TOML)
    return path


def changed(changes):
    """The good config with some keys set (dotted, as in `--set`, but to any value) or dropped."""
    made = copy.deepcopy(GOOD)
    for dotted, value in changes.items():
        *path, last = dotted.split(".")
        place = made
        for part in path:
            place = place[part]
        if value is DROP:
            del place[last]
        else:
            place[last] = copy.deepcopy(value)
    return made


def simulation(**changes):
    return config.make_plan(changed({name.replace("__", "."): value for name, value in changes.items()}))


GOOD = {
    "simulation": {"horizon": 400, "seeds": 3},
    "problem": {"means": [0.9, 0.5, 0.1], "fractions": 0.1, "penalties": 0.2},
    "policies": [{"kind": "lfg", "eta": 2.0}, {"kind": "ucb1"}],
}


def one(**table):
    """Changes that leave one policy."""
    return {"policies": [table]}


def instances(**more):
    return {"problem.means": TWO, **{f"problem.{name}": value for name, value in more.items()}}


def random_means(**table):
    return {"problem.means": {"random": "uniform", "arms": 3, **table}}


COUNT = "a whole number >= 1"
PER_ARM = "a number or 3 numbers, one an arm"
PER_ROW = "a number or 3 numbers, one an arm, or 2 rows of 3 numbers, one an instance"
MEANS = "K numbers, or rows of K numbers (instances), or { random = ..., arms = K, instances = J }"
SCALED = "a number, or { scale = s, horizon_power = p } for s T^p"

# The changes, the key at fault, what it holds, and a piece of what it may hold.
BAD = [
    # sections and keys
    (
        {"problems": {}},
        "problems",
        {},
        "no such key, but grid, policies, problem, simulation, tuning (did you mean 'problem'?)",
    ),
    ({"simulation": DROP}, "simulation", None, "a table [simulation]"),
    ({"simulation": 3}, "simulation", 3, "a table [simulation]"),
    ({"problem": DROP}, "problem", None, "a table [problem]"),
    ({"problem": [1]}, "problem", [1], "a table [problem]"),
    ({"simulation.horizn": 3}, "simulation.horizn", 3, "(did you mean 'horizon'?)"),
    ({"problem.mean": [0.5]}, "problem.mean", [0.5], "(did you mean 'means'?)"),
    ({"problem.tau": 0.5}, "problem.tau", 0.5, "no such key, but availability, delay, fractions, means"),
    # [simulation]
    ({"simulation.horizon": DROP}, "simulation.horizon", None, COUNT),
    ({"simulation.seeds": DROP}, "simulation.seeds", None, COUNT),
    ({"simulation.horizon": 0}, "simulation.horizon", 0, COUNT),
    ({"simulation.horizon": -5}, "simulation.horizon", -5, COUNT),
    ({"simulation.horizon": 1e4}, "simulation.horizon", 1e4, COUNT),
    ({"simulation.horizon": True}, "simulation.horizon", True, COUNT),
    ({"simulation.horizon": "400"}, "simulation.horizon", "400", COUNT),
    ({"simulation.horizon": 2**24 + 1}, "simulation.horizon", 2**24 + 1, "at most 16777216 rounds; enable float64"),
    ({"simulation.seeds": 0}, "simulation.seeds", 0, COUNT),
    ({"simulation.seeds": [3]}, "simulation.seeds", [3], COUNT),
    ({"simulation.seeds": 2**23 + 1}, "simulation.seeds", 2**23 + 1, "at most 8388608"),
    ({"simulation.block": 0}, "simulation.block", 0, COUNT),
    ({"simulation.block": 2.0}, "simulation.block", 2.0, COUNT),
    ({"simulation.record": 0}, "simulation.record", 0, COUNT),
    ({"simulation.record": "every"}, "simulation.record", "every", '"all"'),
    ({"simulation.record": True}, "simulation.record", True, COUNT),
    ({"simulation.record": [0, 5]}, "simulation.record", [0, 5], "a list of rounds from 1 to 400"),
    ({"simulation.record": [5, 401]}, "simulation.record", [5, 401], "a list of rounds from 1 to 400"),
    ({"simulation.key": -1}, "simulation.key", -1, "an integer from 0 to 2^64 - 1"),
    ({"simulation.key": 2**64}, "simulation.key", 2**64, "an integer from 0 to 2^64 - 1"),
    ({"simulation.key": 0.5}, "simulation.key", 0.5, "an integer from 0 to 2^64 - 1"),
    ({"simulation.key": True}, "simulation.key", True, "an integer from 0 to 2^64 - 1"),
    ({"simulation.metrics": "regret"}, "simulation.metrics", "regret", 'a list of names, as ["regret"]'),
    ({"simulation.metrics": [1]}, "simulation.metrics", [1], "a list of names"),
    ({"simulation.metrics": ["regret", "regrets"]}, "simulation.metrics", "regrets", "(did you mean 'regret'?)"),
    (
        {"simulation.metrics": ["unfairness"], "problem.fractions": DROP, **one(kind="ucb1")},
        "simulation.metrics",
        "unfairness (which needs problem.fractions)",
        "one of regret",
    ),
    (
        {"simulation.metrics": ["penalized_regret"], "problem.penalties": DROP},
        "simulation.metrics",
        "penalized_regret (which needs problem.fractions and problem.penalties)",
        "one of c_regret, max_deficit, r_regret, regret, unfairness",
    ),
    # means and plays
    ({"problem.means": DROP}, "problem.means", None, "K numbers, rows of K numbers, or a table { random = ... }"),
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
    ({"problem.means": [0.9, 1.5, 0.1]}, "problem.means", ANYTHING, "numbers from 0 to 1: rewards are bern"),
    (random_means(random="normal"), "problem.means.random", "normal", "'uniform'"),
    (random_means(arms=0), "problem.means.arms", 0, COUNT),
    (random_means(arms=True), "problem.means.arms", True, COUNT),
    ({"problem.means": {"random": "uniform"}}, "problem.means.arms", None, COUNT),
    (random_means(instances=1.5), "problem.means.instances", 1.5, COUNT),
    (random_means(instance=2), "problem.means.instance", 2, "(did you mean 'instances'?)"),
    (random_means(low=0.5, high=0.2), "problem.means.high", 0.2, "a number >= low, 0.5"),
    (random_means(low="a"), "problem.means.low", "a", "a number"),
    ({"problem.plays": 4}, "problem.plays", 4, "a whole number from 1 to the number of arms, 3"),
    ({"problem.plays": 0}, "problem.plays", 0, "a whole number from 1 to the number of arms, 3"),
    ({"problem.plays": 1.0}, "problem.plays", 1.0, "a whole number from 1 to the number of arms, 3"),
    ({"problem.plays": True}, "problem.plays", True, "a whole number from 1 to the number of arms, 3"),
    ({"problem.plays": 2, **one(kind="naive")}, "problem.plays", 2, "1 with naive"),
    # what fairness asks
    ({"problem.fractions": -0.1}, "problem.fractions", -0.1, "numbers from 0 to 1"),
    ({"problem.fractions": [0.1, 0.2, -0.01]}, "problem.fractions", [0.1, 0.2, -0.01], "numbers from 0 to 1"),
    ({"problem.fractions": 1.01, "problem.plays": 3}, "problem.fractions", 1.01, "numbers from 0 to 1"),
    ({"problem.fractions": 0.34}, "problem.fractions", 0.34, "sum to at most plays = 1; these sum to 1.02"),
    (
        {"problem.fractions": 0.67, "problem.plays": 2},
        "problem.fractions",
        0.67,
        "at most plays = 2; these sum to 2.01",
    ),
    (
        instances(fractions=[[0.1] * 3, [0.2, 0.2, 0.61]]),
        "problem.fractions",
        [[0.1] * 3, [0.2, 0.2, 0.61]],
        "these sum to 1.01",
    ),
    ({"problem.fractions": [0.1, 0.2]}, "problem.fractions", [0.1, 0.2], PER_ARM),
    (instances(fractions=[[0.1] * 3] * 3), "problem.fractions", [[0.1] * 3] * 3, PER_ROW),
    ({"problem.fractions": []}, "problem.fractions", [], PER_ARM),
    ({"problem.fractions": "0.1"}, "problem.fractions", "0.1", "finite numbers"),
    ({"problem.fractions": True}, "problem.fractions", True, "finite numbers"),
    ({"problem.fractions": NAN}, "problem.fractions", NAN, "finite numbers"),
    ({"problem.fractions": [0.1, [0.1], 0.1]}, "problem.fractions", ANYTHING, "finite numbers"),
    ({"problem.fractions": DROP}, "problem.fractions", None, "tau, a number or one an arm: lfg needs it"),
    ({"problem.penalties": -1}, "problem.penalties", -1, "numbers >= 0"),
    ({"problem.penalties": NAN}, "problem.penalties", NAN, "numbers >= 0"),
    ({"problem.penalties": "high"}, "problem.penalties", "high", "numbers >= 0"),
    ({"problem.penalties": ["0.1", "0.2", "0.3"]}, "problem.penalties", ["0.1", "0.2", "0.3"], "numbers >= 0"),
    ({"problem.penalties": [0.1, 0.2]}, "problem.penalties", ANYTHING, PER_ARM),
    ({"problem.penalties": {"gap": 0.5}}, "problem.penalties", {"gap": 0.5}, "or { gap_fraction = x }"),
    ({"problem.penalties": {"gap_fraction": -1}}, "problem.penalties.gap_fraction", -1, "a number >= 0"),
    (
        {"problem.penalties": DROP, **one(kind="hard-threshold-ucb")},
        "problem.penalties",
        None,
        "A, a number or one an arm, here or as the policy's `penalties`: hard-threshold-ucb needs it",
    ),
    (
        {"problem.penalties": DROP, **one(kind="soft-threshold-ucb")},
        "problem.penalties",
        None,
        "soft-threshold-ucb needs it",
    ),
    ({"problem.availability": 1.5}, "problem.availability", 1.5, "numbers from 0 to 1"),
    ({"problem.availability": True}, "problem.availability", True, "numbers from 0 to 1"),
    ({"problem.availability": [0.5, 0.5]}, "problem.availability", ANYTHING, PER_ARM),
    # rewards and delays
    ({"problem.reward": "gausian"}, "problem.reward.kind", "gausian", "(did you mean 'gaussian'?)"),
    ({"problem.reward": 3}, "problem.reward", 3, "a reward (bernoulli, beta, constant, gaussian, uniform)"),
    ({"problem.reward": {"sd": 1.0}}, "problem.reward", {"sd": 1.0}, 'or a table { kind = "...", ... }'),
    ({"problem.reward": {"kind": 7}}, "problem.reward.kind", 7, "one of bernoulli, beta, constant"),
    ({"problem.reward": {"kind": "gaussian", "std": 1}}, "problem.reward.std", 1, "(did you mean 'sd'?)"),
    ({"problem.reward": {"kind": "gaussian", "sd": -1}}, "problem.reward.sd", -1, "numbers >= 0"),
    ({"problem.reward": {"kind": "gaussian", "sd": NAN}}, "problem.reward.sd", NAN, "numbers >= 0"),
    ({"problem.reward": {"kind": "gaussian", "sd": True}}, "problem.reward.sd", True, "numbers >= 0"),
    ({"problem.reward": {"kind": "gaussian", "sd": [0.1, 0.2]}}, "problem.reward.sd", [0.1, 0.2], PER_ARM),
    ({"problem.reward": {"kind": "beta", "concentration": 0}}, "problem.reward.concentration", 0, "numbers >= 0.001"),
    ({"problem.reward": "beta", "problem.means": [0.5, -0.1, 0.5]}, "problem.means", ANYTHING, "rewards are beta"),
    ({"problem.delay": "later"}, "problem.delay.kind", "later", "fixed"),
    ({"problem.delay": {"kind": "fixed", "d": 1.5}}, "problem.delay.d", 1.5, "whole numbers of rounds >= 0"),
    ({"problem.delay": {"kind": "fixed", "d": -1}}, "problem.delay.d", -1, "numbers >= 0"),
    ({"problem.delay": {"kind": "fixed", "d": [1, 2]}}, "problem.delay.d", [1, 2], PER_ARM),
    ({"problem.delay": {"kind": "fixed", "rounds": 2}}, "problem.delay.rounds", 2, "no such key, but d, kind"),
    # policies
    ({"policies": DROP}, "policies", None, "one or more tables [[policies]], each with a kind"),
    ({"policies": []}, "policies", [], "one or more tables [[policies]], each with a kind"),
    ({"policies": "ucb1"}, "policies", "ucb1", "one or more tables [[policies]], each with a kind"),
    ({"policies": {"kind": "ucb1"}}, "policies", {"kind": "ucb1"}, "one or more tables [[policies]], each with a kind"),
    ({"policies": ["ucb1"]}, "policies[0]", "ucb1", 'a table with a kind, as { kind = "ucb1" }'),
    ({"policies": [{"kind": "ucb1"}, {"kind": "lgf"}]}, "policies[1].kind", "lgf", "(did you mean 'lfg'?)"),
    (one(label="mine"), "policies[0].kind", None, "cucb-d, epsilon-greedy, eta-fucb"),
    (one(kind=3), "policies[0].kind", 3, "cucb-d, epsilon-greedy, eta-fucb"),
    (one(kind="ucb1", label=3), "policies[0].label", 3, "a string"),
    ({"policies": [{"kind": "ucb1"}] * 2}, "policies.label", "ucb1", "a name of its own for each policy"),
    (
        {"policies": [{"kind": "ucb1", "label": "A"}, {"kind": "lfg", "label": "A"}]},
        "policies.label",
        "A",
        "a name of its own for each policy",
    ),
    (one(kind="lfg", eta=[1, 2, 1]), "policies.label", "lfg (eta=1)", "a name of its own for each policy"),
    (one(kind="lfg", eta=1e300), "policies[0].eta", 1e300, "numbers >= 0"),
    (one(kind="lfg", eta={"scale": 1, "horizon_power": 1000}), "policies[0].eta", ANYTHING, "s T^p below 1e30"),
    (one(kind="lfg", eta={"scale": 1, "horizon_power": 1000.5}), "policies[0].eta", ANYTHING, "s T^p below 1e30"),
    (one(kind="lfg", eta=10**400), "policies[0].eta", 10**400, "numbers >= 0"),
    (one(kind="lfg", etta=1), "policies[0].etta", 1, "(did you mean 'eta'?)"),
    (one(kind="ucb1", base="lfg"), "policies[0].base", "lfg", "no such key, but exploration, kind, label, log_offset"),
    (one(kind="fair-learn", base="ucb"), "policies[0].base", "ucb", "(did you mean 'ucb1'?)"),
    (one(kind="fair-learn", base=3), "policies[0].base", 3, "one of cucb-d, epsilon-greedy"),
    (one(kind="fucb", base="kl-ucb"), "policies[0].base", "kl-ucb", "nothing: fucb sets it"),
    (
        one(kind="fair-learn", base="thompson", exploration=2),
        "policies[0].exploration",
        2,
        "no such key, but alpha, base",
    ),
    (one(kind="lfg", eta=-1), "policies[0].eta", -1, "numbers >= 0"),
    (one(kind="lfg", eta="1"), "policies[0].eta", "1", "numbers >= 0"),
    (one(kind="lfg", eta=False), "policies[0].eta", False, "numbers >= 0"),
    (one(kind="lfg", eta=INF), "policies[0].eta", INF, "numbers >= 0"),
    (one(kind="lfg", eta=[]), "policies[0].eta", [], "at least one value"),
    (one(kind="lfg", eta=[1, -2]), "policies[0].eta", -2, "numbers >= 0"),
    (one(kind="lfg", exploration=-1), "policies[0].exploration", -1, "numbers >= 0"),
    (one(kind="epsilon-greedy", eps=1.01), "policies[0].eps", 1.01, "numbers from 0 to 1"),
    (one(kind="kl-ucb", a=NAN), "policies[0].a", NAN, "finite numbers"),
    (one(kind="explore-then-commit", rounds_per_arm=0), "policies[0].rounds_per_arm", 0, "numbers >= 1"),
    (one(kind="lfg", eta={"scale": 1}), "policies[0].eta", {"scale": 1}, SCALED),
    (one(kind="lfg", eta={"scale": 1, "power": 2}), "policies[0].eta", {"scale": 1, "power": 2}, SCALED),
    (one(kind="lfg", eta={"scale": "1", "horizon_power": 1}), "policies[0].eta.scale", "1", "finite numbers"),
    (one(kind="lfg", eta={"scale": 1, "horizon_power": NAN}), "policies[0].eta.horizon_power", NAN, "finite numbers"),
    (one(kind="lfg", eta={"scale": -2, "horizon_power": 1}), "policies[0].eta", -800, "numbers >= 0"),
    # policies and problems that do not go together
    (
        {"problem.reward": "gaussian", **one(kind="kl-ucb")},
        "problem.reward",
        "gaussian",
        "rewards that stay in [0, 1] with kl-ucb",
    ),
    (
        {"problem.reward": "gaussian", **one(kind="eta-fucb", base="kl-ucb")},
        "problem.reward",
        "gaussian",
        "rewards that stay in [0, 1] with kl-ucb",
    ),
    (
        {"problem.reward": {"kind": "uniform", "width": 0.5}, **one(kind="thompson")},
        "problem.reward",
        "uniform",
        "rewards in [0, 1] or Gaussian with thompson, or set sd",
    ),
    (
        {"problem.reward": {"kind": "uniform", "width": 0.5}, **one(kind="f-ts")},
        "problem.reward",
        "uniform",
        "rewards in [0, 1] or Gaussian with thompson, or set sd",
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
    message = str(error)
    assert message.startswith(f"{key} = ")
    assert message.endswith(f": must be {error.allowed}")
    assert "\n" not in message


def test_a_long_value_is_cut_short_in_the_message():
    with pytest.raises(jb.InputError) as caught:
        simulation(simulation__horizon=[0.5] * 9999)
    assert len(caught.value.held) == 9999
    assert re.match(r"simulation\.horizon = \[0\.5, 0\.5, .{80,120}\.\.\.: must be a whole number", str(caught.value))


@pytest.mark.parametrize(
    ("change", "allowed"),
    [
        ("simulation.seeds", "section.key=value"),
        ("=3", "section.key=value"),
        ("policies.2.eta=1", "a number from 0 to 1"),
        ("policies.-1.eta=1", "a number from 0 to 1"),
        ("policies.first.eta=1", "a number from 0 to 1"),
        ("policies.0=3", "section.key=value"),
        ("simulation.horizon.most=3", "a key of a table; horizon = 400"),
        ("problem.means.0=3", "section.key=value"),
        ("problem.penalties.gap_fraction=0.5", "a key of a table; penalties = 0.2"),
        ("policies.0.eta.scale=2", "a key of a table; eta = 2.0"),
    ],
)
def test_a_change_that_cannot_be_read_is_refused(file, change, allowed):
    with pytest.raises(jb.InputError) as caught:
        config.load(file, [change])
    assert (caught.value.key, caught.value.held) == ("--set", change)
    assert allowed in caught.value.allowed


@pytest.mark.parametrize(
    ("change", "key", "held"),
    [
        ("simulation.seeds=", "simulation.seeds", ""),
        ("simulation.seeds=many", "simulation.seeds", "many"),
        ("simulation.seeds=0", "simulation.seeds", 0),
        ("simulation=3", "simulation", 3),
        ("policies.0.eta=-1", "policies[0].eta", -1),
        ("policies=[]", "policies", []),
    ],
)
def test_a_change_to_a_bad_value_is_refused_by_its_key(file, change, key, held):
    with pytest.raises(jb.InputError) as caught:
        config.make_plan(config.load(file, [change]))
    assert (caught.value.key, caught.value.held) == (key, held)


@pytest.mark.parametrize(
    ("content", "allowed"),
    [
        (None, "a file that can be read (No such file or directory)"),
        (b"[simulation\n", "TOML; "),
        (b"seeds = 3\nseeds = 4\n", "TOML; "),
        (b"\xff\xfe", "TOML; "),
    ],
)
def test_a_file_that_is_no_toml_is_refused(tmp_path, content, allowed):
    path = tmp_path / "bad.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(jb.InputError) as caught:
        config.load(path)
    assert (caught.value.key, caught.value.held) == ("CONFIG", str(path))
    assert caught.value.allowed.startswith(allowed)


def test_a_folder_is_no_config(tmp_path):
    with pytest.raises(jb.InputError, match=r"^CONFIG = .*a file that can be read"):
        config.load(tmp_path)


# Good forms


def test_the_file_is_what_the_tables_say(file):
    loaded = config.load(file)
    assert loaded == GOOD
    made = config.make_plan(loaded)
    assert [configuration.label for configuration in made.configurations] == ["lfg", "ucb1"]
    assert (made.settings.horizon, made.settings.seeds, made.settings.key, made.settings.record) == (400, 3, 0, 200)
    assert made.problem.plays == 1
    assert made.problem.availability is None
    assert (made.problem.reward.name, made.problem.delay.name) == ("bernoulli", "none")


@pytest.mark.parametrize(
    ("means", "expected"),
    [([0.9, 0.5, 0.1], [[0.9], [0.5], [0.1]]), ([[0.9, 0.5, 0.1]], [[0.9], [0.5], [0.1]]), (TWO, np.transpose(TWO))],
)
def test_means(means, expected):
    problem = simulation(problem__means=means).problem
    np.testing.assert_array_equal(problem.means, expected)
    assert (problem.arms, problem.instances) == np.shape(expected)


def test_whole_numbers_are_numbers():
    problem = simulation(problem__means=[1, 0, 1], problem__fractions=0, problem__penalties=1).problem
    np.testing.assert_array_equal(problem.means.ravel(), [1, 0, 1])
    assert problem.means.dtype == np.float64
    assert problem.fractions.ravel().tolist() == [0, 0, 0]


def test_random_means_belong_to_the_key():
    def drawn(key, **table):
        table = {"random": "uniform", "arms": 3, **table}
        return simulation(problem__means=table, simulation__key=key).problem.means

    first = drawn(7, instances=40)
    assert first.shape == (3, 40)
    assert len(np.unique(first)) == first.size
    assert first.min() >= 0
    assert 0.9 < first.max() < 1
    np.testing.assert_array_equal(first, drawn(7, instances=40))
    np.testing.assert_array_equal(first[:, :5], drawn(7, instances=5))
    np.testing.assert_array_equal(first[:, :1], drawn(7))
    assert not np.any(first == drawn(8, instances=40))
    np.testing.assert_allclose(drawn(7, instances=40, low=0.2, high=0.4), 0.2 + 0.2 * first, rtol=1e-12)
    np.testing.assert_array_equal(drawn(7, low=0.5, high=0.5), np.full((3, 1), 0.5))


@pytest.mark.parametrize(
    ("fractions", "expected"),
    [
        (0.05, [["1/20"]] * 3),
        ([0.1, 0.29, 0.07], [["1/10"], ["29/100"], ["7/100"]]),
        ([[0.1, 0.2, 0.3], [0, 0.5, 0.5]], [["1/10", "0"], ["1/5", "1/2"], ["3/10", "1/2"]]),
        ([0.2, 0.3, 0.5], [["1/5"], ["3/10"], ["1/2"]]),
    ],
)
def test_fractions_are_the_decimals_that_were_written(fractions, expected):
    problem = simulation(problem__means=TWO, problem__fractions=fractions).problem
    assert problem.fractions.tolist() == [[Fraction(tau) for tau in row] for row in expected]


@pytest.mark.parametrize(
    ("penalties", "expected"),
    [
        (0.45, [[0.45, 0.45]] * 3),
        ([0.1, 0.2, 0.3], [[0.1, 0.1], [0.2, 0.2], [0.3, 0.3]]),
        ([[0.1, 0.2, 0.3], [4, 5, 6]], [[0.1, 4], [0.2, 5], [0.3, 6]]),
        ({"gap_fraction": 0.5}, [[0.4, 0.1]] * 3),
        ({"gap_fraction": 0}, [[0, 0]] * 3),
    ],
)
def test_penalties(penalties, expected):
    problem = simulation(problem__means=TWO, problem__penalties=penalties).problem
    np.testing.assert_allclose(np.broadcast_to(problem.penalties, (3, 2)), expected, rtol=1e-12)


def test_a_policy_may_have_penalties_of_its_own():
    made = simulation(problem__penalties=DROP, policies=[{"kind": "hard-threshold-ucb", "penalties": 0.3}])
    assert made.prepared[0].penalties == 0.3
    assert "penalized_regret" not in made.metrics


@pytest.mark.parametrize(
    ("reward", "name", "value"),
    [
        ("gaussian", "sd", 1.0),
        ({"kind": "gaussian"}, "sd", 1.0),
        ({"kind": "gaussian", "sd": 0.1}, "sd", 0.1),
        ({"kind": "gaussian", "sd": [0.1, 0.2, 0.3]}, "sd", [[0.1], [0.2], [0.3]]),
        ({"kind": "beta", "concentration": 5}, "concentration", 5),
        ({"kind": "uniform", "width": 0.1}, "width", 0.1),
    ],
)
def test_rewards(reward, name, value):
    np.testing.assert_array_equal(getattr(simulation(problem__reward=reward).problem.reward, name), value)


def test_availability():
    assert simulation(problem__availability=1).problem.availability is None
    sleepy = simulation(problem__availability=[0.5, 1, 0]).problem.availability
    np.testing.assert_array_equal(sleepy, [[0.5], [1], [0]])


@pytest.mark.parametrize("delay", [4, [4, 4, 4], [[4, 4, 4], [4, 4, 4]]])
def test_delays_are_a_number_or_one_an_arm_or_one_row_an_instance(delay):
    made = simulation(problem__means=TWO, problem__delay={"kind": "fixed", "d": delay}).problem.delay
    np.testing.assert_array_equal(np.broadcast_to(made.d, (3, 2)), np.full((3, 2), 4))


def labels(*tables):
    return [
        (configuration.label, configuration.family)
        for configuration in simulation(policies=list(tables)).configurations
    ]


def test_a_policy_is_called_by_its_label_or_its_kind():
    tables = [
        {"kind": "fair-learn", "base": "thompson"},
        {"kind": "fucb"},
        {"kind": "ucb1", "label": "Auer's"},
        {"kind": "ucb1", "exploration": 0.5},
    ]
    names = ["fair-learn/thompson", "fucb", "Auer's", "ucb1"]
    assert labels(*tables) == [(name, name) for name in names]


def test_a_list_makes_a_grid():
    assert labels({"kind": "lfg", "eta": [1, 0.5, 1e-9], "label": "LFG"}) == [
        ("LFG (eta=1)", "LFG"),
        ("LFG (eta=0.5)", "LFG"),
        ("LFG (eta=1e-09)", "LFG"),
    ]
    made = simulation(policies=[{"kind": "lfg", "eta": [1, 2.5], "exploration": [1.5, 2.0]}]).configurations
    assert [(e.policy.eta, e.policy.base.exploration) for e in made] == [(1, 1.5), (1, 2.0), (2.5, 1.5), (2.5, 2.0)]
    assert [e.label for e in made][1] == "lfg (eta=1, exploration=2)"
    assert len({e.label for e in made}) == 4
    assert {e.family for e in made} == {"lfg"}


@pytest.mark.parametrize(
    ("scale", "power", "value"),
    [(1, 0.5, 20), (1.5, 1, 600), (0.001, 1, 0.4), (3, 0, 3), (1, -1, 1 / 400), (2, 0.25, 2 * 400**0.25)],
)
def test_a_parameter_may_grow_with_the_horizon(scale, power, value):
    table = {"kind": "lfg", "eta": {"scale": scale, "horizon_power": power}}
    assert simulation(policies=[table]).configurations[0].policy.eta == pytest.approx(value, rel=1e-15)


def test_a_grid_of_parameters_that_grow_with_the_horizon():
    etas = [{"scale": s, "horizon_power": 0.5} for s in (1, 2)] + [7.0]
    made = simulation(policies=[{"kind": "lfg", "eta": etas}]).configurations
    assert [configuration.policy.eta for configuration in made] == [20, 40, 7]
    assert len({configuration.label for configuration in made}) == 3


def test_parameters_of_the_base_stand_beside_those_of_the_rule():
    table = {"kind": "fair-learn", "alpha": 1.5, "base": "kl-ucb", "a": 3.0, "log_offset": 1.0}
    made = simulation(policies=[table]).configurations[0].policy
    assert (made.name, made.alpha, made.base.name, made.base.a, made.base.log_offset) == (
        "fair-learn",
        1.5,
        "kl-ucb",
        3,
        1,
    )


@pytest.mark.parametrize(
    ("change", "path", "value"),
    [
        ("simulation.seeds=200", ("simulation", "seeds"), 200),
        (" simulation . seeds = 200 ", ("simulation", "seeds"), 200),
        ("simulation.key=0xFF", ("simulation", "key"), 255),
        ("simulation.record=all", ("simulation", "record"), "all"),
        ('simulation.record="all"', ("simulation", "record"), "all"),
        ('simulation.metrics=["regret", "unfairness"]', ("simulation", "metrics"), ["regret", "unfairness"]),
        ("problem.means=[[0.1, 0.2], [0.3, 0.4]]", ("problem", "means"), [[0.1, 0.2], [0.3, 0.4]]),
        ("problem.reward=gaussian", ("problem", "reward"), "gaussian"),
        ('problem.reward={kind = "gaussian", sd = 0.1}', ("problem", "reward"), {"kind": "gaussian", "sd": 0.1}),
        ("policies.0.eta=7", ("policies", 0, "eta"), 7),
        ("policies.0.eta=[1, 2]", ("policies", 0, "eta"), [1, 2]),
        ("policies.1.label=a = b", ("policies", 1, "label"), "a = b"),
        ("policies.0.eta={scale = 1.0, horizon_power = 0.5}", ("policies", 0, "eta", "horizon_power"), 0.5),
    ],
)
def test_set(file, change, path, value):
    loaded = config.load(file, [change])
    place = loaded
    for part in path:
        place = place[part]
    assert place == value
    expected = copy.deepcopy(GOOD)
    expected[path[0]] = loaded[path[0]]
    assert loaded == expected  # the other sections are as they were
    assert config.make_plan(loaded).configurations


def test_changes_come_one_after_the_other(file):
    changes = ["problem.reward=gaussian", "problem.reward.sd=0.25", "simulation.seeds=5", "simulation.seeds=6"]
    loaded = config.load(file, changes)
    assert loaded["problem"]["reward"] == {"kind": "gaussian", "sd": 0.25}
    assert loaded["simulation"]["seeds"] == 6


def test_python_takes_what_a_config_takes(file):
    """`jb.simulate` with the tables of a config is the simulation of that config."""
    outcome = engine.run(config.make_plan(config.load(file)))
    tables = GOOD["problem"], GOOD["policies"]
    results = jb.simulate(*tables, horizon=400, seeds=3)
    np.testing.assert_array_equal(results.pulls, outcome.each(lambda tally: tally.pulls))


PER_ARM_DELAY = {"kind": "fixed", "d": [3, 0, 2]}


@pytest.mark.parametrize(
    ("problem", "policies"),
    [
        ({}, ["ucb1", {"kind": "lfg", "eta": [1, 2.5]}, {"kind": "f-ts", "alpha": 2.0}]),
        ({"reward": {"kind": "gaussian", "sd": [0.1, 0.2, 0.3]}, "delay": PER_ARM_DELAY}, ["ucb1"]),
        ({"reward": "uniform", "delay": {"kind": "fixed", "d": 7}}, ["ucb1"]),
        ({"means": TWO, "penalties": {"gap_fraction": 0.5}, "availability": [0.5, 0.6, 1.0]}, ["hard-threshold-ucb"]),
        ({}, {"A": "ucb1", "B": jb.policy("hard-threshold-ucb", penalties=[0.1, 0.2, 0.3])}),
    ],
)
def test_the_config_that_results_carry_gives_the_same_results(tmp_path, problem, policies):
    results = jb.simulate({**GOOD["problem"], **problem}, policies, horizon=60, seeds=3, key=4)
    path = tmp_path / "again.toml"
    path.write_text(results.attrs["config"])
    again = config.make_plan(config.load(path))
    assert [configuration.label for configuration in again.configurations] == results.policy.values.tolist()
    np.testing.assert_array_equal(results.pulls, engine.run(again).each(lambda tally: tally.pulls))


CONFIGS = sorted((Path(__file__).parents[2] / "configs").glob("*.toml"))


def test_every_paper_so_far_has_its_configs():
    assert {"000", "001", "002", "003", "004"} <= {path.name[:3] for path in CONFIGS}


@pytest.fixture
def beside_a_log(tmp_path, monkeypatch):
    """The working directory holds a conversion log of ten products, for the config that reads one."""
    lines = [f"1\t{60 * line}\t{7 * line}\tid\tproduct {arm}\n" for arm in range(10) for line in range(12 - arm)]
    (tmp_path / "conversions.tsv").write_text("".join(lines))
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("beside_a_log")
@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_the_configs_that_come_along_are_good(path):
    simulation = config.make_plan(config.load(path, ["simulation.horizon=16000", "simulation.seeds=2"]))
    assert simulation.metrics
    assert len(simulation.prepared) >= 1
