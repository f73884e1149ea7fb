"""Counter-based random numbers: every number is a function of (key, instance, run, counter, purpose, arm).

The counter is the round or, for rewards and delays, the number of the arm's play. The generator has no state that is
carried from round to round, so run i of instance j draws the same numbers in every batch and block and on every
device. The generator is Threefry-2x32 (Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3",
SC 2011): with 20 rounds where keys are derived, with 13 for draws, which pass BigCrush (their Table 2).
"""

from jaxbandit.core.prng.normal import NORMAL_TAIL
from jaxbandit.core.prng.stream import AVAILABILITY, BINARISE, DELAY, INSTANCE, POLICY, REWARD, TIES, Stream
from jaxbandit.core.prng.threefry import (
    key_as_integer,
    key_words,
    run_keys,
    threefry2x32,
    traced_run_keys,
    uniform_table,
)

__all__ = [
    "AVAILABILITY",
    "BINARISE",
    "DELAY",
    "INSTANCE",
    "NORMAL_TAIL",
    "POLICY",
    "REWARD",
    "TIES",
    "Stream",
    "key_as_integer",
    "key_words",
    "run_keys",
    "threefry2x32",
    "traced_run_keys",
    "uniform_table",
]
