"""The experiments of the guarantees paper."""

from __future__ import annotations

from jaxbandit.papers.experiment import Experiment, Sizes, experiment

REGRET, R_REGRET, ETA = "guarantees-regret", "guarantees-r-regret", "guarantees-eta"
PARTS = (16, 4, 1)  # simulations end at these parts of the horizon
# The paper's gaps are 0.01 from arm to arm; with gaps of 0.05 the best arm is found sooner.
WIDE_GAPS = [0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45, 0.4, 0.35]
HORIZON, WIDE_HORIZON, QUICK_WIDE_HORIZON = 20_000, 320_000, 32_000


def name_eta(part: int) -> str:
    """The name of the experiment on eta that ends at a part of the horizon."""
    return ETA if part == 1 else f"{ETA}-part{part}"


def name_growth(gaps: str, part: int) -> str:
    """The name of the experiment on r-regret with "narrow" or "wide" gaps that ends at a part of the horizon."""
    return f"guarantees-growth-{gaps}-part{part}"


def experiments(sizes: Sizes) -> list[Experiment]:
    """The three plots of section 6, and what they show at parts of the horizon and with wider gaps."""
    made = [experiment("guarantees/plot-1-regret", sizes, REGRET), _eta(sizes, 1)]
    made += [_eta(sizes, part) for part in PARTS[:-1]]
    changes: dict[str, object] = {"simulation.metrics": ["regret", "r_regret", "unfairness", "max_deficit"]}
    made.append(experiment("guarantees/plot-2-r-regret", sizes, R_REGRET, changes=changes))
    wide_horizon = QUICK_WIDE_HORIZON if sizes.quick else WIDE_HORIZON
    for gaps, means, horizon in (("narrow", None, HORIZON), ("wide", WIDE_GAPS, wide_horizon)):
        for part in PARTS:
            changes = _shorter(horizon // part) | ({} if means is None else {"problem.means": means})
            made.append(experiment("guarantees/plot-2-r-regret", sizes, name_growth(gaps, part), changes=changes))
    return made


def _eta(sizes: Sizes, part: int) -> Experiment:
    changes = {} if part == 1 else _shorter(HORIZON // part)
    return experiment("guarantees/plot-3-eta", sizes, name_eta(part), changes=changes)


def _shorter(horizon: int) -> dict[str, object]:
    return {"simulation.horizon": horizon, "simulation.record": 1}
