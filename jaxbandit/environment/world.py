"""`World`: a problem as the engine takes it, arrays on the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxbandit.core.struct import static, struct
from jaxbandit.environment.delays import Delay
from jaxbandit.environment.feedback_calendar import calendar_length
from jaxbandit.environment.problem import Problem
from jaxbandit.environment.rewards import Reward


@struct
class World:
    """A problem on the device, for a block of runs: arrays `[K or 1, *runs]`, the run axes broadcasting.

    Attributes:
        means: mu, float.
        reward, delay: the models, with their parameters spread over arms.
        centre: what rewards are measured from in sums; None for 0.
        availability, fractions, penalties: float; None where the problem has none.
        plays: L.
        binarised: rewards reach the policy binarised by a Bernoulli draw (Agrawal & Goyal 2012).
        zero_one: rewards reach the policy as 0 or 1.
        fair: p*, the chances that merit gives the arms (002 eq. 4), float; None without merit.
        calendar_rounds: rounds that the calendar of delayed feedback holds; 1 where none is ever under way.
    """

    means: Any
    reward: Reward
    delay: Delay
    centre: Any
    availability: Any
    fractions: Any
    penalties: Any
    fair: Any
    plays: int = static(1)
    binarised: bool = static(False)
    zero_one: bool = static(False)
    calendar_rounds: int = static(1)


def world_of(problem: Problem, binary: bool, horizon: int) -> World:
    """The problem's `World` on the host, its arrays `[K or 1, J or 1]`; the engine cuts blocks of it."""
    tau = problem.fractions
    return World(
        means=problem.means,
        reward=problem.reward,
        delay=problem.delay.device_model(),
        centre=problem.means if problem.reward.centred and not binary else None,
        availability=problem.availability,
        fractions=None if tau is None else tau.astype(np.float64),
        penalties=problem.penalties,
        fair=None if problem.merit is None else problem.fair_chances(),
        plays=problem.plays,
        binarised=binary and not problem.reward.zero_one,  # of 0 and 1 a draw makes the same
        zero_one=binary or problem.reward.zero_one,
        calendar_rounds=calendar_length(problem.delay.longest(), horizon),
    )
