"""Paper 003: what it says of its experiments, and what decides it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from jaxbandit.papers.evidence import (
    Claim,
    Evidence,
    Margin,
    at,
    decide,
    difference,
    final,
    from_on,
    holding,
    over_runs,
    ratio,
    tally,
)
from jaxbandit.papers.experiment import Data
from jaxbandit.papers.plays.experiments import (
    CAPPED,
    CASES,
    COMPARED,
    CS,
    KL,
    MANY,
    OWN,
    PAPERS,
    RIVALS,
    SLACK,
    SLACKS,
    THETAS,
    UNEVEN,
    grown,
    place,
)

GROWTH = 0.5  # of c-regret, against that of log t, below which it counts as bounded
LEVEL = -5.0  # rounds, of the deficit that UCB-PLLP's stays below


def _index(base: str) -> str:
    return base.split(", ")[1]


def _regret(data: Data, base: str, theta: str, c: str, part: int = 1) -> np.ndarray:
    """c-regret at the end of figure 1 or 2, or a part of the way there, `[1, seed]`."""
    return final(data[grown(base, part)], "c_regret", base)[[CASES.index((theta, c))]]


def _bounded(data: Data) -> Evidence:
    groups: dict[str, list[Margin]] = {}
    gains = []
    for base in OWN:
        before = int(data[grown(base, 4)]["round"][-1])
        for theta, c in CASES:
            whole, early = (_regret(data, base, theta, c, part) for part in (1, 4))
            where = f"{_index(base)}, {THETAS[theta]}, c = {c}, t = {before:,} to {4 * before:,}"
            groups[where] = [ratio(where, whole - early, early / (math.log(before) / math.log(4)))]
            gains.append(f"{(whole - early).mean():.1f} of {whole.mean():.1f}")
    margins = [margin for made in groups.values() for margin in made]
    words = (
        "c-regret gained over the last factor 4 of t, against the mean gain over a factor 4 before: 1 or more where it "
        f"grows like log t, 0 where it has reached a bound; less than {GROWTH}"
    )
    kept, lost = holding(groups, high=GROWTH)
    why = f"it still grows for {'; '.join(lost)}; the gains are, in all settings, {', '.join(gains)} rewards"
    return decide(words, margins, high=GROWTH).explained(why, "; ".join(kept))


def _more_owed(data: Data) -> Evidence:
    margins = []
    for base in OWN:
        for theta, sign in THETAS.items():
            for less, more in pairwise(CS):
                gap = _regret(data, base, theta, more) - _regret(data, base, theta, less)
                margins.append(over_runs(f"{_index(base)}, {sign}, c = {more} less {less}", gap))
    words = "c-regret at the last round, of the larger c less the smaller (rewards); more than 0"
    return decide(words, margins, 0.0).explained(tally(margins))


def _crossing(data: Data) -> Evidence:
    margins = []
    for base in OWN:
        for c, more, less in ((CS[0], "theta1", "theta2"), (CS[-1], "theta2", "theta1")):
            gap = _regret(data, base, more, c) - _regret(data, base, less, c)
            margins.append(over_runs(f"{_index(base)}, c = {c}, {THETAS[more]} less {THETAS[less]}", gap))
    words = (
        "c-regret at the last round, θ₁'s less θ₂'s at c = 0.05 and θ₂'s less θ₁'s at c = 0.15 (rewards); more than 0"
    )
    return decide(words, margins, 0.0).explained(tally(margins))


def _kl_below(data: Data) -> Evidence:
    last = int(data[grown(KL)]["round"][-1])
    mean, error = zip(*(at(data[grown(base)], "c_regret", base, last) for base in OWN), strict=True)
    gap, spread = mean[0] - mean[1], np.hypot(*error)
    margins = [Margin(f"{THETAS[theta]}, c = {c}", *own) for (theta, c), *own in zip(CASES, gap, spread, strict=True)]
    words = f"c-regret at t = {last:,} with UCB1 less that with KL-UCB (rewards); more than 0"
    return decide(words, margins, 0.0).explained(tally(margins))


def _ahead(data: Data, names: Sequence[str], own: Sequence[str] = OWN) -> list[Margin]:
    """c-regret of every rival less that of Fair-MMAB."""
    return [
        difference(f"{place(name)}, {rival} less {_index(base)}", data[name], "c_regret", rival, base)
        for name in names
        for base in own
        for rival in RIVALS
    ]


def _best(data: Data, names: Sequence[str], finding: str, near: Sequence[str] = ()) -> Evidence:
    """Whether Fair-MMAB has less c-regret than every rival; nearest: where it has, among these and `near`."""
    margins = _ahead(data, names)
    groups = {
        f"{place(name)}, {_index(base)}": _ahead(data, [name], [base]) for name in [*names, *near] for base in OWN
    }
    words = "c-regret at T of a rival less that of Fair-MMAB (rewards); more than 0"
    evidence = decide(words, margins, 0.0)
    return evidence.explained(f"{tally(margins)}; {finding}", "; ".join(holding(groups, 0.0)[0]))


def _saved(data: Data, name: str, label: str) -> float:
    """c-regret that a policy saves by leaving bad arms behind: sum over j > L of (mu_(L) - mu_j) (tau_j T - N_j)+."""
    results = data[name].isel(instance=0)
    counts, mu = results.pulls.sel(policy=label).values, results.means.values
    last = np.sort(mu)[-int(results.attrs["plays"])]
    lack = np.maximum(results.fractions.values * float(results["round"][-1]) - counts, 0.0)
    return float((np.maximum(last - mu, 0.0) * lack).sum(axis=-1).mean())


def _best_even(data: Data) -> Evidence:
    saved = ", ".join(f"{_saved(data, name, 'LFG'):.1f} ({place(name)})" for name in COMPARED.values())
    finding = f"LFG leaves bad arms behind, and c-regret counts that as saved: {saved} rewards of its own c-regret"
    return _best(data, list(COMPARED.values()), finding)


def _best_uneven(data: Data) -> Evidence:
    lost = []
    for name in UNEVEN.values():
        one = data[name].isel(instance=0)
        for base in OWN:
            missed = float(one["round"][-1]) - float(one.pulls.sel(policy=base).isel(arm=1).mean())
            lost.append(f"{missed:,.0f} ({place(name)}, {_index(base)})")
    finding = (
        "an entry of c4 and c5, 0.17, is above 1/6, so J = 2: one arm goes by its index, and the second best, which "
        f"would be played always, is displaced where two arms are behind, in {', '.join(lost)} rounds, at 0.1 each"
    )
    return _best(data, list(UNEVEN.values()), finding, list(CAPPED.values()))


def _last_worst(data: Data) -> Evidence:
    margins = [
        difference(f"{place(name)}, UCB-PLLP less {other}", data[name], "c_regret", "UCB-PLLP", other)
        for name in COMPARED.values()
        for other in (*OWN, "LFG", "UCB-LP")
    ]
    words = "c-regret at T of UCB-PLLP less that of another (rewards); more than 0"
    return decide(words, margins, 0.0).explained(tally(margins))


def _deepest(data: Data, name: str, label: str, where: str) -> Margin:
    """The largest deficit of any run in any round."""
    return Margin(where, float(data[name].max_deficit_ever.sel(policy=label).max()))


def _deficit(data: Data, name: str, label: str) -> Margin:
    """The largest deficit at T, mean over runs."""
    return over_runs(f"{place(name)}, {label}", final(data[name], "max_deficit", label))


def _uniformly_fair(data: Data) -> Evidence:
    margins = []
    for base in OWN:
        deepest = data[grown(base)].max_deficit_ever.sel(policy=base).max("seed").values
        for (theta, c), value in zip(CASES, deepest, strict=True):
            margins.append(Margin(f"{_index(base)}, {THETAS[theta]}, c = {c}", float(value)))
        for figure, names in (("Fig. 4", COMPARED), ("Fig. 5", MANY), ("Fig. 8-9", UNEVEN), ("Fig. 8-9", CAPPED)):
            for name in names.values():
                margins.append(_deepest(data, name, base, f"{figure}, {place(name)}, {_index(base)}"))
    words = "largest deficit of any arm over all runs and all rounds (rounds); less than 1"
    return decide(words, margins, high=1.0).explained("an arm was behind by a round or more")


def _unfair(data: Data) -> Evidence:
    groups = {
        f"{figure}, {place(name)}, {label}": [_deficit(data, name, label)]
        for figure, names in (("Fig. 4", COMPARED), ("Fig. 5", MANY))
        for name in names.values()
        for label in ("LFG", "UCB-LP")
    }
    margins = [Margin(where, made[0].value, made[0].error) for where, made in groups.items()]
    words = "largest deficit at T (rounds); more than 1"
    kept, lost = holding(groups, 1.0)
    return decide(words, margins, 1.0).explained(f"not for {'; '.join(lost)}", "; ".join(kept))


_WHY = (
    "UCB-PLLP plays an arm whose truncated index is d below the L-th best once its queue is d sqrt(t) / 0.9 long, of "
    "which the slack has put 0.4 sqrt(t): arms with d above 0.36 fall behind without a bound"
)


def _last_fair(data: Data) -> Evidence:
    groups = {}
    for figure, names in (("Fig. 4", COMPARED), ("Fig. 5", MANY)):
        for name in names.values():
            where = f"{figure}, {place(name)}"
            groups[where] = [_deepest(data, name, "UCB-PLLP", where)]
    margins = [margin for made in groups.values() for margin in made]
    words = "largest deficit of any arm under UCB-PLLP over all runs and all rounds (rounds); less than 1"
    told = ", ".join(f"{margin.value:.2f} ({margin.where})" for margin in margins)
    kept, _ = holding(groups, high=1.0)
    return decide(words, margins, high=1.0).explained(f"{_WHY}; it is {told}", "; ".join(kept))


def _far_below(data: Data) -> Evidence:
    margins = [_deficit(data, name, "UCB-PLLP") for name in COMPARED.values()]
    words = f"largest deficit under UCB-PLLP at T (rounds); less than {LEVEL:g}"
    by_slack: dict[int, list[Margin]] = {}
    told = []
    for name in SLACK.values():
        results = data[name].isel(instance=0)
        papers = results.sel(round=PAPERS)
        for number in range(len(SLACKS)):
            mean, error = (float(papers[part][number]) for part in ("max_deficit", "max_deficit_stderr"))
            by_slack.setdefault(number, []).append(Margin(name, mean, error))
        path = zip(results.max_deficit.values[0], results["round"].values.tolist(), strict=True)
        told.append(", ".join(f"{mean:.1f} at t = {t:,}" for mean, t in path) + f" ({place(name)})")
    least = from_on(by_slack, high=LEVEL)
    nearest = "" if least is None else f"eps_t = {SLACKS[least]:g}/sqrt(t) at T = {PAPERS:,}"
    return decide(words, margins, high=LEVEL).explained(f"{_WHY}; it is {'; '.join(told)}", nearest)


def _close(data: Data) -> Evidence:
    margins = []
    for name in COMPARED.values():
        for base in OWN:
            late = data[name].sel(policy=base, round=slice(PAPERS // 2, None)).isel(instance=0)
            mean, error = (float(late[part].mean()) for part in ("max_deficit", "max_deficit_stderr"))
            margins.append(Margin(f"{place(name)}, {_index(base)}", mean, error))  # no error of a mean is larger
    words = "largest deficit under Fair-MMAB, mean over the recorded rounds from T/2 on (rounds); from 0 to 1"
    return decide(words, margins, 0.0, 1.0).explained("deficits lie further from 1")


def _lower_when_more_is_owed(data: Data) -> Evidence:
    margins, told = [], []
    for theta, sign in THETAS.items():
        even, many = (final(data[names[theta]], "max_deficit", "UCB-PLLP") for names in (COMPARED, MANY))
        margins.append(over_runs(sign, even - many))
        told.append(f"{even.mean():.1f} in Fig. 4 and {many.mean():.1f} in Fig. 5 ({sign})")
    words = "largest deficit under UCB-PLLP at T, of Fig. 4 less that of Fig. 5 (rounds); more than 0"
    return decide(words, margins, 0.0).explained(f"{_WHY}; it is {', '.join(told)}")


def _c4_above_c5(data: Data) -> Evidence:
    margins = [
        over_runs(_index(base), np.subtract(*(final(data[name], "c_regret", base) for name in UNEVEN.values())))
        for base in OWN
    ]
    words = "c-regret at T with c4 less that with c5 (rewards); more than 0"
    return decide(words, margins, 0.0).explained(tally(margins))


def _uneven_sides(data: Data) -> Evidence:
    margins = []
    for name in UNEVEN.values():
        for label in ("LFG", "UCB-LP"):
            margins.append(over_runs(f"{place(name)}, {label}", final(data[name], "max_deficit", label) - 1))
        deepest = _deepest(data, name, "UCB-PLLP", f"{place(name)}, UCB-PLLP")
        margins.append(Margin(deepest.where, 1 - deepest.value))
    kept, _ = holding({margin.where: [margin] for margin in margins}, 0.0)
    words = (
        "largest deficit at T less 1 under LFG and UCB-LP, 1 less the largest of any run and round under UCB-PLLP "
        "(rounds); more than 0"
    )
    told = ", ".join(f"{margin.value:.1f} ({margin.where})" for margin in margins)
    return decide(words, margins, 0.0).explained(f"it is {told}", "; ".join(kept))


_FAIR = "sec. 5.1.2"
CLAIMS = (
    Claim("003-1", "Fair-MMAB's c-regret stays bounded.", "sec. 5.1.1 (i), Thm 3.5-3.6", "003-figure-1", _bounded),
    Claim("003-2", "A larger c gives more c-regret for large T.", "sec. 5.1.1 (ii)", "003-figure-1", _more_owed),
    Claim(
        "003-3",
        "θ₁ has the larger c-regret for small c, θ₂ for large c.",
        "sec. 5.1.1 (iii)",
        "003-figure-1",
        _crossing,
    ),
    Claim("003-4", "KL-UCB gives less c-regret than UCB1.", "sec. 5.1.1 (iv)", "003-figure-2", _kl_below),
    Claim(
        "003-5",
        "Fair-MMAB has less c-regret than LFG, UCB-LP and UCB-PLLP.",
        "sec. 5.1.1, Fig. 3",
        "003-figure-3",
        _best_even,
    ),
    Claim("003-6", "UCB-PLLP has the largest c-regret.", "sec. 5.1.1, Fig. 3", "003-figure-3", _last_worst),
    Claim(
        "003-7",
        "Under Fair-MMAB no arm is ever behind by a round.",
        "Thm 3.4 and 4.1, Fig. 4, 5, 8, 9",
        "003-figure-4",
        _uniformly_fair,
    ),
    Claim(
        "003-8",
        "Under LFG and UCB-LP arms are behind by more than a round for large t.",
        f"{_FAIR} and 5.2, Fig. 4-5",
        "003-figure-4",
        _unfair,
    ),
    Claim(
        "003-9",
        "Under UCB-PLLP no arm is ever behind by a round.",
        f"{_FAIR} and 5.2, Fig. 4-5",
        "003-figure-4",
        _last_fair,
    ),
    Claim(
        "003-10",
        "Under UCB-PLLP the largest deficit stays below -5 for large t.",
        f"{_FAIR}, Fig. 4",
        "003-figure-4",
        _far_below,
    ),
    Claim("003-11", "Fair-MMAB's largest deficit stays close to 1.", f"{_FAIR}, Fig. 4", "003-figure-4", _close),
    Claim(
        "003-12",
        "UCB-PLLP's largest deficit is lower where more is owed.",
        "sec. 5.2, Fig. 5",
        "003-figure-5",
        _lower_when_more_is_owed,
    ),
    Claim("003-13", "c4 gives more c-regret than c5.", "App. G.2, Fig. 7", "003-figure-7", _c4_above_c5),
    Claim(
        "003-14",
        "For c4 and c5 too, Fair-MMAB has less c-regret than the others.",
        "App. G.2, Fig. 8-9",
        "003-figure-8",
        _best_uneven,
    ),
    Claim(
        "003-15",
        "For c4 and c5 too, LFG and UCB-LP leave arms behind by more than a round, UCB-PLLP none.",
        "App. G.2, Fig. 8-9",
        "003-figure-9",
        _uneven_sides,
    ),
)
