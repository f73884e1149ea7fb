"""Operations within a kernel: each gives what it gives outside."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxbandit.core.xla import compat, gpu_kernel

pytestmark = pytest.mark.skipif(compat.why_no_mosaic() is not None, reason="JAX has no Pallas for GPUs")

RUNS = 256


def inside(function, *arrays):
    """The results of a function of arrays `[n, 1, RUNS]` in an interpreted kernel."""
    words = tuple(jnp.zeros((1, 1, RUNS), jnp.uint32) for _ in range(2))
    kernel = gpu_kernel.as_gpu_kernel(lambda policy, world, key, quotas, *given: function(*given), interpret=True)
    return jax.jit(kernel)(None, None, words, None, *arrays)


EDGES = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    1e-7,
    -1e-7,
    1e-30,
    80.0,
    -80.0,
    3e38,
    np.inf,
    -np.inf,
    np.nan,
]
X = np.resize(np.asarray(EDGES, np.float32), (2, 1, RUNS))
UNSIGNED = X + np.float32(0.0)  # powers do not keep the sign of zero

FLOATS = {
    "floor": (jnp.floor, X),
    "ceil": (jnp.ceil, X),
    "log1p": (jnp.log1p, X),
    "expm1": (jnp.expm1, X),
    "is_finite": (jnp.isfinite, X),
    "clamp": (lambda x: jnp.clip(x, -0.5, 1.25), X),
    "x^3": (lambda x: lax.integer_pow(x, 3), X),
    "x^-2": (lambda x: lax.integer_pow(x, -2), X),
    "x^0": (lambda x: lax.integer_pow(x, 0), X),
    "x^2.5": (lambda x: lax.pow(x, jnp.float32(2.5)), UNSIGNED),
    "x^-3, a float": (lambda x: lax.pow(x, jnp.float32(-3.0)), UNSIGNED),
    "x^0, a float": (lambda x: lax.pow(x, jnp.float32(0.0)), X),
}


def test_functions_of_floats():
    given = jnp.asarray(X), jnp.asarray(UNSIGNED)
    found = inside(
        lambda x, unsigned: {n: f(unsigned if of is UNSIGNED else x) for n, (f, of) in FLOATS.items()}, *given
    )
    for name, (function, x) in FLOATS.items():
        with np.errstate(all="ignore"):
            expected = np.asarray(function(jnp.asarray(x)))
        np.testing.assert_allclose(found[name], expected, rtol=3e-6, atol=1e-37, err_msg=name)


def test_small_arguments_keep_their_digits():
    x = np.resize(np.logspace(-12, 1, 97).astype(np.float32), (1, 1, RUNS))
    found = inside(lambda x: (jnp.log1p(x), jnp.log1p(-x / 11), jnp.expm1(x), jnp.expm1(-x)), jnp.asarray(x))
    exact = x.astype(np.float64)
    for got, expected in zip(
        found, (np.log1p(exact), np.log1p(-exact / 11), np.expm1(exact), np.expm1(-exact)), strict=True
    ):
        np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_population_count():
    words = np.random.default_rng(0).integers(0, 1 << 32, (1, 1, RUNS), np.uint64).astype(np.uint32)
    words[..., :3] = 0, 0xFFFFFFFF, 1
    found = inside(lambda x: (lax.population_count(x), x), jnp.asarray(words))[0]
    np.testing.assert_array_equal(found, np.vectorize(lambda word: int(word).bit_count())(words))


def of_integers(x, y, natural):
    """Where the largest or smallest integer decides; `[3, 1, runs]`, int32 and uint32."""
    return {
        "larger": jnp.maximum(x, y),
        "smaller": jnp.minimum(x, y),
        "negated": -x,
        "negated natural": -natural,
        "larger of negated": jnp.maximum(-x, -y),
        "largest": jnp.max(-x, axis=0),
        "smallest": jnp.min(x, axis=0),
        "largest natural": jnp.max(natural, axis=0),
        "cumulative": lax.cummax(x, 0),
        "argmax": jnp.argmax(x, axis=0),
        "argmin": jnp.argmin(x, axis=0),
        "argmax of negated": jnp.argmax(-x, axis=0),
        "argmin of natural": jnp.argmin(natural, axis=0),
        "argmax of natural": jnp.argmax(natural, axis=0),
        "argmin with a constant": jnp.argmin(jnp.where(jnp.asarray([True, False, True])[:, None, None], x, 3), axis=0),
    }


def test_largest_and_smallest_integers():
    limits = np.iinfo(np.int32)
    edges = np.asarray([0, 1, -1, 2, -2, 5, limits.max, limits.min, limits.min + 1, limits.max - 1], np.int32)
    x, y = np.random.default_rng(0).choice(edges, (2, 3, 1, RUNS))
    given = [jnp.asarray(part) for part in (x, y, x.view(np.uint32))]
    expected = of_integers(*given)
    found = inside(of_integers, *given)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)
    assert found["argmin"].tolist() == np.argmin(x, axis=0).tolist()


def arranged(x, whole):
    """Arrangements of `x`, float `[4, 1, runs]`, and loops and branches on it; `whole` is int32 `[4, 1, runs]`."""
    at = jnp.min(whole) + 1  # a number that all runs share
    odd = whole % 2 == 1
    doubled = lax.while_loop(lambda y: jnp.any(y < 100.0), lambda y: jnp.where(y < 100.0, 2.0 * y, y), jnp.abs(x) + 1.0)
    summed, rows = lax.scan(lambda total, row: (total + row, total * row), jnp.zeros_like(x[0]), x, reverse=True)
    return {
        "reverse": x[::-1],
        "transposed": lax.transpose(lax.concatenate([x, x], 1), (1, 0, 2)),
        "padded": lax.pad(x, jnp.float32(7.0), [(1, 2, 0), (0, 0, 0), (0, 0, 0)]),
        "every second": x[::2],
        "cumulative": jnp.cumsum(whole, axis=0),
        "cumulative, from the end": lax.cumsum(whole, 0, reverse=True),
        "halves": jnp.split(x, 2)[1],
        "argmax": jnp.argmax(x, axis=0),
        "argmin": jnp.argmin(x, axis=0),
        "argmax of booleans": lax.argmax(odd, 0, jnp.int32),
        "all": jnp.all(odd, axis=0),
        "any": jnp.any(odd, axis=0),
        "xor": lax.reduce_xor(whole, (0,)),
        "product": jnp.prod(x, axis=0),
        "row": lax.dynamic_index_in_dim(x, at, keepdims=False),
        "rows": lax.dynamic_slice_in_dim(x, at, 2),
        "replaced": lax.dynamic_update_slice_in_dim(x, -x[:1], at, 0),
        "replaced at a known place": x.at[2].set(-x[0]),
        "taken": x[jnp.asarray([3, 0])],
        "not": ~odd,
        "equal booleans": odd == (x > 0),
        "chosen boolean": jnp.where(whole > 1, odd, x > 0),
        "numbers of three": lax.select_n(jnp.clip(whole, 0, 2), x, 2.0 * x, 3.0 * x),
        "by a shared number": jnp.where(at > 0, x, -x),
        "branch": lax.cond(at > 1, lambda y: 2.0 * y, lambda y: y + 1.0, x),
        "doubled": doubled,
        "summed": summed,
        "rows of a loop": rows,
        "a known branch": lax.switch(1, [lambda y: y, lambda y: 3.0 * y], x),
        "repeated": lax.fori_loop(0, 3, lambda i, y: y + i.astype(jnp.float32), x),
    }


def test_arrangements_loops_and_branches():
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(4, 1, RUNS)), jnp.float32).at[1, 0, :5].set(jnp.nan)
    whole = jnp.asarray(rng.integers(0, 4, (4, 1, RUNS)), jnp.int32)
    found, expected = inside(arranged, x, whole), arranged(x, whole)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-6, err_msg=name)
        assert found[name].dtype == value.dtype, name


def test_a_result_that_runs_share_is_the_largest():
    x = jnp.arange(RUNS, dtype=jnp.float32).reshape(1, 1, RUNS)
    found = inside(lambda x: (jnp.max(x), jnp.max(-x), jnp.any(x > 200.0), x), x)
    assert (float(found[0]), float(found[1]), bool(found[2])) == (RUNS - 1, 0.0, True)
