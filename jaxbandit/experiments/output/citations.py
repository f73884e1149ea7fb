"""`cite`: BibTeX entries of the sources of policies and metrics."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from typing import Any

import xarray as xr

from jaxbandit.core.errors import InputError, unknown_name
from jaxbandit.core.provenance import version
from jaxbandit.experiments.output.bibliography import ENTRIES
from jaxbandit.experiments.statistics import recorded_metrics, restore_dimensions
from jaxbandit.metrics.metric import METRICS
from jaxbandit.metrics.welfare import INSTANCE_NUMBERS
from jaxbandit.policies.base import Alias, Policy
from jaxbandit.policies.make_policy import policy

_IN_PARENTHESES = re.compile(r"\(([^()]+ paper, [^()]*|[^()]+ \d{4})\)\.?$")


def cite(
    results: xr.Dataset | str | Policy | type[Policy] | Mapping[str, Any] | Sequence[str | Policy | Mapping[str, Any]],
) -> str:
    """BibTeX entries of jaxbandit and of the papers behind what was run.

    A comment above each entry says which policies or metrics it is for. A policy is cited by the paper that it is from,
    the first one in `jb.Policy.source`. A source without an entry, such as that of a policy of your own, is a comment.

    Args:
        results: the dataset of `simulate`, whose policies and metrics are cited; or a policy (its name, class, table or
            object) or the name of a metric; or a list of these.

    Returns:
        The entries, as the text of a `.bib` file.

    Raises:
        InputError: an unknown name.

    Example:
        >>> results = jb.simulate(jb.Problem([0.9, 0.5]), "kl-ucb", horizon=50, seeds=8, metrics=["regret"])
        >>> print(jb.cite(results).partition("% kl-ucb")[2])
        <BLANKLINE>
        @inproceedings{garivier2011klucb,
          title = {The {KL-UCB} Algorithm for Bounded Stochastic Bandits and Beyond},
          author = {Garivier, Aur{\\'e}lien and Capp{\\'e}, Olivier},
          booktitle = {Conference on Learning Theory},
          pages = {359--376},
          year = {2011},
        }
        <BLANKLINE>
        % regret
        @misc{patil2019guarantees,
          title = {Stochastic Multi-armed Bandits with Arm-specific Fairness Guarantees},
          author = {Patil, Vishakha and Ghalme, Ganesh and Nair, Vineet and Narahari, Y.},
          year = {2019},
        }
        <BLANKLINE>
    """
    users: dict[str, list[str]] = {}
    for name, source in _named_sources(results):
        if source and name not in users.setdefault(source, []):
            users[source].append(name)
    lines = [_own_entry()]
    for source, names in users.items():
        entry = ENTRIES.get(source, f"% source: {source}")
        lines.append(f"% {', '.join(names)}\n{entry}\n")
    return "\n".join(lines)


def source_of(name: str) -> str:
    """The paper that a policy or metric is from, as a key of `ENTRIES` where it has an entry; empty if it has none."""
    if name in Policy.registry:
        return _short(Policy.registry[name].source)
    if name in INSTANCE_NUMBERS:
        return _of_summary((INSTANCE_NUMBERS[name][0].__doc__ or "").partition("\n")[0])
    return _of_summary(METRICS[name].summary) if name in METRICS else ""


def _named_sources(given: Any) -> Iterator[tuple[str, str]]:
    """The names of policies and metrics, each with its source."""
    if isinstance(given, xr.Dataset):
        results = restore_dimensions(given)
        for family, kind in dict.fromkeys(zip(results.family.values, results.kind.values, strict=True)):
            yield from _of_kind(str(family), str(kind))
        for name in [*recorded_metrics(results), *(name for name in INSTANCE_NUMBERS if name in results)]:
            yield name, source_of(name)
    elif isinstance(given, str) and given in [*METRICS, *INSTANCE_NUMBERS]:
        yield given, source_of(given)
    elif isinstance(given, str) and given not in Policy.registry:
        raise unknown_name("results", given, [*Policy.registry, *METRICS, *INSTANCE_NUMBERS])
    elif isinstance(given, Sequence) and not isinstance(given, str):
        for one in given:
            yield from _named_sources(one)
    elif isinstance(given, str | Mapping | Policy | type):
        kind = given.get("kind") if isinstance(given, Mapping) else given
        alias = Policy.registry.get(kind) if isinstance(kind, str) else None
        made = policy(given)
        for part in made.nested_policies():
            if isinstance(alias, Alias) and type(part) is alias.policy:
                yield alias.name, _short(alias.source)
            else:
                yield part.name, _short(part.source)
    else:
        raise InputError("results", given, "the dataset that `simulate` returns, or names of policies and metrics")


def _of_kind(family: str, kind: str) -> Iterator[tuple[str, str]]:
    """The policies of a coordinate `kind`, which leaves the base "ucb1" out; `family` may be the name of an alias."""
    names = kind.split("/")
    last = Policy.registry.get(names[-1])
    if last is not None and {"base", "black_box"} & set(last.parameters()):
        names.append("ucb1")
    alias = Policy.registry.get(family)
    if isinstance(alias, Alias) and alias.policy.name == names[0]:
        names[0] = family
    for name in names:
        yield name, source_of(name)


def _short(source: str) -> str:
    """The first source, without the place in it: "Auer et al. 2002" of "Auer et al. 2002, Fig. 3; guarantees paper"."""
    first = source.partition(";")[0].strip()
    return next((key for key in ENTRIES if first == key or first.startswith(f"{key},")), first)


def _of_summary(summary: str) -> str:
    """The source at the end of a metric's summary, in parentheses."""
    found = _IN_PARENTHESES.search(summary)
    return _short(found[1]) if found else ""


def _own_entry() -> str:
    """The entry of jaxbandit itself."""
    links = dict(link.split(", ", 1) for link in metadata.metadata("jaxbandit").get_all("Project-URL") or [])
    address = f"\n  url = {{{links['Homepage']}}}," if "Homepage" in links else ""
    return f"""\
@software{{jaxbandit,
  title = {{jaxbandit: simulations of multi-armed bandits with fairness constraints and delayed feedback}},
  author = {{{{The jaxbandit developers}}}},
  version = {{{version()}}},{address}
}}
"""
