"""Tuning problems drawn at random: a bandit problem, a policy with a parameter to tune, an objective and a budget."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import jaxbandit as jb

BUDGET_KEY = 101  # the keys of simulations: finding a budget uses no seeds of the rivals or the judge
COMMON_VALUES = 41  # values of a sweep
Table = dict[str, Any]


@dataclass(frozen=True)
class TuningProblem:
    """A problem of tuning.

    Attributes:
        seed: the number from which the problem was drawn.
        family: which parameter is tuned: a key of `FAMILIES`.
        problem: the keyword arguments of `jb.Problem`.
        policy: the keyword arguments of `jb.policy`, without the tuned parameter.
        parameter: its name, such as "penalties" or "merit.scale".
        size: how many numbers the parameter has; 0 for one number for all arms.
        start: the value from which a tuner starts, for all arms.
        values: the common values of a sweep, ascending.
        logarithmic: whether a search should move the logarithm of the parameter.
        horizon: T.
        minimised: the metric to minimise.
        limited, budget: the metric whose mean is to be at most `budget`; both None without a budget.
    """

    seed: int
    family: str
    problem: Table
    policy: Table
    parameter: str
    size: int
    start: float
    values: list[float]
    logarithmic: bool
    horizon: int
    minimised: str
    limited: str | None = None
    budget: float | None = None

    @property
    def metrics(self) -> list[str]:
        """The metrics to simulate."""
        return [self.minimised] if self.limited is None else [self.minimised, self.limited]

    @property
    def numbers(self) -> int:
        """How many numbers are tuned."""
        return max(self.size, 1)

    def bandit(self) -> jb.Problem:
        """The bandit problem."""
        return jb.Problem(**self.problem)

    def policy_at(self, value: np.ndarray | float) -> jb.Policy:
        """The policy with a value of the parameter, `[numbers]`, or a number for all arms."""
        numbers = np.ravel(np.asarray(value, np.float64))
        given: Any = np.broadcast_to(numbers, (self.size,)).tolist() if self.size else float(numbers[0])
        owner, _, name = self.parameter.rpartition(".")
        if owner:  # the merit function of the policy, with the other parameters of the problem's
            return jb.policy(**self.policy, **{owner: {**self.problem[owner], name: given}})
        return jb.policy(**self.policy, **{name: given})


@dataclass(frozen=True)
class Measured:
    """Means over seeds of the metrics of some policies, float64 `[policies]`; `limited` is 0 without a budget."""

    minimised: np.ndarray
    limited: np.ndarray
    limited_error: np.ndarray

    @staticmethod
    def of(task: TuningProblem, values: Sequence[np.ndarray | float], seeds: int, key: int) -> Measured:
        """Simulate the policy at some values of its parameter, all with the same seeds, in one call."""
        policies = {str(i): task.policy_at(value) for i, value in enumerate(values)}
        results = jb.simulate(
            task.bandit(), policies, horizon=task.horizon, seeds=seeds, key=key, record=1, metrics=task.metrics,
            pulls_mean=False,
        )  # fmt: skip
        final = results.isel(instance=0, round=-1)
        zeros = np.zeros(len(policies))
        if task.limited is None:
            return Measured(final[task.minimised].values, zeros, zeros)
        names = (task.minimised, task.limited, f"{task.limited}_stderr")
        return Measured(*(final[name].values for name in names))


def draw_problem(seed: int, *, quick: bool = False) -> TuningProblem:
    """The tuning problem of a seed.

    Even seeds tune the penalty rates of hard-threshold-ucb; odd seeds take the other families in turns. A draw whose
    budget would not bind is replaced by another from the same seed.

    Args:
        seed: >= 0.
        quick: horizons from 300 to 600 rather than from 300 to 5000.
    """
    others = [name for name in FAMILIES if name != "hard"]
    family = "hard" if seed % 2 == 0 else others[seed // 2 % len(others)]
    for attempt in range(100):
        rng = np.random.default_rng([seed, attempt])
        drawn = FAMILIES[family](seed, rng, 600 if quick else 5000)
        made = with_budget(drawn, rng, 256 if quick else 1024)
        if made is not None:
            return made
    raise RuntimeError(f"no problem with a binding budget was found for seed {seed}")


def draw_many_parameters(seed: int, *, quick: bool = False) -> TuningProblem:
    """A problem with the 50 penalty rates of hard-threshold-ucb with 50 arms, and a budget on unfairness."""
    for attempt in range(100):
        rng = np.random.default_rng([seed, 50, attempt])
        horizon = 500 if quick else int(rng.integers(1500, 3001))
        base = {**_arms(rng, 50, delayed=False), "fractions": _fractions(rng, 50)}
        made = with_budget(_penalties(seed, "hard", base, rng, horizon, 2.0), rng, 256 if quick else 1024)
        if made is not None:
            return made
    raise RuntimeError(f"no problem with a binding budget was found for seed {seed}")


def with_budget(task: TuningProblem, rng: np.random.Generator, seeds: int) -> TuningProblem | None:
    """The problem with a budget that binds; the problem itself if it limits no metric.

    The budget lies between the smallest mean of the limited metric over the common values, and its mean at the value
    that minimises the objective without a budget.

    Returns:
        None if these differ too little for a budget that binds, or if the objective hardly depends on the parameter.
    """
    measured = Measured.of(task, task.values[:: 2 if len(task.values) > 20 else 1], seeds, BUDGET_KEY)
    objective = measured.minimised
    if np.ptp(objective) < 0.05 * np.median(np.abs(objective)):
        return None
    share = rng.uniform(0.15, 0.6)
    if task.limited is None:
        return task
    least, unlimited = measured.limited.min(), measured.limited[objective.argmin()]
    if unlimited - least < max(3.0, 0.15 * unlimited):
        return None
    return dataclasses.replace(task, budget=float(f"{least + share * (unlimited - least):.3g}"))


def _horizon(rng: np.random.Generator, most: int) -> int:
    return round(float(np.exp(rng.uniform(np.log(300), np.log(most)))))


def _arms(rng: np.random.Generator, arms: int, *, bernoulli: bool = False, delayed: bool | None = None) -> Table:
    """Means, rewards (Bernoulli or Gaussian) and, in a quarter of the problems, delays."""
    made: Table = {"means": np.round(rng.uniform(0.05, 0.95, arms), 3).tolist(), "reward": "bernoulli"}
    if rng.random() < 0.5 and not bernoulli:
        made["reward"] = {"kind": "gaussian", "sd": round(float(rng.uniform(0.1, 1.0)), 2)}
    drawn = rng.random() < 0.25
    if drawn if delayed is None else delayed:
        probability = np.round(rng.uniform(0.05, 0.5, arms), 3).tolist()
        made["delay"] = [
            {"kind": "geometric", "p": probability},
            {"kind": "packet-loss", "p": round(float(rng.uniform(0.3, 0.9)), 2)},
            {"kind": "fixed", "d": int(rng.integers(2, 51))},
        ][rng.integers(3)]
    return made


def _fractions(rng: np.random.Generator, arms: int) -> list[float]:
    """Fractions of the rounds, which sum to 0.3 to 0.9; equal ones in a third of the problems."""
    total = rng.uniform(0.3, 0.9)
    shares = np.full(arms, 1 / arms) if rng.random() < 1 / 3 else rng.dirichlet(np.full(arms, 3.0))
    return (np.floor(1e4 * total * shares) / 1e4).tolist()


def _fair(rng: np.random.Generator) -> Table:
    """The arguments of a problem with 2 to 10 arms and fractions."""
    arms = int(rng.integers(2, 11))
    return {**_arms(rng, arms), "fractions": _fractions(rng, arms)}


def _exploration(rng: np.random.Generator) -> float:
    """The default in half of the problems, else smaller, as practice prefers."""
    return 2.0 if rng.random() < 0.5 else float(f"{np.exp(rng.uniform(np.log(0.05), np.log(2.0))):.2g}")


def _ascending(highest: float) -> list[float]:
    """Values from 0 to the highest, denser near 0."""
    return (highest * np.linspace(0, 1, COMMON_VALUES) ** 1.5).tolist()


def _logarithmic(low: float, high: float) -> list[float]:
    return np.geomspace(low, high, COMMON_VALUES).tolist()


def _penalties(
    seed: int, family: str, problem: Table, rng: np.random.Generator, horizon: int, highest: float,
    objectives: Sequence[tuple[str, str | None]] = (("regret", "unfairness"),),
) -> TuningProblem:  # fmt: skip
    """One penalty rate per arm. The problem's rate is the start, and the rate of the objective penalized_regret."""
    start = float(f"{np.exp(rng.uniform(np.log(0.05), np.log(1.0))):.2g}")
    minimised, limited = objectives[int(rng.integers(len(objectives)))]
    policy = {"kind": f"{family}-threshold-ucb", "exploration": _exploration(rng)}
    return TuningProblem(
        seed, family, {**problem, "penalties": start}, policy, "penalties", len(problem["means"]), start,
        _ascending(highest), False, horizon, minimised, limited,
    )  # fmt: skip


OBJECTIVES: list[tuple[str, str | None]] = [("regret", "unfairness")] * 4 + [
    ("regret", "max_deficit"),
    ("penalized_regret", None),
]


def _hard(seed: int, rng: np.random.Generator, most: int) -> TuningProblem:
    return _penalties(seed, "hard", _fair(rng), rng, _horizon(rng, most), 2.0, OBJECTIVES)


def _soft(seed: int, rng: np.random.Generator, most: int) -> TuningProblem:
    return _penalties(seed, "soft", _fair(rng), rng, _horizon(rng, most), 6.0, OBJECTIVES)


def _lfg(seed: int, rng: np.random.Generator, most: int) -> TuningProblem:
    """The weight eta of rewards against queues."""
    horizon, start = _horizon(rng, most), float(f"{np.exp(rng.uniform(0, np.log(100))):.2g}")
    return TuningProblem(
        seed, "lfg", _fair(rng), {"kind": "lfg", "exploration": _exploration(rng)}, "eta", 0, start,
        _logarithmic(0.1, 2.0 * horizon), True, horizon, "regret", "unfairness",
    )  # fmt: skip


def _exploring(seed: int, rng: np.random.Generator, most: int) -> TuningProblem:
    """The exploration constant of ucb1 under a fairness rule."""
    rule = ["hard-threshold-ucb", "fair-learn", "eta-fucb", "t-fucb", "lfg"][rng.integers(5)]
    policy: Table = {"kind": rule} | ({"eta": 10.0} if rule == "lfg" else {})
    minimised = ["penalized_regret", "r_regret"][int(rule in ("fair-learn", "t-fucb") and rng.random() < 0.5)]
    problem = {**_fair(rng), "penalties": round(float(rng.uniform(0.2, 0.8)), 2)}
    return TuningProblem(
        seed, "exploration", problem, policy, "exploration", 0, 2.0, _logarithmic(0.002, 5.0), True,
        _horizon(rng, most), minimised,
    )  # fmt: skip


def _merit(seed: int, rng: np.random.Generator, most: int) -> TuningProblem:
    """The scale of the merit function with which a policy of the merit paper plays."""
    arms, kind = int(rng.integers(2, 11)), ["fcucb-d", "fcts-d", "fgreedy-d"][rng.integers(3)]
    scale = round(float(rng.uniform(1.0, 5.0)), 1)
    merit = {"kind": "power", "scale": scale, "exponent": int(rng.choice([2, 4]))}
    most = min(most, {"fcucb-d": 1500, "fcts-d": 800, "fgreedy-d": 5000}[kind])  # fcts-d takes 40 times as long
    return TuningProblem(
        seed, "merit", {**_arms(rng, arms, bernoulli=True), "merit": merit}, {"kind": kind}, "merit.scale", 0, scale,
        _logarithmic(scale / 20, scale * 100), True, _horizon(rng, most), "reward_regret", "fairness_regret",
    )  # fmt: skip


def _opportunity(seed: int, rng: np.random.Generator, most: int) -> TuningProblem:
    """The transfer cost with which self-regulated plays: one number, or one per arm."""
    arms = int(rng.integers(2, 9))
    opportunity = [{"kind": "softmax", "c": 1.0}, "uniform", "linear"][rng.integers(3)]
    cost = round(float(rng.uniform(0.1, 0.7)), 2)
    problem = {**_arms(rng, arms, bernoulli=True, delayed=False), "penalties": cost, "opportunity": opportunity}
    return TuningProblem(
        seed, "opportunity", problem, {"kind": "self-regulated", "exploration": _exploration(rng)}, "penalties",
        arms * int(rng.integers(2)), cost, np.linspace(0, 1, COMMON_VALUES).tolist(), False, _horizon(rng, most),
        "utility_regret",
    )  # fmt: skip


FAMILIES: dict[str, Callable[[int, np.random.Generator, int], TuningProblem]] = {
    "hard": _hard, "soft": _soft, "lfg": _lfg, "exploration": _exploring, "merit": _merit, "opportunity": _opportunity,
}  # fmt: skip
