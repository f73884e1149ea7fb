"""Slow, plain-Python references for the opportunities paper: fairness functions, the policies that weigh them against
a transfer cost, and the optimum they are measured by.

They are written from the paper (Alg. 1, 3, 4, Lemma 1, Prop. 1), not from the array code; importing this file adds the
policies to the registry of `reference.py`. lambda_k, the transfer cost of arm k, is the game's A_k.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from reference import INDICES, POLICIES, Arms, Policy, exact, highest, where

FLOAT32_EPS = 2.0**-23  # the engine counts in float32
Number = float | Fraction


def floor_of(x: Number, eps: float = FLOAT32_EPS) -> int:
    """Rounded down; a float within four machine epsilons of an integer counts as that integer."""
    if isinstance(x, float) and abs(x - round(x)) <= 4 * eps * abs(x):
        return round(x)
    return math.floor(x)


def clearly_below(gap: float, cost: float, eps: float = FLOAT32_EPS) -> bool:
    """gap < cost, where a gap within four machine epsilons of the cost counts as the cost; 0 is exact."""
    return gap < cost and (gap == 0 or cost - gap > 4 * eps)


def clip(x: Number) -> Number:
    return min(max(x, 0), 1)


@dataclass
class Separate:
    """A fairness function whose f_i depends on mu_i alone, and never falls as mu_i grows."""

    arms: int
    of: Callable[[Number], Number]
    lipschitz: float
    constant: bool = False

    def value(self, mu: list) -> list:
        return [self.of(x) for x in mu]

    def ranges(self, low: list, high: list) -> list[tuple]:
        return [(self.of(a), self.of(b)) for a, b in zip(low, high, strict=True)]


@dataclass
class Softmax:
    """f_i in proportion to exp(c mu_i)."""

    arms: int
    c: float
    constant: bool = False

    @property
    def lipschitz(self) -> float:  # sum_j |df_j / dmu_i| = 2 |c| p (1-p), p = f_i
        low, high = self.ranges([0.0] * self.arms, [1.0] * self.arms)[0]
        p = min(max(0.5, low), high)
        return 2 * abs(self.c) * p * (1 - p)

    def share(self, i: int, own: list[float], others: list[float]) -> float:
        z = [*others[:i], own[i], *others[i + 1 :]]
        return math.exp(own[i] - max(z)) / math.fsum(math.exp(x - max(z)) for x in z)

    def value(self, mu: list) -> list[float]:
        z = [self.c * float(x) for x in mu]
        return [self.share(i, z, z) for i in range(self.arms)]

    def ranges(self, low: list, high: list) -> list[tuple]:  # opportunities paper, Prop. 1, for c of either sign
        ends = [sorted((self.c * float(a), self.c * float(b))) for a, b in zip(low, high, strict=True)]
        small, large = [z[0] for z in ends], [z[1] for z in ends]
        return [(self.share(i, small, large), self.share(i, large, small)) for i in range(self.arms)]


def plain(
    kind: str, arms: int, *, c: float = 1.0, gamma: Number = 0, scale: float = 1.0, eps: float = 0.1
) -> Separate | Softmax:
    """The fairness function of that name (opportunities paper, sec. 2.2, App. A.3); constants are exact fractions."""
    constants = {"zero": Fraction(0), "uniform": Fraction(1, arms), "constant": exact(gamma)}
    if kind in constants:
        return Separate(arms, lambda x: constants[kind], 0.0, True)
    if kind == "softmax":
        return Softmax(arms, float(c))
    if kind == "power" and c < 0:
        raise ValueError(f"power {c} is negative")
    of, lipschitz = {
        "linear": (lambda x: x / arms, 1 / arms),
        "power": (lambda x: x**c / arms, c / arms if c >= 1 or c == 0 else math.inf),
        "piecewise-linear": (lambda x: scale * min(max(x - Fraction(1, 2), 0), eps) / arms, scale / arms),
    }[kind]
    return Separate(arms, of, lipschitz)


class Transfer(Policy):
    """Plays what is scheduled, the lowest arm first, one play per round; asks `next_schedule` when nothing is.

    While all scheduled arms sleep, it plays the available arm of highest mean.

    `phase_rounds` counts the rounds that fell in each phase, those without an available arm too; no phase follows the
    last one, in which nothing is scheduled.
    """

    opportunity: Separate | Softmax
    phases = 0

    def start(self) -> None:
        if self.game.plays > 1:
            raise ValueError("this policy plays one arm a round")
        if self.game.A is None:
            raise ValueError("this policy needs the transfer costs A")
        self.phase, self.phase_rounds = 0, [0] * self.phases
        self.scheduled = [0] * self.game.K
        self.settle()

    def next_schedule(self) -> list[int]:
        """The plays scheduled next, or `leave` for the next phase."""
        raise NotImplementedError

    def leave(self) -> list[int]:
        self.phase += 1
        return [0] * self.game.K

    def last(self, t: int, available: list[bool]) -> list[int]:
        """The selection in a round of the last phase."""
        raise NotImplementedError

    @property
    def in_last(self) -> bool:
        return self.phase == self.phases - 1

    def settle(self) -> None:
        while not self.in_last and not any(self.scheduled):
            self.scheduled = self.next_schedule()

    def select(self, t: int, available: list[bool]) -> list[int]:
        if self.in_last:
            return self.last(t, available)
        open_ = where(available)
        return [k for k in open_ if self.scheduled[k]][:1] or highest(self.arms.means(), open_)

    def end_of_round(self, t: int, selected: list[int]) -> None:
        self.phase_rounds[self.phase] += 1
        for k in selected:
            self.scheduled[k] = max(self.scheduled[k] - 1, 0)
        self.settle()

    def gaps(self) -> list[float]:
        m = self.arms.means()
        return [max(m) - x for x in m]

    def radii(self) -> list[float]:
        return [math.sqrt(2 * math.log(self.game.T) / self.arms.seen(k)) for k in range(self.game.K)]

    def gap_bounds(self) -> list[tuple[float, float]]:  # opportunities paper, Alg. 4, lines 4, 17-18
        seen = zip(self.gaps(), self.radii(), self.arms.N, strict=True)
        return [(max(0.0, gap - 2 * c), min(1.0, gap + 2 * c)) if n else (0.0, 1.0) for gap, c, n in seen]

    def box(self) -> tuple[list[float], list[float]]:  # opportunities paper, Alg. 4, lines 5, 19
        seen = list(zip(self.arms.means(), self.radii(), self.arms.N, strict=True))
        low = [max(0.0, clip(m) - c) if n else 0.0 for m, c, n in seen]
        return low, [min(1.0, clip(m) + c) if n else 1.0 for m, c, n in seen]

    def entitlements(self) -> list[Number]:
        """T f(m)_i, exact where f is constant."""
        return [self.game.T * f for f in self.opportunity.value([clip(m) for m in self.arms.means()])]

    def schedule(self, worth_it: list[bool]) -> list[int]:
        """What is missing of floor(T f(m)_i) plays."""
        full = zip(worth_it, self.entitlements(), self.arms.N, strict=True)
        return [max(floor_of(x) - n, 0) if worth else 0 for worth, x, n in full]


class FairnessAwareETC(Transfer, name="fairness-aware-etc"):
    """Exploration, opportunities, commitment."""

    rounds_per_arm: float | None = None
    lipschitz: float | None = None
    phases = 3

    def quota(self) -> int:  # opportunities paper, Thm. 1
        K, T = self.game.K, self.game.T
        if self.rounds_per_arm is not None:
            return max(1, math.floor(exact(self.rounds_per_arm)))
        L = self.opportunity.lipschitz if self.lipschitz is None else self.lipschitz
        return max(1, math.floor(min(T / K, 8 * (L * T) ** (2 / 3) * math.log(T) ** (1 / 3))))

    def next_schedule(self) -> list[int]:  # opportunities paper, Alg. 1
        if self.phase == 1:
            return self.leave()
        if not any(self.phase_rounds):
            return [self.quota()] * self.game.K
        self.phase, self.frozen = 1, self.arms.means()
        return self.schedule([clearly_below(gap, cost) for gap, cost in zip(self.gaps(), self.game.A, strict=True)])

    def last(self, t: int, available: list[bool]) -> list[int]:
        return highest(self.frozen, where(available))


class BlackBoxed(Transfer):
    """Ends with an index that starts afresh; its own parameters may be given beside."""

    black_box: str = "ucb1"
    fresh = None

    @classmethod
    def take(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        own = super().take(parameters)
        name = own.get("black_box", cls.black_box)
        if name not in INDICES or Policy.kinds[name].__module__ != "reference":
            raise ValueError(f"{name} is no index")
        return {**own, "given": Policy.kinds[name].take(parameters)}

    def last(self, t: int, available: list[bool]) -> list[int]:
        if self.fresh is None:
            game = replace(self.game, arms=Arms(self.game.K))
            self.before, self.fresh = t - 1, Policy.kinds[self.black_box](game, 1, **self.given)
        return self.fresh.select(t - self.before, available)

    def receive(self, t: int, selected: list[int], arrived: list[tuple[int, float]]) -> None:
        if self.fresh is not None:
            self.fresh.receive(t - self.before, selected, arrived)
        super().receive(t, selected, arrived)


class SelfRegulated(BlackBoxed, name="self-regulated"):
    """Estimates gaps, then f, then grants opportunities, then leaves the left to the black box."""

    alpha: float | None = None
    beta: float | None = None
    lipschitz: float | None = None
    phases = 4

    def start(self) -> None:
        L = self.opportunity.lipschitz if self.lipschitz is None else self.lipschitz
        rate = (math.log(self.game.T) / self.game.T) ** (1 / 3)
        self.most_range = (self.game.K * L) ** (2 / 3) * rate if self.alpha is None else self.alpha
        self.margin = rate if self.beta is None else self.beta
        super().start()

    def next_schedule(self) -> list[int]:  # opportunities paper, Alg. 4, lines 6, 20, 33
        bounds, sweep = list(zip(self.gap_bounds(), self.game.A, strict=True)), [1] * self.game.K
        cheap = [low < cost for (low, _), cost in bounds]
        if self.phase == 0:
            unsure = any(high > cost + self.margin and low < cost - self.margin for (low, high), cost in bounds)
            return sweep if unsure else self.leave()
        if self.phase == 1:
            spread = [high - low > self.most_range for low, high in self.opportunity.ranges(*self.box())]
            if any(wide and is_cheap for wide, is_cheap in zip(spread, cheap, strict=True)):
                return sweep
            self.phase = 2
            return self.schedule(cheap)
        return self.leave()


class ConstantOpportunity(BlackBoxed, name="constant-opportunity"):
    """Sweeps over the arms that are still entitled to plays and worth their cost."""

    phases = 2

    def start(self) -> None:
        if not self.opportunity.constant:
            raise ValueError("constant-opportunity needs a constant fairness function")
        self.active = set(range(self.game.K))
        super().start()

    def next_schedule(self) -> list[int]:  # opportunities paper, App. B
        tests = zip(self.arms.N, self.entitlements(), self.gap_bounds(), self.game.A, strict=True)
        self.active -= {k for k, (n, x, (low, _), cost) in enumerate(tests) if n >= x or low > cost}
        return [int(k in self.active) for k in range(self.game.K)] if self.active else self.leave()


def cost(counts: list[int], t: int, f: list[Number], A: list[Number]) -> Number:
    """What the opportunities missed cost after t rounds (opportunities paper, eq. 1)."""
    return sum(cost * max(t * share - n, 0) for n, share, cost in zip(counts, f, A, strict=True))


def utility(counts: list[int], rewards: list[Number], t: int, f: list[Number], A: list[Number]) -> Number:
    """Rewards (one per round, or the sum of each arm) less the cost."""
    return sum(rewards) - cost(counts, t, f, A)


def optimum(t: int, mu: list[Fraction], f: list[Fraction], A: list[Fraction]) -> Fraction:
    """The utility of the optimum of the opportunities paper, Lemma 1, in whole rounds."""
    top = max(mu)
    counts = [math.floor(t * share) if top - x < cost else 0 for x, share, cost in zip(mu, f, A, strict=True)]
    left = t - sum(counts)
    if left < 0:
        raise ValueError(f"the fractions sum to {sum(f)}")
    leaders = [k for k, x in enumerate(mu) if x == top]
    saved = [cost * min(max(t * share - n, 0), 1) for n, share, cost in zip(counts, f, A, strict=True)]
    for k in highest(saved, leaders, left):
        counts[k] += 1
        left -= 1
    counts[leaders[0]] += left
    return utility(counts, [x * n for x, n in zip(mu, counts, strict=True)], t, f, A)


TRANSFER: list[str] = ["fairness-aware-etc", "self-regulated", "constant-opportunity"]
POLICIES.extend(TRANSFER)
INDICES.extend(TRANSFER)  # `make` asks every other policy for tau
