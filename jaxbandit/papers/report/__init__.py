"""The report of a reproduction: one self-contained HTML page, the same in Markdown, and the verdicts as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from pathlib import Path

from jaxbandit.core.files.atomic_write import write_atomically
from jaxbandit.papers.report.markdown import markdown
from jaxbandit.papers.report.page import page
from jaxbandit.papers.report.results import Report

FILES = ("report.html", "report.md", "claims.json")


def write(report: Report, out: Path) -> None:
    """Write `report.html`, `report.md` and `claims.json`, each atomically.

    Raises:
        WriteError: one of them cannot be written.
    """
    texts = (page(report), markdown(report, out), json.dumps(claims(report), indent=1, ensure_ascii=False))
    for name, text in zip(FILES, texts, strict=True):
        write_atomically(out / name, text.encode())


def other_papers(out: Path, papers: Collection[str]) -> list[str]:
    """The papers that the report in a folder is about and a new one would not be; none where there is no report."""
    try:
        held = json.loads((out / FILES[-1]).read_text(encoding="utf-8"))
        names = list(dict.fromkeys(claim["paper"] for claim in held))
    except (OSError, ValueError, TypeError, KeyError):  # missing, damaged, or another program's
        return []
    return [name for name in names if name not in papers]


def claims(report: Report) -> list[dict[str, object]]:
    """The claims as plain data, one object per claim.

    Keys: `paper`; `id`; `sentence`, the paper's own words, and their `place`; `statement`, the same in ours; `figure`;
    `setting`, what the paper states of it; `assumed`; `invariant`, why the claim cannot fail, or null; `statistic`,
    `number`, `interval` and `tolerance` (two numbers each, null where there is no bound); `tolerance_reason`;
    `other_tolerances`, by the tolerance the verdict; `decided_by`, the setting of the number; `compared` (the number of
    settings), `inside` (the number of those in which the claim holds), `ties`; `verdict`; `quick`; `finding`; and
    `range`: where a claim that was not reproduced everywhere does hold.
    """
    return [
        {
            "paper": results.paper.name,
            "id": claim.name,
            "sentence": claim.quotation,
            "place": claim.place,
            "statement": claim.statement,
            "figure": claim.figure or None,
            "setting": claim.setting,
            "assumed": claim.assumed,
            "invariant": claim.invariant or None,
            "statistic": evidence.statistic,
            "number": _finite(evidence.number),
            "interval": [_finite(evidence.low), _finite(evidence.high)],
            "tolerance": [_finite(end) for end in evidence.tolerance],
            "tolerance_reason": claim.tolerance,
            "other_tolerances": dict(evidence.other_tolerances),
            "decided_by": evidence.setting,
            "compared": evidence.compared,
            "inside": len(evidence.inside),
            "ties": evidence.ties,
            "verdict": evidence.verdict,
            "quick": report.quick,
            "finding": evidence.finding,
            "range": evidence.holds_for,
        }
        for results in report.papers
        for claim, evidence in results.decided
    ]


def _finite(value: float) -> float | None:
    """The value, or None where it is infinite or no number: JSON has neither."""
    return value if math.isfinite(value) else None
