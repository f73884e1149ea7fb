"""Compare `jb.Simulator` with a scan that is written by hand, and with `jb.simulate`; and time the calls of `jb.Agent`.

    python -m benchmarks.engine.stepping

Three ways play ucb1 on Bernoulli rewards: a scan over `jax.vmap` of a round that is written by hand with `jax.random`,
the same scan over `Simulator.step`, and `simulate`. They take turns; the printed ratios are medians over the turns.
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
Runs = tuple[Array, Array, Array]  # the key, the selections and the sums of rewards of each run


def by_hand(runs: int, rounds: int) -> Callable[[int], Array]:
    """ucb1 as its user would write it: the selections of all runs, int32 `[runs, K]`, of an integer key."""
    means = jnp.array(MEANS)

    def play(state: Runs, t: Array) -> tuple[Runs, None]:
        key, pulls, total = state
        played = jnp.maximum(pulls, 1)
        index = total / played + jnp.sqrt(2.0 * jnp.log(t) / played)
        arm = jnp.argmax(jnp.where(pulls == 0, jnp.inf, index))
        key, draw = jax.random.split(key)
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


def by_steps(runs: int, rounds: int) -> Callable[[int], Array]:
    """The same by a scan over `Simulator.step`."""
    simulator = jb.Simulator(jb.Problem(MEANS), "ucb1", horizon=rounds)

    @jax.jit
    def played(key: Array) -> Array:
        start = jax.vmap(lambda seed: simulator.init(key, seed=seed))(jnp.arange(runs))
        step = jax.vmap(lambda state: simulator.step(state)[0])
        return jax.lax.scan(lambda states, _: (step(states), None), start, length=rounds)[0].pulls

    return played


def by_simulate(runs: int, rounds: int) -> Callable[[int], Array]:
    """The same by `jb.simulate`, with its metrics."""
    return lambda key: jb.simulate(jb.Problem(MEANS), "ucb1", horizon=rounds, seeds=runs, key=key, record=2).pulls


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--calls", type=int, default=1000, help="calls of the agents")
    given = parser.parse_args()
    ways = {way.__name__: way(given.runs, given.rounds) for way in (by_hand, by_steps, by_simulate)}
    for played in ways.values():
        played(0)  # compiles
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(given.turns):
        for name, played in ways.items():
            times[name].append(seconds(functools.partial(played, turn)))
    rounds = given.runs * given.rounds
    for name, taken in times.items():
        ratio = np.median(np.array(times["by_hand"]) / taken)
        print(f"{name}: {rounds / np.median(taken) / 1e6:.1f} M rounds/s, {ratio:.2f} times by_hand")
    for kind in ("ucb1", "hard-threshold-ucb", "fair-learn", "thompson"):
        select, observe = agent_microseconds(kind, given.calls)
        print(f"agent of {kind}: select {select:.0f} us, observe {observe:.0f} us")


if __name__ == "__main__":
    main()
