"""One policy of SMPyBandits, timed in an interpreter that has it; `others.py` calls this."""

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

    sys.modules.setdefault("numba.decorators", numba)  # where SMPyBandits looks for jit; newer Numba has it elsewhere

with contextlib.redirect_stdout(io.StringIO()):  # it warns of optional modules on standard output
    from SMPyBandits import Policies
    from SMPyBandits.Arms import Bernoulli

POLICIES = {  # without its EpsilonGreedy, which goes by summed rewards and not by means
    "ucb1": lambda arms, horizon: Policies.UCBalpha(arms, alpha=4),  # m + sqrt(alpha log t / 2N)
    "kl-ucb": lambda arms, horizon: Policies.klUCB(arms, tolerance=1e-6),
    "moss": lambda arms, horizon: Policies.MOSSH(arms, horizon=horizon),
    "ucb-v": lambda arms, horizon: Policies.UCBV(arms),
    "thompson": lambda arms, horizon: Policies.Thompson(arms),
    "uniform-random": lambda arms, horizon: Policies.Uniform(arms),
}


def play(kind: str, means: list, horizon: int, seed: int) -> np.ndarray:
    """N_k(T) of one run, by the loop of its own evaluator."""
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
    answer(POLICIES, play, metadata.version("SMPyBandits"))
