"""The engine's program as one kernel on CPU, and reductions over arms row by row in it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from jax import lax
from jax.extend.core import jaxpr_as_fun

import jaxbandit as jb
from jaxbandit.core.prng import _log1p_remainder
from jaxbandit.core.xla import cpu_kernel
from jaxbandit.core.xla import tiling as lanes
from jaxbandit.core.xla.reductions import RowReductions
from jaxbandit.core.xla.rewriting import _equations, rewrite
from jaxbandit.core.xla.square_roots import SquareRoots
from jaxbandit.core.xla.tiling import LANES, tile_size
from jaxbandit.engine import rollout
from jaxbandit.policies.round_view import root

LATE = {"kind": "geometric", "p": 0.3}
MERIT = {"kind": "power", "scale": 1.0, "exponent": 2.0}


def compiled(function, *arguments):
    return cpu_kernel.compiled(cpu_kernel.as_one_kernel(function)).lower(*arguments).compile()


def calls(program):
    return sum(" call(" in line and "small_call" in line for line in entry(program.as_text()).splitlines())


def entry(text):
    return text.split("ENTRY")[1]


@pytest.mark.parametrize("arms", [1, 5, 40, 43])
@pytest.mark.parametrize("runs", [(7,), (2, 3), (1, 48)])  # odd, and such that rows are folded
def test_rows_reduce_as_the_whole(arms, runs):
    rng = np.random.default_rng(arms)
    x = jnp.asarray(rng.integers(-3, 4, (arms, *runs)), jnp.float32)  # ties, and sums without rounding

    def both(a, b):
        first = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))
        return [jnp.where(first, a[0], b[0]), jnp.where(first, a[1], b[1])]

    def reduced(x):
        some = x > 1.0
        index = lax.broadcasted_iota(jnp.float32, x.shape, 0)
        return [
            jnp.sum(x, axis=0),
            jnp.max(x, axis=0, keepdims=True),
            jnp.min(x, axis=0),
            jnp.any(some, axis=0),
            jnp.all(some, axis=0),
            jnp.any(some),
            jnp.max(x, axis=(0, 1)),
            lax.argmax(x, 0, jnp.int32),
            jax.nn.softmax(x, axis=0),
            jnp.cumsum(x, axis=0),
            lax.cumsum(x, 0, reverse=True),
            *lax.reduce([x, index], [jnp.float32(-9), jnp.float32(99)], both, (0,)),
        ]

    def inside(x):
        found = lax.fori_loop(0, 3, lambda _, y: y + jnp.sum(y, axis=0, keepdims=True), x)
        return [*reduced(x), found, lax.cond(x[(0,) * x.ndim] > 0, reduced, lambda x: reduced(-x), x)]

    def reduces(program):
        return any(map(RowReductions().matches, _equations(program)))

    program = jax.make_jaxpr(inside)(x)
    by_rows = rewrite(program, (RowReductions,))
    for one, other in zip(jaxpr_as_fun(by_rows)(x), jaxpr_as_fun(program)(x), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one, other, rtol=1e-6)
    assert reduces(program)
    assert not reduces(by_rows) or len(runs) > 1  # of two axes the second stays


def test_argmax_prefers_what_is_not_a_number_as_jax_does():
    x = jnp.asarray([[1.0, jnp.nan, 2.0], [jnp.nan, jnp.nan, 2.0], [5.0, 1.0, jnp.nan]])
    program = jax.make_jaxpr(lambda x: lax.argmax(x, 0, jnp.int32))(x)
    (found,) = jaxpr_as_fun(rewrite(program, (RowReductions,)))(x)
    np.testing.assert_array_equal(found, lax.argmax(x, 0, jnp.int32))


BY_ROOTS = {
    "1 / sqrt": lambda x: 1.0 / jnp.sqrt(x),
    "rsqrt": lax.rsqrt,
    "root of a policy": lambda x: jnp.float32(3.0) / root(x),
    "broadcast": lambda x: x / jnp.sqrt(jnp.sum(x, axis=0, keepdims=True)),
    "in a function, a branch and a loop": lambda x: lax.fori_loop(
        0, 2, lambda i, y: lax.cond(i < 1, jax.jit(lambda y: x / jnp.sqrt(y)), lambda y: y, y), x
    ),
    "beside a sort": lambda x: jnp.sort(x / jnp.sqrt(x + 1.0), axis=0),  # which is no kernel
}


@pytest.mark.parametrize("name", BY_ROOTS)
def test_a_division_by_a_root_has_the_same_bits_for_any_number_of_runs(name):
    def divided(x):
        return BY_ROOTS[name](x), x  # a kernel has two results or more

    x = jnp.asarray(np.random.default_rng(1).uniform(0.1, 3.0, (2, 1, 256)), jnp.float32)
    program = compiled(divided, x)
    assert " rsqrt(" not in program.as_text()
    whole = np.asarray(program(x)[0])
    few = compiled(divided, x[..., :16])
    for start in range(0, 256, 16):
        part = slice(start, start + 16)
        np.testing.assert_array_equal(whole[..., part], few(x[..., part])[0])
    assert any(map(SquareRoots().matches, _equations(jax.make_jaxpr(divided)(x))))


def test_a_loop_is_one_kernel_whatever_it_does_not_read():
    def turned(x, unread, n):
        return lax.fori_loop(0, n, lambda i, x: x[::-1] * 0.5 + jnp.sum(x, axis=0, keepdims=True), x), jnp.int32(4)

    x = jnp.arange(12, dtype=jnp.float32).reshape(3, 4)
    program = compiled(turned, x, jnp.ones(3, bool), 5)
    made, four = program(x, jnp.ones(3, bool), 5)
    np.testing.assert_allclose(made, turned(x, None, 5)[0], rtol=1e-6)
    assert four == 4
    assert calls(program) == 1
    assert " while(" not in entry(program.as_text())


def test_one_large_result_and_large_constants():
    """XLA would split such a result over its threads."""
    held = np.linspace(0, 1, 300_000, dtype=np.float32)
    program = compiled(lambda x: lax.fori_loop(0, 3, lambda i, x: x * 0.5 + held, x), jnp.zeros(300_000))
    np.testing.assert_allclose(program(jnp.zeros(300_000)), held * 1.75, rtol=1e-6)
    assert calls(program) == 1


def test_what_a_kernel_cannot_do_is_done_all_the_same():
    x = jnp.asarray([[3.0, 1.0], [2.0, 5.0], [4.0, 0.0]])
    program = compiled(lambda x: jnp.sort(x, axis=0), x)
    np.testing.assert_array_equal(program(x), np.sort(x, axis=0))
    assert calls(program) == 0
    assert cpu_kernel.unsupported_operations(jax.make_jaxpr(lambda x: jnp.sort(x, axis=0))(x)) == {"sort"}


@pytest.mark.parametrize("runs", [(6,), (2, 3), (1, 4)])
def test_values_are_added_at_their_places(runs):
    rng = np.random.default_rng(0)
    book = rng.integers(0, 9, (4, 5, *runs)).astype(np.int32)
    page, arm = rng.integers(0, 4, (2, *runs)), np.stack([np.full(runs, 1), np.full(runs, 3)])
    values = rng.integers(1, 9, (2, *runs)).astype(np.int32)
    expected = book.copy()
    np.add.at(expected, (page, arm, *np.indices((2, *runs))[1:]), values)

    def added(book, page, arm, values):
        return cpu_kernel.add_at(book, (page, arm), values)

    given = [jnp.asarray(a, jnp.int32) for a in (book, page, arm, values)]
    np.testing.assert_array_equal(added(*given), expected)
    program = compiled(added, *given)
    assert calls(program) == 1
    np.testing.assert_array_equal(program(*given), expected)


@pytest.mark.parametrize(
    ("kind", "more"),
    [("ucb1", {}), ("thompson", {"delay": LATE}), ("fcucb-d", {"delay": LATE, "plays": 2, "merit": MERIT})],
)
def test_a_simulation_is_one_kernel(kind, more, monkeypatch):
    texts = []
    made = rollout.compiled()

    def lowered(*arguments):
        texts.append(made.lower(*arguments).compile().as_text())
        return made(*arguments)

    monkeypatch.setattr(rollout, "compiled", lambda: lowered)
    jb.simulate(jb.Problem([0.9, 0.6, 0.3], **more), kind, horizon=9, seeds=3)
    (call,) = [line for line in entry(texts[0]).splitlines() if " call(" in line]
    assert 'xla_cpu_small_call="true"' in call
    assert " while(" not in entry(texts[0])


class Middle(jb.Policy, name="middle"):
    """The arm of the median mean: it sorts, which a kernel cannot."""

    def select(self, state, now):
        order = jnp.argsort(now.mean, axis=0)
        return lax.broadcasted_iota(jnp.int32, now.pulls.shape, 0) == order[len(order) // 2][None]


del jb.Policy.registry["middle"]  # only for this file


def test_a_policy_that_sorts_is_simulated():
    results = jb.simulate(jb.Problem([0.9, 0.6, 0.3]), Middle(), horizon=50, seeds=4)
    np.testing.assert_array_equal(results["pulls"].sum("arm"), 50)


def test_the_rest_of_a_logarithm():
    y = np.concatenate([np.linspace(-0.999, 2.7, 5001), [-0.25, 0.25]]).astype(np.float32)
    y = y[np.abs(y) > 0.02]
    wide = y.astype(np.longdouble)
    exact = np.log1p(wide) - wide + wide**2 / 2 - wide**3 / 3
    found = np.asarray(_log1p_remainder(jnp.asarray(y)))
    near = np.abs(y) < 0.25
    np.testing.assert_allclose(found[near], exact[near].astype(float), rtol=1e-6)
    np.testing.assert_allclose(found[~near], exact[~near].astype(float), atol=2e-6)
    small = np.float32([-0.02, -1e-3, 1e-5, 0.01, 0.0])
    leading = -(small.astype(float) ** 4) / 4 + small.astype(float) ** 5 / 5 - small.astype(float) ** 6 / 6
    np.testing.assert_allclose(_log1p_remainder(jnp.asarray(small)), leading, rtol=1e-4)


@pytest.mark.parametrize(("cells", "lanes"), [(1, 4096), (3, 1024), (700, 16), (4096, 1), (73, 112), (1, 16 * 157)])
def test_groups_are_whole_vectors_of_a_block(cells, lanes):
    axis, width = tile_size(cells, lanes, 80)
    assert width <= (cells, lanes)[axis]
    assert (width if axis == -1 else width * lanes) % LANES == 0
    assert 384 <= width * (lanes, cells)[axis] <= 768


def test_a_small_block_is_a_group():
    for block in ((1, 48), (48, 1), (2, 16)):
        axis, width = tile_size(*block, 80)
        assert width == block[axis]


def test_groups_play_as_the_block_does(monkeypatch):
    """Lanes, cells and runs that a cell each has, cut into groups of a vector, against blocks that are one group."""
    grid = {"kind": "lfg", "eta": [0.5, 1.0, 2.0, 4.0]}
    rows = {"random": "uniform", "arms": 3, "instances": 8}
    cases = (
        (jb.Problem([0.9, 0.6, 0.3], fractions=0.2), "lfg", 64),
        (jb.Problem({**rows, "instances": 5}, fractions=0.2), "lfg", 48),
        (jb.Problem(rows, fractions=0.2), grid, 16),
        (jb.Problem([0.9, 0.6, 0.3], fractions=0.2), grid, 2),
        (jb.Problem([0.9, 0.6, 0.3], plays=2, merit=MERIT), "fgreedy-d", 64),
    )
    for problem, policy, seeds in cases:
        made = []
        for size in (0, 3000, 1 << 30):
            monkeypatch.setattr(lanes, "_LEAST", 16)
            monkeypatch.setattr(lanes, "_BYTES", size)
            rollout.compiled.cache_clear()
            made.append(jb.simulate(problem, policy, horizon=40, seeds=seeds, record=4, key=1))
        xr.testing.assert_identical(made[0].drop_attrs(), made[2].drop_attrs())
        xr.testing.assert_identical(made[1].drop_attrs(), made[2].drop_attrs())
    rollout.compiled.cache_clear()
