"""Paper 000: penalised fairness, hard-threshold UCB. Experiments A to E, figures 1 to 4."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib
import numpy as np
import xarray as xr
from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullFormatter

from jaxbandit.experiments.plots.style import styles
from jaxbandit.experiments.statistics import CONFIDENCE
from jaxbandit.metrics.bounds.table import hard_threshold_pulls
from jaxbandit.papers.drawing import bounds, legend, note, panels
from jaxbandit.papers.evidence import (
    REPRODUCED,
    Claim,
    Evidence,
    Margin,
    at,
    decide,
    from_on,
    number,
    over_runs,
    tally,
)
from jaxbandit.papers.experiment import Data, Drawn, Experiment, Paper, Sizes, experiment

TAUS = ("0.2", "0.4", "0.8")
REWARDS = ("gaussian", "beta", "bernoulli")
ROWS = [(5, "0.2"), (5, "0.5"), (20, "0.2"), (20, "0.5")]
RIVALS = ("fair-learn", "lfg")
OWN = "hard-threshold-ucb"
LONG = 10**6  # rounds of experiments A and B once more, where bonuses are small beside the gaps
SHARE = 0.05  # of what it is owed that an arm may lack before it counts as unfair
JUMP = 3.5  # half of the seven arms that are not best


def _experiments(sizes: Sizes) -> list[Experiment]:
    few = ["problem.means.instances=10"]
    made = [experiment(f"000-{name}", sizes, ["simulation.seeds=100"]) for name in "ab"]
    for file, owed in (("000-a", []), ("000-b", ["problem.fractions=0.001"])):
        long = [f"simulation.horizon={LONG}", "simulation.seeds=100", *owed]
        made.append(experiment(file, sizes, ["simulation.horizon=200000"], long, name=f"{file}-long"))
    made += [experiment(f"000-c-k{arms}-tau{tau}", sizes, few) for arms in (5, 20) for tau in TAUS]
    few += ["simulation.seeds=4"]
    grids = [experiment(f"000-d-{setting}", sizes) for setting in (1, 2)]
    grids += [experiment(f"000-e-k{k}-tau{tau}-{reward}", sizes, few) for k, tau in ROWS for reward in REWARDS]
    return made + ([_thinned(one) for one in grids] if sizes.quick else grids)


def _thinned(one: Experiment) -> Experiment:
    """The same with every other scale, s = 1 among them."""
    tables = [
        {key: value[::-2][::-1] if isinstance(value, list) else value for key, value in table.items()}
        for table in one.config["policies"]
    ]
    return Experiment(one.name, {**one.config, "policies": tables})


def _arms(results: xr.Dataset, case: int, critical: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The critical or non-critical arms of a case: what N_k should grow with, mean N_k(T), its error, and tau_k T."""
    one = results.isel(instance=case, policy=0)
    gap = float(one.means.max()) - one.means.values
    chosen = (gap > 0) & ((gap <= one.penalties.values) if critical else (gap > one.penalties.values))
    inverse = 1 / (gap if critical else gap - one.penalties.values)[chosen] ** 2
    counts = one.pulls.values[:, chosen]
    owed = one.fractions.values[chosen] * float(results["round"][-1])
    return inverse, counts.mean(0), counts.std(0, ddof=1) / np.sqrt(len(counts)), owed


def _most(results: xr.Dataset, case: int, critical: bool) -> np.ndarray:
    """000 Theorem 2 on N_k(T) of the same arms."""
    one = results.isel(instance=[case])
    means, tau, penalty_rate = (one[name].values.T for name in ("means", "fractions", "penalties"))
    gap = means.max() - means[:, 0]
    chosen = (gap > 0) & ((gap <= penalty_rate[:, 0]) == critical)
    return hard_threshold_pulls(means, tau, penalty_rate, one["round"].values[-1:], constant=0.0)[0, chosen, 0]


def _exponents(results: xr.Dataset, critical: bool) -> list[Margin]:
    """The exponent of N_k in what it should be proportional to, a case each, over the arms off the level tau_k T."""
    margins = []
    for case in range(results.sizes["instance"]):
        inverse, mean, error, owed = _arms(results, case, critical)
        off = mean > 1.05 * owed if critical else mean < 0.95 * owed
        if off.sum() < 2:
            continue
        x, y = np.log(inverse[off]), np.log(mean[off])
        weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
        spread = np.sqrt(((weights * error[off] / mean[off]) ** 2).sum())
        margins.append(Margin(f"case {case + 1}, {off.sum()} arms", float(weights @ y), float(spread)))
    return margins


def _proportional(data: Data, critical: bool) -> Evidence:
    gap = "1/gap²" if critical else "1/(gap-A)²"
    words = f"exponent of N_k(T) in {gap} over the arms off the level τT; proportional: 1 within 0.2"
    file = "000-b" if critical else "000-a"
    evidence, longer = (decide(words, _exponents(data[name], critical), 0.8, 1.2) for name in (file, f"{file}-long"))
    results = data[f"{file}-long"]
    setting = f"T = {int(results['round'][-1]):,}, τ = {float(results.fractions.max()):g}"
    return evidence.explained(
        "at this horizon the best arm's own bonus, sqrt(2 log T / N), is some 0.03 or more and adds to every gap, "
        f"which weighs most on the smallest; at {setting} the exponent is {longer.number:.2f} [{longer.low:.2f}, "
        f"{longer.high:.2f}]: {longer.verdict}",
        setting if longer.verdict == REPRODUCED else "",
    )


def _lfg_at(results: xr.Dataset, t: int) -> str:
    """The LFG whose weight is the square root of t."""
    members = results.policy.values[results.family.values == "lfg"]
    etas = [number(label) for label in members]
    return str(members[int(np.argmin(np.abs(np.square(etas) - t)))])


def _least_regret(data: Data) -> Evidence:
    by_time: dict[int, list[Margin]] = {}
    for name in _panels_c():
        results = data[name]
        for t in results["round"].values.tolist():
            own, _ = at(results, "penalized_regret", OWN, t)
            for rival in RIVALS:
                label = _lfg_at(results, t) if rival == "lfg" else rival
                other, _ = at(results, "penalized_regret", label, t)
                margin = over_runs(f"{name}, T = {t:,}, {rival}", (other - own)[:, None])
                by_time.setdefault(t, []).append(margin)
    words = "penalized regret of a rival less that of hard-threshold UCB (rewards); more than 0"
    margins = [margin for made in by_time.values() for margin in made]
    after = from_on(by_time, 0.0)
    none = sum(margin.value == 0 for margin in margins)
    return decide(words, margins, 0.0).explained(
        f"{tally(margins)}; {none} are 0: there Fair-Learn and hard-threshold UCB still select alike",
        f"T >= {after:,}" if after else "",
    )


def _panels_c() -> list[str]:
    return [f"000-c-k{arms}-tau{tau}" for arms in (5, 20) for tau in TAUS]


def _panels_e() -> list[str]:
    return [f"000-e-k{arms}-tau{tau}-{reward}" for arms, tau in ROWS for reward in REWARDS]


def _unfair(results: xr.Dataset, family: str) -> tuple[np.ndarray, np.ndarray]:
    """The scales of a grid in experiment D, and each arm's (tau_k T - N_k)+ / (tau_k T), `[scale, seed, arm]`."""
    members = results.policy.values[results.family.values == family]
    owed = results.fractions.values[0] * float(results["round"][-1])
    lack = np.maximum(owed - results.pulls.sel(policy=members).isel(instance=0).values, 0) / owed
    return np.arange(1, len(members) + 1) / len(members), lack


def _jumps(data: Data, family: str) -> list[Margin]:
    """The most arms that turn unfair from one scale to the next, a setting each."""
    margins = []
    for setting in (1, 2):
        scales, lack = _unfair(data[f"000-d-{setting}"], family)
        unfair = (lack > SHARE).sum(axis=2)
        steps = unfair[:-1] - unfair[1:]  # from the larger scale to the next smaller one
        most = int(np.argmax(steps.mean(1)))
        where = f"{family}, setting {setting}, from s = {scales[most + 1]:.2f} to {scales[most]:.2f}"
        margins.append(over_runs(where, steps[most][None]))
    return margins


def _one_by_one(data: Data) -> Evidence:
    words = f"most arms turning unfair (lacking over {SHARE:.0%}) from one scale to the next; fewer than half of seven"
    return decide(words, _jumps(data, OWN), high=JUMP).explained("arms with close gaps turn unfair together")


def _at_once(data: Data) -> Evidence:
    words = f"most arms turning unfair (lacking over {SHARE:.0%}) from one scale to the next; more than half of seven"
    margins = {rival: _jumps(data, rival) for rival in RIVALS}
    holds = [rival for rival in RIVALS if decide(words, margins[rival], low=JUMP).verdict == REPRODUCED]
    told = []
    for setting in (1, 2):
        scales, lack = _unfair(data[f"000-d-{setting}"], "lfg")
        unfair = (lack > SHARE).sum(axis=2).mean(axis=1)
        counts = [f"{unfair[int(np.argmin(np.abs(scales - s)))]:.1f} at s = {s:g}" for s in (1, 0.95, 0.9, 0.8)]
        told.append(f"setting {setting}: {', '.join(counts)}")
    return decide(words, [margin for made in margins.values() for margin in made], low=JUMP).explained(
        f"under LFG arms turn unfair near s = 1, but one after the other; unfair arms in {'; '.join(told)}",
        f"{' and '.join(holds)} alone" if holds else "",
    )


def _tradeoff(results: xr.Dataset, family: str) -> tuple[np.ndarray, np.ndarray]:
    """Unfairness and expected reward at T over a grid, means over seeds: `[point, instance]`."""
    one = results.sel(policy=results.policy.values[results.family.values == family])
    unfair, regret = (one[f"{name}_final"].mean("seed").values for name in ("unfairness", "regret"))
    return unfair, float(results["round"][-1]) * results.means.max("arm").values - regret


def _line(unfair: np.ndarray, reward: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The means over instances, in increasing unfairness."""
    x, y = unfair.mean(1), reward.mean(1)
    order = np.argsort(x)
    return x[order], y[order]


def _more_reward(data: Data) -> Evidence:
    margins, draw = [], np.random.default_rng(0)
    for name in _panels_e():
        grids = {family: _tradeoff(data[name], family) for family in (OWN, *RIVALS)}
        count = grids[OWN][0].shape[1]
        samples = [np.arange(count), *draw.integers(0, count, (200, count))]  # the instances, then bootstraps of them
        lines = {f: [_line(x[:, chosen], y[:, chosen]) for chosen in samples] for f, (x, y) in grids.items()}
        for rival in RIVALS:
            low, high = (pick(lines[OWN][0][0][end], lines[rival][0][0][end]) for pick, end in ((max, 0), (min, -1)))
            for level in low + np.array([0.1, 0.3, 0.5, 0.7, 0.9]) * (high - low):
                pairs = zip(lines[OWN], lines[rival], strict=True)
                gain = [np.interp(level, *own) - np.interp(level, *other) for own, other in pairs]
                where = f"{name}, {rival}, at {level:.0f} missed rounds"
                margins.append(Margin(where, float(gain[0]), float(np.std(gain[1:], ddof=1))))
    words = "reward of hard-threshold UCB less a rival's at equal unfairness (rewards); more than 0"
    return decide(words, margins, 0.0).explained(tally(margins))


def _figure_1(data: Data) -> Drawn:
    figure, axes = panels(2, 3)
    for row, (file, critical) in enumerate((("000-a", False), ("000-b", True))):
        results = data[file]
        look = {k: styles(results)[OWN][k] for k in ("color", "marker")}
        for case, axis in enumerate(axes[row]):
            inverse, mean, error, owed = _arms(results, case, critical)
            axis.errorbar(inverse, mean, CONFIDENCE * error, linestyle="", markersize=4, label="mean $N_k(T)$", **look)
            axis.plot(
                inverse, _most(results, case, critical), "_", color="0.35", label="at most: Theorem 2, leading term"
            )
            off = mean > 1.05 * owed if critical else mean < 0.95 * owed
            if off.any():
                constant = np.exp(np.mean(np.log(mean[off] / inverse[off])))
                span = np.array([inverse.min() / 1.5, inverse.max() * 1.5])
                axis.plot(
                    span, constant * span, color="0.35", linestyle=(0, (4, 2)), linewidth=0.9, label="proportional"
                )
            axis.axhline(owed[0], color="0.6", linewidth=0.9, label="owed, τT")
            for side, scale in ((axis.xaxis, axis.set_xscale), (axis.yaxis, axis.set_yscale)):
                scale("log")
                side.set_major_locator(LogLocator(subs=(1, 3)))
                side.set_major_formatter(LogFormatterSciNotation(minor_thresholds=(9, 9)))
                side.set_minor_formatter(NullFormatter())
            axis.set_ylim(mean.min() / 2, max(mean.max(), owed[0]) * 3)
            axis.set_title(f"{'B' if critical else 'A'}, case {case + 1}", loc="left")
            axis.set_xlabel(r"$1/\Delta_k^2$" if critical else r"$1/(\Delta_k - A_k)^2$")
        axes[row, 0].set_ylabel("selections by T")
    legend(figure, axes, f"T = {int(data['000-a']['round'][-1]):,}, {note(data['000-a'].isel(instance=[0]), 'bars')}")
    return Drawn("000-figure-1", "Selections of arms not worth their penalty (A) and worth it (B): 000 Fig. 1.", figure)


def _figure_2(data: Data) -> Drawn:
    figure, axes = panels(2, 3)
    for axis, name in zip(axes.flat, _panels_c(), strict=True):
        results = data[name]
        times = results["round"].values
        looks = styles(results)
        for policy in (OWN, *RIVALS):
            labels = [_lfg_at(results, t) if policy == "lfg" else policy for t in times.tolist()]
            regret = np.stack(
                [at(results, "penalized_regret", label, t)[0] for label, t in zip(labels, times, strict=True)]
            )
            error = regret.std(axis=1, ddof=1) / np.sqrt(regret.shape[1])
            look = {k: looks[labels[-1]][k] for k in ("color", "marker")}
            axis.errorbar(times, regret.mean(1), CONFIDENCE * error, label=policy, markersize=3, elinewidth=0.7, **look)
        arms, tau = results.sizes["arm"], float(results.fractions[0].sum())
        bounds(axis, data, name, "penalized_regret", [OWN])
        axis.set_title(f"K = {arms}, τ = {tau:.1f}", loc="left")
        axis.set_xlabel("horizon T")
        axis.set_xscale("log")
    for row in axes:
        row[0].set_ylabel("penalized regret (rewards)")
    caption = "Penalized regret against the horizon: 000 Fig. 2, experiment C."
    legend(
        figure, axes, note(data[_panels_c()[0]], "bars").replace("95 % confidence", "95 % confidence over instances")
    )
    return Drawn("000-figure-2", caption, figure)


def _figure_3(data: Data) -> Drawn:
    figure, axes = panels(2, 3, sharex=True)
    for row, setting in enumerate((1, 2)):
        results = data[f"000-d-{setting}"]
        owed = results.fractions.values[0] * float(results["round"][-1])
        colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.92, results.sizes["arm"]))
        for axis, family in zip(axes[row], (OWN, "fair-learn", "lfg"), strict=True):
            scales, lack = _unfair(results, family)
            for arm, colour in enumerate(colours):
                axis.plot(scales, lack.mean(1)[:, arm] * owed[arm], color=colour, label=f"arm {arm + 1}")
            axis.set_title(f"{family}, setting {setting}", loc="left")
            axis.set_xlabel("scale s")
        axes[row, 0].set_ylabel("missed rounds, $(τ_kT - N_k)_+$")
    legend(
        figure, axes, f"mean over {data['000-d-1'].sizes['seed']} runs, T = {int(data['000-d-1']['round'][-1]):,}", 8
    )
    return Drawn(
        "000-figure-3", "Unfairness of each arm, the best first, over the scale: 000 Fig. 3, experiment D.", figure
    )


def _figure_4(data: Data) -> Drawn:
    figure, axes = panels(4, 3, high=1.6)
    for axis, name in zip(axes.flat, _panels_e(), strict=True):
        results = data[name]
        looks = styles(results)
        for family in (OWN, *RIVALS):
            label = results.policy.values[results.family.values == family][-1]
            look: Any = {k: looks[label][k] for k in ("color", "marker")}
            axis.plot(*_line(*_tradeoff(results, family)), label=family, markersize=3, **look)
        arms, tau, reward = name.split("-")[2:]
        axis.set_title(f"K = {arms[1:]}, τ = {tau[3:]}, {reward}", loc="left")
        axis.set_xlabel("unfairness (missed rounds)")
    for row in axes:
        row[0].set_ylabel("expected reward")
    first = data[_panels_e()[0]]
    sample = (
        f"mean over {first.sizes['instance']} instances × {first.sizes['seed']} runs, T = {int(first['round'][-1]):,}"
    )
    legend(figure, axes, sample)
    return Drawn(
        "000-figure-4", "Expected reward against unfairness over the scales: 000 Fig. 4, experiment E.", figure
    )


def _figures(data: Data) -> Iterator[Drawn]:
    yield _figure_1(data)
    yield _figure_2(data)
    yield _figure_3(data)
    yield _figure_4(data)


PAPER = Paper(
    "000",
    "A new look at fairness in stochastic multi-armed bandit problems",
    _experiments,
    _figures,
    (
        Claim(
            "000-1",
            "Arms not worth their penalty are played in proportion to 1/(gap-A)², while below τT.",
            "sec. 6, Fig. 1 upper row",
            "000-figure-1",
            lambda data: _proportional(data, critical=False),
        ),
        Claim(
            "000-2",
            "Arms worth their penalty are played in proportion to 1/gap², where above τT.",
            "sec. 6, Fig. 1 bottom row",
            "000-figure-1",
            lambda data: _proportional(data, critical=True),
        ),
        Claim(
            "000-3",
            "Hard-threshold UCB has the least penalized regret of the three at every horizon.",
            "sec. 6, Fig. 2",
            "000-figure-2",
            _least_regret,
        ),
        Claim(
            "000-4",
            "Under hard-threshold UCB arms become unfair one by one as the scale falls.",
            "sec. 6 and App. A, Fig. 3",
            "000-figure-3",
            _one_by_one,
        ),
        Claim(
            "000-5",
            "Under Fair-Learn and LFG all arms become unfair at once.",
            "sec. 6 and App. A, Fig. 3",
            "000-figure-3",
            _at_once,
        ),
        Claim(
            "000-6",
            "At equal unfairness hard-threshold UCB earns the most.",
            "sec. 6 and App. A, Fig. 4",
            "000-figure-4",
            _more_reward,
        ),
    ),
)
