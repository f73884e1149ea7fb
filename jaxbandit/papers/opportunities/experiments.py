"""The experiments of the opportunities paper, and what is read from their results."""

from __future__ import annotations

import numpy as np

from jaxbandit.environment.hard_instances import lower_bound_family
from jaxbandit.environment.opportunities import PiecewiseLinear
from jaxbandit.papers.evidence import final_values
from jaxbandit.papers.experiment import Data, Experiment, Sizes, experiment

FUNCTIONS = ("uniform", "linear", "softmax")  # fairness functions f
TRANSFER_COSTS = ("0", "0.4", "0.8")  # lambda
HORIZONS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
QUICK_HORIZON = 100_000  # the longest horizon of the quick sizes
FAMILIES = {"a": (4.0, 2.0), "b": (1.0, 1.0)}  # c and L of the lower-bound families of App. A.3, with K = 3
FAMILY_HORIZON = 10_000  # the shortest horizon of the lower-bound families
OWN = "Self-regulated"


def run_name(f: str, cost: str, horizon: int) -> str:
    """The experiment with a fairness function, a transfer cost and a horizon."""
    return f"opportunities-{f}-lambda{cost}-{horizon}"


def family_name(family: str, horizon: int) -> str:
    """The experiment with a lower-bound family and a horizon."""
    return f"opportunities-family-{family}-{horizon}"


def experiments(sizes: Sizes) -> list[Experiment]:
    """The experiments of figures 1 and 2 and of the lower-bound families.

    The policy knows T, so each horizon is a simulation of its own. All have common random numbers.
    """
    made = []
    for horizon in HORIZONS:
        if sizes.quick and horizon > QUICK_HORIZON:
            continue
        changes = {"simulation.horizon": horizon, "simulation.record": 1}
        for f in FUNCTIONS:
            for cost in TRANSFER_COSTS:
                point = {"problem.opportunity": f, "problem.penalties": float(cost)}
                name = run_name(f, cost, horizon)
                made.append(experiment("opportunities/figures-1-2", sizes, name, point=point, changes=changes))
        if horizon >= FAMILY_HORIZON:
            made += [_family(family, horizon, seeds=20 if sizes.quick else 200) for family in FAMILIES]
    return made


def _family(family: str, horizon: int, seeds: int) -> Experiment:
    """The instances of App. A.3 for a horizon."""
    c, scale = FAMILIES[family]
    problem = lower_bound_family(arms=3, horizon=horizon, scale=scale, c=c)
    f = problem.opportunity
    assert isinstance(f, PiecewiseLinear)
    config = {
        "simulation": {
            "horizon": horizon,
            "seeds": seeds,
            "key": 0,
            "record": 1,
            "metrics": ["utility_regret"],
        },
        "problem": {
            "means": problem.means.T.tolist(),
            "penalties": 1.0,
            "opportunity": {"kind": "piecewise-linear", "scale": scale, "eps": f.eps},
        },
        "policies": [{"kind": "self-regulated", "label": OWN}],
    }
    return Experiment(family_name(family, horizon), config)


def horizons(data: Data) -> list[int]:
    """The horizons of figures 1 and 2."""
    return [horizon for horizon in HORIZONS if run_name("softmax", "0", horizon) in data]


def average_utility(data: Data, f: str, cost: str, horizon: int) -> np.ndarray:
    """Utility per round, `[1, seed]`."""
    return final_values(data[run_name(f, cost, horizon)], "utility", OWN) / horizon


def phase_shares(data: Data, f: str, cost: str, horizon: int) -> np.ndarray:
    """The share of the rounds in each phase, `[1, seed, phase]`."""
    return data[run_name(f, cost, horizon)].phase_rounds.sel(policy=OWN).values / horizon


def worst_regret(data: Data, family: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Horizons, the regret of the instance with the most regret at each (mean over runs), and its standard error."""
    times = np.array([horizon for horizon in HORIZONS if family_name(family, horizon) in data])
    regret, error = [], []
    for horizon in times.tolist():
        runs = final_values(data[family_name(family, horizon)], "utility_regret", OWN)
        worst = int(np.argmax(runs.mean(axis=1)))
        regret.append(runs[worst].mean())
        error.append(runs[worst].std(ddof=1) / np.sqrt(runs.shape[1]))
    return times, np.array(regret), np.array(error)


def exponent(times: np.ndarray, values: np.ndarray, errors: np.ndarray) -> tuple[float, float]:
    """The exponent of `times` in `values`, by least squares of logarithms, and its standard error."""
    x = np.log(times)
    weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    return float(weights @ np.log(values)), float(np.sqrt(((weights * errors / values) ** 2).sum()))


def family_in_words(family: str) -> str:
    """The constants of a lower-bound family."""
    c, scale = FAMILIES[family]
    return f"c = {c:g}, L = {scale:g}"
