"""The table that a run prints: one line a policy, each metric at the horizon with its 95 % confidence."""

from __future__ import annotations

import math

import xarray as xr

from .plots import CONFIDENCE, mean_over_instances, recorded, sample_size


def table(results: xr.Dataset) -> str:
    """The summary of a results dataset as text, numbers aligned."""
    names = recorded(results)
    if "max_deficit" in names:
        names.append("max_deficit_ever")
    head = ["policy", *(name.replace("_", " ") for name in names)]
    ever = results.max_deficit_ever.max(("instance", "seed")) if "max_deficit_ever" in names else None
    columns = {n: mean_over_instances(results, n) for n in recorded(results)}
    body = []
    for label in results.policy.values.tolist():
        cells = [label]
        for name in names:
            if name == "max_deficit_ever" and ever is not None:
                cells.append(f"{float(ever.sel(policy=label)):.2f}")
                continue
            mean, error = (float(a.sel(policy=label).isel(round=-1)) for a in columns[name])
            cells.append(_with_error(mean, CONFIDENCE * error if results.sizes["seed"] > 1 else math.nan))
        body.append(cells)
    widths = [max(len(row[i]) for row in [head, *body]) for i in range(len(head))]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in [head, *body]
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    note = f"at T = {int(results['round'][-1]):,}: mean ± 95 % confidence over {sample_size(results)}"
    if ever is not None:
        note += "; max deficit ever is the largest of all runs"
    return "\n".join([*lines, note])


def _with_error(mean: float, half: float) -> str:
    if math.isnan(half):
        return f"{mean:.4g}"
    digits = 2 if half == 0 else max(0, min(6, 1 - math.floor(math.log10(half))))
    return f"{mean:.{digits}f} ± {half:.{digits}f}"
