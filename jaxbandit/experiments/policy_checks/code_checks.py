"""Checks of the code: whether methods can be compiled, are pure, and keep structures, shapes and dtypes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.core.xla.program_digest import OpaqueError
from jaxbandit.engine.advice.misspelt_methods import misspelt_method
from jaxbandit.engine.batch.blocks import on_device
from jaxbandit.experiments.policy_checks import cases
from jaxbandit.experiments.policy_checks.cases import Case
from jaxbandit.experiments.policy_checks.subject import DoesNotHoldError, Subject, arms_in_words
from jaxbandit.experiments.policy_checks.users_code import error_in_words, python_state
from jaxbandit.policies.base import Policy


def prepare(subject: Subject) -> None:
    """The policy can be made and prepared."""
    needed = (
        "give the parameters that the policy needs, as in `check_policy(MyPolicy(...))`, or the keys of the problem, "
        "as in `check_policy(MyPolicy, fractions=0.1)`"
    )
    try:
        _ = subject.policy
    except TypeError as error:  # a parameter without default
        raise DoesNotHoldError(f"{error_in_words(error)}; {needed}") from error
    try:
        _ = subject.plain
    except InputError as error:
        if error.held is not None:
            raise
        raise DoesNotHoldError(f"{error}; {needed}") from error
    _check_method_names(subject.policy)


def _check_method_names(policy: Policy) -> None:
    """Refuse a method that nothing calls because its name is misspelt."""
    if found := misspelt_method(policy):
        raise DoesNotHoldError(found)


def jit(subject: Subject) -> None:
    """A round can be traced, apart from the structure of the new state."""
    if subject.update_error is None:
        try:
            subject.first_trace()
        except OpaqueError:  # `simulate` refuses to keep such a program
            return
        except Exception:
            _check_state_shapes(subject)  # which may be the cause
            raise


def scan(subject: Subject) -> None:
    """The state is a fixed point, as a loop over rounds requires."""
    if (error := subject.update_error) is not None:
        raise DoesNotHoldError(
            f"{error}; return arrays of the shapes and dtypes that `init` returns (`x.astype(...)` changes a dtype)"
        ) from error
    _check_state_shapes(subject)


def _check_state_shapes(subject: Subject) -> None:
    """Refuse a state from `init` whose last axes are not those of the runs."""
    arms = subject.plain.problem.arms
    policy, world = on_device((subject.plain.prepared, subject.plain.world), np.zeros(1, np.int64))
    try:
        state = jax.eval_shape(lambda: policy.init(world, (arms, 7, 5)))
    except Exception:  # of which tracing a round tells
        return
    for path, leaf in jax.tree_util.tree_leaves_with_path(state):
        if leaf.shape[-2:] not in ((), (1,), (5,), (7, 5), (1, 5), (7, 1), (1, 1)):
            name = jax.tree_util.keystr(path) or "the state"
            shape = list(leaf.shape)
            raise DoesNotHoldError(
                f"`init` returned {name} of shape {shape} for the shape [{arms}, 7, 5]: the last axes of a state are "
                "those of the runs, `shape[1:]`"
            )


def pure(subject: Subject) -> None:
    """Two calls with the same arguments do the same, and change no Python object."""
    before = python_state(subject.policy)
    differs, failed = False, None
    try:
        differs = Case.of(subject.policy, cases.plain(subject.table)).digest() != subject.first_trace()
    except OpaqueError:
        pass
    except Exception as error:  # an array of the first call
        failed = error
    after = python_state(subject.policy)
    changed = sorted(name for name in before.keys() & after.keys() if before[name] != after[name])
    if changed:
        names = ", ".join(name if " " in name else f"`{name}`" for name in changed[:3])
        raise DoesNotHoldError(
            f"a method changed {names}: methods are called only when a program is compiled, not in its rounds; keep "
            "numbers in the state, and draw random numbers from `now.random`"
        )
    if failed is not None:
        raise DoesNotHoldError(
            f"a second call raised {type(failed).__name__}: the first one kept an array in an attribute, a global "
            "variable or a cache; keep it in the state, or make it anew in each call"
        ) from failed
    if differs:
        raise DoesNotHoldError(
            "two calls with the same arguments did different things: what a method takes from Python (a counter, a "
            "clock, random numbers) is fixed when the program is compiled; use the state and `now.random`"
        )
    one, other = subject.plain.rounds, subject.plain.play()
    if not all(map(np.array_equal, jax.tree.leaves(one)[:1], jax.tree.leaves(other)[:1])):
        raise DoesNotHoldError("the same program selected other arms when it ran again: call nothing outside of JAX")


def dtypes(subject: Subject) -> None:
    """A round can be traced in float32 and in float64."""
    for name, wide in (("float32", False), ("float64", True)):
        with jax.enable_x64(wide):
            try:
                Case.of(subject.policy, cases.plain(subject.table)).digest()
            except OpaqueError:
                continue
            except InputError as error:
                raise DoesNotHoldError(
                    f"in {name} (`jax_enable_x64` is {wide}): {error}; write `jnp.zeros(shape)` for floats and "
                    "`jnp.zeros(shape, jnp.int32)` for counts, and take other dtypes from arrays of `now`"
                ) from error


def vmap(subject: Subject) -> None:
    """A simulator's runs are the same under `jax.vmap`."""
    runs = list(subject.single_runs)
    played = subject.stepped(*(jnp.asarray(index, jnp.int32) for index in zip(*runs, strict=True)))
    for place, run in enumerate(runs):
        alone, mapped = subject.single_runs[run].arms, played.arms[place]
        if (alone != mapped).any():
            t = int(np.flatnonzero((alone != mapped).any(axis=1))[0])
            masks = [(arms[t][:, None] == np.arange(subject.instances.arms)).any(axis=0) for arms in (mapped, alone)]
            raise DoesNotHoldError(
                f"in round {t + 1} a run under `jax.vmap` selected {arms_in_words(masks[0])}, and alone "
                f"{arms_in_words(masks[1])}: a function that the policy calls does not follow `jax.vmap`"
            )
