"""What policies, rewards and delays have in common: a name, parameters with ranges, and being a pytree.

A subclass is a frozen dataclass whose fields are its parameters. Its class is structure, its parameters are
leaves: a grid over numbers runs one compiled program.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import jax
import numpy as np
from jax import Array

from .errors import InputError, unknown_key, unknown_name
from .struct import register


def parameter(
    default: Any = None,
    *,
    low: float | None = None,
    high: float | None = None,
    doc: str = "",
    static: bool = False,
    smooth: bool = False,
) -> Any:
    """A parameter of a component: its default, the range it must lie in (ends included) and what it means.

    With `static` it is part of the structure: programs are compiled for its value. With `smooth` the scores of arms,
    or their chances, are smooth in it for given counts and rewards, so that it can be tuned by gradients.
    """
    about = {"low": low, "high": high, "doc": doc, "static": static, "smooth": smooth}
    return dataclasses.field(default=default, metadata=about)


def derived() -> Any:
    """A field that `prepare` computes from the problem and the horizon; not a parameter."""
    return dataclasses.field(default=None, metadata={"derived": True}, repr=False)


class Component:
    """A named, parametrised building block. `class Mine(Policy, name="mine")` also registers the name."""

    family: ClassVar[str] = "component"
    name: ClassVar[str] = ""
    registry: ClassVar[dict[str, Any]]

    if TYPE_CHECKING:  # a dataclass makes it

        def __init__(self, **parameters: Any) -> None: ...

    def __init_subclass__(cls, name: str | None = None, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        dataclasses.dataclass(frozen=True)(cls)
        register(cls)
        if name is not None:
            cls.name = name
            cls.registry[name] = cls
        elif "name" not in cls.__dict__:
            cls.name = cls.__name__

    @classmethod
    def parameters(cls) -> Mapping[str, dataclasses.Field[Any]]:
        """The fields a user may set, by name."""
        return _parameters(cls)  # type: ignore[arg-type]

    @classmethod
    def from_spec(cls, spec: Any, key: str) -> Any:
        """The component that a config value describes.

        Args:
            spec: a name, a table `{ kind = name, parameter = value, ... }`, or a component.
            key: the config key it stands under, for errors.
        """
        if isinstance(spec, cls):
            return spec
        if isinstance(spec, str):
            spec = {"kind": spec}
        if not isinstance(spec, Mapping) or "kind" not in spec:
            names = ", ".join(sorted(cls.registry))
            raise InputError(key, spec, f'a {cls.family} ({names}), or a table {{ kind = "...", ... }}')
        made = cls.registry.get(spec["kind"]) if isinstance(spec["kind"], str) else None
        if made is None:
            raise unknown_name(f"{key}.kind", spec["kind"], cls.registry)
        given = {name: value for name, value in spec.items() if name != "kind"}
        for name in given:
            if name not in made.parameters():
                raise unknown_key(f"{key}.{name}", given[name], [*made.parameters(), "kind"])
        return made(**given)

    def check(self, key: str) -> None:
        """Refuse parameters that are no finite numbers or outside their range.

        Raises:
            InputError: naming `key.parameter`, what it holds and what it may hold.
        """
        for name, field in self.parameters().items():
            value = getattr(self, name)
            if isinstance(value, Component):
                value.check(key)  # its parameters stand beside
            elif value is not None:
                _check_range(value, field, f"{key}.{name}")

    def check_numbers(self, key: str) -> None:
        """`check`, and refuse lists."""
        self.check(key)
        for name in self.parameters():
            if np.ndim(getattr(self, name)):
                raise InputError(f"{key}.{name}", getattr(self, name), "a number")

    def with_numbers(self, key: str) -> Self:
        """`check_numbers`, and the component with floats for whole numbers, which may be longer than JAX takes."""
        self.check_numbers(key)
        given = {name: getattr(self, name) for name, f in self.parameters().items() if not f.metadata.get("static")}
        return self.replace(**{name: float(value) for name, value in given.items() if isinstance(value, int)})

    def parts(self) -> Iterator[Component]:
        """The component and those in its fields."""
        yield self
        for value in vars(self).values():
            if isinstance(value, Component):
                yield from value.parts()

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]


def users(component: Component) -> bool:
    """Whether some of a component's code, or of those in it, is not of this package, so that a user may change it."""
    return any(_users(type(part)) for part in component.parts())


def _users(cls: type) -> bool:
    own = [kind for kind in cls.__mro__ if kind.__module__ not in ("builtins", "typing", "abc")]
    return any(written_elsewhere(kind) or any(map(written_elsewhere, _functions(kind))) for kind in own)


def _functions(cls: type) -> Iterator[FunctionType]:
    """The methods that a class defines, or was given later; not those that a dataclass makes."""
    for name, value in vars(cls).items():
        function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if isinstance(function, FunctionType) and not (name.startswith("__") and name.endswith("__")):
            yield function


def written_elsewhere(thing: Any) -> bool:
    """Whether a class or a function is not of this package."""
    return (getattr(thing, "__module__", None) or "").partition(".")[0] != _PACKAGE


_PACKAGE = __name__.partition(".")[0]


def valued(function: Any, at: Array) -> Array:
    """`function.value(at)`: for functions that differ in their parameters by one program, where JAX can trace them."""
    if users(function):  # as it is now, whatever was compiled before its helpers were edited
        held: Array = function.value(at)
        return held
    try:
        return _valued(function, at)
    except jax.errors.JAXTypeError:  # one that branches on its parameters
        made: Array = function.value(at)
        return made


@jax.jit
def _valued(function: Any, at: Array) -> Array:
    made: Array = function.value(at)
    return made


@functools.cache
def _parameters(cls: type[Component]) -> Mapping[str, dataclasses.Field[Any]]:
    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
    return MappingProxyType({f.name: f for f in fields if not f.metadata.get("derived")})


def _check_range(value: Any, field: dataclasses.Field[Any], key: str) -> None:
    low, high = field.metadata.get("low"), field.metadata.get("high")
    least, most = -math.inf if low is None else low, math.inf if high is None else high
    if type(value) in (int, float) and least <= value <= most and abs(value) <= 1e30:
        return  # what nearly every point of a grid is
    words = {
        (False, False): "finite numbers",
        (True, False): f"numbers >= {low:g}" if low is not None else "",
        (False, True): f"numbers <= {high:g}" if high is not None else "",
        (True, True): f"numbers from {low:g} to {high:g}" if low is not None and high is not None else "",
    }[low is not None, high is not None]
    finite(value, key, words, least, most)


def finite(value: Any, key: str, words: str, low: float = -math.inf, high: float = math.inf) -> np.ndarray:
    """A number, or nested lists of them, as float64; `words` say what the key may hold.

    Raises:
        InputError: other than real numbers (strings and booleans are none), out of range, or above 1e30.
    """
    try:
        parts = np.asarray(value, dtype=object)
        numbers = parts.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(key, value, words) from None
    strange = any(isinstance(part, str | bool | np.bool_) for part in parts.flat) or parts.size == 0
    if strange or not np.all((low <= numbers) & (numbers <= high) & (np.abs(numbers) <= 1e30)):  # NaN is not
        raise InputError(key, value, words)
    return numbers


def positive(value: Any, key: str, words: str) -> None:
    """Refuse numbers that are not above 0, where a range can only name the end that is excluded.

    Raises:
        InputError: naming `key`; `words` say what it may hold.
    """
    try:
        least = float(np.min(np.asarray(value, dtype=float)))
    except (TypeError, ValueError, OverflowError):
        return  # the check of the range has the words for it
    if least <= 0:
        raise InputError(key, value, words)


def per_arm(value: Any, arms: int, instances: int, key: str, held: Any = None) -> np.ndarray:
    """A number, K numbers or one row of K an instance, as a scalar, `[K, 1]` or `[K, J]`; exact ratios stay so.

    Args:
        held: what an error shows, where `value` is no longer what the user wrote.

    Raises:
        InputError: any other shape.
    """
    array = np.asarray(value)
    exact = array.dtype == object and array.size and isinstance(array.flat[0], Fraction)
    array = array if exact else array.astype(np.float64)
    if array.ndim == 0:
        return array
    if array.shape == (arms,):
        return array[:, None]
    if array.shape == (instances, arms):
        return array.T
    rows = f", or {instances} rows of {arms} numbers, one an instance" if instances > 1 else ""
    words = f"a number or {arms} numbers, one an arm{rows}"
    raise InputError(key, value if held is None else held, words)
