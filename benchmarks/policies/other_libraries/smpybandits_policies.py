"""Times one policy of SMPyBandits. `timing.ask` runs this script in an interpreter that has SMPyBandits."""

from __future__ import annotations

import contextlib
import io
import random
import sys
from importlib import metadata

import numpy as np
from timing import answer

with contextlib.suppress(ImportError):
    import numba

    sys.modules.setdefault("numba.decorators", numba)  # SMPyBandits imports jit from here; newer Numba moved it

with contextlib.redirect_stdout(io.StringIO()):  # SMPyBandits prints warnings about optional modules
    from SMPyBandits import Policies
    from SMPyBandits.Arms import Bernoulli

POLICIES = {  # without EpsilonGreedy, which compares sums of rewards instead of means
    "ucb1": lambda arms, horizon: Policies.UCBalpha(arms, alpha=4),  # index m + sqrt(alpha log t / 2N)
    "kl-ucb": lambda arms, horizon: Policies.klUCB(arms, tolerance=1e-6),
    "moss": lambda arms, horizon: Policies.MOSSH(arms, horizon=horizon),
    "ucb-v": lambda arms, horizon: Policies.UCBV(arms),
    "thompson": lambda arms, horizon: Policies.Thompson(arms),
    "uniform-random": lambda arms, horizon: Policies.Uniform(arms),
}


def simulate_run(kind: str, means: list[float], horizon: int, seed: int) -> np.ndarray:
    """The number of selections of each arm in one run, by the same loop as SMPyBandits' own evaluator."""
    random.seed(seed)
    np.random.seed(seed)
    arms = [Bernoulli(mean) for mean in means]
    policy = POLICIES[kind](len(means), horizon)
    policy.startGame()
    pulls = np.zeros(len(means), int)
    for t in range(horizon):
        arm = policy.choice()
        policy.getReward(arm, arms[arm].draw(t))
        pulls[arm] += 1
    return pulls


if __name__ == "__main__":
    answer(POLICIES, simulate_run, metadata.version("SMPyBandits"))
