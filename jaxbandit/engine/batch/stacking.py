"""Configurations that one program simulates side by side: policies and worlds that differ in numbers only.

A grid is more instances: row r of a group is instance r mod J of its configuration r div J, and what differs
between configurations stands beside what differs between instances, in arrays `[K or 1, rows]`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import jax
import numpy as np

from jaxbandit.environment.ground_truth import GroundTruth, ground_truth_of
from jaxbandit.environment.problem import Problem
from jaxbandit.environment.world import World, world_of
from jaxbandit.policies.base import Policy

Tree = TypeVar("Tree")


@dataclass(frozen=True)
class Stack:
    """Some configurations of a simulation, all of one structure.

    Attributes:
        entries: the numbers of their entries.
        policy, world: prepared, on the host: arrays `[K or 1, W]` whose W columns repeat over the rows, numbers, and
            tables `[n]`.
        facts: of the rows, likewise.
        instances: J.
        arms: K.
        program: what its compiled programs are kept by beside their shapes, where users' code is among them
            (`programs.told_apart`); else None.
    """

    configurations: tuple[int, ...]
    policy: Policy
    world: World
    ground_truth: GroundTruth
    instances: int
    arms: int
    program: Hashable = None

    @property
    def rows(self) -> int:
        """Configurations times instances."""
        return len(self.configurations) * self.instances


def stacked_configurations(policies: Sequence[Policy], problems: Sequence[Problem], horizon: int) -> list[Stack]:
    """Entries, each a prepared policy and its problem, in groups as large as can be, in order of appearance."""
    configurations = one_per_stack(range(len(policies)), policies, problems, horizon)
    worlds = {
        id(configuration.world): configuration.world for configuration in configurations
    }  # one may be that of many entries
    shapes = {which: _structure(world) for which, world in worlds.items()}
    kinds: dict[Hashable, list[Stack]] = {}
    for configuration in configurations:
        kinds.setdefault((_structure(configuration.policy), shapes[id(configuration.world)]), []).append(configuration)
    return [alike[0] if len(alike) == 1 else _together(alike) for alike in kinds.values()]


def one_per_stack(
    numbers: Sequence[int], policies: Sequence[Policy], problems: Sequence[Problem], horizon: int
) -> list[Stack]:
    """Some entries as a group each."""
    worlds: dict[tuple[int, bool], World] = {}
    ground_truth: dict[int, GroundTruth] = {}
    made = []
    for n in numbers:
        policy, problem = policies[n], problems[n]
        which = id(problem), policy.binary
        if which not in worlds:
            worlds[which] = world_of(problem, policy.binary, horizon)
        if id(problem) not in ground_truth:
            ground_truth[id(problem)] = ground_truth_of(problem)
        made.append(Stack((n,), policy, worlds[which], ground_truth[id(problem)], problem.instances, problem.arms))
    return made


def _structure(tree: Any) -> Hashable:
    """What has to be alike for trees to become one by `_stacked`."""
    leaves, structure = jax.tree.flatten(tree)
    return structure, tuple(_shape(np.asarray(leaf)) for leaf in leaves)


def _shape(leaf: np.ndarray) -> Hashable:
    if leaf.ndim == 1:
        return leaf.tobytes()  # a table: the same for all
    return leaf.ndim, leaf.shape[0] if leaf.ndim else 0, leaf.dtype.kind


def _together(configurations: list[Stack]) -> Stack:
    first = configurations[0]
    return Stack(
        tuple(number for configuration in configurations for number in configuration.configurations),
        _stacked([configuration.policy for configuration in configurations], first.instances),
        _stacked([configuration.world for configuration in configurations], first.instances),
        _all_facts([configuration.ground_truth for configuration in configurations], first.instances),
        first.instances,
        first.arms,
    )


def _all_facts(ground_truth: list[GroundTruth], instances: int) -> GroundTruth:
    if _one(ground_truth):
        return ground_truth[0]

    def beside(parts: list[Any]) -> Any:
        return None if parts[0] is None else _beside(parts, instances)

    return GroundTruth(
        beside([one.means for one in ground_truth]),
        beside([one.fractions for one in ground_truth]),
        beside([one.penalties for one in ground_truth]),
        beside([one.opportunities for one in ground_truth]),
        ground_truth[0].plays,
    )


def _stacked(trees: list[Tree], instances: int) -> Tree:
    if _one(trees):
        return trees[0]
    structure = jax.tree.structure(trees[0])
    leaves = zip(*(jax.tree.leaves(tree) for tree in trees), strict=True)
    return jax.tree.unflatten(structure, [_beside(parts, instances) for parts in leaves])


def _one(parts: Sequence[Any]) -> bool:
    """Whether they are one object, as the world is where only policies differ."""
    return all(part is parts[0] for part in parts)


def _beside(parts: Sequence[Any], instances: int) -> Any:
    """One leaf of several configurations' next to each other; as it is where it is the same for all."""
    arrays = [np.asarray(part) for part in parts]
    first = arrays[0]
    if all(array is first or (array.shape == first.shape and (array == first).all()) for array in arrays):
        return parts[0]
    if first.ndim == 0:
        return np.repeat(np.stack(arrays), instances)[None]
    return np.concatenate([np.broadcast_to(array, (len(first), instances)) for array in arrays], axis=1)
