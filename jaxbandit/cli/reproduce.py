"""`jaxbandit reproduce`."""

from __future__ import annotations

import argparse
from pathlib import Path

from jaxbandit.cli.preparation import check_writable, prepare_machine
from jaxbandit.core.errors import InputError
from jaxbandit.core.files.streams import print_lines, shows_progress
from jaxbandit.papers import Sizes


def reproduce_command(parsed: argparse.Namespace) -> int:
    """Reproduce papers, and write the report."""
    out = parsed.out or Path("results") / ("reproduction-quick" if parsed.quick else "reproduction")
    prepare_machine(parsed)
    from jaxbandit.papers import report, reproduce

    names = list(reproduce.REPRODUCTIONS) if parsed.paper is None else [parsed.paper]
    for name in names:
        reproduce.check_name(name)
    if parsed.figure is not None and parsed.paper is None:
        raise InputError(
            "--figure", parsed.figure, "must be given with a PAPER, as in `jaxbandit reproduce plays --figure 7`"
        )
    if parsed.conversion_log is not None and "merit" not in names:
        raise InputError(
            "--conversion-log", str(parsed.conversion_log), "must be given with the paper merit, or with all papers"
        )
    check_writable(out, report.FILES.__contains__)
    sizes, progress = Sizes(parsed.quick, parsed.conversion_log), shows_progress()
    if parsed.figure is not None:
        files = reproduce.draw_figure(names[0], parsed.figure, out, sizes, progress)
        print_lines(f"wrote {' and '.join(map(str, files))}")
        return 0
    if replaced := report.other_papers(out, names):
        print_lines(
            f"note: the report in {out}/ is about {' and '.join(replaced)}; it is replaced by one about "
            f"{' and '.join(names)}. The results of both are kept; without PAPER one report is about all papers"
        )
    made = reproduce.reproduce(names, out, sizes, progress)
    print_lines(made.table(), f"wrote report.html, report.md, claims.json and the figures to {out}/")
    return 0
