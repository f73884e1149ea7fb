"""Checks of a round with users' code: whether it is the same in every call, and whether its runs are independent."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.core.errors import InputError, ReturnedError, warn
from jaxbandit.core.prng import DELAY, Stream
from jaxbandit.core.users_code.contracts import has_user_code, owner_name
from jaxbandit.core.xla import program_digest
from jaxbandit.engine.advice.misspelt_methods import misspelt_method
from jaxbandit.engine.advice.mixed_runs import in_words, lines_of
from jaxbandit.engine.batch.blocks import on_device
from jaxbandit.engine.batch.stacking import Stack
from jaxbandit.engine.batch.traced_programs import traced_round
from jaxbandit.environment.delays import draw_delays
from jaxbandit.environment.world import World

_SIZES = (13, 17, 19, 23, 29, 31)  # of axes of runs: primes, which other axes seldom have
_OTHER_BITS = 0x9E3779B9  # any bits, of which keys of other seeds are made
_CHECKED: set[object] = set()  # programs that were checked, with the classes in them


def check(stack: Stack) -> None:
    """Check the round of a policy with a user's class, once per program and classes.

    Where runs may depend on one another, and where a method seems to be misspelt, a warning says so.

    Args:
        stack: with the key of its program, from `traced_programs.told_apart`.

    Raises:
        ReturnedError: two calls of a method do different things, or all seeds have the same delays.
    """
    policy, world, arms = stack.policy, stack.world, stack.arms
    parts = [part for part in (*policy.nested_policies(), world.reward, world.delay) if has_user_code(part)]
    checked = (stack.program, *map(type, parts))  # classes of equal programs may have other methods
    if stack.program is None or checked in _CHECKED:
        return
    users = list(dict.fromkeys(owner_name(part) for part in (policy, world.reward, world.delay) if has_user_code(part)))
    columns = None if stack.ground_truth.guarantees is None else stack.ground_truth.guarantees.shape[1]
    first, second, third, fourth = [size for size in _SIZES if size not in (arms, world.plays)][:4]
    one, other = (traced_round(policy, world, (arms, first, second), columns) for _ in range(2))
    try:
        same = program_digest.digest(one) == program_digest.digest(other)
    except program_digest.OpaqueError:
        same = True  # as far as can be seen
    except jax.errors.TracerArrayConversionError as error:
        error.add_note(
            f"A method of {' or '.join(users)} kept an array of an earlier call in an attribute, a global variable or "
            "a cache: keep it in the state, or make it with NumPy."
        )
        raise
    if not same:
        words = (
            "the same: what a method takes from Python (random numbers, a counter, a clock) is fixed when the program "
            "is compiled, for all rounds and runs; draw random numbers from `random`, and keep counters in the state"
        )
        raise ReturnedError(" or ".join(users), "a second call with the same arguments", "something else", words)
    if has_user_code(world.delay) and not world.delay.immediate:
        _check_delays(world, arms)
    lines = lines_of(one, _flat(arms, first, second))
    if lines:  # an array of the user's may have an axis of such a length: with other lengths of the runs it has not
        again = lines_of(traced_round(policy, world, (arms, third, fourth), columns), _flat(arms, third, fourth))
        lines = [line for line in lines if line in again]
    if lines:
        warn(f"{', '.join(users)}: {in_words(lines)}")
    for part in (policy, world.reward, world.delay):
        if misspelt := misspelt_method(part):
            warn(f"{owner_name(part)}: {misspelt}")
    _CHECKED.add(checked)


def _flat(arms: int, cells: int, lanes: int) -> set[int]:
    """The lengths of axes of runs, and of axes into which such axes are flattened."""
    return {cells, lanes, cells * lanes, arms * cells, arms * lanes, arms * cells * lanes}


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
