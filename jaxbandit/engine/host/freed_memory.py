"""Memory that was freed, given back to the system.

The C library keeps what the compiler, and arrays of delayed feedback, have freed, in a pool per thread, and takes more
from the system for the next arrays: 50 to 90 MiB in a process that simulates delayed feedback (measured).
"""

from __future__ import annotations

import contextlib
import ctypes
import sys


def give_back() -> None:
    """Give the memory that was freed back to the system, where the C library can: glibc, in 2 to 4 ms."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)
