"""hard-threshold-ucb: penalties paper, Algorithm 1 and eq. 12."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from jax import Array

from jaxbandit.core.component import parameter
from jaxbandit.core.input_values import PerArm
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Index, Policy, PolicyState, Rule
from jaxbandit.policies.indices import UCB1
from jaxbandit.policies.round_view import RoundView

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class HardThreshold(Rule, name="hard-threshold-ucb"):
    """Hard-threshold UCB: plays the arm of highest index, where arms below their quotas get a bonus.

    With the base `ucb1` it plays the arm of largest m_k + sqrt(2 log(t) / M_k) + A_k 1{N_k(t-1) < tau_k t}, where m_k
    is the mean of the M_k rewards that have arrived; without delays M_k is N_k(t-1).

    The bonus of arm k in round t is its penalty rate A_k if N_k(t-1) < tau_k t, else 0. N_k(t-1) is the number of
    rounds before t in which the arm was selected, and tau_k its fraction. First each arm is played once, whatever the
    base (penalties paper, Alg. 1, line 5). The problem needs `fractions`, and `penalties` unless the policy has its
    own; or `group_fractions` and `group_penalties`; or both. The bonus of a group in round t is its penalty rate A_g if
    its arms were selected fewer than phi_g L t times before; each of its arms gets it, beside the bonus of its own.

    Source: penalties paper (anonymous, under review), "A new look at fairness in stochastic multi-armed bandit
    problems", eq. 12 and Alg. 1.

    Raises:
        InputError: when the simulation starts, if fractions or penalty rates are missing.

    Example:
        >>> jb.policy("hard-threshold-ucb", penalties=0.3, exploration=1.0)
        HardThreshold(base=UCB1(exploration=1.0, log_offset=0.0), penalties=0.3)
    """

    source: ClassVar[str] = "penalties paper, eq. 12, Alg. 1"
    real_counts: ClassVar[bool] = True
    base: Index = parameter(UCB1(), doc="the index to which penalty rates are added")
    penalties: PerArm = parameter(
        None, low=0, doc="A, a number or one number per arm; default: the problem's penalties", smooth=True
    )

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        requirements.fractions_or_groups(problem, self.name)
        requirements.group_penalties(problem, self.name)
        prepared = super().prepare(problem, horizon)
        if problem.fractions is None or self.penalties is not None:
            return prepared
        return prepared.replace(penalties=requirements.penalties(problem, self.name, None))

    def value(self, state: PolicyState, now: RoundView) -> Array:
        index, groups = self.index(state, now), now.groups
        if groups is not None and groups.quota_now is not None:
            bonus = groups.penalties * now.below_quota(groups.quota_now, groups.pulls)
            index = index + groups.of_arms(bonus, len(now.pulls), 0.0)
        if now.quota_now is None:
            return index
        return index + self.penalties * now.below_quota(now.quota_now)  # penalties paper, eq. 12
