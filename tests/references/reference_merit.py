"""Slow, plain-Python references for the policies of the merit paper: merit-based fairness with delayed feedback.

They are written from the paper (Alg. 1-4), not from the array code; importing this file adds them to the registry of
`reference.py`. After every `select` a policy's `chances` holds the p_k(t) of that round.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate

from reference import INDICES, POLICIES, Policy, highest, where
from reference_plays import pairs, tournament

CELLS, PEAKS, STEPS = 2000, 5, 60  # of the one-dimensional search: grid cells, peaks refined, golden-section steps
GOLDEN = (math.sqrt(5) - 1) / 2


def shares(weights: list[float], candidates: list[int], plays: int) -> list[float]:
    """Probabilities in proportion to the weights, 0 outside the candidates; what exceeds 1 goes to the others."""
    p, free, left = [0.0] * len(weights), list(candidates), min(plays, len(candidates))
    while free:
        total = sum(weights[k] for k in free)
        trial = {k: left * weights[k] / total for k in free}
        over = [k for k in free if trial[k] > 1]
        for k in over or free:
            p[k] = min(trial[k], 1.0)
        free, left = [k for k in free if over and k not in over], left - len(over)
    return p


def golden(value: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with a single peak on [low, high] has it."""
    a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    value_a, value_b = value(a), value(b)
    for _ in range(STEPS):
        if value_a >= value_b:
            high, b, value_b = b, a, value_a
            a = high - GOLDEN * (high - low)
            value_a = value(a)
        else:
            low, a, value_a = a, b, value_b
            b = low + GOLDEN * (high - low)
            value_b = value(b)
    return a if value_a >= value_b else b


def line_optimum(points: list[tuple[float, float]], merit: Callable[[float], float], rho: float) -> float:
    """The x with the largest f(x) (x - rho) over an interval, given grid points (x, f(x)); ties to the lowest x."""

    def value(x: float) -> float:
        return merit(x) * (x - rho)

    values, last = [f * (x - rho) for x, f in points], len(points) - 1
    peaks = [i for i in range(last + 1) if values[i] == max(values[max(i - 1, 0) : i + 2])]
    found = []
    for i in highest(values, peaks, PEAKS):
        found += [points[i][0], golden(value, points[max(i - 1, 0)][0], points[min(i + 1, last)][0])]
    return max(found, key=lambda x: (value(x), -x))


def box_optimum(low: list[float], high: list[float], merit: Callable[[float], float]) -> tuple[list[float], float]:
    """The x of the box with the largest sum f(x) x / sum f(x), and that ratio, for any positive continuous f.

    Dinkelbach: x maximises sum f(x) (x - rho), an arm at a time, then rho becomes the ratio of that x; rho only grows.
    """
    if any(a > b for a, b in zip(low, high, strict=True)):
        raise ValueError(f"empty box: {low}, {high}")
    grids = []
    for a, b in zip(low, high, strict=True):
        xs = [a + (b - a) * i / CELLS for i in range(CELLS)] + [b] if a < b else [a]
        grids.append([(x, merit(x)) for x in xs])

    def ratio(x: list[float]) -> float:
        return math.fsum(merit(v) * v for v in x) / math.fsum(merit(v) for v in x)

    x, rho, moved = list(high), ratio(high), math.inf
    while moved >= 1e-12:
        x = [line_optimum(points, merit, rho) for points in grids]
        moved, rho = abs(ratio(x) - rho), ratio(x)
    return x, rho


def paper_merit(mu: float) -> float:
    return 1 + 2 * mu**4  # merit paper, sec. 6


class Merit(Policy):
    """Selects arms with probabilities, its `chances`; a policy that chooses its arms itself has chances 0 and 1."""

    merit: Callable[[float], float] = staticmethod(paper_merit)

    def start(self) -> None:
        self.chances = [0.0] * self.game.K

    def certain(self, selected: list[int]) -> list[int]:
        self.chances = [float(k in selected) for k in range(self.game.K)]
        return selected

    def drawn(self, x: list[float], candidates: list[int]) -> list[int]:
        """The merit selection of the means x: p_k = L f(x_k) / sum f(x), by dependent rounding."""
        K = self.game.K
        self.chances = shares([self.merit(v) for v in x], candidates, self.game.plays)
        uniforms = self.game.numbers.uniform(pairs(K), depth=0) if K > 1 else []
        return tournament([Fraction(p) for p in self.chances], uniforms)

    def beta(self, a: list[float], b: list[float], depth: int) -> list[float]:
        return [float(x) for x in self.game.numbers.beta(a, b, depth=depth)]

    def posterior(self, depth: int = 1) -> list[float]:  # one draw an arm from Beta(1+S, 1+M-S)
        arms = self.arms
        zeros = [1.0 + m - s for m, s in zip(arms.M, arms.S, strict=True)]
        return self.beta([1.0 + s for s in arms.S], zeros, depth)

    def pessimistic(self) -> list[float]:  # merit paper, Alg. 3, line 6: every missing reward 0
        return [s / max(n, 1) for n, s in zip(self.arms.N, self.arms.S, strict=True)]

    def optimistic(self) -> list[float]:  # merit paper, Alg. 3, line 5: every missing reward 1
        arms = self.arms
        return [(n - m + s) / max(n, 1) for n, m, s in zip(arms.N, arms.M, arms.S, strict=True)]


class FCUCBD(Merit, name="fcucb-d"):
    """Each arm once, then the means of the confidence box under which the fair policy earns the most."""

    def box(self) -> tuple[list[float], list[float]]:  # merit paper, Alg. 1, lines 3-6; Theorem 6
        m, log_T = self.arms.means(), math.log(4 * self.game.plays * self.game.K * self.game.T)
        c = [math.sqrt(log_T / self.arms.seen(k)) for k in range(self.game.K)]
        return self.clipped(m, m, c)

    @staticmethod
    def clipped(lower: list[float], upper: list[float], c: list[float]) -> tuple[list[float], list[float]]:
        low = [max(x - r, 0.0) for x, r in zip(lower, c, strict=True)]
        return low, [min(x + r, 1.0) for x, r in zip(upper, c, strict=True)]

    def select(self, t: int, available: list[bool]) -> list[int]:
        L, open_ = self.game.plays, where(available)
        if t <= math.ceil(self.game.K / L):  # merit paper, Alg. 1, init
            return self.certain(sorted(open_, key=lambda k: (self.arms.N[k] > 0, k))[:L])
        return self.drawn(box_optimum(*self.box(), self.merit)[0], open_)  # merit paper, Alg. 1, lines 9-11


class OPFCUCBD(FCUCBD, name="op-fcucb-d"):
    def box(self) -> tuple[list[float], list[float]]:  # merit paper, Alg. 3, lines 3-8; Theorem 8
        log_T = math.log(6 * self.game.plays * self.game.K * self.game.T)
        return self.clipped(self.pessimistic(), self.optimistic(), [math.sqrt(log_T / max(n, 1)) for n in self.arms.N])


class FCTSD(Merit, name="fcts-d"):
    def estimate(self) -> list[float]:  # merit paper, Alg. 2
        return self.posterior()

    def select(self, t: int, available: list[bool]) -> list[int]:
        return self.drawn(self.estimate(), where(available))


class OPFCTSD(FCTSD, name="op-fcts-d"):
    def estimate(self) -> list[float]:  # merit paper, Alg. 4
        record = list(zip(self.arms.N, self.arms.M, self.arms.S, strict=True))
        ones = [1.0 + s + (n - m) for n, m, s in record] + [1.0 + s for n, m, s in record]
        zeros = [1.0 + m - s for n, m, s in record] + [1.0 + n - s for n, m, s in record]
        drawn = self.beta(ones, zeros, 1)  # the missing rewards all 1, then all 0
        return [(a + b) / 2 for a, b in zip(drawn[: self.game.K], drawn[self.game.K :], strict=True)]


class CUCBD(Merit, name="cucb-d"):
    def scores(self, t: int, available: list[bool]) -> list[float]:  # as printed: no arm has index infinity
        m, budget = self.arms.means(), (self.game.plays + 1) * math.log(t)
        return [m[k] + math.sqrt(budget / self.arms.seen(k)) for k in range(self.game.K)]

    def select(self, t: int, available: list[bool]) -> list[int]:
        return self.certain(highest(self.scores(t, available), where(available), self.game.plays))


class MPTSD(CUCBD, name="mp-ts-d"):
    def scores(self, t: int, available: list[bool]) -> list[float]:
        return self.posterior(0)


class FGreedyD(Merit, name="fgreedy-d"):
    """Now and then L arms uniformly at random, else the merit selection of the empirical means."""

    eps: float = 0.1
    decay: float = 0.0

    def select(self, t: int, available: list[bool]) -> list[int]:  # merit paper, sec. 6
        K, L, numbers, open_ = self.game.K, self.game.plays, self.game.numbers, where(available)
        if float(numbers.uniform(1, depth=1)[0]) >= self.eps / t**self.decay:
            return self.drawn(self.arms.means(), open_)
        self.chances = shares([1.0] * K, open_, L)
        return highest([float(u) for u in numbers.uniform(K, depth=2)], open_, L)


class OPSE(Merit, name="opse"):
    """Successive elimination in sweeps (Lancewicki et al. 2021): bounds that hold whatever the missing rewards are."""

    exploration: float = 2.0

    def start(self) -> None:
        super().start()
        self.active = set(range(self.game.K))
        self.unplayed = set(self.active)

    def select(self, t: int, available: list[bool]) -> list[int]:
        def order(k: int) -> tuple[bool, bool, int]:
            return k not in self.active, k not in self.unplayed, k

        return self.certain(sorted(where(available), key=order)[: self.game.plays])

    def end_of_round(self, t: int, selected: list[int]) -> None:
        self.unplayed -= set(selected)
        if self.unplayed:
            return
        r = [math.sqrt(self.exploration * math.log(self.game.T) / max(n, 1)) for n in self.arms.N]
        upper = [x + radius for x, radius in zip(self.optimistic(), r, strict=True)]
        lower = [x - radius for x, radius in zip(self.pessimistic(), r, strict=True)]
        floor = sorted(lower[k] for k in self.active)[-self.game.plays]  # L arms are surely better than any below
        self.active = {k for k in self.active if upper[k] >= floor}
        self.unplayed = set(self.active)


def merit_regrets(
    chances_by_round: list[list[float]], mu: list[float], merit: Callable[[float], float], plays: int
) -> tuple[list[float], list[float]]:
    """Reward regret and fairness regret after each round (merit paper, eq. 4-6)."""
    total = sum(merit(x) for x in mu)
    fair = [plays * merit(x) / total for x in mu]
    reward, fairness = [], []
    for chances in chances_by_round:
        missing = [wanted - p for wanted, p in zip(fair, chances, strict=True)]
        reward.append(max(sum(d * x for d, x in zip(missing, mu, strict=True)), 0.0))
        fairness.append(sum(abs(d) for d in missing))
    return list(accumulate(reward)), list(accumulate(fairness))


MERIT: list[str] = ["fcucb-d", "fcts-d", "op-fcucb-d", "op-fcts-d", "cucb-d", "mp-ts-d", "fgreedy-d", "opse"]
POLICIES.extend(MERIT)
INDICES.extend(MERIT)  # `make` asks every other policy for tau
