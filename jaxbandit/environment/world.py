"""`World`: a problem as the engine takes it, arrays on the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxbandit.core.struct import static, struct
from jaxbandit.environment.delays import Delay
from jaxbandit.environment.feedback_calendar import slots
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
        binary: rewards reach the policy binarised by a Bernoulli draw (Agrawal & Goyal 2012).
        bits: rewards reach the policy as 0 or 1.
        fair: p*, the chances that merit gives the arms (002 eq. 4), float; None without merit.
        under_way: rounds that the calendar of delayed feedback holds; 1 where none is ever under way.
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
    binary: bool = static(False)
    bits: bool = static(False)
    under_way: int = static(1)


def world_of(problem: Problem, binary: bool, horizon: int) -> World:
    """The problem's `World` on the host, its arrays `[K or 1, J or 1]`; the engine cuts blocks of it."""
    tau = problem.fractions
    return World(
        means=problem.means,
        reward=problem.reward,
        delay=problem.delay.model(),
        centre=problem.means if problem.reward.centred and not binary else None,
        availability=problem.availability,
        fractions=None if tau is None else tau.astype(np.float64),
        penalties=problem.penalties,
        fair=None if problem.merit is None else problem.fair_chances(),
        plays=problem.plays,
        binary=binary and not problem.reward.bits,  # of 0 and 1 a draw makes the same
        bits=binary or problem.reward.bits,
        under_way=slots(problem.delay.longest(), horizon),
    )
