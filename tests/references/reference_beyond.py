"""Slow, plain-Python policies beyond the five papers, written from SPEC.md: they look at the whole history of a run."""

import math
from fractions import Fraction

from reference import INDICES, INF, LFG, POLICIES, RULES, FairLearn, HardThreshold, Policy, draw_arm, highest, where
from reference_plays import pairs, tournament

# Means that change


class RemembersRounds(Policy):
    """Keeps what arrived in each round, `rounds[s - 1] = (selected arms, [(M_k, S_k) per arm])`."""

    def start(self) -> None:
        self.rounds: list = []
        self.before = [(0, 0.0)] * self.arms.K

    def end_of_round(self, t: int, selected: list[int]) -> None:
        now = list(zip(self.arms.M, self.arms.S, strict=True))
        arrived = [(m - old_m, s - old_s) for (m, s), (old_m, old_s) in zip(now, self.before, strict=True)]
        self.rounds.append((list(selected), arrived))
        self.before = now


class Discounted(RemembersRounds):
    discount: float = 0.99

    def discounted(self, k: int) -> tuple[float, float]:
        """N'_k and S'_k: what arrived s rounds ago counts discount^s."""
        ages = [(len(self.rounds) - 1 - s, arrived[k]) for s, (_, arrived) in enumerate(self.rounds)]
        return tuple(sum(self.discount**age * what[i] for age, what in ages) for i in (0, 1))


class DiscountedUCB(Discounted, name="discounted-ucb"):
    exploration: float = 2.0

    def scores(self, t: int, available: list[bool]) -> list[float]:
        sums = [self.discounted(k) for k in range(self.arms.K)]
        log = math.log(max(sum(n for n, _ in sums), 1.0))
        return [self.index(k, *sums[k], log) for k in range(self.arms.K)]

    def index(self, k: int, count: float, total: float, log: float) -> float:
        if not self.arms.N[k]:
            return INF
        if not self.arms.M[k]:
            count, total = 1.0, 0.0
        return INF if count < 1e-30 else total / count + math.sqrt(self.exploration * log / count)


class DiscountedThompson(Discounted, name="discounted-thompson"):
    def scores(self, t: int, available: list[bool]) -> list[float]:
        sums = [self.discounted(k) for k in range(self.arms.K)]
        return [
            float(x)
            for x in self.game.numbers.beta([1 + s for _, s in sums], [1 + n - s for n, s in sums], depth=self.depth)
        ]


class SlidingWindowUCB(RemembersRounds, name="sliding-window-ucb"):
    window: int = 1000
    exploration: float = 2.0

    def scores(self, t: int, available: list[bool]) -> list[float]:
        last, log = self.rounds[-self.window :], math.log(min(t, self.window))
        made = []
        for k in range(self.arms.K):
            count, total = (sum(arrived[k][i] for _, arrived in last) for i in (0, 1))
            if not count and not any(k in selected for selected, _ in last):
                made.append(INF)
            else:
                made.append(total / max(count, 1) + math.sqrt(self.exploration * log / max(count, 1)))
        return made


# Chances


class StatesChances(Policy):
    """Draws one arm. `arrived_from` are the rounds of the selections whose rewards arrive; `drawn` the chances then."""

    arrived_from: list = []  # noqa: RUF012  not a parameter: it is annotated by a bare class

    def start(self) -> None:
        self.drawn: dict[int, float] = {}

    def select(self, t: int, available: list[bool]) -> list[int]:
        if not any(available):
            self.stated = [0.0] * self.arms.K
            return []
        self.stated = self.chances_now(t, available)
        k = draw_arm(self.stated, available, self.game.numbers.uniform(depth=self.depth)[0])
        self.drawn[t] = self.stated[k]
        return [k]

    def receive(self, t: int, selected: list[int], arrived: list) -> None:
        super().receive(t, selected, arrived)
        self.learn(t, arrived)

    def learn(self, t: int, arrived: list) -> None:
        """What a policy keeps of the rewards that arrive at the end of round t."""


def among(weights: list[float], available: list[bool]) -> list[float]:
    """Chances of the available arms, in proportion."""
    kept = [w if open_ else 0.0 for w, open_ in zip(weights, available, strict=True)]
    return [w / sum(kept) for w in kept]


class WeightedLosses(StatesChances):
    def start(self) -> None:
        super().start()
        self.losses = [0.0] * self.game.K

    def learn(self, t: int, arrived: list) -> None:
        for (k, reward), s in zip(arrived, self.arrived_from, strict=True):
            self.losses[k] += (1.0 - reward) / self.drawn[s]


class Exp3(WeightedLosses, name="exp3"):
    eta: float | None = None
    mix: float = 0.0

    def chances_now(self, t: int, available: list[bool]) -> list[float]:
        K, T = self.game.K, self.game.T
        eta = math.sqrt(2 * math.log(K) / (K * T)) if self.eta is None else self.eta
        weights = [math.exp(-eta * (loss - min(self.losses))) for loss in self.losses]
        return among([(1 - self.mix) * w / sum(weights) + self.mix / K for w in weights], available)


class TsallisINF(WeightedLosses, name="tsallis-inf"):
    def chances_now(self, t: int, available: list[bool]) -> list[float]:
        eta, least = 2 / math.sqrt(t), min(self.losses)
        low, high = least - 2 * math.sqrt(self.game.K) / eta, least - 2 / eta  # the sum is below 1, and above
        for _ in range(200):
            x = (low + high) / 2
            total = sum(4 / (eta * (loss - x)) ** 2 for loss in self.losses)
            low, high = (x, high) if total < 1 else (low, x)
        return among([4 / (eta * (loss - x)) ** 2 for loss in self.losses], available)


class FairBandits(StatesChances, name="fair-bandits"):
    delta: float = 0.05

    def start(self) -> None:
        super().start()
        self.ends = [(-INF, INF)] * self.game.K
        self.left_out: set[int] = set()

    def chain(self, available: list[bool]) -> set[int]:
        candidates = [k for k in where(available) if k not in self.left_out] or where(available)
        chain = {max(candidates, key=lambda k: (self.ends[k][1], -k))}
        while True:
            more = {k for k in candidates if k not in chain and any(self.meet(k, j) for j in chain)}
            if not more:
                return chain
            chain |= more

    def meet(self, i: int, j: int) -> bool:
        return self.ends[i][0] <= self.ends[j][1] and self.ends[j][0] <= self.ends[i][1]

    def chances_now(self, t: int, available: list[bool]) -> list[float]:
        chain = self.chain(available)
        self.left_out |= set(where(available)) - chain
        return [1 / len(chain) if k in chain else 0.0 for k in range(self.game.K)]

    def learn(self, t: int, arrived: list) -> None:
        for k in {k for k, _ in arrived}:
            mean, count = self.arms.means()[k], self.arms.M[k]
            width = math.sqrt(math.log((math.pi * (t + 1)) ** 2 / (3 * self.delta)) / (2 * count))
            self.ends[k] = mean - width, mean + width


class CalibratedThompson(StatesChances, name="calibrated-thompson"):
    def chances_now(self, t: int, available: list[bool]) -> list[float]:
        arms, numbers = self.arms, self.game.numbers
        a = [1.0 + arms.S[k] for k in range(arms.K)]
        b = [1.0 + arms.M[k] - arms.S[k] for k in range(arms.K)]
        theta = numbers.beta(a, b, depth=self.depth + 1)
        x = [u < float(p) for u, p in zip(numbers.uniform(arms.K, attempt=1, depth=self.depth), theta, strict=True)]
        largest = max(x[k] for k in where(available))
        return among([float(x[k] == largest) for k in range(arms.K)], available)


class MinProbability(StatesChances, name="min-probability"):
    floor: float = 0.0

    def chances_now(self, t: int, available: list[bool]) -> list[float]:
        K, L = self.game.K, self.game.plays
        if isinstance(self.base, StatesChances):
            q = self.base.chances_now(t, available)
        else:
            selected = self.base.select(t, available)
            q = [float(k in selected) for k in range(K)]
        return [self.floor + (1 - K * self.floor / L) * x for x in q]

    def select(self, t: int, available: list[bool]) -> list[int]:
        if self.game.plays > 1:
            self.stated = self.chances_now(t, available)
            return tournament([Fraction(p) for p in self.stated], self.game.numbers.uniform(pairs(self.game.K)))
        selected = super().select(t, available)
        if isinstance(self.base, StatesChances):
            self.base.drawn[t] = self.drawn[t]
        return selected

    def end_of_round(self, t: int, selected: list[int]) -> None:
        self.base.end_of_round(t, selected)

    def learn(self, t: int, arrived: list) -> None:
        if isinstance(self.base, StatesChances):
            self.base.arrived_from = self.arrived_from
            self.base.learn(t, arrived)


CHANCES = ["exp3", "tsallis-inf", "fair-bandits", "calibrated-thompson", "min-probability"]
CHANGING = ["discounted-ucb", "discounted-thompson", "sliding-window-ucb"]
POLICIES.extend([*CHANGING, *CHANCES])
INDICES.extend([*CHANGING, *CHANCES[:-1]])
RULES.append("min-probability")


# Groups: `game.groups`, `game.phi` and `game.group_penalties` are set before the first round


class ByGroups(Policy):
    """What groups are owed."""

    def group_of(self, k: int) -> int | None:
        return next((g for g, members in enumerate(self.game.groups) if k in members), None)

    def group_pulls(self, g: int) -> int:
        return sum(self.arms.N[k] for k in self.game.groups[g])

    def owed(self, g: int, rounds: int) -> Fraction:
        """phi_g L s - N_g."""
        return self.game.phi[g] * self.game.plays * rounds - self.group_pulls(g)


class FairLearnByGroups(ByGroups, FairLearn, name="fair-learn by groups"):
    def select(self, t: int, available: list[bool]) -> list[int]:
        chosen: list[int] = []
        own, scores = self.game.deficits(t - 1), self.scores(t, available)
        while len(chosen) < self.game.plays and len(chosen) < sum(available):
            left = [k for k in where(available) if k not in chosen]
            of_group = {}
            for k in left:
                g = self.group_of(k)
                given = sum(self.group_of(j) == g for j in chosen)
                of_group[k] = -INF if g is None else self.owed(g, t - 1) - given
            value = {k: max(own[k], of_group[k]) for k in left}
            most = max(value.values())
            if most <= Fraction(str(self.alpha)):
                chosen += highest(scores, left)
                continue
            tied = [k for k in left if value[k] == most]
            one_group = len({self.group_of(k) for k in tied}) == 1 and all(of_group[k] == most for k in tied)
            chosen += highest(scores, tied) if one_group else [min(tied)]
        return chosen


class LFGByGroups(ByGroups, LFG, name="lfg by groups"):
    group_queues: list | None = None  # not a parameter that anybody sets

    def scores(self, t: int, available: list[bool]) -> list[float]:
        if self.group_queues is None:
            self.group_queues = [phi * self.game.plays for phi in self.game.phi]
        made = super().scores(t, available)
        groups = [self.group_of(k) for k in range(self.arms.K)]
        return [s if g is None else s + float(self.group_queues[g]) for s, g in zip(made, groups, strict=True)]

    def end_of_round(self, t: int, selected: list[int]) -> None:
        super().end_of_round(t, selected)
        for g, members in enumerate(self.game.groups):
            got = sum(k in members for k in selected)
            self.group_queues[g] = max(self.group_queues[g] + self.game.phi[g] * self.game.plays - got, Fraction(0))


class HardThresholdByGroups(ByGroups, HardThreshold, name="hard-threshold-ucb by groups"):
    def start(self) -> None:
        self.A = [0.0] * self.game.K if self.game.A is None else list(self.game.A)

    def bonus(self, t: int, k: int) -> float:
        g = self.group_of(k)
        behind = g is not None and self.owed(g, t) > 0
        return super().bonus(t, k) + (self.game.group_penalties[g] if behind else 0.0)


BY_GROUPS = {name: f"{name} by groups" for name in ("fair-learn", "lfg", "hard-threshold-ucb")}
RULES.extend(BY_GROUPS.values())
