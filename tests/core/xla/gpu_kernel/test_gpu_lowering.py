"""The kernels can be lowered for CUDA; what they cannot contain is left to XLA, which is logged."""

import jax.numpy as jnp
import numpy as np
import pytest
from harness import DISTINCT, trajectory
from jax import lax

import jaxbandit as jb
from jaxbandit.core.xla import compat, gpu_kernel

KERNEL = "mosaic_gpu"
# Policies that draw from Gamma distributions take a minute and more to lower, with many arms.
_GAMMA = ["thompson", "discounted-thompson", "calibrated-thompson", "fcts-d", "op-fcts-d"]
_OTHERS = [kind for kind in DISTINCT if kind not in [*_GAMMA, "sliding-window-ucb"]]
_FAST = [("ucb1", 4), ("fair-learn", 4), ("kl-ucb", 4), ("hard-threshold-ucb", 10), ("ucb1", 32)]
_SLOW = [("thompson", 4), *((kind, arms) for kind in _OTHERS for arms in (4, 10))]
_SLOW += [(kind, 32) for kind in ("moss", "fair-learn", "lfg", "naive", "kl-ucb", "epsilon-greedy")]


@pytest.mark.parametrize(
    ("kind", "arms"),
    [*_FAST, *(pytest.param(*one, marks=pytest.mark.slow) for one in _SLOW if one not in _FAST)],
)
def test_for_cuda(kind, arms, problem, lowered, caplog):
    text = lowered(lambda: trajectory(problem(kind, arms), kind, 30, 256))
    assert KERNEL in text
    assert not caplog.text


class Middle(jb.Policy):
    """The arm of the median mean, by a sort."""

    def select(self, state, now):
        order = jnp.argsort(now.mean, axis=0)
        return lax.broadcasted_iota(jnp.int32, now.pulls.shape, 0) == order[len(order) // 2][None]


class Shared(jb.Policy):
    """The arm of the largest mean over all runs."""

    def select(self, state, now):
        total = jnp.sum(now.mean, axis=(1, 2), keepdims=True) + 0.0 * now.mean
        return lax.broadcasted_iota(jnp.int32, now.pulls.shape, 0) == jnp.argmax(total, axis=0)[None]


LATE = {"kind": "geometric", "p": 0.3}
LEFT = {
    "sort": (Middle(), {}),
    "reduce_sum over the runs": (Shared(), {}),
    "a loop that carries": ("ucb1", {"delay": LATE}),
    "operations": ("ucb1", {}),  # where few are allowed
}


@pytest.mark.parametrize("words", LEFT)
def test_what_a_kernel_cannot_contain_is_left_to_xla(words, lowered, caplog, monkeypatch):
    policy, more = LEFT[words]
    if words == "operations":
        monkeypatch.setattr(gpu_kernel, "_MOST_OPERATIONS", 100)
    problem = jb.Problem(**{"means": [0.3, 0.6, 0.5, 0.8], **more})
    text = lowered(lambda: trajectory(problem, policy, 100, 128))
    assert KERNEL not in text
    (line,) = caplog.messages
    assert "is simulated without, because a kernel cannot contain" in line
    assert words in line


@pytest.mark.parametrize("kind", ["ucb1"])
def test_float64_is_left_to_xla(kind, problem, float64, lowered, caplog):
    assert KERNEL not in lowered(lambda: trajectory(problem(kind), kind, 30, 128))
    assert "float64 numbers" in caplog.text


@pytest.mark.skipif(compat.why_no_mosaic() is not None, reason="needs kernels")
def test_no_number_of_runs_is_a_number_of_arms():
    from jaxbandit.core.xla.mosaic.values import WIDTH

    assert all(WIDTH % n for n in range(2, int(np.sqrt(WIDTH)) + 1))
