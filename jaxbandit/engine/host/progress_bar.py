"""The progress bar: programs being compiled, then finished rounds, selections per second, time left."""

from __future__ import annotations

import importlib.util
import sys
import threading
from typing import Any

import tqdm


def _new_bar(**keywords: Any) -> Any:
    """A bar of tqdm: a widget in a notebook that has widgets, else text on standard error."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    in_notebook = hasattr(shell, "kernel") and importlib.util.find_spec("ipywidgets") is not None
    if not in_notebook:
        return tqdm.tqdm(**keywords)
    from tqdm.notebook import tqdm as widget

    return widget(**keywords)


class Progress:
    """A bar over the rounds of all runs; safe to advance from several threads.

    Args:
        total: rounds of all runs and policies.
        plays: selections per round.
        shown: whether to draw the bar.
    """

    def __init__(self, total: int, plays: int, shown: bool):
        self._plays = plays
        self._lock = threading.Lock()
        layout = "{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} rounds{postfix} [{elapsed}, {remaining} left]"
        self._compiled, self._simulates = 0, threading.Event()
        self._bar: Any = _new_bar(
            total=total, unit_scale=True, disable=not shown, bar_format=layout, postfix="compiling"
        )
        if shown:
            threading.Thread(target=self._tick, name="progress bar", daemon=True).start()

    def _tick(self) -> None:
        """Show the time that compilation takes, once per second."""
        while not self._simulates.wait(1.0):
            with self._lock:
                if not self._simulates.is_set():
                    self._bar.refresh()

    def compiled(self, policies: int, of: int) -> None:
        """Count policies as compiled; the bar says how many of all are."""
        with self._lock:
            self._compiled += policies
            done = min(self._compiled, of)
            words = f"compiling ({done:,} of {of:,} policies)" if done < of else "compiled"
            self._bar.set_postfix_str(words)

    def simulating(self) -> None:
        """Begin to count rounds, and the time from here."""
        with self._lock:
            self._simulates.set()
            self._bar.set_postfix_str("", refresh=False)
            self._bar.reset()

    def add(self, rounds: int) -> None:
        """Count rounds as finished."""
        with self._lock:
            elapsed = self._bar.format_dict["elapsed"] if not self._bar.disable else 0.0
            if elapsed:
                speed = (self._bar.n + rounds) * self._plays / elapsed
                self._bar.set_postfix_str(f"{tqdm.tqdm.format_sizeof(speed)} selections/s", refresh=False)
            self._bar.update(rounds)

    def more(self, rounds: int) -> None:
        """Expect more rounds."""
        with self._lock:
            self._bar.total += rounds
            if hasattr(self._bar, "container"):  # a widget, which has a maximum of its own
                self._bar.container.children[1].max = self._bar.total
            self._bar.refresh()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._simulates.set()
            self._bar.close()


class Parts:
    """A bar over several simulations, each with a share of the bar in proportion to its expected time.

    Args:
        seconds: the expected time of all simulations.
        shown: whether to draw the bar.
    """

    def __init__(self, seconds: float, shown: bool):
        layout = "{percentage:3.0f}%|{bar}| {desc} [{elapsed}, {remaining} left]"
        self._bar: Any = _new_bar(total=max(seconds, 1e-9), disable=not shown, bar_format=layout)

    def part(self, name: str, rounds: int, seconds: float) -> Part:
        """The bar of one simulation, whose rounds fill its share of the shared bar."""
        self._bar.set_description_str(name)
        return Part(self._bar, seconds / rounds)

    def __enter__(self) -> Parts:
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.close()


class Part(Progress):
    """The part of a shared bar that belongs to one simulation."""

    def __init__(self, bar: Any, seconds_per_round: float):
        self._shared, self._seconds = bar, seconds_per_round
        self._lock = threading.Lock()

    def compiled(self, policies: int, of: int) -> None:
        """Nothing: the name of the simulation stands in the place of these words."""

    def simulating(self) -> None:
        """Nothing: the shared bar counts the time of all simulations."""

    def add(self, rounds: int) -> None:
        """Count rounds as finished."""
        with self._lock:
            self._shared.update(rounds * self._seconds)

    def more(self, rounds: int) -> None:
        """Expect more rounds."""
        with self._lock:
            self._shared.total += rounds * self._seconds

    def __exit__(self, *exception: object) -> None:
        """Leave the shared bar open."""
