"""Python's search for cyclic garbage, paused while many objects are made that stay."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Within, nothing is searched.

    The search looks at all objects again each time that their number has grown by a quarter: with a plan of 10,000
    configurations, it takes a quarter of the time.
    """
    wanted = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if wanted:
            gc.enable()
