"""Checks of the names and needs of users' metrics, when their classes are defined."""

from __future__ import annotations

from typing import Any

from jaxbandit.core.errors import InputError, unknown_name
from jaxbandit.policies import requirements

_NEEDS = (*requirements.KEYS, "availability")  # keys of a problem
_TAKEN = frozenset(
    {
        "pulls",
        "pulls_mean",
        "phase_rounds",
        "max_deficit_ever",
        "group_max_deficit_ever",
        "price_of_fairness",
        "means",
        "means_of_round",
        "fractions",
        "penalties",
        "opportunities",
    }
    | {"arms", "rewards", "delays", "policy", "instance", "seed", "arm", "round", "phase", "phase_name", "t", "play"}
    | {"family", "kind"}
)  # names that datasets have beside the metrics
_OF_TUNING = frozenset(
    {"reward", "penalized_reward", "budget", "metric", "weighted_sum"}  # objectives
    | {"objective", "gradient_norm", "step"}  # variables of the trajectory
)
_ENDINGS = ("_stderr", "_final", "_runs")


def checked_needs(cls: Any) -> tuple[str, ...]:
    """The attribute `needs` of a metric as a tuple; one string is one key.

    Raises:
        InputError: it names no key of a problem that may be left out.
    """
    needs = (cls.needs,) if isinstance(cls.needs, str) else tuple(cls.needs)
    for key in needs:
        if key not in _NEEDS:
            raise unknown_name(f"{cls.__qualname__}.needs", key, _NEEDS)
    return needs


def check_name(cls: Any, holder: object) -> None:
    """Refuse a name that is no variable's, that datasets or tuning use otherwise, or that another metric has.

    Args:
        cls: the class of the metric.
        holder: the metric that has the name, unless the class may replace it; else None.
    """
    name, key = cls.name, f"{cls.__qualname__}.name"
    if not isinstance(name, str) or not name.isidentifier() or name in _TAKEN or name.endswith(_ENDINGS):
        words = "a word of letters, digits and _ that no other variable of results has"
        taken, endings = ", ".join(sorted(_TAKEN)), ", ".join(_ENDINGS)
        raise InputError(key, name, f"{words} (not {taken}; not ending in {endings})")
    if name in _OF_TUNING:
        raise InputError(key, name, f"a name that `jb.tuning` does not use (not {', '.join(sorted(_OF_TUNING))})")
    if holder is None:
        return
    if (type(holder).__module__, type(holder).__qualname__) == (cls.__module__, cls.__qualname__):
        return  # defined again, as when a notebook's cell is run again
    words = f"a name that no other metric has ({name!r} is {type(holder).__name__}; override=True replaces it)"
    raise InputError(key, name, words)
