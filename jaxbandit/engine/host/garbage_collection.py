"""Python's search for cyclic garbage, left out where many objects are made that stay, and where the process ends."""

from __future__ import annotations

import atexit
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


def left_out_at_exit() -> None:
    """Leave out the searches when this process ends.

    They would take 0.3 s after a run, which has some 200,000 objects. The operating system frees the memory anyway.
    """
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)
