"""`World`: a problem as the engine uses it, with arrays on the device."""

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
    """A problem for a block of runs: arrays `[K or 1, *runs]`, where run axes broadcast.

    On the host the arrays are NumPy arrays `[K or 1, J or 1]`.

    Attributes:
        means: mu, float.
        reward, delay: the models, with parameters per arm.
        centre: the number that is subtracted from rewards before they are summed, float; None for 0.
        availability, fractions, penalties: float; None where the problem has none.
        fair: p*, the fair chances of the arms (merit paper, eq. 4), float; None without a merit function.
        plays: L.
        binarised: each reward r is replaced by a Bernoulli draw of mean r for the policy (Agrawal & Goyal 2012).
        zero_one: the policy receives rewards of 0 and 1.
        calendar_rounds: the length of the calendar of delayed feedback in rounds; 1 if no feedback is delayed.
        random_ties: ties between arms are broken at random; otherwise they go to the lowest arm.
    """

    means: Any  # NumPy arrays on the host, JAX arrays on the device
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
    random_ties: bool = static(False)


def world_of(problem: Problem, binary: bool, horizon: int, ties: str = "lowest") -> World:
    """The `World` of a problem on the host; the engine cuts blocks of it.

    Args:
        problem: the problem.
        binary: the policy needs rewards of 0 and 1.
        horizon: T.
        ties: "lowest" or "random".
    """
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
        binarised=binary and not problem.reward.zero_one,  # a Bernoulli draw of mean 0 or 1 changes nothing
        zero_one=binary or problem.reward.zero_one,
        calendar_rounds=calendar_length(problem.delay.longest(), horizon),
        random_ties=ties == "random",
    )
