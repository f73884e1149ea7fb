"""Methods of users' policies that nothing calls, because their names are misspelt."""

from __future__ import annotations

from types import CodeType, FunctionType

from jaxbandit.core.users_code.contracts import is_user_defined
from jaxbandit.policies.base import Policy

_METHODS = ("prepare", "init", "select", "choose", "update")  # that have a default, which a class may override


def misspelt_method(policy: Policy) -> str:
    """Which method is not called because its name is misspelt, and how it is spelt, a clause; "" if there is none."""
    for part in policy.nested_policies():
        for cls in filter(is_user_defined, type(part).__mro__):
            codes = [value.__code__ for value in vars(cls).values() if isinstance(value, FunctionType)]
            for name in [code.co_name for code in codes if not hasattr(Policy, code.co_name)]:
                default = (one for one in _METHODS if getattr(type(part), one) is getattr(Policy, one))
                meant = next((one for one in default if _is_slip(name, one)), None)
                if meant and not any(_names(code, name) for code in codes):
                    words = f"the class {cls.__name__} has a method `{name}`, which is not called"
                    return f"{words}: the method is `{meant}`"
    return ""


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
