"""The opportunities paper: what decides its claims, on results made by hand."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from made_up_results import RUNS, SEEDS, MadeUpData, final_results, spread

from jaxbandit.papers import Sizes
from jaxbandit.papers.evidence import FAILED, HOLDS_FROM, HOLDS_UNTIL, IN_PART, REPRODUCED, UNDECIDED
from jaxbandit.papers.opportunities import experiments as opportunities
from jaxbandit.papers.opportunities import figures
from jaxbandit.papers.opportunities.claims import CLAIMS as ALL_CLAIMS

CLAIMS = {claim.name: claim.weigh for claim in ALL_CLAIMS}


def verdict(number, data):
    return CLAIMS[f"opportunities-{number}"](data).verdict


def utilities(value, horizons=(1_000, 10_000, 100_000)):
    """Results of figure 1: average utility `value(f, lambda, horizon)`, `[SEEDS]`; phases of equal length."""
    quarters = np.ones((1, 1, SEEDS, 4)) / 4

    def made(f, cost, t):
        utility = [t * np.broadcast_to(value(f, cost, t), SEEDS)]
        phases = {"phase_rounds": ((*RUNS, "phase"), t * quarters)}
        return final_results([opportunities.OWN], t, utility_final=utility).assign(phases)

    return by_transfer_cost(made, opportunities.FUNCTIONS, horizons)


def by_transfer_cost(made, functions, horizons):
    """By the name of the experiment, the results `made(f, lambda, horizon)`, one instance for each lambda."""
    costs = [float(cost) for cost in opportunities.TRANSFER_COSTS]
    return {
        opportunities.run_name(f, t): xr.concat([made(f, cost, t) for cost in costs], "instance")
        for f in functions
        for t in horizons
    }


LINEAR = {"uniform": 0.0, "linear": 0.2, "softmax": 0.1}
NAMES = {1: REPRODUCED, -1: FAILED, 0: UNDECIDED, 2: HOLDS_UNTIL}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (lambda f, cost, t: spread(0.4 - (0.3 - LINEAR[f]) * cost + 0.1 * np.log10(t)), (1, 1, 1)),
        (lambda f, cost, t: spread(0.4 + (0.3 - LINEAR[f]) * cost - 0.1 * np.log10(t)), (-1, -1, -1)),
        (lambda f, cost, t: spread(0.4 - (0.3 - LINEAR[f]) * cost) * (t < 50_000), (2, -1, 2)),
        (lambda f, cost, t: spread(0.4, 0.1 + 0.1 * cost + LINEAR[f] + 1e-7 * t), (0, 0, 0)),
    ],
    ids=["as in the paper", "the reverse", "from 50,000 on equal", "noise"],
)
def test_orders_of_utility(value, expected):
    """In lambda, in the horizon, and of f linear over uniform; 2: reproduced up to some horizon."""
    data = utilities(value)
    assert [verdict(number, data) for number in (1, 3, 4)] == [NAMES[sign] for sign in expected]


def test_a_claim_holds_from_the_horizon_where_utility_begins_to_decrease_in_lambda():
    evidence = CLAIMS["opportunities-1"](utilities(lambda f, cost, t: spread(0.4 - cost * (t - 5_000) / t)))
    assert (evidence.verdict, evidence.holds_for) == (HOLDS_FROM, "T ≥ 10,000")
    assert "take 50% (T = 1,000), 50% (T = 10,000), 50% (T = 100,000) of the rounds" in evidence.finding


@pytest.mark.parametrize(("rewards", "expected"), [(5, UNDECIDED), (50, REPRODUCED)])
def test_whole_numbers_of_rounds_decide_nothing(rewards, expected):
    """A difference of 5 rewards in all T rounds, the same in every run, is a tie; one of 50 is a difference."""
    data = utilities(lambda f, cost, t: spread(0.5) + rewards / t * (f == "linear"))
    assert verdict(4, data) == expected


@pytest.mark.parametrize(
    ("curve", "slope", "expected"),
    [
        (("uniform", 0.8), 0.0, REPRODUCED),  # it cannot change: left out
        (("linear", 0.8), 0.0, UNDECIDED),
        (("linear", 0.8), -0.1, IN_PART),
    ],
)
def test_one_curve_that_does_not_increase(curve, slope, expected):
    def value(f, cost, t):
        own = (f, cost) == curve
        return spread(0.5, 0.01 * (t == 10_000)) + (slope if own else 0.1) * np.log10(t)

    assert verdict(3, utilities(value)) == expected


MU, ENTITLED = np.array([0.2, 0.5, 0.9]), {"uniform": np.ones(3) / 3, "softmax": np.array([0.2, 0.3, 0.5])}


def allocations(shares, horizons=(1_000, 10_000, 100_000)):
    """Results of three arms: the shares of the rounds `shares(f, lambda, horizon)`, and the utility that they bring."""

    def made(f, cost, t):
        runs = np.asarray(shares(f, cost, t)) + spread(0, 1e-5)[:, None] * [1, 0, -1]
        withheld = np.maximum(ENTITLED[f] - runs, 0).sum(axis=-1)
        data = {
            "pulls": ((*RUNS, "arm"), t * runs[None, None]),
            "utility_final": (RUNS, t * (runs @ MU - cost * withheld)[None, None]),
            "means": (("instance", "arm"), MU[None]),
            "opportunities": (("instance", "arm"), ENTITLED[f][None]),
            "phase_rounds": ((*RUNS, "phase"), np.full((1, 1, SEEDS, 4), t / 4)),
        }
        return xr.Dataset(data, coords={"policy": [opportunities.OWN]})

    return by_transfer_cost(made, ("uniform", "softmax"), horizons)


EQUAL = ENTITLED["uniform"]


@pytest.mark.parametrize(
    ("shares", "expected", "range_"),
    [
        (lambda f, t: ENTITLED[f], REPRODUCED, ""),
        (lambda f, t: EQUAL if t < 5_000 else ENTITLED[f], HOLDS_FROM, "T ≥ 10,000"),
        (lambda f, t: ENTITLED[f] if t < 5_000 else EQUAL, HOLDS_UNTIL, "T ≤ 1,000"),
        (lambda f, t: EQUAL if f == "uniform" else EQUAL[::-1] - [0, -0.1, 0.1], FAILED, ""),
    ],
    ids=["as entitled", "explores first", "explores later", "the reverse"],
)
def test_allocations_at_the_larger_transfer_cost(shares, expected, range_):
    """The value of the allocations' difference, rounds that are opportunities, and more rounds for better arms."""
    data = allocations(lambda f, cost, t: shares(f, t))
    for number in (5, 7, 13):
        evidence = CLAIMS[f"opportunities-{number}"](data)
        if number == 13 and expected == FAILED:
            assert evidence.verdict == IN_PART  # the second arm has more rounds than the first, the third fewer
        else:
            assert (evidence.verdict, evidence.holds_for) == (expected, range_), number


def test_an_allocation_that_ignores_the_fairness_function_is_told():
    data = allocations(lambda f, cost, t: ENTITLED["softmax"])
    assert verdict(13, data) != REPRODUCED


@pytest.mark.parametrize(
    ("withheld", "expected"),
    [((1, 0, 0), IN_PART), ((1, 1, 0), REPRODUCED), ((0, 0, 0), IN_PART), ((1, 1, 1), IN_PART), ((0, 0, 1), FAILED)],
)
def test_arms_with_a_gap_above_the_transfer_cost(withheld, expected):
    """Arms 1 and 2 have gaps above 0.4; 90 % of a share is withheld."""
    kept = ENTITLED["softmax"] * (1 - 0.9 * np.array(withheld))
    data = allocations(lambda f, cost, t: kept)
    for made in data.values():
        made["means"] = (("instance", "arm"), np.array([[0.2, 0.45, 0.9]] * 3))
    evidence = CLAIMS["opportunities-10"](data)
    assert evidence.verdict == expected
    assert ("withheld from 0.5 on", expected) in evidence.other_tolerances


def phases(value, horizons=(1_000, 10_000, 100_000)):
    """Results of figure 2: the shares of four phases, `value(f, lambda, horizon)`."""

    def made(f, cost, t):
        rounds = np.broadcast_to(np.asarray(value(f, cost, t)) * t, (1, 1, SEEDS, 4))
        rounds = rounds + spread(0, 1)[:, None] * [1, 0, -1, 0]
        return xr.Dataset({"phase_rounds": ((*RUNS, "phase"), rounds)}, coords={"policy": [opportunities.OWN]})

    return by_transfer_cost(made, opportunities.FUNCTIONS, horizons)


@pytest.mark.parametrize(
    ("exploration", "expected"),
    [
        (lambda t: 0.9 - 0.1 * np.log10(t), REPRODUCED),
        (lambda t: 0.1 + 0.1 * np.log10(t), FAILED),
        (lambda t: 0.5, UNDECIDED),  # up to one round
    ],
    ids=["less", "more", "the same"],
)
def test_shares_of_phases(exploration, expected):
    data = phases(lambda f, cost, t: [exploration(t) / 2, exploration(t) / 2, 0.9 - exploration(t), 0.1])
    assert verdict(8, data) == expected
    assert verdict(9, data) == expected


def test_one_run_that_explores_at_no_cost_decides():
    data = phases(lambda f, cost, t: [0, 0, 0, 1])
    for made in data.values():
        made.phase_rounds[:] = made.phase_rounds.round() * [0, 0, 0, 1]
    assert verdict(6, data) == REPRODUCED
    changed = data[opportunities.run_name("softmax", 1_000)].phase_rounds
    changed[0, 0, 5] = [1, 0, 0, 999]
    assert verdict(6, data) == IN_PART


def test_one_run_with_another_utility_decides():
    data = utilities(lambda f, cost, t: spread(0.5))
    assert verdict(2, data) == REPRODUCED
    data[opportunities.run_name("linear", 1_000)].utility_final[0, 0, 3] += 1
    assert verdict(2, data) == IN_PART


def test_the_line_of_the_lower_bound_ends_at_the_regret_of_the_longest_horizon():
    data = MadeUpData(opportunities.experiments(Sizes(quick=True)))
    figure = figures._lower_bound_figure(data).figure
    lines = [line for line in figure.axes[0].lines if line.get_label().startswith("slope")]
    assert len(lines) == len(opportunities.FAMILIES)
    for family, line in zip(opportunities.FAMILIES, lines, strict=True):
        times, regret, _ = opportunities.worst_regret(data, family)
        x, y = line.get_data()
        np.testing.assert_allclose(np.diff(np.log(y)) / np.diff(np.log(x)), 2 / 3)
        assert (x[-1], y[-1]) == pytest.approx((times[-1], regret[-1]))
    plt.close(figure)
