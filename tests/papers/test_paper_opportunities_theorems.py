"""The opportunities paper: its example, theorems and App. B on results made by hand, and its findings."""

from functools import partial

import numpy as np
import pytest
import xarray as xr
from made_up_results import RUNS, SEEDS, final_results, spread

from jaxbandit.papers.evidence import FAILED, HOLDS_FROM, HOLDS_UNTIL, IN_PART, REPRODUCED, UNDECIDED
from jaxbandit.papers.opportunities import experiments as opportunities
from jaxbandit.papers.opportunities import findings
from jaxbandit.papers.opportunities.claims import CLAIMS as ALL_CLAIMS
from jaxbandit.papers.opportunities.theory import ARMS, printed_rate_of_theorem_1

CLAIMS = {claim.name: claim.weigh for claim in ALL_CLAIMS}


def families(regret, size=0.01):
    """Results of the lower-bound families: `regret(L, horizon)` of the second of three instances, the largest."""
    data = {}
    for family, (_, scale) in opportunities.FAMILIES.items():
        for t in opportunities.FAMILY_HORIZONS:
            runs = regret(scale, t) * np.array([[0.5], [1.0], [0.7]]) * spread(1, size)
            made = {"utility_regret_final": (RUNS, runs[None])}
            data[opportunities.family_name(family, t)] = xr.Dataset(made, coords={"policy": [opportunities.OWN]})
    return data


@pytest.mark.parametrize(
    ("regret", "expected"),
    [
        (lambda scale, t: t ** (2 / 3), REPRODUCED),
        (lambda scale, t: 1e-3 * t ** (2 / 3), FAILED),
        (lambda scale, t: t**0.5, REPRODUCED),
        (lambda scale, t: 0.05 * t**0.5, IN_PART),
        (lambda scale, t: t / 6, REPRODUCED),
    ],
)
def test_largest_regret_of_the_lower_bound_families(regret, expected):
    assert CLAIMS["opportunities-11"](families(regret)).verdict == expected


@pytest.mark.parametrize(
    ("regret", "expected"),
    [
        (lambda f, t: 5 * t**0.69, REPRODUCED),
        (lambda f, t: (t <= 50_000) * t + t**0.5, REPRODUCED),  # shorter horizons are left out
        (lambda f, t: 0.01 * t, FAILED),  # linear, though small
        (lambda f, t: t if f == "linear" else t**0.5, IN_PART),
        (lambda f, t: -t, UNDECIDED),
    ],
)
def test_regret_of_algorithm_2(regret, expected):
    data = {}
    for f in opportunities.FUNCTIONS:
        for t in opportunities.HORIZONS:
            runs = np.multiply.outer([0.0, 1.0, 2.0], regret(f, t) * spread(1))  # a transfer cost of 0.4 has the second
            made = final_results([opportunities.OWN], t, utility_regret_final=runs[None])
            data[opportunities.run_name(f, t)] = made
    assert CLAIMS["opportunities-12"](data).verdict == expected


def regrets(name, horizons, **values):
    """Results of the policies with regrets `values[label](horizon)`, by horizon."""
    data = {}
    for t in horizons:
        runs = [np.broadcast_to(value(t), SEEDS) for value in values.values()]
        labels = [label.replace("_", "-") for label in values]
        data[name(t)] = final_results(labels, t, utility_regret_final=runs)
    return data


@pytest.mark.parametrize(
    ("per_round", "etc", "classical"),
    [
        (lambda t: 0.05 + spread(0, 0.001), REPRODUCED, REPRODUCED),
        (lambda t: 0.05 - 30 / t + spread(0, 0.001), HOLDS_FROM, HOLDS_FROM),
        (lambda t: 0.05 * (1_000 / t) ** 0.5 + spread(0, 0.001), HOLDS_UNTIL, HOLDS_UNTIL),
        (lambda t: spread(0.0, 0.001), FAILED, FAILED),
        (lambda t: spread(0.025, 0.1), UNDECIDED, UNDECIDED),
    ],
    ids=["linear", "from some horizon on", "vanishing", "none", "noise"],
)
def test_regret_in_the_example_of_explore_then_commit(per_round, etc, classical):
    labels = dict.fromkeys(("explore_then_commit", "ucb1", "thompson"), lambda t: t * per_round(t))
    data = regrets(opportunities.etc_name, opportunities.ETC_HORIZONS, **labels)
    assert CLAIMS["opportunities-14"](data).verdict == etc
    assert CLAIMS["opportunities-15"](data).verdict == classical


def test_one_classical_policy_without_regret_is_found():
    large, small = (lambda t: 0.05 * t + spread(0)), (lambda t: 0.001 * t + spread(0))
    data = regrets(
        opportunities.etc_name, opportunities.ETC_HORIZONS, explore_then_commit=large, ucb1=large, thompson=small
    )
    assert CLAIMS["opportunities-15"](data).verdict == IN_PART
    assert CLAIMS["opportunities-14"](data).verdict == REPRODUCED


def regrets_of_algorithm_1(regret):
    """Results of the problems of Theorem 1: `regret(f, horizon)`."""
    data = {}
    for f in opportunities.THEOREM_1_FUNCTIONS:
        for t in opportunities.THEOREM_1_HORIZONS:
            name = partial(opportunities.theorem_1_name, f)
            data |= regrets(name, (t,), fairness_aware_etc=lambda t, f=f: regret(f, t) * spread(1))
    return data


@pytest.mark.parametrize(
    ("regret", "expected"),
    [
        (printed_rate_of_theorem_1, REPRODUCED),
        (lambda f, t: 0.01 * t, FAILED),  # linear, though small
        (lambda f, t: {"linear": 0.2525, "softmax": 0.1809}[f] * t, FAILED),  # all arms in turn
        (lambda f, t: t if f == "linear" else t**0.5, IN_PART),
        (lambda f, t: printed_rate_of_theorem_1(f, t) + (t <= 10_000) * t, REPRODUCED),  # N would be above T/K
        (lambda f, t: -t, UNDECIDED),
    ],
)
def test_regret_of_algorithm_1(regret, expected):
    assert CLAIMS["opportunities-16"](regrets_of_algorithm_1(regret)).verdict == expected


def test_one_horizon_has_no_exponent():
    data = regrets(partial(opportunities.theorem_1_name, "linear"), (100_000,), fairness_aware_etc=lambda t: spread(1))
    assert CLAIMS["opportunities-16"](data).verdict == UNDECIDED


def appendix_b(own, constant, box, first_phase=2):
    """Results of the example of App. B: the regrets of three policies, and the rounds of the first phase."""
    data = {}
    for t in opportunities.APPENDIX_B_HORIZONS:
        labels = [opportunities.OWN, opportunities.CONSTANT, opportunities.UCB1]
        runs = [np.broadcast_to(value(t), SEEDS) for value in (own, constant, box)]
        made = final_results(labels, t, utility_regret_final=runs, pulls=np.ones((3, 1, SEEDS)))
        phases = np.full((3, 1, SEEDS, 2), [first_phase, t - first_phase])
        data[opportunities.appendix_b_name(t)] = made.assign(
            phase_rounds=((*RUNS, "phase"), phases), means=(("instance", "arm"), np.ones((1, 2)))
        )
    return data


@pytest.mark.parametrize(
    ("own", "constant", "first_phase", "expected"),
    [
        (lambda t: 5 * t ** (2 / 3) * spread(1), lambda t: 101 + spread(0), 2, (REPRODUCED, REPRODUCED, REPRODUCED)),
        (lambda t: 5 * t * spread(1), lambda t: 101 + spread(0), 2, (FAILED, REPRODUCED, REPRODUCED)),
        (lambda t: spread(90, 1), lambda t: 101 + spread(0), 2, (FAILED, REPRODUCED, REPRODUCED)),
        (lambda t: 5 * t ** (2 / 3) * spread(1), lambda t: 120 + spread(0), 3, (REPRODUCED, FAILED, FAILED)),
        (lambda t: spread(101, 1000), lambda t: 101 + spread(0, 200), 2, (UNDECIDED, UNDECIDED, REPRODUCED)),
        (lambda t: spread(101, 1) + 99 * (t > 50_000), lambda t: 110 + spread(0), 2, (HOLDS_FROM, None, REPRODUCED)),
    ],
)
def test_example_of_appendix_b(own, constant, first_phase, expected):
    data = appendix_b(own, constant, lambda t: 100 + spread(0), first_phase)
    found = [CLAIMS[f"opportunities-{number}"](data).verdict for number in (17, 18, 19)]
    assert [one for one, given in zip(found, expected, strict=True) if given] == [one for one in expected if one]


@pytest.mark.parametrize(("power", "expected"), [(0.5, REPRODUCED), (0.8, IN_PART)])
def test_regret_of_algorithm_3(power, expected):
    def regret(t):
        return (ARMS * t * np.log(t)) ** power / 30 ** (2 * power - 1) * spread(1)

    data = regrets(opportunities.proposition_4_name, opportunities.APPENDIX_B_HORIZONS, constant_opportunity=regret)
    small = opportunities.proposition_4_name(10_000)
    data[small] = data[small] * (1 if power == 0.5 else 1e-3)
    assert CLAIMS["opportunities-20"](data).verdict == expected


@pytest.mark.parametrize("claim", ALL_CLAIMS, ids=lambda claim: claim.name)
def test_every_claim_says_what_it_quotes_and_assumes(claim):
    assert all((claim.quotation, claim.place, claim.setting, claim.assumed, claim.tolerance))


def test_the_invariants_are_marked():
    marked = {claim.name for claim in ALL_CLAIMS if claim.invariant}
    assert marked == {f"opportunities-{number}" for number in (2, 6, 11, 19)}


@pytest.mark.parametrize("finding", findings.FINDINGS, ids=lambda finding: finding.name)
def test_every_finding_contradicts_what_is_printed(finding):
    numbers, contradicts = finding.measure()
    assert contradicts
    assert any(character.isdigit() for character in numbers)


def test_the_horizon_from_which_phase_1_ends_solves_its_equation():
    first = findings.shortest_horizon_with_opportunities(0.05)
    for t, ends in ((first - 1, False), (first, True)):
        beta = (np.log(t) / t) ** (1 / 3)
        radius = 2 * np.sqrt(2 * np.log(t) / (t / 6))  # of the interval of a gap after T/K rounds per arm
        assert (radius <= 0.05 + beta) == ends
