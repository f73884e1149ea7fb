"""Paper 004: its experiments, and what is read from their results."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxbandit.environment.hard_instances import lower_bound_family
from jaxbandit.papers.evidence import final
from jaxbandit.papers.experiment import Data, Experiment, Sizes, experiment

FUNCTIONS = ("uniform", "linear", "softmax")
PRICES = ("0", "0.4", "0.8")  # lambda
HORIZONS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
SMALL = 100_000  # the longest horizon of the small size
FAMILIES = {"a": (4.0, 2.0), "b": (1.0, 1.0)}  # c and L of App. A.3, K = 3
SHORT = 10_000  # the shortest horizon of the lower-bound family
OWN = "Self-regulated"


def run_name(f: str, penalty_rate: str, horizon: int) -> str:
    """The experiment of a fairness function, a lambda and a horizon."""
    return f"004-{f}-lambda{penalty_rate}-{horizon}"


def experiments(sizes: Sizes) -> list[Experiment]:
    """All of them; each horizon is a simulation of its own, since the policy knows T. All meet the same draws."""
    made = []
    for horizon in HORIZONS:
        if sizes.quick and horizon > SMALL:
            continue
        changes = [f"simulation.horizon={horizon}", "simulation.record=1"]
        for f in FUNCTIONS:
            file = "004-1-2-softmax" if f == "softmax" else f"004-1-{f}"
            for penalty_rate in PRICES:
                name = run_name(f, penalty_rate, horizon)
                made.append(experiment(f"{file}-lambda{penalty_rate}", sizes, changes=changes, name=name))
        if horizon >= SHORT:
            made += [_family(family, horizon, 20 if sizes.quick else 200) for family in FAMILIES]
    return made


def _family(family: str, horizon: int, seeds: int) -> Experiment:
    """The instances of App. A.3 for a horizon."""
    c, scale = FAMILIES[family]
    problem = lower_bound_family(arms=3, horizon=horizon, scale=scale, c=c)
    f: Any = problem.opportunity
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
    return Experiment(edge_name(family, horizon), config)


def edge_name(family: str, horizon: int) -> str:
    """The experiment of a lower-bound family and a horizon."""
    return f"004-family-{family}-{horizon}"


def horizons(data: Data) -> list[int]:
    """The horizons of figures 1 and 2."""
    return [horizon for horizon in HORIZONS if run_name("softmax", "0", horizon) in data]


def average_utility(data: Data, f: str, penalty_rate: str, horizon: int) -> np.ndarray:
    """Utility a round, `[1, seed]`."""
    return final(data[run_name(f, penalty_rate, horizon)], "utility", OWN) / horizon


def phase_shares(data: Data, f: str, penalty_rate: str, horizon: int) -> np.ndarray:
    """The share of the rounds in each phase, `[1, seed, phase]`."""
    return data[run_name(f, penalty_rate, horizon)].phase_rounds.sel(policy=OWN).values / horizon


def worst_regret(data: Data, family: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Horizons, the regret of the worst instance at each, mean over runs, and its standard error."""
    times = np.array([horizon for horizon in HORIZONS if edge_name(family, horizon) in data])
    regret, error = [], []
    for horizon in times.tolist():
        runs = final(data[edge_name(family, horizon)], "utility_regret", OWN)
        worst = int(np.argmax(runs.mean(axis=1)))
        regret.append(runs[worst].mean())
        error.append(runs[worst].std(ddof=1) / np.sqrt(runs.shape[1]))
    return times, np.array(regret), np.array(error)


def exponent(times: np.ndarray, values: np.ndarray, errors: np.ndarray) -> tuple[float, float]:
    """The exponent of `times` in `values`, by least squares of logarithms, and its standard error."""
    x = np.log(times)
    weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    return float(weights @ np.log(values)), float(np.sqrt(((weights * errors / values) ** 2).sum()))


def setting(family: str) -> str:
    """The constants of a lower-bound family in words."""
    c, scale = FAMILIES[family]
    return f"c = {c:g}, L = {scale:g}"
