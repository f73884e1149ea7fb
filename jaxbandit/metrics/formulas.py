"""The formulas of the built-in metrics: functions of selection counts and of a few running sums.

Metrics are computed in float64, from counts, which are exact at any horizon, and from sums that the engine keeps. Sums
over arms are taken in the order of the arms, and every product is rounded before it is added, so a metric has the same
bits in blocks of any shape and on any device. `jaxbandit.tuning` differentiates the same functions at counts that are
not whole numbers.

Notation: t is the round, T the horizon, K the number of arms, L the number of plays per round, mu_k the mean reward of
arm k, gap_k = max_j mu_j - mu_k, N_k the number of times that arm k was selected in rounds 1 to t, tau_k its fraction
and A_k its penalty rate. tau_k t is the quota of arm k. (x)+ is max(x, 0), and sum_k (...) adds the terms of all arms.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.rationals import reduce_in_order
from jaxbandit.core.xla.reductions import larger
from jaxbandit.metrics.metric import MetricInputs
from jaxbandit.metrics.optimal_allocations import optimal_loss

LOST_REWARD_PLUS = frozenset({"regret", "r_regret", "c_regret"})
"""The metrics that are `lost_reward` plus a number per instance and round, where every round plays one arm."""

WITH_LOST_REWARD = LOST_REWARD_PLUS | {"penalized_regret"}
"""The metrics that contain `lost_reward`."""


def _combine_arms(
    combine: Callable[[Array, Array], Array],
    term: Callable[[Array, MetricInputs], Array],
    counts: Array,
    inputs: MetricInputs,
) -> Array:
    """`term` of each arm's counts `[R, C, S]` and inputs, combined (added, say) in the order of the arms."""

    def of_arm(k: Array | int) -> Array:
        count = lax.dynamic_index_in_dim(counts, k, 1, keepdims=False)
        return term(count.astype(jnp.result_type(float)), inputs.of_arm(k))

    combined: Array = reduce_in_order(combine, of_arm, counts.shape[1])
    return combined


def _product(weight: Any, value: Any, inputs: MetricInputs) -> Array:  # `Any`: an input that is never None here
    """weight * value, rounded before anything is added: the same bits in every compilation.

    A compiler may fuse a product and a following sum into one operation without rounding, for some arms and not for
    others (LLVM does so where it packs a few arms into one vector). Fused with a 0 that the compiler does not know, a
    product is rounded all the same, and it costs no more than an operation.
    """
    product: Array = weight * value + (inputs.t - inputs.t).reshape(-1, 1, 1)
    return product


def _positive(value: Array) -> Array:
    """(x)+ of a number that is not NaN."""
    return larger(value, jnp.zeros((), value.dtype))


def regret(counts: Array, inputs: MetricInputs) -> Array:
    """t (sum of the L largest mu_k) - sum_k mu_k N_k (guarantees paper, eq. 2).

    The expected reward of always playing the L best arms, minus the expected reward of the arms that were played.
    """
    best_mean = jnp.max(inputs.means, axis=0)
    missed = _product(inputs.t[:, 0], inputs.best_rewards, inputs) - _product(best_mean, _plays(counts, inputs), inputs)
    return missed + lost_reward(counts, inputs)  # the first term is 0 if one arm was played in every round


def awake_regret(counts: Array, inputs: MetricInputs) -> Array:
    """sum_{s<=t} (sum of the L largest mu_k of available arms - sum of the selected mu_k) (Kleinberg et al. 2010).

    The expected reward of always playing the L best arms that are available in the round, minus the expected reward of
    the arms that were played. Where fewer than L arms are available, the best are all of them.
    """
    return inputs.sums["awake_regret"]


def lost_reward(counts: Array, inputs: MetricInputs) -> Array:
    """sum_k gap_k N_k: the expected reward that is lost against the best arm (penalties paper, eq. 10, first term).

    The other terms of regret, r-regret and c-regret are the same in all runs, or depend on the number of plays alone.
    """
    if inputs.lost is not None:
        return inputs.lost
    return _combine_arms(jnp.add, lambda count, arm: _product(arm.gaps, count, arm), counts, inputs)


def _plays(counts: Array, inputs: MetricInputs) -> Array:
    """sum_k N_k: the plays so far, fewer than L t where too few arms were available."""
    return _combine_arms(jnp.add, lambda count, arm: count, counts, inputs)


def _sum_arms(term: Callable[[MetricInputs], Array], inputs: MetricInputs) -> Array:
    """The sum of what does not depend on counts, `[R, C, 1]`, in the order of the arms."""
    total: Array = reduce_in_order(jnp.add, lambda k: term(inputs.of_arm(k)), len(inputs.means))
    return total


def expected_reward(counts: Array, inputs: MetricInputs) -> Array:
    """sum_k mu_k N_k: the expected reward of the arms that were played."""
    return _combine_arms(jnp.add, lambda count, arm: _product(arm.means, count, arm), counts, inputs)


def total_penalty(counts: Array, inputs: MetricInputs) -> Array:
    """sum_k A_k (tau_k t - N_k)+: the penalties for missed rounds (penalties paper, eq. 3)."""
    return _combine_arms(
        jnp.add, lambda count, arm: _product(arm.penalties, _positive(arm.deficit(count)), arm), counts, inputs
    )


def penalized_regret(counts: Array, inputs: MetricInputs) -> Array:
    """sum_k (gap_k N_k + A_k (tau_k t - N_k)+ - min(gap_k, A_k) tau_k t) (penalties paper, eq. 10).

    The lost reward plus the penalties for missed rounds, minus the same two terms of the best allocation for known
    means (the oracle).
    """
    paid = lost_reward(counts, inputs) + total_penalty(counts, inputs)
    return paid + _shared("penalized_regret", inputs)


def _minus_least_paid(inputs: MetricInputs) -> Array:
    """-sum_k min(gap_k, A_k) tau_k t: what the oracle loses and pays, with a minus."""
    assert inputs.penalties is not None
    least = optimal_loss(*(part[..., 0] for part in (inputs.gaps, inputs.quota_in_rounds, inputs.penalties)))
    return -least[..., None]


def r_regret(counts: Array, inputs: MetricInputs) -> Array:
    """sum_k gap_k (N_k - tau_k t) (guarantees paper, eq. 3).

    With one play, the regret minus that of the best policy that gives every arm its quota and all other rounds to the
    best arm; negative while arms are below their quotas. With several plays, the gaps are still those to the best arm.
    """
    return lost_reward(counts, inputs) + _shared("r_regret", inputs)


def _r_regret_without_counts(inputs: MetricInputs) -> Array:
    """-sum_k gap_k tau_k t."""
    return -_sum_arms(lambda arm: _product(arm.gaps, arm.quota_in_rounds, arm), inputs)


def c_regret(counts: Array, inputs: MetricInputs) -> Array:
    """sum_k ((mu_k - mu_(L))+ (t - N_k) + (mu_(L) - mu_k)+ (N_k - floor(tau_k t))) (plays paper, eq. 7).

    mu_(L) is the L-th largest mean. Rounds in which a better arm was not played count, and so do rounds in which a
    worse arm was played beyond its quota.
    """
    # sum_k (mu_(L) - mu_k) N_k is the lost reward less mu_(1) - mu_(L) per play
    made = lost_reward(counts, inputs) + _shared("c_regret", inputs)
    if inputs.plays == 1:
        return made
    return made - _product(jnp.max(inputs.means, axis=0) - inputs.last_best, _plays(counts, inputs), inputs)


def _c_regret_without_counts(inputs: MetricInputs) -> Array:
    """sum_k ((mu_k - mu_(L))+ t - (mu_(L) - mu_k)+ floor(tau_k t))."""

    def term(arm: MetricInputs) -> Array:
        assert arm.quota is not None
        lead = arm.means - inputs.last_best
        return _product(lead, jnp.where(lead > 0, arm.t, arm.quota.floor), arm)

    return _sum_arms(term, inputs)


SHARED: dict[str, Callable[[MetricInputs], Array]] = {
    "penalized_regret": _minus_least_paid,
    "r_regret": _r_regret_without_counts,
    "c_regret": _c_regret_without_counts,
}
"""By the name of a metric, its term that does not depend on the counts, `[R, C or 1, 1]`."""


def _shared(name: str, inputs: MetricInputs) -> Array:
    return inputs.shared[name] if name in inputs.shared else SHARED[name](inputs)


def unfairness(counts: Array, inputs: MetricInputs) -> Array:
    """sum_k (tau_k t - N_k)+ (penalties paper, App. A).

    The number of selections that all arms together lack to their quotas.
    """
    return _combine_arms(jnp.add, lambda count, arm: _positive(arm.deficit(count)), counts, inputs)


def max_deficit(counts: Array, inputs: MetricInputs) -> Array:
    """max_k (tau_k t - N_k) (plays paper, sec. 5).

    The number of selections that the arm furthest behind lacks to its quota; negative if all arms are ahead of their
    quotas. The dataset also has `max_deficit_ever`, one number per run: the largest `max_deficit` in rounds 1 to T,
    whether they are recorded or not.
    """
    return _combine_arms(larger, lambda count, arm: arm.deficit(count), counts, inputs)


def group_unfairness(counts: Array, inputs: MetricInputs) -> Array:
    """sum_g (phi_g L t - N_g)+, where N_g is the number of selections of the arms of group g (penalties paper, App. A).

    The number of selections that all groups together lack to their quotas.
    """
    deficits = _group_deficits(counts, inputs)
    return functools.reduce(jnp.add, map(_positive, deficits))


def group_max_deficit(counts: Array, inputs: MetricInputs) -> Array:
    """max_g (phi_g L t - N_g), where N_g is the number of selections of the arms of group g (plays paper, sec. 5).

    The number of selections that the group furthest behind lacks to its quota; negative if all groups are ahead of
    their quotas. The dataset also has `group_max_deficit_ever`, one number per run: its largest value in rounds 1 to T.
    """
    return functools.reduce(larger, _group_deficits(counts, inputs))


def _group_deficits(counts: Array, inputs: MetricInputs) -> list[Array]:
    """phi_g L t - N_g of each group, `[R, C, S]`."""
    assert inputs.group_quota is not None
    made = []
    for group, members in enumerate(inputs.groups):
        count = functools.reduce(jnp.add, [counts[:, arm] for arm in members]).astype(jnp.result_type(float))
        floor, rest = inputs.group_quota.floor[:, group], inputs.group_quota.fraction[:, group]
        made.append((floor - count) + rest)
    return made


def reward_regret(counts: Array, inputs: MetricInputs) -> Array:
    """sum_{s<=t} (sum_k (p*_k - p_k(s)) mu_k)+ (merit paper, eq. 5).

    The expected reward that is lost against the fair selection probabilities p*, which are in proportion to the true
    merit; p_k(s) is the probability with which the policy selects arm k in round s.
    """
    return inputs.sums["reward_regret"]


def fairness_regret(counts: Array, inputs: MetricInputs) -> Array:
    """sum_{s<=t} sum_k |p*_k - p_k(s)| (merit paper, eq. 6).

    The distance of the policy's selection probabilities p_k(s) from the fair ones p*, which are in proportion to the
    true merit.
    """
    return inputs.sums["fairness_regret"]


def utility(counts: Array, inputs: MetricInputs) -> Array:
    """(sum of the drawn rewards) - sum_k A_k (t f(mu)_k - N_k)+ (opportunities paper, eq. 1).

    The rewards minus the transfer costs of withheld opportunities; f is the fairness function.
    """
    return inputs.sums["reward"] - _transfer_costs(counts, inputs)


def utility_regret(counts: Array, inputs: MetricInputs) -> Array:
    """U*(t) - sum_k (mu_k N_k - A_k (t f(mu)_k - N_k)+) (opportunities paper, eq. 2 and Lemma 1).

    U*(t) is the expected utility of the best allocation of t rounds for known means (the oracle); the sum is the
    expected utility of the policy's selections; f is the fairness function.
    """
    assert inputs.optimal_utility is not None
    return inputs.optimal_utility - (expected_reward(counts, inputs) - _transfer_costs(counts, inputs))


def _transfer_costs(counts: Array, inputs: MetricInputs) -> Array:
    """sum_k A_k (t f(mu)_k - N_k)+: the cost of the opportunities that were withheld."""

    def term(count: Array, arm: MetricInputs) -> Array:
        return _product(arm.penalties, _positive(_product(arm.t, arm.opportunities, arm) - count), arm)

    return _combine_arms(jnp.add, term, counts, inputs)
