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
    fields = dataclasses.fields(data)  # type: ignore[arg-type]
    meta = [f.name for f in fields if f.metadata.get("static")]
    leaves = [f.name for f in fields if not f.metadata.get("static")]
    jax.tree_util.register_dataclass(data, data_fields=leaves, meta_fields=meta)
    return data
