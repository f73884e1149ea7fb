"""Configurations that one program simulates side by side: policies and worlds that differ in numbers only.

A grid is more instances: row r of a group is instance r mod J of its configuration r div J, and what differs
between configurations stands beside what differs between instances, in arrays `[K or 1, rows]`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import jax
import numpy as np

from .facts import Facts, facts_of
from .policy import Policy
from .problem import Problem, World, world_of

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
    """

    entries: tuple[int, ...]
    policy: Policy
    world: World
    facts: Facts
    instances: int
    arms: int

    @property
    def rows(self) -> int:
        """Configurations times instances."""
        return len(self.entries) * self.instances


def grouped(policies: Sequence[Policy], problems: Sequence[Problem], horizon: int) -> list[Group]:
    """Entries, each a prepared policy and its problem, in groups as large as can be, in order of appearance."""
    worlds: dict[tuple[int, bool], World] = {}
    kinds: dict[Hashable, list[int]] = {}
    for number, (policy, problem) in enumerate(zip(policies, problems, strict=True)):
        which = (id(problem), policy.binary)
        if which not in worlds:
            worlds[which] = world_of(problem, policy.binary, horizon)
        kinds.setdefault(_structure((policy, worlds[which])), []).append(number)
    made = []
    for numbers in kinds.values():
        entries = alone(numbers, policies, problems, horizon, worlds)
        made.append(entries[0] if len(entries) == 1 else _together(entries, problems))
    return made


def alone(
    numbers: Sequence[int],
    policies: Sequence[Policy],
    problems: Sequence[Problem],
    horizon: int,
    worlds: Mapping[tuple[int, bool], World] | None = None,
) -> list[Group]:
    """Some entries as a group each; `worlds` are those made already, by problem and whether rewards are binarised."""
    facts: dict[int, Facts] = {}
    made = []
    for n in numbers:
        policy, problem = policies[n], problems[n]
        known = None if worlds is None else worlds.get((id(problem), policy.binary))
        world = world_of(problem, policy.binary, horizon) if known is None else known
        if id(problem) not in facts:
            facts[id(problem)] = facts_of(problem)
        made.append(Group((n,), policy, world, facts[id(problem)], problem.instances, problem.arms))
    return made


def _structure(tree: Any) -> Hashable:
    """What has to be alike for trees to become one by `_stacked`."""
    leaves, structure = jax.tree.flatten(tree)
    return structure, tuple(_shape(np.asarray(leaf)) for leaf in leaves)


def _shape(leaf: np.ndarray) -> Hashable:
    if leaf.ndim == 1:
        return leaf.tobytes()  # a table: the same for all
    return leaf.ndim, leaf.shape[0] if leaf.ndim else 0, leaf.dtype.kind


def _together(entries: list[Group], problems: Sequence[Problem]) -> Group:
    first = entries[0]
    same = len({id(problems[entry.entries[0]]) for entry in entries}) == 1
    return Group(
        tuple(entry.entries[0] for entry in entries),
        _stacked([entry.policy for entry in entries], first.instances),
        first.world if same else _stacked([entry.world for entry in entries], first.instances),
        first.facts if same else _all_facts([entry.facts for entry in entries], first.instances),
        first.instances,
        first.arms,
    )


def _all_facts(facts: list[Facts], instances: int) -> Facts:
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
    structure = jax.tree.structure(trees[0])
    leaves = zip(*(jax.tree.leaves(tree) for tree in trees), strict=True)
    return jax.tree.unflatten(structure, [_beside(parts, instances) for parts in leaves])


def _beside(parts: Sequence[Any], instances: int) -> Any:
    """One leaf of several configurations' next to each other; as it is where it is the same for all."""
    arrays = [np.asarray(part) for part in parts]
    first = arrays[0]
    if all(array is first or (array.shape == first.shape and (array == first).all()) for array in arrays):
        return parts[0]
    if first.ndim == 0:
        return np.repeat(np.stack(arrays), instances)[None]
    return np.concatenate([np.broadcast_to(array, (len(first), instances)) for array in arrays], axis=1)
