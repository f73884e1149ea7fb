"""The variables and coordinates of two datasets, joined along `policy` or along `seed`."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
import xarray as xr

from jaxbandit.core.errors import InputError
from jaxbandit.engine.settings import short
from jaxbandit.experiments.joining.joined_configs import differing
from jaxbandit.experiments.joining.pooling import Estimate, pooled

_CHECKED = {"policy", "seed", "phase"}  # dimensions that may differ


def check_same_problem(first: xr.Dataset, second: xr.Dataset) -> None:
    """Raise an error unless the arms, instances and recorded rounds, and what is kept of the problem, are the same.

    Raises:
        InputError: naming what differs, with both values.
    """
    for name in first.dims:
        if name not in _CHECKED and name in second.dims:
            _check_equal(first[name], second[name], "simulation.record" if name == "round" else str(name))
    for name in ("means", "means_of_round", "fractions", "penalties", "opportunities"):
        if name in first and name in second and "policy" not in (*first[name].dims, *second[name].dims):
            _check_equal(first[name], second[name], f"problem.{name}")


def _check_equal(first: xr.DataArray, second: xr.DataArray, key: str) -> None:
    one, two = first.values, second.transpose(*first.dims).values
    if not np.array_equal(one, two):
        raise differing(key, two.tolist(), one.tolist())


def with_policies(first: xr.Dataset, second: xr.Dataset) -> xr.Dataset:
    """The first dataset, followed by the policies of the second, which has the same runs."""
    first, second = _with_equal_phases(first, second)
    sizes = first.sizes["policy"], second.sizes["policy"]
    coordinates: dict[Hashable, xr.Variable] = {}
    for name in dict.fromkeys([*first.coords, *second.coords]):
        held = [data.coords[name].variable if name in data.coords else None for data in (first, second)]
        given = next(variable for variable in held if variable is not None)
        if "policy" not in given.dims:
            coordinates[name] = given
        else:
            one, two = (_filled(variable, given, size) for variable, size in zip(held, sizes, strict=True))
            coordinates[name] = xr.Variable(given.dims, _one_after_the_other(one, two), given.attrs)
    return _joined(first, second, "policy", lambda name: None).assign_coords(coordinates)


def _filled(variable: xr.Variable | None, like: xr.Variable, policies: int) -> np.ndarray:
    """The values of a coordinate along `policy`: missing values for policies that do not have it."""
    if variable is not None:
        return variable.values
    return np.full((policies, *like.shape[1:]), "" if _is_text(like.values) else np.nan)


def _one_after_the_other(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The values of a coordinate; words where one has words."""
    if not _is_text(first) and not _is_text(second):
        return np.concatenate([first, second])
    return np.concatenate([_in_words(first), _in_words(second)])


def _in_words(values: np.ndarray) -> np.ndarray:
    if _is_text(values):
        return np.array(values.tolist(), dtype=str)
    return np.array(["" if value != value else short(value) for value in values.tolist()], dtype=str)


def _is_text(values: np.ndarray) -> bool:
    return values.dtype.kind not in "biuf"


def _with_equal_phases(first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """The datasets with the same phases, padded for the policies that lack them."""
    most = max(data.sizes.get("phase", 0) for data in (first, second))
    if not most:
        return first, second
    about = next(data.phase_rounds.attrs for data in (first, second) if "phase_rounds" in data)
    return _with_phases(first, most, about), _with_phases(second, most, about)


def _with_phases(data: xr.Dataset, most: int, about: dict[str, str]) -> xr.Dataset:
    if data.sizes.get("phase") == most:
        return data
    runs = [data.sizes[dim] for dim in ("policy", "instance", "seed")]
    rounds = np.full((*runs, most), -1, np.int32)
    names = np.full((runs[0], most), "", object)
    if "phase_rounds" in data:
        own = data.sizes["phase"]
        rounds[..., :own] = data.phase_rounds.transpose("policy", "instance", "seed", "phase").values
        names[:, :own] = data.phase_name.transpose("policy", "phase").values
    data = data.drop_vars(["phase", "phase_rounds", "phase_name"], errors="ignore")
    data = data.assign(phase_rounds=(("policy", "instance", "seed", "phase"), rounds, about))
    return data.assign_coords(phase=np.arange(1, most + 1), phase_name=(("policy", "phase"), names))


def with_seeds(first: xr.Dataset, second: xr.Dataset) -> xr.Dataset:
    """The runs of both, which have the same policies in the same order."""

    def has_error(mean: str) -> bool:
        return all(one in data for one in (mean, f"{mean}_stderr") for data in (first, second))

    def of_both(name: str) -> np.ndarray | None:
        mean, dims = name.removesuffix("_stderr"), first[name].dims
        if has_error(mean):
            both = pooled(_estimate(first, mean, dims), _estimate(second, mean, dims))
            return both.mean if name == mean else both.stderr
        if "round" not in dims or "seed" in dims:
            return None
        sizes = [data.sizes["seed"] for data in (first, second)]  # a mean whose error was dropped
        parts = [data[name].transpose(*dims).values * size for data, size in zip((first, second), sizes, strict=True)]
        return np.asarray(sum(parts) / sum(sizes))

    names = [str(name) for name in first.data_vars]
    alone = [name for name in names if name.endswith("_stderr") and not has_error(name.removesuffix("_stderr"))]
    first = first.drop_vars(alone)

    coordinates = {
        name: ("seed", np.concatenate([values.values, second[name].values]))
        for name, values in first.coords.items()
        if values.dims == ("seed",) and name in second.coords
    }
    others = {name: values.variable for name, values in first.coords.items() if "seed" not in values.dims}
    return _joined(first, second, "seed", of_both).assign_coords({**others, **coordinates})


def _estimate(data: xr.Dataset, mean: str, dims: tuple[Hashable, ...]) -> Estimate:
    mean_values, stderr = (data[name].transpose(*dims).values for name in (mean, f"{mean}_stderr"))
    return Estimate(mean_values, stderr, data.sizes["seed"])


def _joined(
    first: xr.Dataset, second: xr.Dataset, along: str, of_both: Callable[[str], np.ndarray | None]
) -> xr.Dataset:
    """The variables that both datasets have, joined along a dimension; without coordinates.

    Args:
        of_both: the values of a variable of both, where it is computed; None where it is joined or the same.
    """
    made: dict[str, xr.Variable] = {}
    for name in map(str, first.data_vars):
        if name not in second:
            continue
        one, two = first[name].variable, second[name].variable
        _check_dimensions(name, one, two, along)
        computed = of_both(name)
        if computed is not None:
            values = computed
        elif along in one.dims:
            axis = one.dims.index(along)
            values = np.concatenate([one.values, two.transpose(*one.dims).values], axis=axis)
        else:
            values = one.values
        made[name] = xr.Variable(one.dims, values, one.attrs)
    return xr.Dataset(made)


def _check_dimensions(name: str, one: xr.Variable, two: xr.Variable, along: str) -> None:
    sizes = [{str(dim): size for dim, size in variable.sizes.items() if dim != along} for variable in (one, two)]
    if sizes[0] != sizes[1] or (along in one.dims) != (along in two.dims):
        words = f"must have the shape {sizes[0]} beside {along}, as in the other results"
        raise InputError(name, sizes[1], words)
