"""The policies of `plain_beyond` for one run, round by round: they keep the history that its functions ask for."""

from fractions import Fraction

import plain_beyond as plain
from reference import INDICES, LFG, POLICIES, RULES, FairLearn, HardThreshold, Policy, draw_arm
from reference_plays import pairs, tournament

# Means that change


class KeepsHistory(Policy):
    """Keeps the selections and the feedback of each round; of an arm's rewards in a round, their number and sum."""

    def start(self) -> None:
        self.history: list = []
        self.before = [(0, 0.0)] * self.arms.K

    def end_of_round(self, t: int, selected: list[int]) -> None:
        now, arrived = list(zip(self.arms.M, self.arms.S, strict=True)), []
        for k, ((count, total), (old_count, old_total)) in enumerate(zip(now, self.before, strict=True)):
            arrived += [(k, reward, None) for reward in [total - old_total, *[0.0] * (count - old_count)]][
                : count - old_count
            ]
        self.history.append({"selected": list(selected), "arrived": arrived})
        self.before = now


class DiscountedUCB(KeepsHistory, name="discounted-ucb"):
    discount: float = 0.99
    exploration: float = 2.0

    def scores(self, t: int, available: list[bool]) -> list[float]:
        return plain.discounted_ucb(self.history, t, self.arms.K, self.discount, self.exploration)


class DiscountedThompson(KeepsHistory, name="discounted-thompson"):
    discount: float = 0.99

    def scores(self, t: int, available: list[bool]) -> list[float]:
        a, b = plain.discounted_thompson(self.history, t, self.arms.K, self.discount)
        return [float(x) for x in self.game.numbers.beta(a, b, depth=self.depth)]


class SlidingWindowUCB(KeepsHistory, name="sliding-window-ucb"):
    window: int = 1000
    exploration: float = 2.0

    def scores(self, t: int, available: list[bool]) -> list[float]:
        return plain.sliding_window_ucb(self.history, t, self.arms.K, self.window, self.exploration)


# Chances


class StatesChances(Policy):
    """Draws one arm. `arrived_from` are the rounds of the selections whose rewards arrive."""

    arrived_from: list = []  # noqa: RUF012  not a parameter: it is annotated by a bare class

    def start(self) -> None:
        self.history: list = []

    def select(self, t: int, available: list[bool]) -> list[int]:
        self.stated = self.chances_now(t, available) if any(available) else [0.0] * self.arms.K
        k = draw_arm(self.stated, available, self.game.numbers.uniform(depth=self.depth)[0]) if any(available) else None
        self.note(available, [] if k is None else [k], self.stated)
        return [] if k is None else [k]

    def note(self, available: list[bool], selected: list[int], chances: list[float]) -> None:
        """Keeps a selection, and the chances that it was drawn with."""
        self.history.append({"available": list(available), "selected": selected, "chances": chances, "arrived": []})

    def receive(self, t: int, selected: list[int], arrived: list) -> None:
        super().receive(t, selected, arrived)
        self.learn(t, arrived)

    def learn(self, t: int, arrived: list) -> None:
        """Keeps the rewards that arrive at the end of round t."""
        self.history[t - 1]["arrived"] = [(*one, s) for one, s in zip(arrived, self.arrived_from, strict=True)]


class Exp3(StatesChances, name="exp3"):
    eta: float | None = None
    mix: float = 0.0

    def chances_now(self, t: int, available: list[bool]) -> list[float]:
        return plain.exp3(self.history, t, self.game.K, self.game.T, available, self.eta, self.mix)


class TsallisINF(StatesChances, name="tsallis-inf"):
    def chances_now(self, t: int, available: list[bool]) -> list[float]:
        return plain.tsallis_inf(self.history, t, self.game.K, available)


class FairBandits(StatesChances, name="fair-bandits"):
    delta: float = 0.05

    def chances_now(self, t: int, available: list[bool]) -> list[float]:
        return plain.fair_bandits(self.history, t, self.game.K, available, self.delta)


class CalibratedThompson(StatesChances, name="calibrated-thompson"):
    def chances_now(self, t: int, available: list[bool]) -> list[float]:
        numbers, K = self.game.numbers, self.game.K
        a, b = plain.calibrated_thompson_posterior(self.history, t, K)
        theta = [float(x) for x in numbers.beta(a, b, depth=self.depth + 1)]
        return plain.calibrated_thompson(
            self.history, t, K, available, theta, numbers.uniform(K, attempt=1, depth=self.depth)
        )


class MinProbability(StatesChances, name="min-probability"):
    floor: float = 0.0

    def chances_now(self, t: int, available: list[bool]) -> list[float]:
        if isinstance(self.base, StatesChances):
            q = self.base.chances_now(t, available)
        else:
            selected = self.base.select(t, available)
            q = [float(k in selected) for k in range(self.game.K)]
        return plain.min_probability(q, self.floor, self.game.K, self.game.plays)

    def select(self, t: int, available: list[bool]) -> list[int]:
        if self.game.plays == 1:
            return super().select(t, available)
        self.stated = self.chances_now(t, available)
        selected = tournament([Fraction(p) for p in self.stated], self.game.numbers.uniform(pairs(self.game.K)))
        self.note(available, selected, self.stated)
        return selected

    def note(self, available: list[bool], selected: list[int], chances: list[float]) -> None:
        super().note(available, selected, chances)
        if isinstance(self.base, StatesChances):
            self.base.note(available, selected, chances)

    def end_of_round(self, t: int, selected: list[int]) -> None:
        self.base.end_of_round(t, selected)

    def learn(self, t: int, arrived: list) -> None:
        super().learn(t, arrived)
        if isinstance(self.base, StatesChances):
            self.base.arrived_from = self.arrived_from
            self.base.learn(t, arrived)


CHANCES = ["exp3", "tsallis-inf", "fair-bandits", "calibrated-thompson", "min-probability"]
CHANGING = ["discounted-ucb", "discounted-thompson", "sliding-window-ucb"]
POLICIES.extend([*CHANGING, *CHANCES])
INDICES.extend([*CHANGING, *CHANCES[:-1]])
RULES.append("min-probability")


# Groups: `game.groups`, `game.phi` and `game.group_penalties` are set before the first round


class ByGroups(KeepsHistory):
    def groups_now(self) -> tuple:
        return self.game.groups, self.game.phi

    def end_of_round(self, t: int, selected: list[int]) -> None:
        KeepsHistory.end_of_round(self, t, selected)
        self.base.end_of_round(t, selected)


class FairLearnByGroups(ByGroups, FairLearn, name="fair-learn by groups"):
    def select(self, t: int, available: list[bool]) -> list[int]:
        scores, game = self.base.scores(t, available), self.game
        return plain.fair_learn_groups(
            self.history, t, game.K, available, scores, game.plays, game.tau, self.alpha, *self.groups_now()
        )


class LFGByGroups(ByGroups, LFG, name="lfg by groups"):
    def select(self, t: int, available: list[bool]) -> list[int]:
        scores, game = self.base.scores(t, available), self.game
        return plain.lfg_groups(
            self.history, t, game.K, available, scores, game.plays, game.tau, self.eta, *self.groups_now()
        )


class HardThresholdByGroups(ByGroups, HardThreshold, name="hard-threshold-ucb by groups"):
    def select(self, t: int, available: list[bool]) -> list[int]:
        scores, game = self.base.scores(t, available), self.game
        rates = [0.0] * game.K if game.A is None else list(game.A)
        return plain.hard_threshold_groups(
            self.history, t, game.K, available, scores, game.plays, game.tau, rates, *self.groups_now(),
            game.group_penalties,
        )  # fmt: skip


BY_GROUPS = {name: f"{name} by groups" for name in ("fair-learn", "lfg", "hard-threshold-ucb")}
RULES.extend(BY_GROUPS.values())
