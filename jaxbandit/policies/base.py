"""What a policy is: a pure state transition. An index says what an arm looks worth; a rule bends an index.

    init(world, shape) -> state;  select(state, now) -> mask;  update(state, after, selected) -> state

Any index x any rule x any delay x any reward runs. One's own needs a class with one method:

    class Optimist(jb.Index, name="optimist"):
        bonus: float = 1.0

        def value(self, state, now):
            return now.mean + self.bonus / now.samples
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import jax.numpy as jnp
from jax import Array

from jaxbandit.core import contracts
from jaxbandit.core.component import Component, is_user_defined
from jaxbandit.core.errors import InputError, unknown_key, unknown_name
from jaxbandit.core.input_values import per_arm
from jaxbandit.environment.problem import Problem
from jaxbandit.environment.world import World
from jaxbandit.policies.round_view import RoundView
from jaxbandit.policies.selection.top_arms import top_available

if TYPE_CHECKING:
    from collections.abc import Iterator


class Policy(Component):
    """A policy. Its fields are its parameters; numbers, or one an arm."""

    family: ClassVar[str] = "policy"
    registry: ClassVar[dict[str, Any]] = {}
    source: ClassVar[str] = ""  # where it is defined: paper and equation
    binary_feedback: ClassVar[bool] = False  # wants rewards of 0 and 1; others in [0, 1] are binarised
    needs_squares: ClassVar[bool] = False  # wants `now.variance`
    many_plays: ClassVar[bool] = True  # can select L > 1 arms
    real_counts: ClassVar[bool] = False  # takes counts and shares of plays that are no whole numbers, as in `tuning`
    phases: ClassVar[tuple[str, ...]] = ()  # their names, where it plays in phases whose rounds are a result

    def prepare(self, problem: Problem, horizon: int) -> Policy:
        """The policy for this problem: parameters checked and spread over arms, constants computed.

        Arrays are `[K or 1, J or 1]`, numbers scalars. Raises `InputError` where the problem lacks what it needs.
        """
        if problem.plays > 1 and not self.many_plays:
            raise InputError("problem.plays", problem.plays, f"1 with {self.name}, which plays one arm a round")
        spread: dict[str, Any] = {}
        for name in self.parameters():
            value = getattr(self, name)
            if isinstance(value, Policy):
                spread[name] = value.prepare(problem, horizon)
            elif value is not None:
                spread[name] = per_arm(value, problem.arms, problem.instances, f"policies.{name}")
        return self.replace(**spread)

    def init(self, world: World, shape: tuple[int, ...]) -> Any:
        """The state before round 1: a pytree of arrays that broadcast to `shape` = `[K, *runs]`."""
        return ()

    def select(self, state: Any, now: RoundView) -> Array:
        """The arms to play in round `now.t`: bool `[K, *runs]`, true for L available arms, or all where fewer are.

        Or the numbers of these arms, integers `[L, *runs]`; with one play `[*runs]`, too.
        """
        raise TypeError(f"{type(self).__name__} has no select")

    def choose(self, state: Any, now: RoundView) -> tuple[Array, Array]:
        """The arms to play, as `select`, and p_k(t), the chance each had: float `[K, *runs]` (002 sec. 3).

        Here 1 for those selected; a policy that selects at random by chances it knows overrides this.
        """
        selected = contracts.selection_mask(self, "select", self.select(state, now), now)
        return selected, selected.astype(now.deviation.dtype)

    def update(self, state: Any, after: RoundView, selected: Array) -> Any:
        """The state after the round, when `selected` was played; `after` shows the counts at the round's end."""
        return state

    def phase_rounds(self, state: Any, rounds: Array) -> Array:
        """Rounds spent in each of `phases` after some rounds in all, int32 `[phases, *runs]`."""
        raise TypeError(f"{type(self).__name__} has no phases")

    @property
    def binary(self) -> bool:
        """Whether rewards reach it binarised: it, or a policy it wraps, wants them so."""
        return any(part.binary_feedback for part in self.components())

    @property
    def squares(self) -> bool:
        """Whether sums of squares are kept for it."""
        return any(part.needs_squares for part in self.components())

    @property
    def users_selection(self) -> bool:
        """Whether its `select` or `choose` is not of this package, so that what they select has to be counted."""
        return any(map(is_user_defined, (type(self).select, type(self).choose)))

    def components(self) -> Iterator[Policy]:
        """The policy and those it wraps."""
        yield self
        for value in vars(self).values():
            if isinstance(value, Policy):
                yield from value.components()


class Index(Policy):
    """A policy that plays the arms of highest index."""

    initial_pass: ClassVar[bool] = True  # an arm never selected has index +infinity (SPEC sec. 1)

    def value(self, state: Any, now: RoundView) -> Array:
        """What each arm looks worth, float `[K, *runs]`; arms never selected need no care with `initial_pass`."""
        raise TypeError(f"{type(self).__name__} has no value")

    def score(self, state: Any, now: RoundView) -> Array:
        """The index with arms never selected put first."""
        value = contracts.floats(self, "value", self.value(state, now), now.pulls.shape, "an index per arm")
        if self.initial_pass:
            return jnp.where(now.pulls == 0, jnp.inf, value)
        return jnp.broadcast_to(value, now.pulls.shape)

    def select(self, state: Any, now: RoundView) -> Array:
        return top_available(lambda: (self.score(state, now),), now)


class Rule(Index):
    """A fairness rule over an index, its field `base`. Bend the index in `value`, or the choice in `select`."""

    def index(self, state: Any, now: RoundView) -> Array:
        """The base's index, float `[K, *runs]`."""
        return self.base.score(state, now.deeper())  # type: ignore[attr-defined]

    def init(self, world: World, shape: tuple[int, ...]) -> Any:
        return started(self.base, world, shape)  # type: ignore[attr-defined]

    def update(self, state: Any, after: RoundView, selected: Array) -> Any:
        return updated(self.base, state, after.deeper(), selected)  # type: ignore[attr-defined]


def chosen(policy: Policy, state: Any, now: RoundView) -> tuple[Array, Array]:
    """`policy.choose`, what it returns checked: the selected arms, bool `[K, *runs]`, and chances, float, alike."""
    selected, chances = contracts.pair(
        policy, "choose", policy.choose(state, now), "the selected arms and the chances of all"
    )
    what = "a chance per arm as its second result"
    chances = contracts.broadcast_floats(policy, "choose", chances, now.pulls.shape, what)
    return contracts.selection_mask(policy, "choose", selected, now), chances


def selected(policy: Policy, state: Any, now: RoundView) -> Array:
    """`policy.select`, what it returns checked: the selected arms, bool `[K, *runs]`."""
    return contracts.selection_mask(policy, "select", policy.select(state, now), now)


def started(policy: Policy, world: World, shape: tuple[int, ...]) -> Any:
    """`policy.init`, what it returns checked."""
    return contracts.array_tree(policy, "init", policy.init(world, shape))


def updated(policy: Policy, state: Any, after: RoundView, selected: Array) -> Any:
    """`policy.update`, what it returns checked."""
    return contracts.same_structure(policy, "update", policy.update(state, after, selected), state)


class Alias:
    """A registered name for a policy with some parameters set."""

    def __init__(self, name: str, policy: type[Policy], summary: str, **preset: Any):
        self.name, self.policy, self.summary, self.preset = name, policy, summary, preset
        Policy.registry[name] = self


def kind_of(policy: Policy) -> str:
    """A policy's name, with that of its base where it is not ucb1: the coordinate `kind` of results."""
    names = [part.name for part in policy.components()]
    return "/".join(names[:1] + [name for name in names[1:] if name != "ucb1"])


def policy(kind: str | Mapping[str, Any] | type[Policy] | Policy, **parameters: Any) -> Policy:
    """A policy by name, with its parameters and those of its base index side by side.

    Args:
        kind: a name that `jaxbandit policies` prints, a class of one's own, or a table `{"kind": ..., ...}`.
        **parameters: the policy's; `base` or `black_box` (a name, class or instance) where it takes an index, and the
            index's.

    Raises:
        InputError: an unknown name or parameter, or a value out of range.

    Example:
        >>> policy("fair-learn", base="thompson", alpha=2.0).base.name
        'thompson'
    """
    made = _build(kind, parameters, "policies")
    made.check("policies")
    return made


def _build(kind: Any, given: Mapping[str, Any], key: str) -> Policy:
    if isinstance(kind, Policy):
        if given:
            raise InputError(f"{key}.{next(iter(given))}", next(iter(given.values())), "nothing beside an instance")
        _check_able(type(kind), kind, key)
        return kind
    if isinstance(kind, Mapping):
        given = {**{name: value for name, value in kind.items() if name not in ("kind", "label")}, **given}
        kind = kind.get("kind")
    if isinstance(kind, str) and kind not in Policy.registry:
        raise unknown_name(f"{key}.kind", kind, Policy.registry)
    entry: Any = Policy.registry[kind] if isinstance(kind, str) else kind
    if isinstance(entry, Alias):
        for name in entry.preset:
            if name in given:
                raise InputError(f"{key}.{name}", given[name], f"nothing: {entry.name} sets it")
        entry, given = entry.policy, {**entry.preset, **given}
    if not (inspect.isclass(entry) and issubclass(entry, Policy)):
        raise InputError(f"{key}.kind", kind, "a policy's name, class or instance")
    _check_able(entry, kind, key)
    fields = entry.parameters()
    slot = next((name for name in _SLOTS if name in fields), None)
    if slot is None:
        return entry.from_parameters(_known(given, entry, fields, key), key)
    fits, default = _SLOTS[slot], fields[slot].default
    base = given.get(slot, default)
    if isinstance(base, Mapping):  # its parameters in a table of its own
        base = _build(base, {}, f"{key}.{slot}")
    named = Policy.registry.get(base) if isinstance(base, str) else base
    chosen: Any = type(base) if isinstance(base, Policy) else named
    if not fits(chosen):
        allowed = [name for name, known in Policy.registry.items() if fits(known)]
        raise unknown_name(f"{key}.{slot}", base, allowed)
    own = {n: v for n, v in given.items() if n in fields and n != slot}
    rest = {n: v for n, v in given.items() if n not in fields}
    _known(rest, entry, {**fields, **chosen.parameters()}, key)
    inner = base.replace(**rest) if isinstance(base, Policy) else _build(base, rest, key)
    return entry.from_parameters({slot: inner, **own}, key)


def _check_able(entry: type[Policy], kind: Any, key: str) -> None:
    """Refuse a class that does not say how arms are chosen, as `Policy`, `Index` and `Rule` themselves."""
    own: Any = entry
    if own.prepare is not Policy.prepare:  # which may make a policy of another class, as that of `thompson` does
        return
    if own.select is Policy.select and own.choose is Policy.choose:
        raise InputError(f"{key}.kind", kind, "a class that has `select` or `choose`, or one of its instances")
    if own.select is Index.select and own.score is Index.score and own.value is Index.value:
        raise InputError(f"{key}.kind", kind, "a class that has `value` or `select`, or one of its instances")


def _has_index(candidate: Any) -> bool:
    """Whether it scores arms; a rule that chooses them itself has nothing for another rule to bend."""
    return inspect.isclass(candidate) and issubclass(candidate, Index) and candidate.select is Index.select


def _is_index(candidate: Any) -> bool:
    """Whether it is an index that needs nothing of what is owed; a fresh clock is not that of the quotas."""
    return _has_index(candidate) and not issubclass(candidate, Rule)


# The fields that hold an index, whose parameters stand beside the policy's, and which policies fit there
_SLOTS = {"base": _has_index, "black_box": _is_index}


def _known(given: Mapping[str, Any], entry: type[Policy], fields: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    for name in given:
        if name not in fields:
            raise unknown_key(f"{key}.{name}", given[name], [*fields, "kind", "label"])
    return given
