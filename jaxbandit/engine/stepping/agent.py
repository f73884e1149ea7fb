"""`Agent`: a policy that selects arms in the real world, where rewards come whenever they come."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core import compensated_sums
from jaxbandit.core.compensated_sums import CompensatedSum
from jaxbandit.core.errors import InputError, warn
from jaxbandit.core.input_values import whole_number
from jaxbandit.core.prng import BINARISE, POLICY, Stream
from jaxbandit.core.struct import static, struct
from jaxbandit.engine.advice.faults import about_policy
from jaxbandit.engine.batch.chunks import failure
from jaxbandit.engine.rollout import FAULTS
from jaxbandit.engine.settings import TIES
from jaxbandit.engine.stepping import agent_rewards
from jaxbandit.engine.stepping.horizon_use import check_horizon_is_not_used, uses_horizon
from jaxbandit.engine.stepping.placement import is_traced, key_columns, key_of_run, on_device, own_buffers
from jaxbandit.engine.stepping.quota_schedule import quota_schedule
from jaxbandit.engine.stepping.state_owner import check_single, differences, identity
from jaxbandit.environment.problem import Problem
from jaxbandit.environment.rewards import always_from_0_to_1
from jaxbandit.environment.world import world_of
from jaxbandit.policies import make_policy
from jaxbandit.policies.base import checked_choose, checked_init, checked_update
from jaxbandit.policies.round_view import Arrived, RoundView, quotas_and_groups
from jaxbandit.policies.selection.arm_indices import selected_arms
from jaxbandit.policies.selection.ties import tie_breaker

_NO_HORIZON = (1 << 31) - 2
_MOST_ARMS = 10**7  # arrays of more arms take gigabytes


@struct
class AgentState:
    """The state of an agent: a pytree of arrays, which can be saved, copied, and passed through JAX.

    Attributes:
        t: the rounds in which the agent has selected, int32 scalar.
        key: the two words of the key, uint32 `[2]`.
        counts: the selections of each arm, int32 `[K, 1]`.
        received_counts: the rewards of each arm that came back, int32 `[K, 1]`.
        sums, squares: the sums of these rewards and of their squares, with compensations, float `[K, 1]`; `squares` is
            None where the policy does not use it.
        selected, available: the arms that were selected and available in round t, bool `[K, 1]`.
        arrived: the rewards that came back since round t was selected; None where the policy does not use them.
        chances: the chance of the last selection of each arm, float `[K, 1]`; None where the policy does not use it.
        policy: the policy's state at the end of round t - 1.
        agent: the arguments of the agent that the state belongs to, as JSON; other agents refuse the state.
    """

    t: Array
    key: Array
    counts: Array
    received_counts: Array
    sums: CompensatedSum
    squares: CompensatedSum | None
    selected: Array
    available: Array
    arrived: Arrived | None
    chances: Array | None
    policy: Any  # a pytree of the policy's choice
    agent: str = static()

    @property
    def pulls(self) -> Array:
        """The selections of each arm so far, int32 `[K]`."""
        return self.counts[..., 0]

    @property
    def received(self) -> Array:
        """The rewards of each arm that came back so far, int32 `[K]`."""
        return self.received_counts[..., 0]

    @property
    def total(self) -> Array:
        """The sum of these rewards, float `[K]`."""
        return self.sums.value[..., 0]


class Agent:
    """A policy for the real world: it selects arms, and it is told rewards when they come back.

    In a round the policy sees the rewards that were observed before, whichever rounds they belong to. Late rewards
    therefore need nothing special: observe them when they come, in any order and any number. The methods are pure
    functions of a state. They are compiled when they are first called, and they can be used in your own `jax.jit`,
    `jax.vmap` and `jax.lax.scan`.

    If it is told the rewards of a run of `jb.Simulator`, each in the round in which it arrives there, the agent selects
    the arms of that run. (Rewards that are not 0 or 1 are summed without a centre, so that ties may be broken
    differently. A policy that turns such rewards into 0 or 1 draws the same numbers where no reward is delayed.)

    Args:
        policy: a name ("ucb1"), a table (`{"kind": "lfg", "eta": 10.0}`), a `Policy` or its class.
        arms: K, the number of arms, at most 10^7.
        plays: L, the number of arms to select in a round. Default: 1.
        fractions, penalties, merit, opportunity, groups, group_fractions, group_penalties: the fairness requirements,
            as for `Problem`. Default: None.
        reward: the kind of rewards, as for `Problem`. Default: "bernoulli", rewards of 0 and 1.
        horizon: T, at most 2^31 - 2, for policies that use it; `select` warns in round T + 1. Default: None.
        ties: where ties between equal arms go, "lowest" (default) or "random", as for `jb.simulate`.

    Raises:
        InputError: an argument is invalid, or the policy needs an argument that is not given.

    Example:
        >>> agent = jb.Agent("fair-learn", arms=3, fractions=0.2)
        >>> state = agent.init(key=0)
        >>> state, arms, chances = agent.select(state)
        >>> arms.tolist()
        [0]
        >>> state = agent.observe(state, arms, rewards=[1.0])
        >>> state.pulls.tolist(), state.total.tolist()
        ([1, 0, 0], [1.0, 0.0, 0.0])
    """

    def __init__(
        self,
        policy: Any,
        arms: int,
        plays: int = 1,
        *,
        fractions: Any = None,
        penalties: Any = None,
        merit: Any = None,
        opportunity: Any = None,
        groups: Any = None,
        group_fractions: Any = None,
        group_penalties: Any = None,
        reward: Any = "bernoulli",
        horizon: int | None = None,
        ties: str = "lowest",
    ):
        if ties not in TIES:
            raise InputError("ties", ties, '"lowest" or "random"')
        self.arms, self.ties = whole_number(arms, "arms", most=_MOST_ARMS), ties
        self.policy = make_policy.policy(policy)
        self.horizon = None if horizon is None else whole_number(horizon, "horizon", most=_NO_HORIZON)
        if isinstance(penalties, Mapping):
            raise InputError("penalties", dict(penalties), "numbers >= 0 (an agent knows no means, so it has no gaps)")
        rounds = _NO_HORIZON if self.horizon is None else self.horizon
        try:
            # No policy sees the means, which are not known. With a delay, received rewards have their own count.
            self._problem = Problem(
                [0.5] * self.arms, plays=plays, reward=reward, delay={"kind": "fixed", "d": 1},
                fractions=fractions, penalties=penalties, merit=merit, opportunity=opportunity,
                groups=groups, group_fractions=group_fractions, group_penalties=group_penalties,
            )  # fmt: skip
            if self.horizon is None:
                check_horizon_is_not_used(self.policy, self._problem)
            prepared = self.policy.prepare(self._problem, rounds)
        except InputError as error:
            raise error.with_key(error.key.removeprefix("problem.")) from None
        self.plays = self._problem.plays
        world = world_of(self._problem, prepared.wants_binary_feedback, rounds, ties)
        self._needs_all = any(one.needs_all_arms for one in self.policy.nested_policies())
        # For policies it is a world where any arm may sleep
        awake = None if self._needs_all else np.ones((self.arms, 1), np.float32)
        self._policy, self._world = on_device((prepared, dataclasses.replace(world, centre=None, availability=awake)))
        self._in_unit_interval = self._world.binarised or always_from_0_to_1(self._problem.reward, self.arms)
        exact = self._problem.guarantees()
        self._quotas = None if exact is None else quota_schedule(exact, self.horizon)
        self._rounds = np.int32(rounds)
        given = self._problem.as_given_table()
        required = {name: value for name, value in given.items() if name not in ("means", "delay")}
        self._identity = identity(
            {"policy": self.policy, "arms": self.arms, "horizon": self.horizon, "ties": ties} | required
        )

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: all but the compiled functions, which are made again when they are needed."""
        return {name: value for name, value in vars(self).items() if name not in ("_begin", "_select", "_observe")}

    @functools.cached_property
    def _begin(self) -> Any:
        return jax.jit(self._begun)

    @functools.cached_property
    def _select(self) -> Any:
        return jax.jit(self._selected)

    @functools.cached_property
    def _observe(self) -> Any:
        return jax.jit(self._observed)

    def __repr__(self) -> str:
        ties = "" if self.ties == "lowest" else f", ties={self.ties!r}"
        return f"Agent({self.policy!r}, arms={self.arms}, plays={self.plays}{ties})"

    def init(self, key: Any) -> AgentState:
        """The state before round 1.

        Args:
            key: the source of the policy's random numbers: an integer from 0 to 2^64 - 1 (from 0 to 2^31 - 1 where it
                is traced), or one key of `jax.random`.

        Raises:
            InputError: another key.
        """
        words = key_of_run(key, 0, 0)
        return self._begun(words) if is_traced(words) else self._begin(words)

    def _begun(self, words: Array) -> AgentState:
        """The state before round 1 of the agent whose key has these words."""
        shape = self.arms, 1
        counts, sums = jnp.zeros(shape, jnp.int32), compensated_sums.zeros(shape)
        everywhere = jnp.ones(shape, bool)
        weighted = sums.value if self._policy.wants_losses else None
        state = AgentState(
            t=jnp.zeros((), jnp.int32),
            key=words,
            counts=counts,
            received_counts=counts,
            sums=sums,
            squares=sums if self._policy.wants_squares else None,
            selected=~everywhere,
            available=everywhere,
            arrived=Arrived(counts, sums.value, weighted) if self._policy.wants_arrived else None,
            chances=weighted,
            policy=checked_init(self._policy, self._world, shape),
            agent=self._identity,
        )
        return own_buffers(state)

    def select(self, state: AgentState, available: Any = None) -> tuple[AgentState, Array, Array]:
        """Select the arms of the next round.

        Args:
            state: the state that `init`, `select` or `observe` returned.
            available: K booleans, whether each arm can be selected. Default: all arms, which some policies need in
                every round.

        Returns:
            The state of the round, the selected arms in increasing order, int32 `[L]` (-1 where fewer than L arms are
            available), and the probability with which each arm was selected, float `[K]`: 1 or 0 unless the policy
            states its chances.

        Raises:
            InputError: `available` has another shape or another type, or `state` is that of another agent.
            FloatingPointError: an index or a chance was not a number; only where nothing is traced.
            ReturnedError: a policy of yours selected too few arms; only where nothing is traced.
        """
        self._check_owner(state)
        if available is None:
            available = np.ones(self.arms, bool)
        elif not is_traced(available):
            available = np.asarray(available)
            if available.shape != (self.arms,) or available.dtype != bool:
                raise InputError("available", available, f"{self.arms} booleans, one per arm")
        if self._needs_all and (is_traced(available) or not np.all(available)):
            held = "a traced array" if is_traced(available) else available
            raise InputError("available", held, f"left out: {self.policy.name} needs all arms in every round")
        state, arms, chances = self._select(state, available)
        if not is_traced(arms):
            missing = min(self.plays, np.sum(available)) - np.sum(np.asarray(arms) >= 0)
            if missing > 0:
                found = dict.fromkeys(FAULTS, 0) | {"too_few": missing * self.policy.selection_is_users}
                error = failure(f"policy {self.policy.name!r}", found, int(state.t), self._world, self._policy)
                raise about_policy(error, self.policy)
            t = int(state.t)
            if self.horizon is not None and t == self.horizon + 1 and uses_horizon(self.policy, self._problem):
                warn(f"round {t} is beyond horizon = {self.horizon}, which {self.policy.name} uses")
        return state, arms, chances

    def observe(self, state: AgentState, arms: Any, rewards: Any, chances: Any = None) -> AgentState:
        """Tell the agent rewards that came back.

        They may belong to selections that the agent did not make, such as those of a log from before its time: the
        policy learns from them. `state.pulls` counts the agent's own selections only.

        Args:
            state: the state that `init`, `select` or `observe` returned.
            arms: the arms that the rewards belong to: any number of arms, or one arm; -1 for none.
            rewards: the reward of each of these arms.
            chances: the probabilities that `select` returned when it selected these arms, K numbers from 0 to 1, above
                0 (and not below 1.2e-38 in float32) for these arms. Policies that weigh rewards by chances, as `exp3`
                does, need them with rewards of arms that the agent has not selected. Default: those of the last
                selection of each arm.

        Returns:
            The state with these rewards. The next `select` uses them.

        Raises:
            InputError: arms that do not exist, rewards that are not those of the agent's kind of rewards or whose sum
                is too large, chances that cannot be, or another agent's state. Traced values are not checked.
        """
        self._check_owner(state)
        if is_traced((arms, rewards)):
            arms, rewards = jnp.atleast_1d(arms), jnp.atleast_1d(rewards)
            agent_rewards.check_shapes(arms, rewards, self.arms)
            weights = agent_rewards.chances_of_rewards(chances, state.chances, arms, self.arms)
            return self._observe(state, arms, rewards, weights)
        arms, rewards = np.atleast_1d(arms), np.atleast_1d(rewards)
        agent_rewards.check_shapes(arms, rewards, self.arms)
        agent_rewards.check_values(arms, rewards, self.arms, self._problem.reward, self._in_unit_interval)
        arms = arms.astype(np.int32)
        weights = agent_rewards.chances_of_rewards(chances, state.chances, arms, self.arms)
        for piece in agent_rewards.padded_pieces(arms, rewards):
            state = self._observe(state, *piece, weights)
        if not self._in_unit_interval or state.chances is not None:
            agent_rewards.check_sums(jax.tree.leaves((state.sums, state.squares, state.arrived)), rewards)
        return state

    def _check_owner(self, state: AgentState) -> None:
        """Refuse the state of an agent with another policy, other parameters or other requirements.

        Raises:
            InputError: about `state`.
        """
        if not isinstance(state, AgentState):
            words = "a state of this agent; `select` returns (state, arms, chances), and `observe` returns a state"
            raise InputError("state", type(state).__name__, words)
        check_single(state.t, "agent")
        if state.agent != self._identity:
            words = f"the state of this agent; of its agent, {differences(state.agent, self._identity)}"
            raise InputError("state", "AgentState(...)", words)

    def _view(self, state: AgentState, t: Array, available: Array) -> RoundView:
        before = now = None
        if self._quotas is not None:
            before, now = self._quotas.at(t - 1), self._quotas.at(t)
        random = Stream(key_columns(state.key), t.astype(jnp.uint32), POLICY)
        return RoundView(
            t=t,
            horizon=jnp.asarray(self._rounds),
            pulls=state.counts,
            received=state.received_counts,
            deviation=state.sums.value,
            squares=None if state.squares is None else state.squares.value,
            centre=None,
            available=available,
            fractions=self._world.fractions,
            penalties=self._world.penalties,
            random=random,
            plays=self.plays,
            tie_breaker=tie_breaker(random, self.arms) if self._world.random_ties else None,
            **quotas_and_groups(self._world, state.counts, before, now),
        )

    def _selected(self, state: AgentState, available: Array) -> tuple[AgentState, Array, Array]:
        """Finish the last round with the rewards that came since, and select the arms of the next one."""
        policy, first = self._policy, state.t == 0
        # Rewards from before round 1 are those of round 1, of which this selection has a preview
        after = self._view(state, jnp.maximum(state.t, 1), state.available)
        after = dataclasses.replace(after, arrived=state.arrived)
        updated = checked_update(policy, state.policy, after, state.selected)
        known = ~first if state.arrived is None else ~first | jnp.any(state.arrived.count > 0)
        seen = jax.tree.map(lambda new, old: jnp.where(known, new, old), updated, state.policy)
        own = jax.tree.map(lambda new, old: jnp.where(first, old, new), seen, state.policy)
        t = state.t + 1
        now = self._view(state, t, jnp.asarray(available, bool)[:, None])
        mask, chances = checked_choose(policy, seen, now)
        mask = mask & now.available
        counts = state.counts + mask.astype(jnp.int32)
        none = jax.tree.map(lambda total: jnp.where(first, total, jnp.zeros_like(total)), state.arrived)
        last = None if state.chances is None else jnp.where(mask, chances, state.chances)
        state = dataclasses.replace(
            state, chances=last, t=t, counts=counts, selected=mask, available=now.available, arrived=none, policy=own
        )
        return state, selected_arms(mask, self.plays)[:, 0], chances[:, 0]

    def _observed(self, state: AgentState, arms: Array, rewards: Array, chances: Array) -> AgentState:
        real = state.sums.value.dtype
        arm, reward = jnp.asarray(arms, jnp.int32), jnp.asarray(rewards).astype(real)
        if self._world.binarised:  # Agrawal & Goyal 2012, Alg. 2
            earlier = jnp.tril(arm[:, None] == arm[None, :], -1).sum(axis=1, dtype=jnp.int32)
            number = state.received_counts[arm, 0] + earlier
            numbers = Stream(key_columns(state.key), number[:, None].astype(jnp.uint32), POLICY)
            coins = numbers.for_play(number[:, None], arm[:, None], self.arms).for_purpose(BINARISE)
            reward = (coins.uniform(len(arm))[:, 0] < reward).astype(real)
        place = jnp.where(arm < 0, self.arms, arm)

        def add(total: Array, values: Array) -> Array:
            return total.at[place, 0].add(values, mode="drop")

        ones, arrived = jnp.ones(len(arm), jnp.int32), state.arrived
        if arrived is not None:
            losses = arrived.losses
            if losses is not None:
                losses = add(losses, (1.0 - jnp.asarray(rewards).astype(real)) / jnp.asarray(chances, real)[arm])
            arrived = Arrived(add(arrived.count, ones), add(arrived.total, reward), losses)
        return dataclasses.replace(
            state,
            received_counts=add(state.received_counts, ones),
            sums=compensated_sums.add_in_turn(state.sums, place, reward),
            squares=state.squares and compensated_sums.add_in_turn(state.squares, place, reward**2),
            arrived=arrived,
        )
