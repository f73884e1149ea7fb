"""The experiments of the opportunities paper, and what is read from their results."""

from __future__ import annotations

import numpy as np
import xarray as xr

from jaxbandit.environment.hard_instances import lower_bound_family
from jaxbandit.environment.opportunities import PiecewiseLinear
from jaxbandit.papers.evidence import final_values
from jaxbandit.papers.experiment import Config, Data, Experiment, Sizes, experiment

FUNCTIONS = ("uniform", "linear", "softmax")  # fairness functions f
TRANSFER_COSTS = ("0", "0.4", "0.8")  # lambda
HORIZONS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000)
QUICK_HORIZON = 100_000  # the longest horizon of the quick sizes
FAMILIES = {"a": (4.0, 2.0), "b": (1.0, 1.0)}  # c and L of the lower-bound families of App. A.3, with K = 3
FAMILY_HORIZONS = (10_000, 30_000, 100_000, 300_000, 1_000_000)
ORDERED = [0, 1, 3]  # the members of a family with K = 3 that differ by more than the order of the arms
ETC_HORIZONS = (1_000, 10_000, 100_000, 300_000)
THEOREM_1_HORIZONS = (10_000, 100_000, 300_000, 1_000_000)
THEOREM_1_FUNCTIONS = ("linear", "softmax")
APPENDIX_B_HORIZONS = (10_000, 100_000, 1_000_000)
ETC, OWN, CONSTANT, UCB1 = "explore-then-commit", "Self-regulated", "constant-opportunity", "ucb1"
FAIR_ETC = "fairness-aware-etc"


def run_name(f: str, horizon: int) -> str:
    """The experiment with a fairness function and a horizon. It has one instance for each transfer cost."""
    return f"opportunities-{f}-{horizon}"


def family_name(family: str, horizon: int) -> str:
    """The experiment with a lower-bound family and a horizon."""
    return f"opportunities-family-{family}-{horizon}"


def etc_name(horizon: int) -> str:
    """The experiment with the example of explore-then-commit in sec. 3 and a horizon."""
    return f"opportunities-etc-{horizon}"


def theorem_1_name(f: str, horizon: int) -> str:
    """The experiment with Algorithm 1, a fairness function and a horizon."""
    return f"opportunities-theorem-1-{f}-{horizon}"


def appendix_b_name(horizon: int) -> str:
    """The experiment with the example of App. B and a horizon."""
    return f"opportunities-appendix-b-{horizon}"


def proposition_4_name(horizon: int) -> str:
    """The experiment with Algorithm 3, a constant fairness function and a horizon."""
    return f"opportunities-proposition-4-{horizon}"


def experiments(sizes: Sizes) -> list[Experiment]:
    """The experiments of figures 1 and 2, of the example of sec. 3, and of the theorems.

    The policies know T, so each horizon is a simulation of its own. The
    fairness functions have common random numbers.
    """
    made = []
    for horizon in HORIZONS:
        if sizes.quick and horizon > QUICK_HORIZON:
            continue
        changes = {"simulation.horizon": horizon, "simulation.record": 1}
        for f in FUNCTIONS:
            name, point = run_name(f, horizon), {"problem.opportunity": f}
            made.append(experiment("opportunities/figures-1-2", sizes, name, point=point, changes=changes))
        if horizon in FAMILY_HORIZONS:
            made += [_family(family, horizon, seeds=20 if sizes.quick else 200) for family in FAMILIES]
        if horizon in ETC_HORIZONS:
            made.append(experiment("opportunities/example-of-etc", sizes, etc_name(horizon), changes=changes))
        if horizon in THEOREM_1_HORIZONS:
            for f in THEOREM_1_FUNCTIONS:
                name, point = theorem_1_name(f, horizon), {"problem.opportunity": f}
                made.append(experiment("opportunities/theorem-1", sizes, name, point=point, changes=changes))
        if horizon in APPENDIX_B_HORIZONS:
            made.append(_example_of_appendix_b(horizon, seeds=20 if sizes.quick else 100))
            name = proposition_4_name(horizon)
            made.append(experiment("opportunities/proposition-4", sizes, name, changes=changes))
    return made


def _simulation(horizon: int, seeds: int) -> Config:
    return {
        "horizon": horizon,
        "seeds": seeds,
        "key": 0,
        "ties": "random",
        "record": 1,
        "metrics": ["utility_regret"],
    }


def _family(family: str, horizon: int, seeds: int) -> Experiment:
    """The instances of App. A.3 for a horizon, one for each number of arms with mean 1/2."""
    c, scale = FAMILIES[family]
    problem = lower_bound_family(arms=3, horizon=horizon, scale=scale, c=c)
    f = problem.opportunity
    assert isinstance(f, PiecewiseLinear)
    config = {
        "simulation": _simulation(horizon, seeds),
        "problem": {
            "means": problem.means.T[ORDERED].tolist(),
            "penalties": 1.0,
            "opportunity": {"kind": "piecewise-linear", "scale": scale, "eps": f.eps},
        },
        "policies": [{"kind": "self-regulated", "label": OWN}],
    }
    return Experiment(family_name(family, horizon), config)


def _example_of_appendix_b(horizon: int, seeds: int) -> Experiment:
    """The example of App. B with K = 2: the gap of arm 2 is close to the transfer cost, and f is 1/T."""
    config = {
        "simulation": _simulation(horizon, seeds),
        "problem": {
            "means": [1.0, 0.5 + 0.5 * horizon ** (-1 / 3)],
            "penalties": 0.5,
            "opportunity": {"kind": "constant", "gamma": f"1/{horizon}"},
        },
        "policies": [
            {"kind": "self-regulated", "label": OWN},
            {"kind": "constant-opportunity"},
            {"kind": "ucb1"},
        ],
    }
    return Experiment(appendix_b_name(horizon), config)


def horizons(data: Data) -> list[int]:
    """The horizons of figures 1 and 2."""
    return [horizon for horizon in HORIZONS if run_name("softmax", horizon) in data]


def results_at(data: Data, f: str, cost: str, horizon: int) -> xr.Dataset:
    """The results with a fairness function, a transfer cost and a horizon: one instance."""
    return data[run_name(f, horizon)].isel(instance=[TRANSFER_COSTS.index(cost)])


def average_utility(data: Data, f: str, cost: str, horizon: int) -> np.ndarray:
    """Utility per round, `[1, seed]`."""
    return final_values(results_at(data, f, cost, horizon), "utility", OWN) / horizon


def phase_shares(data: Data, f: str, cost: str, horizon: int) -> np.ndarray:
    """The share of the rounds in each phase, `[1, seed, phase]`."""
    return results_at(data, f, cost, horizon).phase_rounds.sel(policy=OWN).values / horizon


def arm_shares(data: Data, f: str, cost: str, horizon: int) -> tuple[np.ndarray, np.ndarray]:
    """The share of the rounds of each arm, `[1, seed, arm]`, and the share that it is entitled to, `[arm]`."""
    results = results_at(data, f, cost, horizon)
    return results.pulls.sel(policy=OWN).values / horizon, results.opportunities.values[0]


def arm_means(data: Data, horizon: int) -> np.ndarray:
    """The mean rewards of the arms of figures 1 and 2, `[arm]`."""
    return np.asarray(results_at(data, "softmax", "0", horizon).means.values[0])


def final_regrets(data: Data, name: str, policy: str) -> np.ndarray:
    """The utility regret of a policy at the horizon, `[1, seed]`."""
    return final_values(data[name], "utility_regret", policy)


def worst_regret(data: Data, family: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Horizons, the regret of the instance with the most regret at each (mean over runs), and its standard error."""
    times = np.array([horizon for horizon in FAMILY_HORIZONS if family_name(family, horizon) in data])
    regret, error = [], []
    for horizon in times.tolist():
        runs = final_values(data[family_name(family, horizon)], "utility_regret", OWN)
        worst = int(np.argmax(runs.mean(axis=1)))
        regret.append(runs[worst].mean())
        error.append(runs[worst].std(ddof=1) / np.sqrt(runs.shape[1]))
    return times, np.array(regret), np.array(error)


def family_in_words(family: str) -> str:
    """The constants of a lower-bound family."""
    c, scale = FAMILIES[family]
    return f"c = {c:g}, L = {scale:g}"
