"""Tables of policies: the lists that make their grids, and the labels of what they make."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from jaxbandit.engine.settings import short
from jaxbandit.experiments.configs.grid import Point, Table
from jaxbandit.policies.base import Policy

_LONGEST_DIFFERENCE = 60  # characters of a label's part that says what differs


def lists(given: Mapping[str, object]) -> dict[str, list[Any]]:
    """The lists of a policy's table, of which each makes an axis of its grid, by dotted key (`base.exploration`)."""
    found: dict[str, list[Any]] = {}
    for name, value in given.items():
        if isinstance(value, list):
            found[name] = value
        elif is_policy_table(value):
            found |= {f"{name}.{inner}": held for inner, held in lists(value).items()}
    return found


def with_values(given: Mapping[str, object], chosen: Mapping[str, object]) -> Table:
    """A copy of a policy's table with the value of each dotted key in `chosen`."""
    made = dict(given)
    for name, value in chosen.items():
        own, dot, inner = name.partition(".")
        held = made[own]
        made[own] = with_values(held, {inner: value}) if dot and isinstance(held, Mapping) else value
    return made


def leaves(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The keys and values of a policy's table, with dotted keys for the tables of policies in it."""
    for name, value in given.items():
        if is_policy_table(value):
            yield from ((f"{name}.{inner}", held) for inner, held in leaves(value))
        else:
            yield name, value


def is_policy_table(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a value in a policy's table is the table of a policy, such as a base with its parameters."""
    return isinstance(value, Mapping) and "kind" in value


def default_label(kind: str, given: Mapping[str, object]) -> str:
    """The kind of a policy, with those of its parts."""
    parts = [given.get(name) for name in ("base", "black_box")]
    kinds = [part["kind"] if isinstance(part, Mapping) and "kind" in part else part for part in parts]
    return "/".join([kind, *(part for part in kinds if isinstance(part, str))])


def label_at(family: str, point: Mapping[str, object]) -> str:
    """The label of a configuration at a point of a grid, which is empty outside grids."""
    return f"{family} ({point_text(point)})" if point else family


def point_text(point: Mapping[str, object]) -> str:
    """A point of a grid as labels show it: config keys and values, `policies.` left out."""
    return ", ".join(f"{key.removeprefix('policies.')}={short(value)}" for key, value in point.items())


def labels_of_policy(given: Mapping[str, Any], points: Sequence[Point]) -> list[str]:
    """The labels of the configurations of a policy's table, which is valid, at the points of a grid over the problem.

    No policy is made, so that its class need not be known.
    """
    label = given.get("label") or default_label(str(given.get("kind")), given)
    varied = {name: values for name, values in lists(given).items() if len(values) > 1}
    own = [
        {f"policies.{name}": value for name, value in zip(varied, chosen, strict=True)}
        for chosen in itertools.product(*varied.values())
    ]
    return [label_at(label, {**point, **at}) for point in own for at in points]


def tables_of_policy(given: Mapping[str, Any]) -> Iterator[Table]:
    """The tables of the policies that a table with lists makes, in the order of `labels_of_policy`; without a label."""
    axes, rest = lists(given), {name: value for name, value in given.items() if name != "label"}
    for chosen in itertools.product(*axes.values()):
        yield with_values(rest, dict(zip(axes, chosen, strict=True)))


def labels_by_difference(name: str, policies: Sequence[Policy]) -> list[str]:
    """A label for each of several policies of one name that shows the parameters in which they differ.

    Returns:
        Labels such as `fair-learn (base=thompson)`; equal policies have equal labels. Parameters of a base are shown
        where those of the policies do not tell them apart. No labels where no parameter differs, or one is long.
    """
    tables = [dict(leaves(policy.as_table())) for policy in policies]
    differing = [key for key in dict.fromkeys(itertools.chain(*tables)) if len({_text(one, key) for one in tables}) > 1]
    own = [key for key in differing if "." not in key.removesuffix(".kind")]
    inner = [key for key in differing if key not in own]
    for shown in (own, own + inner):
        texts = [", ".join(_text(table, key) for key in shown if key in table) for table in tables]
        told_apart = len(set(texts)) == len({tuple(_text(table, key) for key in differing) for table in tables})
        if differing and told_apart and max(map(len, texts)) <= _LONGEST_DIFFERENCE:
            return [f"{name} ({text})" if text else name for text in texts]
    return []


def _text(table: Mapping[str, object], key: str) -> str:
    """A parameter as labels show it, `base=ucb1` or `exploration=2`; empty where a policy does not have it."""
    *outer, last = key.removesuffix(".kind").split(".")
    shown = last if last not in table else ".".join([*outer, last])
    return f"{shown}={short(table[key])}" if key in table else ""
