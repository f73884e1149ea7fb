"""The problems on which tuning is compared with searches: the table `TASKS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

import jaxbandit as jb

Candidates = Callable[[int, np.random.Generator], np.ndarray]  # (n, generator) -> values of the parameter, `[n, ...]`


class TuneOptions(TypedDict, total=False):
    """Arguments of `jb.tuning.tune`."""

    temperature: float
    width: float
    learning_rate: float
    constraint: str


@dataclass(frozen=True)
class Task:
    """A problem, the parameter of a policy that is tuned on it, and the searches to compare with.

    Attributes:
        title: one line for the printed table.
        policy: makes a policy from the value of its parameter.
        parameter: the name of the parameter.
        start: the value from which tuning starts.
        minimised: the metric to minimise.
        limited, most: the metric with a budget, and the budget; None without a budget.
        searches: by name, how a search draws its candidates.
        options: further arguments of `jb.tuning.tune`.
    """

    title: str
    problem: jb.Problem
    policy: Callable[[np.ndarray], jb.Policy]
    parameter: str
    start: float | list[float]
    minimised: str
    limited: str | None
    most: float
    searches: Mapping[str, Candidates]
    options: TuneOptions
    horizon: int = 10_000

    @property
    def objective(self) -> str | dict[str, object]:
        """The objective as `jb.tuning.tune` takes it."""
        if self.limited is None:
            return self.minimised
        budget = {"metric": self.minimised, "limited": self.limited, "most": self.most, "multiplier": 0.5}
        return {"kind": "budget", **budget}

    @property
    def metrics(self) -> list[str]:
        """The metrics to simulate."""
        return [self.minimised] if self.limited is None else [self.minimised, self.limited]

    def rank(self, means: Mapping[str, float]) -> tuple[float, float]:
        """A sort key for mean metrics, smallest for the best; `tune` ranks its steps in the same way."""
        excess = 0.0 if self.limited is None else max(means[self.limited] - self.most, 0.0)
        return excess, means[self.minimised]


def penalty_rates() -> Task:
    """Eight penalty rates, one per arm: experiment D of the penalties paper, with at most 1000 missed rounds."""
    means = [0.9, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]
    return Task(
        title="penalties paper, experiment D: regret with eight penalty rates, unfairness at most 1000",
        problem=jb.Problem(means, fractions=0.0625, reward={"kind": "gaussian", "sd": 0.125}),
        policy=lambda value: jb.policy("hard-threshold-ucb", penalties=np.broadcast_to(value, 8).tolist()),
        parameter="penalties",
        start=[0.5] * 8,
        minimised="regret",
        limited="unfairness",
        most=1000.0,
        searches={
            "random": lambda n, rng: rng.uniform(0, 1, (n, 8)),
            "grid of one scale": lambda n, _: np.linspace(0, 1, n)[:, None],
        },
        options={"temperature": 0.01, "width": 2.0, "learning_rate": 0.03},
    )


def opportunity_bonus() -> Task:
    """The penalty rate of hard-threshold-ucb whose fractions are f(mu), for the utility of the opportunities paper.

    The policies of that paper play in phases, whose tests are not differentiable. So this task tunes a differentiable
    policy that keeps the shares f(mu) as its fractions. Theory suggests the transfer cost 0.4 as its penalty rate.
    """
    means = np.array([0.2, 0.35, 0.5, 0.65, 0.8, 0.95])
    shares = np.floor(1e4 * np.exp(means) / np.exp(means).sum()) / 1e4
    return Task(
        title="opportunities paper, transfer cost 0.4: utility regret with the penalty rate of hard-threshold-ucb",
        problem=jb.Problem(means, fractions=shares.tolist(), penalties=0.4, opportunity={"kind": "softmax", "c": 1.0}),
        policy=lambda value: jb.policy("hard-threshold-ucb", penalties=float(np.ravel(value)[0])),
        parameter="penalties",
        start=0.4,
        minimised="utility_regret",
        limited=None,
        most=0.0,
        searches={"grid": lambda n, _: np.linspace(0, 1, n)[:, None]},
        options={"temperature": 0.02, "width": 1.0, "learning_rate": 0.05},
    )


def reward_weight() -> Task:
    """The weight eta of the rewards in lfg, on theta1 of the plays paper, with at most 20 missed rounds."""
    return Task(
        title="plays paper, theta1: c-regret with the eta of lfg, unfairness at most 20",
        problem=jb.Problem([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2], plays=3, fractions=0.1),
        policy=lambda value: jb.policy("lfg", exploration=1.5, eta=float(np.ravel(value)[0])),
        parameter="eta",
        start=10.0,
        minimised="c_regret",
        limited="unfairness",
        most=20.0,
        searches={"grid": lambda n, _: np.geomspace(1, 1000, n)[:, None]},
        options={"temperature": 0.2, "width": 1.0, "learning_rate": 0.3, "constraint": "reparametrisation"},
    )


TASKS = {"penalty-rates": penalty_rates, "opportunity-bonus": opportunity_bonus, "reward-weight": reward_weight}
