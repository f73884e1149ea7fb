"""`Component`: the base class of policies, rewards, delays, merit functions and fairness functions.

A component has a name, parameters with ranges, and is a pytree. A subclass is a frozen dataclass whose fields are its
parameters. The class is part of the pytree's structure and the parameters are its leaves, so that all points of a grid
over numbers run in one compiled program.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from numbers import Real
from types import MappingProxyType
from typing import Any, ClassVar, Self, dataclass_transform

import numpy as np

from jaxbandit.core.errors import InputError, short_repr, unknown_key, unknown_name
from jaxbandit.core.input_values import (
    LARGEST,
    allowed,
    check_range,
    is_any,
    is_whole,
    range_ends,
    static_value,
    to_python,
    values_in_words,
)
from jaxbandit.core.rationals import exact_fraction, shortest_decimals
from jaxbandit.core.struct import declare_new_defaults, register


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
    """A parameter of a policy, reward, delay, merit function or fairness function: a field of its class.

    Args:
        default: the default value; None for a parameter that is optional or has to be computed.
        low, high: the range, ends included; None for no limit. Numbers out of range raise an `InputError`, and so do
            numbers that are not whole if the field is annotated as `int`.
        doc: what the parameter means, in a few words; `help` and `jaxbandit policies` print it.
        static: the value is a constant of compiled programs, such as the length of a window: methods get it as the
            Python value that it is (an int, float, bool or string, or a tuple of these), so that it can set a shape or
            decide an `if`. Each value needs a compilation of its own. Other parameters reach the methods as arrays, and
            all their values share one compilation.
        smooth: for fixed counts and rewards the scores of the arms (or their chances) are smooth functions of the
            parameter, so that `jaxbandit.tuning` can tune it by gradients.
        exact: the value is read as the decimal that was written (0.05 is exactly 1/20), and may be a ratio as "1/3".

    Returns:
        A dataclass field.

    Example:
        >>> class Optimist(jb.Index):
        ...     bonus: float = jb.parameter(1.0, low=0, doc="weight of the bonus")
        ...
        ...     def value(self, state, now):
        ...         return now.mean + self.bonus / now.samples
        >>> Optimist(bonus=2.0)
        Optimist(bonus=2.0)
        >>> class Recent(jb.Index):
        ...     window: int = jb.parameter(100, low=1, static=True, doc="rounds whose rewards count")
        ...     def init(self, world, shape):
        ...         return jnp.zeros((self.window, *shape))
        ...     def value(self, state, now):
        ...         return state.sum(axis=0)
        ...     def update(self, state, after, selected):
        ...         return jnp.concatenate([state[1:], after.arrived.total[None]])
        >>> jb.policy(Recent, window=20)
        Recent(window=20)
    """
    metadata = {"low": low, "high": high, "doc": doc, "static": static, "smooth": smooth, "exact": exact}
    return dataclasses.field(default=tuple(default) if isinstance(default, list) else default, metadata=metadata)


def derived() -> Any:
    """A field that `prepare` computes from the problem and the horizon; it is not a parameter."""
    return dataclasses.field(default=None, metadata={"derived": True}, repr=False)


@dataclass_transform(frozen_default=True)  # a parameter with any value on its right is optional
class Component:
    """A named building block with parameters.

    `class Mine(Policy, name="mine")` registers the class under the name that configs use. A name belongs to one class;
    `override=True`, beside `name`, gives it to another class. A class that is defined again, as when a notebook's cell
    is run again, keeps its name. The docstring of a class gets a section that lists its parameters.

    `class Delay(Component, required="draw")` begins a family whose classes have to define that method.

    Attributes:
        family: the kind of component, for errors: "policy", "reward", ...
        name: the registered name, or the name of the class.
        registry: the registered classes of the family, by name.
    """

    family: ClassVar[str] = "component"
    name: ClassVar[str] = ""
    registry: ClassVar[dict[str, Any]]
    _own_docstring: ClassVar[str] = ""
    _required: ClassVar[tuple[type, str] | None] = None  # the base class of the family, and the method to define

    def __init_subclass__(
        cls, name: str | None = None, override: bool = False, required: str | None = None, **kwargs: Any
    ):
        if name is not None:
            _check_name(cls, name, override)
        super().__init_subclass__(**kwargs)
        declare_new_defaults(cls)
        dataclasses.dataclass(frozen=True)(cls)
        register(cls)
        if required is not None:
            cls._required = cls, required
        cls._own_docstring = inspect.cleandoc(cls.__doc__ or "")
        cls.__doc__ = _with_parameters(cls._own_docstring, cls.parameters())
        if name is not None:
            cls.name = name
            cls.registry[name] = cls
        elif "name" not in cls.__dict__:
            cls.name = cls.__name__

    @classmethod
    def parameters(cls) -> Mapping[str, dataclasses.Field[Any]]:
        """The fields that a user may set, by name."""
        return _parameters(cls)  # type: ignore[arg-type]

    @classmethod
    def own_docstring(cls) -> str:
        """The docstring as written in the class, without the section that lists the parameters."""
        return cls._own_docstring

    @classmethod
    def from_spec(cls, spec: Any, key: str) -> Self:
        """The component that a config value describes.

        Args:
            spec: a name, a table `{ kind = name, parameter = value, ... }`, a component, or a class with its defaults.
            key: the config key of the value, for errors.

        Raises:
            InputError: anything else, an unknown name or an unknown parameter, or a class without the method that the
                family requires.
        """
        made = cls._described(spec, key)
        if cls._required is not None:
            base, method = cls._required
            # `prepare` may return an object of another class
            if all(getattr(type(made), name, None) is getattr(base, name, None) for name in (method, "prepare")):
                raise InputError(key, spec, f"a class with a method `{method}`, or an object of one")
        return made

    @classmethod
    def _described(cls, spec: Any, key: str) -> Self:
        if isinstance(spec, type) and issubclass(spec, cls):
            return spec()
        if isinstance(spec, cls):
            return spec
        if isinstance(spec, str):
            spec = {"kind": spec}
        if not isinstance(spec, Mapping) or "kind" not in spec:
            words = {"merit": "merit function", "opportunity": "fairness function"}.get(cls.family, cls.family)
            article = "an" if words[:1] in "aeiou" else "a"
            names = ", ".join(sorted(cls.registry))
            raise InputError(key, spec, f'{article} {words} ({names}), or a table {{ kind = "...", ... }}')
        found = cls.registry.get(spec["kind"]) if isinstance(spec["kind"], str) else None
        if found is None:
            raise unknown_name(f"{key}.kind", spec["kind"], cls.registry)
        given = {name: value for name, value in spec.items() if name != "kind"}
        for name in given:
            if name not in found.parameters():
                raise unknown_key(f"{key}.{name}", given[name], [*found.parameters(), "kind"])
        return found.from_parameters(given, key)

    @classmethod
    def from_parameters(cls, given: Mapping[str, Any], key: str) -> Self:
        """The component with some parameters set; ratios as "1/3" are read where a parameter is exact.

        Args:
            given: parameters by name.
            key: the config key of the component, for errors.
        """
        fields = cls.parameters()
        read = {
            name: _read_ratios(value, f"{key}.{name}") if fields[name].metadata.get("exact") else value
            for name, value in given.items()
        }
        return cls(**read)

    def as_table(self) -> dict[str, Any]:
        """The table that describes the component in a config; a component among its parameters is a table in it."""
        table: dict[str, Any] = {"kind": self.name}
        for name, field in self.parameters().items():
            value = getattr(self, name)
            if value is not None:
                table[name] = shortest_decimals(value, name) if field.metadata.get("exact") else to_toml(value)
        return table

    def check(self, key: str) -> None:
        """Refuse parameters that are not finite numbers or that are out of range.

        Raises:
            InputError: naming `key.parameter`, its value and the allowed values.
        """
        for name, field, least, most in _limits(type(self)):  # type: ignore[arg-type]
            value = getattr(self, name)
            if type(value) in _PLAIN and least <= value <= most:
                continue  # the usual case, and faster
            if isinstance(value, Component):
                value.check(key)  # in a config its parameters stand beside those of this component
            elif value is not None:
                check_range(value, field, f"{key}.{name}")
            elif field.default is not None:
                raise InputError(f"{key}.{name}", None, allowed(value, field))

    def check_scalars(self, key: str) -> None:
        """`check`, and refuse lists and arrays."""
        self.check(key)
        for name in self.parameters():
            if np.ndim(getattr(self, name)):
                raise InputError(f"{key}.{name}", getattr(self, name), "a number")

    def with_scalars(self, key: str) -> Self:
        """`check_scalars`, and a copy with every number as a float; static parameters are Python values."""
        self.check_scalars(key)
        numbers = self.numbers().items()
        converted = {name: float(x) if isinstance(x, Real | Decimal) else to_python(x) for name, x in numbers}
        return self.with_numbers(converted, key)

    def components(self) -> Iterator[Component]:
        """The component, and the components in its fields, and in the fields of dataclasses among them."""
        yield self
        values = list(vars(self).values())
        for value in values:
            if isinstance(value, Component):
                yield from value.components()
            elif dataclasses.is_dataclass(value) and not isinstance(value, type):
                values += vars(value).values()

    def numbers(self) -> dict[str, Any]:
        """The parameters that are given and are not static, by name: those that programs take as arrays."""
        names = _numbers(type(self))  # type: ignore[arg-type]
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    def with_numbers(self, numbers: Mapping[str, object], key: str) -> Self:
        """A copy with other values of some parameters, and with the static ones as Python values that can be hashed."""
        changes = dict(numbers)
        for name, field in _static(type(self)).items():  # type: ignore[arg-type]
            value, exact = getattr(self, name), field.metadata.get("exact")
            if value is not None:
                static = functools.partial(static_value, default=field.default, whole=is_whole(field))
                read = exact_fraction if exact else static
                changes[name] = value if exact and not hasattr(value, "dtype") else read(value, f"{key}.{name}")
        return self.replace(**changes)

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        held = {name: getattr(self, name) for name in _arguments(type(self))}  # type: ignore[arg-type]
        return type(self)(**held | changes)


# Docstrings

_HEADING = re.compile(r"^[A-Z][A-Za-z ]+:$", re.MULTILINE)


def _with_parameters(docstring: str, parameters: Mapping[str, dataclasses.Field[Any]]) -> str:
    """A docstring with a section that lists the parameters, before its other sections."""
    if not parameters or "Parameters:" in docstring.splitlines():
        return docstring
    lines = [_parameter_line(name, field) for name, field in parameters.items()]
    section = "\n".join(["Parameters:", *lines])
    heading = _HEADING.search(docstring)
    start = heading.start() if heading else len(docstring)
    parts = (docstring[:start].rstrip(), section, docstring[start:])
    return "\n\n".join(part for part in parts if part)


def _parameter_line(name: str, field: dataclasses.Field[Any]) -> str:
    """`    name (range, default): meaning.`"""
    default = None if field.default in (None, dataclasses.MISSING) else _default_in_words(field.default)
    about = [part for part in (values_in_words(field), default and f"default {default}") if part]
    meaning = str(field.metadata.get("doc") or "")
    end = "." if meaning and not meaning.endswith(".") else ""
    return f"    {name}{' (' + ', '.join(about) + ')' if about else ''}: {meaning}{end}".rstrip()


def _default_in_words(value: object) -> str | None:
    """A default as docstrings show it; None for arrays, which are long."""
    if isinstance(value, Component):
        return f'"{value.name}"'
    if isinstance(value, float):
        return f"{value:g}"
    return short_repr(value, 40) if isinstance(value, bool | int | str | list | tuple | dict) else None


@functools.cache
def _parameters(cls: type[Component]) -> Mapping[str, dataclasses.Field[Any]]:
    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
    return MappingProxyType({f.name: f for f in fields if not f.metadata.get("derived")})


@functools.cache
def _static(cls: type[Component]) -> dict[str, dataclasses.Field[Any]]:
    """The static parameters of a class."""
    return {name: field for name, field in cls.parameters().items() if field.metadata.get("static")}


@functools.cache
def _numbers(cls: type[Component]) -> tuple[str, ...]:
    """The names of the parameters of a class that are not static."""
    return tuple(name for name, field in cls.parameters().items() if not field.metadata.get("static"))


@functools.cache
def _arguments(cls: type[Component]) -> tuple[str, ...]:
    """The names of the arguments that make a component: those of its fields."""
    return tuple(field.name for field in dataclasses.fields(cls) if field.init)  # type: ignore[arg-type]


_PLAIN = frozenset((int, float))


@functools.cache
def _limits(cls: type[Component]) -> list[tuple[str, dataclasses.Field[Any], float, float]]:
    """The parameters of a class, with the ends of the range in which an `int` or a `float` is right.

    The range is empty where more than the range decides.
    """
    return [
        (name, field, *((math.inf, -math.inf) if is_any(field) or is_whole(field) else range_ends(field, LARGEST)))
        for name, field in cls.parameters().items()
    ]


def _check_name(cls: type[Component], name: object, override: bool) -> None:
    """Refuse a name that is not printable text, or that belongs to another class."""
    if not isinstance(name, str) or not name or not name.isprintable():
        raise InputError(f"{cls.__qualname__}.name", name, "a printable string, the name in configs")
    holder = cls.registry.get(name)
    defined_again = getattr(holder, "__module__", None), getattr(holder, "__qualname__", None)
    if holder is None or override or defined_again == (cls.__module__, cls.__qualname__):
        return
    owner = f"{holder.__module__}.{holder.__qualname__}" if isinstance(holder, type) else "an alias"
    allowed = f"a name that no other {cls.family} has ({name!r} is {owner}; override=True replaces it)"
    raise InputError(f"{cls.__qualname__}.name", name, allowed)


def to_toml(value: Any) -> Any:
    """A value as a config holds it: made of numbers, strings, lists and tables."""
    if isinstance(value, Component):
        return value.as_table()
    if isinstance(value, type):
        return getattr(value, "name", value.__name__)
    converted = to_python(value)
    if isinstance(converted, Mapping):
        return {str(name): to_toml(part) for name, part in converted.items() if part is not None}
    if isinstance(converted, list):
        return [to_toml(part) for part in converted]
    if isinstance(converted, str | bool | int | float):
        return converted
    return float(converted) if isinstance(converted, Real | Decimal) else str(converted)


def _read_ratios(value: Any, key: str) -> Any:
    """The value with strings read as ratios of whole numbers, as "1/3"."""
    if isinstance(value, list):
        return [_read_ratios(part, key) for part in value]
    return exact_fraction(value, key) if isinstance(value, str) else value
