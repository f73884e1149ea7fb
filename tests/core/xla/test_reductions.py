"""Reductions over arms, rewritten row by row, against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.core import jaxpr_as_fun

from jaxbandit.core.xla.reductions import RowReductions
from jaxbandit.core.xla.rewriting.programs import equations, rewrite

QUICKLY = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}  # compiles in half the time


def larger(a, b):
    """The larger of two (value, index), and the smaller index of equal values."""
    first = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))
    return [jnp.where(first, a[0], b[0]), jnp.where(first, a[1], b[1])]


def reductions(x):
    index = lax.broadcasted_iota(jnp.float32, x.shape, 0)
    return [
        jnp.sum(x, axis=0),
        jnp.max(x, axis=0, keepdims=True),
        jnp.min(x, axis=0),
        jnp.any(x > 1.0, axis=0),
        jnp.all(x > -3.0, axis=0),
        jnp.any(x > 2.0),
        jnp.max(x, axis=(0, 1)),
        lax.argmax(x, 0, jnp.int32),
        jnp.cumsum(x, axis=0),
        lax.cumsum(x, 0, reverse=True),
        *lax.reduce([x, index], [jnp.float32(-9), jnp.float32(99)], larger, (0,)),
    ]


def by_numpy(x):
    return [
        x.sum(axis=0),
        x.max(axis=0, keepdims=True),
        x.min(axis=0),
        (x > 1).any(axis=0),
        (x > -3).all(axis=0),
        (x > 2).any(),
        x.max(axis=(0, 1)),
        x.argmax(axis=0).astype(np.int32),
        x.cumsum(axis=0),
        x[::-1].cumsum(axis=0)[::-1],
        x.max(axis=0),
        x.argmax(axis=0).astype(np.float32),
    ]


def reduces(program):
    return RowReductions().applies(program)


def integers(*shape):
    """Floats with ties, whose sums need no rounding."""
    return np.random.default_rng(len(shape)).integers(-3, 4, shape).astype(np.float32)


# Of runs: a number that is halved several times, with another axis, and an odd one.
@pytest.mark.parametrize("runs", [(1, 128), (3, 80), (1, 97)], ids=str)
def test_one_entry_decides_the_reduction_to_a_number_wherever_it_is(runs):
    def to_numbers(x):
        of_bools = lax.reduce_max(x > 1.0, range(3)), lax.reduce_min(x < 2.0, range(3))
        return jnp.any(x > 1.0), jnp.all(x < 2.0), *of_bools, jnp.max(x), jnp.min(-x)

    program = jax.make_jaxpr(to_numbers)(np.zeros((2, *runs), np.float32))
    by_rows = rewrite(program, (RowReductions,))
    found = jax.jit(jax.vmap(jaxpr_as_fun(by_rows)), compiler_options=QUICKLY)
    size = 2 * int(np.prod(runs))
    twos = 2 * np.eye(size, dtype=np.float32)
    one_each = np.concatenate([twos, np.zeros((1, size), np.float32)]).reshape(-1, 2, *runs)
    here = np.arange(size + 1) < size
    for one, wanted in zip(found(one_each), (here, ~here, here, ~here, 2 * here, -2 * here), strict=True):
        np.testing.assert_array_equal(one, wanted)


def test_the_reduction_to_a_number_is_a_small_program():
    """A reduction in 32 parts would be 32 slices and 31 combinations, each of which LLVM unrolls."""
    program = jax.make_jaxpr(jnp.any)(np.zeros((2, 1, 128), bool))
    assert len(list(equations(rewrite(program, (RowReductions,))))) < 32


# One row; rows that are unrolled; a loop over rows whose number is and is not a multiple of its step. Of runs: an odd
# number, several axes, and a number such that a row is folded.
@pytest.mark.parametrize("shape", [(1, 7), (5, 1, 48), (40, 2, 3), (43, 7), (43, 1, 48)], ids=str)
def test_rows_reduce_as_the_whole(shape):
    x = integers(*shape)
    program = jax.make_jaxpr(reductions)(x)
    by_rows = rewrite(program, (RowReductions,))
    found = jax.jit(jaxpr_as_fun(by_rows), compiler_options=QUICKLY)(x)
    for n, (one, other) in enumerate(zip(found, by_numpy(x), strict=True)):
        assert (one.shape, one.dtype) == (other.shape, other.dtype), n
        np.testing.assert_array_equal(one, other, err_msg=str(n))
    assert reduces(program)
    assert not reduces(by_rows) or len(shape) > 2  # the reduction of the other axes stays


@pytest.mark.parametrize("reduce", [jnp.sum, jnp.max, jnp.min, jnp.prod, jnp.any, jnp.all, jnp.argmax, jnp.cumsum])
def test_every_reduction_over_rows_is_rewritten_and_others_are_not(reduce):
    def over(axis):
        program = jax.make_jaxpr(lambda x: reduce(x, axis=axis))(integers(5, 7))
        return reduces(program), reduces(rewrite(program, (RowReductions,)))

    assert over(0) == (reduce is not jnp.prod, False)
    assert over(1) == (False, False)


def test_reductions_in_loops_branches_and_functions_are_rewritten():
    def inside(x):
        softmax = jax.jit(jax.nn.softmax, static_argnames="axis")(x, axis=0)
        added = lax.fori_loop(0, 3, lambda _, y: y + jnp.sum(y, axis=0, keepdims=True), x)
        return softmax, added, lax.cond(x[0, 0] > 9.0, lambda: jnp.max(x, axis=0), lambda: jnp.min(x, axis=0))

    x = integers(5, 7)
    program = jax.make_jaxpr(inside)(x)
    by_rows = rewrite(program, (RowReductions,))
    softmax, added, least = jax.jit(jaxpr_as_fun(by_rows), compiler_options=QUICKLY)(x)
    powers = np.exp(x - x.max(axis=0))
    np.testing.assert_allclose(softmax, powers / powers.sum(axis=0), rtol=1e-6)
    np.testing.assert_array_equal(added, x + x.sum(axis=0) * (1 + 6 + 36))
    np.testing.assert_array_equal(least, x.min(axis=0))
    assert reduces(program)
    assert not reduces(by_rows)


def test_argmax_prefers_what_is_not_a_number_as_jax_does():
    x = jnp.asarray([[1.0, jnp.nan, 2.0], [jnp.nan, jnp.nan, 2.0], [5.0, 1.0, jnp.nan]])
    program = jax.make_jaxpr(lambda x: lax.argmax(x, 0, jnp.int32))(x)
    (found,) = jax.jit(jaxpr_as_fun(rewrite(program, (RowReductions,))), compiler_options=QUICKLY)(x)
    np.testing.assert_array_equal(found, [1, 0, 2])
