"""The table of metrics, which of them a problem defines, and how they are computed for a block of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.errors import InputError, unknown_name
from jaxbandit.core.rationals import Quota
from jaxbandit.environment.ground_truth import GroundTruth
from jaxbandit.environment.means.changing import MeanPath
from jaxbandit.environment.problem import Problem
from jaxbandit.metrics import formulas
from jaxbandit.metrics.metric import METRICS, Formula, MetricInputs, Span, best_means, is_users, kept_ever
from jaxbandit.metrics.optimal_allocations import optimal_utility
from jaxbandit.metrics.welfare import INSTANCE_NUMBERS, WELFARE, number_refusal

METRICS.update(
    {
        "regret": Formula(formulas.regret, "regret (reward)", adds_up=True),
        "awake_regret": Formula(formulas.awake_regret, "awake regret (reward)", ("availability",), ("awake_regret",)),
        "penalized_regret": Formula(
            formulas.penalized_regret, "penalized regret (reward)", ("fractions", "penalties"), constant_means=True
        ),
        "r_regret": Formula(formulas.r_regret, "r-regret (reward)", ("fractions",), adds_up=True),
        "c_regret": Formula(formulas.c_regret, "c-regret (reward)", ("fractions",), constant_means=True),
        "reward_regret": Formula(formulas.reward_regret, "reward regret (reward)", ("merit",), ("reward_regret",)),
        "fairness_regret": Formula(
            formulas.fairness_regret, "fairness regret (selections)", ("merit",), ("fairness_regret",)
        ),
        "utility": Formula(
            formulas.utility,
            "utility (reward)",
            ("opportunity", "penalties"),
            ("reward",),
            larger_is_better=True,
            constant_means=True,
        ),
        "utility_regret": Formula(
            formulas.utility_regret, "utility regret (reward)", ("opportunity", "penalties"), constant_means=True
        ),
        "unfairness": Formula(formulas.unfairness, "unfairness (missed rounds)", ("fractions",)),
        "max_deficit": Formula(formulas.max_deficit, "max deficit (rounds)", ("fractions",)),
        "group_unfairness": Formula(formulas.group_unfairness, "group unfairness (missed plays)", ("group_fractions",)),
        "group_max_deficit": Formula(formulas.group_max_deficit, "group max deficit (plays)", ("group_fractions",)),
    }
    | WELFARE
)
"""The metrics by name: unit, formula, source and the keys of `[problem]` that they need.

t is the round, L the number of plays per round, and (x)+ = max(x, 0). Of arm k, mu_k is the mean reward,
gap_k = max_j mu_j - mu_k, N_k the number of selections in rounds 1 to t, tau_k the fraction and A_k the penalty rate.

- `regret` (reward): t (sum of the L largest mu_k) - sum_k mu_k N_k; guarantees paper, eq. 2; needs no further key.
  Where means change, it is the sum over rounds of (sum of the L largest mu_k) - (sum of mu_k of the selected arms),
  with the means of each round: dynamic regret.
- `awake_regret` (reward): the sum over rounds of (sum of the L largest mu_k of the available arms) - (sum of mu_k of
  the selected arms); needs `availability`.
- `penalized_regret` (reward): sum_k (gap_k N_k + A_k (tau_k t - N_k)+ - min(gap_k, A_k) tau_k t); penalties paper,
  eq. 10; needs `fractions` and `penalties`.
- `r_regret` (reward): sum_k gap_k (N_k - tau_k t); guarantees paper, eq. 3; needs `fractions`. Where means change, the
  selections and the quota of each round count with the gaps of the round.
- `c_regret` (reward): sum_k ((mu_k - mu_(L))+ (t - N_k) + (mu_(L) - mu_k)+ (N_k - floor(tau_k t))), where mu_(L) is the
  L-th largest mean; plays paper, eq. 7; needs `fractions`.
- `reward_regret` (reward): sum_{s<=t} (sum_k (p*_k - p_k(s)) mu_k)+, where p_k(s) is the probability with which arm k
  is selected in round s, and p* the probabilities in proportion to merit; merit paper, eq. 5; needs `merit`.
- `fairness_regret` (selections): sum_{s<=t} sum_k |p*_k - p_k(s)|; merit paper, eq. 6; needs `merit`.
- `utility` (reward): (sum of the drawn rewards) - sum_k A_k (t f(mu)_k - N_k)+, where f is the fairness function;
  opportunities paper, eq. 1; needs `opportunity` and `penalties`. Larger is better, unlike for all other metrics.
- `utility_regret` (reward): U*(t) - sum_k (mu_k N_k - A_k (t f(mu)_k - N_k)+), where U*(t) is the expected utility of
  the oracle; opportunities paper, eq. 2 and Lemma 1; needs `opportunity` and `penalties`.
- `unfairness` (rounds): sum_k (tau_k t - N_k)+; penalties paper, App. A; needs `fractions`.
- `max_deficit` (rounds): max_k (tau_k t - N_k), with `max_deficit_ever`, its maximum over rounds 1 to T; plays paper,
  sec. 5; needs `fractions`.
- `group_unfairness` (plays): sum_g (phi_g L t - N_g)+, where N_g is the number of selections of the arms of group g,
  and phi_g its fraction of the plays; needs `groups` and `group_fractions`.
- `group_max_deficit` (plays): max_g (phi_g L t - N_g), with `group_max_deficit_ever`, its maximum over rounds 1 to T;
  needs `groups` and `group_fractions`.
- `nash_regret` (reward, per round): max mu - exp(sum_k N_k log mu_k / t); Barman et al. (2022); when it is named.
- `p_mean_regret` (reward, per round): max mu - (sum_k N_k mu_k^p / t)^(1/p) with p = `simulation.p_mean`; Barman et al.
  (2022); when it is named. Both are for one play per round and means >= 0; a round in which no arm was available
  has reward 0. They are computed per run; Barman et al. take the expectation of each round's reward first, so for
  p <= 1 the means over runs are at least theirs.
- `price_of_fairness`, one number per instance, when it is named: (best without - best with) / best without, where best
  without is the sum of the L largest mu_k, and best with the largest sum_k mu_k y_k with tau_k <= y_k <= 1 and
  sum_k y_k = L; needs `fractions`.

Where means change, `reward_regret` and `fairness_regret` take mu and p* of each round; `penalized_regret`, `c_regret`,
`utility`, `utility_regret` and the last three are not defined.
"""


def defined_metrics(problem: Problem) -> list[str]:
    """The metrics of a problem by default: those for which it has all keys, in the order of `METRICS`."""
    return [name for name, metric in METRICS.items() if not (metric.when_named or metric.refusal(problem))]


def resolve_metrics(names: Sequence[str] | None, problem: Problem, key: str = "simulation.metrics") -> list[str]:
    """The metrics to compute: those that are named, or all that the problem defines.

    Args:
        names: names of `METRICS`, or of `INSTANCE_NUMBERS`, which are checked and left out. `max_deficit_ever` is
            accepted for `max_deficit`, which it comes with; likewise that of groups.
        problem: the problem.
        key: the config key of the names, for errors.

    Raises:
        InputError: an unknown name, or a metric that needs a key which the problem does not have.
    """
    defined = defined_metrics(problem)
    if names is None:
        return defined
    comes_with = {f"{name}_ever": name for name in kept_ever(METRICS)}
    names = [comes_with.get(name, name) for name in names]
    for name in names:
        if name in INSTANCE_NUMBERS and key == "simulation.metrics":
            if words := number_refusal(name, problem):
                raise InputError(key, name, f"one of {', '.join(sorted(defined))}; {name} {words}")
            continue
        if name not in METRICS:
            numbers = [] if name in INSTANCE_NUMBERS else INSTANCE_NUMBERS  # which have no curves
            raise unknown_name(key, name, [*METRICS, *numbers])
        if words := METRICS[name].refusal(problem):
            raise InputError(key, name, f"one of {', '.join(sorted(defined))}; {name} {words}")
    return [name for name in dict.fromkeys(names) if name not in INSTANCE_NUMBERS]


def caveats(names: Sequence[str], problem: Problem) -> list[str]:
    """Warnings about metrics that are misleading for this problem, one sentence per warning."""
    if "c_regret" not in names or problem.fractions is None:
        return []
    order = np.argsort(-problem.means, axis=0, kind="stable")[problem.plays - 1 :]
    sums = np.take_along_axis(np.broadcast_to(problem.fractions, problem.means.shape), order, axis=0).sum(axis=0)
    if max(sums) < 1:
        return []
    return [
        f"c_regret grows even for the optimal allocation: the fractions of the L-th best arm (L = {problem.plays}) "
        f"and of the worse arms sum to {float(max(sums)):g}; c_regret measures regret only if they sum to less than 1 "
        "(plays paper, Theorem 3.3)"
    ]


def required_sums(names: Sequence[str]) -> tuple[str, ...]:
    """The running sums that the engine must keep for some metrics, names of `jaxbandit.engine.rounds.running_sums`."""
    return tuple(dict.fromkeys(sum_name for name in names for sum_name in METRICS[name].sums))


def compute_metrics(names: Sequence[str], counts: Array, inputs: MetricInputs) -> dict[str, Array]:
    """Metrics of a block of runs. Traceable; in float64 where 64-bit types are enabled.

    Args:
        names: names of `METRICS`.
        counts: N_k, `[R, K, C, S]`.
        inputs: of the block's C instances and the R rounds at which runs were counted.

    Returns:
        By name, float `[R, C, S]`.
    """
    counts, inputs = jnp.asarray(counts), _floats(inputs)
    with jax.numpy_rank_promotion("allow"):  # metrics broadcast as NumPy does
        known = inputs.totals
        return {name: known[name] if name in known else METRICS[name].compute(counts, inputs) for name in names}


def _floats(inputs: MetricInputs) -> MetricInputs:
    floats: MetricInputs = jax.tree.map(lambda part: jnp.asarray(part, jnp.result_type(float)), inputs)
    return floats


def compute_metric(name: str, counts: Array, inputs: MetricInputs) -> Array:
    """One metric of `compute_metrics`, float `[R, C, S]`."""
    return compute_metrics((name,), counts, inputs)[name]


def shared_terms(names: Sequence[str], inputs: MetricInputs) -> dict[str, Array]:
    """The terms of metrics that do not depend on the counts (`formulas.SHARED`), by name, for constant means."""
    inputs = _floats(inputs)
    with jax.numpy_rank_promotion("allow"):  # as in `compute_metrics`
        return {
            name: formulas.SHARED[name](inputs)
            for name in names
            if name in formulas.SHARED and not is_users(METRICS[name])
        }


def metric_inputs(
    names: Sequence[str],
    rounds: np.ndarray,
    ground_truth: GroundTruth,
    quota: Quota | None,
    sums: Mapping[str, np.ndarray] | None = None,
    before: Quota | None = None,
    p_mean: float | None = None,
) -> MetricInputs:
    """The `MetricInputs` of some metrics, on the host.

    Args:
        names: names of `METRICS`.
        rounds: the R recorded rounds, int.
        ground_truth: of C instances.
        quota: tau_k t of the arms, then phi_g L t of the groups in those rounds, arrays `[R, n, C or 1]`; None where
            nothing is guaranteed.
        sums: the running sums that the metrics need (`required_sums`), by name, float `[R, C, S]`.
        before: where means change, the quota in the last round before the means of each round (`MeanPath.starts`), as
            `quota`; None without fractions, or where no metric adds up spans.
        p_mean: the exponent of `p_mean_regret`; None if no metric needs it.
    """
    means, penalties, opportunities = ground_truth.means, ground_truth.penalties, ground_truth.opportunities
    best = None
    if opportunities is not None and penalties is not None and "utility_regret" in names:
        best = optimal_utility(means, opportunities, penalties, rounds)[..., None]
    best_rewards, last_best = best_means(means, ground_truth.plays)
    arrays: dict[str, Any] = {  # NumPy's, which stand for JAX's until they are used
        "t": rounds.astype(np.float64).reshape(-1, 1, 1, 1),
        "means": means[..., None],
        "gaps": (means.max(axis=0) - means)[..., None],
        "best_rewards": best_rewards[..., None],
        "last_best": last_best[..., None],
        "penalties": None if penalties is None else penalties[..., None],
        "opportunities": None if opportunities is None else opportunities[..., None],
        "optimal_utility": best,
        "sums": sums or {},
        "totals": {},
        "deficits": None,
        "lost": None,
        "shared": {},
    }
    arms = 0 if ground_truth.fractions is None else len(means)
    exact = _quota_rows(quota, 0, arms) if arms else None
    of_groups = _quota_rows(quota, arms, None) if ground_truth.groups else None
    span = None if ground_truth.path is None else _span(rounds, ground_truth.path, quota, before, arms)
    arrays["p_mean"] = None if p_mean is None else np.full((1, 1, 1, 1), p_mean)
    arrays |= {"quota": exact, "group_quota": of_groups, "span": span}
    return MetricInputs(**arrays, plays=ground_truth.plays, groups=ground_truth.groups)


def _quota_rows(quota: Quota | None, start: int, stop: int | None) -> Quota:
    """The quotas of some arms or groups, arrays `[R, n, C or 1, 1]`."""
    assert quota is not None
    return Quota(quota.floor[:, start:stop, :, None], quota.fraction[:, start:stop, :, None], None)


def _span(rounds: np.ndarray, path: MeanPath, quota: Quota | None, before: Quota | None, arms: int) -> Span:
    """The spans of constant means that end with each of some rounds."""
    lengths: Any = (rounds - path.starts(rounds)).astype(np.float64).reshape(-1, 1, 1, 1)
    growth: Any = None
    if quota is not None and before is not None and arms:
        grown = Quota(quota.floor - before.floor, quota.fraction - before.fraction, None)
        growth = _quota_rows(grown, 0, arms)
    means: Any = path.at(rounds)[..., None]
    return Span(lengths, means, growth)
