"""Random legal configs: shapes from few values, so that little is compiled; numbers from many, the edges among them.

Kinds come from the program's registries, so that a new one is drawn (with its default parameters) without a change
here.
"""

import dataclasses
import inspect

import numpy as np

import jaxbandit as jb
from jaxbandit.engine.settings import SimulationSettings
from jaxbandit.environment.delays import Delay
from jaxbandit.environment.merit import Merit
from jaxbandit.environment.opportunities import Opportunity
from jaxbandit.environment.rewards import Reward
from jaxbandit.metrics.definitions import METRICS
from jaxbandit.policies.base import Policy
from jaxbandit.policies.make_policy import policy

# K, L, instances, seeds
SHAPES = [
    (3, 1, 1, 5),
    (3, 1, 2, 3),
    (5, 1, 1, 4),
    (5, 1, 1, 12),
    (2, 1, 4, 2),
    (12, 1, 1, 2),
    (1, 1, 1, 2),
    (3, 1, 1, 1),
    (3, 2, 1, 5),
    (5, 3, 2, 3),
    (8, 3, 1, 4),
    (12, 5, 1, 2),
    (2, 2, 1, 3),
    (4, 4, 1, 2),
]
ONE_PLAY = [shape for shape in SHAPES if shape[1] == 1]
# What most configs have, as programs are compiled for shapes, and for the calendar of delays: powers of 2 up to T
HOME = (3, 1, 1, 4)
HOME_MANY = (5, 3, 1, 4)
HOME_HORIZONS = [40, 57, 64]
HORIZONS = [1, 2, 3, 5, 9, 16, 31, 40, 57, 64, 80, 100, 111, 119, 200, 300]

# Sensible and edge values of the parameters of policies; any other parameter keeps its default.
PARAMETERS = {
    "J": [1],
    "a": [0, 3.0, 0.5, -1.0],
    "alpha": [0, 0.5, 2, 1e6],
    "b": [1, 0.5, 100],
    "beta": [0.1, 0.5, 2],
    "c": [0, 1, 0.25],
    "decay": [0, 0.3333, 1, 5],
    "delta": [0.05, 0.5, 0.9],
    "discount": [0.99, 0.5, 0.9],
    "eps": [0, 0.1, 0.5, 1],
    "eta": [0, 0.5, 20, 1e6],
    "exploration": [0, 0.25, 2, 1.5, 1000],
    "floor": [0, 0.01, 0.05],
    "lipschitz": [0, 0.1, 1, 5],
    "log_offset": [0, 1, 0.5],
    "mix": [0, 0.1, 0.5],
    "penalties": [0, 0.3, 0.45, 2.0, 1e6],
    "rounds_per_arm": [1, 3.5, 7, 1000],
    "sd": [0.1, 1.0],
    "window": [1, 5, 1000],
}
POSITIVE = {"self-regulated": {"alpha": [0.1, 0.5, 1.5], "beta": [0.1, 0.5, 1.5]}}


def kinds():
    """The registered names: policies, rewards and delays."""
    return names(Policy), names(Reward), names(Delay)


def names(family):
    """The registered names of a family, but for those of tests and of the papers' own experiments."""

    def ours(registered):
        module = getattr(registered, "policy", registered).__module__
        return module.startswith("jaxbandit.") and not module.startswith("jaxbandit.papers.")

    return [name for name, registered in family.registry.items() if ours(registered)]


def has_many_plays(kind):
    """Whether a policy of that name selects several arms a round."""
    return built(kind).many_plays


def built(kind):
    """A policy of that name as the program makes it, to look up what it takes."""
    return policy(kind)


def draw(seed, number=0, attempt=0, home=0.6):
    """Config `number` of a campaign, as tables: {"simulation": ..., "problem": ..., "policies": [...]}.

    The number alone decides the first policy, the delay and the reward, in such an order that each policy meets each
    delay and each reward, in few pairs of them. So nothing need be remembered to steer, or to go on with a campaign.

    Args:
        seed: of the campaign.
        number: which config.
        attempt: 0; 1, 2, ... where the attempts before were refused. Edges become rarer.
        home: chance of a config that differs in numbers only from others of its policy, delay and reward; the rest
            may have any shape, base, second policy, sleeping arms, and lack what the problem needs not.
    """
    rng = np.random.default_rng([seed, number, attempt])
    policies, rewards, delays = kinds()
    turn, place = divmod(number, len(policies))
    kind = policies[place]
    delay = delays[(turn + place) % len(delays)]
    cycle = max(len(delays), len(rewards))
    reward = rewards[(turn % cycle + turn // (4 * cycle) + place) % len(rewards)]
    if attempt >= 3 or (delay == "reward-dependent" and (attempt or rng.random() < 0.8)):
        reward = "bernoulli"  # every policy and delay takes it, and that delay no other
    return Drawing(rng, attempt, home, turn // cycle, place).config(kind, reward, delay)


class Drawing:
    """One config under construction."""

    def __init__(self, rng, attempt, home, cycle, place):
        self.rng, self.plain, self.cycle, self.place = rng, attempt >= 2, cycle, place
        self.home = self.chance(home)

    def pick(self, values):
        return values[int(self.rng.integers(len(values)))]

    def chance(self, p):
        return bool(self.rng.random() < p)

    def edge(self, p):
        """Whether to take an edge value where refusal is likely."""
        return self.chance(p) and not self.plain

    def number(self, low=0.0, high=1.0, digits=3):
        return round(float(self.rng.uniform(low, high)), digits)

    def config(self, kind, reward, delay):
        one = not has_many_plays(kind) or (self.cycle % 2 == 0 if self.home else self.chance(0.4))
        home = HOME if one else HOME_MANY
        self.K, self.L, self.J, self.S = home if self.home else self.pick(ONE_PLAY if one else SHAPES)
        self.T = self.pick(HOME_HORIZONS if self.home else HORIZONS)
        self.fields = type(built(kind)).parameters()
        chosen = [self.policy(kind)]
        if not self.home and self.chance(0.25):
            others = [name for name in names(Policy) if self.L == 1 or has_many_plays(name)]
            chosen.append(self.policy(self.pick(others)))
        problem = self.problem(reward, delay)
        return {"simulation": self.simulation(problem), "problem": problem, "policies": chosen}

    def simulation(self, problem):
        made = {
            "horizon": self.T,
            "seeds": self.S,
            "key": self.pick([0, 1, 7, 2**32, 2**63, int(self.rng.integers(99))]),
        }
        rounds = sorted({self.T, *self.rng.integers(1, self.T + 1, 3).tolist()})
        made["record"] = self.pick(["all", 1, 4, 8, rounds])
        if not self.home and self.chance(0.2):
            made["metrics"] = self.metrics(problem)
        if "ties" in {field.name for field in dataclasses.fields(SimulationSettings)}:
            made["ties"] = self.pick(["lowest", "random"])
        return made

    def metrics(self, problem):
        known = {"regret"}
        if "fractions" in problem:
            known |= {"r_regret", "c_regret", "unfairness", "max_deficit"}
            known |= {"penalized_regret"} if "penalties" in problem else set()
        if "merit" in problem:
            known |= {"reward_regret", "fairness_regret"}
        if "opportunity" in problem and "penalties" in problem:
            known |= {"utility", "utility_regret"}
        names = [name for name in METRICS if name in known]
        return [name for name in names if self.chance(0.5)] or names[:1]

    # The problem

    def problem(self, reward, delay):
        unit = reward in ("bernoulli", "beta") or not self.edge(0.15)
        made = {"means": self.means(unit), "plays": self.L, "reward": self.reward(reward, unit)}
        if not unit:
            made["means"] = np.round(np.asarray(made["means"]) * self.pick([7, -2, 300]) - 1, 3).tolist()
        made["delay"] = self.delay(delay)
        if not self.home and self.chance(0.4):
            made["availability"] = self.availability()
        made["fractions"] = self.fractions()
        made["penalties"] = self.penalties()
        if unit:
            made["merit"] = self.merit()
            if self.L == 1:
                made["opportunity"] = self.opportunity()
        for name in ("fractions", "penalties", "merit", "opportunity"):
            if not self.home and self.edge(0.15):
                made.pop(name, None)
        return made

    def means(self, unit):
        if unit and self.J > 1 and self.edge(0.2):
            ends = self.pick([{}, {"low": 0.2, "high": 0.9}, {"low": 0.5, "high": 0.5}])
            return {"random": "uniform", "arms": self.K, "instances": self.J, **ends}
        rows = [self.row() for _ in range(self.J)]
        return rows[0] if self.J == 1 else rows

    def row(self):
        K = self.K
        shape = self.pick(["any", "any", "any", "line", "equal", "ends", "two best", "tiny"])
        if shape == "line":
            return [round(0.9 - 0.8 * k / K, 2) for k in range(K)]
        if shape == "equal":
            return [self.pick([0.0, 1.0, 0.5, 0.3])] * K
        if shape == "ends":
            return [self.pick([0.0, 1.0, 0.5]) for _ in range(K)]
        row = [self.number(digits=self.pick([1, 2, 3])) for _ in range(K)]
        if shape == "two best":
            row[0] = row[-1] = max(row)
        if shape == "tiny":
            row = [self.pick([1e-6, 1e-30, 0.999999, value]) for value in row]
        return row

    def reward(self, kind, unit):
        table = {"kind": kind}
        if kind == "gaussian" and (self.home or self.chance(0.8)):
            table["sd"] = self.one_or_all([0.1, 0.0, 1.0, 0.5, 30.0, 1e6 if not self.plain else 2.0])
        if kind == "beta" and (self.home or self.chance(0.6)):
            table["concentration"] = self.one_or_all([0.001, 0.5, 1.0, 3.0, 1000.0])
        if kind == "uniform" and (not unit or self.place % 2 or (not self.home and self.edge(0.4))):
            table["width"] = self.one_or_all([0.0, 0.1, 1.0, 5.0])
        return table if len(table) > 1 or self.chance(0.5) else kind

    def one_or_all(self, values):
        """A number, K numbers, or a row an instance; at home K numbers, for each of these is another program."""
        if not self.home and self.chance(0.5):
            return self.pick(values)
        row = [self.pick(values) for _ in range(self.K)]
        if self.J > 1 and self.chance(0.3):
            return [[self.pick(values) for _ in range(self.K)] for _ in range(self.J)]
        return row

    def delay(self, kind, nested=False):
        d = [0, 1, 5, 7, self.T, 10**6, 2**31, 10**18]
        some = {
            "fixed": {"d": d},
            "geometric": {"p": [0.5, 0.05, 1.0, 0.9, 1e-9, 1e-300]},
            "pareto": {"alpha": [1.0, 0.3, 0.001, 50.0, 2.0]},
            "packet-loss": {"p": [0.0, 1.0, 0.5, 0.3]},
        }
        if kind in some:
            return {"kind": kind} | {name: self.one_or_all(values) for name, values in some[kind].items()}
        if kind == "reward-dependent" and not nested:
            inner = [name for name in names(Delay) if name != kind]
            return {"kind": kind, "one": self.delay(self.pick(inner), True), "zero": self.delay(self.pick(inner), True)}
        if kind == "empirical":
            return self.empirical()
        return kind if self.chance(0.5) else {"kind": kind}

    def empirical(self):
        table = [
            [self.pick([0, 1, 3, 6, 7, 40, 5000]) for _ in range(self.pick([1, 4]) if not self.home else 3)]
            for _ in range(self.K)
        ]
        made = {"kind": "empirical", "table": table if self.home or self.chance(0.5) else table[0]}
        if self.chance(0.3):  # a table of seconds, beside it clicks in a week
            seconds = [[60 * 60 * value for value in row] for row in table]
            made |= {"table": seconds, "clicks": [[self.pick([0, 1, 20, 300]) for _ in row] for row in table]}
            made["click_rate"] = self.pick([0.05, 1.0, 0.5])
        return made

    def availability(self):
        return self.one_or_all([0.5, 0.9, 1.0, 0.1, 0.0 if not self.plain else 0.7])

    def fractions(self):
        K, L = self.K, self.L
        how = self.pick(["one", "one", "few", "rows", "equal", "zero", "full", "tiny"])
        if how == "equal":
            return self.pick([0.01, 0.05, 0.07, 0.29 / K, round(0.9 * L / K, 3)]) if K > 1 else 0.3
        if how == "zero":
            return 0 if self.chance(0.5) else 0.0
        if how == "full" and not self.plain:  # they sum to L exactly: no decimal of L / K does for all K
            return [round(L / K, 2)] * (K - 1) + [float(f"{L - (K - 1) * round(L / K, 2):.2f}")]
        if how == "tiny":
            return self.one_or_all([1e-9, 1e-300, 0.0, 1e-4])
        rows = [self.shares(0.95 * L) for _ in range(self.J)]
        return rows if how == "rows" and self.J > 1 else rows[0] if how != "one" else round(0.5 * L / K, 3)

    def shares(self, total):
        """K fractions of decimals that sum to at most `total`, some of them 0; none above 1."""
        weights = self.rng.random(self.K) * (self.rng.random(self.K) < 0.8)
        values = np.floor(np.minimum(weights / max(weights.sum(), 1e-9) * total * self.rng.random(), 1) * 1000) / 1000
        return [round(float(value), 3) for value in values]

    def penalties(self):
        if self.chance(0.1):
            return {"gap_fraction": self.pick([0.5, 0.0, 1.0])}
        return self.one_or_all([0, 0.3, 0.45, 0.8, 2.5, 1e6])

    def merit(self):
        kind = self.pick(names(Merit))
        if kind != "power":
            return kind
        most = (self.K - 1) / (self.L - 1) - 1 if self.L > 1 else 1000.0
        scale = self.pick([0.0, 2.0, 3.5, 1000.0, 0.3])
        return {
            "kind": kind,
            "scale": min(scale, round(0.99 * most, 3)),
            "exponent": 4 if self.home else self.pick([1, 2, 2.5]),
        }

    def opportunity(self):
        kind = self.pick(names(Opportunity))
        if self.home and "penalties" in self.fields:  # policies of the opportunities paper are programs of f
            kind = names(Opportunity)[self.place % len(names(Opportunity))]
        some = {
            "softmax": {"c": [1.0, 0.0, -3.0, 50.0, -50.0, 10.0]},
            "power": {"c": [2.0, 0.0, 0.5, 1.0, 8.0]},
            "constant": {"gamma": [0.0, 0.05, 100 // self.K / 100, 1 / self.K]},
            "piecewise-linear": {"scale": [1.0, 0.0, 2.0], "eps": [0.1, 0.5, 0.0]},
        }
        table = {"kind": kind} | {name: self.pick(values) for name, values in some.get(kind, {}).items()}
        return table if len(table) > 1 or self.chance(0.5) else kind

    # Policies

    def policy(self, kind):
        table = {"kind": kind}
        made = built(kind)
        fields = type(made).parameters()
        for slot in ("base", "black_box"):
            alias = inspect.isclass(Policy.registry[kind]) is False
            if slot in fields and not alias and not self.home and self.chance(0.8):
                table[slot] = self.pick(bases(kind, slot))
                inner = built(table[slot])
                self.parameters(table, inner, [n for n in type(inner).parameters() if n not in fields])
        self.parameters(table, made, fields)
        if "merit" in fields and not self.home and self.chance(0.1):
            table["merit"] = {"kind": "power", "scale": 0.2, "exponent": 2}
        return table

    def parameters(self, table, made, names):
        for name in names:
            values = POSITIVE.get(made.name, {}).get(name, PARAMETERS.get(name))
            other = self.home and getattr(made, name) is None  # its default is another program
            if values is not None and name not in table and not other and self.chance(0.4):
                table[name] = self.pick(values)


_BASES = {}


def bases(kind, slot):
    """The indices that a policy takes, found by asking it."""
    if (kind, slot) not in _BASES:
        fits = []
        for name in names(Policy):
            try:
                policy(kind, **{slot: name})
            except jb.InputError:
                continue
            fits.append(name)
        _BASES[kind, slot] = fits
    return _BASES[kind, slot]
