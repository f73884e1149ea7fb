"""The metrics of the papers for one run, in exact fractions, written from the papers alone."""

import math
from fractions import Fraction

import numpy as np

from jaxbandit.core.rationals import Quota, QuotaTable

ALL = ["regret", "penalized_regret", "r_regret", "c_regret", "unfairness", "max_deficit"]


def exact(counts, t, mu, tau, A, plays):
    """Every metric of one run at round t, by name, as a Fraction."""
    arms = range(len(mu))
    gap = [max(mu) - m for m in mu]
    deficits = [tau[k] * t - counts[k] for k in arms]
    missed = [max(d, Fraction(0)) for d in deficits]
    order = sorted(arms, key=lambda k: (-mu[k], k))
    last = mu[order[plays - 1]]  # the L-th largest mean
    optimum = sum(min(gap[k], A[k]) * tau[k] * t for k in arms)
    return {
        "regret": t * sum(sorted(mu)[-plays:]) - sum(mu[k] * counts[k] for k in arms),
        "penalized_regret": sum(gap[k] * counts[k] + A[k] * missed[k] for k in arms) - optimum,
        "r_regret": sum(gap[k] * (counts[k] - tau[k] * t) for k in arms),
        "c_regret": sum((mu[i] - last) * (t - counts[i]) for i in order[:plays])
        + sum((last - mu[j]) * (counts[j] - math.floor(tau[j] * t)) for j in order[plays:]),
        "unfairness": sum(missed),
        "max_deficit": max(deficits),
    }


def exact_of(problem, instance, counts, t):
    """`exact` with the numbers of one instance of a problem as they are: floats are ratios too."""
    j = instance if problem.instances > 1 else 0
    mu, tau, A = (
        [Fraction(x) for x in np.broadcast_to(values, problem.means.shape)[:, j]]
        for values in (problem.means, problem.fractions, problem.penalties)
    )
    return exact([int(n) for n in counts], int(t), mu, tau, A, problem.plays)


def quota_at(fractions, rounds):
    """The `Quota` of some rounds, arrays `[R, K, J or 1]`."""
    rows = [QuotaTable(fractions, 1).rows(int(t), 1) for t in rounds]
    return Quota(
        *(np.concatenate([getattr(row, name) for row in rows]) for name in ("floor", "fraction", "fraction_rank"))
    )
