"""The steps of a measurement, by value: those of part 1 come first."""

from __future__ import annotations

from typing import NamedTuple


class Step(NamedTuple):
    """A step.

    Attributes:
        name: the name of its function in `benchmarks.gpu.steps` and of its file.
        part: the part of the measurement to which it belongs, 1 or 2.
        weight: its share of the time; time that a step leaves is shared by the later ones.
    """

    name: str
    part: int
    weight: float


STEPS = (
    Step("rates", 1, 2.0),
    Step("agreement", 1, 2.5),
    Step("kernel", 1, 3.0),
    Step("host", 1, 1.5),
    Step("policies", 2, 3.0),
    Step("blocks", 2, 1.5),
    Step("graphs", 2, 1.0),
    Step("profile", 2, 0.7),
    Step("memory", 2, 1.0),
    Step("metrics", 2, 0.8),
    Step("laws", 2, 1.5),
)
