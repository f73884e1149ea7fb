"""Made-up results of the papers' experiments: complete datasets of numbers that mean nothing, without simulations."""

import numpy as np
import xarray as xr

from jaxbandit.experiments.configs import config
from jaxbandit.policies.make_policy import kind_of

RUNS = ("policy", "instance", "seed")
SEEDS = 8


def spread(value, size=0.01):
    """One value per run, `[SEEDS]`, whose mean is exactly `value`."""
    return value + size * np.array([-1, 1] * (SEEDS // 2))


def final_results(labels, horizon, **values):
    """Results at the horizon: `name=values[policy, seed]`, or with instances between."""
    rows = {name: np.asarray(value, float) for name, value in values.items()}
    data = {name: (RUNS, value if value.ndim == 3 else value[:, None, :]) for name, value in rows.items()}
    return xr.Dataset(data, coords={"policy": labels, "round": np.atleast_1d(horizon)})


def made_up(experiment):
    """Results of an experiment."""
    draw = np.random.default_rng(0)
    plan = config.make_plan(experiment.config)
    problem, rounds, horizon = plan.problem, plan.rounds, plan.settings.horizon
    runs = (len(plan.configurations), problem.instances, SEEDS)
    curve = (len(plan.configurations), problem.instances, len(rounds))
    data = {"pulls": ((*RUNS, "arm"), draw.integers(1, horizon, (*runs, problem.arms)))}
    for name in plan.metrics:
        data[name] = (("policy", "instance", "round"), 1 + draw.random(curve))
        data[f"{name}_stderr"] = (("policy", "instance", "round"), 0.1 * draw.random(curve))
        if name in plan.runs:
            data[f"{name}_runs"] = ((*RUNS, "round"), 1 + draw.random((*runs, len(rounds))))
        data[f"{name}_final"] = (RUNS, horizon * (1 + draw.random(runs)))
    for name in plan.runs:
        data[f"{name}_runs"] = ((*RUNS, "round"), 1 + draw.random((*runs, len(rounds))))
    data["max_deficit_ever"] = (RUNS, draw.random(runs))
    rows, phase_names = ("instance", "arm"), {}
    for name in ("means", "fractions", "penalties"):
        if (held := getattr(problem, name)) is not None:
            data[name] = (rows, np.broadcast_to(held, problem.means.shape).T.astype(float))
    if problem.opportunity is not None:
        data["opportunities"] = (rows, problem.opportunities().T)
        names = max((one.phases for one in plan.prepared), key=len)
        data["phase_rounds"] = ((*RUNS, "phase"), np.full((*runs, len(names)), horizon // len(names)))
        phase_names = {"phase_name": (("policy", "phase"), [list(names)] * len(plan.prepared))}
    coordinates = {
        "policy": [one.label for one in plan.configurations],
        "family": ("policy", [one.family for one in plan.configurations]),
        "kind": ("policy", [kind_of(one.policy) for one in plan.configurations]),
        "round": rounds,
        **phase_names,
    }
    attributes = {"plays": problem.plays, "device": "a device", "rounds_per_second": 1e6 * (1 + draw.random())}
    return xr.Dataset(data, coordinates, attributes)


class MadeUpData(dict):
    """By name, the results of experiments."""

    def __init__(self, experiments):
        super().__init__({one.name: made_up(one) for one in experiments})
        self._configs = {one.name: one.config for one in experiments}

    def config(self, name):
        """The config of an experiment."""
        return self._configs[name]

    def problem(self, name):
        """The problem of an experiment."""
        return config.make_plan(self._configs[name]).problem
