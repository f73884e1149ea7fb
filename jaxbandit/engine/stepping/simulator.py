"""`Simulator`: the runs of a simulation, round by round, as pure functions."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.errors import InputError
from jaxbandit.core.input_values import is_whole_number, to_python
from jaxbandit.core.struct import struct
from jaxbandit.engine import rollout
from jaxbandit.engine.rounds.feedback import selections
from jaxbandit.engine.settings import SimulationSettings
from jaxbandit.engine.stepping.all_runs import (
    final_relaxed_states,
    final_states,
    raise_faults,
    raise_if_not_shares,
)
from jaxbandit.engine.stepping.placement import columns_of, is_traced, key_columns, key_of_run, on_device, own_buffers
from jaxbandit.engine.stepping.quota_schedule import quota_schedule
from jaxbandit.engine.stepping.relaxed import relaxed_round
from jaxbandit.engine.stepping.relaxed.relaxable import check_relaxable
from jaxbandit.engine.stepping.relaxed.relaxed_round import ShareState
from jaxbandit.engine.stepping.relaxed.softness import softness_of
from jaxbandit.engine.stepping.replacement import check_names, rows_of_means, with_numbers, with_parameters
from jaxbandit.engine.stepping.state_owner import arrays_in_words, check_arrays, check_single
from jaxbandit.environment.problem import Problem, problem_of
from jaxbandit.environment.world import World, world_of
from jaxbandit.metrics.exact_range import check_exact_range
from jaxbandit.policies import make_policy
from jaxbandit.policies.base import Policy
from jaxbandit.policies.round_view import Arrived


@struct
class SimulatorState:
    """The state of one run between two rounds.

    Attributes:
        t: the number of rounds played, int32 scalar.
        instance: the run's instance of the problem, int32 scalar.
        key: the two words of the run's key, uint32 `[2]`.
        run: counts, sums, feedback that has not arrived, and the state of the policy, arrays `[K, 1]`.
    """

    t: Array
    instance: Array
    key: Array
    run: rollout.State | ShareState

    @property
    def pulls(self) -> Array:
        """N_k(t), the selections of each arm, int32 `[K]`; in a relaxed run the sums of the shares, float `[K]`."""
        return self.run.pulls[..., 0]

    @property
    def policy(self) -> Any:
        """The state of the policy, a pytree of arrays that broadcast to `[K, 1]`."""
        return self.run.policy


@struct
class StepInfo:
    """What happened in a round.

    Attributes:
        arms: the selected arms in increasing order, int32 `[L]`; -1 in the last places where fewer were available.
        rewards: the rewards of these arms, float `[L]`; 0 for arm -1.
        delays: the delays of these rewards in rounds, int32 `[L]`. A reward with delay 0 arrives at the end of its own
            round; one with delay `jb.NEVER` or more never arrives.
        chances: p_k(t), the probability with which each arm was selected, float `[K]`. It is 1 or 0 unless the policy
            states its chances.
        arrived: the rewards that arrived at the end of the round: their number `arrived.count`, int32 `[K]`, and their
            sum `arrived.total`, float `[K]`.
    """

    arms: Array
    rewards: Array
    delays: Array
    chances: Array
    arrived: Arrived


@struct
class RelaxedStepInfo:
    """What happened in a round of a relaxed run, which selects no single arms.

    Attributes:
        chances: the share of the plays that each arm got, float `[K]` from 0 to 1. The shares sum to L, or to the
            number of available arms where fewer are available.
        rewards: the rewards that the shares earned, as the policy receives them, float `[K]`. An arm that has got n
            plays in all, a whole number, has earned its first n rewards, which are those of an unrelaxed run.
    """

    chances: Array
    rewards: Array


# The attributes that a `Simulator` makes when it needs them
_MADE_LATER = "_arrays", "_compiled_begun", "_compiled_next"


class Simulator:
    """A policy on a problem, round by round: pure functions for your own `jax.jit`, `jax.vmap` and `jax.lax.scan`.

    The run of `init(key, instance=j, seed=i)` is run i of instance j of `jb.simulate(..., key=key)`, selection by
    selection. The last digit of an index or of a reward can differ, since the programs are not the same; a selection
    differs only where two indices are equal up to that digit.

    A selection is not a smooth function of numbers such as penalty rates. With `relaxed`, each arm gets a share of the
    plays instead, so that `jax.grad` can differentiate a run. `info` is then a `RelaxedStepInfo`, whose `chances` are
    the shares, and `state.pulls` are sums of shares. `jb.tuning` differentiates the same runs.

    Args:
        problem: a `Problem`, or a table (dict) with the keys of a config's `[problem]`.
        policy: a name ("ucb1"), a table (`{"kind": "lfg", "eta": 10.0}`), a `Policy` or its class.
        horizon: T, the rounds of a run, from 1 to 2^24 (in float64 to 2^31 - 2).
        relaxed: how soft the choice between arms is, for relaxed runs: a table with a `temperature`, in the unit of the
            policy's scores, and a `width` (default 0.5), the softness of the thresholds at quotas, in rounds. Both are
            numbers >= 1e-6, and may be traced. As both approach 0, shares approach selections and derivatives become
            noisy: with a threshold, temperature * width should be above A / 32 for the largest penalty rate A. Relaxed
            runs are for problems without delay, and for policies that accept counts that are not integers (errors
            list them). Default: None, runs that select arms.
        ties: where ties between equal arms go, "lowest" (default) or "random", as for `jb.simulate`.

    Raises:
        InputError: an argument is invalid, the policy does not suit the problem, or it has no relaxed runs.

    Example:
        >>> problem = jb.Problem(means=[0.9, 0.8, 0.5], fractions=0.1)
        >>> simulator = jb.Simulator(problem, "fair-learn", horizon=200)
        >>> state = simulator.init(key=0)
        >>> final, info = jax.lax.scan(lambda state, _: simulator.step(state), state, length=200)
        >>> info.arms.shape, int(final.pulls.sum())
        ((200, 1), 200)
        >>> results = jb.simulate(problem, "fair-learn", horizon=200, seeds=1, key=0)
        >>> final.pulls.tolist() == results.pulls[0, 0, 0].values.tolist()
        True

        The slope of the mean reward in the penalty rates, over four relaxed runs:

        >>> problem = jb.Problem(means=[0.9, 0.8, 0.5], fractions=0.1, penalties=0.3)
        >>> relaxed = jb.Simulator(problem, "hard-threshold-ucb", horizon=200, relaxed={"temperature": 0.05})
        >>> def reward(rates, seed):
        ...     simulator = relaxed.replace(penalties=rates)
        ...     play = jax.checkpoint(lambda state, _: (simulator.step(state)[0], None))
        ...     final, _ = jax.lax.scan(play, simulator.init(key=0, seed=seed), length=200)
        ...     return problem.means[:, 0] @ final.pulls
        >>> def mean_reward(rates):
        ...     return jax.vmap(reward, (None, 0))(rates, jnp.arange(4)).mean()
        >>> slopes = jax.jit(jax.grad(mean_reward))(jnp.array([0.3, 0.3, 0.3]))
        >>> slopes.shape, bool(slopes[2] < 0)
        ((3,), True)
    """

    def __init__(
        self,
        problem: Problem | Mapping[str, Any],
        policy: Any,
        horizon: int,
        relaxed: Mapping[str, Any] | None = None,
        ties: str = "lowest",
    ):
        try:
            SimulationSettings(horizon, 1, ties=ties).check()
        except InputError as error:
            raise error.with_key(error.key.removeprefix("simulation.")) from None
        self.problem = problem_of(problem, 0)
        self.policy: Policy = make_policy.policy(policy)
        self.horizon, self.ties = int(to_python(horizon)), ties
        check_exact_range(self.problem, self.horizon, True)
        prepared = self.policy.prepare(self.problem, self.horizon)
        world = world_of(self.problem, prepared.wants_binary_feedback, self.horizon, ties)
        self._policy, self._world = on_device((prepared, world))
        owed = self.problem.guarantees()
        self._quotas = None if owed is None else quota_schedule(owed, self.horizon)
        self._relax(relaxed)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: all but compiled functions, which are made again when they are needed."""
        return {name: value for name, value in vars(self).items() if name not in _MADE_LATER}

    def _relax(self, relaxed: Mapping[str, Any] | None) -> None:
        """Set the softness of the runs, None for runs that select arms."""
        for made in _MADE_LATER:  # of another softness, and of other numbers
            self.__dict__.pop(made, None)
        self.relaxed, self._softness = relaxed, None if relaxed is None else softness_of(relaxed)
        if relaxed is not None:
            if self.ties != "lowest":
                raise InputError("ties", self.ties, '"lowest" with `relaxed`, where equal arms share the plays')
            check_relaxable(self.policy, self._policy, self.problem)

    def __repr__(self) -> str:
        relaxed = "" if self.relaxed is None else f", relaxed={self.relaxed!r}"
        ties = "" if self.ties == "lowest" else f", ties={self.ties!r}"
        return f"Simulator({self.problem!r}, {self.policy!r}, horizon={self.horizon}{relaxed}{ties})"

    def init(self, key: Any, instance: Any = 0, seed: Any = 0) -> SimulatorState:
        """The state of a run before round 1. Each argument may be traced, so `jax.vmap` maps over it.

        Args:
            key: an integer from 0 to 2^64 - 1 (from 0 to 2^31 - 1 where it is traced), or one key of `jax.random`.
            instance: the index of the instance, from 0 to J - 1.
            seed: the index of the run among the runs of its instance, >= 0.

        Raises:
            InputError: an argument is no single number or key, or one that is not traced is out of range.
        """
        self._check_index("instance", instance, self.problem.instances)
        self._check_index("seed", seed, 1 << 31)
        words = key_of_run(key, instance, seed)
        if is_traced((words, instance, self._policy, self._world, self._softness)):
            return self._begun(words, jnp.asarray(instance, jnp.int32))
        return self._compiled_begun(words, np.asarray(instance, np.int32))

    @functools.cached_property
    def _compiled_begun(self) -> Callable[..., SimulatorState]:
        return jax.jit(self._begun)

    def _begun(self, words: Array, which: Array) -> SimulatorState:
        """The state before round 1 of the run of an instance whose key has these words."""
        policy, world = columns_of((self._policy, self._world), which)
        shape = self.problem.arms, 1
        run: rollout.State | ShareState
        if self._softness is None:
            run = rollout.begin(policy, world, shape, False)
        else:
            run = relaxed_round.begin(policy, world, shape, key_columns(words))
        return own_buffers(SimulatorState(jnp.zeros((), jnp.int32), which, words, run))

    def step(self, state: SimulatorState) -> tuple[SimulatorState, Any]:  # with a union, users would have to narrow it
        """Play the next round of a run. The first call compiles it, if nothing is traced.

        Args:
            state: the state before the round, of fewer than `horizon` rounds. It may come from a simulator with other
                numbers, if its arrays are those of this one's states.

        Returns:
            The state after the round, and what happened in it: a `StepInfo`; a `RelaxedStepInfo` in a relaxed run.
            `state.t` is the number of rounds played, `state.pulls` the selections of each arm and `state.policy` the
            state of the policy. `info` has `arms`, `rewards`, `delays`, `chances`, `arrived.count` and `arrived.total`.

        Raises:
            InputError: the state is not one of this simulator's, or, where it is not traced, has played `horizon`
                rounds.
            FloatingPointError: an index, a chance or a share was not a number; only where nothing is traced.
            ReturnedError: a class of yours returned arms or delays that cannot be; only where nothing is traced.
        """
        if not isinstance(state, SimulatorState):
            words = "a state of this simulator; `init` returns a state, and `step` returns (state, info)"
            raise InputError("state", type(state).__name__, words)
        check_single(state.t, "run")
        if len(state.pulls) != self.problem.arms:
            raise InputError("state", f"a state with {len(state.pulls)} arms", f"one with {self.problem.arms} arms")
        if isinstance(state.run, ShareState) == (self._softness is None):
            raise InputError("state", state, f"a state that `init` returned with relaxed = {self.relaxed}")
        check_arrays(state, self._arrays)
        if is_traced((state, self._policy, self._world, self._softness)):
            return self._next(state)[:2]
        self._check_place(state)
        after, info, faults = self._compiled_next(state)
        if is_traced(after):  # a state that is a constant of a program
            return after, info
        if isinstance(after.run, ShareState):
            raise_if_not_shares(after.run, self._policy, int(after.t))
        else:
            raise_faults(faults, self._policy, self._world, int(after.t))
        return after, info

    @functools.cached_property
    def _arrays(self) -> dict[str, str]:
        """The arrays of a state, as `check_arrays` takes them."""
        return arrays_in_words(jax.eval_shape(self.init, 0))

    @functools.cached_property
    def _compiled_next(self) -> Callable[[SimulatorState], tuple[SimulatorState, Any, Array]]:
        return jax.jit(self._next)

    def _next(self, state: SimulatorState) -> tuple[SimulatorState, Any, Array]:
        """The state after the next round, what happened in it, and `rollout.faults`."""
        t = state.t + 1
        policy, world = columns_of((self._policy, self._world), state.instance)
        quota_before = quota_now = None
        if self._quotas is not None:
            quotas = self._quotas.at(state.t), self._quotas.at(t)
            quota_before, quota_now = columns_of(quotas, state.instance)
        horizon = jnp.asarray(self.horizon, jnp.int32)
        round_inputs = t, horizon, quota_before, quota_now, key_columns(state.key)
        run: rollout.State | ShareState
        info: StepInfo | RelaxedStepInfo
        if isinstance(state.run, ShareState) and self._softness is not None:
            run, shared = relaxed_round.play(policy, world, state.run, *round_inputs, self._softness)
            info, faults = RelaxedStepInfo(shared.shares, shared.rewards), jnp.zeros(len(rollout.FAULTS), jnp.int32)
        else:
            assert not isinstance(state.run, ShareState)
            run, events = rollout.play(policy, world.in_round(t), state.run, *round_inputs, True)
            info, faults = _info(world, events), rollout.faults(run, world, t)
        return SimulatorState(t, state.instance, state.key, run), jax.tree.map(lambda leaf: leaf[:, 0], info), faults

    def rollout(self, key: Any, seeds: int) -> SimulatorState:
        """The states of all runs after `horizon` rounds, played by the compiled rounds that `jb.simulate` uses.

        A relaxed simulator plays the rounds of `step`, compiled. The derivatives of its `rollout` take the memory of
        about 2 sqrt(T) states per run.

        Args:
            key: as for `init`.
            seeds: the number of runs per instance.

        Returns:
            A state whose arrays have the leading axes `[J, seeds]`: `pulls` is `[J, seeds, K]`.

        Raises:
            InputError: `seeds` is not a whole number >= 1.
            FloatingPointError, ReturnedError: as for `jb.simulate`; not within a transformation of JAX.
        """
        if not is_whole_number(to_python(seeds)):
            raise InputError("seeds", seeds, "a whole number >= 1")
        shape = self.problem.arms, self.problem.instances, int(to_python(seeds))
        prepared = self._policy, self._world, self._quotas, self.horizon, key, shape
        words, runs = (
            final_states(*prepared) if self._softness is None else final_relaxed_states(*prepared, self._softness)
        )
        which, t = np.broadcast_arrays(
            np.arange(shape[1], dtype=np.int32)[:, None], np.full(shape[1:], self.horizon, np.int32)
        )
        return SimulatorState(jnp.asarray(t), jnp.asarray(which), words, runs)

    def replace(self, **values: Any) -> Self:
        """A simulator with other numbers. They may be traced, so that many numbers share one compilation.

        Args:
            **values: `means`, `penalties` or `availability` of the problem, or parameters of the policy that are
                numbers; each a number, K numbers, or J rows of K numbers. Penalty rates of the problem reach the
                policy. Or `relaxed`: another table, or None. Values that are traced are not checked.

        Raises:
            InputError: a name that does not exist, or that cannot be replaced because shapes or code depend on it
                (make another `Simulator` for these); or a value out of range.

        Example:
            >>> simulator = jb.Simulator(jb.Problem([0.9, 0.5], fractions=0.2, penalties=0.1), "hard-threshold-ucb", 50)
            >>> pulls = jax.vmap(lambda rate: simulator.replace(penalties=rate).rollout(key=0, seeds=4).pulls)
            >>> pulls(jnp.array([0.0, 0.5, 2.0])).shape
            (3, 1, 4, 2)
        """
        relaxed = values.pop("relaxed", self.relaxed)
        check_names(self._policy, self.problem, values)
        if is_traced((values, relaxed, self._policy, self._world)):
            made = copy.copy(self)
            made._policy, made._world = with_numbers(self._policy, self._world, self.problem, values)
            made._relax(relaxed)
            return made
        own = {name: value for name, value in values.items() if getattr(self.problem, name, None) is not None}
        if "means" in own:
            own["means"] = rows_of_means(own["means"], self.problem)
        problem = self.problem.replace(**own) if own else self.problem
        return type(self)(problem, with_parameters(self.policy, values), self.horizon, relaxed, self.ties)

    def _check_place(self, state: SimulatorState) -> None:
        """Refuse a state that has played all rounds, or that is of an instance which the problem does not have."""
        if int(state.t) >= self.horizon:
            words = f"one of fewer than horizon = {self.horizon} rounds"
            raise InputError("state", f"a state of {state.t} rounds", words)
        if int(state.instance) >= self.problem.instances:
            words = f"one of an instance from 0 to {self.problem.instances - 1}"
            raise InputError("state", f"a state of instance {state.instance}", words)

    def _check_index(self, name: str, index: Any, count: int) -> None:
        if is_traced(index):
            if index.ndim or not jnp.issubdtype(index.dtype, jnp.integer):
                words = "one whole number; map over several with `jax.vmap`"
                raise InputError(name, f"a traced array of {index.dtype}, shape {index.shape}", words)
            return
        held = np.asarray(index)
        if held.ndim or held.dtype.kind not in "iu" or not 0 <= held < count:
            raise InputError(name, index, f"a whole number from 0 to {count - 1}")


def _info(world: World, events: rollout.RoundEvents) -> StepInfo:
    """The events of one run, arrays `[n, 1]`."""
    arms, rewards, delays = selections(events.sent, events.selected, world.plays)
    count, total, exact = events.arrived.count, events.arrived.total, events.arrived.rewards
    if world.centre is not None:
        total = total + world.centre * count.astype(total.dtype) if exact is None else exact
    return StepInfo(arms, rewards, delays, events.chances, Arrived(count, total))  # type: ignore[arg-type]
