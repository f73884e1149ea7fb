"""What each policy is timed on: one table, `CASES`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import jaxbandit as jb
from jaxbandit.policies.base import Alias, Policy

FRACTIONS: dict[str, Any] = {"means": np.linspace(0.9, 0.1, 10), "fractions": 0.05, "penalties": 0.45}
PLAYS: dict[str, Any] = {"means": [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2], "plays": 3, "fractions": 0.1}
MERIT: dict[str, Any] = {
    "means": [0.3, 0.5, 0.7, 0.9, 0.8, 0.6, 0.4],
    "plays": 3,
    "merit": "power",
    "delay": {"kind": "geometric", "p": 0.05},
}
TRANSFER: dict[str, Any] = {"means": 0.2 + 0.15 * np.arange(6), "penalties": 0.4, "opportunity": "softmax"}


@dataclass(frozen=True)
class Case:
    """A policy on a problem.

    Attributes:
        kind: the policy's name in the registry.
        paper: the file number of the paper whose policy or whose problem it is; "" for the classics.
        world: arguments of `jaxbandit.Problem`.
        horizon, runs: so that one timing takes a few seconds on two cores.
        parameters: the policy's.
    """

    kind: str
    paper: str
    world: dict[str, Any]
    horizon: int
    runs: int
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def problem(self) -> jb.Problem:
        return jb.Problem(**self.world)

    @property
    def policy(self) -> Policy:
        return jb.policy(self.kind, **self.parameters)

    @property
    def metrics(self) -> list[str]:
        """What is recorded while it is timed: the regret of its paper, and nothing else."""
        return ["reward_regret", "fairness_regret"] if "merit" in self.world else ["regret"]


# 004's own accuracies shrink so slowly that exploration fills these horizons; with the ones here all phases are played.
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
    "hard-threshold-ucb": Case("hard-threshold-ucb", "000", FRACTIONS, 10_000, 8192),
    "soft-threshold-ucb": Case("soft-threshold-ucb", "000", FRACTIONS, 10_000, 8192),
    "lfg": Case("lfg", "000", FRACTIONS, 10_000, 8192, {"eta": 100.0}),  # the square root of T
    "fucb": Case("fucb", "001", FRACTIONS, 10_000, 8192),
    "f-ts": Case("f-ts", "001", FRACTIONS, 500, 4096),
    "eta-fucb": Case("eta-fucb", "001", FRACTIONS, 10_000, 8192, {"eta": 0.001}),  # 1 plays all arms alike: no check
    "t-fucb": Case("t-fucb", "001", FRACTIONS, 10_000, 8192),
    "naive": Case("naive", "001", FRACTIONS, 10_000, 8192),
    "fair-random": Case("fair-random", "001", FRACTIONS, 10_000, 8192),
    "ucb1, 3 plays": Case("ucb1", "003", PLAYS, 5000, 4096),
    "fair-mmab": Case("fair-mmab", "003", PLAYS, 5000, 4096, {"log_offset": 1}),
    "fair-mmab/kl-ucb": Case("fair-mmab", "003", PLAYS, 300, 4096, {"base": "kl-ucb", "log_offset": 1}),
    "ucb-lp": Case("ucb-lp", "003", PLAYS, 5000, 4096),
    "ucb-pllp": Case("ucb-pllp", "003", PLAYS, 5000, 4096),
    "fcucb-d": Case("fcucb-d", "002", MERIT, 2000, 4096),
    "fcts-d": Case("fcts-d", "002", MERIT, 1000, 4096),
    "op-fcucb-d": Case("op-fcucb-d", "002", MERIT, 2000, 4096),
    "op-fcts-d": Case("op-fcts-d", "002", MERIT, 1000, 4096),
    "fgreedy-d": Case("fgreedy-d", "002", MERIT, 2000, 4096),
    "cucb-d": Case("cucb-d", "002", MERIT, 2000, 4096),
    "mp-ts-d": Case("mp-ts-d", "002", MERIT, 1000, 4096),
    "opse": Case("opse", "002", MERIT, 2000, 4096),
    "fairness-aware-etc": Case("fairness-aware-etc", "004", TRANSFER, 20_000, 4096, {"rounds_per_arm": 500}),
    "self-regulated": Case("self-regulated", "004", TRANSFER, 20_000, 4096, {"alpha": 0.2, "beta": 0.2}),
    "constant-opportunity": Case("constant-opportunity", "004", {**TRANSFER, "opportunity": "uniform"}, 20_000, 4096),
}


def untimed() -> list[str]:
    """Policies of the registry, aliases apart, that no case times by themselves or as an alias."""
    known = {case.policy.name for case in CASES.values()}
    return [kind for kind, entry in Policy.registry.items() if not isinstance(entry, Alias) and kind not in known]
