"""Paper 002: what is simulated, and the names that its figures and claims go by."""

from __future__ import annotations

import json
from pathlib import Path

from jax import Array

from jaxbandit.environment.merit import Merit, Power
from jaxbandit.papers.experiment import Data, Experiment, Sizes, experiment

FAIR = ("FCUCB-D", "FCTS-D")
OPTIMISTIC = ("OP-FCUCB-D", "OP-FCTS-D")
BOXED = (FAIR[0], OPTIMISTIC[0])  # those that optimise over a box
UNFAIR = ("CUCB-D", "MP-TS-D")
GREEDY = "FGREEDY-D"
FIVE = (*FAIR, *UNFAIR, GREEDY)
SEVEN = (*FIVE, *OPTIMISTIC)
REGRETS = ("reward_regret", "fairness_regret")

# What the figures call the delays, in the order of figures 4 to 8.
DELAYS = {
    "fixed": "fixed delay",
    "geometric": "geometric",
    "pareto": "Pareto",
    "packet-loss": "packet loss",
    "reward-dependent": "reward-dependent",
}
INDEPENDENT = tuple(delay for delay in DELAYS if delay != "reward-dependent")
EXPONENTS = (2, 4, 6, 8)
FIXED = (0, 100, 200, 300)
LOG = "002-3-conversion-log"
EXPLORING = "002-1-geometric-exploring"
REPEATS = 5  # of each timing

_HORIZON = "simulation.horizon=4000"
# Of the small size. As many runs as are timed, so that timing compiles no more programs; delays of 6000 rounds keep
# their share of the horizon.
_SMALL = {delay: [_HORIZON] for delay in DELAYS}
_SMALL["geometric"] += ["simulation.seeds=100"]
_SMALL["reward-dependent"] += [
    "problem.delay.one.d=[0, 0, 600, 600, 600, 0, 0]",
    "problem.delay.zero.d=[600, 600, 0, 0, 0, 600, 600]",
]


class Searched(Power, name="searched-power"):
    """`power`, its optimum over a box looked for as that of any merit function is: what that costs (Fig. 9)."""

    def peak(self, low: Array, high: Array, ratio: Array) -> Array:
        return Merit.peak(self, low, high, ratio)


def name(delay: str, exponent: int = 4) -> str:
    """The experiment with a delay and an exponent of the merit; with 4 that of figures 1 and 2, where they have it."""
    own = {"geometric": "002-1-geometric", "pareto": "002-2-pareto", "packet-loss": "002-2-packet-loss"}
    return own[delay] if exponent == 4 and delay in own else f"002-b-{delay}-c{exponent}"


def fixed(rounds: int) -> str:
    """The experiment with a fixed delay, exponent 4."""
    return name("fixed") if rounds == 200 else f"002-2-fixed-d{rounds}"


def exponents(data: Data, delay: str) -> list[int]:
    """The exponents of the merit that were simulated under a delay."""
    return [exponent for exponent in EXPONENTS if name(delay, exponent) in data]


def timing(label: str, repeat: int, searched: bool = False) -> str:
    """The experiment that times a policy, the optimum over its box in closed form or searched for."""
    return f"002-9-{label.lower()}{'-searched' * searched}-{repeat}"


def experiments(sizes: Sizes) -> list[Experiment]:
    """All of 002: figures 1 and 2, 4 to 8, 9, and 3 where there is a log."""
    made = []
    for delay in DELAYS:
        few = (4, 8) if delay == "geometric" else (4,)  # each is a program of its own for most policies
        for exponent in few if sizes.quick else EXPONENTS:
            more = [_policies(*SEVEN)] if exponent == 4 else []
            made.append(experiment(name(delay, exponent), sizes, _SMALL[delay], more))
    made += [experiment(fixed(rounds), sizes, _SMALL["fixed"]) for rounds in FIXED if rounds != 200]
    exploring = ['policies=[{ kind = "fgreedy-d", label = "FGREEDY-D", eps = 0.6 }]']
    made.append(experiment(name("geometric"), sizes, _SMALL["geometric"], exploring, name=EXPLORING))
    for repeat in range(REPEATS):  # in turn, so that whatever else the machine does meets all alike
        made += [_timed(sizes, label, repeat) for label in (*FAIR, *OPTIMISTIC)]
        made += [_timed(sizes, label, repeat, searched=True) for label in BOXED]
    return made if sizes.log is None else [*made, _conversions(sizes, sizes.log)]


def _policies(*labels: str) -> str:
    """The change that has these policies simulated."""
    tables = [f'{{ kind = "{label.lower()}", label = "{label}" }}' for label in labels]
    return f"policies=[{', '.join(tables)}]"


def _timed(sizes: Sizes, label: str, repeat: int, searched: bool = False) -> Experiment:
    own = [_policies(label), f"simulation.key={repeat}", "simulation.record=1"]
    if searched:
        own += ["problem.merit.kind=searched-power", _HORIZON]  # it takes its time
    return experiment(name("geometric"), sizes, _SMALL["geometric"], own, name=timing(label, repeat, searched))


def _conversions(sizes: Sizes, log: Path) -> Experiment:
    quoted = json.dumps(str(log), ensure_ascii=False)  # a JSON string is one of TOML
    places = [f"problem.means.conversions={quoted}", f"problem.delay.table={quoted}"]
    return experiment(LOG, sizes, [_HORIZON], places)
