"""The problem on which each policy is timed: the table `CASES`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

import jaxbandit as jb
from jaxbandit.policies.base import Alias, Policy

Arguments = Mapping[str, object]

FRACTIONS: Arguments = {"means": np.linspace(0.9, 0.1, 10), "fractions": 0.05, "penalties": 0.45}
PLAYS: Arguments = {"means": [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2], "plays": 3, "fractions": 0.1}
MERIT: Arguments = {
    "means": [0.3, 0.5, 0.7, 0.9, 0.8, 0.6, 0.4],
    "plays": 3,
    "merit": "power",
    "delay": {"kind": "geometric", "p": 0.05},
}
OPPORTUNITIES: Arguments = {"means": 0.2 + 0.15 * np.arange(6), "penalties": 0.4, "opportunity": "softmax"}


@dataclass(frozen=True)
class Case:
    """A policy on a problem.

    Attributes:
        kind: the policy's name in the registry.
        paper: the paper whose policy or problem it is; "" for classic policies.
        problem_arguments: the arguments of `jaxbandit.Problem`.
        horizon, runs: chosen so that one timing takes a few seconds on two cores.
        parameters: the parameters of the policy.
    """

    kind: str
    paper: str
    problem_arguments: Arguments
    horizon: int
    runs: int
    parameters: Arguments = field(default_factory=dict)

    @property
    def problem(self) -> jb.Problem:
        return jb.Problem(**self.problem_arguments)  # type: ignore[arg-type]

    @property
    def policy(self) -> Policy:
        return jb.policy(self.kind, **self.parameters)

    @property
    def metrics(self) -> list[str]:
        """The metrics recorded during the timing: only the regrets of the paper."""
        return ["reward_regret", "fairness_regret"] if "merit" in self.problem_arguments else ["regret"]


# With the default accuracies of the opportunities paper, exploration takes all rounds of these horizons. With the
# accuracies below, every phase is reached.
CASES = {
    "uniform-random": Case("uniform-random", "", FRACTIONS, 10_000, 8192),
    "epsilon-greedy": Case("epsilon-greedy", "", FRACTIONS, 10_000, 8192),
    "explore-then-commit": Case("explore-then-commit", "", FRACTIONS, 10_000, 8192),
    "successive-elimination": Case("successive-elimination", "", FRACTIONS, 10_000, 8192),
    "ucb1": Case("ucb1", "", FRACTIONS, 10_000, 8192),
    "ucb-v": Case("ucb-v", "", FRACTIONS, 10_000, 8192),
    "moss": Case("moss", "", FRACTIONS, 10_000, 4096),
    "kl-ucb": Case("kl-ucb", "", FRACTIONS, 300, 4096),
    "thompson": Case("thompson", "", FRACTIONS, 500, 4096),
    "hard-threshold-ucb": Case("hard-threshold-ucb", "penalties", FRACTIONS, 10_000, 8192),
    "soft-threshold-ucb": Case("soft-threshold-ucb", "penalties", FRACTIONS, 10_000, 8192),
    "lfg": Case("lfg", "penalties", FRACTIONS, 10_000, 8192, {"eta": 100.0}),  # the square root of T
    "fucb": Case("fucb", "guarantees", FRACTIONS, 10_000, 8192),
    "f-ts": Case("f-ts", "guarantees", FRACTIONS, 500, 4096),
    # With eta = 1 all arms are selected equally often, which would check nothing.
    "eta-fucb": Case("eta-fucb", "guarantees", FRACTIONS, 10_000, 8192, {"eta": 0.001}),
    "t-fucb": Case("t-fucb", "guarantees", FRACTIONS, 10_000, 8192),
    "naive": Case("naive", "guarantees", FRACTIONS, 10_000, 8192),
    "fair-random": Case("fair-random", "guarantees", FRACTIONS, 10_000, 8192),
    "ucb1, 3 plays": Case("ucb1", "plays", PLAYS, 5000, 4096),
    "fair-mmab": Case("fair-mmab", "plays", PLAYS, 5000, 4096, {"log_offset": 1}),
    "fair-mmab/kl-ucb": Case("fair-mmab", "plays", PLAYS, 300, 4096, {"base": "kl-ucb", "log_offset": 1}),
    "ucb-lp": Case("ucb-lp", "plays", PLAYS, 5000, 4096),
    "ucb-pllp": Case("ucb-pllp", "plays", PLAYS, 5000, 4096),
    "fcucb-d": Case("fcucb-d", "merit", MERIT, 2000, 4096),
    "fcts-d": Case("fcts-d", "merit", MERIT, 1000, 4096),
    "op-fcucb-d": Case("op-fcucb-d", "merit", MERIT, 2000, 4096),
    "op-fcts-d": Case("op-fcts-d", "merit", MERIT, 1000, 4096),
    "fgreedy-d": Case("fgreedy-d", "merit", MERIT, 2000, 4096),
    "cucb-d": Case("cucb-d", "merit", MERIT, 2000, 4096),
    "mp-ts-d": Case("mp-ts-d", "merit", MERIT, 1000, 4096),
    "opse": Case("opse", "merit", MERIT, 2000, 4096),
    "fairness-aware-etc": Case("fairness-aware-etc", "opportunities", OPPORTUNITIES, 20_000, 4096,
                               {"rounds_per_arm": 500}),
    "self-regulated": Case("self-regulated", "opportunities", OPPORTUNITIES, 20_000, 4096, {"alpha": 0.2, "beta": 0.2}),
    "constant-opportunity": Case("constant-opportunity", "opportunities", {**OPPORTUNITIES, "opportunity": "uniform"},
                                 20_000, 4096),
}  # fmt: skip


def untimed() -> list[str]:
    """Policies of the registry that no case times. An alias counts as the policy that it stands for."""
    timed = {case.policy.name for case in CASES.values()}
    return [kind for kind, cls in Policy.registry.items() if not isinstance(cls, Alias) and kind not in timed]
