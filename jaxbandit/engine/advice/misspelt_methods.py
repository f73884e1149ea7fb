"""Methods of users' policies that nothing calls, because their names are misspelt."""

from __future__ import annotations

import inspect
from types import CodeType

from jaxbandit.core.users_code.contracts import is_user_defined
from jaxbandit.policies.base import Policy

_METHODS = ("prepare", "init", "select", "choose", "update")  # that have a default, which a class may override


def misspelt_method(policy: Policy) -> str:
    """Which method is not called because its name is misspelt, and how it is spelt, a clause; "" if there is none."""
    for part in policy.nested_policies():
        classes = [cls for cls in type(part).__mro__ if is_user_defined(cls)]
        codes = [code for cls in classes for value in vars(cls).values() if (code := _code(value)) is not None]
        default = [name for name in _METHODS if not is_user_defined(getattr(type(part), name))]
        for cls in classes:
            for name, value in vars(cls).items():
                code = _code(value)
                if code is None or hasattr(Policy, name):
                    continue
                meant = next((one for one in default if _is_slip(name, one) and _takes_as_many(code, one)), None)
                if meant and not any(_names(other, name) for other in codes):
                    words = f"the class {cls.__name__} has a method `{name}`, which is not called"
                    return f"{words}: the method is `{meant}`"
    return ""


def _code(value: object) -> CodeType | None:
    """The code of a method or property, decorated or not; None for anything else."""
    value = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
    code = getattr(inspect.unwrap(value), "__code__", None) if callable(value) else None
    return code if isinstance(code, CodeType) else None


def _takes_as_many(code: CodeType, name: str) -> bool:
    """Whether a function takes as many arguments as a method of policies."""
    return code.co_argcount == len(inspect.signature(getattr(Policy, name)).parameters)


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
