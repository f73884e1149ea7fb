"""The classes that policies are made of, and `policy`, which makes a policy from its name.

A `Policy` is a pure state transition:

    init(world, shape) -> state;  select(state, now) -> mask;  update(state, after, selected) -> state

An `Index` is a policy that plays the arms of highest index. A `Rule` is a fairness rule over an index. Every rule works
with every index, and every policy with every delay model.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import jax.numpy as jnp
from jax import Array

from jaxbandit.core import contracts
from jaxbandit.core.component import Component, is_user_defined, parameter
from jaxbandit.core.errors import InputError, unknown_key, unknown_name
from jaxbandit.core.input_values import per_arm
from jaxbandit.environment.problem import Problem
from jaxbandit.environment.world import World
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.top_arms import top_available

if TYPE_CHECKING:
    from collections.abc import Iterator

PolicyState: TypeAlias = Any  # a pytree of arrays; each policy has a type of its own


class Policy(Component):
    """A bandit policy: selects L arms in each round, from the feedback that has arrived.

    A subclass implements `select` or `choose`, and `init` and `update` if it has a state of its own. Its annotated
    class attributes are its parameters, `parameter` gives them ranges and documentation, and
    `class Mine(jb.Policy, name="mine")` registers a name for `jb.policy` and configs. All methods are pure and
    traceable by JAX, and work on all runs at once: `RoundView` describes the shapes. Random numbers come from
    `now.random`, a `jb.Stream`. `jb.check_policy` checks whether a class keeps these rules.

    Class attributes that a subclass may set:
        binary_feedback: a reward r in [0, 1] reaches the policy as 1 with probability r, else as 0 (Agrawal & Goyal
            2012). Default False.
        needs_squares: the policy reads `now.variance`. Default False.
        many_plays: the policy can select more than one arm per round. Default True.
        equal_at_first: at first the indices of many arms are equal, so that ties decide much. Default False.
        real_counts: the policy works with counts that are not integers, as relaxed runs have them. Default False.
        phases: the names of the policy's phases, if results should have the number of rounds spent in each phase;
            `phase_rounds` returns these numbers. Default: none.
        source: the paper and the equation or algorithm that define the policy.

    Example:
        >>> class LeastPlayed(jb.Policy):
        ...     many_plays = False
        ...
        ...     def select(self, state, now):
        ...         return jnp.argmin(jnp.where(now.available, now.pulls, now.horizon + 1), axis=0)
        >>> jb.policy(LeastPlayed)
        LeastPlayed()
    """

    family: ClassVar[str] = "policy"
    registry: ClassVar[dict[str, Any]] = {}  # of `Policy` classes and `Alias`es, by name
    source: ClassVar[str] = ""
    binary_feedback: ClassVar[bool] = False
    needs_squares: ClassVar[bool] = False
    many_plays: ClassVar[bool] = True
    equal_at_first: ClassVar[bool] = False
    real_counts: ClassVar[bool] = False
    phases: ClassVar[tuple[str, ...]] = ()
    needs_arrived: ClassVar[bool] = False  # `update` reads `after.arrived`, which that of a user always gets

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        """The policy for a problem and a horizon: parameters checked and spread over arms, constants computed.

        Returns:
            A policy whose parameters are scalars or arrays `[K or 1, J or 1]`, for K arms and J instances.

        Raises:
            InputError: a parameter of the wrong shape, or a problem without what the policy needs.
        """
        if problem.plays > 1 and not self.many_plays:
            raise InputError("problem.plays", problem.plays, f"1 with {self.name}, which selects one arm per round")
        spread: dict[str, object] = {}
        for name, value in self.numbers().items():
            if isinstance(value, Policy):
                spread[name] = value.prepare(problem, horizon)
            else:
                spread[name] = per_arm(value, problem.arms, problem.instances, f"policies.{name}")
        return self.with_numbers(spread, "policies")

    def init(self, world: World, shape: tuple[int, ...]) -> PolicyState:
        """The state before round 1, a pytree of arrays; empty by default.

        Args:
            world: the problem as arrays on the device.
            shape: (K, *runs).

        Returns:
            The state. The shapes of its arrays broadcast to `shape`.
        """
        return ()

    def select(self, state: PolicyState, now: RoundView) -> Array:
        """The arms to play in round `now.t`: L available arms, or all available arms if they are fewer than L.

        Args:
            state: the state that `init` or the last `update` returned.
            now: the view at the start of the round.

        Returns:
            A mask, bool `[K, *runs]`; or the numbers of the arms (0 to K-1), int `[L, *runs]`, or `[*runs]` if L = 1.
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

    def phase_rounds(self, state: PolicyState, rounds: Array) -> Array:
        """The rounds spent in each of `phases` in the first `rounds` rounds, int32 `[phases, *runs]`."""
        raise TypeError(f"{type(self).__name__} has no phases")

    @property
    def wants_binary_feedback(self) -> bool:
        """Whether rewards reach the policy as 0 or 1: the policy, or one that it wraps, asks for it."""
        return any(part.binary_feedback for part in self.nested_policies())

    @property
    def wants_squares(self) -> bool:
        """Whether the engine sums squares for the policy: the policy, or one that it wraps, asks for it."""
        return any(part.needs_squares for part in self.nested_policies())

    @property
    def wants_arrived(self) -> bool:
        """Whether `update` gets `after.arrived`: it reads it or is a user's, here or in a wrapped policy."""
        return any(part.needs_arrived or is_user_defined(type(part).update) for part in self.nested_policies())

    @property
    def selection_is_users(self) -> bool:
        """Whether `select` or `choose` is a user's, so that the engine has to count the arms that they return."""
        return any(map(is_user_defined, (type(self).select, type(self).choose)))

    def nested_policies(self) -> Iterator[Policy]:
        """The policy and those that it wraps."""
        yield self
        for value in vars(self).values():
            if isinstance(value, Policy):
                yield from value.nested_policies()


class Index(Policy):
    """A policy that plays the L available arms of highest index. A subclass implements `value`.

    Class attributes that a subclass may set, beside those of `Policy`:
        initial_pass: an arm that was never selected has index +infinity, so that each arm is played once first.
            Default True.

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

    def value(self, state: PolicyState, now: RoundView) -> Array:
        """The index of each arm, float, broadcasting to `[K, *runs]`.

        With `initial_pass`, the values of arms that were never selected are not used.
        """
        raise TypeError(f"{type(self).__name__} has no value")

    def score(self, state: PolicyState, now: RoundView) -> Array:
        """The index, +infinity for arms never selected if `initial_pass` is set; float `[K, *runs]`."""
        value = contracts.floats(self, "value", self.value(state, now), now.pulls.shape, "an index per arm")
        if self.initial_pass:
            return jnp.where(now.pulls == 0, jnp.inf, value)
        return jnp.broadcast_to(value, now.pulls.shape)

    def tie_breaker(self, state: PolicyState, now: RoundView) -> Array | None:
        """The `tie_breaker` of the view, or another one for arms that are played in turn."""
        return now.tie_breaker

    def select(self, state: PolicyState, now: RoundView) -> Array:
        return top_available(lambda: (self.score(state, now),), now, self.tie_breaker(state, now))


class Rule(Index):
    """A fairness rule over an index; the index is the parameter `base`.

    A subclass declares `base`. It implements `value` to change the values of the index, or `select` to change how arms
    are selected; `self.index(state, now)` returns the index of the base. The state of a rule is the state of its base,
    unless the rule overrides `init` and `update`. `jb.policy` takes the parameters of the base beside those of the
    rule, as in `jb.policy("fair-learn", alpha=2.0, base="ucb1", exploration=1.5)`.

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

    def init(self, world: World, shape: tuple[int, ...]) -> PolicyState:
        return checked_init(self.base, world, shape)

    def update(self, state: PolicyState, after: RoundView, selected: Array) -> PolicyState:
        return checked_update(self.base, state, after.for_wrapped_policy(), selected)


def checked_choose(policy: Policy, state: PolicyState, now: RoundView) -> tuple[Array, Array]:
    """`policy.choose`, its result checked: the selected arms, bool `[K, *runs]`, and their probabilities, float."""
    returned = policy.choose(state, now)
    selected, chances = contracts.pair(policy, "choose", returned, "the selected arms and the chances of all")
    what = "a chance per arm as its second result"
    chances = contracts.broadcast_floats(policy, "choose", chances, now.pulls.shape, what)
    return contracts.selection_mask(policy, "choose", selected, now), chances


def checked_select(policy: Policy, state: PolicyState, now: RoundView) -> Array:
    """`policy.select`, its result checked: the selected arms, bool `[K, *runs]`."""
    return contracts.selection_mask(policy, "select", policy.select(state, now), now)


def checked_init(policy: Policy, world: World, shape: tuple[int, ...]) -> PolicyState:
    """`policy.init`, its result checked."""
    return contracts.array_tree(policy, "init", policy.init(world, shape))


def checked_update(policy: Policy, state: PolicyState, after: RoundView, selected: Array) -> PolicyState:
    """`policy.update`, its result checked."""
    return contracts.same_structure(policy, "update", policy.update(state, after, selected), state)


class Alias:
    """A registered name for a policy with some of its parameters fixed.

    Args:
        name: the name.
        policy: the class of the policy.
        summary: what the name stands for, in a line.
        **preset: the parameters that the name fixes.
    """

    def __init__(self, name: str, policy: type[Policy], summary: str, **preset: object):
        self.name, self.policy, self.summary, self.preset = name, policy, summary, preset
        Policy.registry[name] = self


def kind_of(policy: Policy) -> str:
    """The coordinate `kind` of results: a policy's name, then, unless it is "ucb1", the name of its index."""
    names = [part.name for part in policy.nested_policies()]
    return "/".join(names[:1] + [name for name in names[1:] if name != "ucb1"])


def policy(kind: str | Mapping[str, object] | type[Policy] | Policy, **parameters: object) -> Policy:
    """Make a policy.

    Args:
        kind: a name that `jaxbandit policies` prints, a `Policy` class, a table `{"kind": name, ...}` of a name and
            parameters, or a `Policy` object, which is returned as it is.
        **parameters: the parameters of the policy. A rule takes its index as `base`; `self-regulated` and
            `constant-opportunity` take it as `black_box`. Both accept a name, a class, an object or a table. The
            parameters of the index are given beside those of the policy.

    Returns:
        The policy, its parameters checked.

    Raises:
        InputError: an unknown name or parameter, or a value out of range.

    Example:
        >>> jb.policy("ucb1", exploration=1.5)
        UCB1(exploration=1.5, log_offset=0.0)
        >>> jb.policy("fair-learn", base="thompson", alpha=2.0).base
        Thompson(sd=None)
    """
    made = _build(kind, parameters, "policies")
    made.check("policies")
    return made


def _build(kind: object, given: Mapping[str, object], key: str) -> Policy:
    """The policy of a kind, with the parameters given; `key` is the key of the policy, for errors."""
    if isinstance(kind, Policy):
        if given:
            name, value = next(iter(given.items()))
            words = f"must not be given with a `Policy` object, which has its own; `replace({name}=...)` changes it"
            raise InputError(f"{key}.{name}", value, words)
        _check_that_it_selects(type(kind), kind, key)
        return kind
    if isinstance(kind, Mapping):
        given = {**{name: value for name, value in kind.items() if name not in ("kind", "label")}, **given}
        kind = kind.get("kind")
    if isinstance(kind, str) and kind not in Policy.registry:
        raise unknown_name(f"{key}.kind", kind, Policy.registry)
    cls: object = Policy.registry[kind] if isinstance(kind, str) else kind
    if isinstance(cls, Alias):
        for name in cls.preset:
            if name in given:
                words = f"must not be given: the name {cls.name!r} sets it to {cls.preset[name]!r}"
                raise InputError(f"{key}.{name}", given[name], words)
        given, cls = {**cls.preset, **given}, cls.policy
    if not (inspect.isclass(cls) and issubclass(cls, Policy)):
        raise InputError(f"{key}.kind", kind, "the name of a policy, a `Policy` class or a `Policy` object")
    _check_that_it_selects(cls, kind, key)
    fields = cls.parameters()
    slot = next((name for name in _SLOTS if name in fields), None)
    if slot is None:
        return cls.from_parameters(_known(given, fields, key), key)
    fits, default = _SLOTS[slot], fields[slot].default
    base = given.get(slot, default)
    if isinstance(base, Mapping):  # its parameters in a table of its own
        base = _build(base, {}, f"{key}.{slot}")
    named = Policy.registry.get(base) if isinstance(base, str) else base
    inner_cls: Any = type(base) if isinstance(base, Policy) else named
    if not fits(inner_cls):
        allowed = [name for name, known in Policy.registry.items() if fits(known)]
        raise unknown_name(f"{key}.{slot}", base, allowed)
    own = {name: value for name, value in given.items() if name in fields and name != slot}
    others = {name: value for name, value in given.items() if name not in fields}
    _known(others, {**fields, **inner_cls.parameters()}, key)
    inner = base.replace(**others) if isinstance(base, Policy) else _build(base, others, key)
    return cls.from_parameters({slot: inner, **own}, key)


def _check_that_it_selects(cls: type[Policy], kind: object, key: str) -> None:
    """Refuse a class that does not say how arms are chosen, as `Policy`, `Index` and `Rule` themselves."""
    if cls.prepare is not Policy.prepare:  # which may make a policy of another class, as that of `thompson` does
        return
    if cls.select is Policy.select and cls.choose is Policy.choose:
        raise InputError(f"{key}.kind", kind, "a class with a method `select` or `choose`, or an object of one")
    if not issubclass(cls, Index):
        return
    if cls.select is Index.select and cls.score is Index.score and cls.value is Index.value:
        raise InputError(f"{key}.kind", kind, "a class with a method `value` or `select`, or an object of one")


def _has_index(candidate: object) -> bool:
    """Whether it is a class that scores arms; a rule with a `select` of its own has no index for another rule."""
    return inspect.isclass(candidate) and issubclass(candidate, Index) and candidate.select is Index.select


def is_plain_index(candidate: object) -> bool:
    """Whether it is the class of an index but not of a rule; quotas count all rounds, a black box only its own."""
    return _has_index(candidate) and not issubclass(candidate, Rule)  # type: ignore[arg-type]


# The parameters that hold an index, whose parameters are given beside the policy's, and which classes fit there
_SLOTS = {"base": _has_index, "black_box": is_plain_index}


def _known(given: Mapping[str, object], fields: Mapping[str, object], key: str) -> Mapping[str, object]:
    for name in given:
        if name not in fields:
            raise unknown_key(f"{key}.{name}", given[name], [*fields, "kind", "label"])
    return given
