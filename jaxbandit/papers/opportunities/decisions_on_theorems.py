"""The evidence on the example of section 3, the theorems and App. B: each function returns the verdict on a claim."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from jaxbandit.metrics.bounds.opportunities import utility_regret_lower_bound
from jaxbandit.papers.evidence import (
    Estimate,
    Evidence,
    decide,
    decide_over_time,
    decide_with_tolerances,
    final_values,
    horizon_exponent,
    mean_over_runs,
    ratio,
    values_in_words,
)
from jaxbandit.papers.experiment import Data
from jaxbandit.papers.opportunities.experiments import (
    APPENDIX_B_HORIZONS,
    CONSTANT,
    ETC,
    ETC_HORIZONS,
    FAIR_ETC,
    FAMILIES,
    OWN,
    THEOREM_1_FUNCTIONS,
    THEOREM_1_HORIZONS,
    UCB1,
    appendix_b_name,
    etc_name,
    family_in_words,
    final_regrets,
    horizons,
    proposition_4_name,
    results_at,
    theorem_1_name,
    worst_regret,
)
from jaxbandit.papers.opportunities.theory import ARMS, exploration_of_algorithm_1

ByTime = dict[int, list[Estimate]]
ETC_REGRET, ETC_ERROR = 0.05, 0.01  # the regret per round of the example of sec. 3, and what counts as equal to it
SUBLINEAR = 0.8  # the largest exponent of T that counts as that of T^(2/3); a policy without opportunities has 1
TELLING = 100_000  # from here on phases 1 and 2 of Algorithm 2 end before the last round on the arms of sec. 5
THEOREM_2_FUNCTIONS = ("linear", "softmax")
RADIUS = 8**0.5  # the factor of sqrt(K T log T) that follows from the radius 2 sqrt(2 log T / N) in Proposition 4


def above_lower_bound(data: Data) -> Evidence:
    """Whether the largest regret of a lower-bound family is above the bound of Theorem 3 at every horizon."""
    estimates = []
    for family, (c, scale) in FAMILIES.items():
        times, regrets, errors = worst_regret(data, family)
        bound = utility_regret_lower_bound(3, times, scale, c)
        for horizon, value, error in zip(times, regrets / bound, errors / bound, strict=True):
            estimates.append(Estimate(f"{family_in_words(family)}, T = {horizon:,}", float(value), float(error)))
    statistic = "largest utility regret of any instance divided by the bound with the constants of App. A.3; more than "
    evidence = decide_with_tolerances(
        1.0, (10.0, 100.0), lambda least: decide(f"{statistic}{least:g}", estimates, least), "more than {:g}"
    )
    return evidence.explained("the regret of every instance is below the bound at some horizon")


def below_upper_bound(data: Data) -> Evidence:
    """Whether the regret of Algorithm 2 grows like a power of T well below 1."""
    estimates = []
    for f in THEOREM_2_FUNCTIONS:
        for short, long in pairwise(t for t in horizons(data) if t >= TELLING):
            regrets = (final_values(results_at(data, f, "0.4", t), "utility_regret", OWN) for t in (short, long))
            estimates.append(horizon_exponent(short, next(regrets), long, next(regrets), f"{f}, "))
    statistic = "exponent of T in the utility regret from one horizon to the next; T^(2/3) log(T)^(1/3) has 0.69"
    return _is_sublinear(statistic, estimates)


def _is_sublinear(statistic: str, estimates: list[Estimate]) -> Evidence:
    """Whether exponents of T are well below 1."""
    evidence = decide_with_tolerances(
        SUBLINEAR,
        (0.7, 0.9),
        lambda most: decide(f"{statistic}; less than {most:g}", estimates, high=most),
        "less than {:g}",
    )
    return evidence.explained(f"the exponents are {values_in_words(estimates) or 'not known at these horizons'}")


def etc_has_linear_regret(data: Data) -> Evidence:
    """Whether explore-then-commit loses 0.05 per round in the example of sec. 3."""
    by_time: ByTime = {}
    for horizon in ETC_HORIZONS:
        if etc_name(horizon) in data:
            regret = final_regrets(data, etc_name(horizon), ETC) / horizon
            by_time[horizon] = [mean_over_runs(f"T = {horizon:,}", regret)]
    statistic = (
        "utility regret of explore-then-commit per round: 0.75 minus its average utility; 0.05 within {:g} (reward per "
        "round)"
    )
    evidence = decide_with_tolerances(
        ETC_ERROR,
        (0.002, 0.005, 0.02),
        lambda near: decide_over_time(statistic.format(near), by_time, ETC_REGRET - near, ETC_REGRET + near),
        "within {:g}",
    )
    values = ", ".join(f"{at_time[0].value:.4f} ({at_time[0].setting})" for at_time in by_time.values())
    return evidence.explained(
        f"the regret per round is {values}; each of the N exploration rounds of arm 2 saves 0.1, so the regret is "
        "0.05 T - 0.1 N"
    )


def classical_policies_fail(data: Data) -> Evidence:
    """Whether the regret per round of classical policies does not vanish in the example of sec. 3."""
    by_time: ByTime = {}
    for horizon in ETC_HORIZONS:
        if etc_name(horizon) in data:
            for label in (ETC, UCB1, "thompson"):
                regret = final_regrets(data, etc_name(horizon), label) / horizon
                by_time.setdefault(horizon, []).append(mean_over_runs(f"{label}, T = {horizon:,}", regret))
    statistic = "utility regret per round (reward); more than {:g}"
    evidence = decide_with_tolerances(
        ETC_REGRET / 2,
        (0.01, 0.04),
        lambda least: decide_over_time(statistic.format(least), by_time, least),
        "more than {:g}",
    )
    return evidence.explained("a policy's regret per round is smaller at some horizon")


def regret_of_algorithm_1(data: Data) -> Evidence:
    """Whether the regret of Algorithm 1 grows like a power of T well below 1."""
    estimates = []
    for f in THEOREM_1_FUNCTIONS:
        # N is at most T/K: where it would be more, Algorithm 1 is not the one of the theorem
        whole = [t for t in THEOREM_1_HORIZONS if exploration_of_algorithm_1(f, t) <= t]
        for short, long in pairwise(t for t in whole if theorem_1_name(f, t) in data):
            early, late = (final_regrets(data, theorem_1_name(f, t), FAIR_ETC) for t in (short, long))
            estimates.append(horizon_exponent(short, early, long, late, f"{f}, "))
    statistic = (
        "exponent of T in the utility regret from one horizon to the next, where N < T/K; T^(2/3) log(T)^(1/3) has 0.69"
    )
    return _is_sublinear(statistic, estimates)


def _appendix_b(data: Data) -> list[int]:
    return [horizon for horizon in APPENDIX_B_HORIZONS if appendix_b_name(horizon) in data]


def explores_in_vain(data: Data) -> Evidence:
    """Whether Algorithm 2 has more regret than Algorithm 3 in the example of App. B, by a sublinear part."""
    regrets = {
        horizon: [final_regrets(data, appendix_b_name(horizon), label) for label in (OWN, CONSTANT)]
        for horizon in _appendix_b(data)
    }
    by_time: ByTime = {
        horizon: [mean_over_runs(f"T = {horizon:,}", (own - constant) / horizon ** (2 / 3))]
        for horizon, (own, constant) in regrets.items()
    }
    for short, long in pairwise(regrets):
        grown = horizon_exponent(short, regrets[short][0], long, regrets[long][0], "exponent, ")
        for horizon in (short, long):
            by_time[horizon].append(replace(grown, value=SUBLINEAR - grown.value))
    lowest = {horizon: [min(at, key=lambda one: one.value - 2 * one.stderr)] for horizon, at in by_time.items()}
    statistic = (
        "utility regret of Self-regulated minus that of constant-opportunity, divided by T^(2/3), or, where less, "
        f"{SUBLINEAR:g} minus the exponent of T in the regret of Self-regulated; more than 0"
    )
    return decide_over_time(statistic, lowest, 0.0).explained("Self-regulated has no more regret, or a linear one")


def costs_what_the_black_box_costs(data: Data) -> Evidence:
    """Whether the regret of Algorithm 3 is about that of its black box alone in the example of App. B."""
    estimates = []
    for horizon in _appendix_b(data):
        own, alone = (final_regrets(data, appendix_b_name(horizon), label) for label in (CONSTANT, UCB1))
        estimates.append(ratio(f"T = {horizon:,}", own, alone))
    statistic = "utility regret of constant-opportunity divided by that of its black box alone, UCB1; less than {:g}"
    evidence = decide_with_tolerances(
        1.1,
        (1.05, 1.5),
        lambda most: decide(statistic.format(most), estimates, high=most),
        "less than {:g}",
    )
    return evidence.explained("the first phase costs more than that")


def selects_each_arm_once(data: Data) -> Evidence:
    """Whether the first phase of Algorithm 3 has one round per arm in the example of App. B."""
    estimates = []
    for horizon in _appendix_b(data):
        results = data[appendix_b_name(horizon)]
        rounds = results.phase_rounds.sel(policy=CONSTANT).values[..., 0]
        estimates.append(Estimate(f"T = {horizon:,}", float(np.abs(rounds - results.sizes["arm"]).max())))
    statistic = "rounds of the first phase of constant-opportunity minus K, the most of any run; below 1"
    return decide(statistic, estimates, high=1.0).explained("an arm is played more often")


def regret_of_algorithm_3(data: Data) -> Evidence:
    """Whether the regret of Algorithm 3 is below a constant times sqrt(K T log T)."""
    estimates = []
    for horizon in APPENDIX_B_HORIZONS:
        if (name := proposition_4_name(horizon)) in data:
            rate = np.sqrt(ARMS * horizon * np.log(horizon))
            estimates.append(mean_over_runs(f"T = {horizon:,}", final_regrets(data, name, CONSTANT) / rate))
    statistic = "utility regret divided by sqrt(K T log T); less than {:.3g}"
    evidence = decide_with_tolerances(
        RADIUS, (1.0, 0.5), lambda most: decide(statistic.format(most), estimates, high=most), "less than {:.3g}"
    )
    return evidence.explained("the regret grows faster")
