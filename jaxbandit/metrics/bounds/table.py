"""The bounds that the five papers prove: functions, and `BOUNDS`, the table of the metrics and policies they are for.

    for bound in jb.bounds.bounds_for(problem, "fair-learn", "r_regret"):
        bound.value(problem, horizon, rounds)

The functions take arrays. A `Bound` takes a problem, and figures draw it beside the curve of its metric. The optimal
allocations that regrets are measured against are in `jaxbandit.metrics.optimal_allocations`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.core.errors import InputError, suggest_keywords, unknown_name
from jaxbandit.core.input_values import finite_numbers, whole_number
from jaxbandit.environment.problem import Problem, problem_of
from jaxbandit.metrics.bounds import conditions
from jaxbandit.metrics.bounds.conditions import Conditions
from jaxbandit.metrics.bounds.guarantees import fair_learn_deficit as fair_learn_deficit
from jaxbandit.metrics.bounds.guarantees import fair_ucb_regret as fair_ucb_regret
from jaxbandit.metrics.bounds.guarantees import fair_worst_case_regret as fair_worst_case_regret
from jaxbandit.metrics.bounds.guarantees import ucb1_regret as ucb1_regret
from jaxbandit.metrics.bounds.merit import merit_constants as merit_constants
from jaxbandit.metrics.bounds.merit import merit_fairness_regret as merit_fairness_regret
from jaxbandit.metrics.bounds.merit import merit_reward_regret as merit_reward_regret
from jaxbandit.metrics.bounds.merit import op_fcts_d_regret as op_fcts_d_regret
from jaxbandit.metrics.bounds.merit import op_fcucb_d_fairness_regret as op_fcucb_d_fairness_regret
from jaxbandit.metrics.bounds.merit import op_fcucb_d_reward_regret as op_fcucb_d_reward_regret
from jaxbandit.metrics.bounds.opportunities import etc_utility_regret as etc_utility_regret
from jaxbandit.metrics.bounds.opportunities import self_regulated_utility_regret as self_regulated_utility_regret
from jaxbandit.metrics.bounds.opportunities import utility_regret_lower_bound as utility_regret_lower_bound
from jaxbandit.metrics.bounds.penalties import hard_threshold_assumptions_hold as hard_threshold_assumptions_hold
from jaxbandit.metrics.bounds.penalties import (
    hard_threshold_critical_lower_bound as hard_threshold_critical_lower_bound,
)
from jaxbandit.metrics.bounds.penalties import hard_threshold_deficits as hard_threshold_deficits
from jaxbandit.metrics.bounds.penalties import (
    hard_threshold_noncritical_lower_bound as hard_threshold_noncritical_lower_bound,
)
from jaxbandit.metrics.bounds.penalties import hard_threshold_pulls as hard_threshold_pulls
from jaxbandit.metrics.bounds.penalties import hard_threshold_regret as hard_threshold_regret
from jaxbandit.metrics.bounds.penalties import hard_threshold_worst_case_regret as hard_threshold_worst_case_regret
from jaxbandit.metrics.bounds.penalties import penalized_regret_lower_bound as penalized_regret_lower_bound
from jaxbandit.metrics.bounds.plays import fair_mmab_deficit as fair_mmab_deficit
from jaxbandit.metrics.bounds.plays import fair_mmab_kl_ucb_regret as fair_mmab_kl_ucb_regret
from jaxbandit.metrics.bounds.plays import fair_mmab_ucb1_regret as fair_mmab_ucb1_regret
from jaxbandit.metrics.definitions import METRICS
from jaxbandit.policies.base import Policy
from jaxbandit.policies.make_policy import kind_of
from jaxbandit.policies.make_policy import policy as policy_of


@dataclass(frozen=True, repr=False)
class Bound:
    """A theorem that bounds a metric of some policies.

    Attributes:
        paper: the paper's name: "penalties", "guarantees", "merit", "plays" or "opportunities".
        theorem: the theorem and equation in it.
        metric: the name of the bounded metric, from `jb.metrics.METRICS`. The bound is on the mean of the metric over
            runs. Only exact bounds on `max_deficit` hold in every run.
        policies: the policies, with their default parameters. They are named as in the coordinate `kind` of results;
            `*` stands for any text.
        conditions: the assumptions of the theorem about a problem, and the arguments that the function takes from it.
        function: the bound: a function of these arguments and, unless it is constant, of rounds `[R]`.
        holds_at: "every round"; "the horizon" for a theorem that says nothing about earlier rounds; "constant" for a
            bound that is the same in all rounds.
        side: "upper" or "lower".
        exact: whether all constants are explicit. Otherwise the bound holds up to a constant or to leading order.
        worst_case: whether the bound is for the worst problem of a set, which need not be the given problem.

    Example:
        >>> problem = jb.Problem([0.9, 0.5], fractions=0.1)
        >>> bound = jb.bounds.bounds_for(problem, "fair-learn", "r_regret")[0]
        >>> bound
        <guarantees paper, Theorem 3: upper bound on r_regret of fair-learn, in every round; assumes one play per \
round, no delay, all arms always available, rewards in [0, 1] or Gaussian with sd <= 1/2, fractions that sum to less \
than 1>
        >>> bound.value(problem, horizon=1000, rounds=[10, 1000]).round(2).tolist()
        [[47.37], [99.87]]
    """

    paper: str
    theorem: str
    metric: str
    policies: tuple[str, ...]
    conditions: Conditions
    function: Callable[..., ArrayLike]
    holds_at: Literal["every round", "the horizon", "constant"] = "every round"
    side: Literal["upper", "lower"] = "upper"
    exact: bool = False
    worst_case: bool = False

    @property
    def source(self) -> str:
        """Paper, theorem and equation in one text."""
        return f"{self.paper} paper, {self.theorem}"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions of the theorem about the problem, in words."""
        return self.conditions.assumptions

    def __repr__(self) -> str:
        policies = "any policy" if self.policies == _ANY else " or ".join(self.policies)
        where = "in every round" if self.holds_at == "constant" else f"{_PREPOSITION[self.holds_at]} {self.holds_at}"
        precision = "" if self.exact else ", up to constants"
        scope = ", for the worst problem of a set" if self.worst_case else ""
        return (
            f"<{self.source}: {self.side} bound on {self.metric} of {policies}, {where}{precision}{scope}; "
            f"assumes {', '.join(self.assumptions)}>"
        )

    def covers(self, kind: str) -> bool:
        """Whether the bound is for the policies of a kind, a value of the coordinate `kind` of results."""
        return any(fnmatchcase(kind, pattern) for pattern in self.policies)

    def is_about(self, policy: Policy | None) -> bool:
        """Whether the theorem is about a policy of its kinds with these parameters; None stands for the defaults.

        Where it is about any base, the parameters of the base are free.
        """
        if policy is None or self.policies == _ANY:
            return True
        any_base = any(pattern.endswith("/*") for pattern in self.policies)
        return all(map(_has_defaults, [policy] if any_base else policy.nested_policies()))

    def arguments(self, problem: Problem) -> tuple[object, ...]:
        """The function's arguments, except for the rounds.

        Raises:
            InputError: the theorem does not apply to the problem.
        """
        rules = {pattern.partition("/")[0] for pattern in self.policies}
        if problem.has("group_fractions") and rules & _OBEY_GROUPS:
            words = "left out: the theorem assumes that arms alone are guaranteed plays, and the policy obeys groups"
            raise InputError("problem.group_fractions", problem.as_table()["group_fractions"], words)
        return self.conditions.arguments(problem)

    def value(self, problem: Problem | Mapping[str, object], horizon: int, rounds: ArrayLike) -> np.ndarray:
        """The bound in some rounds of runs that end at the horizon.

        Args:
            problem: J instances, a `Problem` or a table.
            horizon: T.
            rounds: `[R]`, whole numbers from 1 to T.

        Returns:
            `[R, J]`, float64, in the metric's unit; infinite (0 for a lower bound) before the horizon, where the
            theorem says nothing about earlier rounds. A bound that is not `exact` is its leading term, also in
            rounds that are too early for the theorem (`hard_threshold_assumptions_hold` tells for the penalties paper).

        Raises:
            InputError: the theorem does not apply to the problem, or `rounds` are not whole numbers from 1 to T.
        """
        problem, horizon = problem_of(problem), whole_number(horizon, "horizon")
        t, words = np.atleast_1d(np.asarray(rounds)), f"whole numbers from 1 to T = {horizon}"
        if finite_numbers(t, "rounds", words, 1, horizon).ndim > 1 or np.any(t != np.floor(t)):
            raise InputError("rounds", rounds, words)
        when = {"every round": (t,), "the horizon": (np.array([horizon]),), "constant": ()}[self.holds_at]
        bound = np.asarray(self.function(*self.arguments(problem), *when), np.float64)
        bound = bound if self.holds_at == "every round" else bound.reshape(1, -1)
        applies = (t == horizon)[:, None] | (self.holds_at != "the horizon")
        trivial = np.inf if self.side == "upper" else 0.0
        return np.where(applies, np.broadcast_to(bound, (len(t), problem.instances)), trivial)


_ANY = ("*",)  # policies of theorems about any policy
_OBEY_GROUPS = {"hard-threshold-ucb", "fair-learn", "fair-mmab"}  # policies that give groups their plays, too

_PREPOSITION = {"every round": "in", "the horizon": "at"}


@suggest_keywords
def bounds_for(problem: Problem | Mapping[str, object], kind: str | Policy, metric: str) -> list[Bound]:
    """The bounds of `BOUNDS` for a metric and a policy, as far as their theorems apply to a problem.

    Args:
        problem: a `Problem` or a table.
        kind: the policy: a name, a table, a `Policy`, or a value of the coordinate `kind` of results, which is
            "fair-learn" for `fucb` and "fair-learn/thompson" for `f-ts`. The theorems are about policies with their
            default parameters; for others, the bounds of any policy are returned alone.
        metric: the name of a metric, from `jb.metrics.METRICS`.

    Returns:
        The bounds; an empty list where no theorem applies. Bounds of the merit paper need the method `cdf` of the
        delay; for a user's delay without it, they are left out.

    Raises:
        InputError: not a problem, or an unknown policy or metric.

    Example:
        >>> problem = jb.Problem([0.9, 0.5], fractions=0.1)
        >>> [bound.source for bound in jb.bounds.bounds_for(problem, "fair-learn", "r_regret")]
        ['guarantees paper, Theorem 3', 'guarantees paper, Theorem 5']
    """
    problem, known = problem_of(problem), _kind(kind)
    if metric not in METRICS:
        raise unknown_name("metric", metric, METRICS)
    given = None if isinstance(kind, str) else policy_of(kind)
    found = [bound for bound in BOUNDS if bound.metric == metric and bound.covers(known)]
    return [bound for bound in found if bound.is_about(given) and _applies(bound, problem)]


def _has_defaults(policy: Policy) -> bool:
    """Whether a policy has its default parameters, whatever those of its base."""
    default = type(policy)()
    names = [name for name in policy.parameters() if not isinstance(getattr(default, name), Policy)]
    held, usual = policy.as_table(), default.as_table()
    return all(held.get(name) == usual.get(name) for name in names)


def _kind(policy: str | Policy | Mapping[str, object]) -> str:
    """The value of the coordinate `kind` of results for a policy."""
    if not isinstance(policy, str) or policy in Policy.registry:
        return kind_of(policy_of(policy))
    known = {*Policy.registry, *_user_defined(Policy)}
    for part in policy.split("/"):
        if part not in known:
            raise unknown_name("kind", policy, known)
    return policy


def _user_defined(family: type[Policy]) -> Iterator[str]:
    """The names of policies that users have defined; these need not be registered."""
    for policy in family.__subclasses__():
        if not policy.__module__.startswith("jaxbandit."):
            yield policy.name
        yield from _user_defined(policy)


def _applies(bound: Bound, problem: Problem) -> bool:
    try:  # the functions check their conditions
        bound.value(problem, 3, [3])
    except InputError:
        return False
    return True


# Theorems as functions of the arguments that their conditions give


def _sum_of_deficits(means: ArrayLike, fractions: ArrayLike, penalties: ArrayLike, rounds: ArrayLike) -> np.ndarray:
    """Penalties paper, Theorem 3, for the largest deficit, which is at most the sum of all."""
    return hard_threshold_deficits(means, penalties, rounds).sum(axis=1)


def _worst_case_regret(means: ArrayLike, fractions: ArrayLike, penalties: ArrayLike, rounds: ArrayLike) -> np.ndarray:
    return hard_threshold_worst_case_regret(fractions, penalties, rounds)


def _gaussian_lower_bound(fractions: ArrayLike, penalties: ArrayLike, sd: float, rounds: ArrayLike) -> np.ndarray:
    return penalized_regret_lower_bound(fractions, penalties, rounds, sd)


def _fair_learn_worst_case(means: np.ndarray, fractions: np.ndarray, rounds: ArrayLike) -> np.ndarray:
    """Guarantees paper, Theorem 5, with the less than one round per arm that Theorem 4 leaves."""
    fair_learn_deficit(fractions)
    return fair_worst_case_regret(means, fractions, rounds, missed_rounds=len(means))


def _kl_ucb_regret(means: ArrayLike, fractions: ArrayLike, plays: int) -> np.ndarray:
    """Plays paper, Theorem 3.6, for the index's own default a = 0."""
    return fair_mmab_kl_ucb_regret(means, fractions, plays, a=0.0)


def _family_lower_bound(arms: int, scale: float, eps: float, horizon: np.ndarray) -> np.ndarray:
    return utility_regret_lower_bound(arms, horizon, scale, eps * float(horizon[0]) ** (1 / 3))


class _LowerBound(TypedDict):
    side: Literal["lower"]
    worst_case: bool


_HARD, _LEARN, _MMAB = ("hard-threshold-ucb",), ("fair-learn", "fair-learn/*"), ("fair-mmab", "fair-mmab/*")
_LOWER: _LowerBound = {"side": "lower", "worst_case": True}
_PENALIZED = conditions.MEANS_FRACTIONS_PENALTIES
_EQUAL = conditions.FRACTIONS_OF_ONE_PLAY.also("fractions that are 0 or all equal, and below 1/K")
_FAIR = conditions.MEANS_FRACTIONS
_REWARD, _MERIT = conditions.DELAY_MEANS_PLAYS, conditions.DELAY_MERIT_MEANS_PLAYS
_INDEPENDENT = "delays that do not depend on rewards"
_BAYES = "Bernoulli rewards, in the mean over means that are drawn uniformly"
_PLAYS = conditions.MEANS_FRACTIONS_PLAYS.also("fractions above 0 and below 1/(K-L+1)")
_BELOW = conditions.FRACTIONS_PLAYS.also("fractions below L/K")
_UTILITY = conditions.ARMS_LIPSCHITZ

BOUNDS: tuple[Bound, ...] = (
    Bound("penalties", "Theorem 2, eq. 13", "penalized_regret", _HARD, _PENALIZED, hard_threshold_regret),
    Bound("penalties", "Theorem 3, eq. 14", "max_deficit", _HARD, _PENALIZED, _sum_of_deficits),
    Bound("penalties", "Theorem 4, eq. 15", "penalized_regret", _HARD, _PENALIZED, _worst_case_regret, exact=True),
    Bound(
        "penalties",
        "Theorem 5, eq. 16",
        "penalized_regret",
        _HARD,
        _PENALIZED,
        hard_threshold_noncritical_lower_bound,
        **_LOWER,
    ),
    Bound(
        "penalties",
        "Theorem 6, eq. 17",
        "penalized_regret",
        _HARD,
        _PENALIZED,
        hard_threshold_critical_lower_bound,
        **_LOWER,
    ),
    Bound(
        "penalties",
        "Theorem 7",
        "penalized_regret",
        _ANY,
        conditions.FRACTIONS_PENALTIES_SD,
        _gaussian_lower_bound,
        exact=True,
        **_LOWER,
    ),
    Bound("guarantees", "Theorem 2", "r_regret", ("t-fucb",), _FAIR, fair_ucb_regret, "the horizon", exact=True),
    Bound("guarantees", "Theorem 3", "r_regret", ("fair-learn",), _FAIR, fair_ucb_regret, exact=True),
    Bound("guarantees", "Theorem 4", "max_deficit", _LEARN, _EQUAL, fair_learn_deficit, "constant", exact=True),
    Bound("guarantees", "Theorem 5", "r_regret", _LEARN, _FAIR, _fair_learn_worst_case, exact=True),
    Bound("guarantees", "Theorem 5", "r_regret", ("fair-random",), _FAIR, fair_worst_case_regret, exact=True),
    Bound("guarantees", "Theorem 7", "regret", ("ucb1",), conditions.MEANS, ucb1_regret, exact=True),
    Bound("merit", "Theorem 6", "reward_regret", ("fcucb-d",), _REWARD.also(_INDEPENDENT), merit_reward_regret),
    Bound("merit", "Theorem 6", "fairness_regret", ("fcucb-d",), _MERIT.also(_INDEPENDENT), merit_fairness_regret),
    Bound("merit", "Theorem 7", "reward_regret", ("fcts-d",), _REWARD.also(_INDEPENDENT, _BAYES), merit_reward_regret),
    Bound(
        "merit", "Theorem 7", "fairness_regret", ("fcts-d",), _MERIT.also(_INDEPENDENT, _BAYES), merit_fairness_regret
    ),
    Bound("merit", "Theorem 8", "reward_regret", ("op-fcucb-d",), _REWARD, op_fcucb_d_reward_regret),
    Bound("merit", "Theorem 8", "fairness_regret", ("op-fcucb-d",), _MERIT, op_fcucb_d_fairness_regret),
    Bound("merit", "Theorem 9", "reward_regret", ("op-fcts-d",), _MERIT.also(_BAYES), op_fcts_d_regret),
    Bound("merit", "Theorem 9", "fairness_regret", ("op-fcts-d",), _MERIT.also(_BAYES), op_fcts_d_regret),
    Bound("plays", "Theorem 3.4", "max_deficit", _MMAB, _BELOW, fair_mmab_deficit, "constant", exact=True),
    Bound("plays", "Theorem 3.5", "c_regret", ("fair-mmab",), _PLAYS, fair_mmab_ucb1_regret, "constant", exact=True),
    Bound("plays", "Theorem 3.6", "c_regret", ("fair-mmab/kl-ucb",), _PLAYS, _kl_ucb_regret, "constant", exact=True),
    Bound(
        "opportunities",
        "Theorem 1",
        "utility_regret",
        ("fairness-aware-etc",),
        _UTILITY,
        etc_utility_regret,
        "the horizon",
    ),
    Bound(
        "opportunities",
        "Theorem 2",
        "utility_regret",
        ("self-regulated",),
        _UTILITY,
        self_regulated_utility_regret,
        "the horizon",
    ),
    Bound(
        "opportunities",
        "Theorem 3",
        "utility_regret",
        _ANY,
        conditions.LOWER_BOUND_FAMILY,
        _family_lower_bound,
        "the horizon",
        **_LOWER,
    ),
)
"""All bounds of the five papers, in the order of their theorems."""
