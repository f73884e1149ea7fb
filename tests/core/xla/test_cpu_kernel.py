"""Programs as one kernel on CPU, and divisions by square roots in them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jaxbandit as jb
from jaxbandit.core.xla import cpu_kernel
from jaxbandit.core.xla.rewriting.square_roots import SquareRoots
from jaxbandit.engine import rollout
from jaxbandit.policies.round_view import safe_sqrt

pytestmark = pytest.mark.cpu

LATE = {"kind": "geometric", "p": 0.3}
MERIT = {"kind": "power", "scale": 1.0, "exponent": 2.0}


def compiled(function, *arguments):
    return cpu_kernel.compiled(cpu_kernel.as_one_kernel(function)).lower(*arguments).compile()


def calls(program):
    """The calls of kernels in a compiled program."""
    return sum(" call(" in line and "small_call" in line for line in entry(program.as_text()).splitlines())


def entry(text):
    return text.split("ENTRY")[1]


BY_ROOTS = {
    "1 / sqrt": lambda x: 1.0 / jnp.sqrt(x),
    "rsqrt": lax.rsqrt,
    "safe_sqrt": lambda x: jnp.float32(3.0) / safe_sqrt(x),
    "broadcast": lambda x: x / jnp.sqrt(jnp.sum(x, axis=0, keepdims=True)),
    "in a function, a branch and a loop": lambda x: lax.fori_loop(
        0, 2, lambda i, y: lax.cond(i < 1, jax.jit(lambda y: x / jnp.sqrt(y)), lambda y: y, y), x
    ),
    "beside a sort": lambda x: jnp.sort(x / jnp.sqrt(x + 1.0), axis=0),  # this is no kernel
}


@pytest.mark.parametrize("name", BY_ROOTS)
def test_a_division_by_a_root_has_the_same_bits_for_any_number_of_runs(name):
    def divided(x):
        return BY_ROOTS[name](x), x  # a kernel has two results or more

    x = jnp.asarray(np.random.default_rng(1).uniform(0.1, 3.0, (2, 1, 256)), jnp.float32)
    program = compiled(divided, x)
    assert " rsqrt(" not in program.as_text()
    all_runs = np.asarray(program(x)[0])
    few = compiled(divided, x[..., :16])
    for start in range(0, 256, 16):
        part = slice(start, start + 16)
        np.testing.assert_array_equal(all_runs[..., part], few(x[..., part])[0])
    assert SquareRoots().applies(jax.make_jaxpr(divided)(x))


def test_a_loop_is_one_kernel_even_with_an_argument_that_it_does_not_read():
    def turned(x, unread, n):
        return lax.fori_loop(0, n, lambda i, x: x[::-1] * 0.5 + jnp.sum(x, axis=0, keepdims=True), x), jnp.int32(4)

    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    program = compiled(turned, x, np.ones(3, bool), 5)
    found, four = program(x, np.ones(3, bool), 5)
    for _ in range(5):
        x = x[::-1] * np.float32(0.5) + x.sum(axis=0)
    np.testing.assert_allclose(found, x, rtol=1e-6)
    assert four == 4
    assert calls(program) == 1
    assert " while(" not in entry(program.as_text())


def test_one_large_result_and_large_constants():
    """XLA would split such a result over its threads."""
    constant = np.linspace(0, 1, 300_000, dtype=np.float32)
    program = compiled(lambda x: lax.fori_loop(0, 3, lambda i, x: x * 0.5 + constant, x), jnp.zeros(300_000))
    np.testing.assert_allclose(program(jnp.zeros(300_000)), constant * 1.75, rtol=1e-6)
    assert calls(program) == 1


def test_a_program_that_a_kernel_cannot_contain_is_compiled_as_it_is():
    x = jnp.asarray([[3.0, 1.0], [2.0, 5.0], [4.0, 0.0]])
    program = compiled(lambda x: jnp.sort(x, axis=0), x)
    np.testing.assert_array_equal(program(x), np.sort(x, axis=0))
    assert calls(program) == 0
    assert cpu_kernel.unsupported_operations(jax.make_jaxpr(lambda x: jnp.sort(x, axis=0))(x)) == {"sort"}


@pytest.mark.parametrize(("runs", "rows"), [((6,), 2), ((2, 3), 2), ((1, 4), 2), ((2, 3), 40), ((4,), 45)])
def test_values_are_added_at_their_places(runs, rows):
    rng = np.random.default_rng(0)
    book = rng.integers(0, 9, (4, 50, *runs)).astype(np.int32)
    page, arm = rng.integers(0, 4, (rows, *runs)), np.stack([np.full(runs, 1 + n) for n in range(rows)])
    values = rng.integers(1, 9, (rows, *runs)).astype(np.int32)
    expected = book.copy()
    np.add.at(expected, (page, arm, *np.indices((rows, *runs))[1:]), values)

    def added(book, page, arm, values):
        return cpu_kernel.add_at(book, (page, arm), values)

    arguments = [array.astype(np.int32) for array in (book, page, arm, values)]
    np.testing.assert_array_equal(jax.jit(lambda *given: added(*given))(*arguments), expected)
    program = compiled(added, *arguments)
    assert calls(program) == 1
    np.testing.assert_array_equal(program(*arguments), expected)


def test_the_program_that_adds_many_values_is_small():
    """Otherwise it takes a minute to compile for 500 arms."""

    def added(book, arm, values):
        return cpu_kernel.add_at(book, (arm,), values)

    sizes = []
    for rows in (100, 500):
        arguments = np.zeros((rows, 8), np.int32), np.zeros((rows, 8), np.int32), np.zeros((rows, 8), np.int32)
        with cpu_kernel._inside():
            sizes.append(str(jax.make_jaxpr(added)(*arguments)).count("\n"))
    assert sizes[1] < 1.2 * sizes[0]


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        pytest.param("ucb1", {}, marks=pytest.mark.slow),
        ("thompson", {"delay": LATE}),
        pytest.param("fcucb-d", {"delay": LATE, "plays": 2, "merit": MERIT}, marks=pytest.mark.slow),
    ],
)
def test_a_simulation_is_one_kernel(kind, more, monkeypatch):
    programs = []
    play = rollout.compiled()

    def compiled_once(*arguments):
        if not programs:
            programs.append(play.lower(*arguments).compile())
        return programs[0](*arguments)

    monkeypatch.setattr(rollout, "compiled", lambda: compiled_once)
    jb.simulate(jb.Problem([0.9, 0.6, 0.3], **more), kind, horizon=9, seeds=3)
    text = entry(programs[0].as_text())
    (call,) = [line for line in text.splitlines() if " call(" in line]
    assert 'xla_cpu_small_call="true"' in call
    assert " while(" not in text


class Middle(jb.Policy):
    """The arm of the median mean: it sorts, which a kernel cannot."""

    def select(self, state, now):
        order = jnp.argsort(now.mean, axis=0)
        return lax.broadcasted_iota(jnp.int32, now.pulls.shape, 0) == order[len(order) // 2][None]


def test_a_policy_that_sorts_is_simulated():
    results = jb.simulate(jb.Problem([0.9, 0.6, 0.3]), Middle(), horizon=50, seeds=4)
    np.testing.assert_array_equal(results["pulls"].sum("arm"), 50)
