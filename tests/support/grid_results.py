"""Results of grids that several test files read, and large ones made of copies."""

import functools
import itertools

import numpy as np

import jaxbandit as jb
from jaxbandit.experiments.statistics import recorded

T, SEEDS = 120, 20
MEANS = [[0.5, 0.9, 0.1, 0.7], [0.2, 0.3, 0.4, 0.8]]
PROBLEM = jb.Problem(MEANS, fractions=[0.1, 0.05, 0.2, 0.15], penalties=0.3)
ETA, EXPLORATION = [1.0, 10.0, 100.0], [0.5, 2.0]
POINTS = list(itertools.product(ETA, EXPLORATION))
NAN = float("nan")


def on_grid(results, **values):
    """The results with coordinates that hold the parameters of their grids."""
    return results.assign_coords(
        {name: ("policy", np.array(held), {"key": f"policies.{name}"}) for name, held in values.items()}
    )


@functools.cache
def grids_beside_ucb1():
    """lfg over two parameters and over one, and ucb1; out of order, as a selection may leave them."""
    policies = [
        {"kind": "lfg", "eta": ETA, "exploration": EXPLORATION},
        "ucb1",
        {"kind": "lfg", "label": "short", "eta": [5.0, 7.0]},
    ]
    made = jb.simulate(PROBLEM, policies, horizon=T, seeds=SEEDS, record=12)
    eta, exploration = zip(*POINTS, strict=True)
    made = on_grid(made, eta=[*eta, NAN, 5.0, 7.0], exploration=[*exploration, NAN, NAN, NAN])
    return made.isel(policy=[3, 0, 6, 5, 2, 8, 1, 4, 7])


def crowd(results, sizes, spread=1.0):
    """Made-up results: of some of the policies many copies, with metrics of their own and a parameter `number`.

    Args:
        sizes: copies by label.
        spread: how far the metrics of the copies are apart.
    """
    labels = results.policy.values.tolist()
    places = [labels.index(label) for label, size in sizes.items() for _ in range(size)]
    copies = [i for size in sizes.values() for i in range(size)]
    made = results.isel(policy=places)
    names = [
        f"{label} ({i})" if sizes[label] > 1 else label for label, i in zip(made.policy.values, copies, strict=True)
    ]
    made = made.assign_coords(policy=names)
    rng = np.random.default_rng(1)
    for name in recorded(results):
        shift = made[name].isel(round=-1, instance=0, drop=True) * 0 + spread * rng.permutation(len(names))
        made[name] = made[name] + shift
        made[f"{name}_final"] = made[f"{name}_final"] + shift
    return on_grid(made.drop_vars(["eta", "exploration"], errors="ignore"), number=np.array(copies, float))


def without(results, metrics):
    """The results as if these metrics had not been asked for."""
    held = {name: (name, f"{name}_stderr", f"{name}_final") for name in metrics}
    ever = ["max_deficit_ever"] if "max_deficit" in metrics else []
    return results.drop_vars([*itertools.chain(*held.values()), *ever])


def unranked(results):
    return without(results, recorded(results))


def lfg(eta, exploration):
    return f"lfg (eta={eta:g}, exploration={exploration:g})"


def runs(results, label, metric):
    return results[f"{metric}_final"].sel(policy=label).values
