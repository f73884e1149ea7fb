"""A process that makes the page and the figures of a run, beside the process that simulates.

Half the time of a short command is matplotlib's, which computes with one core. This process is forked before JAX starts
its threads; the command line forks it even before JAX is imported. It imports matplotlib while the other process
imports JAX, compiles and simulates, and then draws one figure per core.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxbandit.engine.host import garbage_collection
from jaxbandit.experiments.output import views
from jaxbandit.experiments.output.views import Begin, BegunViews, Outputs, View

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

_MOST_BYTES = 1 << 26  # of results; the process would hold larger ones a second time


_EARLY: list[_ViewProcess] = []  # the process of `begun_early`


@contextlib.contextmanager
def begun_early(outputs: Outputs) -> Iterator[None]:
    """Within this context, the process of `views_beside` is there already, if it can be forked.

    Args:
        outputs: what it will make, as far as is known.
    """
    process = _forked(outputs)
    if process is None:
        yield
        return
    _EARLY.append(process)
    try:
        yield
    finally:
        end_early()


def end_early() -> None:
    """End the process of `begun_early`, if there is one: nothing will be asked of it."""
    while _EARLY:
        _EARLY.pop().end()


@contextlib.contextmanager
def views_beside(outputs: Outputs) -> Iterator[Begin]:
    """Within this context, `views.begin` for some outputs; another process makes the views, where it can be forked."""
    if not (outputs.figures or outputs.page):  # as a resumed run may say, whose words do not
        end_early()
    process = _EARLY.pop() if _EARLY else _forked(outputs)
    if process is None:
        yield partial(views.begin, outputs)
        return
    try:
        yield partial(process.begin, outputs)
    finally:
        process.end()


def _forked(outputs: Outputs) -> _ViewProcess | None:
    """A process for some outputs; None where they are none, or it cannot be forked."""
    if not (outputs.figures or outputs.page) or not _can_fork() or _cores() < 2:
        return None
    try:
        return _ViewProcess(outputs)
    except OSError:  # as where there is no memory for it
        return None


def _can_fork() -> bool:
    """Whether this process has no threads of Python or JAX, and matplotlib opens no windows."""
    backend = os.environ.get("MPLBACKEND", "agg").lower()
    alone = threading.active_count() == 1 and not _devices_started()
    return sys.platform == "linux" and alone and backend == "agg" and "matplotlib.pyplot" not in sys.modules


def _devices_started() -> bool:
    if "jax" not in sys.modules:
        return False
    from jaxbandit.core.xla import compat

    return compat.devices_started()


def _cores() -> int:
    return len(os.sched_getaffinity(0))


class _ViewProcess:
    """The other process, as this one sees it."""

    def __init__(self, outputs: Outputs) -> None:
        forking = multiprocessing.get_context("fork")
        self._connection, other = forking.Pipe()
        self._process = forking.Process(target=_serve, args=(outputs, other, self._connection), name="views")
        with warnings.catch_warnings():  # Python warns of threads, which here are NumPy's; they end before a fork
            warnings.simplefilter("ignore", DeprecationWarning)
            self._process.start()
        with contextlib.suppress(OSError):  # the process has done so itself
            os.setpgid(self._pid, self._pid)
        other.close()

    @property
    def _pid(self) -> int:
        pid = self._process.pid
        assert pid is not None  # the process has been started
        return pid

    def begin(self, outputs: Outputs, results: xr.Dataset, folder: Path, title: str) -> BegunViews:
        """Let the process make the views of results; where it is gone, this one makes them."""
        asked = (outputs, results, folder, title)
        here = partial(views.begin, *asked)
        if results.nbytes > _MOST_BYTES:
            return here()
        try:
            with _gone_noticed():
                self._connection.send(asked)
            names: list[str] = self._answer()
        except _GoneError:
            return here()

        def finish() -> list[str]:
            try:
                self._answer()
            except _GoneError:
                return here().finish()
            return names

        return BegunViews(names, finish)

    def _answer(self) -> Any:
        with _gone_noticed():
            answer = self._connection.recv()
        if isinstance(answer, OSError):
            raise answer
        return answer

    def end(self) -> None:
        """End the process and those that it has forked, whatever they do."""
        self._connection.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)
        self._process.join()


class _GoneError(Exception):
    """The process has ended, or was killed."""


@contextlib.contextmanager
def _gone_noticed() -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError):
        raise _GoneError from None


def _serve(outputs: Outputs, connection: Connection, other: Connection) -> None:
    """Make what is asked for until the other process closes its end of the connection, or ends."""
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)  # an interruption from the keyboard is for the other process, which ends this one
    other.close()
    os.environ["MPLBACKEND"] = "agg"
    with contextlib.suppress(Exception), garbage_collection.paused():  # what fails here is raised when views are made
        _load(outputs)
        if outputs.figures and not connection.poll():  # nobody waits
            _draw_once()
    gc.freeze()  # a search for garbage would write to all memory that forked processes share
    with contextlib.suppress(EOFError, OSError):
        while True:
            asked = connection.recv()
            for answer in _answers(*asked):
                connection.send(answer)


def _load(outputs: Outputs) -> None:
    """Load the modules that the views need, which the forked processes then share."""
    if outputs.page:
        import scipy.special  # noqa: F401  the page ranks policies with it

        from jaxbandit.experiments.dashboard import page  # noqa: F401
    if outputs.figures:
        from jaxbandit.experiments.plots import figures  # noqa: F401


def _draw_once() -> None:
    """Load fonts and the parser of mathematics, by drawing a figure that nobody sees."""
    from jaxbandit.experiments.plots import figures
    from jaxbandit.experiments.plots.canvas import new_figure

    def draw() -> Figure:
        figure, axes = new_figure(figsize=(1, 1))
        axes[0, 0].set_xscale("log")
        axes[0, 0].set_title("$t$")
        return figure

    with tempfile.TemporaryDirectory() as folder:
        figures.save("drawn", draw, Path(folder))


def _answers(outputs: Outputs, results: xr.Dataset, folder: Path, title: str) -> Iterator[Any]:
    """The names of the files, and then None when they are made; or an error of the system in the place of one."""
    try:
        made = views.single_views(outputs, results, title)
        yield [name for view in made for name in view.names]
        _make(made, folder)
        yield None
    except OSError as error:
        yield OSError(error.errno, error.strerror, error.filename)
    except Exception:  # of any kind: this process ends, and the other one makes the views itself, or raises the error
        raise EOFError from None


def _make(all_views: Sequence[View], folder: Path) -> None:
    """Make all views, one per core at a time. Forked processes have the views in their memory."""
    size = min(len(all_views), _cores())
    forking = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(size, forking, initializer=_VIEWS.extend, initargs=(list(all_views),)) as pool:
        # The page, which comes first, takes the least time.
        for made in [pool.submit(_make_one, number, folder) for number in reversed(range(len(all_views)))]:
            made.result()


_VIEWS: list[View] = []


def _make_one(number: int, folder: Path) -> None:
    _VIEWS[number].make(folder)
