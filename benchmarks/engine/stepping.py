"""Compare `jb.Simulator` with a scan that is written by hand, and with `jb.simulate`; and time the calls of `jb.Agent`.

    python -m benchmarks.engine.stepping

Three ways play a policy on Bernoulli rewards: a scan over `jax.vmap` of a round that is written by hand with
`jax.random`, the same scan over `Simulator.step`, and `simulate`. They take turns; the printed ratios are medians over
the turns.
"""

from __future__ import annotations

import argparse
import functools
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import jaxbandit as jb

MEANS = [0.9, 0.8, 0.7, 0.6, 0.5, 0.45, 0.4, 0.3, 0.2, 0.1]
FRACTION, PENALTY = 0.05, 0.4
Runs = tuple[Array, Array, Array]  # the key, the selections and the sums of rewards of each run


def ucb1(t: Array, pulls: Array, total: Array, key: Array) -> Array:
    """The index of each arm, float `[K]`."""
    played = jnp.maximum(pulls, 1)
    return jnp.where(pulls == 0, jnp.inf, total / played + jnp.sqrt(2.0 * jnp.log(t) / played))


def hard_threshold_ucb(t: Array, pulls: Array, total: Array, key: Array) -> Array:
    """`ucb1`, and the penalty rate for arms below their quota (penalties paper, eq. 12)."""
    return ucb1(t, pulls, total, key) + PENALTY * (pulls < FRACTION * t)


def thompson(t: Array, pulls: Array, total: Array, key: Array) -> Array:
    """A draw from the posterior of each arm (guarantees paper, App. C.3)."""
    return jax.random.beta(key, 1.0 + total, 1.0 + pulls - total)


INDICES = {"ucb1": ucb1, "hard-threshold-ucb": hard_threshold_ucb, "thompson": thompson}


def problem() -> jb.Problem:
    return jb.Problem(MEANS, fractions=FRACTION, penalties=PENALTY)


def by_hand(kind: str, runs: int, rounds: int) -> Callable[[int], Array]:
    """A policy as its user would write it: the selections of all runs, int32 `[runs, K]`, of an integer key."""
    means, index = jnp.array(MEANS), INDICES[kind]

    def play(state: Runs, t: Array) -> tuple[Runs, None]:
        key, pulls, total = state
        key, choose, draw = jax.random.split(key, 3)
        arm = jnp.argmax(index(t, pulls, total, choose))
        reward = jax.random.bernoulli(draw, means[arm]).astype(float)
        return (key, pulls.at[arm].add(1), total.at[arm].add(reward)), None

    @jax.jit
    def played(key: Array) -> Array:
        keys = jax.random.split(jax.random.key(key), runs)
        arms = runs, len(MEANS)
        start = keys, jnp.zeros(arms, jnp.int32), jnp.zeros(arms)
        (_, pulls, _), _ = jax.lax.scan(jax.vmap(play, (0, None)), start, jnp.arange(1.0, rounds + 1))
        return pulls

    return played


def by_steps(kind: str, runs: int, rounds: int) -> Callable[[int], Array]:
    """The same by a scan over `Simulator.step`."""
    simulator = jb.Simulator(problem(), kind, horizon=rounds)

    @jax.jit
    def played(key: Array) -> Array:
        start = jax.vmap(lambda seed: simulator.init(key, seed=seed))(jnp.arange(runs))
        step = jax.vmap(lambda state: simulator.step(state)[0])
        return jax.lax.scan(lambda states, _: (step(states), None), start, length=rounds)[0].pulls

    return played


def by_simulate(kind: str, runs: int, rounds: int) -> Callable[[int], Array]:
    """The same by `jb.simulate`, with its metrics."""
    return lambda key: jb.simulate(problem(), kind, horizon=rounds, seeds=runs, key=key, record=2).pulls


def seconds(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    jax.block_until_ready(call())
    return time.perf_counter() - begun


def agent_microseconds(kind: str, calls: int) -> tuple[float, float]:
    """The medians of the times of `select` and of `observe` of one reward, called from Python."""
    agent = jb.Agent(kind, len(MEANS), fractions=0.05, penalties=0.4)
    state, times = agent.init(0), np.empty((calls, 2))
    for place in times:
        begun = time.perf_counter()
        state, arms, _ = jax.block_until_ready(agent.select(state))
        between = time.perf_counter()
        state = jax.block_until_ready(agent.observe(state, arms, [1.0]))
        place[:] = between - begun, time.perf_counter() - between
    select, observe = 1e6 * np.median(times[calls // 10 :], axis=0)
    return float(select), float(observe)


def compare(kind: str, runs: int, rounds: int, turns: int) -> None:
    """Print the speed of each way to play a policy."""
    ways = {way.__name__: way(kind, runs, rounds) for way in (by_hand, by_steps, by_simulate)}
    for played in ways.values():
        played(0)  # compiles
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(turns):
        for name, played in ways.items():
            times[name].append(seconds(functools.partial(played, turn)))
    print(f"{kind}, {runs} runs of {rounds} rounds:")
    for name, taken in times.items():
        speed, ratio = runs * rounds / np.median(taken) / 1e6, np.median(np.array(times["by_hand"]) / taken)
        print(f"  {name}: {speed:.1f} M rounds/s, {ratio:.2f} times by_hand")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--calls", type=int, default=1000, help="calls of the agents")
    given = parser.parse_args()
    for kind in INDICES:
        rounds = given.rounds // 10 if kind == "thompson" else given.rounds  # Beta draws are slow
        compare(kind, given.runs, rounds, given.turns)
    for kind in ("ucb1", "hard-threshold-ucb", "fair-learn", "thompson"):
        select, observe = agent_microseconds(kind, given.calls)
        print(f"agent of {kind}: select {select:.0f} us, observe {observe:.0f} us")


if __name__ == "__main__":
    main()
