"""Slow, plain-Python references for the policies of the plays paper, which select L arms per round.

They are written from the paper (Alg. 1-2, App. G.1), not from the array code; importing this file adds them to the
registry of `reference.py`. Targets, their rounding and J are exact fractions; indices and queue drifts are floats.
"""

from fractions import Fraction

from reference import POLICIES, RULES, Rule, highest, where


class FairMMAB(Rule, name="fair-mmab"):
    """The L-J arms of highest index, then at most J of the others by their deficits, then others by index."""

    J: int | None = None

    def start(self) -> None:
        K, L, most = self.game.K, self.game.plays, max(self.game.tau)
        # The bounds J / (K-L+J) increase with J and end at L/K: the first one above max tau is the unique one.
        above = [J for J in range(1, L + 1) if most < Fraction(J, K - L + J)]
        if not above:
            raise ValueError(f"fair-mmab needs every tau below L/K = {L}/{K}")
        self.reserved = self.J or above[0]

    def scores(self, t: int, available: list[bool]) -> list[float]:  # plays paper, sec. 3.2: u(0) = 0, of whatever base
        return [0.0] * self.game.K if t == 1 else super().scores(t, available)

    def select(self, t: int, available: list[bool]) -> list[int]:  # plays paper, Alg. 1-2; then the highest others
        L, open_ = self.game.plays, where(available)
        index, d = self.scores(t, available), self.game.deficits(t - 1)
        chosen = highest(index, open_, L - self.reserved)
        chosen += highest(d, [k for k in open_ if k not in chosen and d[k] > 0], self.reserved)
        return chosen + highest(index, [k for k in open_ if k not in chosen], L - len(chosen))


def pairs(n: int) -> int:
    """How many pairs a tournament among n has over all its levels, a bye counting as one."""
    total = 0
    while n > 1:
        n = (n + 1) // 2
        total += n
    return total


def tournament(values: list[Fraction], uniforms: list[float]) -> list[int]:
    """Dependent rounding (Gandhi et al. 2006): arms that get 1, arm k with probability values[k]; the sum is kept."""
    alive, ones, numbers = list(enumerate(values)), [], iter(uniforms)
    while len(alive) > 1:
        if len(alive) % 2:
            alive.append((len(values), Fraction(0)))  # nobody
        level, alive = list(zip(alive[::2], alive[1::2], strict=True)), []
        for (first, a), (second, b) in level:
            u = Fraction(float(next(numbers)))
            if a + b <= 1:  # one of the two gets 0, the other survives with the sum
                alive.append((first if u * (a + b) < a else second, a + b))
            else:  # one of the two gets 1, the other survives with what is left
                one, survivor = (first, second) if u * (2 - a - b) < 1 - b else (second, first)
                ones.append(one)
                alive.append((survivor, a + b - 1))
    return sorted(ones + [k for k, value in alive if value > Fraction(1, 2)])


class UCBLP(Rule, name="ucb-lp"):
    """Selects arms with the probabilities y that are worth the most by the clipped index, above tau."""

    def start(self) -> None:
        if sum(self.game.tau) > self.game.plays or max(self.game.tau) > 1:
            raise ValueError("ucb-lp needs every tau at most 1 and their sum at most L")

    def targets(self, t: int, available: list[bool]) -> list[Fraction]:
        clipped, open_ = [min(x, 1.0) for x in self.scores(t, available)], where(available)
        y = [tau if is_open else Fraction(0) for tau, is_open in zip(self.game.tau, available, strict=True)]
        left = min(self.game.plays, len(open_)) - sum(y)
        for k in highest(clipped, open_, len(open_)):
            raised = min(1 - y[k], left)
            y[k], left = y[k] + raised, left - raised
        return y

    def select(self, t: int, available: list[bool]) -> list[int]:  # plays paper, App. G.1
        n = pairs(self.game.K)
        uniforms = self.game.numbers.uniform(n, depth=self.depth) if n else []
        return tournament(self.targets(t, available), uniforms)


class UCBPLLP(Rule, name="ucb-pllp"):
    """The highest sums of clipped index and weighted virtual queue."""

    alpha: float = 0.9
    eps: float = 0.2

    def start(self) -> None:
        # A queue in two parts, so that equal queues are equal: tau less selections exactly, and the sum of the eps_s,
        # both since the queue was last 0.
        self.growth, self.drift = [Fraction(0)] * self.game.K, [0.0] * self.game.K

    def queue(self, k: int) -> float:
        return float(self.growth[k]) + self.drift[k]

    def scores(self, t: int, available: list[bool]) -> list[float]:  # plays paper, App. G.1
        alpha_t = self.alpha / t**0.5
        return [min(x, 1.0) + alpha_t * self.queue(k) for k, x in enumerate(super().scores(t, available))]

    def end_of_round(self, t: int, selected: list[int]) -> None:
        super().end_of_round(t, selected)
        for k, tau in enumerate(self.game.tau):
            self.growth[k] += tau - (k in selected)
            self.drift[k] += self.eps / t**0.5
            if self.queue(k) <= 0:
                self.growth[k], self.drift[k] = Fraction(0), 0.0


PLAYS: list[str] = ["fair-mmab", "ucb-lp", "ucb-pllp"]
POLICIES.extend(PLAYS)
RULES.extend(PLAYS)
