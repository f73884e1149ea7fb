"""The steps of a measurement, by value: those of part 1 come first."""

from __future__ import annotations

from typing import NamedTuple


class Step(NamedTuple):
    """A step.

    Attributes:
        name: the name of its function in `benchmarks.gpu.steps` and of its files.
        part: the part of the measurement to which it belongs, 1 or 2.
        weight: its share of the time, added over the steps that run at once; what these leave is for later ones.
        shares: the number of processes that share its policies.
        alone: whether nothing else runs meanwhile. Other steps of a part run at once: they compile at the same time and
            take turns on the device.
    """

    name: str
    part: int
    weight: float = 1.0
    shares: int = 1
    alone: bool = False


STEPS = (
    Step("first", 1, 2.0, alone=True),
    Step("arithmetic", 1),
    Step("rates", 1, 6.0, shares=3),
    Step("policies", 1, shares=4),
    Step("kernel", 1, shares=4),
    Step("agreement", 1, shares=2),
    Step("host", 1),
    Step("few", 2, shares=4),
    Step("instances", 2),
    Step("blocks", 2, 6.0, shares=3),
    Step("graphs", 2),
    Step("profile", 2),
    Step("metrics", 2),
    Step("laws", 2, shares=3),
    Step("memory", 2, 1.0, alone=True),
)
