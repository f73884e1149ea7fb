"""The plays paper: what decides its claims, on results made by hand, and its findings."""

import numpy as np
import pytest
import xarray as xr
from made_up_results import RUNS, SEEDS, spread

from jaxbandit.papers import Sizes
from jaxbandit.papers.evidence import FAILED, HOLDS_FROM, HOLDS_UNTIL, IN_PART, REPRODUCED, UNDECIDED
from jaxbandit.papers.plays import experiments as plays
from jaxbandit.papers.plays.claims import CLAIMS as ALL_CLAIMS
from jaxbandit.papers.plays.findings import FINDINGS
from jaxbandit.papers.report.parameters import parameters_in_words

CLAIMS = {claim.name: claim.weigh for claim in ALL_CLAIMS}
LABELS = [*plays.OWN, *plays.RIVALS]
NOISE = spread(0, 30.0)


def weigh(number, data):
    return CLAIMS[f"plays-{number}"](data)


def verdict(number, data):
    return weigh(number, data).verdict


def results(labels, rounds, **curves):
    """Results of every run in some rounds: `name=function(label, t)` gives one value per run, or rows per instance."""
    data = {}
    for name, curve in curves.items():
        values = np.array([[np.atleast_2d(curve(label, t)) for t in rounds] for label in labels], float)
        runs = np.moveaxis(values, 1, -1)
        data[f"{name}_runs"] = ((*RUNS, "round"), runs)
        data[name] = (("policy", "instance", "round"), runs.mean(2))
        data[f"{name}_stderr"] = (("policy", "instance", "round"), runs.std(2, ddof=1) / SEEDS**0.5)
    return xr.Dataset(data, coords={"policy": labels, "round": rounds})


def grown(regret):
    """Results of figures 1 and 2: c-regret by base, theta, c and round, `regret(...)` per run."""
    data = {}
    for base, (horizon, _) in plays.ROUNDS.items():
        times = [t for t in plays.GROWTH_TIMES if t <= horizon]

        def rows(label, t):
            return [regret(label, theta, float(c), t) for theta, c in plays.CASES]

        data[plays.growth_name(base)] = results([base], times, c_regret=rows)
    return data


@pytest.mark.parametrize(
    ("regret", "expected", "holds_for"),
    [
        (lambda base, theta, c, t: spread(50) - 100 / t, REPRODUCED, ""),
        (lambda base, theta, c, t: spread(80) - 30 * (t >= 50_000), REPRODUCED, ""),  # it decreases
        (lambda base, theta, c, t: spread(8) * np.log(t), FAILED, ""),
        (lambda base, theta, c, t: spread(0.5) * np.sqrt(t), FAILED, ""),
        (lambda base, theta, c, t: spread(8) * np.log(min(t, 12_000)), HOLDS_FROM, "T ≥ 48,000"),
        (lambda base, theta, c, t: spread(8) * np.log(t) if (theta, c) == ("theta2", 0.1) else spread(50), IN_PART, ""),
        (lambda base, theta, c, t: spread(50) + (t in (6_000, 192_000)) * NOISE, UNDECIDED, ""),
    ],
    ids=["bound", "falling", "log", "root", "log and then a bound", "log in one setting", "noise"],
)
def test_growth_like_log_t_is_distinguished_from_a_bound(regret, expected, holds_for):
    found = weigh(1, grown(regret))
    assert (found.verdict, found.holds_for) == (expected, holds_for)


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
    assert [verdict(number, data) for number in (2, 3, 4)] == [names[i] for i in (increases_in_c, crossing, kl_below)]


def test_an_order_that_sets_in_late_holds_from_that_horizon():
    found = weigh(2, grown(lambda base, theta, c, t: spread(20 + c * (100 if t >= 12_000 else -100))))
    assert (found.verdict, found.holds_for) == (HOLDS_FROM, "T ≥ 12,000")


def compared(figure, **curves):
    """Results of a figure with five policies: as listed and in random orders, the same for each setting."""
    rounds = sorted({t - back for t in plays.TIMES for back in range(plays.WINDOW)})
    made = results(LABELS, rounds, **curves)
    made["pulls"] = ((*RUNS, "arm"), np.full((5, 1, SEEDS, 8), plays.TIMES[-1] // 10 - 10))
    made["means"] = (("instance", "arm"), [[0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]])
    made["fractions"] = (("instance", "arm"), [[0.1] * 8])
    made = made.assign_attrs(plays=3)
    return {one: made for name in figure.values() for one in (name, plays.reordered(name))}


REGRETS = {plays.UCB: 10, plays.KL: 8, "LFG": 30, "UCB-LP": 12, "UCB-PLLP": 90}


def regrets(**changes):
    """Curves of c-regret that do not change with t, with noise of their own."""
    mean = {**REGRETS, **{label.replace("_", "-"): value for label, value in changes.items()}}
    return lambda label, t: spread(mean[label], 0.1 * (1 + LABELS.index(label)))


@pytest.mark.parametrize(("number", "figure"), [(5, plays.COMPARED), (14, plays.UNEVEN)])
def test_the_least_regret_of_five(number, figure):
    assert verdict(number, compared(figure, c_regret=regrets())) == REPRODUCED
    found = weigh(number, compared(figure, c_regret=regrets(LFG=9)))  # less than with UCB1, more than with KL-UCB
    assert found.verdict == IN_PART
    assert "LFG minus Fair-MMAB, UCB1" in found.finding
    assert not any("LFG minus Fair-MMAB, UCB1" in setting for setting in found.inside)
    assert verdict(number, compared(figure, c_regret=regrets(LFG=1, UCB_LP=1, UCB_PLLP=1))) == FAILED
    assert verdict(number, compared(figure, c_regret=regrets(LFG=10.05))) == UNDECIDED


def test_a_rival_that_catches_up_makes_the_claim_hold_until_a_horizon():
    early, late = regrets(), regrets(LFG=1)
    data = compared(plays.COMPARED, c_regret=lambda label, t: (late if t > 5_000 else early)(label, t))
    found = weigh(5, data)
    assert (found.verdict, found.holds_for) == (HOLDS_UNTIL, "T ≤ 5,000")
    assert "lowers that of LFG by 15.0" in found.finding  # 10 rounds short for each of the bad arms: 10 (0.1 + ... 0.5)


@pytest.mark.parametrize("order", ["as listed", "random orders"])
def test_ties_and_orders_that_disagree_are_named(order):
    data, other = (compared(plays.COMPARED, c_regret=regrets(**more)) for more in ({}, {"UCB_LP": 1}))
    for name in plays.COMPARED.values():
        changed = plays.reordered(name) if order == "random orders" else name
        data[changed] = other[changed]
    found = weigh(5, data)
    assert found.verdict == IN_PART
    assert "random ties and random orders of the arms disagree for T = 500, θ₁, UCB-LP minus" in found.finding
    kept = [setting for setting in found.inside if "UCB-LP minus" in setting]
    assert kept
    assert all(("random orders" in setting) == (order == "as listed") for setting in kept)


def test_the_largest_regret_of_five():
    assert verdict(6, compared(plays.COMPARED, c_regret=regrets())) == REPRODUCED
    assert verdict(6, compared(plays.COMPARED, c_regret=regrets(UCB_PLLP=11))) == IN_PART
    assert verdict(6, compared(plays.COMPARED, c_regret=regrets(UCB_PLLP=1))) == FAILED
    growing = regrets()
    data = compared(plays.COMPARED, c_regret=lambda label, t: growing(label, t) + (label == "LFG") * t / 200)
    assert (weigh(6, data).verdict, weigh(6, data).holds_for) == (HOLDS_UNTIL, "T ≤ 10,000")


@pytest.mark.parametrize(("largest", "expected"), [(0.99, REPRODUCED), (1.0, IN_PART), (3.2, IN_PART)])
def test_one_run_of_fair_mmab_that_is_behind_by_a_round_decides(largest, expected):
    def ever(labels, instances, value):
        values = np.full((len(labels), instances, SEEDS), 0.5)
        values[0, 0, 3] = value
        return xr.Dataset({"max_deficit_ever": (RUNS, values)}, coords={"policy": labels})

    names = [*plays.COMPARED.values(), *plays.LARGE.values(), *plays.UNEVEN.values()]
    data = {one: ever(LABELS, 1, largest) for name in names for one in (name, plays.reordered(name))}
    data |= {plays.growth_name(base): ever([base], 6, 0.95) for base in plays.OWN}
    assert [verdict(number, data) for number in (7, 19)] == [expected] * 2


BEHIND = {8: plays.COMPARED, 15: plays.UNEVEN, 16: plays.LARGE}


@pytest.mark.parametrize("number", BEHIND)
@pytest.mark.parametrize(
    ("deficit", "expected"),
    [
        (lambda label, t: spread(9.0), REPRODUCED),
        (lambda label, t: spread(-9.0), FAILED),
        (lambda label, t: spread(9.0 if t >= 5_000 else -9.0), HOLDS_FROM),
        (lambda label, t: spread(9.0 if label == "LFG" else -9.0), IN_PART),
        (lambda label, t: spread(1.0, 3.0), UNDECIDED),
    ],
    ids=["behind", "ahead", "behind from 5,000 on", "one behind", "half of the runs"],
)
def test_arms_that_are_behind(number, deficit, expected):
    assert verdict(number, compared(BEHIND[number], max_deficit=deficit)) == expected


NEVER_BEHIND = {9: plays.COMPARED, 17: plays.LARGE, 18: plays.UNEVEN}


@pytest.mark.parametrize("number", NEVER_BEHIND)
def test_most_runs_decide_whether_arms_are_never_behind(number):
    def decided(deficit):
        return weigh(number, compared(NEVER_BEHIND[number], max_deficit=deficit))

    assert decided(lambda label, t: spread(-9.0)).verdict == REPRODUCED
    assert decided(lambda label, t: spread(9.0)).verdict == FAILED
    late = decided(lambda label, t: spread(9.0 if t > 3_000 else -9.0))
    assert (late.verdict, late.holds_for) == (HOLDS_UNTIL, "T ≤ 3,000")
    once = decided(lambda label, t: spread(9.0 if t == 2_995 else -9.0))  # "for all t": in any round up to T
    assert (once.verdict, once.holds_for) == (HOLDS_UNTIL, "T ≤ 2,000")
    assert decided(lambda label, t: spread(0.0, 2.0)).verdict == UNDECIDED  # half of the runs
    most = decided(lambda label, t: np.array([9.0, *[-9.0] * (SEEDS - 1)]))
    assert most.verdict == REPRODUCED
    assert dict(most.other_tolerances)["more than 0.99"] != REPRODUCED
    assert dict(late.other_tolerances)["more than 0.9"] == "holds for T ≤ 3,000"


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        (lambda t: -7.0, REPRODUCED),
        (lambda t: -1.0, FAILED),
        (lambda t: -5.0, UNDECIDED),
        (lambda t: -9.0 + t / 1_000, HOLDS_UNTIL),
    ],
    ids=["below", "above", "at the level", "rising"],
)
def test_a_level_that_deficits_stay_below(level, expected):
    data = compared(plays.COMPARED, max_deficit=lambda label, t: spread(level(t), 0.5))
    assert verdict(10, data) == expected


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (lambda label, t: 0.5, REPRODUCED),
        (lambda label, t: -8.0, FAILED),
        (lambda label, t: 1.5, FAILED),
        (lambda label, t: 0.5 if t > 2_500 else -8.0, HOLDS_FROM),
        (lambda label, t: 0.5 if label == plays.UCB else -1.0, IN_PART),  # 2 of 30 rounds are more than 5 %
    ],
    ids=["close", "far below", "above", "close from 3,000 on", "one close"],
)
def test_close_to_1_is_measured_by_the_height_of_the_panel(own, expected):
    """The curves span 30 rounds, from -9 to 21."""
    rivals = {"LFG": 21.0, "UCB-LP": 0.0, "UCB-PLLP": -9.0}

    def deficit(label, t):
        return spread(rivals[label] if label in rivals else own(label, t))

    assert verdict(11, compared(plays.COMPARED, max_deficit=deficit)) == expected


@pytest.mark.parametrize(
    ("level", "expected", "holds_for"),
    [(-9.0, REPRODUCED, ""), (20.0, FAILED, "eps_t = 0.6/sqrt(t) in Fig. 5"), (-2.0, UNDECIDED, "")],
)
def test_deficits_that_are_lower_in_figure_5(level, expected, holds_for):
    """UCB-PLLP has deficits of -2 in Fig. 4 and of `level` in Fig. 5; with eps, of 4 - 10 eps."""
    data = compared(plays.COMPARED, max_deficit=lambda label, t: spread(-2.0, 1.0))
    data |= compared(plays.LARGE, max_deficit=lambda label, t: spread(level, 2.0))
    slack = results(
        [str(eps) for eps in plays.SLACKS],
        [t for t in plays.TIMES if t <= 10_000],
        max_deficit=lambda label, t: spread(3.5 - 10 * float(label), 1.1),
    )
    found = weigh(12, data | dict.fromkeys(plays.SLACK.values(), slack))
    assert found.verdict == expected
    assert holds_for in found.holds_for


def test_c4_and_c5_are_compared_at_every_horizon():
    def data(gap):
        made = compared({"c4": plays.UNEVEN["c4"]}, c_regret=lambda label, t: spread(9.0 + gap(t), 0.2))
        return made | compared({"c5": plays.UNEVEN["c5"]}, c_regret=lambda label, t: spread(9.0, 0.1))

    assert verdict(13, data(lambda t: 5)) == REPRODUCED
    assert verdict(13, data(lambda t: -5)) == FAILED
    found = weigh(13, data(lambda t: 5 if t >= 3_000 else -5))
    assert (found.verdict, found.holds_for) == (HOLDS_FROM, "T ≥ 3,000")


def test_random_orders_permute_means_and_fractions_alike():
    made = {one.name: one.config for one in plays.experiments(Sizes())}
    for name in plays.UNEVEN.values():
        listed, ordered = made[name], made[plays.reordered(name)]
        arms = sorted(zip(listed["problem"]["means"], listed["problem"]["fractions"], strict=True))
        rows = list(zip(ordered["problem"]["means"], ordered["problem"]["fractions"], strict=True))
        assert len({tuple(means) for means, _ in rows}) == len(rows) == plays.ORDERS
        assert all(sorted(zip(*row, strict=True)) == arms for row in rows)
        assert (listed["simulation"]["ties"], ordered["simulation"]["ties"]) == ("random", "lowest")
        words = parameters_in_words([ordered], ["policies.UCB-PLLP.eps"])
        assert f"means = {plays.ORDERS} orders of (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)" in words
        assert "; UCB-LP; UCB-PLLP: alpha = 0.9, eps = 0.2*" in words  # UCB-LP has no parameters


def test_every_claim_says_what_the_paper_says_and_what_is_assumed():
    for claim in ALL_CLAIMS:
        assert all((claim.statement, claim.quotation, claim.place, claim.setting, claim.assumed, claim.tolerance))
    assert [claim.name for claim in ALL_CLAIMS if claim.invariant] == ["plays-7"]


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda one: one.name)
def test_findings_contradict_what_is_printed(finding):
    assert all((finding.place, finding.printed, finding.holds, finding.instance))
    assert finding.name.startswith("plays-")
    words, contradicts = finding.measure()
    assert words
    assert contradicts
