"""A campaign of random configs: draw, simulate, judge, and count what was covered."""

import tomllib
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from fuzz_draw import draw, kinds
from fuzz_judge import judge, judge_prefix

import jaxbandit as jb
from jaxbandit.engine import simulation as engine
from jaxbandit.experiments.configs import config as configs
from jaxbandit.experiments.dataset import dataset
from jaxbandit.metrics.definitions import METRICS

ATTEMPTS = 5  # configs drawn for a number before it counts as refused
# Policies that know the horizon: their curves are not those of a shorter simulation.
KNOWING = (
    *("explore-then-commit", "moss", "successive-elimination", "opse", "naive", "t-fucb", "fcucb-d", "op-fcucb-d"),
    *("fairx-ucb", "exp3", "constant-opportunity", "self-regulated", "fairness-aware-etc"),
)


def simulated(config):
    """The dataset of a config; warnings of NumPy count as errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        return jb.simulate(config["problem"], config["policies"], **config["simulation"])


def reloaded_faults(results):
    """The config that a dataset holds describes the simulation that made it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        simulation = configs.make_plan(tomllib.loads(results.attrs["config"]))
        again = dataset(simulation, engine.run(simulation), {})
    numbers = [name for name in results.data_vars if results[name].dtype.kind in "iuf"]
    other = [
        str(name)
        for name in numbers
        if name not in again or not np.array_equal(results[name].values, again[name].values, equal_nan=True)
    ]
    return [f"the dataset's own config gives other {', '.join(other)}"] if other else []


def shortened(config, results):
    """The config cut at a recorded round, and the places of the policies that cannot tell; None where there is none.

    The round is so late that the calendar of rewards under way has the same size and nothing is compiled anew.
    """
    T = config["simulation"]["horizon"]
    rounds = [t for t in results["round"].values.tolist() if t < T and (t - 1).bit_length() == (T - 1).bit_length()]
    plain = [
        place
        for place, table in enumerate(config["policies"])
        if not any(value in KNOWING for value in table.values() if isinstance(value, str))
    ]
    if not rounds or not plain:
        return None
    t = rounds[len(rounds) // 2]
    return {**config, "simulation": {**config["simulation"], "horizon": t, "record": [t]}}, plain


@dataclass
class Coverage:
    """How many configs ran, by what they held; and why others did not."""

    ran: Counter = field(default_factory=Counter)
    refused: dict = field(default_factory=dict)

    def add(self, config, results):
        delay, reward = (_kind(config["problem"][name]) for name in ("delay", "reward"))
        seen = {("delay", delay), ("reward", reward)}
        for table in config["policies"]:
            seen |= {("policy", table["kind"]), (table["kind"], "delay", delay), (table["kind"], "reward", reward)}
        seen |= {("metric", name) for name in METRICS if name in results}
        self.ran.update(seen)

    def refuse(self, config, error):
        delay, reward = (_kind(config["problem"][name]) for name in ("delay", "reward"))
        for table in config["policies"]:
            self.refused[table["kind"], "delay", delay] = str(error)
            self.refused[table["kind"], "reward", reward] = str(error)

    def least(self):
        """By family, the kind that ran least and how often."""
        policies, rewards, delays = kinds()
        every = {"policy": policies, "reward": rewards, "delay": delays, "metric": list(METRICS)}
        return {family: min((self.ran[family, name], name) for name in names) for family, names in every.items()}

    def uncovered(self):
        """Pairs of a policy and a delay or reward that never ran, with the last refusal of such a config, if any."""
        policies, rewards, delays = kinds()
        pairs = [(kind, "delay", name) for kind in policies for name in delays]
        pairs += [(kind, "reward", name) for kind in policies for name in rewards]
        return {pair: self.refused.get(pair) for pair in pairs if not self.ran[pair]}


def _kind(value):
    return value["kind"] if isinstance(value, dict) else value


def tried(seed, number, coverage, home=0.6):
    """Draw, simulate and judge config `number`; draw it again where it is refused.

    Returns:
        The config, its dataset (None where all attempts were refused) and the faults.
    """
    for attempt in range(ATTEMPTS):
        config = draw(seed, number, attempt, home)
        try:
            results = simulated(config)
        except jb.InputError as error:
            coverage.refuse(config, error)
            continue
        except Exception:
            return config, None, [f"raises {traceback.format_exc(limit=-3)}"]
        coverage.add(config, results)
        faults = judge(config, results)
        if number % 3 == 0:
            try:
                faults += reloaded_faults(results)
            except Exception:
                faults.append(f"the dataset's own config raises {traceback.format_exc(limit=-1)}")
        cut = shortened(config, results)
        if cut is not None:
            try:
                shorter = simulated(cut[0])
            except Exception:  # what runs for T rounds runs for fewer
                return config, results, [*faults, f"cut short, raises {traceback.format_exc(limit=-3)}"]
            faults += judge(cut[0], shorter) + judge_prefix(results, shorter, cut[1])
        return config, results, faults
    return config, None, []
