"""`policy`, which makes a policy from its name, its class or a table."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from jaxbandit.core.errors import InputError, unknown_key, unknown_name
from jaxbandit.policies.base import Alias, ChancePolicy, Index, Policy, Rule


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
    fits, default = is_policy if cls.base_is_any_policy else _SLOTS[slot], fields[slot].default
    base = given.get(slot, default)
    if isinstance(base, Mapping):  # its parameters in a table of its own
        base = _build(base, {}, f"{key}.{slot}")
    named = Policy.registry.get(base) if isinstance(base, str) else base
    inner_cls: Any = type(base) if isinstance(base, Policy) else named
    if cls.base_is_any_policy and isinstance(named, Alias):
        inner_cls = named.policy
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
    if issubclass(cls, ChancePolicy) and cls.choose is ChancePolicy.choose and cls.chances is ChancePolicy.chances:
        raise InputError(f"{key}.kind", kind, "a class with a method `chances` or `choose`, or an object of one")
    if not issubclass(cls, Index):
        return
    if cls.select is Index.select and cls.score is Index.score and cls.value is Index.value:
        raise InputError(f"{key}.kind", kind, "a class with a method `value` or `select`, or an object of one")


def _has_index(candidate: object) -> bool:
    """Whether it is a class that scores arms; a rule with a `select` of its own has no index for another rule."""
    return inspect.isclass(candidate) and issubclass(candidate, Index) and candidate.select is Index.select


def is_policy(candidate: object) -> bool:
    """Whether it is the class of a policy."""
    return inspect.isclass(candidate) and issubclass(candidate, Policy)


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


def kind_of(policy: Policy) -> str:
    """The coordinate `kind` of results: a policy's name, then, unless it is "ucb1", the name of its index."""
    names = [part.name for part in policy.nested_policies()]
    return "/".join(names[:1] + [name for name in names[1:] if name != "ucb1"])
