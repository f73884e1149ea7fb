"""Paper 001: arm-specific fairness guarantees, Fair-Learn and its kin. The three plots of section 6."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from jaxbandit.experiments.plots.style import styles
from jaxbandit.experiments.statistics import CONFIDENCE, mean_over_instances
from jaxbandit.papers.drawing import bounds, curves, legend, note, panels
from jaxbandit.papers.evidence import (
    REPRODUCED,
    Claim,
    Evidence,
    Margin,
    decide,
    difference,
    final,
    number,
    over_runs,
    ratio,
)
from jaxbandit.papers.experiment import Data, Drawn, Experiment, Paper, Sizes, experiment

ALIKE = 0.1  # relative difference in regret within which a policy tracks another
LOG, SQUARE_ROOT = 1.0, 2.0  # growth over a factor 4 of t beside that over the factor before
PARTS = (16, 4, 1)  # of the horizon
WIDE = "problem.means=[0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45, 0.4, 0.35]"  # gaps of 0.05 instead of 0.01


def _experiments(sizes: Sizes) -> list[Experiment]:
    asked = ['simulation.metrics=["regret", "r_regret", "unfairness", "max_deficit"]']
    made = [experiment("001-regret", sizes), experiment("001-eta", sizes)]
    for part in PARTS[:-1]:
        shorter = [f"simulation.horizon={20_000 // part}", "simulation.record=1"]
        made.append(experiment("001-eta", sizes, changes=shorter, name=f"001-eta-{part}"))
    made.append(experiment("001-r-regret", sizes, changes=asked))
    for gaps, changes, horizon in (("narrow", [], 20_000), ("wide", [WIDE], 320_000)):
        horizon = min(horizon, 32_000) if sizes.quick else horizon
        for part in PARTS:
            shorter = [f"simulation.horizon={horizon // part}", "simulation.record=1", *changes]
            made.append(experiment("001-r-regret", sizes, changes=shorter, name=f"001-growth-{gaps}-{part}"))
    return made


def _tracking(data: Data) -> Evidence:
    results = data["001-regret"]
    usual = final(results, "regret", "ucb1")
    margins = [over_runs(label, (final(results, "regret", label) - usual) / usual.mean()) for label in ("FUCB", "LFG")]
    words = f"regret at τ = 0 beside that of UCB1, less 1; tracks it: within {ALIKE}"
    told = ", ".join(f"{m.where} {m.value:+.1%}" for m in margins)
    return decide(words, margins, -ALIKE, ALIKE).explained(
        f"{told}: FUCB without fractions is UCB1 selection by selection; LFG explores less, by a bonus of "
        "sqrt(1.5 log t / N) that is capped at 1, where UCB1 has sqrt(2 log t / N)"
    )


def _lower(data: Data) -> Evidence:
    margin = difference("F-TS, τ = 0", data["001-regret"], "regret", "F-TS", "ucb1")
    return decide("regret of F-TS less that of UCB1 (rewards); less than 0", [margin], high=0.0)


def _growth(data: Data, names: list[str], label: str) -> Margin:
    """R(T) - R(T/4) beside R(T/4) - R(T/16): the same runs, cut at three horizons."""
    early, middle, late = (final(data[name], "r_regret", label) for name in names)
    horizon = int(data[names[-1]]["round"][-1])
    return ratio(f"{label}, T = {horizon:,}", late - middle, middle - early)


def _cut(gaps: str) -> list[str]:
    return [f"001-growth-{gaps}-{part}" for part in PARTS]


def _grows_like_log(margins: list[Margin]) -> Evidence:
    words = (
        "growth of the r-regret from T/4 to T beside that from T/16 to T/4: 1 for log T, 2 for a square root, 4 for a "
        "straight line; below √2"
    )
    return decide(words, margins, high=float(np.sqrt(LOG * SQUARE_ROOT)))


def _logarithmic(data: Data) -> Evidence:
    evidence, wide = (
        _grows_like_log([_growth(data, _cut(gaps), label) for label in ("FUCB", "LFG")]) for gaps in ("narrow", "wide")
    )
    horizon = int(data["001-growth-wide-1"]["round"][-1])
    finding = (
        "with gaps of 0.01 UCB1 tells the best arm from the next only after some 2 log T / gap² = 200,000 plays, ten "
        f"times this horizon. With gaps of 0.05 and T = {horizon:,} it is {wide.number:.2f} "
        f"[{wide.low:.2f}, {wide.high:.2f}]: {wide.verdict}"
    )
    nearest = f"gaps of 0.05, T = {horizon:,}" if wide.verdict == REPRODUCED else ""
    return evidence.explained(finding, nearest)


def _large(data: Data) -> Evidence:
    names = ["001-eta-16", "001-eta-4", "001-eta"]
    evidence = _grows_like_log([_growth(data, names, "eta-fucb (eta=1)")])
    results = data["001-eta"]
    rest = 1 - float(results.fractions.sum())
    gaps = float(results.means.max()) - results.means.values[0]
    shared = rest * gaps.mean()  # a round: what the fractions leave, shared equally
    rate = final(results, "r_regret", "eta-fucb (eta=1)").mean() / float(results["round"][-1])
    return evidence.explained(
        "a large η keeps all deficits τ_k t - N_k alike, so the rounds that the fractions leave are shared equally: an "
        f"r-regret of {shared:.4f} a round, against {rate:.4f} measured; it grows with T",
        "small η, as far as 001-3 goes",
    )


def _trade(data: Data) -> Evidence:
    results = data["001-eta"]
    labels = results.policy.values.tolist()
    margins = []
    for low, high in itertools.pairwise(labels):
        if not final(results, "unfairness", low).any():
            break
        for metric, sign in (("r_regret", 1), ("unfairness", -1)):
            change = sign * (final(results, metric, high) - final(results, metric, low))
            margins.append(over_runs(f"{metric}, to {high}", change))
    words = (
        "rise of the r-regret (rewards) and fall of the unfairness (missed rounds) to the next larger eta, while there "
        "is unfairness left; more than 0"
    )
    return decide(words, margins, low=0.0).explained("little unfairness is left to trade at the last step")


def _fair(data: Data) -> Evidence:
    results = data["001-r-regret"]
    worst = float(results.max_deficit_ever.sel(policy="FUCB").max())
    margin = Margin(f"FUCB, τ = 0.05, {results.sizes['seed']} runs, every round", worst)
    return decide("largest τt - N_k(t) of any arm, run and round (rounds); less than 1", [margin], high=1.0)


def _etas(data: Data) -> np.ndarray:
    labels = data["001-eta"].policy.values.tolist()
    return np.array([number(label) for label in labels])


def _figures(data: Data) -> Iterator[Drawn]:
    figure, axes = panels(1, 3, high=2.0)
    for axis, file, metric, title in zip(
        axes[0], ("001-regret", "001-r-regret"), ("regret", "r_regret"), ("τ = 0", "τ = 0.05"), strict=False
    ):
        curves(axis, data[file], metric)
        bounds(axis, data, file, metric)
        axis.set_title(title, loc="left")
    axis, results = axes[0, 2], data["001-eta"]
    horizon, looks = float(results["round"][-1]), styles(data["001-r-regret"])
    for metric, dash in (("r_regret", "-"), ("unfairness", ":")):
        mean, error = (part.isel(round=-1).values / horizon for part in mean_over_instances(results, metric))
        name = {"r_regret": "η-FUCB, r-regret a round", "unfairness": "η-FUCB, unfairness a round"}[metric]
        look = {"color": looks["eta-FUCB"]["color"], "linestyle": dash, "marker": "o", "markersize": 2.5}
        axis.errorbar(_etas(data), mean, CONFIDENCE * error, label=name, elinewidth=0.7, **look)
    axis.set_xscale("log")
    axis.set_xlabel("η")
    axis.set_ylabel("rewards, rounds; a round")
    axis.set_title("τ = 0.05", loc="left")
    legend(figure, axes, f"T = {horizon:,.0f}, {note(results)}")
    caption = (
        "Regret without fairness, r-regret with it, and what η trades: 001 sec. 6 (fractions and T are not stated)."
    )
    yield Drawn("001-figure-3", caption, figure)


PAPER = Paper(
    "001",
    "Stochastic multi-armed bandits with arm-specific fairness guarantees",
    _experiments,
    _figures,
    (
        Claim("001-1", "Without fairness FUCB and LFG follow UCB1.", "sec. 6, first plot", "001-figure-3", _tracking),
        Claim(
            "001-2", "Without fairness F-TS has less regret than UCB1.", "sec. 6, first plot", "001-figure-3", _lower
        ),
        Claim(
            "001-3",
            "With fairness the r-regret of FUCB and LFG grows like log T.",
            "sec. 6, second plot",
            "001-figure-3",
            _logarithmic,
        ),
        Claim("001-4", "η trades unfairness for r-regret.", "sec. 6, third plot", "001-figure-3", _trade),
        Claim(
            "001-5",
            "Even for large η the r-regret stays logarithmic.",
            "sec. 6",
            "001-figure-3",
            _large,
        ),
        Claim("001-6", "FUCB owes no arm a whole round, at any round.", "Theorem 4", "001-figure-3", _fair),
    ),
)
