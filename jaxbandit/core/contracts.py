"""What methods of users' classes return is checked where they are called: while a program is traced, not in its rounds.

Arrays have the arms on the first axis and the runs behind: `[K, *runs]`. In the messages a shape stands as it is in the
program at hand, whose numbers of runs are arbitrary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.errors import ReturnedError


class Named(Protocol):
    """Anything with a family and a name, as every `Component` has them."""

    family: ClassVar[str]
    name: ClassVar[str]


def floats(owner: Named, method: str, value: Any, shape: tuple[int, ...], what: str) -> Array:
    """Numbers that broadcast to `shape`, as floats of the dtype simulated in.

    Args:
        owner: what the method is of.
        method: its name.
        value: what it returned.
        shape: what it has to broadcast to, axis for axis.
        what: what the numbers are, in words: "an index per arm".

    Raises:
        ReturnedError: anything else.
    """
    return _checked(owner, method, value, shape, f"{what}, float", _is_real).astype(jnp.result_type(float))


def integers(owner: Named, method: str, value: Any, shape: tuple[int, ...], what: str) -> Array:
    """Whole numbers that broadcast to `shape`, as int32; arguments and errors as for `real`."""
    return _checked(owner, method, value, shape, f"{what}, int32", _is_whole).astype(jnp.int32)


def selection_mask(owner: Named, method: str, value: Any, now: Any) -> Array:
    """Selected arms as a mask, bool `[K, *runs]`.

    Args:
        owner, method: as for `real`.
        value: a mask; or the numbers of the arms, integers `[L, *runs]`, with one play `[*runs]`, too.
        now: the round.

    Raises:
        ReturnedError: anything else.
    """
    shape, plays = now.pulls.shape, now.plays
    if _is_array(value) and jnp.issubdtype(value.dtype, jnp.integer):
        listed = jnp.asarray(value)[None] if plays == 1 and value.shape == shape[1:] else jnp.asarray(value)
        if listed.shape == (plays, *shape[1:]):
            arm = lax.broadcasted_iota(jnp.int32, shape, 0)
            return jnp.any(arm[None] == listed.astype(jnp.int32)[:, None], axis=0)
    what = f"a mask of the selected arms, bool {_text(shape)}, or their numbers, int32 {_text((plays, *shape[1:]))}"
    return jnp.broadcast_to(_checked(owner, method, value, shape, what, _is_bool, False), shape)


def same_structure(owner: Named, method: str, value: Any, state: Any) -> Any:
    """A state of the structure, shapes and dtypes of another one.

    Raises:
        ReturnedError: another structure, shape or dtype.
    """
    same = bool(jax.tree.structure(value) == jax.tree.structure(state))  # type: ignore[operator]
    pairs = zip(jax.tree.leaves(value), jax.tree.leaves(state), strict=True) if same else ()
    if not same or any(_kind(new) != _kind(old) for new, old in pairs):
        raise ReturnedError(owner_name(owner), method, _tree(value), f"a state like the one before, {_tree(state)}")
    return value


def array_tree(owner: Named, method: str, value: Any) -> Any:
    """A tree of arrays and numbers.

    Raises:
        ReturnedError: there is something else in it.
    """
    if not all(_is_array(leaf) or isinstance(leaf, bool | int | float) for leaf in jax.tree.leaves(value)):
        raise ReturnedError(owner_name(owner), method, _tree(value), "a state: a tree of arrays")
    return value


def pair(owner: Named, method: str, value: Any, what: str) -> tuple[Any, Any]:
    """Two things, which `what` names.

    Raises:
        ReturnedError: anything else.
    """
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ReturnedError(owner_name(owner), method, _came(value), f"two arrays: {what}")
    return value[0], value[1]


def owner_name(owner: Named) -> str:
    """What a method is of, as errors name it: `policy 'ucb1'`."""
    return f"{owner.family} {owner.name!r}"


def _checked(
    owner: Named,
    method: str,
    value: Any,
    shape: tuple[int, ...],
    what: str,
    fits: Callable[[Any], bool],
    broadcasts: bool = True,
) -> Array:
    if _is_array(value) or isinstance(value, float | int):
        array = jnp.asarray(value)
        lengths = array.ndim in (0, len(shape)) and all(
            n in (1, size) for n, size in zip(array.shape, shape, strict=False)
        )
        if fits(array.dtype) and lengths:
            return array
    first = "n" if owner.family in ("reward", "delay") else "K"  # plays; arms
    axes = f"[{first}, *runs] = {_text(shape)} (any number of runs)" if len(shape) > 1 else _text(shape)
    words = f", that broadcasts to {axes} and has as many axes" if broadcasts else ""
    raise ReturnedError(owner_name(owner), method, _came(value), what + words)


def _is_real(dtype: Any) -> bool:
    return bool(jnp.issubdtype(dtype, jnp.floating) or jnp.issubdtype(dtype, jnp.integer))


def _is_whole(dtype: Any) -> bool:
    return bool(jnp.issubdtype(dtype, jnp.integer))


def _is_bool(dtype: Any) -> bool:
    return bool(jnp.issubdtype(dtype, jnp.bool_))


def _is_array(value: Any) -> bool:
    return isinstance(value, jax.Array | np.ndarray | np.generic)


def _kind(leaf: Any) -> tuple[Any, ...]:
    return jnp.shape(leaf), jnp.result_type(leaf)


def _text(shape: tuple[int, ...]) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"


def _came(value: Any) -> str:
    if _is_array(value):
        return f"{value.dtype} {_text(value.shape)}"
    return "None" if value is None else f"a {type(value).__name__}"


def _tree(value: Any) -> str:
    return str(jax.tree.map(lambda leaf: _Words(_came(leaf)), value, is_leaf=lambda part: part is None))


class _Words(str):
    """Text that a tree prints without quotation marks."""

    def __repr__(self) -> str:
        return str(self)
