"""`jaxbandit reproduce`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from jaxbandit.cli.preparation import check_writable, prepare_machine
from jaxbandit.core.files.streams import print_lines
from jaxbandit.papers import Sizes


def reproduce_command(parsed: argparse.Namespace) -> int:
    """Reproduce papers, and write the report."""
    out = parsed.out or Path("results") / ("reproduction-quick" if parsed.quick else "reproduction")
    prepare_machine(parsed)
    from jaxbandit.papers import report, reproduce

    names = list(reproduce.REPRODUCTIONS) if parsed.paper is None else [parsed.paper]
    for name in names:
        reproduce.check_name(name)
    check_writable(out, report.FILES.__contains__)
    made = reproduce.reproduce(names, out, Sizes(parsed.quick, parsed.conversion_log), sys.stderr.isatty())
    print_lines(report.table(made), f"wrote report.html, report.md, claims.json and the figures to {out}/")
    return 0
