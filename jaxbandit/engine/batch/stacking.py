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

from jaxbandit.environment.ground_truth import Facts, facts_of
from jaxbandit.environment.problem import Problem, World, world_of
from jaxbandit.policies.base import Policy

Tree = TypeVar("Tree")


@dataclass(frozen=True)
class Group:
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

    entries: tuple[int, ...]
    policy: Policy
    world: World
    facts: Facts
    instances: int
    arms: int
    program: Hashable = None

    @property
    def rows(self) -> int:
        """Configurations times instances."""
        return len(self.entries) * self.instances


def grouped(policies: Sequence[Policy], problems: Sequence[Problem], horizon: int) -> list[Group]:
    """Entries, each a prepared policy and its problem, in groups as large as can be, in order of appearance."""
    entries = alone(range(len(policies)), policies, problems, horizon)
    worlds = {id(entry.world): entry.world for entry in entries}  # one may be that of many entries
    shapes = {which: _structure(world) for which, world in worlds.items()}
    kinds: dict[Hashable, list[Group]] = {}
    for entry in entries:
        kinds.setdefault((_structure(entry.policy), shapes[id(entry.world)]), []).append(entry)
    return [alike[0] if len(alike) == 1 else _together(alike) for alike in kinds.values()]


def alone(numbers: Sequence[int], policies: Sequence[Policy], problems: Sequence[Problem], horizon: int) -> list[Group]:
    """Some entries as a group each."""
    worlds: dict[tuple[int, bool], World] = {}
    facts: dict[int, Facts] = {}
    made = []
    for n in numbers:
        policy, problem = policies[n], problems[n]
        which = id(problem), policy.binary
        if which not in worlds:
            worlds[which] = world_of(problem, policy.binary, horizon)
        if id(problem) not in facts:
            facts[id(problem)] = facts_of(problem)
        made.append(Group((n,), policy, worlds[which], facts[id(problem)], problem.instances, problem.arms))
    return made


def _structure(tree: Any) -> Hashable:
    """What has to be alike for trees to become one by `_stacked`."""
    leaves, structure = jax.tree.flatten(tree)
    return structure, tuple(_shape(np.asarray(leaf)) for leaf in leaves)


def _shape(leaf: np.ndarray) -> Hashable:
    if leaf.ndim == 1:
        return leaf.tobytes()  # a table: the same for all
    return leaf.ndim, leaf.shape[0] if leaf.ndim else 0, leaf.dtype.kind


def _together(entries: list[Group]) -> Group:
    first = entries[0]
    return Group(
        tuple(number for entry in entries for number in entry.entries),
        _stacked([entry.policy for entry in entries], first.instances),
        _stacked([entry.world for entry in entries], first.instances),
        _all_facts([entry.facts for entry in entries], first.instances),
        first.instances,
        first.arms,
    )


def _all_facts(facts: list[Facts], instances: int) -> Facts:
    if _one(facts):
        return facts[0]

    def beside(parts: list[Any]) -> Any:
        return None if parts[0] is None else _beside(parts, instances)

    return Facts(
        beside([one.means for one in facts]),
        beside([one.fractions for one in facts]),
        beside([one.penalties for one in facts]),
        beside([one.opportunities for one in facts]),
        facts[0].plays,
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
