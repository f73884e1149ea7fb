"""Users' code: whose code a class is, and checks of what its methods return: shapes, dtypes and structures.

The checks run while a program is traced, not in its rounds. Arrays have the arms on the first axis and the runs on the
axes behind it: `[K, *runs]`. An error shows the shape in the traced program, whose numbers of runs are arbitrary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any, ClassVar, Protocol, TypeGuard, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.errors import ReturnedError

State = TypeVar("State")


class Named(Protocol):
    """Anything with a family and a name; every `Component` is."""

    family: ClassVar[str]
    name: ClassVar[str]


class Selection(Protocol):
    """The attributes of a round (`RoundView`) that tell the shape of a selection."""

    @property
    def pulls(self) -> Array: ...
    @property
    def plays(self) -> int: ...


def floats(owner: Named, method: str, value: object, shape: tuple[int, ...], what: str) -> Array:
    """Numbers that broadcast to `shape`, as floats of the dtype of the simulation.

    Args:
        owner: the component whose method returned the value.
        method: the name of the method.
        value: the returned value.
        shape: the shape it has to broadcast to, axis by axis.
        what: the meaning of the numbers, in words: "an index per arm".

    Raises:
        ReturnedError: anything else.
    """
    return _checked(owner, method, value, shape, f"{what}, float", _is_real).astype(jnp.result_type(float))


def broadcast_floats(owner: Named, method: str, value: object, shape: tuple[int, ...], what: str) -> Array:
    """`floats`, broadcast to `shape`; arguments and errors as for `floats`."""
    return jnp.broadcast_to(floats(owner, method, value, shape, what), shape)


def integers(owner: Named, method: str, value: object, shape: tuple[int, ...], what: str) -> Array:
    """Whole numbers that broadcast to `shape`, as int32; arguments and errors as for `floats`."""
    return _checked(owner, method, value, shape, f"{what}, int32", _is_integer).astype(jnp.int32)


def selection_mask(owner: Named, method: str, value: object, now: Selection) -> Array:
    """Selected arms as a mask, bool `[K, *runs]`.

    Args:
        owner, method: as for `floats`.
        value: a mask; or the indices of the arms, integers `[L, *runs]`, or `[*runs]` when one arm is played.
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
    indices = f"their indices, int32 {_shape_text((plays, *shape[1:]))}"
    what = f"a mask of the selected arms, bool {_shape_text(shape)}, or {indices}"
    return jnp.broadcast_to(_checked(owner, method, value, shape, what, _is_bool, False), shape)


def same_structure(owner: Named, method: str, value: Any, state: State) -> State:
    """A new state with the structure, shapes and dtypes of the old `state`.

    Raises:
        ReturnedError: another structure, shape or dtype.
    """
    same = bool(jax.tree.structure(value) == jax.tree.structure(state))  # type: ignore[operator]
    pairs = zip(jax.tree.leaves(value), jax.tree.leaves(state), strict=True) if same else ()
    if not same or any(_shape_and_dtype(new) != _shape_and_dtype(old) for new, old in pairs):
        expected = f"a state like the one before, {_tree_in_words(state)}"
        raise ReturnedError(owner_name(owner), method, _tree_in_words(value), expected)
    checked: State = value
    return checked


def array_tree(owner: Named, method: str, value: State) -> State:
    """A tree of arrays and numbers.

    Raises:
        ReturnedError: the tree has other leaves, or a key of `jax.random`.
    """
    if any(_is_array(leaf) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) for leaf in jax.tree.leaves(value)):
        expected = "a state of numbers: a key in it would be that of all runs; draw from `now.random`"
        raise ReturnedError(owner_name(owner), method, "a key of `jax.random`", expected)
    if not all(_is_array(leaf) or isinstance(leaf, bool | int | float) for leaf in jax.tree.leaves(value)):
        raise ReturnedError(owner_name(owner), method, _tree_in_words(value), "a state: a tree of arrays")
    return value


def pair(owner: Named, method: str, value: Any, what: str) -> tuple[Any, Any]:
    """Two values, which `what` names.

    Raises:
        ReturnedError: anything else.
    """
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ReturnedError(owner_name(owner), method, _in_words(value), f"two arrays: {what}")
    return value[0], value[1]


def owner_name(owner: Named) -> str:
    """The component as errors name it: `policy 'ucb1'`."""
    return f"{owner.family} {owner.name!r}"


def _checked(
    owner: Named,
    method: str,
    value: object,
    shape: tuple[int, ...],
    what: str,
    fits: Callable[[Any], bool],
    broadcasts: bool = True,
) -> Array:
    """The value as an array, if its dtype fits and its shape broadcasts to `shape` axis by axis."""
    if _is_array(value) or isinstance(value, float | int):
        array = jnp.asarray(value)
        lengths = array.ndim in (0, len(shape)) and all(
            n in (1, size) for n, size in zip(array.shape, shape, strict=False)
        )
        if fits(array.dtype) and lengths:
            return array
    first = {"reward": "n, ", "delay": "n, ", "metric": ""}.get(owner.family, "K, ")  # plays; none; arms
    axes = (
        f"[{first}*runs] = {_shape_text(shape)} (the numbers of runs are only an example)"
        if len(shape) > 1
        else _shape_text(shape)
    )
    rule = f", that broadcasts to {axes} and has as many axes" if broadcasts else ""
    raise ReturnedError(owner_name(owner), method, _in_words(value), what + rule)


def _is_real(dtype: Any) -> bool:
    return bool(jnp.issubdtype(dtype, jnp.floating) or jnp.issubdtype(dtype, jnp.integer))


def _is_integer(dtype: Any) -> bool:
    return bool(jnp.issubdtype(dtype, jnp.integer))


def _is_bool(dtype: Any) -> bool:
    return bool(jnp.issubdtype(dtype, jnp.bool_))


def _is_array(value: object) -> TypeGuard[Array]:
    return isinstance(value, jax.Array | np.ndarray | np.generic)


def _shape_and_dtype(leaf: Any) -> tuple[tuple[int, ...], Any]:
    return jnp.shape(leaf), jnp.result_type(leaf)


def _shape_text(shape: tuple[int, ...]) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"


def _in_words(value: object) -> str:
    """A returned value as errors show it: dtype and shape of an array, else the type."""
    if _is_array(value):
        return f"{value.dtype} {_shape_text(value.shape)}"
    return "None" if value is None else f"a {type(value).__name__}"


def _tree_in_words(value: object) -> str:
    return str(jax.tree.map(lambda leaf: _Unquoted(_in_words(leaf)), value, is_leaf=lambda part: part is None))


class _Unquoted(str):
    """Text that a tree prints without quotation marks."""

    def __repr__(self) -> str:
        return str(self)


# Whose code it is


def is_users_class(cls: type) -> bool:
    """Whether a class, a parent of it, or a method that it was given is defined outside this package."""
    own = [kind for kind in cls.__mro__ if kind.__module__ not in ("builtins", "typing", "abc")]
    return any(is_user_defined(kind) or any(map(is_user_defined, _functions(kind))) for kind in own)


def has_user_code(component: HasParts) -> bool:
    """Whether code of a component, or of a component in it, is defined outside this package, so that it may change."""
    return any(is_users_class(type(part)) for part in component.components())


class HasParts(Protocol):
    """A component."""

    def components(self) -> Iterable[object]:
        """The component and the components in it."""


def _functions(cls: type) -> Iterator[FunctionType]:
    """The methods that a class defines or was given later, except special methods, which a dataclass generates."""
    for name, value in vars(cls).items():
        function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if isinstance(function, FunctionType) and not (name.startswith("__") and name.endswith("__")):
            yield function


def is_user_defined(thing: object) -> bool:
    """Whether a class or a function is defined outside this package."""
    return (getattr(thing, "__module__", None) or "").partition(".")[0] != _PACKAGE


def has_users_method(component: object, *names: str) -> bool:
    """Whether a class outside this package defines one of these methods of a component."""
    return any(is_user_defined(getattr(type(component), name)) for name in names)


def latest_of(cls: type, *names: str) -> frozenset[str]:
    """Which of these methods the class defines, or where it defines none of them, its nearest parent that defines any.

    Where one method follows from another, these are the ones that count: an inherited one may follow from a method that
    a subclass has replaced.
    """
    return next(frozenset(names) & vars(kind).keys() for kind in cls.__mro__ if not vars(kind).keys().isdisjoint(names))


_PACKAGE = __name__.partition(".")[0]
