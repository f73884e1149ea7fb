"""Times one policy of MABWiser. `timing.ask` runs this script in an interpreter that has MABWiser."""

from __future__ import annotations

from importlib import metadata

import numpy as np
from mabwiser.mab import MAB, LearningPolicy
from timing import answer

POLICIES = {
    "ucb1": lambda: LearningPolicy.UCB1(alpha=1.0),  # index m + alpha sqrt(2 log t / N)
    "thompson": LearningPolicy.ThompsonSampling,
    "epsilon-greedy": lambda: LearningPolicy.EpsilonGreedy(epsilon=0.1),
    "uniform-random": LearningPolicy.Random,
}


def simulate_run(kind: str, means: list[float], horizon: int, seed: int) -> np.ndarray:
    """The number of selections of each arm in one run.

    Each arm is selected once first, since MABWiser gives an arm without data the index 0.
    """
    rng = np.random.default_rng(seed)
    arms = list(range(len(means)))
    bandit = MAB(arms, POLICIES[kind](), seed=seed)
    bandit.fit(arms, (rng.random(len(means)) < means).astype(int))
    pulls = np.ones(len(means), int)
    for _ in range(horizon - len(means)):
        arm = bandit.predict()
        bandit.partial_fit([arm], [int(rng.random() < means[arm])])
        pulls[arm] += 1
    return pulls


if __name__ == "__main__":
    answer(POLICIES, simulate_run, metadata.version("mabwiser"))
