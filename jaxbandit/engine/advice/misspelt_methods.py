"""Methods of users' classes that nothing calls, because their names are misspelt."""

from __future__ import annotations

import inspect
from types import CodeType

from jaxbandit.core.component import Component
from jaxbandit.core.users_code.contracts import is_user_defined
from jaxbandit.environment.delays import Delay
from jaxbandit.environment.merit import Merit
from jaxbandit.environment.opportunities import Opportunity
from jaxbandit.environment.rewards import Reward
from jaxbandit.policies.base import Policy

# The methods of each family that have a default, which a class may override
_METHODS: dict[type[Component], tuple[str, ...]] = {
    Policy: ("prepare", "init", "select", "choose", "update"),
    Reward: ("prepare", "support", "largest_magnitude"),
    Delay: ("prepare", "longest", "cdf"),
    Merit: ("prepare", "peak"),
    Opportunity: ("prepare", "bounds", "lipschitz", "constant_shares"),
}


def misspelt_method(component: Component) -> str:
    """Which method of a component, or of one in its fields, is not called because its name is misspelt.

    Returns:
        A clause with the name, and with how it is spelt; "" if there is none.
    """
    for part in component.components():
        family = next((one for one in _METHODS if isinstance(part, one)), None)
        if family is None:
            continue
        classes = [cls for cls in type(part).__mro__ if is_user_defined(cls)]
        codes = [code for cls in classes for value in vars(cls).values() if (code := _code(value)) is not None]
        default = [name for name in _METHODS[family] if not is_user_defined(getattr(type(part), name))]
        for cls in classes:
            for name, value in vars(cls).items():
                code = _code(value)
                if code is None or hasattr(family, name):
                    continue
                meant = next(
                    (one for one in default if _is_slip(name, one) and _takes_as_many(code, family, one)), None
                )
                if meant and not any(_names(other, name) for other in codes):
                    words = f"the class {cls.__name__} has a method `{name}`, which is not called"
                    return f"{words}: the method is `{meant}`"
    return ""


def _code(value: object) -> CodeType | None:
    """The code of a method or property, decorated or not; None for anything else."""
    value = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
    code = getattr(inspect.unwrap(value), "__code__", None) if callable(value) else None
    return code if isinstance(code, CodeType) else None


def _takes_as_many(code: CodeType, family: type[Component], name: str) -> bool:
    """Whether a function takes as many arguments as a method of a family, with or without those that have a default."""
    parameters = inspect.signature(getattr(family, name)).parameters.values()
    needed = [one for one in parameters if one.default is inspect.Parameter.empty]
    return len(needed) <= code.co_argcount <= len(parameters)


def _names(code: CodeType, name: str) -> bool:
    """Whether code, or a function within it, names an attribute or a variable."""
    return name in code.co_names or any(_names(part, name) for part in code.co_consts if isinstance(part, CodeType))


def _is_slip(name: str, meant: str) -> bool:
    """Whether a name has the letters of another in another order, or one letter more, less or instead."""
    if sorted(name) == sorted(meant):
        return name != meant
    long, short = sorted((name, meant), key=len, reverse=True)
    same = next((i for i, (one, other) in enumerate(zip(long, short, strict=False)) if one != other), len(short))
    return long[same + 1 :] == short[same + (len(long) == len(short)) :] and len(long) - len(short) <= 1
