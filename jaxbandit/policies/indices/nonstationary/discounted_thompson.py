"""discounted-thompson: Thompson sampling with discounted feedback; Raj & Kalyani (2017), Alg. 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from jax import Array

from jaxbandit.policies import requirements
from jaxbandit.policies.base import Policy
from jaxbandit.policies.indices.nonstationary.discounted import DiscountedIndex, DiscountedSums
from jaxbandit.policies.round_view import RoundView

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class DiscountedThompson(DiscountedIndex, name="discounted-thompson"):
    """Discounted Thompson sampling: Thompson sampling for mean rewards that change.

    The index is a draw from Beta(1 + S'_k, 1 + N'_k - S'_k). At the end of a round, N'_k = g N'_k + the number of
    rewards of arm k that arrived in the round, and S'_k = g S'_k + their sum, with the parameter `discount` as g. So
    the posterior of an arm that is not played returns to the uniform distribution. A reward r that is not 0 or 1 is
    replaced by a random number that is 1 with probability r, else 0 (Agrawal & Goyal 2012, Alg. 2).

    Source: Raj & Kalyani (2017), "Taming non-stationary bandits: a Bayesian approach", Alg. 1.

    Raises:
        InputError: when the simulation starts, if rewards can leave [0, 1].

    Example:
        >>> jb.policy("discounted-thompson")
        DiscountedThompson(discount=0.99)
    """

    source: ClassVar[str] = "Raj & Kalyani 2017, Alg. 1"
    costly: ClassVar[bool] = True
    initial_pass: ClassVar[bool] = False
    binary_feedback: ClassVar[bool] = True

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        requirements.rewards_in_unit_interval(problem, self.name)
        return super().prepare(problem, horizon)

    def value(self, state: DiscountedSums, now: RoundView) -> Array:
        return now.random.beta(1.0 + state.total, 1.0 + (state.count - state.total))
