"""The classes that policies are made of.

A `Policy` is a pure state transition:

    init(world, shape) -> state;  select(state, now) -> mask;  update(state, after, selected) -> state

An `Index` is a policy that plays the arms of highest index. A `Rule` is a fairness rule over an index. Every rule works
with every index, and every policy with every delay model.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import jax.numpy as jnp
from jax import Array

from jaxbandit.core.component import Component, parameter
from jaxbandit.core.errors import InputError
from jaxbandit.core.users_code import contracts
from jaxbandit.core.users_code.failures import told_of
from jaxbandit.environment.problem import Problem
from jaxbandit.environment.world import World
from jaxbandit.policies import requirements
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.arm_indices import arm_index
from jaxbandit.policies.selection.sampling import available_chances, sample_arm
from jaxbandit.policies.selection.top_arm import one_hot
from jaxbandit.policies.selection.top_arms import top_available, top_available_number

PolicyState: TypeAlias = Any  # a pytree of arrays; each policy has a type of its own


class Policy(Component):
    """A bandit policy: selects L arms in each round, from the feedback that has arrived.

    A subclass implements `select` or `choose`, and `init` and `update` if it has a state of its own. Its annotated
    class attributes are its parameters, `parameter` gives them ranges and documentation, and
    `class Mine(jb.Policy, name="mine")` registers a name for `jb.policy` and configs. All methods are pure and
    traceable by JAX, and work on all runs at once: `RoundView` describes the shapes. Random numbers come from
    `now.random`, a `jb.Stream`. `jb.check_policy` checks whether a class keeps these rules.

    Class attributes that a subclass may set:
        needs: the keys of `[problem]` that must be given, such as `("fractions",)`; a problem without them is refused
            before anything runs. Default: none.
        binary_feedback: a reward r in [0, 1] reaches the policy as 1 with probability r, else as 0 (Agrawal & Goyal
            2012). Default False.
        needs_squares: the policy reads `now.variance`. Default False.
        needs_losses: the policy reads `after.arrived.losses` in `update`. Default False.
        many_plays: the policy can select more than one arm per round. Default True.
        own_order: equal arms are played in an order of the policy's own, also with `ties="random"`. Default False.
        needs_all_arms: the policy refuses problems with sleeping arms. Default False.
        equal_at_first: at first the indices of many arms are equal, so that ties decide much. Default False.
        real_counts: the policy works with counts that are not integers, as relaxed runs have them. Default False.
        phases: the names of the policy's phases; results have the rounds spent in each, `phase_rounds`. Default: none.
        source: the paper and the equation or algorithm that define the policy.

    Example:
        >>> class LeastPlayed(jb.Policy):
        ...     def select(self, state, now):
        ...         return now.best(-now.pulls)
        >>> jb.policy(LeastPlayed)
        LeastPlayed()
    """

    family: ClassVar[str] = "policy"
    registry: ClassVar[dict[str, Any]] = {}  # of `Policy` classes and `Alias`es, by name
    source: ClassVar[str] = ""
    needs: ClassVar[tuple[str, ...]] = ()
    binary_feedback: ClassVar[bool] = False
    needs_squares: ClassVar[bool] = False
    needs_losses: ClassVar[bool] = False
    many_plays: ClassVar[bool] = True
    own_order: ClassVar[bool] = False
    needs_all_arms: ClassVar[bool] = False
    equal_at_first: ClassVar[bool] = False
    real_counts: ClassVar[bool] = False
    phases: ClassVar[tuple[str, ...]] = ()
    needs_arrived: ClassVar[bool] = False  # `update` reads `after.arrived`, which that of a user always gets
    base_is_any_policy: ClassVar[bool] = False  # the parameter `base` is any policy, not an index
    long_commitments: ClassVar[bool] = False  # `committed_rounds` are many in most rounds, with any number of arms

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        """The policy for a problem and a horizon: parameters checked and spread over arms, constants computed.

        Returns:
            A policy whose parameters are scalars or arrays `[K or 1, J or 1]`, for K arms and J instances.

        Raises:
            InputError: a parameter of the wrong shape, or a problem without what the policy needs.
        """
        requirements.check_needs(self.needs, problem, self.name)
        if problem.sleeping and self.needs_all_arms:
            words = f"left out: {self.name} needs all arms in every round"
            raise InputError("problem.availability", problem.as_table()["availability"], words)
        if problem.plays > 1 and not self.many_plays:
            raise InputError("problem.plays", problem.plays, f"1 with {self.name}, which selects one arm per round")
        spread: dict[str, object] = {}
        for name, value in self.numbers().items():
            if isinstance(value, Policy):
                spread[name] = value.prepare(problem, horizon)
            else:
                spread[name] = requirements.number_per_arm(value, problem, name)
        return self.with_numbers(spread, "policies")

    def init(self, world: World, shape: tuple[int, ...]) -> PolicyState:
        """The state before round 1, a pytree of arrays whose shapes broadcast to `shape`; empty by default.

        Args:
            world: the problem as arrays on the device, a `World`.
            shape: (K, *runs).
        """
        return ()

    def select(self, state: PolicyState, now: RoundView) -> Array:
        """The arms to play in round `now.t`: L available arms, or all available arms if they are fewer than L.

        Args:
            state: the state that `init` or the last `update` returned.
            now: the view at the start of the round.

        Returns:
            A mask, bool `[K, *runs]`; or the numbers of the arms (0 to K-1), int `[L, *runs]`, or `[*runs]` if L = 1.
            `now.best(score)` returns the mask of the L available arms of highest score, ties broken as in `simulate`.
        """
        if type(self).choose is Policy.choose:  # which calls `select`
            raise TypeError(f"{type(self).__name__} has no select")
        return checked_choose(self, state, now)[0]

    def choose(self, state: PolicyState, now: RoundView) -> tuple[Array, Array]:
        """The arms to play, and the probability p_k(t) with which each arm was selected (merit paper, sec. 3).

        By default, the arms of `select`, with probability 1 for them and 0 for the others. A policy that draws arms at
        random should override it; otherwise the merit metrics take 0 and 1 as its probabilities.

        Returns:
            The arms as `select` returns them, and the probabilities, float `[K, *runs]`.
        """
        if type(self).select is Policy.select:  # which calls `choose`
            raise TypeError(f"{type(self).__name__} has no select")
        selected = checked_select(self, state, now)
        return selected, selected.astype(now.deviation.dtype)

    def update(self, state: PolicyState, after: RoundView, selected: Array) -> PolicyState:
        """The state after a round; by default, the same state.

        Args:
            state: the state before the round.
            after: the view at the end of the round, with its counts and the feedback that arrived in it;
                `after.arrived` has the rewards that arrived in this round alone.
            selected: the arms that were played, bool `[K, *runs]`.

        Returns:
            A state of the same structure, shapes and dtypes.
        """
        return state

    def committed_rounds(self, state: PolicyState, now: RoundView, arm: Array) -> Array:
        """In how many rounds, from this one on, each run plays `arm` whatever the rewards are, int32 `[1, *runs]`.

        `arm` is what `select` returns now. The number may be too small. One call of `update` after these rounds gives
        the state that one call per round would. Asked of this package's policies, for one play and no sleeping arms.
        """
        raise TypeError(f"{type(self).__name__} has no committed_rounds")

    def is_sweeping(self, state: PolicyState, now: RoundView, arm: Array) -> Array | None:
        """Whether each run plays `arm`, `arm` + 1, ..., K - 1 next, once each; None if the policy never does."""
        return None

    def following_sweeps(self, state: PolicyState, after: RoundView) -> Array:
        """How many sweeps of all arms are certain to follow, int32; `state` is that before the sweeps so far."""
        return jnp.zeros((), jnp.int32)

    def phase_rounds(self, state: PolicyState, rounds: Array) -> Array:
        """The rounds spent in each of `phases` in the first `rounds` rounds, int32 `[phases, *runs]`."""
        raise TypeError(f"{type(self).__name__} has no phases")

    def _select_one(self, state: PolicyState, now: RoundView) -> Array:
        """The arm that `select` returns where L = 1, int32 `[1, *runs]`; K where no arm is available."""
        return arm_index(checked_select(self, state, now) & now.available)

    @property
    def wants_binary_feedback(self) -> bool:
        """Whether rewards reach the policy as 0 or 1: the policy, or one that it wraps, asks for it."""
        return any(part.binary_feedback for part in self.nested_policies())

    @property
    def wants_squares(self) -> bool:
        """Whether the engine sums squares for the policy: the policy, or one that it wraps, asks for it."""
        return any(part.needs_squares for part in self.nested_policies())

    @property
    def wants_losses(self) -> bool:
        """Whether the engine sums importance-weighted losses: the policy, or one that it wraps, asks for it."""
        return any(part.needs_losses for part in self.nested_policies())

    @property
    def wants_arrived(self) -> bool:
        """Whether `update` gets `after.arrived`: it reads it or is a user's, here or in a wrapped policy."""
        return any(part.needs_arrived or contracts.has_users_method(part, "update") for part in self.nested_policies())

    @property
    def selection_is_users(self) -> bool:
        """Whether `select` or `choose` is a user's, so that the engine has to count the arms that they return."""
        return contracts.has_users_method(self, "select", "choose")

    def nested_policies(self) -> Iterator[Policy]:
        """The policy and those that it wraps."""
        yield self
        for value in vars(self).values():
            if isinstance(value, Policy):
                yield from value.nested_policies()


class ChancePolicy(Policy):
    """A policy that draws one arm per round, with chances that it states. A subclass implements `chances`.

    The draw is restricted to the available arms, whose chances are rescaled; they are equally likely where all have
    chance 0.

    Example:
        >>> class Softmax(jb.policies.ChancePolicy):
        ...     beta: float = jb.parameter(5.0, low=0, doc="how much better arms are preferred")
        ...
        ...     def chances(self, state, now):
        ...         return jax.nn.softmax(self.beta * now.mean, axis=0)
        >>> jb.policy(Softmax, beta=2.0)
        Softmax(beta=2.0)
    """

    many_plays: ClassVar[bool] = False

    def chances(self, state: PolicyState, now: RoundView) -> Array:
        """The chances of the arms, >= 0, in proportion; float `[K, *runs]`."""
        raise TypeError(f"{type(self).__name__} has no chances")

    def select(self, state: PolicyState, now: RoundView) -> Array:
        return self.choose(state, now)[0]

    def choose(self, state: PolicyState, now: RoundView) -> tuple[Array, Array]:
        stated = self.chances(state, now)
        own = contracts.broadcast_floats(self, "chances", stated, now.pulls.shape, "a chance per arm")
        chances = available_chances(own, now.available)
        selected = sample_arm(chances, now.random.uniform(), now.available)
        if contracts.has_users_method(self, "chances"):  # the engine notices that no arm is selected
            can_be = jnp.all((own >= 0) & (own < jnp.inf), axis=0, keepdims=True)
            selected, chances = selected & can_be, jnp.where(can_be, chances, jnp.nan)
        return selected, chances


class Index(Policy):
    """A policy that plays the L available arms of highest index. A subclass implements `value`.

    Class attributes that a subclass may set, beside those of `Policy`:
        initial_pass: an arm that was never selected has index +infinity, so that each arm is played once first.
            Default True.
        costly: the index takes longer to compute than the rest of a round, as random draws do. With one play per
            round, on CPU, `fair-learn` skips it in rounds in which every run owes a guaranteed play. Default False.

    Example:
        >>> class Optimist(jb.Index):
        ...     bonus: float = jb.parameter(1.0, low=0, doc="weight of the bonus")
        ...
        ...     def value(self, state, now):
        ...         return now.mean + self.bonus / now.samples
        >>> jb.policy(Optimist, bonus=0.5)
        Optimist(bonus=0.5)
    """

    initial_pass: ClassVar[bool] = True
    costly: ClassVar[bool] = False

    def value(self, state: PolicyState, now: RoundView) -> Array:
        """The index of each arm, float, broadcasting to `[K, *runs]`.

        With `initial_pass`, the values of arms that were never selected are not used.
        """
        raise TypeError(f"{type(self).__name__} has no value")

    def score(self, state: PolicyState, now: RoundView) -> Array:
        """The index, +infinity for arms never selected if `initial_pass` is set; float `[K, *runs]`."""
        with requirements.called(self, "value", state, now):
            value = self.value(state, now)
        value = contracts.floats(self, "value", value, now.pulls.shape, "an index per arm")
        if self.initial_pass:
            return jnp.where(now.pulls == 0, jnp.inf, value)
        return jnp.broadcast_to(value, now.pulls.shape)

    def tie_breaker(self, state: PolicyState, now: RoundView) -> Array | None:
        """The `tie_breaker` of the view, or another one for arms that are played in turn."""
        return now.tie_breaker

    def select(self, state: PolicyState, now: RoundView) -> Array:
        if now.plays == 1:
            return one_hot(self._select_one(state, now), now.available)
        return top_available(lambda: (self.score(state, now),), now, self.tie_breaker(state, now))

    def _select_one(self, state: PolicyState, now: RoundView) -> Array:
        return top_available_number(lambda: (self.score(state, now),), now, self.tie_breaker(state, now))


class Rule(Index):
    """A fairness rule over an index; the index is the parameter `base`.

    A subclass declares `base`. It implements `value` to change the values of the index, or `select` to change how arms
    are selected; `self.index(state, now)` returns the index of the base. The state of a rule is that of its base,
    unless it overrides `init` and `update`. `jb.policy` takes the parameters of the base beside those of the rule, as
    in `jb.policy("fair-learn", alpha=2.0, base="ucb1", exploration=1.5)`.

    Example:
        >>> class Halved(jb.Rule):
        ...     base: jb.Index = jb.parameter(jb.indices.UCB1(), doc="the index to halve")
        ...
        ...     def value(self, state, now):
        ...         return 0.5 * self.index(state, now)
        >>> jb.policy(Halved, base="moss")
        Halved(base=MOSS())
    """

    if TYPE_CHECKING:
        base: Index = parameter()

    def index(self, state: PolicyState, now: RoundView) -> Array:
        """The index of the base, float `[K, *runs]`."""
        return self.base.score(state, now.for_wrapped_policy())

    def _own_index(self, state: PolicyState, now: RoundView) -> Array:
        """The index that `select` uses: that of the base, or what a user's `value` or `score` makes of it."""
        return self.score(state, now) if contracts.has_users_method(self, "value", "score") else self.index(state, now)

    def init(self, world: World, shape: tuple[int, ...]) -> PolicyState:
        return checked_init(self.base, world, shape)

    def update(self, state: PolicyState, after: RoundView, selected: Array) -> PolicyState:
        return checked_update(self.base, state, after.for_wrapped_policy(), selected)


def checked_choose(policy: Policy, state: PolicyState, now: RoundView) -> tuple[Array, Array]:
    """`policy.choose`, checked: the selected arms, bool `[K, *runs]`, and the probabilities of all arms, float."""
    if contracts.latest_of(type(policy), "select", "choose") == {"select"}:  # `choose` may be of a replaced `select`
        selected = checked_select(policy, state, now)
        return selected, selected.astype(now.deviation.dtype)
    with requirements.called(policy, "choose", state, now):
        returned = policy.choose(state, now)
    selected, given = contracts.pair(policy, "choose", returned, "the selected arms and the chances of all")
    chances = contracts.broadcast_floats(policy, "choose", given, now.pulls.shape, "a chance per arm as second result")
    mask = contracts.selection_mask(policy, "choose", selected, now)
    if not contracts.has_users_method(policy, "choose"):
        return mask, chances
    can_be = jnp.all((chances >= 0) & (chances <= 1.001), axis=0, keepdims=True)  # they may be rounded
    return mask & can_be, jnp.where(can_be, chances, jnp.nan)  # the engine notices that no arm is selected


def checked_select(policy: Policy, state: PolicyState, now: RoundView) -> Array:
    """`policy.select`, its result checked: the selected arms, bool `[K, *runs]`."""
    if contracts.latest_of(type(policy), "select", "choose") == {"choose"}:
        return checked_choose(policy, state, now)[0]
    with requirements.called(policy, "select", state, now):
        selected = policy.select(state, now)
    return contracts.selection_mask(policy, "select", selected, now)


def checked_select_one(policy: Policy, state: PolicyState, now: RoundView) -> Array:
    """The arm of `checked_select` where L = 1, int32 `[1, *runs]`; K where no arm is available."""
    latest = contracts.latest_of(type(policy), "select", "choose", "_select_one")
    if "_select_one" not in latest or contracts.has_users_method(policy, "_select_one"):  # a subclass replaced another
        return Policy._select_one(policy, state, now)
    with requirements.called(policy, "select", state, now):
        return policy._select_one(state, now)


def checked_init(policy: Policy, world: World, shape: tuple[int, ...]) -> PolicyState:
    """`policy.init`, its result checked."""
    with told_of(policy, "init"):
        state = policy.init(world, shape)
    return contracts.array_tree(policy, "init", state)


def checked_update(policy: Policy, state: PolicyState, after: RoundView, selected: Array) -> PolicyState:
    """`policy.update`, its result checked."""
    with requirements.called(policy, "update", state, after):
        updated = policy.update(state, after, selected)
    return contracts.same_structure(policy, "update", updated, state)


class Alias:
    """A registered name for a policy with some of its parameters fixed.

    Args:
        name: the name.
        policy: the class of the policy.
        summary: what the name stands for, in a line.
        source: as that of a `Policy`, of the policy under this name.
        **preset: the parameters that the name fixes.
    """

    def __init__(self, name: str, policy: type[Policy], summary: str, source: str, **preset: object):
        self.name, self.policy, self.summary, self.source, self.preset = name, policy, summary, source, preset
        Policy.registry[name] = self
