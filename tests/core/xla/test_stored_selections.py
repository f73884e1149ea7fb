"""Selections that are stored where one of their numbers lies."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxbandit.core.xla import cpu_kernel
from jaxbandit.core.xla.rewriting.programs import as_function, equations, rewrite
from jaxbandit.core.xla.rewriting.stored_selections import StoredSelections

NUMBERS = np.array([[3.0, -0.0, np.nan, -2.0], [np.inf, 1.0, -1.5, 0.0]])


def in_a_loop(change):
    """A program that changes an array `[2, runs]` in each of n rounds."""
    return lambda n, x: lax.fori_loop(0, n, change, x)


def hidden(program):
    """How many selections of a program were combined with a zero."""
    return sum(equation.primitive.name == "xor" for equation in equations(program))


def with_row(i, x, change):
    row = lax.dynamic_slice_in_dim(x, i % len(x), 1)
    return lax.dynamic_update_slice_in_dim(x, change(row), i % len(x), 0)


HIDDEN = {
    "an array of the loop": lambda i, x: jnp.where(x > i, x - 1, x),
    "in a function": lambda i, x: jax.jit(lambda x: jnp.where(x > i, x - 1, x))(x),
    "the result of a branch": lambda i, x: jnp.where(x > i, x - 1, lax.cond(i > 0, lambda: x, lambda: x + 1)),
    "for a loop": lambda i, x: lax.fori_loop(0, i, lambda j, y: y + j, jnp.where(x > i, x - 1, x)) + 1,
    "a row": lambda i, x: with_row(i, x, lambda row: jnp.where(row > i, row - 1, row)),
    "a row from a function": lambda i, x: with_row(i, jax.jit(lambda x: x)(x), lambda row: jnp.where(row > i, 0, row)),
    "in a branch": lambda i, x: lax.cond(i > 0, lambda: jnp.where(x > i, x - 1, x), lambda: x),
}
AS_THEY_ARE = {
    "two new arrays": lambda i, x: jnp.where(x > i, x - 1, x + 1),
    "not stored": lambda i, x: jnp.where(x > i, x - 1, x) + 1,
    "a part of an array": lambda i, x: jnp.concatenate([jnp.where(x[:1] > i, x[:1] - 1, x[:1]), x[1:]]),
    "a new row": lambda i, x: with_row(i, x, lambda row: jnp.where(row > i, row - 1, row + 1)),
    "a number": lambda i, x: x + 1,
    "of a function of new arrays": lambda i, x: jax.jit(lambda x: jnp.where(x > i, x - 1, x))(x + 1),
}


@pytest.mark.parametrize("dtype", ["float32", "int32", "float64"])
@pytest.mark.parametrize("name", HIDDEN)
def test_a_selection_of_an_array_in_memory_is_hidden_and_has_the_same_bits(name, dtype):
    with np.errstate(invalid="ignore"):
        x = np.where(np.isfinite(NUMBERS), NUMBERS, 7).astype(dtype) if dtype == "int32" else NUMBERS.astype(dtype)
    with jax.enable_x64(dtype == "float64"):
        program = jax.make_jaxpr(in_a_loop(HIDDEN[name]))(2, x)
    changed = rewrite(program, (StoredSelections,))
    assert hidden(changed) == 1
    with jax.enable_x64(dtype == "float64"):
        expected, found = (np.asarray(as_function(which)(2, x)[0]) for which in (program, changed))
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.view(np.uint8), expected.view(np.uint8))


@pytest.mark.parametrize("name", AS_THEY_ARE)
def test_other_selections_stay_as_they_are(name):
    program = jax.make_jaxpr(in_a_loop(AS_THEY_ARE[name]))(2, NUMBERS.astype(np.float32))
    assert rewrite(program, (StoredSelections,)) is program  # it is not traced once more


def test_bools_and_programs_without_a_counter_stay_as_they_are():
    def without_counter(x):
        return lax.while_loop(lambda x: jnp.any(x > 0), lambda x: jnp.where(x > 1, x - 1, x) * 0.5, x)

    assert hidden(rewrite(jax.make_jaxpr(without_counter)(NUMBERS.astype(np.float32)), (StoredSelections,))) == 0
    bools = jax.make_jaxpr(in_a_loop(lambda i, x: jnp.where(i > 0, ~x, x)))(2, NUMBERS > 0)
    assert hidden(rewrite(bools, (StoredSelections,))) == 0


@pytest.mark.cpu
def test_a_kernel_keeps_the_zero():
    """XLA does not find out that it is one."""
    x = NUMBERS.astype(np.float32)
    function = in_a_loop(HIDDEN["an array of the loop"])
    one_kernel = cpu_kernel.as_one_kernel(lambda n, x: (function(n, x), n))  # a kernel has two results or more
    kernel = cpu_kernel.compiled(one_kernel).lower(np.int32(3), x).compile()
    assert re.search(r"s32\[2,4\]\S* xor\(", kernel.as_text())  # beside that of `hidden_true`, which has no axes
    np.testing.assert_array_equal(kernel(np.int32(3), x)[0], jax.jit(function)(3, x))
