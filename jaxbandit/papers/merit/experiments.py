"""The experiments of the merit paper."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import xarray as xr
from jax import Array

from jaxbandit.environment.merit import Merit, Power
from jaxbandit.papers.experiment import Changes, Data, Experiment, Sizes, experiment

FAIR = ("FCUCB-D", "FCTS-D")
OPTIMISTIC = ("OP-FCUCB-D", "OP-FCTS-D")
BOXED = (FAIR[0], OPTIMISTIC[0])  # the policies that optimise over a box of means
UNFAIR = ("CUCB-D", "MP-TS-D")
GREEDY = "FGREEDY-D"
FIVE = (*FAIR, *UNFAIR, GREEDY)
SEVEN = (*FIVE, *OPTIMISTIC)
REGRETS = ("reward_regret", "fairness_regret")

# The delays in the order of figures 4 to 8, and what the figures call them.
DELAYS = {
    "fixed": "fixed delay",
    "geometric": "geometric",
    "pareto": "Pareto",
    "packet-loss": "packet loss",
    "reward-dependent": "reward-dependent",
}
INDEPENDENT = tuple(delay for delay in DELAYS if delay != "reward-dependent")  # of the reward
EXPONENTS = (2, 4, 6, 8)
FIXED = (0, 100, 200, 300)  # rounds of delay in figure 2(a)
LOG = "merit-conversion-log"
EXPLORING = "merit-geometric-exploring"
PUBLIC_EPS = 0.13  # of FGREEDY-D in the authors' public code; the paper does not state it
TIMED_ROUNDS = 10_000
REPEATS, QUICK_REPEATS = 5, 3  # of each timing

_HORIZON = {"simulation.horizon": 4000}
# The changes for the quick sizes. The timings have as many runs as the other experiments with geometric delays, so that
# they compile no more programs; delays of 6000 rounds keep their proportion to the horizon.
_QUICK: dict[str, dict[str, object]] = {delay: dict(_HORIZON) for delay in DELAYS}
_QUICK["geometric"]["simulation.seeds"] = 100
_QUICK["reward-dependent"]["problem.delay.one.d"] = [0, 0, 600, 600, 600, 0, 0]
_QUICK["reward-dependent"]["problem.delay.zero.d"] = [600, 600, 0, 0, 0, 600, 600]


class SearchedPower(Power, name="searched-power"):
    """`power` with its optimum over a box found by the search for any merit function: for its running time (Fig. 9)."""

    def peak(self, low: Array, high: Array, ratio: Array) -> Array:
        return Merit.peak(self, low, high, ratio)


def experiment_name(delay: str, exponent: int = 4) -> str:
    """The experiment with a delay and an exponent of the merit function; a fixed delay is 200 rounds."""
    return f"merit-{delay}-c{exponent}"


def fixed_name(rounds: int) -> str:
    """The experiment with a fixed delay, exponent 4."""
    return experiment_name("fixed") if rounds == 200 else f"merit-fixed-d{rounds}"


def timing_name(label: str, repeat: int, searched: bool = False) -> str:
    """The experiment that times a policy, with the optimum over its box in closed form or searched for."""
    return f"merit-time-{label.lower()}{'-searched' * searched}-{repeat}"


def timings(data: Data, label: str, searched: bool = False) -> list[xr.Dataset]:
    """The results of all timings of a policy."""
    names = (timing_name(label, repeat, searched) for repeat in range(REPEATS))
    return [data[name] for name in names if name in data]


def simulated_exponents(data: Data, delay: str) -> list[int]:
    """The exponents of the merit function that were simulated under a delay."""
    return [exponent for exponent in EXPONENTS if experiment_name(delay, exponent) in data]


def experiments(sizes: Sizes) -> list[Experiment]:
    """The experiments of figures 1, 2 and 4 to 9, and of figure 3 where there is a conversion log."""
    made = [
        _steeper(sizes, delay, exponent)
        for delay in DELAYS
        for exponent in (_quick_exponents(delay) if sizes.quick else EXPONENTS)
    ]
    for rounds in FIXED:
        if fixed_name(rounds) != experiment_name("fixed"):
            file, point = "merit/figure-2-fixed-delay", {"problem.delay.d": rounds}
            made.append(experiment(file, sizes, fixed_name(rounds), point=point, quick=_QUICK["fixed"]))
    exploring = {"policies": [{"kind": "fgreedy-d", "label": GREEDY, "eps": PUBLIC_EPS}]}
    made.append(_geometric(sizes, EXPLORING, exploring))
    for repeat in range(
        QUICK_REPEATS if sizes.quick else REPEATS
    ):  # policies in turn, so that other work on the machine slows all alike
        made += [_timed(sizes, label, repeat) for label in (*FAIR, *OPTIMISTIC)]
        made += [_timed(sizes, label, repeat, searched=True) for label in BOXED]
    return made if sizes.conversion_log is None else [*made, _conversions(sizes, sizes.conversion_log)]


def _quick_exponents(delay: str) -> tuple[int, ...]:
    """Fewer exponents: each is a program of its own for most policies."""
    return (4, 8) if delay == "geometric" else (4,)


def _steeper(sizes: Sizes, delay: str, exponent: int) -> Experiment:
    """An experiment of figures 4 to 8; with exponent 4 for all seven policies, as figures 1 and 2 need them."""
    changes = _policies(*SEVEN) if exponent == 4 else {}
    name, quick = experiment_name(delay, exponent), _QUICK[delay]
    if exponent == 4 and delay == "geometric":
        return _geometric(sizes, name, changes)
    if exponent == 4 and delay == "reward-dependent":
        return experiment("merit/figure-2-reward-dependent", sizes, name, changes=changes, quick=quick)
    point: Changes = {"problem.merit.exponent": exponent}
    file = f"merit/figure-{4 + list(DELAYS).index(delay)}"
    if exponent == 4 and delay != "fixed":
        file, point = "merit/figure-2-delays", {"problem.delay": delay}
    return experiment(file, sizes, name, point=point, changes=changes, quick=quick)


def _geometric(sizes: Sizes, name: str, changes: Changes) -> Experiment:
    return experiment("merit/figure-1", sizes, name, changes=changes, quick=_QUICK["geometric"])


def _policies(*labels: str) -> dict[str, object]:
    """The change to these policies."""
    return {"policies": [{"kind": label.lower(), "label": label} for label in labels]}


def _timed(sizes: Sizes, label: str, repeat: int, searched: bool = False) -> Experiment:
    changes = {**_policies(label), "simulation.key": repeat, "simulation.record": 1}
    if searched:
        changes["problem.merit.kind"] = "searched-power"
    changes["simulation.horizon"] = TIMED_ROUNDS
    return dataclasses.replace(_geometric(sizes, timing_name(label, repeat, searched), changes), timed=True)


def _conversions(sizes: Sizes, log: Path) -> Experiment:
    changes = {"problem.means.conversions": str(log), "problem.delay.table": str(log)}
    return experiment("merit/figure-3", sizes, LOG, changes=changes, quick=_HORIZON)
