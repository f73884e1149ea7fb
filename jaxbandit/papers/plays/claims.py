"""The claims of the plays paper, and the functions that decide them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from jaxbandit.papers.claim import Claim
from jaxbandit.papers.evidence import (
    Estimate,
    Evidence,
    at_round,
    decide,
    difference,
    final_values,
    holds_from,
    mean_over_runs,
    ratio,
    signs_in_words,
    split_by_verdict,
)
from jaxbandit.papers.experiment import Data
from jaxbandit.papers.plays.experiments import (
    CASES,
    COMPARED,
    CS,
    FIGURE_ROUNDS,
    KL,
    LARGE,
    OWN,
    RIVALS,
    SLACK,
    SLACKS,
    THETAS,
    UNEVEN,
    growth_name,
    place,
)

GROWTH = 0.5  # c-regret counts as bounded where its growth is less than this times that of log t
FAR_BELOW = -5.0  # rounds: the level below which the deficits of UCB-PLLP should stay


def _index(base: str) -> str:
    return base.split(", ")[1]


def _regret(data: Data, base: str, theta: str, c: str, part: int = 1) -> np.ndarray:
    """c-regret at the end of figure 1 or 2, or of a part of its rounds, `[1, seed]`."""
    return final_values(data[growth_name(base, part)], "c_regret", base)[[CASES.index((theta, c))]]


def _bounded(data: Data) -> Evidence:
    by_setting: dict[str, list[Estimate]] = {}
    gains = []
    for base in OWN:
        before = int(data[growth_name(base, 4)]["round"][-1])
        for theta, c in CASES:
            total, early = (_regret(data, base, theta, c, part) for part in (1, 4))
            setting = f"{_index(base)}, {THETAS[theta]}, c = {c}, t = {before:,} to {4 * before:,}"
            by_setting[setting] = [ratio(setting, total - early, early / (math.log(before) / math.log(4)))]
            gains.append(f"{(total - early).mean():.1f} of {total.mean():.1f}")
    statistic = (
        "c-regret gained over the last factor 4 of t, divided by the mean gain over a factor 4 before: 1 or more where "
        f"it grows like log t, 0 where it has reached a bound; less than {GROWTH}"
    )
    bounded, growing = split_by_verdict(by_setting, high=GROWTH)
    finding = f"it still grows for {'; '.join(growing)}; the gains are, in all settings, {', '.join(gains)} rewards"
    return decide(statistic, _joined(by_setting), high=GROWTH).explained(finding, "; ".join(bounded))


def _joined(by_setting: dict[str, list[Estimate]]) -> list[Estimate]:
    return [estimate for estimates in by_setting.values() for estimate in estimates]


def _larger_c_more_regret(data: Data) -> Evidence:
    estimates = []
    for base in OWN:
        for theta, words in THETAS.items():
            for less, more in pairwise(CS):
                gap = _regret(data, base, theta, more) - _regret(data, base, theta, less)
                estimates.append(mean_over_runs(f"{_index(base)}, {words}, c = {more} minus {less}", gap))
    statistic = "c-regret in the last round with the larger c minus that with the smaller (rewards); more than 0"
    return decide(statistic, estimates, 0.0).explained(signs_in_words(estimates))


def _thetas_cross(data: Data) -> Evidence:
    estimates = []
    for base in OWN:
        for c, more, less in ((CS[0], "theta1", "theta2"), (CS[-1], "theta2", "theta1")):
            gap = _regret(data, base, more, c) - _regret(data, base, less, c)
            estimates.append(mean_over_runs(f"{_index(base)}, c = {c}, {THETAS[more]} minus {THETAS[less]}", gap))
    statistic = (
        "c-regret in the last round, that of θ₁ minus that of θ₂ at c = 0.05, that of θ₂ minus that of θ₁ at c = 0.15 "
        "(rewards); more than 0"
    )
    return decide(statistic, estimates, 0.0).explained(signs_in_words(estimates))


def _kl_below_ucb1(data: Data) -> Evidence:
    last = int(data[growth_name(KL)]["round"][-1])
    mean, error = zip(*(at_round(data[growth_name(base)], "c_regret", base, last) for base in OWN), strict=True)
    gap, spread = mean[0] - mean[1], np.hypot(*error)
    cases = zip(CASES, gap, spread, strict=True)
    estimates = [Estimate(f"{THETAS[theta]}, c = {c}", value, stderr) for (theta, c), value, stderr in cases]
    statistic = f"c-regret at t = {last:,} with UCB1 minus that with KL-UCB (rewards); more than 0"
    return decide(statistic, estimates, 0.0).explained(signs_in_words(estimates))


def _rivals_minus_own(data: Data, names: Sequence[str], own: Sequence[str] = OWN) -> list[Estimate]:
    """c-regret of every other policy minus that of Fair-MMAB."""
    return [
        difference(f"{place(name)}, {rival} minus {_index(base)}", data[name], "c_regret", rival, base)
        for name in names
        for base in own
        for rival in RIVALS
    ]


def _least_regret(data: Data, names: Sequence[str], finding: str = "") -> Evidence:
    """Whether Fair-MMAB has less c-regret than every other policy."""
    estimates = _rivals_minus_own(data, names)
    by_setting = {
        f"{place(name)}, {_index(base)}": _rivals_minus_own(data, [name], [base]) for name in names for base in OWN
    }
    evidence = decide("c-regret at T of another policy minus that of Fair-MMAB (rewards); more than 0", estimates, 0.0)
    holds_for = "; ".join(split_by_verdict(by_setting, 0.0)[0])
    return evidence.explained("; ".join(filter(None, [signs_in_words(estimates), finding])), holds_for)


def _regret_saved(data: Data, name: str, label: str) -> float:
    """The c-regret that leaving bad arms behind saves: the sum over j > L of (mu_(L) - mu_j) (tau_j T - N_j)+."""
    results = data[name].isel(instance=0)
    counts, mu = results.pulls.sel(policy=label).values, results.means.values
    last = np.sort(mu)[-int(results.attrs["plays"])]
    lack = np.maximum(results.fractions.values * float(results["round"][-1]) - counts, 0.0)
    return float((np.maximum(last - mu, 0.0) * lack).sum(axis=-1).mean())


def _least_regret_even(data: Data) -> Evidence:
    names = list(COMPARED.values())
    saved = ", ".join(f"{_regret_saved(data, name, 'LFG'):.1f} ({place(name)})" for name in names)
    return _least_regret(data, names, f"LFG leaves bad arms behind, which lowers its own c-regret by {saved} rewards")


def _least_regret_uneven(data: Data) -> Evidence:
    return _least_regret(data, list(UNEVEN.values()))


def _pllp_most_regret(data: Data) -> Evidence:
    estimates = [
        difference(f"{place(name)}, UCB-PLLP minus {other}", data[name], "c_regret", "UCB-PLLP", other)
        for name in COMPARED.values()
        for other in (*OWN, "LFG", "UCB-LP")
    ]
    statistic = "c-regret at T of UCB-PLLP minus that of another policy (rewards); more than 0"
    return decide(statistic, estimates, 0.0).explained(signs_in_words(estimates))


def _largest_deficit_ever(data: Data, name: str, label: str, setting: str) -> Estimate:
    """The largest deficit of any run in any round."""
    return Estimate(setting, float(data[name].max_deficit_ever.sel(policy=label).max()))


def _deficit(data: Data, name: str, label: str) -> Estimate:
    """The largest deficit at T, mean over runs."""
    return mean_over_runs(f"{place(name)}, {label}", final_values(data[name], "max_deficit", label))


def _own_never_behind(data: Data) -> Evidence:
    estimates = []
    for base in OWN:
        deficits = data[growth_name(base)].max_deficit_ever.sel(policy=base).max("seed").values
        for (theta, c), value in zip(CASES, deficits, strict=True):
            estimates.append(Estimate(f"{_index(base)}, {THETAS[theta]}, c = {c}", float(value)))
        for figure, names in (("Fig. 4", COMPARED), ("Fig. 5", LARGE), ("Fig. 8-9", UNEVEN)):
            for name in names.values():
                setting = f"{figure}, {place(name)}, {_index(base)}"
                estimates.append(_largest_deficit_ever(data, name, base, setting))
    statistic = "largest deficit of any arm over all runs and all rounds (rounds); less than 1"
    return decide(statistic, estimates, high=1.0).explained("an arm was behind by a round or more")


def _others_behind(data: Data) -> Evidence:
    by_setting = {}
    for figure, names in (("Fig. 4", COMPARED), ("Fig. 5", LARGE)):
        for name in names.values():
            for label in ("LFG", "UCB-LP"):
                setting, estimate = f"{figure}, {place(name)}, {label}", _deficit(data, name, label)
                by_setting[setting] = [Estimate(setting, estimate.value, estimate.stderr)]
    behind, others = split_by_verdict(by_setting, 1.0)
    evidence = decide("largest deficit at T (rounds); more than 1", _joined(by_setting), 1.0)
    return evidence.explained(f"not for {'; '.join(others)}", "; ".join(behind))


_PLLP = (
    "UCB-PLLP selects an arm whose truncated index is d below the L-th best once its queue is d sqrt(t) / 0.9 long, of "
    "which the slack makes 0.4 sqrt(t): the deficit of arms with d above 0.36 grows without a bound"
)


def _pllp_never_behind(data: Data) -> Evidence:
    by_setting = {}
    for figure, names in (("Fig. 4", COMPARED), ("Fig. 5", LARGE)):
        for name in names.values():
            setting = f"{figure}, {place(name)}"
            by_setting[setting] = [_largest_deficit_ever(data, name, "UCB-PLLP", setting)]
    estimates = _joined(by_setting)
    statistic = "largest deficit of any arm under UCB-PLLP over all runs and all rounds (rounds); less than 1"
    in_words = ", ".join(f"{estimate.value:.2f} ({estimate.setting})" for estimate in estimates)
    holds_for = "; ".join(split_by_verdict(by_setting, high=1.0)[0])
    return decide(statistic, estimates, high=1.0).explained(f"{_PLLP}; it is {in_words}", holds_for)


def _pllp_far_below(data: Data) -> Evidence:
    estimates = [_deficit(data, name, "UCB-PLLP") for name in COMPARED.values()]
    by_slack: dict[int, list[Estimate]] = {}
    paths = []
    for name in SLACK.values():
        results = data[name].isel(instance=0)
        at_figure = results.sel(round=FIGURE_ROUNDS)
        for number in range(len(SLACKS)):
            mean, error = (float(at_figure[part][number]) for part in ("max_deficit", "max_deficit_stderr"))
            by_slack.setdefault(number, []).append(Estimate(name, mean, error))
        path = zip(results.max_deficit.values[0], results["round"].values.tolist(), strict=True)
        paths.append(", ".join(f"{mean:.1f} at t = {t:,}" for mean, t in path) + f" ({place(name)})")
    least = holds_from(by_slack, high=FAR_BELOW)
    holds_for = "" if least is None else f"eps_t = {SLACKS[least]:g}/sqrt(t) at T = {FIGURE_ROUNDS:,}"
    evidence = decide(
        f"largest deficit under UCB-PLLP at T (rounds); less than {FAR_BELOW:g}", estimates, high=FAR_BELOW
    )
    return evidence.explained(f"{_PLLP}; it is {'; '.join(paths)}", holds_for)


def _own_close_to_1(data: Data) -> Evidence:
    estimates = []
    for name in COMPARED.values():
        for base in OWN:
            late = data[name].sel(policy=base, round=slice(FIGURE_ROUNDS // 2, None)).isel(instance=0)
            # The mean of the standard errors is at least the standard error of the mean.
            mean, error = (float(late[part].mean()) for part in ("max_deficit", "max_deficit_stderr"))
            estimates.append(Estimate(f"{place(name)}, {_index(base)}", mean, error))
    statistic = "largest deficit under Fair-MMAB, mean over the recorded rounds from T/2 on (rounds); from 0 to 1"
    return decide(statistic, estimates, 0.0, 1.0).explained("deficits lie further from 1")


def _pllp_lower_with_large_fractions(data: Data) -> Evidence:
    estimates, in_words = [], []
    for theta, words in THETAS.items():
        even, large = (final_values(data[names[theta]], "max_deficit", "UCB-PLLP") for names in (COMPARED, LARGE))
        estimates.append(mean_over_runs(words, even - large))
        in_words.append(f"{even.mean():.1f} in Fig. 4 and {large.mean():.1f} in Fig. 5 ({words})")
    statistic = "largest deficit under UCB-PLLP at T, that of Fig. 4 minus that of Fig. 5 (rounds); more than 0"
    return decide(statistic, estimates, 0.0).explained(f"{_PLLP}; it is {', '.join(in_words)}")


def _c4_above_c5(data: Data) -> Evidence:
    estimates = []
    for base in OWN:
        c4, c5 = (final_values(data[name], "c_regret", base) for name in UNEVEN.values())
        estimates.append(mean_over_runs(_index(base), c4 - c5))
    statistic = "c-regret at T with c4 minus that with c5 (rewards); more than 0"
    return decide(statistic, estimates, 0.0).explained(signs_in_words(estimates))


def _behind_with_uneven_fractions(data: Data) -> Evidence:
    estimates = []
    for name in UNEVEN.values():
        for label in ("LFG", "UCB-LP"):
            values = final_values(data[name], "max_deficit", label) - 1
            estimates.append(mean_over_runs(f"{place(name)}, {label}", values))
        pllp = _largest_deficit_ever(data, name, "UCB-PLLP", f"{place(name)}, UCB-PLLP")
        estimates.append(Estimate(pllp.setting, 1 - pllp.value))
    holds_for, _ = split_by_verdict({estimate.setting: [estimate] for estimate in estimates}, 0.0)
    statistic = (
        "largest deficit at T minus 1 under LFG and UCB-LP, 1 minus the largest of any run and round under UCB-PLLP "
        "(rounds); more than 0"
    )
    in_words = ", ".join(f"{estimate.value:.1f} ({estimate.setting})" for estimate in estimates)
    return decide(statistic, estimates, 0.0).explained(f"it is {in_words}", "; ".join(holds_for))


_ROWS = (
    ("Fair-MMAB's c-regret stays bounded.", "sec. 5.1.1 (i), Thm 3.5-3.6", 1, _bounded),
    ("A larger c gives more c-regret for large T.", "sec. 5.1.1 (ii)", 1, _larger_c_more_regret),
    ("θ₁ has the larger c-regret for small c, θ₂ for large c.", "sec. 5.1.1 (iii)", 1, _thetas_cross),
    ("KL-UCB gives less c-regret than UCB1.", "sec. 5.1.1 (iv)", 2, _kl_below_ucb1),
    ("Fair-MMAB has less c-regret than LFG, UCB-LP and UCB-PLLP.", "sec. 5.1.1, Fig. 3", 3, _least_regret_even),
    ("UCB-PLLP has the largest c-regret.", "sec. 5.1.1, Fig. 3", 3, _pllp_most_regret),
    ("Under Fair-MMAB no arm is ever behind by a round.", "Thm 3.4 and 4.1, Fig. 4, 5, 8, 9", 4, _own_never_behind),
    (
        "Under LFG and UCB-LP arms are behind by more than a round for large t.",
        "sec. 5.1.2 and 5.2, Fig. 4-5",
        4,
        _others_behind,
    ),
    ("Under UCB-PLLP no arm is ever behind by a round.", "sec. 5.1.2 and 5.2, Fig. 4-5", 4, _pllp_never_behind),
    ("Under UCB-PLLP the largest deficit stays below -5 for large t.", "sec. 5.1.2, Fig. 4", 4, _pllp_far_below),
    ("Fair-MMAB's largest deficit stays close to 1.", "sec. 5.1.2, Fig. 4", 4, _own_close_to_1),
    (
        "UCB-PLLP's largest deficit is lower under large fractions.",
        "sec. 5.2, Fig. 5",
        5,
        _pllp_lower_with_large_fractions,
    ),
    ("c4 gives more c-regret than c5.", "App. G.2, Fig. 7", 7, _c4_above_c5),
    (
        "For c4 and c5 too, Fair-MMAB has less c-regret than the other policies.",
        "App. G.2, Fig. 8-9",
        8,
        _least_regret_uneven,
    ),
    (
        "For c4 and c5 too, arms are behind by more than a round under LFG and UCB-LP, and under UCB-PLLP none is.",
        "App. G.2, Fig. 8-9",
        9,
        _behind_with_uneven_fractions,
    ),
)
_ASSUMED = "T = 10,000; for θ₂ and the other figures the parameters of LFG and UCB-PLLP that the paper gives for θ₁"
_ASSUMED_GROWTH = "T = 384,000 with UCB1, 48,000 with KL-UCB"
CLAIMS = tuple(
    Claim(
        f"plays-{number}",
        statement,
        "",
        place_in_paper,
        f"plays-figure-{figure}",
        weigh,
        assumed=_ASSUMED_GROWTH if figure < 3 else _ASSUMED,
    )
    for number, (statement, place_in_paper, figure, weigh) in enumerate(_ROWS, start=1)
)
