"""fair-mmab: plays paper, Algorithm 1 (Fair-MMAB(K)) and Algorithm 2 (Fair-MMAB(K)-MF)."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.component import parameter
from jaxbandit.core.errors import InputError
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Index, Policy, PolicyState, Rule
from jaxbandit.policies.indices import UCB1
from jaxbandit.policies.round_view import RoundView, is_below
from jaxbandit.policies.selection.sortable_integers import float_key
from jaxbandit.policies.selection.top_arms import deficit_key, top_arms

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem


class FairMMAB(Rule, name="fair-mmab"):
    """Fair-MMAB: of the L plays per round, L-J go to the arms of highest index, the others to arms below their quotas.

    J plays are reserved for fairness. By default, J is the integer with (J-1)/(K-L+J-1) <= max tau < J/(K-L+J), for K
    arms. In round t, the L-J arms of highest index are selected first. The J other plays go to arms below their quotas
    tau_k (t-1), those of larger deficit first, and, if these arms are fewer than J, to the arms of next highest index.
    The plays paper writes M, K and L for K, L and J; its Algorithm 1 is the case J = 1.

    If all arms are available, every arm has N_k(t) > tau_k t - 1 selections after every round t of every run (plays
    paper, Theorems 3.4 and 4.1). A J below the default does not guarantee this. The problem needs `fractions`, the
    tau_k, all below L/K.

    The plays paper uses log(t-1) in the index of round t: set `log_offset=1` of ucb1 or kl-ucb for that.

    Source: Jin, Kim & Suh, "Fairness of exposure in stochastic multiple-play multi-armed bandits" (plays paper),
    Alg. 1 and 2.

    Raises:
        InputError: when the simulation starts, if the problem has no fractions, one of them is not below L/K, or `J` is
            not a whole number from 1 to L.

    Example:
        >>> jb.policy("fair-mmab", base="kl-ucb", log_offset=1)
        FairMMAB(base=KLUCB(a=0.0, log_offset=1), J=None)
    """

    source: ClassVar[str] = "plays paper, Alg. 1-2"
    base: Index = parameter(UCB1(), doc="the index; ucb1 or kl-ucb in the plays paper")
    J: int = parameter(None, low=1, doc="plays reserved for fairness; default as in the plays paper")

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        tau = requirements.fractions(problem, self.name)
        arms, plays = problem.arms, problem.plays
        if np.max(tau) >= Fraction(plays, arms):
            words = (
                f"must all be below plays / arms = {plays}/{arms} with fair-mmab (plays paper, Theorem 4.1); "
                f"the largest is {float(np.max(tau)):g}"
            )
            raise InputError("problem.fractions", tau.astype(float).T.tolist(), words)
        if self.J is None:
            reserved = np.array([[_reserved_plays(max(column), arms, plays) for column in tau.T]], float)
        else:
            reserved = _whole_number_of_plays(self.J, plays)
        return super().prepare(problem, horizon).replace(J=reserved)

    def select(self, state: PolicyState, now: RoundView) -> Array:
        index = float_key(jnp.where(now.t == 1, 0.0, self._own_index(state, now)))  # u(0) = 0
        reserved = jnp.asarray(self.J).astype(jnp.int32)  # which the plays paper, Alg. 2, calls L
        most = now.plays - 1  # since J >= 1
        ahead = top_arms((index,), now.plays - reserved, most, now.available, now.tie_breaker)  # C(t) of Alg. 2
        behind = is_below(now.quota_before, now.pulls)
        overdue = deficit_key(behind, now.quota_before, now.pulls)  # F(t) of Alg. 2
        keys = overdue, index.zero_where(behind)
        return ahead | top_arms(keys, reserved, now.plays, now.available & ~ahead, now.tie_breaker)


def _reserved_plays(tau: Fraction, arms: int, plays: int) -> int:
    """The integer J with (J-1)/(K-L+J-1) <= max tau < J/(K-L+J) (plays paper, sec. 4)."""
    return next(j for j in range(1, plays + 1) if tau < Fraction(j, arms - plays + j))


def _whole_number_of_plays(given: object, plays: int) -> np.ndarray:
    """A given J, `[1, 1]`."""
    value = np.asarray(given, np.float64)
    if value.ndim or value != np.floor(value) or not 1 <= value <= plays:
        raise InputError("policies.J", given, f"must be a whole number from 1 to plays = {plays}")
    return value.reshape(1, 1)
