"""Policies of the opportunities paper: their selections and phases, what they refuse.

The references are those of `reference_transfer.py`, written from the paper.
"""

import dataclasses

import numpy as np
import pytest
import scripted_rounds as world
from harness import TRANSFER, reference_rounds
from scripted_rounds import compare, play, standard
from sweeps import FULL

import jaxbandit as jb

MEANS, COSTS = [0.31, 0.62, 0.5, 0.83], [0.35, 0.2, 0.41, 0.6]
T = 600
FUNCTIONS = {
    "softmax": "softmax",
    "uniform": "uniform",
    "linear": "linear",
    "power": {"kind": "power", "c": 2.0},
    "piecewise-linear": {"kind": "piecewise-linear", "eps": 0.2, "scale": 4.0},
    "constant": {"kind": "constant", "gamma": 0.11},
    "zero": "zero",
}
FAST = ("softmax",)
# Two scales of rewards, and accuracies with which some runs see each phase in T rounds
GIVEN = {
    "self-regulated": {1: {"alpha": 0.3, "beta": 0.5}, 3: {"alpha": 0.2, "beta": 0.3}},
    "fairness-aware-etc": {1: {"rounds_per_arm": 11.9}, 3: {"rounds_per_arm": 6}},
    "constant-opportunity": {1: {}, 3: {}},
}


def script(f, scale=1, **changes):
    """Rounds of `scripted_rounds`, with other numbers of the problem."""
    made = standard(1, False, "uniform", T, scale)
    numbers = {"means": world.MEANS, "fractions": world.FRACTIONS, "penalties": world.PENALTIES}
    return dataclasses.replace(made, problem=jb.Problem(**{**numbers, "opportunity": FUNCTIONS[f], **changes}))


def fits(kind, f):
    return kind != "constant-opportunity" or f in ("uniform", "constant", "zero")


PAIRS = [(kind, f) for kind in TRANSFER for f in FUNCTIONS if fits(kind, f)]
RUNS = [(world.STEADY, 0), (world.LATE, 1), (world.TIED, 0), (world.MIXED, 0), (world.SLEEPING, 0)]


@pytest.mark.parametrize(
    ("kind", "f"), [pytest.param(*pair, marks=[pytest.mark.slow] * (pair[1] not in FAST)) for pair in PAIRS]
)
def test_selections_and_phases_are_those_of_the_reference(kind, f):
    for scale in (1, 3):
        compare(kind, script(f, scale), RUNS, **GIVEN[kind][scale])


@pytest.mark.parametrize("kind", TRANSFER)
def test_all_phases_are_seen_and_runs_of_a_batch_differ(kind):
    f = "uniform" if kind == "constant-opportunity" else "softmax"
    lengths = np.stack([play(jb.policy(kind, **GIVEN[kind][scale]), script(f, scale))[2] for scale in (1, 3)])
    assert (lengths.sum(axis=1) == T).all()
    assert (lengths.max(axis=(0, 2, 3)) > 0).all()
    assert len({tuple(column) for column in lengths.reshape(2, len(lengths[0]), -1)[1].T}) > 1


@pytest.mark.parametrize("kind", TRANSFER)
def test_default_parameters(kind):
    f = "uniform" if kind == "constant-opportunity" else "softmax"
    compare(kind, script(f, 3), RUNS[:2])


def test_the_parameters_of_the_black_box_stand_beside():
    compare("constant-opportunity", script("uniform", 3), RUNS[:3], black_box="ucb-v", exploration=0.3, c=0.2)


ZERO, HIGH = [[0.0] * 5] * 5, [[2.0] * 5] * 5


def test_without_a_transfer_cost_the_black_box_plays_at_once():
    free = script("softmax", penalties=ZERO)
    selected, _, phases = play(jb.policy("self-regulated"), free)
    np.testing.assert_array_equal(selected, play(jb.policy("ucb1"), free)[0])
    assert (phases[:-1] == 0).all()
    assert (phases[-1] == T).all()


@pytest.mark.parametrize("horizon", [600, 598])
def test_with_a_high_transfer_cost_and_uniform_f_all_rounds_are_opportunities(horizon):
    selected, _, phases = play(jb.policy("self-regulated"), script("uniform", penalties=HIGH), horizon=horizon)
    granted = horizon // 5 * 5
    always = (world.STEADY, world.LATE, world.TIED)  # with all arms available
    assert phases[:, always].reshape(4, -1).T.tolist() == [[0, 0, granted, T - granted]] * 6
    assert (selected[:, :, always].sum(axis=0) >= horizon // 5).all()


@pytest.mark.slow
def test_phases_of_several_policies_stand_side_by_side():
    problem = jb.Problem(MEANS, penalties=COSTS, opportunity="uniform")
    results = jb.simulate(problem, ["constant-opportunity", "fairness-aware-etc", "ucb1"], horizon=60, seeds=2)
    assert results.phase_rounds.dims == ("policy", "instance", "seed", "phase")
    names = results.phase_name.sel(policy="constant-opportunity").values.tolist()
    assert names == ["opportunities", "black box", ""]
    sizes = (results.phase_rounds >= 0).sum("phase").values[:, 0, 0].tolist()
    assert sizes == [2, 3, 0]
    spent = results.phase_rounds.where(results.phase_rounds >= 0).sum("phase")
    assert (spent.sel(policy=results.policy[:2]) == 60).all()


class Rivalry(jb.Opportunity):
    """Falls with the means of the other arms; knows its Lipschitz constant, but not its range over a box."""

    def value(self, mu):
        return 0.9 * mu * (1.0 - mu.sum(axis=0, keepdims=True) / len(mu)) / len(mu)

    def lipschitz(self, arms):
        return 1.8


def test_accuracies_follow_from_the_lipschitz_constant():
    problem = jb.Problem(MEANS, penalties=COSTS, opportunity=Rivalry())
    rate = (np.log(T) / T) ** (1 / 3)
    prepared = jb.policy("self-regulated").prepare(problem, T)
    assert (prepared.lipschitz, prepared.beta) == (1.8, pytest.approx(rate))
    assert prepared.alpha == pytest.approx((4 * 1.8) ** (2 / 3) * rate)
    short = jb.policy("fairness-aware-etc", lipschitz=0.0005).prepare(problem, T)
    assert short.rounds_per_arm == np.floor(8 * (0.0005 * T) ** (2 / 3) * np.log(T) ** (1 / 3))
    assert jb.policy("fairness-aware-etc").prepare(problem, T).rounds_per_arm == T // 4


@pytest.mark.slow
def test_a_user_s_function_with_its_lipschitz_constant():
    problem = jb.Problem(MEANS, penalties=COSTS, opportunity=Rivalry())
    results = jb.simulate(problem, ["self-regulated", "fairness-aware-etc"], horizon=T, seeds=4)
    assert results.sizes["policy"] == 2
    assert (results.pulls.sum("arm") == T).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("self-regulated", {"alpha": 0.2, "beta": 0.3}),
        pytest.param("fairness-aware-etc", {"rounds_per_arm": 40}, marks=FULL),
    ],
)
def test_phases_in_the_engine_last_as_long_as_those_of_the_reference(kind, given):
    seeds, horizon = 3, 8000
    problem = jb.Problem([0.3, 0.8], penalties=0.6, opportunity="linear")
    results = jb.simulate(problem, jb.policy(kind, **given), horizon=horizon, seeds=seeds, record=1)
    lengths = set()
    for seed in range(seeds):
        theirs: list = []
        list(reference_rounds(problem, kind, horizon, seed, phases=theirs, **given))
        assert results.phase_rounds.values[0, 0, seed].tolist() == theirs[-1]
        lengths.add(tuple(theirs[-1]))
    assert len(lengths) > 1  # runs of a batch differ
    assert (np.array(list(lengths)).max(axis=0) > 0).all()  # and all phases are seen


class Mute(jb.Opportunity):
    """Says neither its range nor a Lipschitz constant."""

    def value(self, mu):
        return mu**2 / len(mu)


@pytest.mark.parametrize(
    ("policy", "f", "says"),
    [
        (("self-regulated", {"alpha": 0}), "uniform", r"policies\[.*\]\.alpha = 0: must be a number above 0"),
        (("self-regulated", {"beta": -1.0}), "uniform", r"policies\.beta = -1\.0"),
        (
            ("self-regulated", {"beta": 0.0}),
            "uniform",
            r"policies\[.*\]\.beta = 0\.0: must be a number above 0",
        ),
        (("self-regulated", {"alpha": [0.1, 0.2, 0.3, 0.4]}), "uniform", r"alpha = \[.*: must be a number"),
        (
            ("self-regulated", {"black_box": "fucb"}),
            "uniform",
            r"policies\.black_box = 'fucb': must be .*'ucb1'",
        ),
        (("self-regulated", {"black_box": "lfg"}), "uniform", r"policies\.black_box = 'lfg'"),
        (
            ("self-regulated", {}),
            Mute(),
            r"policies\[.*\]\.lipschitz is missing: must be given .*'Mute' does not define",
        ),
        (("self-regulated", {"alpha": 0.1}), Mute(), r"lipschitz"),
        (("fairness-aware-etc", {}), Mute(), r"lipschitz"),
        (("fairness-aware-etc", {"rounds_per_arm": 0}), "uniform", r"rounds_per_arm = 0: must be a number >= 1"),
        (("constant-opportunity", {}), "linear", r"problem\.opportunity = .*'uniform' or 'constant'"),
        (("self-regulated", {}), None, r"problem\.opportunity is missing: must be given"),
        (("constant-opportunity", {}), None, r"problem\.opportunity is missing: must be given"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused(policy, f, says):
    kind, given = policy
    with pytest.raises(jb.InputError, match=says):
        jb.simulate(jb.Problem(MEANS, penalties=0.5, opportunity=f), jb.policy(kind, **given), horizon=50, seeds=1)


@pytest.mark.parametrize("kind", TRANSFER)
def test_transfer_costs_and_a_single_play_are_needed(kind):
    with pytest.raises(jb.InputError, match=r"problem\.penalties is missing"):
        jb.simulate(jb.Problem(MEANS, opportunity="uniform"), kind, horizon=50, seeds=1)
    with pytest.raises(jb.InputError, match=r"problem\.plays = 2"):
        jb.simulate(jb.Problem(MEANS, penalties=COSTS, opportunity="uniform", plays=2), kind, horizon=50, seeds=1)


@pytest.mark.parametrize("kind", ["self-regulated", "fairness-aware-etc"])
def test_a_function_that_says_nothing_runs_with_what_the_policy_is_given(kind):
    problem = jb.Problem(MEANS, penalties=0.5, opportunity=Mute())
    assert jb.policy(kind, lipschitz=0.5).prepare(problem, 50).lipschitz == 0.5


@pytest.mark.parametrize("kind", ["self-regulated", "constant-opportunity"])
@pytest.mark.parametrize("black_box", ["fucb", "lfg", "fair-random"])
def test_what_uses_quotas_is_no_black_box(kind, black_box):
    with pytest.raises(jb.InputError, match=rf"policies\.black_box = '{black_box}': must be .*'ucb1'|ucb1"):
        jb.policy(kind, black_box=black_box)


@pytest.mark.slow
def test_late_rewards_of_earlier_plays_beat_no_arm_of_a_black_box():
    """They made `opse` count more rewards than plays, so that lower bounds were above upper ones: 98 of 100 runs."""
    late = {"kind": "fixed", "d": 100}
    problem = jb.Problem([0.45, 0.5, 0.9], penalties=1.5, opportunity={"kind": "constant", "gamma": 0.1}, delay=late)
    policy = jb.policy("self-regulated", black_box="opse")
    pulls = jb.simulate(problem, policy, horizon=3000, seeds=100, metrics=["utility_regret"]).pulls.values[0, 0]
    assert pulls[:, 2].min() > 1000
