"""Traced numbers for a simulator: means, penalty rates, availability, and parameters of the policy."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.core.errors import InputError, unknown_name
from jaxbandit.environment.problem import Problem
from jaxbandit.environment.world import World
from jaxbandit.policies.base import Policy

PROBLEM_NUMBERS = ("means", "penalties", "availability")
_STATIC = ("fractions", "plays", "reward", "delay", "merit", "opportunity", "horizon", "policy", "problem")


def check_names(policy: Policy, problem: Problem, names: Mapping[str, Any]) -> None:
    """Refuse names that a simulator cannot replace.

    Raises:
        InputError: the name does not exist, or another value needs other shapes or other code.
    """
    known = [name for name in PROBLEM_NUMBERS if getattr(problem, name) is not None]
    if problem.changing is not None:
        known.remove("means")
    known += [name for part in policy.nested_policies() for name in _numbers_of(part)]
    for name, value in names.items():
        if name in known:
            continue
        if name in (*_STATIC, "means") or any(name in part.parameters() for part in policy.nested_policies()):
            words = "left out: shapes or code depend on it; make another `jb.Simulator` for another value"
            raise InputError(name, value, words)
        raise unknown_name("replace", name, set(known))


def with_numbers(policy: Policy, world: World, problem: Problem, values: Mapping[str, Any]) -> tuple[Policy, World]:
    """A prepared policy and world, on the device, with other numbers, which may be traced.

    Raises:
        InputError: other means without other penalty rates, where the rates are a fraction of the gaps.
    """
    if "means" in values and "penalties" not in values:
        rates = problem.as_given_table().get("penalties")
        if isinstance(rates, Mapping):
            words = f"given with `penalties` where they are traced: the penalty rates are {dict(rates)} of other means"
            raise InputError("means", values["means"], words)
    for name, value in values.items():
        numbers = _columns(name, value, problem)
        if name == "means":
            centre = None if world.centre is None else numbers
            reward = world.reward.at_means(numbers)
            world = dataclasses.replace(world, means=numbers, centre=centre, reward=reward)
        elif name in PROBLEM_NUMBERS and getattr(problem, name) is not None:
            world = dataclasses.replace(world, **{name: numbers})  # type: ignore[arg-type]
        policy = _with_parameter(policy, name, numbers)
    return policy, world


def rows_of_means(means: Any, problem: Problem) -> Any:
    """Means that are not traced as J rows of K numbers.

    Raises:
        InputError: they are not numbers, or of another number of arms or instances.
    """
    shape = problem.instances, problem.arms
    try:
        given = np.asarray(means, float)
    except (TypeError, ValueError):
        raise InputError("means", means, _shapes_in_words(problem)) from None
    if given.shape not in ((), shape[1:], shape):
        raise InputError("means", means, _shapes_in_words(problem))
    return np.broadcast_to(given, shape).tolist()


def with_parameters(policy: Policy, values: Mapping[str, Any]) -> Policy:
    """A policy as a user makes it, with other values of parameters of its own, or of a policy that it wraps.

    Penalty rates that the policy takes from the problem stay there.
    """
    new: dict[str, object] = {}
    for name in policy.parameters():
        value = getattr(policy, name)
        if isinstance(value, Policy):
            new[name] = with_parameters(value, values)
        elif name in values and not (name in PROBLEM_NUMBERS and value is None):
            new[name] = values[name]
    return policy.replace(**new)


def _numbers_of(policy: Policy) -> list[str]:
    """The parameters of a prepared policy that are numbers, or numbers per arm."""
    fields = policy.parameters()
    arrays = {name: getattr(policy, name) for name in fields if not fields[name].metadata.get("static")}
    return [name for name, value in arrays.items() if getattr(value, "ndim", 1) != 1]


def _with_parameter(policy: Policy, name: str, numbers: Array) -> Policy:
    """The policy with numbers for a parameter of its own, or of a policy that it wraps."""
    new: dict[str, object] = {name: numbers} if name in _numbers_of(policy) else {}
    for inner in policy.parameters():
        value = getattr(policy, inner)
        if isinstance(value, Policy):
            new[inner] = _with_parameter(value, name, numbers)
    return policy.replace(**new)


def _columns(name: str, value: Any, problem: Problem) -> Array:
    """A number as `[1, 1]`, K numbers as `[K, 1]`, J rows of K numbers as `[K, J]`.

    Raises:
        InputError: another shape.
    """
    array = jnp.asarray(value, jnp.result_type(float))
    if array.ndim == 0:
        return jnp.broadcast_to(array, (problem.arms, 1)) if name == "means" else array.reshape(1, 1)
    if array.shape == (problem.arms,):
        return array[:, None]
    if array.shape == (problem.instances, problem.arms):
        return array.T
    raise InputError(name, f"an array of shape {array.shape}", _shapes_in_words(problem))


def _shapes_in_words(problem: Problem) -> str:
    return f"a number, {problem.arms} numbers, one per arm, or {problem.instances} rows of {problem.arms} numbers"
