"""The plays paper: what decides its claims, on results made by hand."""

import numpy as np
import pytest
import xarray as xr
from made_up_results import RUNS, SEEDS, final_results, spread

from jaxbandit.papers.evidence import FAILED, IN_PART, REPRODUCED, UNDECIDED
from jaxbandit.papers.plays import experiments as plays
from jaxbandit.papers.plays.claims import CLAIMS as ALL_CLAIMS

CLAIMS = {claim.name: claim.weigh for claim in ALL_CLAIMS}
LABELS = [*plays.OWN, *plays.RIVALS]


def verdict(number, data):
    return CLAIMS[f"plays-{number}"](data).verdict


NOISE = spread(0, 30.0)


def grown(regret):
    """Results of figures 1 and 2: c-regret by base, theta, c and round, `regret(...)` per run."""
    data = {}
    for base, (rounds, _) in plays.ROUNDS.items():
        for part in (1, 4):
            times = [plays.ROUNDS[plays.KL][0], rounds] if (base, part) == (plays.UCB, 1) else [rounds // part]
            runs = np.array([[regret(base, theta, float(c), t) for t in times] for theta, c in plays.CASES])
            made = final_results([base], times, c_regret_final=[runs[:, -1]])
            made["c_regret"] = (("policy", "instance", "round"), runs.mean(2)[None])
            made["c_regret_stderr"] = (("policy", "instance", "round"), runs.std(2, ddof=1)[None] / SEEDS**0.5)
            data[plays.growth_name(base, part)] = made
    return data


@pytest.mark.parametrize(
    ("regret", "expected"),
    [
        (lambda base, theta, c, t: spread(50) - 1e4 / t, REPRODUCED),  # within 0.2 of its bound
        (lambda base, theta, c, t: spread(80) - 30 * (t >= 50_000), REPRODUCED),  # it decreases
        (lambda base, theta, c, t: spread(8) * np.log(t), FAILED),
        (lambda base, theta, c, t: spread(0.5) * np.sqrt(t), FAILED),
        (lambda base, theta, c, t: spread(8) * np.log(t) if (theta, c) == ("theta2", 0.1) else spread(50), IN_PART),
        (lambda base, theta, c, t: spread(50) + (t in (48_000, 384_000)) * NOISE, UNDECIDED),
    ],
    ids=["bound", "falling", "log", "root", "log in one setting", "noise"],
)
def test_growth_like_log_t_is_distinguished_from_a_bound(regret, expected):
    assert verdict(1, grown(regret)) == expected


@pytest.mark.parametrize(
    ("regret", "increases_in_c", "crossing", "kl_below"),
    [
        (lambda base, theta, c, t: spread(c * (10 + 40 * (theta == "theta2")) + 4 * (theta == "theta1")), 1, 1, 0),
        (lambda base, theta, c, t: spread(20 - 100 * c + (base == plays.UCB)), -1, 0, 1),
        (lambda base, theta, c, t: spread(20 + 9 * c - (base == plays.UCB)), 1, 0, -1),
        (lambda base, theta, c, t: NOISE * (1 + c + (theta == "theta1") + 5 * (base == plays.UCB)), 0, 0, 0),
    ],
    ids=["crossing", "decreasing in c", "increasing in c", "noise"],
)
def test_orders_of_regret(regret, increases_in_c, crossing, kl_below):
    """1: reproduced; -1: not reproduced; 0: cannot be told, as where means or runs are equal pair by pair."""
    data, names = grown(regret), {1: REPRODUCED, -1: FAILED, 0: UNDECIDED}
    found = [verdict(number, data) for number in (2, 3, 4)]
    assert found == [names[sign] for sign in (increases_in_c, crossing, kl_below)]


def compared(names, **values):
    """Results of the figures with five policies, the same in each experiment; one row of values per policy.

    Every bad arm has its 1000 rounds, except the last arm under LFG, which lacks 8 to 12 of them.
    """
    made = final_results(LABELS, 10_000, **values)
    pulls = np.full((5, 1, SEEDS, 8), 1000)
    pulls[2, 0, :, 7] = 990 + 2 * spread(0, 1)
    made["pulls"] = ((*RUNS, "arm"), pulls)
    made["means"] = (("instance", "arm"), [[0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]])
    made["fractions"] = (("instance", "arm"), [[0.1] * 8])
    return dict.fromkeys(names, made.assign_attrs(plays=3))


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        ([10, 8, 30, 12, 90], (REPRODUCED, REPRODUCED)),
        ([10, 8, 9, 12, 11], (IN_PART, IN_PART)),
        ([10, 8, 10.05, 12, 90], (UNDECIDED, REPRODUCED)),
    ],
    ids=str,
)
def test_the_least_and_the_largest_regret_of_five(means, expected):
    rows = [spread(mean, 0.1 * (1 + i)) for i, mean in enumerate(means)]
    data = compared(plays.COMPARED.values(), c_regret_final=rows)
    assert (verdict(5, data), verdict(6, data)) == expected
    if expected[0] == IN_PART:  # (0.7 - 0.2) 10
        assert "lowers its own c-regret by 5.0 (θ₁), 5.0 (θ₂) rewards" in CLAIMS["plays-5"](data).finding


@pytest.mark.parametrize(("largest", "expected"), [(0.99, REPRODUCED), (1.0, IN_PART), (3.2, IN_PART)])
def test_one_run_that_is_behind_by_a_round_decides(largest, expected):
    rows = np.full((5, SEEDS), 0.5)
    rows[:2, 3] = largest
    rows[4] = rows[0]
    data = compared([*plays.COMPARED.values(), *plays.LARGE.values()], max_deficit_ever=rows)
    data |= compared(plays.UNEVEN.values(), max_deficit_ever=rows)
    data |= {
        plays.growth_name(base): final_results([base], 9, max_deficit_ever=np.full((1, 6, SEEDS), 0.95))
        for base in plays.OWN
    }
    assert verdict(7, data) == expected
    assert verdict(9, data) == (REPRODUCED if expected == REPRODUCED else FAILED)  # in every setting


@pytest.mark.parametrize(
    ("level", "unfair", "lower"), [(-9, FAILED, REPRODUCED), (20, REPRODUCED, FAILED), (1, UNDECIDED, UNDECIDED)]
)
def test_deficits_beyond_a_level(level, unfair, lower):
    """In Fig. 5 LFG, UCB-LP and UCB-PLLP have deficits of `level`; UCB-PLLP has `level` in Fig. 4 too, and then 1."""
    rows = [spread(0.5), spread(0.5), *[spread(level, 1.0)] * 3]
    less = [*rows[:4], spread(1.0, 2.0)]
    data = compared(plays.LARGE.values(), max_deficit_final=rows)
    data |= compared(plays.COMPARED.values(), max_deficit_final=rows)
    assert verdict(8, data) == unfair
    data |= compared(plays.COMPARED.values(), max_deficit_final=less)
    assert verdict(12, data) == lower


@pytest.mark.parametrize(
    ("level", "expected", "holds_for"),
    [
        (-7.0, REPRODUCED, ""),
        (-1.0, FAILED, "eps_t = 0.6/sqrt(t) at T = 10,000"),
        (-5.0, UNDECIDED, "eps_t = 0.6/sqrt(t) at T = 10,000"),
    ],
)
def test_a_level_that_deficits_stay_below(level, expected, holds_for):
    data = compared(plays.COMPARED.values(), max_deficit_final=[spread(0)] * 4 + [spread(level, 0.5)])
    slack = {
        "max_deficit": (("policy", "instance", "round"), [[[-10 * eps] * 3] for eps in plays.SLACKS]),
        "max_deficit_stderr": (("policy", "instance", "round"), [[[0.1] * 3]] * len(plays.SLACKS)),
    }
    made = xr.Dataset(slack, coords={"policy": [str(eps) for eps in plays.SLACKS], "round": [10_000, 20_000, 40_000]})
    evidence = CLAIMS["plays-10"](data | dict.fromkeys(plays.SLACK.values(), made))
    assert (evidence.verdict, evidence.holds_for) == (expected, holds_for)
