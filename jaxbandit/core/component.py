"""What policies, rewards and delays have in common: a name, parameters with ranges, and being a pytree.

A subclass is a frozen dataclass whose fields are its parameters. Its class is structure, its parameters are
leaves: a grid over numbers runs one compiled program.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from numbers import Real
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import jax
import numpy as np
from jax import Array

from jaxbandit.core.errors import InputError, unknown_key, unknown_name
from jaxbandit.core.python_values import is_masked, is_whole_number, to_python
from jaxbandit.core.rationals import exact_fraction, shortest_decimals
from jaxbandit.core.struct import register


def parameter(
    default: Any = None,
    *,
    low: float | None = None,
    high: float | None = None,
    doc: str = "",
    static: bool = False,
    smooth: bool = False,
    exact: bool = False,
) -> Any:
    """A parameter of a component: its default, the range it must lie in (ends included) and what it means.

    With `static` it is part of the structure: programs are compiled for its value. With `smooth` the scores of arms,
    or their chances, are smooth in it for given counts and rewards, so that it can be tuned by gradients. With `exact`
    the number that was written counts, as `jaxbandit.exact.decimal` reads it, and it may be a ratio, as "1/3".
    """
    about = {"low": low, "high": high, "doc": doc, "static": static, "smooth": smooth, "exact": exact}
    return dataclasses.field(default=default, metadata=about)


def derived() -> Any:
    """A field that `prepare` computes from the problem and the horizon; not a parameter."""
    return dataclasses.field(default=None, metadata={"derived": True}, repr=False)


class Component:
    """A named, parametrised building block.

    `class Mine(Policy, name="mine")` also registers the name. A name is one class's: to give it to another class takes
    `override=True`, beside `name`. A class that is defined again (a notebook's cell that is run again) keeps its name.
    """

    family: ClassVar[str] = "component"
    name: ClassVar[str] = ""
    registry: ClassVar[dict[str, Any]]

    if TYPE_CHECKING:  # a dataclass makes it

        def __init__(self, **parameters: Any) -> None: ...

    def __init_subclass__(cls, name: str | None = None, override: bool = False, **kwargs: Any):
        if name is not None:
            _check_name(cls, name, override)
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
        return made.from_parameters(given, key)

    @classmethod
    def from_parameters(cls, given: Mapping[str, Any], key: str) -> Self:
        """The component with some parameters, ratios as "1/3" read where they are exact; `key` is for errors."""
        fields = cls.parameters()
        read = {
            name: _read_ratios(value, f"{key}.{name}") if fields[name].metadata.get("exact") else value
            for name, value in given.items()
        }
        return cls(**read)

    def as_table(self) -> dict[str, Any]:
        """The table that describes it as a config does; a component among its parameters is a table in it."""
        made: dict[str, Any] = {"kind": self.name}
        for name, field in self.parameters().items():
            value = getattr(self, name)
            if value is not None:
                made[name] = shortest_decimals(value, name) if field.metadata.get("exact") else to_toml(value)
        return made

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
            elif field.default is not None:
                raise InputError(f"{key}.{name}", None, _range(field))

    def check_scalars(self, key: str) -> None:
        """`check`, and refuse lists."""
        self.check(key)
        for name in self.parameters():
            if np.ndim(getattr(self, name)):
                raise InputError(f"{key}.{name}", getattr(self, name), "a number")

    def with_scalars(self, key: str) -> Self:
        """`check_scalars`, and the component with floats for its numbers, whatever their types.

        What is part of the structure keeps Python's own type.
        """
        self.check_scalars(key)
        read: dict[str, Any] = {}
        for name, field in self.parameters().items():
            value = getattr(self, name)
            if not field.metadata.get("static"):
                read[name] = float(value) if isinstance(value, Real | Decimal) else to_python(value)
            elif hasattr(value, "dtype"):  # an array is no part of a structure
                read[name] = exact_fraction(value, f"{key}.{name}") if field.metadata.get("exact") else to_python(value)
        return self.replace(**read)

    def components(self) -> Iterator[Component]:
        """The component and those in its fields."""
        yield self
        for value in vars(self).values():
            if isinstance(value, Component):
                yield from value.components()

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]


def has_user_code(component: Component) -> bool:
    """Whether some of a component's code, or of those in it, is not of this package, so that a user may change it."""
    return any(_is_user_class(type(part)) for part in component.components())


def _is_user_class(cls: type) -> bool:
    own = [kind for kind in cls.__mro__ if kind.__module__ not in ("builtins", "typing", "abc")]
    return any(is_user_defined(kind) or any(map(is_user_defined, _functions(kind))) for kind in own)


def _functions(cls: type) -> Iterator[FunctionType]:
    """The methods that a class defines, or was given later; not those that a dataclass makes."""
    for name, value in vars(cls).items():
        function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if isinstance(function, FunctionType) and not (name.startswith("__") and name.endswith("__")):
            yield function


def is_user_defined(thing: Any) -> bool:
    """Whether a class or a function is not of this package."""
    return (getattr(thing, "__module__", None) or "").partition(".")[0] != _PACKAGE


_PACKAGE = __name__.partition(".")[0]


def evaluate(function: Any, at: Array) -> Array:
    """`function.value(at)`: for functions that differ in their parameters by one program, where JAX can trace them."""
    if has_user_code(function):  # as it is now, whatever was compiled before its helpers were edited
        held: Array = function.value(at)
        return held
    try:
        return _evaluate_compiled(function, at)
    except jax.errors.JAXTypeError:  # one that branches on its parameters
        made: Array = function.value(at)
        return made


@jax.jit
def _evaluate_compiled(function: Any, at: Array) -> Array:
    made: Array = function.value(at)
    return made


@functools.cache
def _parameters(cls: type[Component]) -> Mapping[str, dataclasses.Field[Any]]:
    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
    return MappingProxyType({f.name: f for f in fields if not f.metadata.get("derived")})


def _check_name(cls: type[Component], name: Any, override: bool) -> None:
    """Refuse a name that is none, or that another class has."""
    if not isinstance(name, str) or not name or not name.isprintable():
        raise InputError(f"{cls.__qualname__}.name", name, "a printable string, the name in configs")
    held = cls.registry.get(name)
    again = getattr(held, "__module__", None), getattr(held, "__qualname__", None)
    if held is None or override or again == (cls.__module__, cls.__qualname__):
        return
    owner = f"{held.__module__}.{held.__qualname__}" if isinstance(held, type) else "an alias"
    words = f"a name that no other {cls.family} has ({name!r} is {owner}; override=True replaces it)"
    raise InputError(f"{cls.__qualname__}.name", name, words)


def to_toml(value: Any) -> Any:
    """A value as TOML writes it: nothing but numbers, words, lists and tables."""
    if isinstance(value, Component):
        return value.as_table()
    if isinstance(value, type):
        return getattr(value, "name", value.__name__)
    held = to_python(value)
    if isinstance(held, Mapping):
        return {str(name): to_toml(part) for name, part in held.items() if part is not None}
    if isinstance(held, list):
        return [to_toml(part) for part in held]
    if isinstance(held, str | bool | int | float):
        return held
    return float(held) if isinstance(held, Real | Decimal) else str(held)


def _read_ratios(value: Any, key: str) -> Any:
    """Numbers as they are, with a ratio of a config, as "1/3", read."""
    if isinstance(value, list):
        return [_read_ratios(part, key) for part in value]
    return exact_fraction(value, key) if isinstance(value, str) else value


def _check_range(value: Any, field: dataclasses.Field[Any], key: str) -> None:
    low, high = field.metadata.get("low"), field.metadata.get("high")
    least, most = -math.inf if low is None else low, math.inf if high is None else high
    if type(value) in (int, float) and least <= value <= most and abs(value) <= 1e30:
        return  # what nearly every point of a grid is
    finite_numbers(value, key, _range(field), least, most)


def _range(field: dataclasses.Field[Any]) -> str:
    """What a parameter may hold, in words."""
    low, high = field.metadata.get("low"), field.metadata.get("high")
    if low is not None and high is not None:
        return f"numbers from {low:g} to {high:g}"
    if low is not None:
        return f"numbers >= {low:g}"
    return "finite numbers" if high is None else f"numbers <= {high:g}"


def finite_numbers(value: Any, key: str, words: str, low: float = -math.inf, high: float = math.inf) -> np.ndarray:
    """A number, or nested lists of them, as float64; `words` say what the key may hold.

    Raises:
        InputError: other than real numbers (strings and booleans are none), masked, out of range, or above 1e30.
    """
    try:
        masked, parts = is_masked(value), np.asarray(value, dtype=object)
        numbers = parts.astype(np.float64)
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise InputError(key, value, words) from None
    if masked:
        raise InputError(key, value, f"{words}, none of them masked")
    strange = any(isinstance(part, str | bool | np.bool_) for part in parts.flat) or parts.size == 0
    if strange or not np.all((low <= numbers) & (numbers <= high) & (np.abs(numbers) <= 1e30)):  # NaN is not
        raise InputError(key, value, words)
    return numbers


def boolean(value: Any, key: str) -> bool:
    """True or false, NumPy's and JAX's among them.

    Raises:
        InputError: anything else.
    """
    held = to_python(value)
    if not isinstance(held, bool):
        raise InputError(key, value, "true or false")
    return held


def whole_number(value: Any, key: str, least: int = 1) -> int:
    """A whole number, NumPy's and JAX's among them.

    Raises:
        InputError: anything else, or a number below `least`.
    """
    held = to_python(value)
    if not is_whole_number(held, least):
        raise InputError(key, value, f"a whole number >= {least}")
    return int(held)


def check_positive(value: Any, key: str, words: str) -> None:
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


def per_arm(value: Any, arms: int, instances: int, key: str, held: Any = None, exact: bool = False) -> np.ndarray:
    """A number, K numbers or one row of K an instance, as a scalar, `[K, 1]` or `[K, J]`.

    Args:
        exact: keep the entries of an object array, which are ratios; else all are float64.
        held: what an error shows, where `value` is no longer what the user wrote.

    Raises:
        InputError: any other shape.
    """
    array = np.asarray(value) if exact else np.asarray(value).astype(np.float64)
    if array.ndim == 0:
        return array
    if array.shape == (arms,):
        return array[:, None]
    if array.shape == (instances, arms):
        return array.T
    rows = f", or {instances} rows of {arms} numbers, one an instance" if instances > 1 else ""
    words = f"a number or {arms} numbers, one an arm{rows}"
    raise InputError(key, value if held is None else held, words)
