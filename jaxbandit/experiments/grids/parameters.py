"""The parameters that grids vary, and the families of policies that vary them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from jaxbandit.core.errors import InputError, unknown_name
from jaxbandit.core.input_values import to_python
from jaxbandit.experiments.statistics import checked_results

if TYPE_CHECKING:
    import xarray as xr

MOST_SHOWN = 24  # policies of a group that a figure, a summary or an error shows one by one; of more it shows a few

Value = float | str  # of a parameter: NaN or "" where a policy does not have it


@checked_results
def parameters(results: xr.Dataset) -> list[str]:
    """The parameters that grids vary, by their config keys.

    Args:
        results: as `simulate` returns them.

    Returns:
        Names of coordinates along `policy`: `policies.` and the key in the policy's table, or `problem.` and the key
        in the problem's.

    Raises:
        InputError: `results` is not a dataset of `simulate`.

    Example:
        >>> grid = {"kind": "ucb1", "exploration": [1, 2]}
        >>> results = jb.simulate(jb.Problem([0.9, 0.5]), grid, horizon=9, seeds=2)
        >>> jb.grids.parameters(results)
        ['policies.exploration']
    """
    return [str(name) for name, c in results.coords.items() if c.dims == ("policy",) and "key" in c.attrs]


@checked_results
def families(results: xr.Dataset) -> list[str]:
    """The families of policies, in order: all points of a grid are one family, any other policy is a family by itself.

    Args:
        results: as `simulate` returns them.

    Raises:
        InputError: `results` is not a dataset of `simulate`.

    Example:
        >>> grid = {"kind": "ucb1", "exploration": [1, 2]}
        >>> results = jb.simulate(jb.Problem([0.9, 0.5]), [grid, "moss"], horizon=9, seeds=2)
        >>> jb.grids.families(results)
        ['ucb1', 'moss']
    """
    return family_names(results)


@checked_results
def varying(results: xr.Dataset) -> dict[str, list[str]]:
    """The parameters that take several values within a family, by family; families without any are left out.

    Args:
        results: as `simulate` returns them.

    Raises:
        InputError: `results` is not a dataset of `simulate`.

    Example:
        >>> grid = {"kind": "ucb1", "exploration": [1, 2]}
        >>> results = jb.simulate(jb.Problem([0.9, 0.5]), [grid, "moss"], horizon=9, seeds=2)
        >>> jb.grids.varying(results)
        {'ucb1': ['policies.exploration']}
    """
    columns = {name: results[name].values for name in parameters(results)}
    found: dict[str, list[str]] = {}
    for family in family_names(results):
        positions = family_positions(results, family)
        names = [name for name, values in columns.items() if len(parameter_values(values[positions])) > 1]
        if names:
            found[family] = names
    return found


def short_name(parameter: str) -> str:
    """The name of a parameter in labels and figures, as in labels of policies: without the prefix `policies.`."""
    return parameter.removeprefix("policies.")


def parameter_values(values: np.ndarray) -> list[Value]:
    """The different values of a parameter, without missing ones: numbers sorted, words in order of appearance."""
    different = [value for value in dict.fromkeys(values.tolist()) if not is_missing(value)]
    return sorted(different) if all(isinstance(value, int | float) for value in different) else different


def is_missing(value: Value) -> bool:
    """Whether a parameter's coordinate holds this for a policy that does not have the parameter."""
    return value is None or value == "" or value != value


def unknown_parameter(key: str, name: object, known: Sequence[str]) -> InputError:
    """The error for a parameter that no grid varies; a key without its prefix suggests the whole key."""
    if not known:
        return InputError(key, name, "the name of a parameter that a grid varies; these results have no grid")
    whole = next((parameter for parameter in known if parameter.endswith(f".{name}")), None)
    if whole is not None:
        return InputError(key, name, f"one of {', '.join(known)} (did you mean {whole!r}?)")
    return unknown_name(key, name, known)


def family_names(results: xr.Dataset) -> list[str]:
    """The families, in order."""
    return list(dict.fromkeys(results.family.values.tolist()))


def family_positions(results: xr.Dataset, family: str | None) -> np.ndarray:
    """The positions of a family's policies along `policy`; of all policies for None.

    Raises:
        InputError: no such family.
    """
    if family is None:
        return np.arange(results.sizes["policy"])
    if family not in family_names(results):
        raise unknown_label("family", family, family_names(results))
    return np.flatnonzero(results.family.values == family)


def unknown_label(key: str, label: object, labels: Iterable[str]) -> InputError:
    """The error for a label that is not one of `labels`; where these are many, it names some that are alike."""
    known = list(labels)
    if len(known) <= MOST_SHOWN:
        return unknown_name(key, label, known)
    alike = [name for name in known if str(label).lower() in name.lower()][:5] or known[:5]
    return InputError(key, label, f"one of {len(known):,} labels, such as {', '.join(map(repr, alike))}")


def problem_keys(results: xr.Dataset, positions: np.ndarray) -> list[str]:
    """The keys in which the problems of some policies differ; numbers on different problems are not comparable."""
    return [
        name
        for name in parameters(results)
        if name.startswith("problem.") and len(parameter_values(results[name].values[positions])) > 1
    ]


def comparable_groups(
    results: xr.Dataset, positions: np.ndarray, per: Sequence[str] | None
) -> Iterator[tuple[dict[str, Value], np.ndarray]]:
    """The policies that are compared with each other, by their values of some parameters.

    Args:
        results: as `simulate` returns them.
        positions: the policies.
        per: the parameters; None for none, which is refused where policies were simulated on different problems.

    Yields:
        The values of the parameters, and the positions of the policies that have them.

    Raises:
        InputError: a parameter that the results do not hold, or policies on different problems.
    """
    names = [] if per is None else to_python(per)
    if not isinstance(names, list):
        raise InputError("per", per, 'a parameter or a list of parameters, such as ["problem.penalties"]')
    for name in names:
        if name not in parameters(results):
            raise unknown_parameter("per", name, [*parameters(results), *(["instance"] if parameters(results) else [])])
    left = [name for name in problem_keys(results, positions) if name not in names]
    if left and names != []:
        words = f"must name {', '.join(left)}, too: numbers on different problems are not comparable"
        raise InputError("per", names, words)
    if left and per is None:
        words = (
            f"must be given, as per={left!r} for each problem by itself: the policies were simulated on problems that "
            f"differ in {', '.join(left)}, whose numbers are not comparable (per=[] compares them all the same)"
        )
        raise InputError("per", None, words)
    columns = [results[name].values[positions].tolist() for name in names]
    groups: dict[tuple[Value, ...], list[int]] = {}  # NaN differs from itself: "" stands for it
    held: dict[tuple[Value, ...], tuple[Value, ...]] = {}
    for place, values in enumerate(zip(*columns, strict=True) if columns else [()] * len(positions)):
        key = tuple("" if is_missing(value) else value for value in values)
        groups.setdefault(key, []).append(int(positions[place]))
        held.setdefault(key, tuple(values))
    for key, members in groups.items():
        if per is None or names:
            _check_same_problem(results, members)
        yield dict(zip(names, held[key], strict=True)), np.array(members)


def comparisons(
    results: xr.Dataset, family: str | None, per: str | Sequence[str] | None
) -> Iterator[tuple[dict[str, Value], xr.Dataset, np.ndarray]]:
    """The comparisons of a family's policies, or of all: `comparable_groups`, on each instance if `per` names it.

    Yields:
        The values of `per`, the results of the instances that are compared, and the positions of the policies.

    Raises:
        InputError: as `family_positions` and `comparable_groups` do.
    """
    per = [per] if isinstance(per, str) else per
    positions, names = family_positions(results, family), to_python(per)
    if not isinstance(names, list) or "instance" not in names:
        yield from ((point, results, members) for point, members in comparable_groups(results, positions, per))
        return
    others = [name for name in names if name != "instance"]
    for number, instance in enumerate(results.instance.values.tolist()):
        part = results.isel(instance=[number])
        for point, members in comparable_groups(part, positions, others or None):
            every = {**point, "instance": instance}
            yield {name: every[name] for name in names}, part, members


def _check_same_problem(results: xr.Dataset, positions: Sequence[int]) -> None:
    """Refuse policies whose problems differ although no coordinate of the results says so.

    Raises:
        InputError: about `per`.
    """
    for name in ("means", "fractions", "penalties", "opportunities"):
        if name in results and "policy" in results[name].dims:
            values = results[name].transpose("policy", ...).values[positions]
            if not np.array_equal(values, np.broadcast_to(values[:1], values.shape), equal_nan=True):
                words = (
                    f"cannot compare policies whose problems differ in {name}: the results lack the coordinate that "
                    "tells them apart; select the policies of one problem (per=[] compares them all the same)"
                )
                raise InputError("per", None, words)
