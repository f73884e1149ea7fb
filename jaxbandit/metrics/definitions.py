"""Metrics, from counts where they tell them: in float64 on the device, exact at long horizons whatever the dtype.

Sums over arms are taken in order and products rounded, so a metric has the same bits in blocks of any shape and on any
device. `tuning` takes gradients of the same functions, at counts that are no whole numbers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.errors import unknown_name
from jaxbandit.core.rationals import Quota, reduce_in_order, rounded_product, sum_in_order
from jaxbandit.core.struct import static, struct
from jaxbandit.environment.ground_truth import GroundTruth
from jaxbandit.environment.problem import Problem
from jaxbandit.metrics.optimal_allocations import best_utility, penalized_loss


@struct
class MetricInputs:
    """What a metric is computed from besides counts: a block of instances and some recorded rounds.

    Arrays of floats, NumPy's or JAX's.

    Attributes:
        t: the rounds, `[R, 1, 1, 1]`.
        means, gaps: `[K, C, 1]`, C instances.
        quota: tau_k t, arrays `[R, K, C or 1, 1]`; None without fractions.
        penalties: A_k, `[K, C or 1, 1]`; None without penalties.
        opportunities: f(mu)_k, `[K, C, 1]`; None without a fairness function.
        best: the optimum's expected utility (004 Lemma 1), `[R, C, 1]`; None where no metric needs it.
        sums: what the engine adds up for the metrics chosen, by name, `[R, C, S]`.
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

    def at(self, place: Any) -> MetricInputs:
        """That of one of the rounds: R = 1."""

        def row(part: Any) -> Any:
            return jax.tree.map(lambda leaf: lax.dynamic_slice_in_dim(leaf, place, 1), part)

        return dataclasses.replace(self, t=row(self.t), quota=row(self.quota), best=row(self.best), sums=row(self.sums))

    def arm(self, k: Any) -> MetricInputs:
        """That of one arm: without the axis of the arms."""

        def own(part: Any, axis: int) -> Any:
            return jax.tree.map(lambda leaf: lax.dynamic_index_in_dim(leaf, k, axis, keepdims=False), part)

        names = ("means", "gaps", "penalties", "opportunities")
        parts = {name: own(getattr(self, name), 0) for name in names}
        return dataclasses.replace(self, t=self.t[:, 0], quota=own(self.quota, 1), **parts)

    @property
    def owed(self) -> Any:
        """tau_k t, `[R, K, C or 1, 1]`."""
        assert self.quota is not None
        return self.quota.floor + self.quota.fraction

    def missing(self, counts: Any) -> Any:
        """tau_k t - N_k, `[R, ..., C, S]`; signs and zeros exact."""
        assert self.quota is not None
        return (self.quota.floor - counts) + self.quota.fraction


def _arms(
    combine: Callable[[Any, Any], Any], term: Callable[[Any, MetricInputs], Any], counts: Any, inputs: MetricInputs
) -> Any:
    """What `term` makes of each arm's counts `[R, C, S]`, and of its truth, combined in the order of arms."""

    def own(k: Any) -> Any:
        here = lax.dynamic_index_in_dim(counts, k, 1, keepdims=False)
        return term(here.astype(jnp.result_type(float)), inputs.arm(k))

    return reduce_in_order(combine, own, counts.shape[1])


def regret(counts: Any, inputs: MetricInputs) -> Any:
    """t times the sum of the L largest mu, less sum_k mu_k N_k (001 eq. 2)."""
    best = sum_in_order(jnp.sort(inputs.means, axis=0)[::-1][: inputs.plays], axis=0)
    return rounded_product(inputs.t[:, 0], best) - reward(counts, inputs)


def reward(counts: Any, inputs: MetricInputs) -> Any:
    """sum_k mu_k N_k, the expected reward of what was played."""
    return _arms(jnp.add, lambda n, arm: rounded_product(arm.means, n), counts, inputs)


def penalty(counts: Any, inputs: MetricInputs) -> Any:
    """sum_k A_k (tau_k t - N_k)+ (000 eq. 3)."""
    return _arms(jnp.add, lambda n, arm: rounded_product(arm.penalties, arm.missing(n).clip(0.0)), counts, inputs)


def penalized_regret(counts: Any, inputs: MetricInputs) -> Any:
    """sum_k [gap_k N_k + A_k (tau_k t - N_k)+ - min(gap_k, A_k) tau_k t] (000 eq. 10)."""
    paid = _arms(jnp.add, lambda n, arm: rounded_product(arm.gaps, n), counts, inputs) + penalty(counts, inputs)
    least = penalized_loss(*(part[..., 0] for part in (inputs.gaps, inputs.owed, inputs.penalties)))
    return paid - least[..., None]


def r_regret(counts: Any, inputs: MetricInputs) -> Any:
    """sum_k gap_k (N_k - tau_k t) (001 eq. 3)."""
    return _arms(jnp.add, lambda n, arm: rounded_product(-arm.gaps, arm.missing(n)), counts, inputs)


def c_regret(counts: Any, inputs: MetricInputs) -> Any:
    """sum_k (mu_k - mu_(L))+ (t - N_k) + (mu_(L) - mu_k)+ (N_k - floor(tau_k t)), mu_(L) the L-th best (003 eq. 7)."""
    last = jnp.sort(inputs.means, axis=0)[-inputs.plays]

    def term(n: Any, arm: MetricInputs) -> Any:
        assert arm.quota is not None
        missed = rounded_product((arm.means - last).clip(0.0), arm.t - n)
        return missed + rounded_product((last - arm.means).clip(0.0), n - arm.quota.floor)

    return _arms(jnp.add, term, counts, inputs)


def unfairness(counts: Any, inputs: MetricInputs) -> Any:
    """sum_k (tau_k t - N_k)+ (000 App. A)."""
    return _arms(jnp.add, lambda n, arm: arm.missing(n).clip(0.0), counts, inputs)


def max_deficit(counts: Any, inputs: MetricInputs) -> Any:
    """max_k (tau_k t - N_k), not clipped at 0 (003 sec. 5)."""
    return _arms(jnp.maximum, lambda n, arm: arm.missing(n), counts, inputs)


def reward_regret(counts: Any, inputs: MetricInputs) -> Any:
    """sum_{s<=t} max(sum_k (p*_k - p_k(s)) mu_k, 0) (002 eq. 5)."""
    return inputs.sums["reward_regret"]


def fairness_regret(counts: Any, inputs: MetricInputs) -> Any:
    """sum_{s<=t} sum_k |p*_k - p_k(s)| (002 eq. 6)."""
    return inputs.sums["fairness_regret"]


def utility(counts: Any, inputs: MetricInputs) -> Any:
    """The sum of the rewards drawn, less sum_k A_k (t f(mu)_k - N_k)+ (004 eq. 1)."""
    return inputs.sums["reward"] - _withheld(counts, inputs)


def utility_regret(counts: Any, inputs: MetricInputs) -> Any:
    """The optimum's expected utility, less sum_k mu_k N_k - A_k (t f(mu)_k - N_k)+ (004 eq. 2, Lemma 1)."""
    return inputs.best - (reward(counts, inputs) - _withheld(counts, inputs))


def _withheld(counts: Any, inputs: MetricInputs) -> Any:
    """sum_k A_k (t f(mu)_k - N_k)+, what opportunities that were withheld cost."""

    def term(n: Any, arm: MetricInputs) -> Any:
        return rounded_product(arm.penalties, (rounded_product(arm.t, arm.opportunities) - n).clip(0.0))

    return _arms(jnp.add, term, counts, inputs)


@dataclass(frozen=True)
class Metric:
    """A metric: its function, its label and what it needs.

    The function takes counts, whole numbers as floats `[R, K, C, S]`, to floats `[R, C, S]`, JAX's.

    Attributes:
        needs: of the problem.
        sums: of the engine, names of `engine.SUMS`.
        gain: whether more of it is better; of a loss less is.
    """

    compute: Callable[[Any, MetricInputs], Any]
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


def needed(names: Sequence[str]) -> tuple[str, ...]:
    """The sums that the engine must keep for some metrics."""
    return tuple(dict.fromkeys(name for metric in names for name in METRICS[metric].sums))


def judge(names: Sequence[str], counts: Any, inputs: MetricInputs) -> dict[str, Array]:
    """Metrics of a block of runs. Traceable; in float64 where 64-bit types are enabled.

    Args:
        names: of `METRICS`.
        counts: N_k, `[R, K, C, S]`.
        truth: of the block's C instances, and the R rounds that were counted at.

    Returns:
        By name, float `[R, C, S]`.
    """
    counts, inputs = jnp.asarray(counts), jax.tree.map(lambda part: jnp.asarray(part, jnp.result_type(float)), inputs)
    with jax.numpy_rank_promotion("allow"):  # metrics broadcast as NumPy does
        return {name: METRICS[name].compute(counts, inputs) for name in names}


def inputs_of(
    names: Sequence[str],
    rounds: np.ndarray,
    ground_truth: GroundTruth,
    quota: Quota | None,
    sums: Mapping[str, Any] | None = None,
) -> MetricInputs:
    """What some metrics are computed from besides counts.

    Args:
        names: of `METRICS`.
        rounds: R of them, int.
        facts: of C instances.
        quota: tau_k t at those rounds, arrays `[R, K, C or 1]`; None without fractions.
        sums: those that the metrics need (`needed`), by name, float `[R, C, S]`.
    """
    means, penalties, opportunities, best = ground_truth.means, ground_truth.penalties, ground_truth.opportunities, None
    if opportunities is not None and "utility_regret" in names:
        best = best_utility(means, opportunities, penalties, rounds)[..., None]
    return MetricInputs(
        t=rounds.astype(np.float64).reshape(-1, 1, 1, 1),
        means=means[..., None],
        gaps=(means.max(axis=0) - means)[..., None],
        quota=None if quota is None else Quota(quota.floor[..., None], quota.fraction[..., None], None),
        penalties=None if penalties is None else penalties[..., None],
        opportunities=None if opportunities is None else opportunities[..., None],
        best=best,
        sums=sums or {},
        plays=ground_truth.plays,
    )
