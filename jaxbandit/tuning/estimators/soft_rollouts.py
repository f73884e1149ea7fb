"""Runs under a soft choice: with whole plays that are drawn, or with shares of plays, which can be differentiated."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxbandit.core.prng import POLICY, Stream
from jaxbandit.engine import rollout
from jaxbandit.engine.rounds import feedback
from jaxbandit.engine.stepping.relaxed.relaxed_round import sum_term
from jaxbandit.engine.stepping.relaxed.relaxed_runs import RunInputs, final_state, quotas_of_round, scan_in_chunks
from jaxbandit.engine.stepping.relaxed.soft_choice import choice_stream, draw_arms
from jaxbandit.policies.base import Policy
from jaxbandit.policies.merit.proportional import MeritPolicy
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.sampling import sample_arm

SampledCarry = tuple[rollout.State, Array, dict[str, Array]]  # with the logarithm of the chance, and sums


class RunTotals(NamedTuple):
    """The totals of runs at their end.

    Attributes:
        counts: N_k(T), float `[K, *runs]`.
        sums: the requested sums of `rollout.SUMS`, by name, float `[1, *runs]`.
        log_chance: the logarithm of the chance of all choices, float `[1, *runs]`; 0 where nothing is drawn.
    """

    counts: Array
    sums: dict[str, Array]
    log_chance: Array


def run_relaxed(
    policy: Policy, run_inputs: RunInputs, shape: tuple[int, ...], rounds: int, asked: tuple[str, ...]
) -> RunTotals:
    """Runs of shares of plays, for a policy that accepts shares.

    Args:
        policy: prepared, on the device.
        run_inputs: what the runs share.
        shape: (K, *runs).
        rounds: T.
        asked: the names of the sums of `rollout.SUMS` to keep.
    """
    kept = tuple(name for name in asked if name in rollout.CHANCES)
    end, world = final_state(policy, run_inputs, shape, rounds, kept), run_inputs.world
    sums = dict(end.sums)
    if "reward" in asked:
        centre = 0.0 if world.centre is None else world.centre
        sums["reward"] = jnp.sum(centre * end.pulls + end.deviation, axis=0, keepdims=True)
    return RunTotals(end.pulls, sums, jnp.zeros((1, *shape[1:]), jnp.result_type(float)))


def run_sampled(
    policy: Policy, run_inputs: RunInputs, shape: tuple[int, ...], rounds: int, asked: tuple[str, ...]
) -> RunTotals:
    """Runs of whole plays that are drawn by the soft choice; arguments as for `run_relaxed`, any delay and any policy.

    For the sums of `rollout.CHANCES`, the drawn arms have the chance 1, unless the policy selects by its own chances.
    """
    world = run_inputs.world
    drawn_sums = tuple(name for name in asked if name not in rollout.CHANCES)

    def step(carry: SampledCarry, before: Array) -> tuple[SampledCarry, None]:
        state, log_chance, sums = carry
        t = before + 1
        quota_before, quota_now = quotas_of_round(run_inputs.quotas, before)
        random = Stream(run_inputs.key, t.astype(jnp.uint32), POLICY)
        now = rollout.observe(state, world, t, jnp.asarray(rounds, jnp.int32), quota_before, quota_now, random)
        selected, log_of_draw = _draw_of_policy(policy, state.policy, now, run_inputs.softness.temperature)
        if sums:
            share = policy.chances(now) if isinstance(policy, MeritPolicy) else selected.astype(log_of_draw.dtype)
            sums = {name: total + sum_term(name, world, share) for name, total in sums.items()}
        after, _ = rollout.settle(policy, world, state, now, feedback.drawing_form(world, selected), None)
        return (after, log_chance + log_of_draw, sums), None

    state = rollout.begin(policy, world, shape, False, drawn_sums)
    zeros = jnp.zeros((1, *shape[1:]), jnp.result_type(float))
    chance_sums = {name: zeros for name in asked if name in rollout.CHANCES}
    state, log_chance, sums = scan_in_chunks(step, (state, zeros, chance_sums), rounds)
    sums = {**sums, **{name: total.value for name, total in state.sums.items()}}
    return RunTotals(state.pulls.astype(zeros.dtype), sums, log_chance)


def _draw_of_policy(policy: Policy, state: Any, now: RoundView, temperature: Array) -> tuple[Array, Array]:
    """The drawn arms and the logarithm of their chance, as `draw_arms`."""
    if isinstance(policy, MeritPolicy):  # of one play
        chances = policy.chances(now)
        selected = sample_arm(lax.stop_gradient(chances), choice_stream(now).uniform(), now.available)
        return selected, jnp.sum(jnp.where(selected, jnp.log(chances), 0.0), axis=0, keepdims=True)
    return draw_arms(policy.score(state, now), now, temperature)  # type: ignore[attr-defined]
