"""Frozen dataclasses that JAX sees as pytrees: what states, views and policies are made of."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar, dataclass_transform

import jax

T = TypeVar("T")


def static(default: Any = dataclasses.MISSING) -> Any:
    """A field that is part of the structure: a change of its value compiles anew."""
    return dataclasses.field(default=default, metadata={"static": True})


@dataclass_transform(frozen_default=True, field_specifiers=(static,))
def struct(cls: type[T]) -> type[T]:
    """Make `cls` a frozen dataclass and register it as a pytree; its fields are leaves but the static ones."""
    data = dataclasses.dataclass(frozen=True)(cls)
    register(data)
    return data


def register(cls: type) -> None:
    """Make a dataclass a pytree: its fields are leaves but the static ones.

    Not by `jax.tree_util.register_dataclass`: of the structures that makes (JAX 0.10 and 0.11), two of different
    classes compare equal, and a cache of compiled programs whose hashes collide then serves one class's program to
    another's (some 1 in 1,000 compilations did).
    """
    fields = dataclasses.fields(cls)
    meta = tuple(f.name for f in fields if f.metadata.get("static"))
    leaves = tuple(f.name for f in fields if not f.metadata.get("static"))
    keys = tuple(jax.tree_util.GetAttrKey(name) for name in leaves)

    def flatten(tree: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return tuple(getattr(tree, name) for name in leaves), tuple(getattr(tree, name) for name in meta)

    def flatten_with_keys(tree: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        children, values = flatten(tree)
        return tuple(zip(keys, children, strict=True)), values

    def unflatten(values: tuple[Any, ...], children: Any) -> Any:
        return cls(**dict(zip(leaves, children, strict=True)), **dict(zip(meta, values, strict=True)))

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
