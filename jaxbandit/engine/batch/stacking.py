"""Stacks: configurations that one program simulates side by side, since they differ only in numbers.

Row r of a stack is instance r mod J of its configuration r div J. Numbers that differ between configurations stand in
arrays `[K or 1, rows]`, as numbers that differ between instances do.

The length of the calendar of delayed feedback is part of a program. Configurations with delays of several lengths get
the longest of their calendars where it is short, since one compilation takes longer than what shorter calendars save.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import jax
import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.environment.ground_truth import GroundTruth, ground_truth_of
from jaxbandit.environment.means.changing import MeanPath
from jaxbandit.environment.problem import Problem
from jaxbandit.environment.world import World, world_of
from jaxbandit.policies.base import Policy

Tree = TypeVar("Tree")

# Arms x rounds of a calendar that several configurations may share. Runs with the shortest delays are up to 1.14 times
# slower with it than with a calendar of 8 rounds, and 1.3 times with one of twice this size (measured)
_SHARED_CALENDAR = 1 << 12


@dataclass(frozen=True)
class Stack:
    """Some configurations of a simulation, all of one structure.

    Attributes:
        configurations: their numbers in the simulation.
        policy, world: prepared, on the host: arrays `[K or 1, W]`, whose W columns repeat over the rows; numbers; and
            tables `[n]`.
        ground_truth: of the rows, likewise.
        instances: J, the number of instances.
        arms: K, the number of arms.
        program: the key of its compiled programs beside their shapes, where they contain users' code
            (`traced_programs.told_apart`); else None.
        recorder: likewise, of the program that computes the metrics.
    """

    configurations: tuple[int, ...]
    policy: Policy
    world: World
    ground_truth: GroundTruth
    instances: int
    arms: int
    program: Hashable = None
    recorder: Hashable = None

    @property
    def rows(self) -> int:
        """Configurations times instances."""
        return len(self.configurations) * self.instances


def stacked_configurations(
    policies: Sequence[Policy], problems: Sequence[Problem], horizon: int, ties: str
) -> list[Stack]:
    """Prepared policies with their problems, in stacks as large as possible, in order of appearance."""
    configurations = one_per_stack(range(len(policies)), policies, problems, horizon, ties)
    worlds: dict[int, Hashable] = {}  # many configurations may share a world
    kinds: dict[Hashable, list[tuple[Stack, list[Any]]]] = {}
    for one in configurations:
        if id(one.world) not in worlds:
            of_any_length = dataclasses.replace(one.world, calendar_rounds=min(one.world.calendar_rounds, 2))
            worlds[id(one.world)] = _structure(*jax.tree.flatten(of_any_length))
        leaves, structure = jax.tree.flatten(one.policy)
        kinds.setdefault((_structure(leaves, structure), worlds[id(one.world)]), []).append((one, leaves))
    return [_together(*zip(*alike, strict=True)) for kind in kinds.values() for alike in _by_calendar(kind)]


def _by_calendar(kind: Sequence[tuple[Stack, list[Any]]]) -> Iterable[list[tuple[Stack, list[Any]]]]:
    """Configurations of one structure, in parts that have a calendar of one length; short ones share the longest."""
    parts: dict[int, list[tuple[Stack, list[Any]]]] = {}
    for one, leaves in kind:
        length = one.world.calendar_rounds
        parts.setdefault(max(length, _SHARED_CALENDAR // one.arms), []).append((one, leaves))
    return parts.values()


def one_per_stack(
    numbers: Sequence[int], policies: Sequence[Policy], problems: Sequence[Problem], horizon: int, ties: str
) -> list[Stack]:
    """One stack for each of some configurations."""
    worlds: dict[tuple[int, bool], World] = {}
    ground_truth: dict[int, GroundTruth] = {}
    binary_feedback = {n: policies[n].wants_binary_feedback for n in numbers}
    for n, binary in binary_feedback.items():
        problem = problems[n]
        if (id(problem), binary) not in worlds:
            worlds[id(problem), binary] = world_of(problem, binary, horizon, ties)
        if id(problem) not in ground_truth:
            ground_truth[id(problem)] = ground_truth_of(problem, horizon)
    if not all(world.equal_fractions for world in worlds.values()):  # one program for all
        worlds = {key: dataclasses.replace(world, equal_fractions=False) for key, world in worlds.items()}
    made = []
    for n, binary in binary_feedback.items():
        problem = problems[n]
        world = worlds[id(problem), binary]
        made.append(Stack((n,), policies[n], world, ground_truth[id(problem)], problem.instances, problem.arms))
    return made


def _structure(leaves: list[Any], structure: Any) -> Hashable:
    """What has to be equal for `_stacked` to join trees."""
    return structure, tuple([_shape(leaf) for leaf in leaves])


def _shape(given: ArrayLike) -> Hashable:
    leaf = np.asarray(given)
    if leaf.ndim == 1:
        return leaf.tobytes()  # a table, which all share
    return leaf.ndim, leaf.shape[0] if leaf.ndim else 0, leaf.dtype.kind


def _together(configurations: Sequence[Stack], policies: Sequence[list[Any]]) -> Stack:
    """One stack of stacks of one configuration; `policies` are the leaves of their policies."""
    first = configurations[0]
    if len(configurations) == 1:
        return first
    worlds = [configuration.world for configuration in configurations]
    world = dataclasses.replace(worlds[0], calendar_rounds=max(one.calendar_rounds for one in worlds))
    return Stack(
        tuple(number for configuration in configurations for number in configuration.configurations),
        _stacked(first.policy, policies, first.instances),
        worlds[0] if _one(worlds) else _stacked(world, [jax.tree.leaves(one) for one in worlds], first.instances),
        _all_facts([configuration.ground_truth for configuration in configurations], first.instances),
        first.instances,
        first.arms,
    )


def _all_facts(ground_truth: list[GroundTruth], instances: int) -> GroundTruth:
    first = ground_truth[0]
    if _one(ground_truth):
        return first

    def beside(parts: list[Any]) -> Any:
        return None if parts[0] is None else _beside(parts, instances)

    return GroundTruth(
        beside([one.means for one in ground_truth]),
        beside([one.fractions for one in ground_truth]),
        beside([one.penalties for one in ground_truth]),
        beside([one.opportunities for one in ground_truth]),
        beside([one.guarantees for one in ground_truth]),
        first.plays,
        first.groups,
        first.path and _paths_beside([one.path for one in ground_truth], instances),
    )


def _paths_beside(paths: list[Any], instances: int) -> MeanPath:
    """Paths of the same rounds side by side, `[S, K, rows]`."""
    rows = [np.broadcast_to(path.means, (*path.means.shape[:2], instances)) for path in paths]
    return MeanPath(paths[0].rounds, np.concatenate(rows, axis=2))


def _stacked(first: Tree, leaves: Sequence[list[Any]], instances: int) -> Tree:
    """Trees of one structure, the first and the leaves of all of them, in one."""
    beside = [_beside(parts, instances) for parts in zip(*leaves, strict=True)]
    return jax.tree.unflatten(jax.tree.structure(first), beside)


def _one(parts: Sequence[object]) -> bool:
    """Whether all parts are one object, as the world is where only policies differ."""
    return all(part is parts[0] for part in parts)


def _beside(parts: Sequence[Any], instances: int) -> Any:
    """The leaves of several configurations side by side; one leaf where all are equal."""
    if _one(parts):
        return parts[0]
    if np.ndim(parts[0]) == 0:
        numbers = np.array(parts)
        return parts[0] if (numbers == numbers[0]).all() else np.repeat(numbers, instances)[None]
    arrays = [np.asarray(part) for part in parts]
    first = arrays[0]
    if all(array.shape == first.shape and (array == first).all() for array in arrays):
        return parts[0]
    return np.concatenate([np.broadcast_to(array, (len(first), instances)) for array in arrays], axis=1)
