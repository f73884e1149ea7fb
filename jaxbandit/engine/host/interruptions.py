"""Interruptions of a command: those that are swallowed come again."""

from __future__ import annotations

import _thread
import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

_AGAIN = 0.25  # seconds, in which an interruption that is not swallowed reaches an `except` or `finally` block


@contextlib.contextmanager
def repeated() -> Iterator[None]:
    """Within this context, an interruption of the main thread comes again if nothing handles it.

    Python drops one in `__del__` and in callbacks of the garbage collection, of which JAX has one. Compiled libraries
    drop some that arrive while they call Python.
    """
    ended = threading.Event()

    def watch() -> None:
        if not ended.wait(_AGAIN) and not _is_handled():
            _interrupt()

    def watched() -> None:  # not by `threading`: this thread may hold the lock that its `start` takes
        _thread.start_new_thread(watch, ())

    def interrupted(number: int, frame: FrameType | None) -> None:
        watched()
        raise KeyboardInterrupt

    def hook(dropped: sys.UnraisableHookArgs) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            before(dropped)
        elif not own:
            watched()

    own = _in_main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    before, sys.unraisablehook = sys.unraisablehook, hook
    if own:  # not where a shell or a caller has chosen what an interruption does
        signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        if own:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        ended.set()
        sys.unraisablehook = before


@contextlib.contextmanager
def postponed() -> Iterator[None]:
    """Within this context, an interruption waits for the end. A compiled module may abort if its import is ended."""
    handler, received = signal.getsignal(signal.SIGINT), list[int]()
    if not callable(handler) or not _in_main_thread():
        yield
        return
    signal.signal(signal.SIGINT, lambda number, frame: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if received:
        signal.raise_signal(signal.SIGINT)


def _in_main_thread() -> bool:
    """Whether this is the thread that receives signals."""
    return threading.current_thread() is threading.main_thread()


def _is_handled() -> bool:
    """Whether the main thread is in an `except` or `finally` block that an interruption has reached."""
    found = sys._current_exceptions().get(threading.main_thread().ident or 0)
    active = found[1] if isinstance(found, tuple) else found  # a tuple before Python 3.12
    while active is not None and not isinstance(active, KeyboardInterrupt):
        active = active.__context__
    return active is not None


def _interrupt() -> None:
    """Interrupt the main thread, also while it waits, where the system can."""
    main_thread = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main_thread is not None:
        signal.pthread_kill(main_thread, signal.SIGINT)
    else:
        _thread.interrupt_main()
