"""Claims at many horizons, from the values of every run in recorded rounds: shared by the plays paper's decisions."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from jaxbandit.papers.evidence import FAILED, REPRODUCED, Estimate, Evidence, decide, decide_over_time
from jaxbandit.papers.experiment import Data

ByTime = dict[int, list[Estimate]]
_IN_ORDERS = ", random orders"  # in the settings of `place`


def recorded(data: Data, name: str, times: Iterable[int]) -> list[int]:
    """Those of some rounds that the results hold."""
    held = set(data[name]["round"].values.tolist())
    return [t for t in times if t in held]


def runs_at(data: Data, name: str, metric: str, policy: str, t: int) -> np.ndarray:
    """A metric of every run in a recorded round, `[instance, seed]`."""
    return data[name][f"{metric}_runs"].sel(policy=policy, round=t).values


def largest_until(data: Data, name: str, policy: str, t: int) -> np.ndarray:
    """The largest deficit of every run in the recorded rounds up to t, `[instance, seed]`."""
    return data[name].max_deficit_runs.sel(policy=policy, round=slice(None, t)).max("round").values


def _by_horizon(evidence: Evidence, by_time: ByTime, low: float, high: float) -> Evidence:
    """The evidence with a finding: at each horizon the number of settings in which the claim holds, and the worst."""
    parts: dict[str, list[int]] = {}
    for t, estimates in sorted(by_time.items()):
        own = decide("", estimates, low, high)
        if own.verdict == REPRODUCED:
            parts.setdefault("all", []).append(t)
        else:
            worst = f"{own.number:.3g} for {own.setting.partition(', ')[2]}"
            parts[f"{len(own.inside)} of {len(estimates)} at T = {t:,} ({worst})"] = []
    words = "; ".join(f"{key} at T = {', '.join(f'{t:,}' for t in at)}" if at else key for key, at in parts.items())
    return evidence.explained(f"settings in which it holds: {words}")


def _disagreements(by_time: ByTime, low: float, high: float) -> str:
    """Where the claim holds with random ties and is false in random orders of the arms, or the other way round."""
    verdicts = {
        one.setting: decide("", [one], low, high).verdict for estimates in by_time.values() for one in estimates
    }
    listed = {setting: setting.replace(_IN_ORDERS, "") for setting in verdicts if _IN_ORDERS in setting}
    found = [other for one, other in listed.items() if {verdicts[one], verdicts.get(other)} == {REPRODUCED, FAILED}]
    return f"random ties and random orders of the arms disagree for {'; '.join(found)}" if found else ""


def decided(statistic: str, by_time: ByTime, low: float = -math.inf, high: float = math.inf) -> Evidence:
    """`decide_over_time`, with a finding that says how the claim fares at each horizon and where orders matter."""
    evidence = _by_horizon(decide_over_time(statistic, by_time, low, high), by_time, low, high)
    return with_words(evidence, _disagreements(by_time, low, high))


def with_words(evidence: Evidence, words: str) -> Evidence:
    """The evidence with more words in its finding."""
    return evidence.explained("; ".join(filter(None, [evidence.finding, words])))
