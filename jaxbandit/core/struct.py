"""Frozen dataclasses that JAX treats as pytrees: states, views and policies are made of them."""

from __future__ import annotations

import dataclasses
import inspect
import operator
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, dataclass_transform

import jax

T = TypeVar("T")


def static(default: Any = dataclasses.MISSING) -> Any:
    """A field of a `struct` that is part of its structure: JAX compiles anew when its value changes."""
    return dataclasses.field(default=default, metadata={"static": True})


@dataclass_transform(frozen_default=True, field_specifiers=(static,))
def struct(cls: type[T]) -> type[T]:
    """Class decorator: a frozen dataclass that is a JAX pytree.

    Its fields are leaves or subtrees, so that a `struct` can be the state of a policy: it may be passed through
    `jax.jit`, `jax.vmap` and `jax.lax.scan`. Make a changed copy with `dataclasses.replace`.

    Args:
        cls: a class with annotated fields.

    Returns:
        The class, as a dataclass.

    Example:
        >>> @jb.struct
        ... class Mean:
        ...     count: jax.Array  # [K, *runs]
        ...     total: jax.Array  # [K, *runs]
        >>> jax.tree.map(lambda leaf: leaf + 1, Mean(0, 1.5))
        Mean(count=1, total=2.5)
    """
    data = dataclasses.dataclass(frozen=True)(cls)
    register(data)
    return data


def register(cls: type) -> None:
    """Register a dataclass as a pytree whose leaves are its fields, except the static ones.

    `jax.tree_util.register_dataclass` is not used: in JAX 0.10 and 0.11 its tree structures compare equal for two
    different classes. A cache of compiled programs whose hashes collide then serves one class's program to the other,
    which happened in about 1 of 1,000 compilations.
    """
    fields = dataclasses.fields(cls)
    meta = tuple(f.name for f in fields if f.metadata.get("static"))
    leaves = tuple(f.name for f in fields if not f.metadata.get("static"))
    keys = tuple(jax.tree_util.GetAttrKey(name) for name in leaves)
    leaves_of, meta_of = _getter(leaves), _getter(meta)

    def flatten(tree: object) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return leaves_of(tree), meta_of(tree)

    def flatten_with_keys(tree: object) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        children, values = flatten(tree)
        return tuple(zip(keys, children, strict=True)), values

    def unflatten(values: tuple[Any, ...], children: Iterable[Any]) -> Any:
        return cls(**dict(zip(leaves, children, strict=True)), **dict(zip(meta, values, strict=True)))

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)


def _getter(names: tuple[str, ...]) -> Callable[[object], tuple[Any, ...]]:
    """What gives the attributes of these names; `attrgetter` alone gives a tuple only of several."""
    if len(names) > 1:
        return operator.attrgetter(*names)
    return lambda tree: tuple(getattr(tree, name) for name in names)


def declare_new_defaults(cls: type) -> None:
    """Let `field = value` in a subclass of a dataclass change the field's default, and nothing else about the field.

    Without this a dataclass ignores a value that has no annotation, and drops the metadata of one that has. A new field
    without an annotation, which a dataclass refuses, may be anything.
    """
    if not dataclasses.is_dataclass(cls):  # it is the first of its bases
        return
    inherited = {field.name: field for field in dataclasses.fields(cls)}
    given = {name: value for name, value in vars(cls).items() if name in inherited and not hasattr(value, "__get__")}
    new = {name: value for name, value in vars(cls).items() if isinstance(value, dataclasses.Field)}
    if not given and not new:
        return
    annotations = inspect.get_annotations(cls)
    for name, value in (given | new).items():
        annotations.setdefault(name, inherited[name].type if name in inherited else Any)
        if not isinstance(value, dataclasses.Field):
            default = tuple(value) if isinstance(value, list) else value  # dataclasses refuse lists
            setattr(cls, name, dataclasses.field(default=default, metadata=inherited[name].metadata))
    cls.__annotations__ = annotations
