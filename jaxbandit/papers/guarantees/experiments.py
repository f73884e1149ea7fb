"""The experiments of the guarantees paper."""

from __future__ import annotations

import math

import numpy as np

from jaxbandit.papers.experiment import Data, Experiment, Sizes, experiment

REGRET, R_REGRET, ETA, CLIPPED = "guarantees-regret", "guarantees-r-regret", "guarantees-eta", "guarantees-eta-clipped"
FRACTIONS = "guarantees-fractions"  # the second plot with other fractions r
OTHER_R = (0.001, 0.01, 0.02, 0.09)  # the paper states no r; the plots show r = 0.05
FIGURE_ROUNDS = 20_000  # the rounds that the figure shows
TIMES = (1_250, 5_000, 20_000, 80_000, 320_000)  # horizons at which claims are decided; each is 4 times the one before
QUICK_HORIZON = 20_000
KNOWN_TIMES = TIMES[1:]  # horizons of the policies that know them


def known_name(horizon: int) -> str:
    """The experiment in which policies know the horizon."""
    return f"guarantees-horizon-known-{horizon}"


def experiments(sizes: Sizes) -> list[Experiment]:
    """The three plots of section 6 over more rounds than they show, and the policies of section 4."""
    horizon = QUICK_HORIZON if sizes.quick else TIMES[-1]
    made = [
        experiment("guarantees/first-plot", sizes, REGRET, changes=_recorded(horizon, ["regret"])),
        experiment("guarantees/second-plot", sizes, R_REGRET, changes=_recorded(horizon, ["regret", "r_regret"])),
    ]
    means = made[1].config["problem"]["means"]
    changes = {
        **_recorded(horizon, ["regret", "r_regret"]),
        "problem.means": [means] * len(OTHER_R),
        "problem.fractions": [[r] * len(means) for r in OTHER_R],
        "policies": [table for table in made[1].config["policies"] if table["label"] in ("UCB1", "FUCB", "LFG")],
    }
    made.append(experiment("guarantees/second-plot", sizes, FRACTIONS, changes=changes))
    changes = _recorded(horizon, ["r_regret", "unfairness"])
    for name, clipped in ((ETA, False), (CLIPPED, True)):
        made.append(
            experiment("guarantees/third-plot", sizes, name, changes={**changes, "policies.0.clipped": clipped})
        )
    for known in KNOWN_TIMES:
        if known <= horizon:
            share = round((math.log(known) / known) ** (1 / 3), 3)
            changes = {"simulation.horizon": known, "policies.0.eps": share}
            made.append(experiment("guarantees/horizon-known", sizes, known_name(known), changes=changes))
    return made


def _recorded(horizon: int, runs: list[str]) -> dict[str, object]:
    """A horizon, the rounds recorded until then, and the metrics of which the curve of every run is kept."""
    spaced = np.linspace(0, min(horizon, FIGURE_ROUNDS), 101)[1:].astype(int).tolist()
    record = sorted({*spaced, *(t for t in TIMES if t <= horizon)})
    return {"simulation.horizon": horizon, "simulation.record": record, "simulation.runs": runs}


def times(data: Data, name: str) -> list[int]:
    """The horizons at which the claims on an experiment are decided."""
    rounds = set(data[name]["round"].values.tolist())
    return [t for t in TIMES if t in rounds]


def at_time(data: Data, name: str, metric: str, label: str, t: int, instance: int = 0) -> np.ndarray:
    """A metric of every run of an instance in a recorded round, `[1, seed]`."""
    return np.asarray(data[name][f"{metric}_runs"].sel(policy=label, round=t).values[[instance]])
