"""Interruptions that nothing handles come again; the others come once."""

import contextlib
import signal
import time

import pytest
from sweeps import first_fast

from jaxbandit.engine.host import interruptions

LONG = 20  # seconds, which no test waits
OVER = 2 * interruptions._AGAIN


def test_one_that_python_drops_comes_again():
    """As in a callback of the garbage collector, which JAX has."""

    class Interrupted:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    def dropped():
        held = Interrupted()
        del held
        time.sleep(LONG)

    with interruptions.repeated(), pytest.raises(KeyboardInterrupt):
        dropped()


def test_one_that_a_library_drops_comes_again():
    def dropped():
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        time.sleep(LONG)

    with interruptions.repeated(), pytest.raises(KeyboardInterrupt):
        dropped()


def test_one_that_is_dropped_under_another_handler_comes_again():
    class Interrupted:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    def chosen(number, frame):
        times.append(number)
        raise KeyboardInterrupt

    def dropped():
        held = Interrupted()
        del held
        time.sleep(LONG)

    times, before = [], signal.signal(signal.SIGINT, chosen)
    try:
        with interruptions.repeated(), pytest.raises(KeyboardInterrupt):
            dropped()
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(times) == 2


@pytest.mark.parametrize("other", first_fast([OSError, None]))
def test_one_that_is_being_handled_comes_once(other):
    """A block that takes long to end, also with an error of its own."""
    times = 0

    def handled():
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            with contextlib.suppress(OSError):
                if other is not None:
                    raise other
            time.sleep(OVER)

    with interruptions.repeated():
        try:
            handled()
        except KeyboardInterrupt:
            times += 1
            time.sleep(OVER)
    time.sleep(OVER)
    assert times == 1


def test_one_that_ends_the_context_does_not_come_again():
    def interrupted():
        with interruptions.repeated():
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    time.sleep(OVER)


def test_one_that_is_postponed_comes_at_the_end_once():
    done = []

    def interrupted():
        with interruptions.postponed():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            done.append("all")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert done == ["all"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with interruptions.postponed():
        pass


@pytest.mark.parametrize("chosen", [signal.SIG_IGN, lambda number, frame: None])
def test_what_was_chosen_for_interruptions_stays(chosen):
    before = signal.signal(signal.SIGINT, chosen)
    try:
        with interruptions.repeated():
            signal.raise_signal(signal.SIGINT)
            assert signal.getsignal(signal.SIGINT) is chosen
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_usual_handler_comes_back():
    with interruptions.repeated():
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
