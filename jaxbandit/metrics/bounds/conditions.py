"""The assumptions of the theorems about a problem, and the arguments that the bounds take from it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.environment.delays import Delay
from jaxbandit.environment.merit import Merit
from jaxbandit.environment.opportunities import PiecewiseLinear
from jaxbandit.environment.problem import Problem
from jaxbandit.environment.rewards import Gaussian


@dataclass(frozen=True)
class Conditions:
    """The conditions of a theorem.

    Attributes:
        assumptions: the assumptions in words.
        arguments: the arguments of the bound, taken from a problem; raises an InputError where the theorem does not
            apply to the problem. Some bounds check further assumptions themselves.
    """

    assumptions: tuple[str, ...]
    arguments: Callable[[Problem], tuple[object, ...]]

    def also(self, *assumptions: str) -> Conditions:
        """The same arguments under further assumptions, which the bound itself checks."""
        return dataclasses.replace(self, assumptions=(*self.assumptions, *assumptions))


def _means(problem: Problem) -> tuple[np.ndarray]:
    """mu, for one play per round."""
    _check_one_play(problem)
    return (problem.means,)


def _means_and_fractions(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """mu and tau, for one play per round and fractions that sum to less than 1."""
    return *_means(problem), _fractions_below_one(problem)


def _means_fractions_and_penalties(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """mu, tau and A, for one play per round."""
    return *_means_and_fractions(problem), _penalties(problem)


def _fractions_of_one_play(problem: Problem) -> tuple[np.ndarray]:
    """tau, for one play per round, whatever the rewards and delays."""
    tau, plays = _fractions_and_plays(problem)
    if plays != 1:
        raise InputError("problem.plays", plays, "1: the theorem assumes one play per round")
    return (tau,)


def _fractions_and_plays(problem: Problem) -> tuple[np.ndarray, int]:
    """tau and L, whatever the rewards and delays."""
    _check_availability(problem)
    return _fractions(problem), problem.plays


def _means_fractions_and_plays(problem: Problem) -> tuple[np.ndarray, np.ndarray, int]:
    """mu, tau and L."""
    _check_no_delay(problem)
    _check_unit_rewards(problem)
    return problem.means, _fractions(problem), problem.plays


def _fractions_penalties_and_sd(problem: Problem) -> tuple[np.ndarray, np.ndarray, float]:
    """tau, A and the smallest sd, for Gaussian rewards and one play per round."""
    _check_no_delay(problem)
    if not isinstance(problem.reward, Gaussian):
        raise InputError("problem.reward", problem.reward.name, "'gaussian': the theorem assumes Gaussian rewards")
    if problem.plays != 1:
        raise InputError("problem.plays", problem.plays, "1: the theorem assumes one play per round")
    return _fractions_below_one(problem), _penalties(problem), float(np.min(problem.reward.sd))


def _delay_merit_means_and_plays(problem: Problem) -> tuple[Delay, Merit, np.ndarray, int]:
    """The delay, f, mu and L."""
    if problem.merit is None:
        raise InputError("problem.merit", None, "a merit function")
    _check_constant_means(problem)
    _check_unit_rewards(problem)
    _check_availability(problem)
    return problem.delay, problem.merit, problem.means, problem.plays


def _delay_means_and_plays(problem: Problem) -> tuple[Delay, np.ndarray, int]:
    """The delay, mu and L."""
    delay, _, means, plays = _delay_merit_means_and_plays(problem)
    return delay, means, plays


def _arms_and_lipschitz(problem: Problem) -> tuple[int, float]:
    """K and the Lipschitz constant of the fairness function."""
    if problem.opportunity is None:
        raise InputError("problem.opportunity", None, "a fairness function")
    _check_one_play(problem)
    _check_unit_rewards(problem)
    slope = problem.opportunity.lipschitz(problem.arms)
    if np.isinf(slope):
        words = "a fairness function with a finite Lipschitz constant"
        raise InputError("problem.opportunity", problem.opportunity.name, words)
    return problem.arms, slope


def _lower_bound_family(problem: Problem) -> tuple[int, float, float]:
    """K, and L and eps of `jb.instances.lower_bound_family`."""
    arms, _ = _arms_and_lipschitz(problem)
    if not isinstance(problem.opportunity, PiecewiseLinear):
        words = "'piecewise-linear', as in `jb.instances.lower_bound_family`"
        raise InputError("problem.opportunity", problem.opportunity, words)
    if problem.penalties is None or np.any(problem.penalties != 1):
        held = None if problem.penalties is None else problem.as_table()["penalties"]
        raise InputError("problem.penalties", held, "1, as in `jb.instances.lower_bound_family` and in the proof")
    return arms, problem.opportunity.scale, problem.opportunity.eps


_ONE_PLAY, _NO_DELAY, _AVAILABLE = "one play per round", "no delay", "all arms always available"
_UNIT, _LIGHT = "rewards in [0, 1]", "rewards in [0, 1] or Gaussian with sd <= 1/2"
_SUM = "fractions that sum to less than 1"
_CLASSICAL = (_ONE_PLAY, _NO_DELAY, _AVAILABLE, _LIGHT)
_MERIT = ("a merit function", _AVAILABLE, _UNIT)
_OPPORTUNITY = ("a fairness function with a Lipschitz constant", _ONE_PLAY, _NO_DELAY, _AVAILABLE, _UNIT)

MEANS = Conditions(_CLASSICAL, _means)
MEANS_FRACTIONS = Conditions((*_CLASSICAL, _SUM), _means_and_fractions)
MEANS_FRACTIONS_PENALTIES = Conditions((*_CLASSICAL, _SUM, "penalties"), _means_fractions_and_penalties)
FRACTIONS_OF_ONE_PLAY = Conditions((_ONE_PLAY, _AVAILABLE), _fractions_of_one_play)
FRACTIONS_PLAYS = Conditions((_AVAILABLE,), _fractions_and_plays)
MEANS_FRACTIONS_PLAYS = Conditions((_NO_DELAY, _AVAILABLE, _UNIT), _means_fractions_and_plays)
FRACTIONS_PENALTIES_SD = Conditions(
    (_ONE_PLAY, _NO_DELAY, _AVAILABLE, "Gaussian rewards", _SUM, "penalties above 0"), _fractions_penalties_and_sd
)
DELAY_MERIT_MEANS_PLAYS = Conditions(_MERIT, _delay_merit_means_and_plays)
DELAY_MEANS_PLAYS = Conditions(_MERIT, _delay_means_and_plays)
ARMS_LIPSCHITZ = Conditions(_OPPORTUNITY, _arms_and_lipschitz)
LOWER_BOUND_FAMILY = Conditions(
    ("instances of lower_bound_family, whose penalties are 1", *_OPPORTUNITY[1:]), _lower_bound_family
)


def _fractions(problem: Problem) -> np.ndarray:
    if problem.fractions is None:
        raise InputError("problem.fractions", None, "must be given (a number or one number per arm) for this theorem")
    return problem.fractions.astype(np.float64)


def _fractions_below_one(problem: Problem) -> np.ndarray:
    """tau, whose exact sum is below 1."""
    fractions = _fractions(problem)
    assert problem.fractions is not None
    if max(problem.fractions.sum(axis=0)) >= 1:
        raise InputError("problem.fractions", problem.as_table()["fractions"], "fractions that sum to less than 1")
    return fractions


def _penalties(problem: Problem) -> np.ndarray:
    if problem.penalties is None:
        raise InputError("problem.penalties", None, "must be given (a number or one number per arm) for this theorem")
    return problem.penalties


def _check_one_play(problem: Problem) -> None:
    _check_no_delay(problem)
    if problem.plays != 1:
        raise InputError("problem.plays", problem.plays, "1: the theorem assumes one play per round")
    if not isinstance(problem.reward, Gaussian) or np.max(problem.reward.sd) > 0.5:  # else light tails
        _check_unit_rewards(problem)


def _check_no_delay(problem: Problem) -> None:
    _check_constant_means(problem)
    _check_availability(problem)
    if not problem.delay.immediate:
        raise InputError("problem.delay", problem.delay.name, "'none': the theorem assumes that there is no delay")


def _check_availability(problem: Problem) -> None:
    if problem.sleeping:
        words = "1: the theorem assumes that all arms are always available"
        raise InputError("problem.availability", problem.as_table()["availability"], words)


def _check_constant_means(problem: Problem) -> None:
    if problem.changing is not None:
        words = "constant means: the theorem assumes that they do not change"
        raise InputError("problem.means", problem.as_table()["means"], words)


def _check_unit_rewards(problem: Problem) -> None:
    low, high = problem.reward_support()
    if low < 0 or high > 1:
        raise InputError("problem.reward", problem.reward.name, "a distribution of rewards in [0, 1]")
