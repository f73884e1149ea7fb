"""Plain NumPy simulators of many runs at once, of policies beyond the five papers: for mean selections.

They share nothing with the library. One call plays all rounds; arrays are `[runs, K]`.
"""

import numpy as np

CHUNK = 10_000  # runs at once


def simulate(policy, instance, groups, T, runs, seed):
    """The mean of N_k(T) and its standard error."""
    rng = np.random.default_rng(seed)
    pulls = np.concatenate(
        [play(policy, instance, groups, T, min(CHUNK, runs - n), rng) for n in range(0, runs, CHUNK)]
    )
    return pulls.mean(axis=0), pulls.std(axis=0, ddof=1) / np.sqrt(runs)


def play(policy, instance, groups, T, R, rng):
    """N_k(T) of R runs."""
    means = instance["means"] if isinstance(instance["means"][0], list) else [[1, instance["means"]]]
    K = len(means[0][1])
    brain = BRAINS[policy["kind"]](policy, groups, T, R, K, rng)
    every = np.arange(R)
    N = np.zeros((R, K))
    due = {}  # (arms, rewards, chances, of which runs) by the round in which they arrive
    for t in range(1, T + 1):
        mu = np.array(next(row for start, row in reversed(means) if start <= t))
        arm, chance = brain.choose(t, N)
        reward = (rng.random(R) < mu[arm]).astype(float)
        N[every, arm] += 1
        late = rng.geometric(1 - instance["delay"], R) - 1
        for d in np.unique(late):
            some = late == d
            due.setdefault(t + int(d), []).append((every[some], arm[some], reward[some], chance[some]))
        count, total, losses = np.zeros((R, K)), np.zeros((R, K)), np.zeros((R, K))
        for run, k, r, p in due.pop(t, []):
            np.add.at(count, (run, k), 1)
            np.add.at(total, (run, k), r)
            np.add.at(losses, (run, k), (1 - r) / p)
        brain.learn(t, arm, count, total, losses)
    return N


def top(scores):
    """The lowest arm of highest score."""
    return scores.argmax(axis=1)


class Brain:
    def __init__(self, policy, groups, T, R, K, rng):
        self.given, self.T, self.R, self.K, self.rng, self.every = policy, T, R, K, rng, np.arange(R)
        self.groups, self.phi = groups["groups"], np.array(groups["group_fractions"])
        self.rates = np.array(groups["group_penalties"])
        self.M, self.S, self.L = np.zeros((R, K)), np.zeros((R, K)), np.zeros((R, K))
        self.n, self.s = np.zeros((R, K)), np.zeros((R, K))
        self.last = np.zeros((R, K))
        self.kept = []
        self.low, self.high = np.full((R, K), -np.inf), np.full((R, K), np.inf)
        self.linked = np.ones((R, K), bool)
        self.queue = np.zeros((R, len(self.groups)))
        self.start()

    def start(self):
        pass

    def learn(self, t, arm, count, total, losses):
        self.M += count
        self.S += total
        self.L += losses
        g = self.given.get("discount", 1.0)
        self.n, self.s = g * self.n + count, g * self.s + total
        self.last[self.every, arm] = t
        self.after(t, arm, count, total)

    def after(self, t, arm, count, total):
        pass

    def draw(self, p):
        cumulative = p.cumsum(axis=1)
        u = self.rng.random((self.R, 1)) * cumulative[:, -1:]
        arm = (cumulative <= u).sum(axis=1).clip(0, self.K - 1)
        return arm, p[self.every, arm] / cumulative[:, -1]


class DiscountedUCB(Brain):
    def index(self, t, N):
        x = self.given.get("exploration", 2.0)
        log = np.log(np.maximum(self.n.sum(axis=1, keepdims=True), 1))
        n = np.where(self.M == 0, 1.0, self.n)
        return np.where(N == 0, np.inf, self.s / n + np.sqrt(x * log / n))

    def choose(self, t, N):
        return top(self.index(t, N)), np.ones(self.R)


class SlidingWindowUCB(Brain):
    def choose(self, t, N):
        w, x = self.given["window"], self.given["exploration"]
        recent = self.kept[-w:]
        M, S = (sum((part[i] for part in recent), np.zeros((self.R, self.K))) for i in (0, 1))
        n = np.maximum(M, 1)
        index = S / n + np.sqrt(x * np.log(min(t, w)) / n)
        asleep = (M == 0) & (self.last < max(t - w, 1))
        return top(np.where(asleep, np.inf, index)), np.ones(self.R)

    def after(self, t, arm, count, total):
        self.kept.append((count, total))


class DiscountedThompson(Brain):
    def choose(self, t, N):
        return top(self.rng.beta(1 + self.s, 1 + self.n - self.s)), np.ones(self.R)


class Exp3(Brain):
    def chances(self, t, N):
        w = np.exp(-self.given["eta"] * (self.L - self.L.min(axis=1, keepdims=True)))
        m = self.given.get("mix", 0.0)
        return (1 - m) * w / w.sum(axis=1, keepdims=True) + m / self.K

    def choose(self, t, N):
        return self.draw(self.chances(t, N))


class MinProbability(Exp3):
    def choose(self, t, N):
        v = self.given["floor"]
        return self.draw(v + (1 - self.K * v) * self.chances(t, N))


class TsallisINF(Brain):
    def choose(self, t, N):
        eta, least = 2 / np.sqrt(t), self.L.min(axis=1, keepdims=True)
        low, high = least - 2 * np.sqrt(self.K) / eta, least - 2 / eta
        for _ in range(60):
            x = (low + high) / 2
            small = (4 / (eta * (self.L - x)) ** 2).sum(axis=1, keepdims=True) < 1
            low, high = np.where(small, x, low), np.where(small, high, x)
        return self.draw(4 / (eta * (self.L - x)) ** 2)


class FairBandits(Brain):
    def choose(self, t, N):
        high, low = np.where(self.linked, self.high, -np.inf), np.where(self.linked, self.low, np.inf)
        best = high.argmax(axis=1)
        chain = np.zeros((self.R, self.K), bool)
        chain[self.every, best] = True
        for _ in range(self.K):
            for j in range(self.K):
                meets = (low <= high[:, j : j + 1]) & (low[:, j : j + 1] <= high)
                chain |= chain[:, j : j + 1] & self.linked & meets
        self.linked = chain
        return self.draw(chain.astype(float))

    def after(self, t, arm, count, total):
        m = self.S / np.maximum(self.M, 1)
        width = np.sqrt(np.log((np.pi * (t + 1)) ** 2 / (3 * self.given["delta"])) / (2 * np.maximum(self.M, 1)))
        self.low, self.high = (
            np.where(count > 0, m + sign * width, old) for sign, old in ((-1, self.low), (1, self.high))
        )


class CalibratedThompson(Brain):
    def choose(self, t, N):
        x = self.rng.random((self.R, self.K)) < self.rng.beta(1 + self.S, 1 + self.M - self.S)
        return self.draw((x == x.max(axis=1, keepdims=True)).astype(float))


class ByGroups(DiscountedUCB):
    def spread(self, of_group, other):
        made = np.full((self.R, self.K), other, float)
        for g, members in enumerate(self.groups):
            made[:, members] = of_group[:, g : g + 1]
        return made

    def owed(self, rounds, N):
        taken = np.stack([N[:, members].sum(axis=1) for members in self.groups], axis=1)
        return self.phi * rounds - taken


class FairLearn(ByGroups):
    def choose(self, t, N):
        deficit = np.round(self.spread(self.owed(t - 1, N), -1.0), 9)
        most, index = deficit.max(axis=1, keepdims=True), self.index(t, N)
        tied = deficit == most
        groups = sum(tied[:, members].any(axis=1).astype(int) for members in self.groups)
        by_index = top(np.where(tied, index, -np.inf))
        behind = np.where(groups > 1, top(tied.astype(float)), by_index)
        return np.where(most[:, 0] > 0, behind, top(index)), np.ones(self.R)


class LFG(ByGroups):
    def start(self):
        self.queue = np.tile(self.phi, (self.R, 1))

    def choose(self, t, N):
        index = np.where(N == 0, 1.0, np.minimum(self.index(t, N), 1.0))
        return top(np.round(self.spread(self.queue, 0.0) + index, 9)), np.ones(self.R)

    def after(self, t, arm, count, total):
        got = np.stack([np.isin(arm, members) for members in self.groups], axis=1)
        self.queue = np.maximum(np.round(self.queue + self.phi - got, 9), 0)


class HardThreshold(ByGroups):
    def choose(self, t, N):
        behind = np.round(self.owed(t, N), 9) > 0
        return top(self.index(t, N) + self.spread(self.rates * behind, 0.0)), np.ones(self.R)


BRAINS = {
    "discounted-ucb": DiscountedUCB,
    "sliding-window-ucb": SlidingWindowUCB,
    "discounted-thompson": DiscountedThompson,
    "exp3": Exp3,
    "tsallis-inf": TsallisINF,
    "fair-bandits": FairBandits,
    "calibrated-thompson": CalibratedThompson,
    "min-probability": MinProbability,
    "fair-learn": FairLearn,
    "lfg": LFG,
    "hard-threshold-ucb": HardThreshold,
}
