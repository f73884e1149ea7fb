"""The guarantees paper: ranges of horizons, fractions and eta in which its claims hold, on results made by hand."""

import numpy as np
import pytest
from made_up_results import MadeUpData, spread

from jaxbandit.papers import Sizes
from jaxbandit.papers.evidence import FAILED, HOLDS_FROM, HOLDS_UNTIL, IN_PART, REPRODUCED, UNDECIDED
from jaxbandit.papers.guarantees import experiments as guarantees
from jaxbandit.papers.guarantees.claims import CLAIMS as ALL_CLAIMS

CLAIMS = {claim.name: claim for claim in ALL_CLAIMS}
EXPERIMENTS = guarantees.experiments(Sizes())
REGRET, R_REGRET, ETA, CLIPPED = guarantees.REGRET, guarantees.R_REGRET, guarantees.ETA, guarantees.CLIPPED
FRACTIONS, TIMES, KNOWN_TIMES = guarantees.FRACTIONS, guarantees.TIMES, guarantees.KNOWN_TIMES


def log(t):
    return np.log(t)


def root(t):
    return np.sqrt(t)


def through(*values):
    """A curve with these values at the horizons of the claims."""
    return lambda t: np.interp(np.log(t), np.log(TIMES), values)


def plant(data, name, metric, label, curve, scale=1.0, instance=slice(None), size=0.01):
    """Give every run of a policy a curve, times 1 - size in half of the runs and 1 + size in the others."""
    results = data[name]
    number = results.policy.values.tolist().index(label)
    runs = spread(1.0, size)[:, None] * scale * curve(np.asarray(results["round"].values, float))
    results[f"{metric}_runs"].values[number, instance] = runs


def plant_final(data, label, curve, scale=1.0):
    """Likewise, at the horizon of each simulation of the policies that know it."""
    for t in KNOWN_TIMES:
        results = data[guarantees.known_name(t)]
        results.r_regret_final.values[results.policy.values.tolist().index(label)] = spread(scale * curve(float(t)))


@pytest.fixture
def data():
    """Results in which every claim holds."""
    made = MadeUpData(EXPERIMENTS)
    for label, scale in {"UCB1": 100, "FUCB": 100, "η-FUCB": 101, "LFG": 98, "F-TS": 50}.items():
        plant(made, REGRET, "regret", label, log, scale)
    for label, scale in {"FUCB": 100, "F-TS": 80, "η-FUCB": 120, "LFG": 50}.items():
        plant(made, R_REGRET, "r_regret", label, log, scale)
    for label, scale in {"FUCB": 100, "LFG": 50}.items():
        plant(made, FRACTIONS, "r_regret", label, log, scale)
    for name in (R_REGRET, FRACTIONS):
        plant(made, name, "regret", "UCB1", log, 100)
        plant(made, name, "r_regret", "UCB1", log, 100)
    for name in (ETA, CLIPPED):
        for number, label in enumerate(made[name].policy.values.tolist()):
            plant(made, name, "r_regret", label, log, 10.0 + number)
            plant(made, name, "unfairness", label, np.zeros_like)
    plant_final(made, "T-FUCB", log, 90)
    plant_final(made, "NAIVE", root)
    return made


def verdict(number, data):
    return CLAIMS[f"guarantees-{number}"].weigh(data).verdict


def holds_for(number, data):
    return CLAIMS[f"guarantees-{number}"].weigh(data).holds_for


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_that_holds_is_reproduced(data, name):
    evidence = CLAIMS[name].weigh(data)
    assert (evidence.verdict, evidence.finding, evidence.holds_for) == (REPRODUCED, "", "")


LATE = through(500, 600, 700, 2000, 5000)  # far above 100 log T from T = 80,000 on
SLOW = through(1, 2, 4, 8, 10)  # ratios of growth 2, 2 and 1/2
BREAKS = {  # claim, what is planted, verdict, range in which it holds
    "late above UCB1": (1, [(REGRET, "regret", "η-FUCB", lambda t: log(t) * (1 + (t > 2e4)), 100)], HOLDS_UNTIL, None),
    "F-TS above it late": (2, [(REGRET, "regret", "F-TS", LATE)], HOLDS_UNTIL, "T ≤ 20,000"),
    "LFG least of three": (8, [(R_REGRET, "r_regret", "F-TS", log, 40)], IN_PART, ""),
    "η = 1 linear": (5, [(ETA, "r_regret", "η-FUCB (eta=1)", lambda t: t)], FAILED, "γ clipped at 0, all T"),
    "a smaller η linear": (5, [(ETA, "r_regret", "η-FUCB (eta=0.1)", lambda t: t)], REPRODUCED, ""),
    "less at T = 1,250": (
        4,
        [(ETA, "r_regret", "η-FUCB (eta=1)", through(1, 160, 190, 220, 250))],
        HOLDS_FROM,
        "T ≥ 5,000",
    ),
    "less for a larger η": (4, [(ETA, "r_regret", "η-FUCB (eta=1)", log, 5)], IN_PART, ""),
    "F-TS above FUCB": (12, [(R_REGRET, "r_regret", "F-TS", log, 130)], FAILED, ""),
    "F-TS below FUCB late": (12, [(R_REGRET, "r_regret", "F-TS", through(900, 900, 900, 50, 50))], HOLDS_FROM, None),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_planted_effect_flips_a_claim(data, name):
    number, effects, expected, where = BREAKS[name]
    for effect in effects:
        plant(data, *effect)
    evidence = CLAIMS[f"guarantees-{number}"].weigh(data)
    assert evidence.verdict == expected
    assert where is None or evidence.holds_for == where
    assert bool(evidence.finding) == (expected != REPRODUCED)


def plant_growth(data, curve, instances=slice(None), with_figure=True):
    for label in ("FUCB", "LFG"):
        plant(data, FRACTIONS, "r_regret", label, curve, instance=instances)
        if with_figure:
            plant(data, R_REGRET, "r_regret", label, curve)


@pytest.mark.slow
def test_logarithmic_growth_has_a_range_of_horizons_and_of_fractions(data):
    plant_growth(data, SLOW, instances=0, with_figure=False)  # r = 0.001 alone
    assert (verdict(3, data), holds_for(3, data)) == (HOLDS_FROM, "T ≥ 320,000")
    plant_growth(data, root, instances=0, with_figure=False)
    assert (verdict(3, data), holds_for(3, data)) == (IN_PART, "r from 0.01 to 0.09")
    plant_growth(data, SLOW, instances=slice(1, None))
    assert (verdict(3, data), holds_for(3, data)) == (HOLDS_FROM, "T ≥ 320,000, r from 0.01 to 0.09")
    plant_growth(data, root)
    assert verdict(3, data) == FAILED


def test_what_does_not_grow_says_nothing_of_logarithmic_growth(data):
    plant_growth(data, lambda t: 100 / t)
    assert verdict(3, data) == UNDECIDED
    plant(data, ETA, "r_regret", "η-FUCB (eta=1)", lambda t: 100 / t)
    assert verdict(5, data) == UNDECIDED


def test_a_clipped_deficit_is_named_only_where_the_claim_holds_for_it(data):
    for name in (ETA, CLIPPED):
        plant(data, name, "r_regret", "η-FUCB (eta=1)", lambda t: t)
    assert (verdict(5, data), holds_for(5, data)) == (FAILED, "")
    plant(data, CLIPPED, "r_regret", "η-FUCB (eta=1)", SLOW)
    assert holds_for(5, data) == "γ clipped at 0, T ≥ 320,000"


def test_an_arm_behind_by_a_round_breaks_the_theorem(data):
    labels = data[R_REGRET].policy.values.tolist()
    data[R_REGRET].max_deficit_ever.values[labels.index("LFG")] = 7.0  # of another policy
    assert verdict(6, data) == REPRODUCED
    data[R_REGRET].max_deficit_ever.values[labels.index("FUCB"), 0, 3] = 1.25
    assert verdict(6, data) == FAILED


@pytest.mark.parametrize(
    ("number", "label", "curve", "scale", "expected"),
    [
        (9, "T-FUCB", through(0, 900, 900, 900, 900), 1, HOLDS_FROM),
        (10, "NAIVE", log, 1, REPRODUCED),
        (11, "T-FUCB", lambda t: t, 1, FAILED),
        (11, "T-FUCB", through(1, 2, 4, 8, 10), 1, HOLDS_FROM),
    ],
)
def test_policies_that_know_the_horizon(data, number, label, curve, scale, expected):
    plant_final(data, label, curve, scale)
    assert verdict(number, data) == expected


def test_the_same_regret_at_every_horizon_is_a_tie(data):
    for t in KNOWN_TIMES:
        results = data[guarantees.known_name(t)]
        fucb = data[R_REGRET].r_regret_runs.sel(policy="FUCB", round=t).values
        results.r_regret_final.values[results.policy.values.tolist().index("T-FUCB")] = fucb
    assert verdict(9, data) == UNDECIDED


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 7, 8, 12])
def test_a_claim_that_the_noise_hides_cannot_be_told(data, number):
    for name in (REGRET, R_REGRET, FRACTIONS, ETA, CLIPPED):
        for metric in ("regret", "r_regret"):
            if f"{metric}_runs" in data[name]:
                runs = data[name][f"{metric}_runs"].values
                runs += 1e5 * np.random.default_rng(2).standard_normal(runs.shape)
    assert verdict(number, data) == UNDECIDED
