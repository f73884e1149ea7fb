"""What the oracle knows of a config: its numbers as exact fractions, its optimum, and what rewards can sum to."""

import copy
from fractions import Fraction

import numpy as np

from jaxbandit.policies.base import Policy
from jaxbandit.policies.make_policy import policy

BY_INDEX = (
    *("ucb1", "kl-ucb", "thompson", "moss", "ucb-v", "explore-then-commit", "successive-elimination", "opse"),
    *("cucb-d", "mp-ts-d", "eta-fucb", "fair-learn", "fucb", "f-ts", "fair-mmab", "lfg", "t-fucb", "ucb-pllp"),
    *("hard-threshold-ucb", "soft-threshold-ucb", "constant-opportunity", "self-regulated", "fairness-aware-etc"),
    *("discounted-ucb", "sliding-window-ucb", "discounted-thompson"),
)
RANDOM_INDICES = ("uniform-random", "epsilon-greedy", "calibrated-thompson")  # may state chances themselves
SURE = 9.0  # standard errors: a false alarm in 1e18
DRAWN = 2e-5


class Case:
    """A config and its dataset; `of(place)` is one policy of it.

    Attributes, arrays by instance and arm: `mu`; `tau` (exact fractions), `price` (A), `awake` (availability), `shares`
    (p* of the merit paper), `owed_by_merit` (f of the opportunities paper), each None where the problem has none; `N`
    by instance, seed and arm.
    """

    def __init__(self, config, results):
        self.config, self.results = config, results
        self.problem, self.simulation = config["problem"], config["simulation"]
        self.T, self.S, self.L = self.simulation["horizon"], self.simulation["seeds"], self.problem["plays"]
        given = self.problem["means"]
        if isinstance(given, dict):  # drawn: only their range is known
            drawn = np.asarray(results["means"].values, float)
            assert np.all((given.get("low", 0) <= drawn) & (drawn <= given.get("high", 1)))
            given = drawn.tolist()
        rows = given if isinstance(given[0], list) else [given]
        self.J, self.K = len(rows), len(rows[0])
        self.mean = [[exact(x) for x in row] for row in rows]
        self.mu = floats(self.mean)
        self.tau = self.spread("fractions")
        self.tau_float = None if self.tau is None else floats(self.tau)
        self.rounds = results["round"].values
        price = self.problem.get("penalties")
        if isinstance(price, dict):
            x = exact(price["gap_fraction"])
            self.exact_price = [[x * (max(row) - min(row))] * self.K for row in self.mean]
        else:
            self.exact_price = self.spread("penalties")
        self.price = None if self.exact_price is None else floats(self.exact_price)
        awake = self.spread("availability")
        self.awake = None if awake is None or all(x == 1 for row in awake for x in row) else floats(awake)
        self.shares = self.merit_shares()
        self.exact_owed = self.opportunity_shares()
        self.owed_by_merit = None if self.exact_owed is None else floats(self.exact_owed)

    def of(self, place):
        one = copy.copy(self)
        one.place, one.table = place, self.config["policies"][place]
        one.kind = one.table["kind"]
        one.N = self.results.pulls.isel(policy=place).transpose("instance", "seed", "arm").values
        registered = Policy.registry[one.kind]
        one.phases = registered.phases if isinstance(registered, type) else policy(one.kind).phases
        return one

    def spread(self, name):
        return None if name not in self.problem else spread(self.problem[name], self.J, self.K)

    def facts(self):
        """What the dataset repeats."""
        return {
            "means": self.mu,
            "fractions": self.tau_float,
            "penalties": self.price,
            "opportunities": self.owed_by_merit,
        }

    def owed(self, t):
        return np.array([[float(x * t) for x in row] for row in self.tau])

    def floors(self, t):
        return np.array([[x * t // 1 for x in row] for row in self.tau], dtype=float)

    def values(self, name):
        """[J, S], or None where there is no such variable."""
        return self.results[name].isel(policy=self.place).values if name in self.results else None

    curve = values

    def differs(self, name, low, high, room):
        """A fault where the final values do not lie between `low` and `high`."""
        held = self.values(f"{name}_final")
        if held is None:
            return []
        off = np.maximum(low - held, held - high)
        if not np.any(off > room):  # NaN is found by `numbers`
            return []
        at = np.unravel_index(np.argmax(off - room), off.shape)
        return [f"{name}_final {at} is {held[at]!r}, expected {low[at]!r} to {high[at]!r}"]

    def merit_shares(self):
        """p*_k = L f(mu_k) / sum f(mu) (merit paper, eq. 4) for f = 1 + s mu^c."""
        given = self.problem.get("merit")
        if given is None:
            return None
        table = {"scale": 2.0, "exponent": 4.0} | (given if isinstance(given, dict) else {"kind": given})
        if table["kind"] != "power":
            return None
        f = 1 + table["scale"] * self.mu ** table["exponent"]
        return self.L * f / f.sum(axis=1, keepdims=True)

    def opportunity_shares(self):
        """f(mu), [J][K] (opportunities paper, sec. 2.2): exact fractions, or floats where f is irrational."""
        given = self.problem.get("opportunity")
        if given is None:
            return None
        defaults = {"c": {"softmax": 1.0, "power": 2.0}, "gamma": 0.0, "scale": 1.0, "eps": 0.1}
        table = given if isinstance(given, dict) else {"kind": given}
        kind, K = table["kind"], self.K
        c = exact(table.get("c", defaults["c"].get(kind, 1)))
        gamma, scale, eps = (exact(table.get(name, defaults[name])) for name in ("gamma", "scale", "eps"))
        alone = {
            "zero": lambda mu: Fraction(0),
            "uniform": lambda mu: Fraction(1, K),
            "linear": lambda mu: mu / K,
            "constant": lambda mu: gamma,
            "power": lambda mu: mu ** int(c) / K if c == int(c) else float(mu) ** float(c) / K,
            "piecewise-linear": lambda mu: scale * min(max(mu - Fraction(1, 2), 0), eps) / K,  # App. A.3
        }
        if kind in alone:
            return [[alone[kind](mu) for mu in row] for row in self.mean]
        if kind != "softmax":
            return None
        made = []
        for row in self.mean:
            if c == 0 or len(set(row)) == 1:
                made.append([Fraction(1, K)] * K)
                continue
            weights = np.exp([float(c * mu - max(c * x for x in row)) for mu in row])
            made.append((weights / weights.sum()).tolist())
        return made


def exact(x):
    """The decimal number that the user wrote."""
    return Fraction(repr(x) if isinstance(x, float) else x)


def floats(rows):
    return np.array([[float(x) for x in row] for row in rows])


def spread(value, J, K):
    """A number, K numbers or J rows of them, as J rows of K exact fractions."""
    if not isinstance(value, list):
        return [[exact(value)] * K] * J
    rows = value if isinstance(value[0], list) else [value] * J
    return [[exact(x) for x in row] for row in rows]


def chosen_by_index(table):
    """Whether p_k(t) is the 0/1 selection: the policy states no probabilities."""
    return table["kind"] in BY_INDEX and table.get("base") not in RANDOM_INDICES


def stated_chances(one):
    """p_k, [J, K], of a policy that selects by the same chances in every round, in a list; none of any other."""
    if one.awake is not None:
        return []
    if one.kind == "fair-random":  # guarantees paper, sec. 3.1
        return [one.tau_float + (1 - one.tau_float.sum(axis=1, keepdims=True)) / one.K]
    if one.kind == "uniform-random":
        return [np.full((one.J, one.K), one.L / one.K)]
    return []


def opportunity_optimum(one):
    """The utility of the optimum (opportunities paper, Lemma 1): two numbers an instance that it lies between.

    Arms worth their opportunities (gap below lambda) get floor(T f_i) plays, the rest goes to the best arms, and lambda
    is paid for what is missed. Three things leave it open: a product T f_i within 1e-9 of a whole number where f is
    irrational; one within 1e-12 below it where f is 0.3333333333333333, written for a third; and whether the rest,
    spread over several best arms, is in whole plays or in parts of them.
    """
    low, high = [], []
    for mean, f, price in zip(one.mean, one.exact_owed, one.exact_price, strict=True):
        best = max(mean)
        ends = [_optimum(one.T, mean, f, price, best, slack, whole) for slack in (0, 1, -1) for whole in (True, False)]
        low.append(min(ends))
        high.append(max(ends))
    return np.array(low), np.array(high)


def _optimum(T, mean, f, price, best, slack, whole):
    known = max(slack, 0) * Fraction(1, 10**12)  # leaves whole numbers what they are
    owed = [T * x + (known if isinstance(x, Fraction) else slack * 1e-9) for x in f]
    plays = [x // 1 if best - mu < a else 0 for x, mu, a in zip(owed, mean, price, strict=True)]
    rest = T - sum(plays)
    kept = [k for k, mu in enumerate(mean) if mu == best]
    missed = [max(x - n, 0) for x, n in zip(owed, plays, strict=True)]
    cost = sum(float(a) * float(x) for a, x in zip(price, missed, strict=True))
    for k in sorted(kept, key=lambda k: -price[k] * (min(missed[k], 1) if whole else 1)):
        given = min(missed[k], rest)
        cost -= float(price[k]) * float(given)
        rest -= min(int(-(-given // 1)), rest) if whole else given
    earned = sum(float(mu) * float(n) for mu, n in zip(mean, plays, strict=True)) + float(best) * float(T - sum(plays))
    return earned - cost


def reward_sum_faults(one, total, earned, room):
    """Faults of sums of drawn rewards, [J, S], given the pulls.

    They lie in the support of such a sum. About sum mu N they are a martingale whose steps are sub-Gaussian: of
    variance sd^2, or (b - a)^2 / 4 on an interval (Hoeffding 1963, eq. 4.16), so that `SURE` standard errors hold them.
    """
    given = one.problem["reward"]
    table = given if isinstance(given, dict) else {"kind": given}
    kind, N, mu, plays = table["kind"], one.N, one.mu[:, None], one.L * one.T
    if kind == "constant":
        low = high = earned
        step = 0.0
    elif kind == "gaussian":
        step = floats(spread(table.get("sd", 1.0), one.J, one.K)).max()
        low, high = np.full(earned.shape, -np.inf), np.full(earned.shape, np.inf)
    elif kind == "uniform":
        width = table.get("width")
        wide = 2 * np.minimum(one.mu, 1 - one.mu) if width is None else floats(spread(width, one.J, one.K))
        low, high = ((mu + sign * wide[:, None] / 2) * N for sign in (-1, 1))
        low, high, step = low.sum(axis=-1), high.sum(axis=-1), wide.max() / 2
    elif kind in ("bernoulli", "beta"):
        low, high = np.where(mu == 1, N, 0).sum(axis=-1), np.where(mu > 0, N, 0).sum(axis=-1)
        step = 0.5
    else:
        return []
    largest = 1e-7 * np.abs(one.mu).max()  # means in float32
    room = room + plays * (DRAWN * step + largest if kind != "bernoulli" else 0)
    low = np.maximum(low, earned - SURE * step * plays**0.5) - room
    high = np.minimum(high, earned + SURE * step * plays**0.5) + room
    faults = []
    if np.any((total < low) | (total > high)):
        faults.append(f"utility: rewards sum to {total}, between {low} and {high}")
    if kind == "bernoulli" and np.any(np.abs(total - np.rint(total)) > room):
        faults.append(f"utility: Bernoulli rewards sum to {total}, no whole numbers")
    return faults
