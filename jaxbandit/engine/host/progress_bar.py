"""The progress bar: rounds done, selections a second, time left."""

from __future__ import annotations

import threading
from typing import Any

from tqdm import tqdm


class Progress:
    """A bar over the rounds of all runs; safe to advance from several threads.

    Args:
        total: rounds of all runs and policies.
        plays: selections a round.
        shown: draw the bar.
    """

    def __init__(self, total: int, plays: int, shown: bool):
        self._plays = plays
        self._lock = threading.Lock()
        form = "{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} rounds{postfix} [{elapsed}, {remaining} left]"
        self._bar: Any = tqdm(total=total, unit_scale=True, disable=not shown, bar_format=form, postfix="starting")

    def add(self, rounds: int) -> None:
        """Count rounds as done."""
        with self._lock:
            elapsed = self._bar.format_dict["elapsed"] if not self._bar.disable else 0.0
            if elapsed:
                rate = (self._bar.n + rounds) * self._plays / elapsed
                self._bar.set_postfix_str(f"{tqdm.format_sizeof(rate)} selections/s", refresh=False)
            self._bar.update(rounds)

    def more(self, rounds: int) -> None:
        """Expect more rounds."""
        with self._lock:
            self._bar.total += rounds
            self._bar.refresh()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.close()


class Parts:
    """A bar over several simulations, by the seconds that each is expected to take; time left in its own measure.

    Args:
        seconds: expected in all.
        shown: draw the bar.
    """

    def __init__(self, seconds: float, shown: bool):
        form = "{percentage:3.0f}%|{bar}| {desc} [{elapsed}, {remaining} left]"
        self._bar: Any = tqdm(total=max(seconds, 1e-9), disable=not shown, bar_format=form)

    def part(self, name: str, rounds: int, seconds: float) -> Part:
        """The bar of one simulation: its rounds count for its share of the seconds."""
        self._bar.set_description_str(name)
        return Part(self._bar, seconds / rounds)

    def __enter__(self) -> Parts:
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.close()


class Part(Progress):
    """One simulation on a bar that it shares with others."""

    def __init__(self, bar: Any, seconds_a_round: float):
        self._shared, self._rate = bar, seconds_a_round
        self._lock = threading.Lock()

    def add(self, rounds: int) -> None:
        """Count rounds as done."""
        with self._lock:
            self._shared.update(rounds * self._rate)

    def more(self, rounds: int) -> None:
        """Expect more rounds."""
        with self._lock:
            self._shared.total += rounds * self._rate

    def __exit__(self, *exception: object) -> None:
        """Leave the shared bar open."""
