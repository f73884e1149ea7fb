"""Random configs against an oracle of their datasets, and the oracle against datasets with faults planted in them.

`tests/full/fuzz.py` does the same to thousands.
"""

import copy

import fuzzing
import numpy as np
import pytest
from fuzz_draw import kinds
from fuzz_judge import METRICS as JUDGED
from sweeps import swept

SEEDS = (20, 21, 22)
# Each of these policies with one delay and one reward, which differ from policy to policy, and three sets of numbers:
# one program, three times. One of them is a fast test, and every third of the others a slow one.
PLACES = [place for place in range(len(kinds()[0])) if place % 7 not in (2, 5, 6)][:20:2]
FAST = PLACES[:1]
CYCLE = max(len(kinds()[1]), len(kinds()[2]))


@pytest.mark.parametrize(
    "place",
    [*FAST, *swept(PLACES[1:], PLACES[1::3])],
    ids=[kinds()[0][place] for place in PLACES],
)
def test_random_configs_have_no_faults(place):
    coverage, ran = fuzzing.Coverage(), 0
    number = place + len(kinds()[0]) * (place % CYCLE + CYCLE * (place % 2))
    for seed in SEEDS:
        config, results, faults = fuzzing.tried(seed, number, coverage, home=1.0)
        assert not faults, (config, faults)
        ran += results is not None
    assert ran == len(SEEDS), coverage.refused


def test_draws_are_those_of_their_seed_and_reach_everything():
    configs = [fuzzing.draw(1, number, home=0.5) for number in range(2000)]
    assert configs[7] == fuzzing.draw(1, 7, home=0.5)
    assert configs[7] != fuzzing.draw(2, 7, home=0.5)
    pairs = {
        (config["policies"][0]["kind"], name, held["kind"] if isinstance(held, dict) else held)
        for config in configs
        for name, held in config["problem"].items()
        if name in ("delay", "reward")
    }
    policies, rewards, delays = kinds()
    assert pairs >= {(kind, "delay", delay) for kind in policies for delay in delays}
    assert pairs >= {(kind, "reward", reward) for kind in policies for reward in rewards}


# Faults planted in datasets: the oracle finds each

PROBLEM = {
    "means": [0.9, 0.62, 0.35],
    "plays": 1,
    "reward": "constant",
    "delay": {"kind": "geometric", "p": 0.5},
    "fractions": [0.3, 0.14, 0.2],
    "penalties": [0.3, 0.45, 0.8],
    "merit": {"kind": "power", "scale": 2.0, "exponent": 4},
    "opportunity": {"kind": "linear"},
}
CONFIG = {
    "simulation": {"horizon": 57, "seeds": 4, "key": 1, "record": [1, 20, 57]},
    "problem": PROBLEM,
    "policies": [{"kind": "fair-mmab"}, {"kind": "thompson"}, {"kind": "fairness-aware-etc"}, {"kind": "fcts-d"}],
}
METRICS = sorted(JUDGED)
EXACT = sorted(set(METRICS) - {"utility", "reward_regret", "fairness_regret"})


@pytest.fixture(scope="module")
def results():
    return fuzzing.simulated(CONFIG)


def found(results, config=CONFIG):
    return fuzzing.judge(config, results)


def planted(results, name, change):
    """A copy in which `change` was applied to the values of a variable."""
    made = results.copy(deep=True)
    held = made[name].values.copy()
    change(held)
    made[name] = (made[name].dims, held)
    return made


def scaled(results, name, factor, place):
    """All of a metric of one policy multiplied, so that its mean and standard error agree with its final values."""
    made = results
    for suffix in ("", "_stderr", "_final"):

        def multiply(values):
            values[place] *= factor

        made = planted(made, name + suffix, multiply)
    return made


def test_a_right_dataset_has_no_faults(results):
    assert found(results) == []


@pytest.mark.parametrize("name", METRICS)
def test_a_scaled_metric_is_found(results, name):
    """By one millionth, where it follows from the pulls exactly; by 1e-4 where it is of float32 numbers."""
    factor = 1 + 1e-6 if name in EXACT else 1 + 1e-4
    assert found(scaled(results, name, factor, 1)) != []
    # Of chances that the pulls do not tell only bounds are known.
    assert found(scaled(results, name, 100.0 if name in ("reward_regret", "fairness_regret") else factor, 3)) != []


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("suffix", ["", "_stderr", "_final"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_metric_that_is_no_number_is_found(results, name, suffix, bad):
    def spoil(values):
        values.flat[1] = bad

    assert any("not finite" in fault for fault in found(planted(results, name + suffix, spoil)))


@pytest.mark.parametrize("name", ["pulls_mean", "pulls_mean_stderr"])
def test_wrong_mean_pulls_are_found(results, name):
    def move(values):
        values[1, ..., -1] += 1e-4

    assert any(f"{name} at T" in fault for fault in found(planted(results, name, move)))


@pytest.mark.parametrize("name", METRICS)
def test_a_wrong_standard_error_is_found(results, name):
    def no_error(values):
        values[1] = 0

    def some_error(values):
        values[...] += 1e-6

    assert any("runs differ" in fault for fault in found(planted(results, f"{name}_stderr", no_error)))
    assert any(f"{name}_stderr" in fault for fault in found(planted(results, f"{name}_stderr", some_error)))


@pytest.mark.parametrize("name", METRICS)
def test_a_missing_metric_is_found(results, name):
    assert any("missing" in fault for fault in found(results.drop_vars(f"{name}_final")))
    config = copy.deepcopy(CONFIG)
    config["simulation"]["metrics"] = [other for other in METRICS if other != name]
    assert any("is there" in fault for fault in found(results, config))


@pytest.mark.parametrize("place", range(4))
def test_a_shifted_pull_is_found(results, place):
    def shift(values):
        values[place, 0, 0, 0] -= 1
        values[place, 0, 0, 1] += 1

    def lose(values):
        values[place, 0, 0, 2] -= 1

    assert any("regret_final" in fault for fault in found(planted(results, "pulls", shift)))
    assert any("do not sum" in fault for fault in found(planted(results, "pulls", lose)))


def test_wrong_largest_deficits_and_phases_are_found(results):
    def plus(amount):
        def change(values):
            values += amount

        return change

    assert any("broken" in fault for fault in found(planted(results, "max_deficit_ever", plus(2.0))))
    assert any("below" in fault for fault in found(planted(results, "max_deficit_ever", plus(-5.0))))
    assert any("above what" in fault for fault in found(planted(results, "max_deficit_ever", plus(60.0))))
    assert any("phase_rounds" in fault for fault in found(planted(results, "phase_rounds", plus(1))))


def test_another_problem_is_found(results):
    """Every number of the problem matters to a dataset: a config that differs in one has faults."""
    for name, value in {
        "means": [0.9, 0.63, 0.35],
        "fractions": [0.3, 0.14, 0.21],
        "penalties": [0.3, 0.45, 0.81],
        "merit": {"kind": "power", "scale": 2.1, "exponent": 4},
        "opportunity": {"kind": "power", "c": 1.1},
        "availability": [1.0, 0.0, 1.0],
    }.items():
        assert found(results, {**CONFIG, "problem": {**PROBLEM, name: value}}), name


def test_wrong_sums_of_rewards_are_found():
    """Of drawn rewards a sum is known to lie near its mean, and of Bernoulli rewards to be whole."""
    for reward, amounts in {
        "bernoulli": (0.5, 60),
        "gaussian": (100,),
    }.items():
        config = {**CONFIG, "problem": {**PROBLEM, "reward": reward}, "policies": [{"kind": "ucb1"}]}
        results = fuzzing.simulated(config)
        assert found(results, config) == []
        for amount in amounts:
            made = results
            for name in ("utility", "utility_final"):
                made = planted(made, name, lambda values, amount=amount: np.add(values, amount, out=values))
            assert any("rewards sum" in fault for fault in found(made, config)), reward


def test_a_curve_of_another_simulation_is_found():
    config = {**CONFIG, "simulation": {**CONFIG["simulation"], "record": 16}}
    whole = fuzzing.simulated(config)
    cut, plain = fuzzing.shortened(config, whole)
    shorter = fuzzing.simulated(cut)
    assert plain == [0, 1, 3]
    assert fuzzing.judge_prefix(whole, shorter, plain) == []
    place = list(whole["round"].values).index(cut["simulation"]["horizon"])

    def change(values):
        values[0, 0, place] += 1e-6

    assert fuzzing.judge_prefix(planted(whole, "regret", change), shorter, plain) != []


def test_a_dataset_with_another_config_is_found(results):
    assert fuzzing.reloaded_faults(results) == []
    other = fuzzing.simulated({**CONFIG, "simulation": {**CONFIG["simulation"], "key": 2}})
    assert "pulls" in fuzzing.reloaded_faults(results.assign_attrs(config=other.attrs["config"]))[0]
