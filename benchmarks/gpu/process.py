"""The process of one step: it writes what it measures to a file, row by row."""

from __future__ import annotations

import argparse
import json
import os
import time
import traceback
from pathlib import Path
from typing import TypeVar

_One = TypeVar("_One")


class Record:
    """The rows of a step, in a JSON file that is complete after every row.

    Args:
        file: the file.
        tiny: whether sizes are small.
        share: which share of the step's policies this process measures, and the number of shares.
    """

    def __init__(self, file: Path, tiny: bool, share: tuple[int, int] = (0, 1)) -> None:
        from benchmarks.report import machine

        self.file, self.tiny, self.share, self.begun = file, tiny, share, time.perf_counter()
        self.held: dict[str, object] = {"machine": machine(), "tiny": tiny}
        self.rows: list[dict[str, object]] = []
        self.write()

    def own(self, all_of_step: list[_One]) -> list[_One]:
        """The part of a list that this process measures."""
        return all_of_step[self.share[0] :: self.share[1]]

    def add(self, **row: object) -> None:
        """Add a row and write the file."""
        self.rows.append({**row, "at": round(time.perf_counter() - self.begun, 1)})
        self.write()

    def attempt(self, what, *arguments, **about: object) -> bool:
        """Add the row that a function returns, or its error; whether it returned one."""
        print("--", about, flush=True)  # in the log, before what compilers write about it
        try:
            self.add(**about, **what(*arguments))
            return True
        except Exception as error:
            traceback.print_exc()
            where = traceback.extract_tb(error.__traceback__)[-1]
            words = f"{type(error).__name__}: {str(error)[:500]} ({Path(where.filename).name}:{where.lineno})"
            self.add(**about, error=words)
            return False

    def write(self) -> None:
        """Write all rows, atomically."""
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps({**self.held, "rows": self.rows}, indent=1, default=float))
        os.replace(new, self.file)


def main() -> None:
    from benchmarks.gpu import rounds, steps

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--share", type=int, nargs=2, default=(0, 1))
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--given", type=json.loads, default={}, help="arguments of the step, as JSON")
    options = parser.parse_args()
    rounds.TURNS.append(options.out.parent / "device.lock")
    getattr(steps, options.step)(Record(options.out, options.tiny, tuple(options.share)), **options.given)


if __name__ == "__main__":
    main()
