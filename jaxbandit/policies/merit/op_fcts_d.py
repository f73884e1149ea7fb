"""op-fcts-d: merit paper, Algorithm 4."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.policies.merit.proportional import MeritPolicy, missing_rewards
from jaxbandit.policies.round_view import RoundView


class OPFCTSD(MeritPolicy, name="op-fcts-d"):
    """OP-FCTS-D: draws arms in proportion to the merit of averages of optimistic and pessimistic posterior draws.

    The draws for arm k are from Beta distributions, as those of fcts-d. The optimistic draw counts all missing rewards
    of the arm as 1, the pessimistic draw as 0; x_k is the average of the two draws. L arms are drawn with the
    probabilities L f(x_k) / sum_j f(x_j), where f is the merit function. A reward r that is not 0 or 1 is replaced by a
    random number that is 1 with probability r, else 0. The policy is made for delays that depend on the rewards. The
    problem needs rewards in [0, 1], and `merit` unless the policy has its own.

    Source: Chen, Cai, Chen, Zhang & Lui, "Merit-based fair combinatorial semi-bandit with unrestricted feedback
    delays" (merit paper), Alg. 4.

    Raises:
        InputError: when the simulation starts, if merit is missing or rewards can be outside [0, 1].

    Example:
        >>> jb.policy("op-fcts-d")
        OPFCTSD(merit=None)
    """

    source: ClassVar[str] = "merit paper, Alg. 4"
    binary_feedback: ClassVar[bool] = True
    costly: ClassVar[bool] = True  # as `Index.costly`: it draws from Beta distributions

    def estimate(self, now: RoundView) -> Array:
        ones, missing = now.total, missing_rewards(now)
        zeros = now.received.astype(ones.dtype) - ones
        successes, failures = jnp.concatenate([ones + missing, ones]), jnp.concatenate([zeros, zeros + missing])
        draws = now.for_wrapped_policy().random.beta(1.0 + successes, 1.0 + failures)
        optimistic, pessimistic = jnp.split(draws, 2)
        return 0.5 * (optimistic + pessimistic)
