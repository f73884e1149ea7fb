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
    return {
        opportunities.run_name(f, cost, t): final_results(
            [opportunities.OWN], t, utility_final=[t * np.broadcast_to(value(f, float(cost), t), SEEDS)]
        ).assign(phase_rounds=((*RUNS, "phase"), t * quarters))
        for f in opportunities.FUNCTIONS
        for cost in opportunities.TRANSFER_COSTS
        for t in horizons
    }


LINEAR = {"uniform": 0.0, "linear": 0.2, "softmax": 0.1}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (lambda f, cost, t: spread(0.4 - (0.3 - LINEAR[f]) * cost + 0.1 * np.log10(t)), (1, 1, 1, 1)),
        (lambda f, cost, t: spread(0.4 + (0.3 - LINEAR[f]) * cost - 0.1 * np.log10(t)), (-1, -1, -1, -1)),
        (lambda f, cost, t: spread(0.4 - (0.3 - LINEAR[f]) * cost) * (t < 50_000), (2, -1, 2, 2)),
        (lambda f, cost, t: spread(0.4, 0.1 + 0.1 * cost + LINEAR[f] + 1e-7 * t), (0, 0, 0, 0)),
    ],
    ids=["as in the paper", "the reverse", "from 50,000 on equal", "noise"],
)
def test_orders_of_utility(value, expected):
    """In lambda, in the horizon, of linear and softmax over uniform; 2: reproduced up to some horizon."""
    names = {1: REPRODUCED, -1: FAILED, 0: UNDECIDED, 2: HOLDS_UNTIL}
    data = utilities(value)
    found = [verdict(number, data) for number in (1, 3, 4, 5)]
    assert found == [names[sign] for sign in expected]


def test_a_claim_holds_from_the_horizon_where_utility_begins_to_decrease_in_lambda():
    evidence = CLAIMS["opportunities-1"](utilities(lambda f, cost, t: spread(0.4 - cost * (t - 5_000) / t)))
    assert (evidence.verdict, evidence.holds_for) == (HOLDS_FROM, "T ≥ 10,000")
    assert "take 50% (T = 1,000), 50% (T = 10,000), 50% (T = 100,000) of the rounds" in evidence.finding


def phases(value, horizons=(1_000, 10_000, 100_000)):
    """Results of figure 2: the shares of four phases, `value(f, lambda, horizon)`."""
    made = {}
    for f in opportunities.FUNCTIONS:
        for cost in opportunities.TRANSFER_COSTS:
            for t in horizons:
                rounds = np.broadcast_to(np.asarray(value(f, float(cost), t)) * t, (1, 1, SEEDS, 4))
                means, shares = np.array([[0.2, 0.5, 0.9]]), np.array([[0.2, 0.3, 0.5]])
                made[opportunities.run_name(f, cost, t)] = xr.Dataset(
                    {
                        "phase_rounds": ((*RUNS, "phase"), rounds + spread(0, 1)[:, None] * [1, 0, -1, 0]),
                        "means": (("instance", "arm"), means),
                        "opportunities": (("instance", "arm"), shares),
                    },
                    coords={"policy": [opportunities.OWN]},
                )
    return made


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


@pytest.mark.parametrize(
    ("black_box", "expected"), [(0.0, (FAILED, REPRODUCED, FAILED)), (0.9, (FAILED, FAILED, REPRODUCED))]
)
def test_rounds_of_the_black_box(black_box, expected):
    """It has all rounds; it has none; it has over half of the opportunities of arms with a gap above lambda."""
    data = phases(lambda f, cost, t: [1 - black_box, 0, 0, black_box])
    assert tuple(verdict(number, data) for number in (6, 7, 10)) == expected


def test_one_run_that_explores_at_no_cost_decides():
    data = phases(lambda f, cost, t: [0, 0, 0, 1])
    for made in data.values():
        made.phase_rounds[:] = made.phase_rounds.round() * [0, 0, 0, 1]
    assert verdict(6, data) == REPRODUCED
    changed = data[opportunities.run_name("linear", "0", 1_000)].phase_rounds
    changed[0, 0, 5] = [1, 0, 0, 999]
    assert verdict(6, data) == IN_PART


@pytest.mark.parametrize(
    ("power", "size", "expected"),
    [
        (2 / 3, 0.001, (REPRODUCED, REPRODUCED)),
        (0.5, 0.001, (FAILED, REPRODUCED)),
        (0.8, 0.001, (REPRODUCED, FAILED)),
        (2 / 3, 0.5, (UNDECIDED, UNDECIDED)),
    ],
)
def test_exponents_of_the_largest_regret(power, size, expected):
    """Three instances; the second has half as much regret again as the first."""
    data = {}
    for family in opportunities.FAMILIES:
        for t in (10_000, 100_000, 1_000_000):
            regret = t**power * np.array([[1.0], [1.5], [0.9]]) * spread(1, size)
            made = {
                "utility_regret_final": (RUNS, regret[None]),
                "pulls": ((*RUNS, "arm"), np.ones((1, 3, SEEDS, 3))),
                "opportunities": (("instance", "arm"), np.ones((3, 3)) / 3),
            }
            data[opportunities.family_name(family, t)] = xr.Dataset(made, coords={"policy": [opportunities.OWN]})
    assert (verdict(11, data), verdict(12, data)) == expected
    assert CLAIMS["opportunities-11"](data).number == pytest.approx(power, abs=1e-9)


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
