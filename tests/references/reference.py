"""Slow, plain-Python policies for one run, against which the array code is compared.

They are written from the papers, not from the array code. One object plays one run, one round at a time. Counts are
compared with tau t in exact fractions; all else is a float."""

import math
from dataclasses import dataclass
from fractions import Fraction
from inspect import get_annotations
from typing import Any

INF = math.inf


def exact(number: float) -> Fraction:
    """The decimal number that was written, not the nearest binary one."""
    return number if isinstance(number, Fraction) else Fraction(str(number))


def where(flags: list[bool]) -> list[int]:
    return [k for k, flag in enumerate(flags) if flag]


def highest(scores: list, candidates: list[int], n: int = 1) -> list[int]:
    """The n candidates with the highest scores, ties to the lowest arm."""
    return sorted(candidates, key=lambda k: (-scores[k], k))[:n]


def draw_arm(weights: list, available: list[bool], u: float) -> int:
    """Inverse-transform draw of one available arm; equal weights where no available arm has any."""
    w = [Fraction(x) if open_ else Fraction(0) for x, open_ in zip(weights, available, strict=True)]
    if not any(w):
        w = [Fraction(int(open_)) for open_ in available]
    threshold, running = Fraction(float(u)) * sum(w), Fraction(0)
    for k, x in enumerate(w):
        running += x
        if x > 0 and running > threshold:
            return k
    raise ValueError(f"no arm to pick: u={u}, weights {weights}, available {available}")


def kl(p: float, q: float) -> float:
    """Divergence of Bernoulli(q) from Bernoulli(p)."""
    left = 0.0 if p <= 0 else (p * math.log(p / q) if q > 0 else INF)
    right = 0.0 if p >= 1 else ((1 - p) * math.log((1 - p) / (1 - q)) if q < 1 else INF)
    return left + right


@dataclass
class Arms:
    """What has happened so far: selections N, feedbacks M, their sum S and sum of squares SS, per arm."""

    K: int

    def __post_init__(self) -> None:
        self.N, self.M = [0] * self.K, [0] * self.K
        self.S, self.SS = [0.0] * self.K, [0.0] * self.K

    def record(self, selected: list[int], arrived: list[tuple[int, float]]) -> None:
        for k in selected:
            self.N[k] += 1
        for k, reward in arrived:
            self.M[k] += 1
            self.S[k] += float(reward)
            self.SS[k] += float(reward) ** 2

    def seen(self, k: int) -> int:
        return max(self.M[k], 1)

    def means(self) -> list[float]:
        return [self.S[k] / self.seen(k) for k in range(self.K)]


@dataclass
class Game:
    """The problem as a policy knows it, and the record of the run."""

    K: int
    T: int
    tau: list[Fraction]
    A: list[float] | None
    numbers: Any
    gaussian_sd: float | None
    plays: int
    arms: Arms

    def deficits(self, rounds: int) -> list[Fraction]:
        """tau_k rounds - N_k, exactly."""
        return [tau * rounds - n for tau, n in zip(self.tau, self.arms.N, strict=True)]


class Policy:
    """Plays the arms of highest score. The annotated class attributes of a policy are its parameters."""

    kinds: dict[str, type["Policy"]] = {}  # noqa: RUF012

    def __init_subclass__(cls, name: str = "") -> None:
        if name:
            Policy.kinds[name] = cls

    def __init__(self, game: Game, depth: int, base: "Policy | None" = None, **parameters: Any) -> None:
        self.game, self.arms, self.depth, self.base = game, game.arms, depth, base
        vars(self).update(parameters)
        self.start()

    @classmethod
    def take(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        """Moves the parameters that belong to this policy out of the dictionary."""
        own = {name for c in cls.__mro__ if c is not Policy for name in get_annotations(c)}
        return {name: parameters.pop(name) for name in own & set(parameters)}

    def start(self) -> None:
        """Sets up the policy's own state."""

    def scores(self, t: int, available: list[bool]) -> list[float]:
        raise NotImplementedError

    def urgent(self, t: int, candidates: list[int]) -> list[int]:
        """Candidates that go before all scores, the most urgent first."""
        return []

    def select(self, t: int, available: list[bool]) -> list[int]:
        candidates = where(available)
        chosen = self.urgent(t, candidates)[: self.game.plays]
        others, places = [k for k in candidates if k not in chosen], self.game.plays - len(chosen)
        return chosen + highest(self.scores(t, available), others, places) if others and places else chosen

    def end_of_round(self, t: int, selected: list[int]) -> None:
        """Renews the policy's own state; the arms' record already holds this round."""

    def receive(self, t: int, selected: list[int], arrived: list[tuple[int, float]]) -> None:
        self.arms.record(selected, arrived)
        self.end_of_round(t, selected)


class MeanBased(Policy):
    """An index `worth` of an arm's own record; +infinity for an arm that was never selected."""

    def scores(self, t: int, available: list[bool]) -> list[float]:
        arms, m = self.arms, self.arms.means()
        return [self.worth(t, k, m[k], arms.seen(k)) if arms.N[k] else INF for k in range(arms.K)]


class UCB1(MeanBased, name="ucb1"):
    exploration: float = 2.0
    log_offset: float = 0.0

    def worth(self, t: int, k: int, m: float, M: int) -> float:  # guarantees paper, eq. 4
        return m + math.sqrt(self.exploration * math.log(max(t - self.log_offset, 1)) / M)


class KLUCB(MeanBased, name="kl-ucb"):
    a: float = 0.0
    log_offset: float = 0.0

    def worth(self, t: int, k: int, m: float, M: int) -> float:  # plays paper, sec. 3.2
        log_t = math.log(max(t - self.log_offset, 1.0))
        log_log_t = math.log(log_t) if log_t > 0 else -1e300
        budget = max(log_t + self.a * log_log_t, 0.0) / M
        low, high = min(max(m, 0.0), 1.0), 1.0
        if budget == 0 or low == 1:
            return low
        p = low
        while high - low > 1e-13:
            middle = (low + high) / 2
            low, high = (middle, high) if kl(p, middle) <= budget else (low, middle)
        return round(low, 9)  # so that exact ties, as of 0.9 + 0.1 and 1, are ties


class Thompson(Policy, name="thompson"):
    def scores(self, t: int, available: list[bool]) -> list[float]:  # guarantees paper, App. C.3
        arms, numbers, sd = self.arms, self.game.numbers, self.game.gaussian_sd
        if sd is None:
            a = [1.0 + arms.S[k] for k in range(arms.K)]
            b = [1.0 + arms.M[k] - arms.S[k] for k in range(arms.K)]
            return [float(x) for x in numbers.beta(a, b, depth=self.depth)]
        z, m = numbers.normal(arms.K, depth=self.depth), arms.means()
        sds = [sd / math.sqrt(arms.seen(k)) for k in range(arms.K)]
        return [m[k] + sds[k] * float(z[k]) if arms.N[k] else INF for k in range(arms.K)]


class UniformRandom(Policy, name="uniform-random"):
    """As a score with one play: 1 for the arm drawn, 0 for the others."""

    def scores(self, t: int, available: list[bool]) -> list[float]:
        K, numbers = self.arms.K, self.game.numbers
        if self.game.plays > 1:
            return [float(u) for u in numbers.uniform(K, depth=self.depth)]
        drawn = draw_arm([1] * K, available, numbers.uniform(depth=self.depth)[0])
        return [float(k == drawn) for k in range(K)]


class EpsilonGreedy(UniformRandom, name="epsilon-greedy"):
    eps: float = 0.1

    def scores(self, t: int, available: list[bool]) -> list[float]:
        if float(self.game.numbers.uniform(attempt=1, depth=self.depth)[0]) < self.eps:
            return super().scores(t, available)
        return [m if n else INF for m, n in zip(self.arms.means(), self.arms.N, strict=True)]


class MOSS(MeanBased, name="moss"):
    def worth(self, t: int, k: int, m: float, M: int) -> float:
        return m + math.sqrt(max(math.log(self.game.T / (self.game.K * M)), 0.0) / M)


class UCBV(MeanBased, name="ucb-v"):
    exploration: float = 1.0
    c: float = 1.0
    b: float = 1.0

    def worth(self, t: int, k: int, m: float, M: int) -> float:
        E = self.exploration * math.log(t)
        V = max(self.arms.SS[k] / M - m * m, 0.0)
        return m + math.sqrt(2 * V * E / M) + 3 * self.c * self.b * E / M


class ExploreThenCommit(Policy, name="explore-then-commit"):
    """As a score: minus the number of selections while it explores, then the frozen means."""

    rounds_per_arm: int | None = None

    def start(self) -> None:
        T, K = self.game.T, self.game.K
        default = math.ceil((T / K) ** (2 / 3) * math.log(T) ** (1 / 3))
        self.quota = max(1, default) if self.rounds_per_arm is None else self.rounds_per_arm
        self.frozen: list[float] | None = None

    def scores(self, t: int, available: list[bool]) -> list[float]:
        return [-float(n) for n in self.arms.N] if self.frozen is None else self.frozen

    def end_of_round(self, t: int, selected: list[int]) -> None:
        if self.frozen is None and min(self.arms.N) >= self.quota:
            self.frozen = self.arms.means()


class SuccessiveElimination(Policy, name="successive-elimination"):
    """As a score: 2 for an active arm that the sweep has yet to play, 1 for another active arm, 0 for one that left."""

    exploration: float = 2.0

    def start(self) -> None:
        self.active = set(range(self.arms.K))
        self.unplayed = set(self.active)

    def scores(self, t: int, available: list[bool]) -> list[float]:
        return [float((k in self.active) + (k in self.unplayed)) for k in range(self.arms.K)]

    def end_of_round(self, t: int, selected: list[int]) -> None:
        self.unplayed -= set(selected)
        if self.unplayed:
            return
        m, log_T = self.arms.means(), math.log(self.game.T)
        r = [math.sqrt(self.exploration * log_T / self.arms.seen(k)) for k in range(self.arms.K)]
        floor = sorted(m[k] - r[k] for k in self.active)[-self.game.plays]  # L arms are surely better than any below
        self.active = {k for k in self.active if m[k] + r[k] >= floor}
        self.unplayed = set(self.active)


class Rule(Policy):
    """Bends a base index; rule and base share the arms' record."""

    def scores(self, t: int, available: list[bool]) -> list[float]:
        return self.base.scores(t, available)

    def end_of_round(self, t: int, selected: list[int]) -> None:
        self.base.end_of_round(t, selected)


class Bonus(Rule):
    """Base index plus a `bonus`, after a first pass over the arms (whatever the base)."""

    def scores(self, t: int, available: list[bool]) -> list[float]:
        base = self.base.scores(t, available)
        return [base[k] + self.bonus(t, k) if self.arms.N[k] else INF for k in range(self.arms.K)]


class HardThreshold(Bonus, name="hard-threshold-ucb"):
    penalties: list[float] | float | None = None

    def start(self) -> None:
        given = self.game.A if self.penalties is None else self.penalties
        self.A = [given] * self.game.K if isinstance(given, (int, float)) else list(given)

    def bonus(self, t: int, k: int) -> float:  # penalties paper, eq. 12
        return float(self.A[k]) if self.arms.N[k] < self.game.tau[k] * t else 0.0


class SoftThreshold(HardThreshold, name="soft-threshold-ucb"):
    def bonus(self, t: int, k: int) -> float:  # penalties paper, sec. 5
        quota = self.game.tau[k] * t
        return float(self.A[k]) * float(max(quota - self.arms.N[k], 0) / quota) if quota else 0.0


class EtaFUCB(Bonus, name="eta-fucb"):
    eta: float = 1.0
    clipped: bool = False

    def bonus(self, t: int, k: int) -> float:  # guarantees paper, Alg. 4
        return self.eta * max(float(self.game.deficits(t - 1)[k]), 0.0 if self.clipped else -INF)


class LFG(Rule, name="lfg"):
    eta: float = 1.0

    def start(self) -> None:
        self.queues = list(self.game.tau)

    def scores(self, t: int, available: list[bool]) -> list[float]:  # penalties paper, sec. 5
        base = self.base.scores(t, available)
        capped = [min(base[k], 1.0) if self.arms.N[k] else 1.0 for k in range(self.arms.K)]
        return [float(q) + self.eta * c for q, c in zip(self.queues, capped, strict=True)]

    def end_of_round(self, t: int, selected: list[int]) -> None:
        super().end_of_round(t, selected)
        for k, tau in enumerate(self.game.tau):
            self.queues[k] = max(self.queues[k] + tau - (k in selected), Fraction(0))


class FairLearn(Rule, name="fair-learn"):
    alpha: float = 0.0

    def urgent(self, t: int, candidates: list[int]) -> list[int]:  # guarantees paper, Alg. 3 and sec. 5
        d = self.game.deficits(t - 1)
        return highest(d, [k for k in candidates if d[k] > exact(self.alpha)], self.game.plays)


class TFUCB(Rule, name="t-fucb"):
    def urgent(self, t: int, candidates: list[int]) -> list[int]:  # guarantees paper, Alg. 2
        quota = [max(1, math.ceil(tau * self.game.T)) for tau in self.game.tau]
        return [k for k in candidates if self.arms.N[k] < quota[k]]


class FairRandom(Policy, name="fair-random"):
    """Draws one arm a round from weights."""

    def start(self) -> None:
        if self.game.plays > 1:
            raise ValueError("this rule plays one arm a round")
        self.spare = 1 - sum(self.game.tau)

    def weights(self) -> list[Fraction]:  # guarantees paper, sec. 3.1
        return [tau + self.spare / self.game.K for tau in self.game.tau]

    def select(self, t: int, available: list[bool]) -> list[int]:
        if not any(available):
            return []
        return [draw_arm(self.weights(), available, self.game.numbers.uniform(depth=self.depth)[0])]


class Naive(FairRandom, name="naive"):  # guarantees paper, Alg. 1
    eps: float = 0.1

    def start(self) -> None:
        super().start()
        self.rounds, self.j = math.floor(exact(self.eps) * self.game.T), 0
        shares = [weight * self.rounds for weight in super().weights()]
        self.quota = [math.floor(x) for x in shares]
        remainders = [x - q for x, q in zip(shares, self.quota, strict=True)]
        for k in highest(remainders, list(range(self.game.K)), self.rounds - sum(self.quota)):
            self.quota[k] += 1

    def weights(self) -> list[Fraction]:
        return [tau + (self.spare if k == self.j else 0) for k, tau in enumerate(self.game.tau)]

    def select(self, t: int, available: list[bool]) -> list[int]:
        if t > self.rounds:
            return super().select(t, available)
        N, open_ = self.arms.N, where(available)
        return highest([-n for n in N], [k for k in open_ if N[k] < self.quota[k]] or open_)

    def end_of_round(self, t: int, selected: list[int]) -> None:
        if t == self.rounds:
            self.j = highest(self.arms.means(), list(range(self.arms.K)))[0]


ALIASES = {"fucb": ("fair-learn", "ucb1"), "f-ts": ("fair-learn", "thompson")}
POLICIES: list[str] = [*Policy.kinds, *ALIASES]
RULES: list[str] = [name for name, cls in Policy.kinds.items() if issubclass(cls, Rule)]  # take any `base`
INDICES: list[str] = [name for name in Policy.kinds if name not in (*RULES, "fair-random", "naive")]


def make(kind, *, K: int, T: int, tau, A, numbers, gaussian_sd=None, plays=1, **parameters) -> Policy:
    """The policy of that name for one run; a rule's base takes its parameters from the same list."""
    if tau is None and kind not in INDICES:
        raise ValueError(f"{kind} needs tau")
    shares = [Fraction(0)] * K if tau is None else list(tau)
    game = Game(K, T, shares, A, numbers, gaussian_sd, plays, Arms(K))
    if kind in ALIASES:
        kind, parameters["base"] = ALIASES[kind]
    cls, base = Policy.kinds[kind], None
    own = cls.take(parameters)
    if kind in RULES:
        name = parameters.pop("base", "ucb1")
        if name not in INDICES:
            raise ValueError(f"{name} is no index")
        base = Policy.kinds[name](game, 1, **Policy.kinds[name].take(parameters))
    if parameters:
        raise TypeError(f"{kind} has no parameter {', '.join(parameters)}")
    return cls(game, 0, base, **own)
