"""Results as a labelled dataset, from Python and in `results.nc` (netCDF-4, opens with `xarray.open_dataset`).

Dimensions:
    policy: the configurations, by label.
    instance, seed, arm: numbers from 0; `seed` from `first_seed`, if the config has one.
    round: the recorded rounds; the last one is T.
    t, play: the rounds 1 to T, and the places 0 to L - 1 of a round; only with `trace`.
    phase: numbers from 1; only if a policy has phases.

Variables:
    pulls(policy, instance, seed, arm): N_k(T), the number of selections of arm k in rounds 1 to T, int32.
    <metric>(policy, instance, round): the mean of each metric over seeds, float64.
    <metric>_stderr(policy, instance, round): the standard error of this mean, float64; NaN for one seed.
    <metric>_final(policy, instance, seed): the metric of each run at T, float64.
    <metric>_runs(policy, instance, seed, round): the metric of each run, float64; for the metrics in `runs`.
    pulls_mean(policy, instance, arm, round): the mean of N_k over seeds, float64; by default only if it takes at most
        64 MiB together with its standard error.
    pulls_mean_stderr(policy, instance, arm, round): the standard error of this mean, float64; NaN for one seed.
    max_deficit_ever(policy, instance, seed): the maximum of `max_deficit` over rounds 1 to T, float64; only if
        `max_deficit` is among the metrics. Likewise group_max_deficit_ever, with `group_max_deficit`.
    phase_rounds(policy, instance, seed, phase): the number of rounds in each phase, int32; -1 for a phase that the
        policy does not have.
    arms(policy, instance, seed, t, play): the arms selected in round t in increasing order, int32; -1 in the last
        places where fewer arms were available; only with `trace`.
    rewards(policy, instance, seed, t, play): their rewards as drawn, float; NaN for arm -1; only with `trace`.
    delays(policy, instance, seed, t, play): the delays of these rewards in rounds, int32; -1 for arm -1 and for a
        reward that never arrives; only with `trace`.
    means(instance, arm): the mean rewards, float64; where means change, their averages over rounds 1 to T.
    means_of_round(instance, round, arm): the mean rewards in the recorded rounds, float64; only where means change.
    fractions, penalties, opportunities (instance, arm): tau, A and f(mu), float64, if the problem has them. What a grid
        varies, means among them, is (policy, instance, arm).

    price_of_fairness(instance): the share of the best reward that the fractions cost, float64; only if it is named in
        `metrics`.

    If a grid varies `means` or one of the last three, its first dimension is `policy`.

Coordinates along `policy`:
    family: the label that all points of a policy's grid share; outside grids, the label.
    kind: the name of the policy, followed by the name of its index unless that is ucb1 ("fair-learn/thompson").
    phase_name(policy, phase): the names of the phases.
    Each parameter that a grid varies, named by its config key (`policies.eta`, `problem.delay.p`), which is also its
        attribute `key`. Its values are numbers or words; NaN or "" for a policy that does not have the parameter.

Coordinates along `seed`, of results of several keys that `jb.combine` has joined:
    key: the key of the run, uint64.
    key_seed: its number among the runs of this key.

Attributes:
    config: the complete config, in TOML; it gives the same runs again. Where no one config gives all runs that were
        joined, it has a list `joined` of configs.
    horizon: T, the last round. A selection of earlier rounds keeps it: values of single runs are still those at T.
    seeds: the number of seeds that means are over. A selection of seeds keeps it: its means are still over all seeds.
    plays: L, the number of arms selected per round; if a grid varies it, the coordinate `problem.plays` instead.
    jaxbandit_version, jax_version, device: the versions and the device that computed the results.
    dtype: the type of the policies' numbers, "float32", or "float64" with `jax_enable_x64`.
    compile_seconds, run_seconds: the time spent on compilation and on simulation.
    rounds_per_second: the number of rounds of all runs and policies, divided by `run_seconds`.
    imports: the files that `--import` has named, each with the SHA-256 of its content, in JSON.
    programs: digests of what the rounds of the policies compute, by family, in JSON; of policies with users' code, in
        the class, the rewards or the delays. Runs of a policy that have other digests are not joined.
    files: the names of the files that `jaxbandit run` has written; in `results.nc` only.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Hashable, Mapping
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import tomli_w
import xarray as xr

from jaxbandit.core.files.atomic_write import write_atomically
from jaxbandit.core.provenance import device_name, version
from jaxbandit.engine.host import garbage_collection
from jaxbandit.engine.plan import Plan
from jaxbandit.engine.result import SimulationResult
from jaxbandit.engine.settings import short
from jaxbandit.environment.ground_truth import GroundTruth, ground_truth_of
from jaxbandit.environment.problem import Problem
from jaxbandit.metrics.block_statistics import BlockStatistics
from jaxbandit.metrics.definitions import METRICS
from jaxbandit.metrics.metric import kept_ever
from jaxbandit.metrics.welfare import INSTANCE_NUMBERS
from jaxbandit.policies.make_policy import kind_of

# A variable or coordinate as xarray takes it: dimensions, values and attributes.
Variable = tuple[str | tuple[str, ...], np.ndarray | list[str], dict[str, str]]

_RUNS = ("policy", "instance", "seed")
_CURVE = ("policy", "instance", "round")


def dataset(plan: Plan, result: SimulationResult, config: Mapping[str, object]) -> xr.Dataset:
    """The results of a simulation as the dataset that the docstring of this module describes.

    Args:
        plan: the plan of the simulation.
        result: its result.
        config: the complete config, for the attribute `config`.
    """
    with garbage_collection.paused():
        return _dataset(plan, result, config)


def _dataset(plan: Plan, result: SimulationResult, config: Mapping[str, object]) -> xr.Dataset:
    pulls = _of_runs(result, "pulls")
    about = {"long_name": "selections of each arm by round T"}
    variables: dict[str, Variable] = {"pulls": ((*_RUNS, "arm"), pulls, about)}
    variables |= _metric_variables(plan, result)
    if plan.pulls_mean:
        variables |= _mean_pulls(result)
    if plan.settings.trace:
        variables |= _trace(result)
    variables |= _problem_variables(plan)
    phases, coordinates = _phases(plan, result)
    variables |= phases
    return xr.Dataset(
        variables,
        coords={
            "policy": [configuration.label for configuration in plan.configurations],
            "family": ("policy", [configuration.family for configuration in plan.configurations]),
            "kind": ("policy", [kind_of(configuration.policy) for configuration in plan.configurations]),
            "instance": np.arange(plan.problem.instances),
            "seed": plan.settings.first_seed + np.arange(result.seeds),
            "arm": np.arange(plan.problem.arms),
            "round": result.rounds,
            **coordinates,
            **_trace_coordinates(plan, result),
            **_grid_coordinates(plan),
        },
        attrs=_attributes(plan, result, config),
    )


def _metric_variables(plan: Plan, result: SimulationResult) -> dict[str, Variable]:
    """Mean, standard error and final values of each metric, and the largest deficit of any round."""
    variables: dict[str, Variable] = {}
    for name in result.metrics:
        metric = METRICS[name]
        about = {"long_name": metric.label, "formula": metric.summary}
        about["better"] = "larger" if metric.larger_is_better else "smaller"
        error = {"long_name": f"standard error of {metric.label}"}
        finals, mean, stderr = _of_metric(result, name)
        variables[name] = (_CURVE, mean, about)
        variables[f"{name}_stderr"] = (_CURVE, stderr, error)
        variables[f"{name}_final"] = (_RUNS, finals, about)
        if name in plan.runs:
            curves = _of_runs(result, f"curve {name}")
            variables[f"{name}_runs"] = ((*_RUNS, "round"), curves, about)
    for name in kept_ever(result.metrics):
        words = {"long_name": _DEFICITS[name]}
        variables[f"{name}_ever"] = (_RUNS, _of_runs(result, f"{name}_ever"), words)
    return variables


_DEFICITS = {
    "max_deficit": "max deficit ever, over all rounds (rounds)",
    "group_max_deficit": "group max deficit ever, over all rounds (plays)",
}


def _of_metric(result: SimulationResult, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The final values `[policy, instance, seed]` of a metric, and its mean and stderr `[policy, instance, round]`."""
    return (
        _of_runs(result, f"final {name}"),
        result.each(lambda block: block.mean(name, result.seeds), axis=1),
        result.each(lambda block: block.stderr(name, result.seeds), axis=1),
    )


def _of_runs(result: SimulationResult, name: str) -> np.ndarray:
    """An array with an entry per run, `[policy, instance, seed, ...]`."""
    return result.each(lambda statistics: statistics.runs[name])


def _mean_pulls(result: SimulationResult) -> dict[str, Variable]:
    """The mean numbers of selections at the recorded rounds, and their standard errors."""
    mean = result.each(lambda block: block.moments["pulls"].mean(result.seeds), axis=2)
    stderr = result.each(lambda block: block.moments["pulls"].stderr(result.seeds), axis=2)
    dimensions, name = ("policy", "instance", "arm", "round"), "mean selections of each arm"
    return {
        "pulls_mean": (dimensions, mean.swapaxes(2, 3), {"long_name": name}),
        "pulls_mean_stderr": (dimensions, stderr.swapaxes(2, 3), {"long_name": f"standard error of {name}"}),
    }


_TRACE = {
    "arms": ("selected arms", -1),
    "rewards": ("rewards of the selected arms", np.nan),
    "delays": ("delays of these rewards (rounds)", -1),
}


def _trace(result: SimulationResult) -> dict[str, Variable]:
    """Every selection, its reward and its delay; where policies differ in plays, padded to the most plays."""
    most = max(one.result_shape.plays for one in result.statistics)
    variables: dict[str, Variable] = {}
    for name, (words, none) in _TRACE.items():

        def padded(statistics: BlockStatistics, name: str = name, none: float = none) -> np.ndarray:
            values = statistics.runs[name]
            width = [(0, 0)] * (values.ndim - 1) + [(0, most - values.shape[-1])]
            return np.pad(values, width, constant_values=none) if values.shape[-1] < most else values

        variables[name] = ((*_RUNS, "t", "play"), result.each(padded), {"long_name": words, "absent": str(none)})
    return variables


def _trace_coordinates(plan: Plan, result: SimulationResult) -> dict[str, np.ndarray]:
    """The rounds, and the places of a round; none without a trace."""
    if not plan.settings.trace:
        return {}
    most = max(one.result_shape.plays for one in result.statistics)
    return {"t": np.arange(1, plan.settings.horizon + 1), "play": np.arange(most)}


def _problem_variables(plan: Plan) -> dict[str, Variable]:
    """Means, fractions, penalty rates and opportunities; along `policy` too where configurations differ in them."""
    problems = {id(problem): problem for problem in plan.problems}
    ground_truths = {which: ground_truth_of(problem, plan.settings.horizon) for which, problem in problems.items()}
    variables: dict[str, Variable] = {}
    for name in ("means", "fractions", "penalties", "opportunities"):
        values = {which: _numbers_of(known, name, plan.settings.horizon) for which, known in ground_truths.items()}
        rows = {which: _rows(own, plan.problem) for which, own in values.items()}
        every = [rows[id(problem)] for problem in plan.problems]
        given = [row for row in every if row is not None]
        if len(given) < len(every):  # the problem lacks it
            continue
        if all(np.array_equal(row, given[0]) for row in rows.values() if row is not None):
            variables[name] = (("instance", "arm"), given[0], {})
        else:
            variables[name] = (("policy", "instance", "arm"), np.stack(given), {})
    for name in plan.instance_numbers:
        compute, label = INSTANCE_NUMBERS[name]
        numbers = {which: compute(problem) for which, problem in problems.items()}
        each = np.stack([numbers[id(problem)] for problem in plan.problems])
        one = len(problems) == 1
        variables[name] = (
            (("instance",), each[0], {"long_name": label})
            if one
            else (("policy", "instance"), each, {"long_name": label})
        )
    if any(known.path is not None for known in ground_truths.values()):
        variables["means"][2]["long_name"] = "mean rewards, averaged over rounds 1 to T"
        dimensions, about = ("instance", "round", "arm"), {"long_name": "mean rewards in the recorded rounds"}
        at = {which: problem.means_at(plan.rounds).transpose(2, 0, 1) for which, problem in problems.items()}
        if len(problems) == 1:
            variables["means_of_round"] = (dimensions, at[id(plan.problem)], about)
        else:
            each = np.stack([at[id(problem)] for problem in plan.problems])
            variables["means_of_round"] = (("policy", *dimensions), each, about)
    return variables


def _numbers_of(known: GroundTruth, name: str, horizon: int) -> np.ndarray | None:
    """The numbers of the arms, `[K, J or 1]`; of means that change, their averages."""
    if name == "means" and known.path is not None:
        return known.path.average(horizon)
    numbers: np.ndarray | None = getattr(known, name)
    return numbers


def _rows(values: np.ndarray | None, problem: Problem) -> np.ndarray | None:
    """Values of the arms `[K, J or 1]` as float64 `[J, K]`."""
    return None if values is None else np.broadcast_to(values.astype(np.float64), problem.means.shape).T


def _phases(plan: Plan, result: SimulationResult) -> tuple[dict[str, Variable], dict[str, object]]:
    """The variable of rounds per phase, and the coordinates of phases; both empty where no policy has phases."""
    names = [policy.phases for policy in plan.prepared]
    most = max(map(len, names))
    if not most:
        return {}, {}

    def filled(statistics: BlockStatistics) -> np.ndarray:
        """Rounds in phases, `[row, seed, phase]`, -1 for the phases that a policy lacks."""
        spent = np.full((*statistics.pulls.shape[:2], most), -1, np.int32)
        if "phases" in statistics.runs:
            spent[..., : statistics.result_shape.phases] = statistics.runs["phases"]
        return spent

    about = {"long_name": "rounds spent in each phase", "absent": "-1: the policy has no such phase"}
    padded = np.array([[*own, *[""] * (most - len(own))] for own in names], dtype=str)
    coordinates = {"phase": np.arange(1, most + 1), "phase_name": (("policy", "phase"), padded)}
    return {"phase_rounds": ((*_RUNS, "phase"), result.each(filled), about)}, coordinates


def _grid_coordinates(plan: Plan) -> dict[str, Variable]:
    """The parameters that grids vary, by their config keys."""
    points = [configuration.point for configuration in plan.configurations]
    coordinates: dict[str, Variable] = {}
    for key in dict.fromkeys(key for point in points for key in point):
        values = [point.get(key) for point in points]
        if all(value is None or _is_number(value) for value in values):
            numbers = np.array([np.nan if value is None else value for value in values], float)
            coordinates[key] = ("policy", numbers, {"key": key})
        else:
            words = ["" if value is None else short(value) for value in values]
            coordinates[key] = ("policy", words, {"key": key})
    return coordinates


def _is_number(value: object) -> bool:
    """Whether a value is a number that float64 holds: not a key of more than 53 bits."""
    return isinstance(value, int | float) and not isinstance(value, bool) and float(value) == value


def _attributes(plan: Plan, result: SimulationResult, config: Mapping[str, object]) -> dict[str, object]:
    """The attributes of the dataset."""
    runs = len(plan.configurations) * plan.problem.instances * result.seeds
    same_plays = len({problem.plays for problem in plan.problems}) == 1
    return {
        "config": tomli_w.dumps(config),
        "horizon": plan.settings.horizon,
        "seeds": result.seeds,
        **({"plays": plan.problem.plays} if same_plays else {}),
        **({"ties": "random"} if plan.settings.ties == "random" else {}),
        **provenance(plan),
        "compile_seconds": result.compile_seconds,
        "run_seconds": result.run_seconds,
        "rounds_per_second": runs * plan.settings.horizon / result.run_seconds,
    }


def provenance(plan: Plan) -> dict[str, object]:
    """The attributes that tell what computes the results of a plan."""
    programs = _programs(plan)
    return {
        "jaxbandit_version": version(),
        "jax_version": jax.__version__,
        "dtype": jnp.result_type(float).name,
        "device": device_name(),
        **({"programs": json.dumps(programs)} if programs else {}),
    }


def _programs(plan: Plan) -> dict[str, list[str]]:
    """Digests of what the rounds compute, by family; of families whose programs have users' code."""
    used: dict[str, set[Hashable]] = {one.family: set() for one in plan.configurations}
    for stack in plan.stacks:
        for number in stack.configurations:
            used[plan.configurations[number].family].add(stack.program)
    digests = {family: [one for one in programs if isinstance(one, str)] for family, programs in used.items()}
    return {
        family: sorted(hashlib.sha256(one.encode()).hexdigest()[:16] for one in known)
        for family, known in digests.items()
        if known and used[family] <= {*known, None}  # not where a program has no digest
    }


def write(results: xr.Dataset, path: Path) -> str:
    """Write a dataset as netCDF-4, atomically.

    The file's content is made in memory. A disk that fills up then fails a plain write, not the netCDF library in the
    middle of a file.

    Returns:
        The SHA-256 of the file.

    Raises:
        WriteError: the file cannot be written; one that was there before is unchanged.
    """
    compressed = {name: {"zlib": True, "complevel": 1} for name in results.data_vars if results[name].size > 1024}
    content = io.BytesIO()
    results.to_netcdf(content, engine="h5netcdf", format="NETCDF4", encoding=compressed)
    write_atomically(path, content.getbuffer(), sync=True)  # what it was made from is removed afterwards
    return hashlib.sha256(content.getbuffer()).hexdigest()
