"""The claims of the penalties paper, and the functions that decide them."""

from __future__ import annotations

import numpy as np
import xarray as xr

from jaxbandit.papers.claim import Claim
from jaxbandit.papers.evidence import (
    REPRODUCED,
    Estimate,
    Evidence,
    at_round,
    decide,
    decide_over_time,
    mean_over_runs,
    parameter_in_label,
    signs_in_words,
)
from jaxbandit.papers.experiment import Data
from jaxbandit.papers.penalties.experiments import OWN, PANELS_C, PANELS_E, RIVALS, SETTINGS, name_a_b, name_d

TOLERATED = 0.05  # the part of its guaranteed rounds that an arm may lack before it counts as unfair
HALF = 3.5  # of the seven arms that are not the best


def counts_of_arms(
    results: xr.Dataset, case: int, critical: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Counts of the critical or non-critical arms of a case, each `[arm]`.

    Returns:
        What N_k(T) should be proportional to (1/gap^2, or 1/(gap - A)^2 for non-critical arms), the mean of N_k(T),
        its standard error, and tau_k T.
    """
    one = results.isel(instance=case, policy=0)
    gap = float(one.means.max()) - one.means.values
    selected = (gap > 0) & ((gap <= one.penalties.values) if critical else (gap > one.penalties.values))
    inverse = 1 / (gap if critical else gap - one.penalties.values)[selected] ** 2
    counts = one.pulls.values[:, selected]
    quota = one.fractions.values[selected] * float(results["round"][-1])
    return inverse, counts.mean(0), counts.std(0, ddof=1) / np.sqrt(len(counts)), quota


def off_quota(mean: np.ndarray, quota: np.ndarray, critical: bool) -> np.ndarray:
    """Whether the mean count of an arm is off tau_k T: above it for critical arms, below it for the others."""
    return mean > 1.05 * quota if critical else mean < 0.95 * quota


def _exponents(results: xr.Dataset, critical: bool) -> list[Estimate]:
    """Per case, the exponent of N_k(T) in what it should be proportional to, over the arms off tau_k T."""
    estimates = []
    for case in range(results.sizes["instance"]):
        inverse, mean, error, quota = counts_of_arms(results, case, critical)
        off = off_quota(mean, quota, critical)
        if off.sum() < 2:
            continue
        x, y = np.log(inverse[off]), np.log(mean[off])
        weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
        spread = np.sqrt(((weights * error[off] / mean[off]) ** 2).sum())
        estimates.append(Estimate(f"case {case + 1}, {off.sum()} arms", float(weights @ y), float(spread)))
    return estimates


def _proportional(data: Data, critical: bool) -> Evidence:
    inverse = "1/gap²" if critical else "1/(gap - A)²"
    statistic = f"exponent of N_k(T) in {inverse} over the arms off τT; proportional: 1 within 0.2"
    evidence, longer = (
        decide(statistic, _exponents(data[name_a_b(critical, long)], critical), 0.8, 1.2) for long in (False, True)
    )
    results = data[name_a_b(critical, long=True)]
    setting = f"T = {int(results['round'][-1]):,}, τ = {float(results.fractions.max()):g}"
    return evidence.explained(
        "at this horizon the best arm's own bonus, sqrt(2 log T / N), is about 0.03 or more; it adds to every gap, and "
        f"most, in proportion, to the smallest; at {setting} the exponent is {longer.number:.2f} [{longer.low:.2f}, "
        f"{longer.high:.2f}]: {longer.verdict}",
        setting if longer.verdict == REPRODUCED else "",
    )


def lfg_at(results: xr.Dataset, t: int) -> str:
    """The LFG whose parameter eta is the square root of t."""
    members = results.policy.values[results.family.values == "lfg"]
    etas = [parameter_in_label(label) for label in members]
    return str(members[int(np.argmin(np.abs(np.square(etas) - t)))])


def _least_regret(data: Data) -> Evidence:
    by_time: dict[int, list[Estimate]] = {}
    for name, panel in PANELS_C.items():
        results = data[name]
        for t in results["round"].values.tolist():
            own, _ = at_round(results, "penalized_regret", OWN, t)
            for rival in RIVALS:
                label = lfg_at(results, t) if rival == "lfg" else rival
                other, _ = at_round(results, "penalized_regret", label, t)
                estimate = mean_over_runs(f"{panel}, T = {t:,}, {rival}", (other - own)[:, None])
                by_time.setdefault(t, []).append(estimate)
    statistic = "penalized regret of another policy minus that of hard-threshold UCB (rewards); more than 0"
    estimates = [estimate for at_time in by_time.values() for estimate in at_time]
    ties = sum(estimate.value == 0 for estimate in estimates)
    return decide_over_time(statistic, by_time, 0.0).explained(
        f"{signs_in_words(estimates)}; {ties} are 0: up to these horizons Fair-Learn and hard-threshold UCB make the "
        "same selections"
    )


def deficits(results: xr.Dataset, family: str) -> tuple[np.ndarray, np.ndarray]:
    """The scales of a grid in experiment D, and (tau_k T - N_k)+ / (tau_k T) per arm, `[scale, seed, arm]`."""
    members = results.policy.values[results.family.values == family]
    quota = results.fractions.values[0] * float(results["round"][-1])
    lack = np.maximum(quota - results.pulls.sel(policy=members).isel(instance=0).values, 0) / quota
    return np.arange(1, len(members) + 1) / len(members), lack


def _largest_jumps(data: Data, family: str) -> list[Estimate]:
    """Per setting, the largest number of arms that become unfair from one scale to the next."""
    estimates = []
    for setting in SETTINGS:
        scales, lack = deficits(data[name_d(setting)], family)
        unfair = (lack > TOLERATED).sum(axis=2)
        jumps = unfair[:-1] - unfair[1:]  # from the larger scale to the next smaller one
        largest = int(np.argmax(jumps.mean(1)))
        words = f"{family}, setting {setting}, from s = {scales[largest + 1]:.2f} to {scales[largest]:.2f}"
        estimates.append(mean_over_runs(words, jumps[largest][None]))
    return estimates


_JUMP = (
    f"largest number of arms that become unfair (lack more than {TOLERATED:.0%} of their guaranteed rounds) from one "
    "scale to the next"
)


def _one_by_one(data: Data) -> Evidence:
    evidence = decide(f"{_JUMP}; fewer than half of seven", _largest_jumps(data, OWN), high=HALF)
    return evidence.explained("arms with similar gaps become unfair together")


def _all_at_once(data: Data) -> Evidence:
    statistic = f"{_JUMP}; more than half of seven"
    by_rival = {rival: _largest_jumps(data, rival) for rival in RIVALS}
    holds = [rival for rival in RIVALS if decide(statistic, by_rival[rival], low=HALF).verdict == REPRODUCED]
    in_words = []
    for setting in SETTINGS:
        scales, lack = deficits(data[name_d(setting)], "lfg")
        unfair = (lack > TOLERATED).sum(axis=2).mean(axis=1)
        counts = [f"{unfair[int(np.argmin(np.abs(scales - s)))]:.1f} at s = {s:g}" for s in (1, 0.95, 0.9, 0.8)]
        in_words.append(f"setting {setting}: {', '.join(counts)}")
    every = [estimate for estimates in by_rival.values() for estimate in estimates]
    return decide(statistic, every, low=HALF).explained(
        "under LFG the arms become unfair one after the other while s is near 1; number of unfair arms in "
        f"{'; '.join(in_words)}",
        f"{' and '.join(holds)} only" if holds else "",
    )


def tradeoff(results: xr.Dataset, family: str) -> tuple[np.ndarray, np.ndarray]:
    """Unfairness and expected reward at T over a grid, means over seeds: both `[configuration, instance]`."""
    one = results.sel(policy=results.policy.values[results.family.values == family])
    unfair, regret = (one[f"{name}_final"].mean("seed").values for name in ("unfairness", "regret"))
    return unfair, float(results["round"][-1]) * results.means.max("arm").values - regret


def tradeoff_line(unfair: np.ndarray, reward: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The means of a trade-off over instances, in order of unfairness: both `[configuration]`."""
    x, y = unfair.mean(1), reward.mean(1)
    order = np.argsort(x)
    return x[order], y[order]


def _more_reward(data: Data) -> Evidence:
    estimates, draw = [], np.random.default_rng(0)
    for name, panel in PANELS_E.items():
        grids = {family: tradeoff(data[name], family) for family in (OWN, *RIVALS)}
        count = grids[OWN][0].shape[1]
        samples = [np.arange(count), *draw.integers(0, count, (200, count))]  # the instances, then bootstrap samples
        lines = {f: [tradeoff_line(x[:, sample], y[:, sample]) for sample in samples] for f, (x, y) in grids.items()}
        for rival in RIVALS:
            low, high = (pick(lines[OWN][0][0][end], lines[rival][0][0][end]) for pick, end in ((max, 0), (min, -1)))
            for level in low + np.array([0.1, 0.3, 0.5, 0.7, 0.9]) * (high - low):
                pairs = zip(lines[OWN], lines[rival], strict=True)
                gain = [np.interp(level, *own) - np.interp(level, *other) for own, other in pairs]
                words = f"{panel}, {rival}, at {level:.0f} missed rounds"
                estimates.append(Estimate(words, float(gain[0]), float(np.std(gain[1:], ddof=1))))
    statistic = "reward of hard-threshold UCB minus that of another policy at equal unfairness (rewards); more than 0"
    return decide(statistic, estimates, 0.0).explained(signs_in_words(estimates))


_BERNOULLI = "Bernoulli rewards"
CLAIMS = (
    Claim(
        "penalties-1",
        "N_k(T) of arms not worth their penalty is proportional to 1/(gap - A)² while it is below τT.",
        "",
        "sec. 6, Fig. 1 upper row",
        "penalties-figure-1",
        lambda data: _proportional(data, critical=False),
        assumed=_BERNOULLI,
    ),
    Claim(
        "penalties-2",
        "N_k(T) of arms worth their penalty is proportional to 1/gap² where it is above τT.",
        "",
        "sec. 6, Fig. 1 bottom row",
        "penalties-figure-1",
        lambda data: _proportional(data, critical=True),
        assumed=_BERNOULLI,
    ),
    Claim(
        "penalties-3",
        "Hard-threshold UCB has the least penalized regret of the three policies at every horizon.",
        "",
        "sec. 6, Fig. 2",
        "penalties-figure-2",
        _least_regret,
    ),
    Claim(
        "penalties-4",
        "Under hard-threshold UCB arms become unfair one by one as the scale decreases.",
        "",
        "sec. 6 and App. A, Fig. 3",
        "penalties-figure-3",
        _one_by_one,
    ),
    Claim(
        "penalties-5",
        "Under Fair-Learn and LFG all arms become unfair at once as the scale decreases.",
        "",
        "sec. 6 and App. A, Fig. 3",
        "penalties-figure-3",
        _all_at_once,
    ),
    Claim(
        "penalties-6",
        "At equal unfairness hard-threshold UCB earns the most reward.",
        "",
        "sec. 6 and App. A, Fig. 4",
        "penalties-figure-4",
        _more_reward,
        assumed="T = 10,000",
    ),
)
