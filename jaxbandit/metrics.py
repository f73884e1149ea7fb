"""Metrics, in float64 on the host, from counts where they tell them: exact at long horizons whatever the dtype."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from .errors import unknown_name
from .exact import Quota, total
from .optimum import best_utility, penalized_loss
from .problem import Problem


@dataclass(frozen=True)
class Truth:
    """What a metric is computed from besides counts: a block of instances and some recorded rounds.

    Attributes:
        t: the rounds, int64 `[R, 1, 1, 1]`.
        means, gaps: float64 `[K, C, 1]`, C instances.
        plays: L.
        quota: tau_k t, arrays `[R, K, C or 1, 1]`; None without fractions.
        penalties: A_k, float64 `[K, C or 1, 1]`; None without penalties.
        opportunities: f(mu)_k, float64 `[K, C, 1]`; None without a fairness function.
        sums: what the engine adds up for the metrics chosen, by name, float64 `[R, C, S]`.
    """

    t: np.ndarray
    means: np.ndarray
    gaps: np.ndarray
    plays: int
    quota: Quota | None
    penalties: np.ndarray | None
    opportunities: np.ndarray | None = None
    sums: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def owed(self) -> np.ndarray:
        """tau_k t, float64 `[R, K, C or 1, 1]`."""
        assert self.quota is not None
        return self.quota.whole + self.quota.rest

    def missing(self, counts: np.ndarray) -> np.ndarray:
        """tau_k t - N_k, float64 `[R, K, C, S]`; signs and zeros exact."""
        assert self.quota is not None
        return (self.quota.whole - counts) + self.quota.rest


def regret(counts: np.ndarray, truth: Truth) -> np.ndarray:
    """t times the sum of the L largest mu, less sum_k mu_k N_k (001 eq. 2)."""
    best = total(np.sort(truth.means, axis=0)[::-1][: truth.plays], axis=0)
    return truth.t[:, 0] * best - total(truth.means * counts, axis=1)


def penalized_regret(counts: np.ndarray, truth: Truth) -> np.ndarray:
    """sum_k [gap_k N_k + A_k (tau_k t - N_k)+ - min(gap_k, A_k) tau_k t] (000 eq. 10)."""
    paid = truth.gaps * counts + truth.penalties * np.maximum(truth.missing(counts), 0.0)
    per_instance = penalized_loss(truth.gaps[..., 0], truth.owed[..., 0], np.asarray(truth.penalties)[..., 0])
    return total(paid, axis=1) - per_instance[..., None]


def r_regret(counts: np.ndarray, truth: Truth) -> np.ndarray:
    """sum_k gap_k (N_k - tau_k t) (001 eq. 3)."""
    return total(-truth.gaps * truth.missing(counts), axis=1)


def c_regret(counts: np.ndarray, truth: Truth) -> np.ndarray:
    """sum_k (mu_k - mu_(L))+ (t - N_k) + (mu_(L) - mu_k)+ (N_k - floor(tau_k t)), mu_(L) the L-th best (003 eq. 7)."""
    assert truth.quota is not None
    last = np.sort(truth.means, axis=0)[-truth.plays][None]
    missed = np.maximum(truth.means - last, 0.0) * (truth.t - counts)
    wasted = np.maximum(last - truth.means, 0.0) * (counts - truth.quota.whole)
    return total(missed + wasted, axis=1)


def unfairness(counts: np.ndarray, truth: Truth) -> np.ndarray:
    """sum_k (tau_k t - N_k)+ (000 App. A)."""
    return total(np.maximum(truth.missing(counts), 0.0), axis=1)


def max_deficit(counts: np.ndarray, truth: Truth) -> np.ndarray:
    """max_k (tau_k t - N_k), not clipped at 0 (003 sec. 5)."""
    return truth.missing(counts).max(axis=1)


def reward_regret(counts: np.ndarray, truth: Truth) -> np.ndarray:
    """sum_{s<=t} max(sum_k (p*_k - p_k(s)) mu_k, 0) (002 eq. 5)."""
    return truth.sums["reward_regret"]


def fairness_regret(counts: np.ndarray, truth: Truth) -> np.ndarray:
    """sum_{s<=t} sum_k |p*_k - p_k(s)| (002 eq. 6)."""
    return truth.sums["fairness_regret"]


def utility(counts: np.ndarray, truth: Truth) -> np.ndarray:
    """The sum of the rewards drawn, less sum_k A_k (t f(mu)_k - N_k)+ (004 eq. 1)."""
    return truth.sums["reward"] - _withheld(counts, truth)


def utility_regret(counts: np.ndarray, truth: Truth) -> np.ndarray:
    """The optimum's expected utility, less sum_k mu_k N_k - A_k (t f(mu)_k - N_k)+ (004 eq. 2, Lemma 1)."""
    assert truth.opportunities is not None
    f, penalties = truth.opportunities[..., 0], np.asarray(truth.penalties)[..., 0]
    best = best_utility(truth.means[..., 0], f, penalties, truth.t[:, 0, 0, 0])
    return best[..., None] - (total(truth.means * counts, axis=1) - _withheld(counts, truth))


def _withheld(counts: np.ndarray, truth: Truth) -> np.ndarray:
    """sum_k A_k (t f(mu)_k - N_k)+, what opportunities that were withheld cost."""
    owed = truth.t * truth.opportunities
    return total(truth.penalties * np.maximum(owed - counts, 0.0), axis=1)


@dataclass(frozen=True)
class Metric:
    """A metric: its function, from counts int `[R, K, C, S]` to float64 `[R, C, S]`, its label and what it needs.

    Attributes:
        needs: of the problem.
        sums: of the engine, names of `engine.SUMS`.
    """

    compute: Callable[[np.ndarray, Truth], np.ndarray]
    label: str
    needs: tuple[str, ...] = ()
    sums: tuple[str, ...] = ()

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
    "utility": Metric(utility, "utility (reward)", ("opportunity", "penalties"), ("reward",)),
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
    problem: Problem,
    instances: slice,
    quota: Quota | None,
    sums: Mapping[str, np.ndarray] | None = None,
) -> dict[str, np.ndarray]:
    """Metrics of a block of runs.

    Args:
        names: of `METRICS`.
        counts: N_k, int `[R, K, C, S]`.
        rounds: the R rounds they were counted at.
        instances: the block's C instances.
        quota: tau_k t at those rounds, arrays `[R, K, C or 1]`; None without fractions.
        sums: those that the metrics need (`needed`), by name, float64 `[R, C, S]`.

    Returns:
        By name, float64 `[R, C, S]`.
    """
    penalties = problem.penalties
    if penalties is not None:
        penalties = (penalties[:, instances] if penalties.shape[1] > 1 else penalties)[..., None]
    truth = Truth(
        t=rounds.astype(np.int64).reshape(-1, 1, 1, 1),
        means=problem.means[:, instances, None],
        gaps=problem.gaps[:, instances, None],
        plays=problem.plays,
        quota=None if quota is None else Quota(quota.whole[..., None], quota.rest[..., None], None),
        penalties=penalties,
        opportunities=None if problem.opportunity is None else problem.opportunities()[:, instances, None],
        sums=sums or {},
    )
    return {name: METRICS[name].compute(counts, truth) for name in names}
