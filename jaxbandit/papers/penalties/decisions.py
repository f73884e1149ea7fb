"""The evidence on the claims of the penalties paper: each function measures a statistic and decides."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import xarray as xr

from jaxbandit.papers.evidence import (
    REPRODUCED,
    Estimate,
    Evidence,
    at_round,
    decide,
    decide_over_time,
    decide_with_tolerances,
    final_values,
    horizon_exponent,
    mean_over_runs,
    parameter_in_label,
    ratio,
    signs_in_words,
    values_in_words,
)
from jaxbandit.papers.experiment import Data
from jaxbandit.papers.penalties.experiments import (
    FAIR_TIMES,
    OWN,
    PANELS_C,
    REWARDS,
    RIVALS,
    ROWS,
    SETTINGS,
    SOFT,
    TIMES_E,
    name_a_b,
    name_d,
    name_e,
    name_fair,
)

STRAIGHT = 0.9  # the R² from which counts on a plot look proportional
TOLERATED = 0.04  # of its guaranteed rounds; Fair-Learn with s = 0.95 lets an arm lack 5 % of them
HALF = 3.5  # of the seven arms that are not the best
FEW = 2.5  # arms that become unfair in one step of the scale where arms do so one by one
LINEAR = 0.9  # the smallest exponent of T that counts as linear


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
    counts = _counts(results, case, critical)
    quota = one.fractions.values[selected] * float(results["round"][-1])
    return inverse, counts.mean(0), counts.std(0, ddof=1) / np.sqrt(len(counts)), quota


def _counts(results: xr.Dataset, case: int, critical: bool) -> np.ndarray:
    """N_k(T) of the critical or non-critical arms of a case, `[seed, arm]`."""
    one = results.isel(instance=case, policy=0)
    gap = float(one.means.max()) - one.means.values
    is_critical = gap <= one.penalties.values
    return np.asarray(one.pulls.values[:, (gap > 0) & (is_critical == critical)])


def off_quota(mean: np.ndarray, quota: np.ndarray, critical: bool) -> np.ndarray:
    """Whether the mean count of an arm is off tau_k T: above it for critical arms, below it for the others."""
    return mean > 1.05 * quota if critical else mean < 0.95 * quota


def exponent(inverse: np.ndarray, counts: np.ndarray) -> float:
    """The exponent of `inverse` in the counts, by least squares of logarithms; both `[arm]`."""
    x, y = np.log(inverse), np.log(counts)
    return float(((x - x.mean()) * y).sum() / ((x - x.mean()) ** 2).sum())


def explained_by_line(inverse: np.ndarray, counts: np.ndarray, through_origin: bool) -> np.ndarray:
    """The share of the counts' variance over arms that a straight line explains, R².

    Args:
        inverse: `[arm]`.
        counts: `[..., arm]`.
        through_origin: whether the line is a multiple of `inverse`; otherwise it also has an intercept.
    """
    level = counts.mean(-1, keepdims=True)
    centre = 0.0 if through_origin else inverse.mean()
    x, y = inverse - centre, counts if through_origin else counts - level
    residuals = y - (x * y).sum(-1, keepdims=True) / (x**2).sum() * x
    return np.asarray(1 - (residuals**2).sum(-1) / ((counts - level) ** 2).sum(-1))


def _proportions(results: xr.Dataset, critical: bool) -> tuple[list[Estimate], list[str]]:
    """Per case with two arms or more off tau_k T, the R² of proportional counts; and each case in words."""
    draw, estimates, words = np.random.default_rng(0), [], []
    for case in range(results.sizes["instance"]):
        inverse, mean, _, quota = counts_of_arms(results, case, critical)
        off = off_quota(mean, quota, critical)
        name = f"case {case + 1}, {off.sum()} of {len(off)} arms"
        if off.sum() < 2:
            words.append(f"{name} off τT, too few to tell")
            continue
        x, counts = inverse[off], _counts(results, case, critical)[:, off]
        resampled = counts[draw.integers(0, len(counts), (200, len(counts)))].mean(1)  # bootstrap over runs
        spread = explained_by_line(x, resampled, through_origin=True).std(ddof=1)
        value = float(explained_by_line(x, counts.mean(0), through_origin=True))
        estimates.append(Estimate(name, value, float(spread), len(counts)))
        per_inverse = counts.mean(0) / x
        affine = float(explained_by_line(x, counts.mean(0), through_origin=False))
        words.append(
            f"{name}: N divided by it from {per_inverse.min():.1f} to {per_inverse.max():.1f}, exponent "
            f"{exponent(x, counts.mean(0)):.2f}, R² with an intercept {affine:.3f}"
        )
    return estimates, words


def proportional(data: Data, critical: bool) -> Evidence:
    """Whether the counts of arms off their quotas are proportional to an inverse squared gap."""
    inverse = "1/gap²" if critical else "1/(gap - A)²"

    def decided(least: float, long: bool = False) -> Evidence:
        statistic = (
            f"share of the variance of N_k(T) over the arms off τT that a multiple of {inverse} explains (R² of the "
            f"line through the origin); more than {least:g}"
        )
        return decide(statistic, _proportions(data[name_a_b(critical, long)], critical)[0], low=least)

    words = "; ".join(_proportions(data[name_a_b(critical)], critical)[1])
    results = data[name_a_b(critical, long=True)]
    setting = f"T = {int(results['round'][-1]):,}, τ = {float(results.fractions.max()):g}"
    longer = decided(STRAIGHT, long=True)
    evidence = decide_with_tolerances(STRAIGHT, (0.8, 0.95, 0.99), decided, "R² above {:g}").explained(
        f"{words}. At T = 20,000 the best arm's own bonus, sqrt(2 log T / N), is about 0.03; it adds to every gap, and "
        f"most, in proportion, to the smallest. At {setting} R² is {longer.number:.3f} [{longer.low:.3f}, "
        f"{longer.high:.3f}]: {longer.verdict}",
        setting if longer.verdict == REPRODUCED else "",
    )
    return evidence if evidence.finding else replace(evidence, finding=words)


def lfg_at(results: xr.Dataset, t: int) -> str:
    """The LFG whose parameter eta is the square root of t."""
    members = results.policy.values[results.family.values == "lfg"]
    etas = [parameter_in_label(label) for label in members]
    return str(members[int(np.argmin(np.abs(np.square(etas) - t)))])


def least_regret(data: Data) -> Evidence:
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


def _unfair_arms(data: Data, setting: int, family: str) -> tuple[np.ndarray, np.ndarray]:
    """The scales of a grid in experiment D, and the number of unfair arms, `[scale, seed]`."""
    scales, lack = deficits(data[name_d(setting)], family)
    return scales, (lack > TOLERATED).sum(axis=2)


_UNFAIR = f"number of arms that become unfair (lack more than {TOLERATED:.0%} of their guaranteed rounds)"


def one_by_one(data: Data) -> Evidence:
    """Whether more than half of the arms become unfair under hard-threshold UCB, few of them in any one step."""

    def estimates(most: float) -> Iterator[Estimate]:
        for setting in SETTINGS:
            scales, unfair = _unfair_arms(data, setting, OWN)
            steps = unfair[:-1] - unfair[1:]  # from the larger scale to the next smaller one
            largest = int(np.argmax(steps.mean(1)))
            where = f"setting {setting}, from s = {scales[largest + 1]:.2f} to {scales[largest]:.2f}"
            in_all = mean_over_runs(f"setting {setting}, all steps", (unfair[0] - unfair[-1])[None] - HALF)
            yield min(mean_over_runs(where, most - steps[largest][None]), in_all, key=lambda one: one.value)

    def decided(most: float) -> Evidence:
        statistic = (
            f"{most:g} minus the largest {_UNFAIR} in one step of the scale, or the number in all steps minus {HALF:g} "
            "where this is less; more than 0"
        )
        return decide(statistic, [*estimates(most)], 0.0)

    return decide_with_tolerances(FEW, (1.5, HALF), decided, "fewer than {:g} in one step").explained(
        "arms with similar gaps become unfair together, or few arms become unfair"
    )


def all_at_once(data: Data) -> Evidence:
    """Whether most arms become unfair under Fair-Learn and LFG in the first step of the scale from 1."""
    every, in_words = [], []
    for setting in SETTINGS:
        for rival in RIVALS:
            scales, unfair = _unfair_arms(data, setting, rival)
            words = f"{rival}, setting {setting}, from s = {scales[-1]:.2f} to {scales[-2]:.2f}"
            every.append(mean_over_runs(words, (unfair[-2] - unfair[-1])[None]))
            if rival == "lfg":
                counts = unfair.mean(axis=1)
                shown = [f"{counts[int(np.argmin(np.abs(scales - s)))]:.1f} at s = {s:g}" for s in (1, 0.95, 0.9, 0.8)]
                in_words.append(f"setting {setting}: {', '.join(shown)}")

    def decided(least: float) -> Evidence:
        return decide(f"{_UNFAIR} in the first step of the scale from 1; more than {least:g}", every, low=least)

    return decide_with_tolerances(HALF, (2.5, 4.5, 6.5), decided, "more than {:g}").explained(
        f"number of unfair arms under LFG in {'; '.join(in_words)}"
    )


def wider_range(data: Data) -> Evidence:
    """Whether each sub-optimal arm is fair on a wider range of scales under hard-threshold UCB."""
    estimates = []
    for setting in SETTINGS:
        results = data[name_d(setting)]
        fair = {family: (deficits(results, family)[1] <= TOLERATED).mean(0) for family in (OWN, *RIVALS)}
        for rival in RIVALS:
            for arm in range(1, results.sizes["arm"]):
                wider = (fair[OWN] - fair[rival])[:, arm]
                estimates.append(mean_over_runs(f"setting {setting}, arm {arm + 1}, {rival}", wider[None]))
    statistic = (
        "share of the scales at which a sub-optimal arm is fair under hard-threshold UCB minus that under another "
        "policy; more than 0"
    )
    return decide(statistic, estimates, 0.0).explained(signs_in_words(estimates))


def _fair_times(data: Data) -> list[int]:
    return [t for t in FAIR_TIMES if name_fair(t) in data]


def soft_is_unfair(data: Data) -> Evidence:
    """Whether the missed rounds under the soft threshold grow linearly although every penalty exceeds its gap."""
    estimates, words = [], []
    for short, long in pairwise(_fair_times(data)):
        early, late = (final_values(data[name_fair(t)], "unfairness", SOFT) for t in (short, long))
        estimates.append(horizon_exponent(short, early, long, late))
        words.append(f"{late.mean() / long:.3f} per round by T = {long:,}")
    last = _fair_times(data)[-1]
    hard = final_values(data[name_fair(last)], "unfairness", OWN).mean()

    def decided(least: float) -> Evidence:
        statistic = f"exponent of T in the missed rounds of all arms under soft-threshold UCB; linear: above {least:g}"
        return decide(statistic, estimates, low=least)

    evidence = decide_with_tolerances(LINEAR, (0.5, 0.95, 0.99), decided, "above {:g}")
    return replace(
        evidence,
        finding=f"missed rounds: {', '.join(words)}; under hard-threshold UCB {hard:.2f} rounds in all by T = {last:,}",
    )


def deficits_are_bounded(data: Data) -> Evidence:
    """Whether the missed rounds of all arms together do not grow with T under hard-threshold UCB."""
    estimates = []
    for short, long in pairwise(_fair_times(data)):
        before, after = (final_values(data[name_fair(t)], "unfairness", OWN) for t in (short, long))
        estimates.append(mean_over_runs(f"T = {short:,} to {long:,}", after - before))
    statistic = "growth of the missed rounds of all arms from one horizon to the next (rounds); less than 1"
    return decide(statistic, estimates, high=1.0).explained(f"they grow by {values_in_words(estimates)}")


def largest_deficit_is_logarithmic(data: Data) -> Evidence:
    """Whether the largest deficit of any round grows no faster than log T under hard-threshold UCB."""
    estimates, words = [], []
    for short, long in pairwise(_fair_times(data)):
        before, after = (
            data[name_fair(t)].max_deficit_ever.sel(policy=OWN).values / math.log(t) for t in (short, long)
        )
        estimates.append(ratio(f"T = {short:,} to {long:,}", after, before))
        words.append(f"{after.mean() * math.log(long):.2f} at T = {long:,}")

    def decided(most: float) -> Evidence:
        statistic = (
            "largest deficit of any arm and round divided by log T, at one horizon divided by that at the one before: "
            f"1 for log T; less than {most:g}"
        )
        return decide(statistic, estimates, high=most)

    evidence = decide_with_tolerances(1.1, (1.0, 1.05, 1.25), decided, "below {:g}")
    return replace(evidence, finding=f"largest deficit (rounds): {', '.join(words)}")


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


def more_reward(data: Data) -> Evidence:
    by_time: dict[int, list[Estimate]] = {}
    draw = np.random.default_rng(0)
    for name, panel, horizon in every_panel(data):
        grids = {family: tradeoff(data[name], family) for family in (OWN, *RIVALS)}
        count = grids[OWN][0].shape[1]
        samples = [np.arange(count), *draw.integers(0, count, (200, count))]  # the instances, then bootstrap samples
        lines = {f: [tradeoff_line(x[:, sample], y[:, sample]) for sample in samples] for f, (x, y) in grids.items()}
        for rival in RIVALS:
            low, high = (pick(lines[OWN][0][0][end], lines[rival][0][0][end]) for pick, end in ((max, 0), (min, -1)))
            for level in low + np.array([0.1, 0.3, 0.5, 0.7, 0.9]) * (high - low):
                pairs = zip(lines[OWN], lines[rival], strict=True)
                gain = [np.interp(level, *own) - np.interp(level, *other) for own, other in pairs]
                words = f"{panel}, {rival}, T = {horizon:,}, at {level:.0f} missed rounds"
                estimate = Estimate(words, float(gain[0]), float(np.std(gain[1:], ddof=1)))
                by_time.setdefault(horizon, []).append(estimate)
    statistic = "reward of hard-threshold UCB minus that of another policy at equal unfairness (rewards); more than 0"
    every = [estimate for at_time in by_time.values() for estimate in at_time]
    return decide_over_time(statistic, by_time, 0.0).explained(signs_in_words(every))


def every_panel(data: Data) -> Iterator[tuple[str, str, int]]:
    """The experiments behind the panels of E: names, panels in words, horizons."""
    for horizon in TIMES_E:
        for arms, tau in ROWS:
            for reward in REWARDS:
                if (name := name_e(arms, tau, reward, horizon)) in data:
                    yield name, f"K = {arms}, τ = {tau}, {reward}", horizon
