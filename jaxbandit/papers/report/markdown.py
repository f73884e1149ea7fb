"""The report in Markdown."""

from __future__ import annotations

from pathlib import Path

from jaxbandit.papers.claim import Claim
from jaxbandit.papers.evidence import Evidence
from jaxbandit.papers.report.results import MeasuredFinding, Report, SavedFigure, by_figure, details


def markdown(report: Report, out: Path) -> str:
    """The report in Markdown, with links to the files of the figures."""
    lines = ["# Reproduction", "", *(line + "\n" for line in report.preface()), f"**{report.summary()}**", ""]
    lines += ["| claim | verdict | |", "|---|---|---|"]
    for results in report.papers:
        lines += [f"| {c.name} | {report.verdict(e)} | {c.statement} |" for c, e in results.decided]
    for results in report.papers:
        lines += ["", f"## {results.paper.name}", "", results.paper.citation]
        for figure, decided in by_figure(results):
            lines += _figure(figure, out) if figure else ["", "### Without a figure"]
            for claim, evidence in decided:
                lines += _claim(report, claim, evidence)
    if findings := [found for results in report.papers for found in results.findings]:
        lines += ["", "## Findings about the papers", ""]
        for found in findings:
            lines += _finding(found)
    return "\n".join(lines) + "\n"


def _figure(figure: SavedFigure, out: Path) -> list[str]:
    link = figure.file.relative_to(out).as_posix()
    return [
        *("", f"### {figure.name}", "", f"![{figure.caption}]({link})", ""),
        f"*{figure.caption}* {figure.parameters}.",
        *("", f"    {figure.command}"),
    ]


def _claim(report: Report, claim: Claim, evidence: Evidence) -> list[str]:
    return [
        *("", f"#### {claim.name}: {report.verdict(evidence)}", "", claim.statement, ""),
        *(f"> {claim.quotation} ({claim.place})", ""),
        *(f"- {term}: {text}" for term, text in details(claim, evidence)),
    ]


def _finding(found: MeasuredFinding) -> list[str]:
    one = found.finding
    return [
        *(f"### {one.name}", "", f"- printed: {one.printed} ({one.place})", f"- holds: {one.holds}"),
        *(f"- instance: {one.instance}", f"- measured: {found.numbers}", ""),
    ]
