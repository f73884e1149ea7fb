"""Time the KL-UCB index: Halley's method in JAX against parallel bisections in Numba of the same accuracy.

There are two bisections. One uses float64 and math.log, which LLVM vectorises only if Numba finds Intel's SVML. The
other uses float32 and the function log1p of this file, which is vectorised everywhere. In both, the loop over lanes is
inside the loop over halvings, so that vector instructions can be used. JAX runs one block of lanes per thread, on as
many threads as Numba has.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.core.provenance import device_name
from jaxbandit.policies.indices.kl_ucb import kl_upper_bound

try:
    import numba
    from numba import njit, prange
except ImportError as error:
    raise SystemExit("this benchmark compares with Numba, which is not installed: pip install numba") from error

# (mean, divergence, iterations) -> the sum of the indices of each lane over the iterations
Sums: TypeAlias = Callable[[np.ndarray, np.ndarray, int], np.ndarray | jax.Array]

Prepare: TypeAlias = Callable[[float, float, float], tuple[float, float, float]]
Surplus: TypeAlias = Callable[[float, float, float, float, float], float]

ARMS = 8
TOLERANCE = 1e-6
HALVINGS = 20  # of [mean, 1], so the error is at most 2^-20; the last halving only takes the midpoint
CHUNK = 256  # lanes that a Numba thread bisects together

f32, i32 = np.float32, np.int32


def draw_arms(runs: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Means S/M and divergences log(t)/M of simulated runs, and some extreme values; float32 `[ARMS, 1, runs]`."""
    samples = np.floor(10 ** rng.uniform(0, 5, (ARMS, 1, runs)))
    rewards = rng.binomial(samples.astype(int), rng.uniform(size=samples.shape))
    rounds = 10 ** rng.uniform(0, 6, samples.shape)
    mean, divergence = (rewards / samples).astype(f32), (np.log(rounds) / samples).astype(f32)
    mean[..., :5], divergence[..., :3] = (0.0, 0.5, 1.0, 0.0, 1.0), 0.0
    return mean, divergence


def reference(mean: np.ndarray, divergence: np.ndarray) -> np.ndarray:
    """The indices by 200 halvings in float64."""
    mean, divergence = mean.astype(float), divergence.astype(float)
    room = 1 - mean
    p, r = np.maximum(mean, 1e-300), np.maximum(room, 1e-300)
    low, high = np.zeros_like(mean), room
    for _ in range(200):
        x = (low + high) / 2
        with np.errstate(divide="ignore"):
            inside = -(p * np.log1p(x / p) + r * np.log1p(-x / r)) <= divergence
        low, high = np.where(inside, x, low), np.where(inside, high, x)
    return mean + low


@partial(jax.jit, static_argnums=2)
def jax_sums(mean: jax.Array, divergence: jax.Array, iterations: int) -> jax.Array:
    """The sums of the indices; even iterations take the means, odd ones 1 - mean, and the divergences shrink.

    So every iteration has other inputs, and the compiler cannot move the work out of the loop.
    """

    def add(i: jax.Array, sums: jax.Array) -> jax.Array:
        flip, scale = (i % 2).astype(f32), 1 - i.astype(f32) / (2 * iterations)
        return sums + kl_upper_bound(abs(flip - mean), divergence * scale)

    return jax.lax.fori_loop(0, iterations, add, jnp.zeros_like(mean))


def bisection(real: type, prepare: Prepare, surplus: Surplus) -> Sums:
    """The same sums by bisection of x = q - mean, computed in the type `real`. Below, room = 1 - mean.

    Args:
        real: np.float32 or np.float64.
        prepare: compiled function (mean, room, divergence) -> two constants of the lane, and the smallest value of
            `surplus` that is allowed.
        surplus: compiled function (mean, room, first constant, second constant, x), which decreases with x.
    """
    one, half, steps, chunk = real(1), real(0.5), HALVINGS - 1, CHUNK

    @njit(parallel=True, fastmath=True)
    def sums(mean: np.ndarray, divergence: np.ndarray, iterations: int) -> np.ndarray:
        flat_mean, flat_divergence, total = mean.ravel(), divergence.ravel(), np.zeros(mean.size, f32)
        for block in prange((mean.size + chunk - 1) // chunk):
            start = block * chunk
            size = min(chunk, mean.size - start)
            p, a, b = np.empty(chunk, real), np.empty(chunk, real), np.empty(chunk, real)
            least, low = np.empty(chunk, real), np.empty(chunk, real)
            for i in range(iterations):
                flip, scale = f32(i % 2), f32(1 - i / (2 * iterations))
                for j in range(size):
                    p[j] = abs(flip - flat_mean[start + j])
                    a[j], b[j], least[j] = prepare(p[j], one - p[j], real(flat_divergence[start + j] * scale))
                    low[j] = 0
                width = one
                for _ in range(steps):
                    width *= half
                    for j in range(size):
                        room = one - p[j]
                        x = low[j] + width * room
                        low[j] = x if surplus(p[j], room, a[j], b[j], x) >= least[j] else low[j]
                for j in range(size):
                    total[start + j] += f32(p[j] + (low[j] + half * width * (one - p[j])))
        return total.reshape(mean.shape)

    return sums


def bisection_libm() -> Sums:
    """Bisection in float64: compares mean log q + (1-mean) log(1-q) with its value at the root."""

    @njit(fastmath=True)
    def xlogy(x: float, y: float) -> float:
        return x * math.log(max(y, 1e-300))

    @njit(fastmath=True)
    def prepare(mean: float, room: float, divergence: float) -> tuple[float, float, float]:
        return 0.0, 0.0, xlogy(mean, mean) + xlogy(room, room) - divergence

    @njit(fastmath=True)
    def surplus(mean: float, room: float, a: float, b: float, x: float) -> float:
        return xlogy(mean, mean + x) + xlogy(room, room - x)

    return bisection(np.float64, prepare, surplus)


def bisection_log1p() -> Sums:
    """Bisection in float32, with the formula of the JAX function.

    -d = mean log1p(x/mean) + (1-mean) log1p(-x/(1-mean))
    """
    one, half, log_2, tiny = f32(1), f32(0.5), f32(math.log(2)), f32(1e-30)
    bits_1, bits_sqrt_half, mantissa, exponent = i32(0x3F800000), i32(0x3F3504F3), i32(0x7FFFFF), i32(23)
    c0, c1, c2, c3, c4, c5, c6 = (  # minimax polynomial on [sqrt(1/2) - 1, sqrt(2) - 1], relative error 3e-8
        f32(c) for c in (0.3333391, -0.25001338, 0.19963063, -0.16577585, 0.14914767, -0.14267486, 0.087004364)
    )

    @njit(fastmath=False)  # needed, since fastmath would simplify the correction to 0
    def log1p(y: float) -> float:
        u = f32(one + y)
        correction = y - (u - one)
        bits = i32(u.view(i32) - bits_sqrt_half)
        e = i32(bits >> exponent)
        reduced = i32((bits & mantissa) + bits_sqrt_half).view(f32)
        g = (reduced - one) + correction * i32(bits_1 - (e << exponent)).view(f32)
        tail = c0 + g * (c1 + g * (c2 + g * (c3 + g * (c4 + g * (c5 + g * c6)))))
        return (g + g * g * (g * tail - half)) + f32(e) * log_2

    @njit(fastmath=True)
    def prepare(mean: float, room: float, divergence: float) -> tuple[float, float, float]:
        return one / max(mean, tiny), one / max(room, tiny), -divergence

    @njit(fastmath=True)
    def surplus(mean: float, room: float, a: float, b: float, x: float) -> float:
        return mean * log1p(x * a) + room * log1p(-x * b)

    return bisection(f32, prepare, surplus)


def check(methods: dict[str, Sums], runs: int, rng: np.random.Generator) -> None:
    """Print the largest error of each method; exit if one exceeds the tolerance."""
    mean, divergence = draw_arms(runs, rng)
    exact = reference(mean, divergence)
    print(f"largest absolute error over {mean.size} arms")
    errors = {name: float(np.max(np.abs(sums(mean, divergence, 1) - exact))) for name, sums in methods.items()}
    for name, error in errors.items():
        print(f"{name:24}{error:12.2e}", flush=True)
    if not all(error <= TOLERANCE for error in errors.values()):  # NaN fails too
        raise SystemExit(f"an error exceeds {TOLERANCE:g}")


def best_times(calls: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """The shortest time of each call in seconds; the calls run in turns."""
    best = dict.fromkeys(calls, math.inf)
    for repeat in range(repeats + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if repeat:  # the first time compiles
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def main() -> None:
    """Check the errors, then print the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50_000, help=f"runs of {ARMS} arms for the errors")
    parser.add_argument("--lanes", type=int, default=2048, help="lanes per thread (arms times runs)")
    parser.add_argument("--iterations", type=int, default=2000, help="indices per lane and call")
    parser.add_argument("--repeats", type=int, default=10, help="timed calls; the fastest counts")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random arms")
    chosen = parser.parse_args()
    rng = np.random.default_rng(chosen.seed)
    bisections = {"Numba, float64 math.log": bisection_libm(), "Numba, float32 log1p": bisection_log1p()}
    check({"JAX": jax_sums, **bisections}, chosen.runs, rng)

    threads = numba.get_num_threads()
    mean, divergence = draw_arms(threads * (chosen.lanes // ARMS), rng)
    blocks = [
        tuple(map(jnp.asarray, block))
        for block in zip(np.split(mean, threads, axis=-1), np.split(divergence, threads, axis=-1), strict=True)
    ]
    with ThreadPoolExecutor(threads) as pool:

        def run_jax() -> None:
            list(pool.map(lambda block: jax_sums(*block, chosen.iterations).block_until_ready(), blocks))

        calls = {name: partial(sums, mean, divergence, chosen.iterations) for name, sums in bisections.items()}
        seconds = best_times({"JAX": run_jax, **calls}, chosen.repeats)
    print(f"\n{threads} threads with {chosen.lanes} lanes each on {device_name()}, SVML: {numba.config.USING_SVML}")
    print(f"{'':24}{'ns per index':>14}{'/ JAX':>12}")
    for name, best in seconds.items():
        print(f"{name:24}{best / (mean.size * chosen.iterations) * 1e9:14.2f}{best / seconds['JAX']:12.2f}")


if __name__ == "__main__":
    main()
