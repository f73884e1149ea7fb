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

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.close()
