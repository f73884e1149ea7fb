"""Whether the order in which arms are listed helps a policy."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from jaxbandit.environment.problem import Problem
from jaxbandit.policies.base import Policy


def helped_by_order(policies: Iterable[Policy], problems: Iterable[Problem], way_out: str) -> str:
    """A warning where ties go to the better arm because of the order in which arms are listed; else empty.

    Args:
        policies, problems: pairs of a policy and the problem that it is simulated on.
        way_out: what to do about it.
    """
    from_the_best: dict[int, bool] = {}  # by `id`, for the few problems of many configurations
    for policy, problem in zip(policies, problems, strict=True):
        if not any(part.equal_at_first for part in policy.nested_policies()):
            continue
        if id(problem) not in from_the_best:
            means = problem.means
            from_the_best[id(problem)] = bool(np.all(np.diff(means, axis=0) <= 0) and np.any(means[0] > means[-1]))
        if from_the_best[id(problem)]:
            return (
                "the arms are listed from the best to the worst, and ties go to the lowest arm: this helps "
                f"{policy.name}, whose indices are equal for many arms at first; {way_out}"
            )
    return ""
