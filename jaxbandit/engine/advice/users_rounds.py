"""Checks of a round with users' code: whether it is the same in every call, and whether its runs are independent."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.core.component import has_user_code
from jaxbandit.core.errors import InputError, ReturnedError, warn
from jaxbandit.core.prng import DELAY, Stream
from jaxbandit.core.users_code.contracts import owner_name
from jaxbandit.core.xla import program_digest
from jaxbandit.engine.advice.misspelt_methods import misspelt_method
from jaxbandit.engine.advice.mixed_runs import in_words, lines_of
from jaxbandit.engine.batch.blocks import on_device
from jaxbandit.engine.batch.stacking import Stack
from jaxbandit.engine.batch.traced_programs import traced_round
from jaxbandit.environment.delays import draw_delays
from jaxbandit.environment.world import World

_SIZES = (101, 103, 107, 109)  # of axes of runs: primes that other axes seldom have
_OTHER_BITS = 0x9E3779B9  # any bits, of which keys of other seeds are made
_CHECKED: set[object] = set()  # the keys of programs that were checked


def check(stack: Stack) -> None:
    """Check the round of a policy with a user's class, once per program.

    Where runs may depend on one another, and where a method seems to be misspelt, a warning says so.

    Args:
        stack: with the key of its program, from `traced_programs.told_apart`.

    Raises:
        ReturnedError: two calls of a method do different things, or all seeds have the same delays.
    """
    if stack.program is None or stack.program in _CHECKED:
        return
    policy, world, arms = stack.policy, stack.world, stack.arms
    users = [owner_name(part) for part in (policy, world.reward, world.delay) if has_user_code(part)]
    columns = None if stack.ground_truth.guarantees is None else stack.ground_truth.guarantees.shape[1]
    cells, lanes = [size for size in _SIZES if size not in (arms, world.plays)][:2]
    one, other = (traced_round(policy, world, (arms, cells, lanes), columns) for _ in range(2))
    try:
        same = program_digest.digest(one) == program_digest.digest(other)
    except program_digest.OpaqueError:
        same = True  # as far as can be seen
    if not same:
        words = (
            "the same: what a method takes from Python (random numbers, a counter, a clock) is fixed when the program "
            "is compiled, for all rounds and runs; draw random numbers from `random`, and keep counters in the state"
        )
        raise ReturnedError(" or ".join(users), "a second call with the same arguments", "something else", words)
    if has_user_code(world.delay) and not world.delay.immediate:
        _check_delays(world, arms)
    flat = {cells, lanes, cells * lanes, arms * cells, arms * lanes, arms * cells * lanes} - {arms, world.plays}
    if lines := lines_of(one, flat):
        warn(f"{', '.join(users)}: {in_words(lines)}")
    if misspelt := misspelt_method(policy):
        warn(f"{owner_name(policy)}: {misspelt}")
    _CHECKED.add(stack.program)


def _check_delays(world: World, arms: int) -> None:
    """Refuse delays that are random, but the same for all seeds."""
    shape = (arms, 1, 64)
    (own,) = on_device((world,), np.zeros(1, np.int64))
    run = jnp.arange(shape[-1], dtype=jnp.uint32).reshape(1, 1, -1)
    reward = jnp.ones(shape)
    drawn = []
    for bits in (0, _OTHER_BITS):
        seeds = jnp.full_like(run, bits)
        random = Stream((seeds, run ^ seeds), jnp.zeros(shape, jnp.uint32), DELAY, arms)
        try:
            drawn.append(np.broadcast_to(np.asarray(jax.device_get(draw_delays(own.delay, reward, random))), shape))
        except InputError:
            raise
        except Exception:  # of any kind: the rounds raise it, with words on where
            return
    if np.array_equal(drawn[0], drawn[1]) and np.any(drawn[0] != drawn[0][..., :1]):
        words = "numbers from its argument `random`: those of a key of its own are the same in all rounds"
        raise ReturnedError(owner_name(world.delay), "draw", "the same random delays for all seeds", words)
