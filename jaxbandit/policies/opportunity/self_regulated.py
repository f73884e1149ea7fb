"""self-regulated: opportunities paper, Algorithm 4 (Algorithm 2 in full)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.component import derived, parameter
from jaxbandit.core.input_values import Number, PerArm
from jaxbandit.core.users_code import contracts
from jaxbandit.core.xla.fusion import cond_fused, without_fusion
from jaxbandit.core.xla.small_programs import SmallProgram
from jaxbandit.environment.opportunities import share_bounds
from jaxbandit.environment.world import World
from jaxbandit.policies import requirements
from jaxbandit.policies.base import Index, Policy
from jaxbandit.policies.indices import UCB1
from jaxbandit.policies.opportunity.entitlements import (
    Entitlements,
    accuracy_rate,
    entitlements_of,
    lipschitz_constant,
    positive_number,
)
from jaxbandit.policies.opportunity.phases import (
    BlackBoxPolicy,
    PhaseState,
    confidence_intervals,
    confidence_radius,
    gap_bounds,
    view_before_round_1,
)
from jaxbandit.policies.round_view import RoundView

if TYPE_CHECKING:
    from jaxbandit.environment.problem import Problem

_ROUNDING = 1e-5  # more than the rounding errors of a gap and its radius, for rewards up to 1


class SelfRegulated(BlackBoxPolicy, name="self-regulated"):
    """Self-regulated utility maximisation: explores as long as needed, grants opportunities, then follows a black box.

    The gap of arm k is max_j mu_j - mu_k, lambda_k its transfer cost, and f the fairness function. Gaps and values of f
    are known up to confidence intervals. The phases:

    - "gaps": plays all arms in turn, until for each arm the gap is known to be at least lambda_k - beta or known to
      be at most lambda_k + beta.
    - "fairness function": plays all arms in turn, until f_k is known up to an interval of length alpha for every arm
      whose gap may be below lambda_k.
    - "opportunities": plays each of these arms until it has floor(T f(m)_k) plays, those of the first phases
      included; m are the mean rewards of the arms.
    - "black box": the index `black_box` selects the arms of the remaining rounds; it sees only the plays of these
      rounds and the rewards that arrive in them, late rewards of earlier plays among them.

    While all arms that are to be played sleep, the available arm of highest mean reward is played.

    The policy uses the horizon T. The problem needs an `opportunity` f, one play per round, and `penalties` (the
    lambda_k) unless the policy has its own.

    Source: Ron, Ben-Porat & Shalit, "Corporate social responsibility via multi-armed bandits" (opportunities paper),
    Alg. 4; the defaults of alpha and beta are those of Theorem 2.

    Raises:
        InputError: when the simulation starts, if the problem lacks what the policy needs, or if the policy needs a
            Lipschitz constant of f and neither the function nor `lipschitz` gives one.

    Example:
        >>> jb.policy("self-regulated", alpha=0.2, beta=0.3).black_box
        UCB1(exploration=2.0, log_offset=0.0)
    """

    source: ClassVar[str] = "opportunities paper, Alg. 4"
    own_order: ClassVar[bool] = True  # arms are played in turn
    long_commitments: ClassVar[bool] = True
    phases: ClassVar[tuple[str, ...]] = ("gaps", "fairness function", "opportunities", "black box")
    tested_phases: ClassVar[int] = 2
    black_box: Index = parameter(UCB1(), doc="any index, for the last phase; its parameters are given beside")
    penalties: PerArm = parameter(
        None, low=0, doc="lambda, a number or one number per arm; default: the problem's penalties"
    )
    lipschitz: Number | None = parameter(
        None, low=0, doc="L_f with |f(x) - f(y)|_1 <= L_f |x - y|_1; default: that of the function"
    )
    alpha: Number = parameter(
        None, low=0, doc="accuracy of the fairness function, above 0; default (K L_f)^(2/3) T^(-1/3) log(T)^(1/3)"
    )
    beta: Number = parameter(None, low=0, doc="accuracy of the gaps, above 0; default T^(-1/3) log(T)^(1/3)")
    entitlements: Entitlements = derived()
    reward_range: Array = derived()  # W, of rewards as the policy receives them
    rounding: Array = derived()
    first_goal: Array = derived()
    first_phase: Array = derived()

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        entitlements, rate = entitlements_of(problem, self.name, horizon), accuracy_rate(horizon)
        f = entitlements.function
        needed, instead = self.alpha is None or not f.has_bounds, "alpha" if f.has_bounds else ""
        lipschitz = lipschitz_constant(f, self.lipschitz, problem.arms, instead) if needed else 0.0
        filled = self.replace(
            penalties=None,
            lipschitz=lipschitz,
            alpha=(problem.arms * lipschitz) ** (2 / 3) * rate
            if self.alpha is None
            else positive_number(self.alpha, "alpha"),
            beta=rate if self.beta is None else positive_number(self.beta, "beta"),
        )
        prepared: Any = super(SelfRegulated, filled).prepare(problem, horizon)
        rates = requirements.penalties(problem, self.name, self.penalties)
        low, high = problem.reward_support()
        width = max(high - low, 1.0) if self.wants_binary_feedback else high - low  # received as 0 or 1
        largest = max(abs(low), abs(high), 1.0)
        rounding = _ROUNDING * largest if np.isfinite(largest) else _ROUNDING
        numbers = {"reward_range": np.asarray(width), "rounding": np.asarray(rounding)}
        prepared = prepared.replace(entitlements=entitlements, penalties=rates, **numbers)
        if contracts.has_users_method(self, "next_schedule"):  # it is called where a simulation calls it
            return prepared
        goal, phase = prepared._first_goal_and_phase(problem.arms, problem.instances)
        return prepared.replace(first_goal=goal, first_phase=phase)

    def _first_goal_and_phase(self, arms: int, instances: int) -> tuple[np.ndarray, np.ndarray]:
        """The goal `[K, J or 1]` and the phase `[1, J or 1]` before round 1, int32."""
        unknown = self._spare_width(np.zeros(1), np.ones(1), np.minimum) > self.rounding
        if unknown.any(axis=0).all():  # as almost always: a sweep
            return np.ones((arms, 1), np.int32), np.zeros((1, 1), np.int32)
        scheduled = _scheduled if contracts.has_user_code(self) else _scheduled_compiled  # f may be a user's
        with jax.core.eval_context():  # where a function is traced, the schedule is a constant of it
            goal, phase = scheduled(self, shape=(arms, instances))
        return np.asarray(goal), np.asarray(phase)

    def first_schedule(self, world: World, shape: tuple[int, ...]) -> tuple[Array, Array, None]:
        return jnp.broadcast_to(self.first_goal, shape), jnp.broadcast_to(self.first_phase, (1, *shape[1:])), None

    def next_schedule(self, state: PhaseState, after: RoundView) -> PhaseState:
        bounds = gap_bounds(after)
        unclear = _any(self._spare_width(*bounds) > 0)
        phase = jnp.where((state.phase == 0) & ~unclear, 1, state.phase)

        def test_f() -> tuple[Array, Array]:
            worth = bounds[0] < self.penalties
            lower, upper = share_bounds(self.entitlements.function, self.lipschitz, *confidence_intervals(after))
            vague = (upper - lower > self.alpha) & worth  # Alg. 4, line 20
            entitled = jnp.where(worth, self.entitlements.rounds(after), 0)  # lines 33-35
            next_phase = jnp.where((phase == 1) & ~_any(vague), 2, phase)
            return next_phase, jnp.where(next_phase == 2, entitled, swept)

        swept = after.pulls + 1
        phase, goal = cond_fused(jnp.any(phase == 1), test_f, lambda: (phase, swept))  # f is not computed in phase 0
        return dataclasses.replace(state, phase=phase, goal=goal)

    def is_sweeping(self, state: PhaseState, now: RoundView, arm: Array) -> Array:
        return state.phase < self.tested_phases

    def following_sweeps(self, state: PhaseState, after: RoundView) -> Array:
        """The number of sweeps that are certain to follow: in phase 0 at least 1 if a gap is unknown, else 0.

        All arms have M plays. If received rewards lie in an interval of length W, then n sweeps change a gap by at most
        2 W n / M, and twice its radius r by at most r n / M.
        """
        plays = after.samples[:1]
        radius = without_fusion(lambda: confidence_radius(after, plays), after.t)
        spare = jnp.max(self._spare_width(*gap_bounds(after, radius)), axis=0, keepdims=True) - self.rounding
        sweeps = spare * plays / (2.0 * self.reward_range + radius)
        known = jnp.clip(sweeps, 0.0, plays).astype(jnp.int32) + 1
        return jnp.where((state.phase == 0) & (spare > 0), known, 0)

    def _spare_width(self, least: Any, most: Any, minimum: Callable[[Any, Any], Any] = jnp.minimum) -> Any:
        """How much narrower the interval of a gap has to become before the gap is known, float `[K, *runs]`.

        0 or less if the gap is known. Source: opportunities paper, Alg. 4, line 6.
        """
        return minimum(most - (self.penalties + self.beta), (self.penalties - self.beta) - least)


def _scheduled(policy: SelfRegulated, shape: tuple[int, int]) -> tuple[Array, Array]:
    """The goal and the phase that the test of a prepared policy gives before round 1, for `[K, J]`."""
    none = jnp.zeros((1, *shape[1:]), jnp.int32)
    state = PhaseState(jnp.zeros(shape, jnp.int32), none, none, None, None)
    made = policy.next_schedule(state, view_before_round_1(shape, policy.horizon))
    return made.goal, jnp.where(_any(made.goal > 0), made.phase, len(policy.phases) - 1)


_scheduled_compiled = SmallProgram(_scheduled, static_argnames="shape")


def _any(mask: Array) -> Array:
    return jnp.any(mask, axis=0, keepdims=True)
