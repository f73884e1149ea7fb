"""The names that configs and functions take: policies, rewards, delays, ... (`jb.list_policies()` and its like)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jaxbandit.core.errors import InputError, unknown_name
from jaxbandit.core.users_code.contracts import is_user_defined
from jaxbandit.environment.delays import Delay
from jaxbandit.environment.merit import Merit
from jaxbandit.environment.opportunities import Opportunity
from jaxbandit.environment.rewards import Reward
from jaxbandit.experiments.configs import installed_configs
from jaxbandit.metrics.definitions import METRICS
from jaxbandit.metrics.welfare import INSTANCE_NUMBERS
from jaxbandit.policies.base import Alias, Policy
from jaxbandit.policies.make_policy import is_plain_index


def list_policies() -> list[str]:
    """The names of all policies, your own registered ones among them, in order; an index is a policy, too.

    Example:
        >>> "fair-learn" in jb.list_policies()
        True
    """
    return sorted(Policy.registry)


def list_indices() -> list[str]:
    """The names of the policies that are indices, which other policies take as `base`, in order.

    Example:
        >>> "kl-ucb" in jb.list_indices()
        True
    """
    return [name for name, found in sorted(Policy.registry.items()) if is_plain_index(found)]


def list_rewards() -> list[str]:
    """The names of the reward distributions, for the key `reward` of a problem, in order.

    Example:
        >>> "gaussian" in jb.list_rewards()
        True
    """
    return sorted(Reward.registry)


def list_delays() -> list[str]:
    """The names of the delay models, for the key `delay` of a problem, in order.

    Example:
        >>> "geometric" in jb.list_delays()
        True
    """
    return sorted(Delay.registry)


def list_merits() -> list[str]:
    """The names of the merit functions, for the key `merit` of a problem, in order.

    Example:
        >>> "power" in jb.list_merits()
        True
    """
    return sorted(Merit.registry)


def list_opportunities() -> list[str]:
    """The names of the fairness functions f, for the key `opportunity` of a problem, in order.

    Example:
        >>> "softmax" in jb.list_opportunities()
        True
    """
    return sorted(Opportunity.registry)


def list_metrics() -> list[str]:
    """The names of the metrics, your own among them, in the order of results.

    Example:
        >>> "unfairness" in jb.list_metrics()
        True
    """
    return [*METRICS, *INSTANCE_NUMBERS]


def list_configs() -> list[str]:
    """The names of the configs that are installed with the package, for `jaxbandit run`, in order.

    Example:
        >>> "quickstart" in jb.list_configs()
        True
    """
    return installed_configs.names()


LISTS: Mapping[str, Callable[[], list[str]]] = {
    "policies": list_policies,
    "indices": list_indices,
    "rewards": list_rewards,
    "delays": list_delays,
    "merits": list_merits,
    "opportunities": list_opportunities,
    "metrics": list_metrics,
    "configs": list_configs,
}
_REGISTRIES: Mapping[str, Mapping[str, Any]] = {
    "policies": Policy.registry,
    "indices": Policy.registry,
    "rewards": Reward.registry,
    "delays": Delay.registry,
    "merits": Merit.registry,
    "opportunities": Opportunity.registry,
}


def unregister(kind: str, name: str) -> None:
    """Remove the name of a class of your own, so that configs and functions do not know it any more.

    A metric of your own is computed by default in every simulation of a problem that has what it needs; after this it
    is not. A class that is defined again under its name needs no removal: it takes the place of the one before. A
    built-in class that yours replaced (`override=True`) does not come back in this process.

    Args:
        kind: "policies" (also indices), "rewards", "delays", "merits", "opportunities" or "metrics".
        name: a name of yours.

    Raises:
        InputError: another kind, a name that does not exist, or that of a built-in class.

    Example:
        >>> jb.unregister("metrics", "regret")
        Traceback (most recent call last):
        jaxbandit.core.errors.InputError: name = 'regret': must be the name of a class of your own; 'regret' is built in
    """
    registries: dict[str, Any] = {**_REGISTRIES, "metrics": METRICS}
    if kind not in registries:
        raise unknown_name("kind", kind, registries)
    if not isinstance(name, str) or name not in registries[kind]:
        raise unknown_name("name", name, registries[kind])
    held = registries[kind][name]
    if not is_user_defined(held if isinstance(held, type) else type(held)):
        raise InputError("name", name, f"the name of a class of your own; {name!r} is built in")
    del registries[kind][name]


def in_a_line(kind: str, name: str) -> str:
    """What a name stands for, in a line.

    Args:
        kind: a key of `LISTS`.
        name: one of its names.
    """
    if kind == "configs":
        return installed_configs.about_config(name)
    if kind == "metrics":
        if name in INSTANCE_NUMBERS:
            return (INSTANCE_NUMBERS[name][0].__doc__ or "").partition("\n")[0]
        return METRICS[name].summary
    found = _REGISTRIES[kind][name]
    text = found.summary if isinstance(found, Alias) else found.own_docstring()
    return " ".join(text.split("\n\n")[0].split())


def registered(kind: str, name: str) -> Any:
    """The class or alias of a name; None for a metric or a config."""
    return _REGISTRIES.get(kind, {}).get(name)
