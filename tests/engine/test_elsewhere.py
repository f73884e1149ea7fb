"""The programs that other devices than CPUs are given, here run by a CPU that is taken for one."""

import jax
import numpy as np
import pytest
from harness import DISTINCT, MERIT, TRANSFER, trajectory
from jax import export
from sweeps import every

import jaxbandit as jb
from jaxbandit.engine import rollout

T, SEEDS = 150, 16
FAST = ["ucb1"]
# Loops and branches where the host has to ask the device how to go on: until every Gamma draw is accepted, until no
# share is above 1, and for the box optimum.
_DRAWING = ["thompson", "f-ts", "mp-ts-d", "fgreedy-d", "discounted-thompson", "calibrated-thompson"]
ASKING = {
    **dict.fromkeys(_DRAWING, (1, 0)),
    **dict.fromkeys(["fcts-d", "fairx-ts", "op-fcts-d"], (2, 0)),
    **dict.fromkeys(["fcucb-d", "fairx-ucb", "op-fcucb-d"], (2, 1)),
}


def problem(kind):
    if kind in MERIT:
        return jb.Problem([0.2, 0.9, 0.5, 0.7], plays=2, merit="power", delay={"kind": "geometric", "p": 0.2})
    opportunity = "softmax" if kind in TRANSFER and kind != "constant-opportunity" else "uniform"
    return jb.Problem([0.3, 0.6, 0.5, 0.8], fractions=[0.1, 0.05, 0.2, 0.15], penalties=0.3, opportunity=opportunity)


def asking(jaxpr):
    """How many loops and branches stand in a program whose way is not known beforehand."""
    names = [equation.primitive.name for equation in jaxpr.eqns]
    loops, branches = names.count("while"), names.count("cond")
    for equation in jaxpr.eqns:
        for value in equation.params.values():
            for part in value if isinstance(value, list | tuple) else (value,):
                inner = getattr(part, "jaxpr", part)
                if hasattr(inner, "eqns"):
                    more = asking(inner)
                    loops, branches = loops + more[0], branches + more[1]
    return loops, branches


@pytest.fixture
def elsewhere(monkeypatch):
    """A function after whose call the engine's program is another device's; and the programs that are then played."""
    programs = []

    def advance(*arguments):
        made = jax.jit(rollout.play_on)
        programs.append(jax.make_jaxpr(made)(*arguments))
        export.export(made, platforms=["cuda", "rocm", "tpu"])(*arguments)  # fails where an operation is not to be had
        return made(*arguments)

    def moved():
        jax.clear_caches()
        monkeypatch.setattr(rollout, "advance", advance)
        monkeypatch.setattr(jax, "default_backend", lambda: "gpu")

    yield moved, programs
    jax.clear_caches()


@pytest.mark.parametrize("kind", [*FAST, *every([kind for kind in DISTINCT if kind not in FAST], 6)])
def test_others_play_as_a_cpu_does_and_ask_no_more_than_listed(kind, elsewhere):
    here = trajectory(problem(kind), kind, T, SEEDS)
    move, programs = elsewhere
    move()
    np.testing.assert_array_equal(trajectory(problem(kind), kind, T, SEEDS), here)
    (program,) = programs
    loops, branches = ASKING.get(kind, (0, 0))
    assert asking(program.jaxpr) == (1 + loops, branches)  # one is over rounds


CASES = [("fair-mmab", 2), ("ucb1", 1), ("lfg", 1), ("thompson", 2), ("cucb-d", 2), ("self-regulated", 1)]


@pytest.mark.parametrize(("kind", "plays"), every(CASES, 2))
def test_in_float64_with_delay(kind, plays, float64, elsewhere):
    delay = {"kind": "geometric", "p": 0.2}
    world = jb.Problem(
        [0.3, 0.6, 0.5, 0.8], fractions=0.1, penalties=0.3, opportunity="softmax", plays=plays, delay=delay
    )
    here = trajectory(world, kind, T, SEEDS)
    elsewhere[0]()
    np.testing.assert_array_equal(trajectory(world, kind, T, SEEDS), here)
