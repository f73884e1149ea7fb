"""The parameters of experiments in words, those that the paper does not state marked."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from jaxbandit.papers.experiment import Config
from jaxbandit.policies.base import Alias, Policy

MARK = "*"  # of an assumed value
_NAMES = {"horizon": "T", "seeds": "runs", "plays": "L"}
_SETTINGS = ("horizon", "seeds", "ties")  # of [simulation]; the others do not change what a curve shows
_SHOWN = 24  # values of one parameter; further ones are counted


def parameters_in_words(configs: Sequence[Config], assumed: Collection[str]) -> str:
    """All parameters of some experiments in a line.

    Args:
        configs: the configs of the experiments. A parameter that differs between them has all its values.
        assumed: the dotted keys whose values the paper does not state, such as "simulation.horizon" or
            "policies.lfg.eta"; a policy goes by its label, or its kind where it has none. "policies.*.eta" is the
            parameter of all policies. Their values are marked.
    """
    values: dict[str, list[str]] = {}
    for config in configs:
        for key, text in _parameters(config):
            held = values.setdefault(key, [])
            if text not in held:
                held.append(text)
    parts: dict[str, list[str]] = {}
    marked = False
    for key, texts in values.items():
        table, _, name = key.rpartition(".")
        mark = MARK if _is_assumed(key, assumed) else ""
        marked = marked or bool(mark)
        parts.setdefault(table, []).append(_assignment(name, texts, mark))
    sentences = [
        ": ".join(filter(None, [table.removeprefix("policies."), ", ".join(part)]))
        if table.startswith("policies.")
        else "; ".join(part)
        for table, part in parts.items()
    ]
    note = f" ({MARK} assumed: the paper does not state it)" if marked else ""
    return "; ".join(filter(None, sentences)) + note


def _assignment(name: str, texts: Sequence[str], mark: str) -> str:
    """`name = value`, or just the name of a policy without parameters."""
    if not name or texts == [""]:
        return name + mark
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return f"{_NAMES.get(name, name)} = {' | '.join(texts[:_SHOWN])}{more}{mark}"


def _is_assumed(key: str, assumed: Collection[str]) -> bool:
    table, _, name = key.rpartition(".")
    of_all = f"policies.*.{name}" if table.startswith("policies.") else key
    return key in assumed or of_all in assumed


def _parameters(config: Config) -> Iterator[tuple[str, str]]:
    """Dotted keys and their values in words, in the order of the config."""
    for name in _SETTINGS:
        if name in config["simulation"]:
            yield f"simulation.{name}", _in_words(config["simulation"][name])
    for name, value in config["problem"].items():
        yield f"problem.{name}", _in_words(value)
    for table in config["policies"]:
        kind = table["kind"]
        label = table.get("label", kind)
        given = {name: value for name, value in table.items() if name not in ("kind", "label")}
        every = {**_defaults(kind), **given}
        if label.lower() != kind:
            every = {"kind": kind, **every}
        if not every:
            yield f"policies.{label}.", ""
        for name, value in every.items():
            yield f"policies.{label}.{name}", _in_words(value)


def _defaults(kind: str) -> dict[str, object]:
    """The parameters of a policy that have a number as default."""
    registered = Policy.registry[kind]
    policy = registered.policy if isinstance(registered, Alias) else registered
    preset = registered.preset if isinstance(registered, Alias) else {}
    fields: Iterable[dataclasses.Field[object]] = policy.parameters().values()
    held = {one.name: preset.get(one.name, one.default) for one in fields}
    return {name: value for name, value in held.items() if isinstance(value, int | float)}


def _in_words(value: object) -> str:
    """A value of a config: numbers as they are read, equal entries of a list once, a table as kind(name = value)."""
    if isinstance(value, Mapping):
        own = {key: one for key, one in value.items() if key != "kind"}
        inside = ", ".join(f"{key} = {_in_words(one)}" for key, one in own.items())
        return f"{value.get('kind', '')}({inside})" if own else str(value["kind"])
    if isinstance(value, list):
        texts = [_in_words(one) for one in value]
        if len(set(texts)) == 1 and isinstance(value[0], list):
            return texts[0]
        if len(set(texts)) == 1 and len(texts) > 2:
            return f"{texts[0]} for all {len(texts)}"
        if isinstance(value[0], list) and len(set(texts)) > 2 and all(sorted(one) == sorted(value[0]) for one in value):
            return f"{len(set(texts))} orders of {_in_words(sorted(value[0], reverse=True))}"
        if isinstance(value[0], list):
            return " | ".join(dict.fromkeys(texts))
        return f"({', '.join(texts)})"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else Path(str(value)).name  # of a conversion log, its name alone
