"""What the page shows of results: policies, metrics, curves, arms and phases, with the numbers in an array store."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib
import matplotlib.colors
import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.core.input_values import to_python
from jaxbandit.experiments.dashboard.arms import arms
from jaxbandit.experiments.dashboard.arrays import ArrayStore
from jaxbandit.experiments.dashboard.best import marked_policies, ticked_places
from jaxbandit.experiments.dashboard.commands import command_parts
from jaxbandit.experiments.dashboard.theory import theorems
from jaxbandit.experiments.grids.parameters import parameters, unknown_label
from jaxbandit.experiments.grids.ranking import Representative, ranking_metric, representatives
from jaxbandit.experiments.plots.legends import representative_looks
from jaxbandit.experiments.plots.style import Look, styles
from jaxbandit.experiments.statistics import (
    check_all_seeds,
    check_last_round,
    distinct_metrics,
    joint_label,
    larger_is_better,
    mean_of_runs,
    mean_over_instances,
    metric_words,
    recorded_metrics,
    sample_size,
    t_quantile,
    t_quantile_of,
)
from jaxbandit.metrics.definitions import METRICS

if TYPE_CHECKING:
    import xarray as xr

MOST_NAMED = 50  # policies whose curves the user may name
_MOST_FINALS = 40_000  # means at T of a metric; with more, the page has the means over instances alone
_MOST_CURVES = 250_000  # recorded means of all metrics, likewise
_SHADES = 16  # of a colour map
_DASHES: dict[str, list[float]] = {"-": [], "--": [3.7, 1.6], ":": [1.0, 1.65], "-.": [6.4, 1.6, 1.0, 1.6]}


def contents(results: xr.Dataset, named: Sequence[str], title: str, file: str = "results.nc") -> str:
    """The numbers of the page and their description as text.

    Args:
        results: as `simulate` returns them.
        named: labels of further policies whose curves the page holds.
        title: the title of the page.
        file: the name of the file of results that commands refer to.

    Raises:
        InputError: about `curves` or the results.
    """
    check_all_seeds(results)
    check_last_round(results)
    for name in ("means", "pulls"):
        if name not in results:
            raise InputError("results", list(map(str, results.data_vars)), f"must have the variable {name!r}")
    store = ArrayStore()
    shown = _shown(results, named)
    numbers = [_metric(results, equal, list(shown), store) for equal in distinct_metrics(results).values()]
    found, missing = theorems(results, list(shown))
    places = {position: place for place, position in enumerate(shown)}
    bounds = [
        {"policy": places[one.position], "metric": one.metric, "name": one.name, "text": one.text}
        | {"values": store.add(_with_mean(one.values))}
        for one in found
    ]
    description: dict[str, object] = {
        "title": title,
        "file": file,
        "horizon": int(results["round"][-1]),
        "rounds": store.add(results["round"].values),
        "confidence": t_quantile(results),
        "confidenceOfInstance": t_quantile_of(1, results.sizes["seed"]),
        "sample": sample_size(results),
        "seeds": int(results.sizes["seed"]),
        "instances": [str(number) for number in results.instance.values.tolist()],
        "ranking": ranking_metric(results),
        "policies": _policies(results, store),
        "parameters": [_parameter(results, name, store) for name in parameters(results)],
        "metrics": [*numbers, *_largest_deficits(results, store)],
        "shown": _looks(results, shown),
        "ticked": ticked_places(results, shown),
        **marked_policies(results),
        "theory": bounds,
        "theoryMissing": missing,
        "arms": arms(results, list(shown), store),
        "phases": _phases(results, list(shown), store),
        "commands": command_parts(results),
        "config": str(results.attrs.get("config", "")),
        "versions": {name: str(results.attrs.get(name, "")) for name in ("jaxbandit_version", "jax_version", "device")},
        "colourMaps": {name: _shades(name) for name in ("cividis", "cividis_r", "viridis")},
    }
    return store.text(description)


def _shown(results: xr.Dataset, named: Sequence[str]) -> dict[int, Representative]:
    """The policies whose curves the page has, by position: the representatives, and those that the user names."""
    names = to_python(named)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or len(names) > MOST_NAMED:
        raise InputError("curves", names, f"a list of at most {MOST_NAMED} labels of policies")
    labels = results.policy.values.tolist()
    shown = representatives(results, ranking_metric(results))
    for name in names:
        if name not in labels:
            raise unknown_label("curves", name, labels)
        shown.setdefault(labels.index(name), Representative(name, ""))
    return shown


def _looks(results: xr.Dataset, shown: Mapping[int, Representative]) -> list[dict[str, object]]:
    """Position, role and look of each shown policy."""
    looks = [look for _, look in representative_looks(results, shown, styles(results))]
    return [
        {"policy": position, "role": policy.role, "colour": _hexadecimal(look), "dash": _dash(look["linestyle"])}
        for (position, policy), look in zip(shown.items(), looks, strict=True)
    ]


def _hexadecimal(look: Look) -> str:
    return matplotlib.colors.to_hex(look["color"])


def _dash(linestyle: Any) -> list[float]:
    """The lengths of dashes and gaps, in widths of the line."""
    return _DASHES[linestyle] if isinstance(linestyle, str) else [float(length) for length in linestyle[1]]


def _shades(name: str) -> list[str]:
    return [matplotlib.colors.to_hex(colour) for colour in matplotlib.colormaps[name](np.linspace(0, 1, _SHADES))]


def _policies(results: xr.Dataset, store: ArrayStore) -> dict[str, object]:
    """Labels, and for each policy the numbers of its family and kind, with the colour of each family."""
    looks, labels = styles(results), results.policy.values.tolist()
    families = list(dict.fromkeys(results.family.values.tolist()))
    kinds = list(dict.fromkeys(results.kind.values.tolist()))
    last = {family: label for label, family in zip(labels, results.family.values.tolist(), strict=True)}
    return {
        "labels": labels,
        "families": families,
        "kinds": kinds,
        "family": store.add(np.array([families.index(name) for name in results.family.values.tolist()]), "<f4"),
        "kind": store.add(np.array([kinds.index(name) for name in results.kind.values.tolist()]), "<f4"),
        "colours": [_hexadecimal(looks[last[family]]) for family in families],
    }


def _parameter(results: xr.Dataset, name: str, store: ArrayStore) -> dict[str, object]:
    """A parameter of grids and its value for each policy: a number, or the place of a word in `words`, -1 for none."""
    values = results[name].values
    if np.issubdtype(values.dtype, np.number):
        return {"name": name, "words": None, "values": store.add(values.astype(float))}
    words = [word for word in dict.fromkeys(values.tolist()) if word != ""]
    places = [words.index(word) if word != "" else -1 for word in values.tolist()]
    return {"name": name, "words": words, "values": store.add(np.array(places, float))}


def _metric(results: xr.Dataset, names: Sequence[str], shown: list[int], store: ArrayStore) -> dict[str, object]:
    """A metric, or several that are equal: means and standard errors.

    There are those at T of all policies, and those in the recorded rounds of the policies that are shown.
    """
    name, last = names[0], results.isel(round=[-1])
    curves = results.isel(policy=shown)
    count = len(recorded_metrics(results)) * len(shown) * results.sizes["round"] * results.sizes["instance"]
    return {
        "name": name,
        "names": list(names),
        "label": joint_label(results, names),
        "formula": " ".join(
            METRICS[one].summary if one in METRICS else str(results[one].attrs.get("formula", "")) for one in names
        ),
        "larger": larger_is_better(results, name),
        "final": _means(last, name, results.sizes["policy"] * results.sizes["instance"] <= _MOST_FINALS, store),
        "curves": _means(curves, name, count <= _MOST_CURVES, store) if results.sizes["round"] > 1 else None,
    }


def _means(part: xr.Dataset, name: str, with_instances: bool, store: ArrayStore) -> dict[str, object]:
    """Means and standard errors `[policy, series, round]`. Series 0 is the mean over instances.

    The others are the instances, if there are several and `with_instances` keeps them.
    """
    mean, error = (values.transpose("policy", "round").values[:, None] for values in mean_over_instances(part, name))
    if part.sizes["seed"] == 1:
        error = np.full_like(error, math.nan)
    if with_instances and part.sizes["instance"] > 1:
        order = ("policy", "instance", "round")
        mean = np.concatenate([mean, part[name].transpose(*order).values], axis=1)
        error = np.concatenate([error, part[f"{name}_stderr"].transpose(*order).values], axis=1)
    return {"mean": store.add(mean), "error": store.add(error)}


def _with_mean(values: np.ndarray) -> np.ndarray:
    """Values `[instance, round]`, before them their mean over instances, if there are several."""
    return values if len(values) == 1 else np.concatenate([values.mean(axis=0, keepdims=True), values])


def _largest_deficits(results: xr.Dataset, store: ArrayStore) -> Iterator[dict[str, object]]:
    """`max_deficit_ever` and `group_max_deficit_ever` as metrics at T alone."""
    count = results.sizes["policy"] * results.sizes["instance"]
    for name in ("max_deficit_ever", "group_max_deficit_ever"):
        if name not in results:
            continue
        runs = results[name].transpose("policy", "instance", "seed").values[:, None]
        if count <= _MOST_FINALS and runs.shape[2] > 1:  # series 0, the mean over instances, and the instances
            of_each = runs[:, 0, :, None]
            means, errors = zip(mean_of_runs(runs), mean_of_runs(of_each), strict=True)
            mean, error = np.concatenate(means, axis=1), np.concatenate(errors, axis=1)
        else:
            mean, error = mean_of_runs(runs)
        words = name.removesuffix("_ever")
        yield {
            "name": name,
            "names": [name],
            "label": str(results[name].attrs.get("long_name", f"{metric_words(name)}, over all rounds (rounds)")),
            "formula": f"the largest {words} in rounds 1 to T, mean over runs",
            "larger": False,
            "final": {"mean": store.add(mean[..., None]), "error": store.add(error[..., None])},
            "curves": None,
        }


def _phases(results: xr.Dataset, shown: list[int], store: ArrayStore) -> dict[str, object] | None:
    """The mean rounds of the shown policies in each phase, `[policy, phase]`, NaN where a policy has no such phase."""
    if "phase_rounds" not in results:
        return None
    part = results.isel(policy=shown)
    rounds = part.phase_rounds
    mean = rounds.where(rounds >= 0).mean(("instance", "seed")).transpose("policy", "phase").values
    return {"names": part.phase_name.transpose("policy", "phase").values.tolist(), "rounds": store.add(mean)}
