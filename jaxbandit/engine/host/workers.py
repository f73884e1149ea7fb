"""The host threads that drive the devices."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any, ParamSpec, TypeVar

import jax

from jaxbandit.engine.batch import sharding

P = ParamSpec("P")
R = TypeVar("R")


class Workers:
    """A pool of host threads, which see this thread's choices by JAX's context managers.

    Attributes:
        stopped: set when the work is to stop: a task of several steps looks at it between them.
    """

    def __init__(self, pool: ThreadPoolExecutor):
        self._pool = pool
        self.stopped = threading.Event()

    def submit(self, function: Callable[P, R], *arguments: P.args, **keywords: P.kwargs) -> Future[R]:
        """Call a function on one of the threads."""
        return self._pool.submit(inherited(), function, *arguments, **keywords)

    def cancel(self) -> None:
        """Stop what is under way and drop what waits."""
        self.stopped.set()
        self._pool.shutdown(wait=False, cancel_futures=True)


@contextlib.contextmanager
def workers() -> Iterator[Workers]:
    """Host threads; the first failure, or an interruption, cancels all work."""
    with ThreadPoolExecutor(sharding.workers()) as pool:
        made = Workers(pool)
        try:
            yield made
        except BaseException:
            made.cancel()
            raise


def finish(futures: list[Future[None]]) -> None:
    """Wait for all futures; raise the first failure."""
    wait(futures, return_when=FIRST_EXCEPTION)
    for future in futures:
        if future.done():
            future.result()


def inherited() -> Callable[..., Any]:
    """A function that calls another one under this thread's precision and default device."""
    config: Any = jax.config
    x64, device = config.jax_enable_x64, config.jax_default_device

    def call(function: Callable[..., R], *arguments: Any, **keywords: Any) -> R:
        with contextlib.ExitStack() as stack:
            stack.enter_context(jax.enable_x64(x64))
            stack.enter_context(jax.default_device(device))
            return function(*arguments, **keywords)

    return call
