"""kl-ucb's index: Newton's steps in JAX against parallel bisections in Numba of the same accuracy.

Two bisections, both with the halvings outside and the lanes inside, so that LLVM may use vector instructions: one in
float64 with math.log, which is vectorised where Numba finds Intel's SVML only, and one in float32 with a log1p of its
own, written here to be vectorised everywhere. JAX runs one block of lanes on each of as many threads as Numba has.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

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

Sums = Callable[[np.ndarray, np.ndarray, int], Any]  # (mean, divergence, iterations): sums of the indices

ARMS = 8
TOLERANCE = 1e-6
HALVINGS = 20  # of [mean, 1]; the last gives the midpoint and needs no evaluation, so the error is 2^-20 at most
CHUNK = 256  # lanes that a Numba thread bisects together

f32, i32 = np.float32, np.int32


def draw_arms(runs: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Means S/M and divergences log(t)/M as the simulator has them, float32 `[ARMS, 1, runs]`, and the corners."""
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
    """Sums of the indices of means that alternate with 1-mean and divergences that shrink: no invariants to hoist."""

    def add(i: jax.Array, sums: jax.Array) -> jax.Array:
        flip, scale = (i % 2).astype(f32), 1 - i.astype(f32) / (2 * iterations)
        return sums + kl_upper_bound(abs(flip - mean), divergence * scale)

    return jax.lax.fori_loop(0, iterations, add, jnp.zeros_like(mean))


def bisection(real: type, prepare: Callable[..., Any], surplus: Callable[..., Any]) -> Sums:
    """`jax_sums` by bisection of x = q - mean in arithmetic of type `real`.

    Args:
        prepare: compiled, of (mean, room, divergence): the lane's two constants, and the least `surplus` admitted.
        surplus: compiled, of (mean, room, first constant, second constant, x); decreases with x.
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
    """In float64: mean log q + (1-mean) log(1-q) against its value at the root."""

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
    """In float32, as the JAX function: -d = mean log1p(x/mean) + (1-mean) log1p(-x/(1-mean))."""
    one, half, log_2, tiny = f32(1), f32(0.5), f32(math.log(2)), f32(1e-30)
    bits_1, bits_sqrt_half, mantissa, exponent = i32(0x3F800000), i32(0x3F3504F3), i32(0x7FFFFF), i32(23)
    c0, c1, c2, c3, c4, c5, c6 = (  # minimax in [sqrt(1/2), sqrt(2)] - 1, relative error 3e-8
        f32(c) for c in (0.3333391, -0.25001338, 0.19963063, -0.16577585, 0.14914767, -0.14267486, 0.087004364)
    )

    @njit(fastmath=False)  # said, or the caller's holds; fastmath would take the correction for 0
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


def check(contenders: dict[str, Sums], runs: int, rng: np.random.Generator) -> None:
    """Print the largest error of each; exit where one exceeds the tolerance."""
    mean, divergence = draw_arms(runs, rng)
    exact = reference(mean, divergence)
    print(f"largest absolute error in {mean.size} arms")
    errors = {name: float(np.max(np.abs(sums(mean, divergence, 1) - exact))) for name, sums in contenders.items()}
    for name, error in errors.items():
        print(f"{name:24}{error:12.2e}", flush=True)
    if not all(error <= TOLERANCE for error in errors.values()):  # NaN fails too
        raise SystemExit(f"an error exceeds {TOLERANCE:g}")


def best_times(calls: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """The least seconds of each of the calls, which take turns."""
    best = dict.fromkeys(calls, math.inf)
    for repeat in range(repeats + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if repeat:  # the first time compiles
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def main() -> None:
    """Compare the errors, then the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50_000, help=f"runs of {ARMS} arms whose error is measured")
    parser.add_argument("--lanes", type=int, default=2048, help="lanes of a thread: arms times runs")
    parser.add_argument("--iterations", type=int, default=2000, help="indices of each lane in one call")
    parser.add_argument("--repeats", type=int, default=10, help="calls, of which the fastest counts")
    parser.add_argument("--seed", type=int, default=0, help="of the arms")
    chosen = parser.parse_args()
    rng = np.random.default_rng(chosen.seed)
    numbas = {"Numba, float64 math.log": bisection_libm(), "Numba, float32 log1p": bisection_log1p()}
    check({"JAX": jax_sums, **numbas}, chosen.runs, rng)

    threads = numba.get_num_threads()
    mean, divergence = draw_arms(threads * (chosen.lanes // ARMS), rng)
    blocks = [
        tuple(map(jnp.asarray, block))
        for block in zip(np.split(mean, threads, axis=-1), np.split(divergence, threads, axis=-1), strict=True)
    ]
    with ThreadPoolExecutor(threads) as pool:

        def run_jax() -> None:
            list(pool.map(lambda block: jax_sums(*block, chosen.iterations).block_until_ready(), blocks))

        calls = {name: partial(sums, mean, divergence, chosen.iterations) for name, sums in numbas.items()}
        seconds = best_times({"JAX": run_jax, **calls}, chosen.repeats)
    print(f"\n{threads} threads of {chosen.lanes} lanes on {device_name()}, SVML: {numba.config.USING_SVML}")
    print(f"{'':24}{'ns per index':>14}{'over JAX':>12}")
    for name, best in seconds.items():
        print(f"{name:24}{best / (mean.size * chosen.iterations) * 1e9:14.2f}{best / seconds['JAX']:12.2f}")


if __name__ == "__main__":
    main()
