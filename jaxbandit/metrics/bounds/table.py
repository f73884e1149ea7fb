"""What the five papers prove: their bounds as functions, and `BOUNDS`, the table of which bound is for what.

    for bound in bounds_for(problem, "fair-learn", "r_regret"):
        bound.value(problem, horizon, rounds)

A function takes arrays; a `Bound` takes a problem, and is drawn beside the curve of its metric. Optimal allocations are
in `jaxbandit.optimum`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

import numpy as np

from jaxbandit.core.errors import InputError, suggest_keywords, unknown_name
from jaxbandit.core.input_values import finite_numbers, whole_number
from jaxbandit.environment.opportunities import PiecewiseLinear
from jaxbandit.environment.problem import Problem, problem_of
from jaxbandit.environment.rewards import Gaussian
from jaxbandit.metrics.bounds.guarantees import fair_learn_deficit as fair_learn_deficit
from jaxbandit.metrics.bounds.guarantees import fair_ucb_regret as fair_ucb_regret
from jaxbandit.metrics.bounds.guarantees import fair_worst_regret as fair_worst_regret
from jaxbandit.metrics.bounds.guarantees import ucb1_regret as ucb1_regret
from jaxbandit.metrics.bounds.merit import biased_fairness_regret as biased_fairness_regret
from jaxbandit.metrics.bounds.merit import biased_reward_regret as biased_reward_regret
from jaxbandit.metrics.bounds.merit import biased_thompson_regret as biased_thompson_regret
from jaxbandit.metrics.bounds.merit import merit_fairness_regret as merit_fairness_regret
from jaxbandit.metrics.bounds.merit import merit_reward_regret as merit_reward_regret
from jaxbandit.metrics.bounds.merit import steepness as steepness
from jaxbandit.metrics.bounds.opportunities import etc_utility_regret as etc_utility_regret
from jaxbandit.metrics.bounds.opportunities import self_regulated_utility_regret as self_regulated_utility_regret
from jaxbandit.metrics.bounds.opportunities import utility_regret_least as utility_regret_least
from jaxbandit.metrics.bounds.penalties import hard_threshold_assumes as hard_threshold_assumes
from jaxbandit.metrics.bounds.penalties import hard_threshold_critical_least as hard_threshold_critical_least
from jaxbandit.metrics.bounds.penalties import hard_threshold_deficits as hard_threshold_deficits
from jaxbandit.metrics.bounds.penalties import hard_threshold_noncritical_least as hard_threshold_noncritical_least
from jaxbandit.metrics.bounds.penalties import hard_threshold_pulls as hard_threshold_pulls
from jaxbandit.metrics.bounds.penalties import hard_threshold_regret as hard_threshold_regret
from jaxbandit.metrics.bounds.penalties import hard_threshold_worst_regret as hard_threshold_worst_regret
from jaxbandit.metrics.bounds.penalties import penalized_regret_least as penalized_regret_least
from jaxbandit.metrics.bounds.plays import fair_mmab_deficit as fair_mmab_deficit
from jaxbandit.metrics.bounds.plays import fair_mmab_kl_ucb_regret as fair_mmab_kl_ucb_regret
from jaxbandit.metrics.bounds.plays import fair_mmab_ucb1_regret as fair_mmab_ucb1_regret
from jaxbandit.metrics.definitions import METRICS
from jaxbandit.policies.base import Policy, kind_of
from jaxbandit.policies.base import policy as policy_of


@dataclass(frozen=True)
class Bound:
    """A theorem, as it applies to simulations.

    Attributes:
        source: paper, theorem and equation.
        metric: what it bounds, a name of `jaxbandit.metrics.METRICS`: in the mean over runs; `max_deficit` on every run
            where the bound is exact.
        kinds: the policies, as the coordinate `kind` of a results dataset names them, with their default parameters;
            `*` stands for anything.
        arguments: what the function takes of a problem; raises an InputError where the theorem is not for it.
        function: the bound, of these arguments and, unless it is a constant, of rounds `[R]`.
        at: "every round"; "the horizon" where it says nothing of rounds before; "constant" where it is the same in all.
        side: "upper", or "lower".
        exact: whether all its constants are explicit, so that it holds as it stands; else it does up to a constant
            or to leading order.
        worst: whether it is for the worst of a set of problems, which need not be the one at hand.
    """

    source: str
    metric: str
    kinds: tuple[str, ...]
    arguments: Callable[[Problem], tuple[Any, ...]]
    function: Callable[..., Any]
    at: Literal["every round", "the horizon", "constant"] = "every round"
    side: Literal["upper", "lower"] = "upper"
    exact: bool = False
    worst: bool = False

    def covers(self, kind: str) -> bool:
        """Whether it is for policies of that kind."""
        return any(fnmatchcase(kind, pattern) for pattern in self.kinds)

    def value(self, problem: Problem, horizon: int, rounds: Any) -> np.ndarray:
        """The bound in some rounds of runs that end at the horizon.

        Args:
            problem: J instances, a `Problem` or a table.
            horizon: T.
            rounds: `[R]`, whole numbers from 1 to T.

        Returns:
            `[R, J]`, float64, in the metric's unit; infinite (0 on the lower side) in rounds of which it says nothing.

        Raises:
            InputError: the theorem is not for the problem, or rounds are no such numbers.
        """
        problem, horizon = problem_of(problem), whole_number(horizon, "horizon")
        t, words = np.atleast_1d(np.asarray(rounds)), f"whole numbers from 1 to T = {horizon}"
        if finite_numbers(t, "rounds", words, 1, horizon).ndim > 1 or np.any(t != np.floor(t)):
            raise InputError("rounds", rounds, words)
        when = {"every round": (t,), "the horizon": (np.array([horizon]),), "constant": ()}[self.at]
        found = np.asarray(self.function(*self.arguments(problem), *when), np.float64)
        found = found if self.at == "every round" else found.reshape(1, -1)
        told = (t == horizon)[:, None] | (self.at != "the horizon")
        silent = np.inf if self.side == "upper" else 0.0
        return np.where(told, np.broadcast_to(found, (len(t), problem.instances)), silent)


@suggest_keywords
def bounds_for(problem: Problem | Mapping[str, Any], kind: str | Policy, metric: str) -> list[Bound]:
    """The bounds of `BOUNDS` on a metric of a policy that are for a problem.

    Args:
        problem: the problem, a `Problem` or a table.
        kind: the policy: a name or a `Policy`, or as the coordinate `kind` of a results dataset names it, which is
            "fair-learn" for `fucb` and "fair-learn/thompson" for `f-ts`.
        metric: a name of `jaxbandit.metrics.METRICS`.

    Returns:
        The bounds; none where no theorem is for them.

    Raises:
        InputError: no problem, policy or metric.

    Example:
        >>> problem = jb.Problem([0.9, 0.5], fractions=0.1)
        >>> [bound.source for bound in bounds_for(problem, "fair-learn", "r_regret")]
        ['001 Theorem 3', '001 Theorem 5']
    """
    problem, known = problem_of(problem), _kind(kind)
    if metric not in METRICS:
        raise unknown_name("metric", metric, METRICS)
    return [bound for bound in BOUNDS if bound.metric == metric and bound.covers(known) and _is_for(bound, problem)]


def _kind(policy: Any) -> str:
    """A policy as the coordinate `kind` of results names it."""
    if not isinstance(policy, str) or policy in Policy.registry:
        return kind_of(policy_of(policy))
    known = {*Policy.registry, *_own_names(Policy)}
    for part in policy.split("/"):
        if part not in known:
            raise unknown_name("kind", policy, known)
    return policy


def _own_names(family: type[Policy]) -> Iterator[str]:
    """The names of policies of the user's own, which need not be registered."""
    for one in family.__subclasses__():
        if not one.__module__.startswith("jaxbandit."):
            yield one.name
        yield from _own_names(one)


def _is_for(bound: Bound, problem: Problem) -> bool:
    try:  # the functions know their conditions
        bound.value(problem, 3, [3])
    except InputError:
        return False
    return True


# What theorems ask of a problem, and the arguments they then take


def _fair(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """mu and tau, for one play a round."""
    _one_play(problem)
    return problem.means, _fractions(problem)


def _equal(problem: Problem) -> tuple[np.ndarray]:
    """tau, for one play a round, whatever the rewards and delays."""
    tau, plays = _owed(problem)
    if plays != 1:
        raise InputError("problem.plays", plays, "1: the theorem is for one play a round")
    return (tau,)


def _priced(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """mu, tau and A, for one play a round."""
    return *_fair(problem), _penalties(problem)


def _gaussian(problem: Problem) -> tuple[np.ndarray, np.ndarray, float]:
    """tau, A and the least sd, for one play a round."""
    _at_once(problem)
    if not isinstance(problem.reward, Gaussian) or problem.plays != 1:
        raise InputError("problem.reward", problem.reward.name, "'gaussian', and one play a round")
    return _fractions(problem), _penalties(problem), float(np.min(problem.reward.sd))


def _classic(problem: Problem) -> tuple[np.ndarray]:
    """mu, for one play a round."""
    _one_play(problem)
    return (problem.means,)


def _merited(problem: Problem) -> tuple[Any, ...]:
    """The delay, f, mu and L."""
    if problem.merit is None:
        raise InputError("problem.merit", None, "a merit function")
    _unit(problem)
    _there(problem)
    return problem.delay, problem.merit, problem.means, problem.plays


def _rewarded(problem: Problem) -> tuple[Any, ...]:
    """The delay, mu and L."""
    delay, _, means, plays = _merited(problem)
    return delay, means, plays


def _several(problem: Problem) -> tuple[np.ndarray, np.ndarray, int]:
    """mu, tau and L."""
    _at_once(problem)
    _unit(problem)
    return problem.means, _fractions(problem), problem.plays


def _owed(problem: Problem) -> tuple[np.ndarray, int]:
    """tau and L, whatever the rewards and delays."""
    _there(problem)
    return _fractions(problem), problem.plays


def _opportune(problem: Problem) -> tuple[int, float]:
    """K and L_f."""
    if problem.opportunity is None:
        raise InputError("problem.opportunity", None, "a fairness function")
    _one_play(problem)
    _unit(problem)
    slope = problem.opportunity.lipschitz(problem.arms)
    if np.isinf(slope):
        words = "a fairness function that tells its Lipschitz constant"
        raise InputError("problem.opportunity", problem.opportunity.name, words)
    return problem.arms, slope


def _family(problem: Problem) -> tuple[int, float, float]:
    """K, L and eps of `instances.lower_bound_family`."""
    arms, _ = _opportune(problem)
    if not isinstance(problem.opportunity, PiecewiseLinear):
        raise InputError("problem.opportunity", problem.opportunity, "'piecewise-linear', of `lower_bound_family`")
    return arms, problem.opportunity.scale, problem.opportunity.eps


def _fractions(problem: Problem) -> np.ndarray:
    if problem.fractions is None:
        raise InputError("problem.fractions", None, "tau, a number or one an arm")
    return problem.fractions.astype(np.float64)


def _penalties(problem: Problem) -> np.ndarray:
    if problem.penalties is None:
        raise InputError("problem.penalties", None, "A, a number or one an arm")
    return problem.penalties


def _one_play(problem: Problem) -> None:
    _at_once(problem)
    if problem.plays != 1:
        raise InputError("problem.plays", problem.plays, "1: the theorem is for one play a round")
    if not isinstance(problem.reward, Gaussian) or np.max(problem.reward.sd) > 0.5:  # tails as of rewards in [0, 1]
        _unit(problem)


def _at_once(problem: Problem) -> None:
    _there(problem)
    if not problem.delay.immediate:
        raise InputError("problem.delay", problem.delay.name, "'none': the theorem is without delay")


def _there(problem: Problem) -> None:
    if problem.availability is not None:
        raise InputError("problem.availability", problem.availability.T.tolist(), "1: arms that are always there")


def _unit(problem: Problem) -> None:
    low, high = problem.reward_support()
    if low < 0 or high > 1:
        raise InputError("problem.reward", problem.reward.name, "rewards that stay in [0, 1]")


# Functions of another shape than their theorem's


def _largest_deficit(means: Any, fractions: Any, penalties: Any, rounds: Any) -> np.ndarray:
    """000 Theorem 3 for the largest of the deficits, which is at most their sum."""
    return hard_threshold_deficits(means, penalties, rounds).sum(axis=1)


def _worst_regret(means: Any, fractions: Any, penalties: Any, rounds: Any) -> np.ndarray:
    return hard_threshold_worst_regret(fractions, penalties, rounds)


def _gaussian_least(fractions: Any, penalties: Any, sd: float, rounds: Any) -> np.ndarray:
    return penalized_regret_least(fractions, penalties, rounds, sd)


def _worst_of_fair_learn(means: Any, fractions: Any, rounds: Any) -> np.ndarray:
    """001 Theorem 5 with what 001 Theorem 4 leaves: no arm is short by a whole round."""
    fair_learn_deficit(fractions)
    return fair_worst_regret(means, fractions, rounds, lacking=len(means))


def _kl_ucb_regret(means: Any, fractions: Any, plays: int) -> np.ndarray:
    """003 Theorem 3.6 for the index's own default, a = 0."""
    return fair_mmab_kl_ucb_regret(means, fractions, plays, a=0.0)


def _least_of_family(arms: int, scale: float, eps: float, horizon: np.ndarray) -> np.ndarray:
    return utility_regret_least(arms, horizon, scale, eps * float(horizon[0]) ** (1 / 3))


_HARD, _LEARN = ("hard-threshold-ucb",), ("fair-learn", "fair-learn/*")
_MMAB, _ANY = ("fair-mmab", "fair-mmab/*"), ("*",)
_LOW: Any = {"side": "lower", "worst": True}

BOUNDS: tuple[Bound, ...] = (
    Bound("000 Theorem 2, eq. 13", "penalized_regret", _HARD, _priced, hard_threshold_regret),
    Bound("000 Theorem 3, eq. 14", "max_deficit", _HARD, _priced, _largest_deficit),
    Bound("000 Theorem 4, eq. 15", "penalized_regret", _HARD, _priced, _worst_regret, exact=True),
    Bound("000 Theorem 5, eq. 16", "penalized_regret", _HARD, _priced, hard_threshold_noncritical_least, **_LOW),
    Bound("000 Theorem 6, eq. 17", "penalized_regret", _HARD, _priced, hard_threshold_critical_least, **_LOW),
    Bound("000 Theorem 7", "penalized_regret", _ANY, _gaussian, _gaussian_least, exact=True, **_LOW),
    Bound("001 Theorem 2", "r_regret", ("t-fucb",), _fair, fair_ucb_regret, at="the horizon", exact=True),
    Bound("001 Theorem 3", "r_regret", ("fair-learn",), _fair, fair_ucb_regret, exact=True),
    Bound("001 Theorem 4", "max_deficit", _LEARN, _equal, fair_learn_deficit, at="constant", exact=True),
    Bound("001 Theorem 5", "r_regret", _LEARN, _fair, _worst_of_fair_learn, exact=True),
    Bound("001 Theorem 5", "r_regret", ("fair-random",), _fair, fair_worst_regret, exact=True),
    Bound("001 Theorem 7", "regret", ("ucb1",), _classic, ucb1_regret, exact=True),
    Bound("002 Theorem 6", "reward_regret", ("fcucb-d",), _rewarded, merit_reward_regret),
    Bound("002 Theorem 6", "fairness_regret", ("fcucb-d",), _merited, merit_fairness_regret),
    Bound("002 Theorem 7", "reward_regret", ("fcts-d",), _rewarded, merit_reward_regret),
    Bound("002 Theorem 7", "fairness_regret", ("fcts-d",), _merited, merit_fairness_regret),
    Bound("002 Theorem 8", "reward_regret", ("op-fcucb-d",), _rewarded, biased_reward_regret),
    Bound("002 Theorem 8", "fairness_regret", ("op-fcucb-d",), _merited, biased_fairness_regret),
    Bound("002 Theorem 9", "reward_regret", ("op-fcts-d",), _merited, biased_thompson_regret),
    Bound("002 Theorem 9", "fairness_regret", ("op-fcts-d",), _merited, biased_thompson_regret),
    Bound("003 Theorem 3.4", "max_deficit", _MMAB, _owed, fair_mmab_deficit, at="constant", exact=True),
    Bound("003 Theorem 3.5", "c_regret", ("fair-mmab",), _several, fair_mmab_ucb1_regret, at="constant", exact=True),
    Bound("003 Theorem 3.6", "c_regret", ("fair-mmab/kl-ucb",), _several, _kl_ucb_regret, at="constant", exact=True),
    Bound("004 Theorem 1", "utility_regret", ("fairness-aware-etc",), _opportune, etc_utility_regret, at="the horizon"),
    Bound(
        "004 Theorem 2", "utility_regret", ("self-regulated",), _opportune, self_regulated_utility_regret, "the horizon"
    ),
    Bound("004 Theorem 3", "utility_regret", _ANY, _family, _least_of_family, at="the horizon", **_LOW),
)
