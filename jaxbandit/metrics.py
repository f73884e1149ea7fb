"""Metrics, from counts where they tell them: in float64 on the host, exact at long horizons whatever the dtype.

Where `tuning` takes their gradients, the same functions take JAX arrays, and counts that are no whole numbers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import unknown_name
from .exact import Quota, namespace, total, weighted
from .facts import Facts
from .optimum import best_utility, penalized_loss
from .problem import Problem
from .struct import static, struct


@struct
class Truth:
    """What a metric is computed from besides counts: a block of instances and some recorded rounds.

    Attributes:
        t: the rounds, int64 `[R, 1, 1, 1]`.
        means, gaps: float64 `[K, C, 1]`, C instances.
        quota: tau_k t, arrays `[R, K, C or 1, 1]`; None without fractions.
        penalties: A_k, float64 `[K, C or 1, 1]`; None without penalties.
        opportunities: f(mu)_k, float64 `[K, C, 1]`; None without a fairness function.
        best: the optimum's expected utility (004 Lemma 1), float64 `[R, C]`; None where no metric needs it.
        sums: what the engine adds up for the metrics chosen, by name, float64 `[R, C, S]`.
        short: `missing` of the counts at hand, where several metrics ask for it; else None.
        plays: L.
    """

    t: Any
    means: Any
    gaps: Any
    quota: Quota | None
    penalties: Any
    opportunities: Any
    best: Any
    sums: Mapping[str, Any]
    plays: int = static(1)
    short: Any = dataclasses.field(default=None)

    def at(self, rounds: slice) -> Truth:
        """That of some of the recorded rounds."""
        quota, best = self.quota, self.best
        return dataclasses.replace(
            self,
            t=self.t[rounds],
            quota=None if quota is None else Quota(quota.whole[rounds], quota.rest[rounds], None),
            best=None if best is None else best[rounds],
            sums={name: values[rounds] for name, values in self.sums.items()},
        )

    @property
    def owed(self) -> Any:
        """tau_k t, float64 `[R, K, C or 1, 1]`."""
        assert self.quota is not None
        return self.quota.whole + self.quota.rest

    def missing(self, counts: Any) -> Any:
        """tau_k t - N_k, float64 `[R, K, C, S]`; signs and zeros exact."""
        if self.short is not None:
            return self.short
        assert self.quota is not None
        return (self.quota.whole - counts) + self.quota.rest


def regret(counts: Any, truth: Truth) -> Any:
    """t times the sum of the L largest mu, less sum_k mu_k N_k (001 eq. 2)."""
    best = total(namespace(truth.means).sort(truth.means, axis=0)[::-1][: truth.plays], axis=0)
    return truth.t[:, 0] * best - reward(counts, truth)


def reward(counts: Any, truth: Truth) -> Any:
    """sum_k mu_k N_k, the expected reward of what was played."""
    return weighted(truth.means, counts)


def penalty(counts: Any, truth: Truth) -> Any:
    """sum_k A_k (tau_k t - N_k)+ (000 eq. 3)."""
    return weighted(truth.penalties, truth.missing(counts).clip(0.0))


def penalized_regret(counts: Any, truth: Truth) -> Any:
    """sum_k [gap_k N_k + A_k (tau_k t - N_k)+ - min(gap_k, A_k) tau_k t] (000 eq. 10)."""
    per_instance = penalized_loss(truth.gaps[..., 0], truth.owed[..., 0], truth.penalties[..., 0])
    paid = weighted(truth.gaps, counts) + penalty(counts, truth)
    return paid - per_instance[..., None]


def r_regret(counts: Any, truth: Truth) -> Any:
    """sum_k gap_k (N_k - tau_k t) (001 eq. 3)."""
    return weighted(-truth.gaps, truth.missing(counts))


def c_regret(counts: Any, truth: Truth) -> Any:
    """sum_k (mu_k - mu_(L))+ (t - N_k) + (mu_(L) - mu_k)+ (N_k - floor(tau_k t)), mu_(L) the L-th best (003 eq. 7)."""
    assert truth.quota is not None
    last = namespace(truth.means).sort(truth.means, axis=0)[-truth.plays][None]
    missed = (truth.means - last).clip(0.0) * (truth.t - counts)
    wasted = (last - truth.means).clip(0.0) * (counts - truth.quota.whole)
    return total(missed + wasted, axis=1)


def unfairness(counts: Any, truth: Truth) -> Any:
    """sum_k (tau_k t - N_k)+ (000 App. A)."""
    return total(truth.missing(counts).clip(0.0), axis=1)


def max_deficit(counts: Any, truth: Truth) -> Any:
    """max_k (tau_k t - N_k), not clipped at 0 (003 sec. 5)."""
    return truth.missing(counts).max(axis=1)


def reward_regret(counts: Any, truth: Truth) -> Any:
    """sum_{s<=t} max(sum_k (p*_k - p_k(s)) mu_k, 0) (002 eq. 5)."""
    return truth.sums["reward_regret"]


def fairness_regret(counts: Any, truth: Truth) -> Any:
    """sum_{s<=t} sum_k |p*_k - p_k(s)| (002 eq. 6)."""
    return truth.sums["fairness_regret"]


def utility(counts: Any, truth: Truth) -> Any:
    """The sum of the rewards drawn, less sum_k A_k (t f(mu)_k - N_k)+ (004 eq. 1)."""
    return truth.sums["reward"] - _withheld(counts, truth)


def utility_regret(counts: Any, truth: Truth) -> Any:
    """The optimum's expected utility, less sum_k mu_k N_k - A_k (t f(mu)_k - N_k)+ (004 eq. 2, Lemma 1)."""
    return truth.best[..., None] - (reward(counts, truth) - _withheld(counts, truth))


def _withheld(counts: Any, truth: Truth) -> Any:
    """sum_k A_k (t f(mu)_k - N_k)+, what opportunities that were withheld cost."""
    owed = truth.t * truth.opportunities
    return weighted(truth.penalties, (owed - counts).clip(0.0))


@dataclass(frozen=True)
class Metric:
    """A metric: its function, its label and what it needs.

    The function takes counts, whole numbers in float64 `[R, K, C, S]`, to float64 `[R, C, S]`.

    Attributes:
        needs: of the problem.
        sums: of the engine, names of `engine.SUMS`.
        gain: whether more of it is better; of a loss less is.
    """

    compute: Callable[[Any, Truth], Any]
    label: str
    needs: tuple[str, ...] = ()
    sums: tuple[str, ...] = ()
    gain: bool = False

    @property
    def summary(self) -> str:
        """The formula and its source."""
        return (self.compute.__doc__ or "").strip()


METRICS: dict[str, Metric] = {
    "regret": Metric(regret, "regret (reward)"),
    "penalized_regret": Metric(penalized_regret, "penalized regret (reward)", ("fractions", "penalties")),
    "r_regret": Metric(r_regret, "r-regret (reward)", ("fractions",)),
    "c_regret": Metric(c_regret, "c-regret (reward)", ("fractions",)),
    "reward_regret": Metric(reward_regret, "reward regret (reward)", ("merit",), ("reward_regret",)),
    "fairness_regret": Metric(fairness_regret, "fairness regret (selections)", ("merit",), ("fairness_regret",)),
    "utility": Metric(utility, "utility (reward)", ("opportunity", "penalties"), ("reward",), gain=True),
    "utility_regret": Metric(utility_regret, "utility regret (reward)", ("opportunity", "penalties")),
    "unfairness": Metric(unfairness, "unfairness (missed rounds)", ("fractions",)),
    "max_deficit": Metric(max_deficit, "largest deficit (rounds)", ("fractions",)),
}


def defined(problem: Problem) -> list[str]:
    """The metrics that have all they need of the problem, in the order of `METRICS`."""
    return [name for name, m in METRICS.items() if all(getattr(problem, need) is not None for need in m.needs)]


def chosen(names: list[str] | None, problem: Problem) -> list[str]:
    """The metrics asked for, or all that the problem defines; `max_deficit_ever` comes with `max_deficit`.

    Raises:
        InputError: a name that is no metric, or one whose needs the problem does not meet.
    """
    able = defined(problem)
    if names is None:
        return able
    names = ["max_deficit" if name == "max_deficit_ever" else name for name in names]  # the one comes with the other
    for name in names:
        if name not in METRICS:
            raise unknown_name("simulation.metrics", name, METRICS)
        if name not in able:
            lacking = " and ".join(f"problem.{need}" for need in METRICS[name].needs)
            raise unknown_name("simulation.metrics", f"{name} (which needs {lacking})", able)
    return list(dict.fromkeys(names))


def caveats(names: list[str], problem: Problem) -> list[str]:
    """What to know of the metrics for this problem, a sentence each."""
    if "c_regret" not in names or problem.fractions is None:
        return []
    order = np.argsort(-problem.means, axis=0, kind="stable")[problem.plays - 1 :]
    tails = np.take_along_axis(np.broadcast_to(problem.fractions, problem.means.shape), order, axis=0).sum(axis=0)
    if max(tails) < 1:
        return []
    return [
        f"c_regret grows even for the optimum: the fractions of the L-th best arm, L = {problem.plays}, and of those "
        f"below sum to {float(max(tails)):g}, and it is a regret where they sum to less than 1 (003 Theorem 3.3)"
    ]


def needed(names: list[str]) -> tuple[str, ...]:
    """The sums that the engine must keep for some metrics."""
    return tuple(dict.fromkeys(name for metric in names for name in METRICS[metric].sums))


def judge(
    names: list[str],
    counts: np.ndarray,
    rounds: np.ndarray,
    facts: Facts,
    quota: Quota | None,
    sums: Mapping[str, np.ndarray] | None = None,
) -> dict[str, np.ndarray]:
    """Metrics of a block of runs.

    Args:
        names: of `METRICS`.
        counts: N_k, int `[R, K, C, S]`.
        rounds: the R rounds they were counted at.
        facts: of the block's C instances.
        quota: tau_k t at those rounds, arrays `[R, K, C or 1]`; None without fractions.
        sums: those that the metrics need (`needed`), by name, float64 `[R, C, S]`.

    Returns:
        By name, float64 `[R, C, S]`.
    """
    truth = truth_of(names, rounds, facts, quota, sums or {})
    made = {name: np.empty((len(counts), *counts.shape[2:])) for name in names}
    few = max(1, _CACHED // max(1, counts[0].size))
    for first in range(0, len(counts), few):  # a few rounds at a time stay in a core's cache (measured: 4 times faster)
        part = slice(first, first + few)
        exact, here = counts[part].astype(np.float64), truth.at(part)
        if quota is not None:
            here = dataclasses.replace(here, short=here.missing(exact))
        for name in names:
            made[name][part] = METRICS[name].compute(exact, here)
    return made


_CACHED = 1 << 17  # counts


def truth_of(
    names: list[str], rounds: np.ndarray, facts: Facts, quota: Quota | None, sums: Mapping[str, np.ndarray]
) -> Truth:
    """What some metrics are computed from besides counts; the arguments are those of `judge`."""
    means, penalties, opportunities, best = facts.means, facts.penalties, facts.opportunities, None
    if opportunities is not None and "utility_regret" in names:
        best = best_utility(means, opportunities, penalties, rounds)
    return Truth(
        t=rounds.astype(np.int64).reshape(-1, 1, 1, 1),
        means=means[..., None],
        gaps=(means.max(axis=0) - means)[..., None],
        quota=None if quota is None else Quota(quota.whole[..., None], quota.rest[..., None], None),
        penalties=None if penalties is None else penalties[..., None],
        opportunities=None if opportunities is None else opportunities[..., None],
        best=best,
        sums=sums,
        plays=facts.plays,
    )
