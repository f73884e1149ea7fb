"""What the merit paper prints and does not hold as printed."""

from __future__ import annotations

import itertools

import numpy as np

from jaxbandit.papers.claim import Finding


def _merit(mu: np.ndarray) -> np.ndarray:
    return 1 + 2 * mu**4


def _fair_reward(mu: np.ndarray) -> np.ndarray:
    """The reward per play of selections in proportion to merit, `[..., arm]` to `[...]`."""
    return np.asarray((_merit(mu) * mu).sum(-1) / _merit(mu).sum(-1))


def _upper_corner() -> tuple[str, bool]:
    """The largest reward over boxes of three means, by a grid of 11^3 points, and that of their upper corners."""
    draw, largest = np.random.default_rng(0), 0.0
    for _ in range(200):
        low, high = np.sort(draw.random((2, 3)), axis=0)
        sides = [np.linspace(start, end, 11) for start, end in zip(low, high, strict=True)]
        points = np.array(list(itertools.product(*sides)))
        largest = max(largest, float(_fair_reward(points).max() - _fair_reward(high)))
    words = f"in 200 random boxes the best of 1331 points is above the upper corner by at most {largest:.1g} rewards"
    return words, largest < 1e-12


FINDINGS: tuple[Finding, ...] = (
    Finding(
        "merit-optimisation",
        "App. B.1, Fig. 9",
        "The policies of TS type are faster since they avoid solving the optimisation problem over the confidence "
        "region.",
        "With the merit functions 1 + 2 μ^c of the experiments there is nothing to solve: f(x) (x - r) increases in x "
        "for any reward r in [0, 1], so the optimum over a box is at its upper corner, and then the policies of UCB "
        "type are the faster ones. A search is needed for other merit functions only.",
        "three arms, c = 4, one play",
        _upper_corner,
    ),
)
