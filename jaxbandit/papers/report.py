"""The report of a reproduction: one self-contained HTML page, the same in Markdown, and the verdicts as JSON."""

from __future__ import annotations

import base64
import html
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import jax

from jaxbandit.core.files.atomic_write import write_atomically
from jaxbandit.core.provenance import version
from jaxbandit.papers.evidence import IN_PART, VERDICTS, Claim, Evidence
from jaxbandit.papers.experiment import Paper

_LISTED = 12  # settings that the report names
FILES = ("report.html", "report.md", "claims.json")


@dataclass(frozen=True)
class SavedFigure:
    """A figure that was drawn: its name, its caption and its PNG file."""

    name: str
    caption: str
    file: Path


@dataclass(frozen=True)
class PaperResults:
    """The reproduction of one paper.

    Attributes:
        paper: the paper.
        figures: its figures, in order.
        decided: its claims with their evidence.
        seconds: the time that the simulations took, compilation included.
        device: the device that they ran on.
    """

    paper: Paper
    figures: list[SavedFigure]
    decided: list[tuple[Claim, Evidence]]
    seconds: float
    device: str


@dataclass(frozen=True)
class Report:
    """The results of all papers, and whether the sizes were quick."""

    papers: list[PaperResults]
    quick: bool


def write(report: Report, out: Path) -> None:
    """Write `report.html`, `report.md` and `claims.json`, each atomically.

    Raises:
        WriteError: one of them cannot be written.
    """
    texts = (page(report), markdown(report, out), json.dumps(claims(report), indent=1))
    for name, text in zip(FILES, texts, strict=True):
        write_atomically(out / name, text.encode())


def claims(report: Report) -> list[dict[str, object]]:
    """The claims as plain data, one object per claim.

    Keys: `paper`; `id`, `sentence`, `place` and `figure` of the claim; `setting`, `assumed`, `statistic`, `number`,
    `interval` and `tolerance` (two numbers each, null where there is no bound), `compared` (the number of settings),
    `inside` (the number of those in which the claim holds), `ties`, `verdict`, `finding`, and `range`: where a claim
    that was not reproduced everywhere does hold.
    """
    return [
        {
            "paper": results.paper.name,
            "id": claim.name,
            "sentence": claim.statement,
            "place": claim.place,
            "figure": claim.figure,
            "setting": evidence.setting,
            "assumed": claim.assumed,
            "statistic": evidence.statistic,
            "number": _finite(evidence.number),
            "interval": [_finite(evidence.low), _finite(evidence.high)],
            "tolerance": [_finite(end) for end in evidence.tolerance],
            "compared": evidence.compared,
            "inside": len(evidence.inside),
            "ties": evidence.ties,
            "verdict": evidence.verdict,
            "finding": evidence.finding,
            "range": evidence.holds_for,
        }
        for results in report.papers
        for claim, evidence in results.decided
    ]


def _finite(value: float) -> float | None:
    """The value, or None where it is infinite or no number: JSON has neither."""
    return value if math.isfinite(value) else None


def table(report: Report) -> str:
    """The verdicts as text, one line per claim."""
    decided = [pair for results in report.papers for pair in results.decided]
    width = 2 + max((len(claim.name) for claim, _ in decided), default=0)
    lines = [
        f"{claim.name:{width}}{evidence.verdict:20}{interval(evidence):32}{claim.statement}"
        for claim, evidence in decided
    ]
    return "\n".join([*lines, summary(report)])


def summary(report: Report) -> str:
    """The number of claims with each verdict."""
    verdicts = [evidence.verdict for results in report.papers for _, evidence in results.decided]
    return ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS if verdict in verdicts)


def interval(evidence: Evidence) -> str:
    """The number that decides with its confidence interval."""
    number, low, high = (f"{value:.4g}" for value in (evidence.number, evidence.low, evidence.high))
    return f"{number} (exact)" if low == high else f"{number} [{low}, {high}]"


def _preface(report: Report) -> Iterator[str]:
    sizes = (
        "Quick sizes (--quick): smaller problems and fewer runs than in the papers. Verdicts come from small samples."
        if report.quick
        else "Full sizes: those of the papers, where the papers state them."
    )
    devices = ", ".join(sorted({results.device for results in report.papers}))
    seconds = sum(results.seconds for results in report.papers)
    yield (
        f"{sizes} Simulated with jaxbandit {version()} and JAX {jax.__version__} on {devices}, in {seconds / 60:.1f} "
        "minutes, compilation included."
    )
    yield (
        "Every verdict is computed from confidence intervals, one per setting. A claim holds in a setting where its 95 "
        "% interval lies in the range that the claim gives; a setting is a counterexample where its interval lies "
        "wholly outside, with intervals so wide that all of them hold together with 95 %. Exact ties say nothing. A "
        "claim is reproduced where it holds in all settings, reproduced in part where it holds in some and others are "
        "counterexamples, and not reproduced where there are counterexamples only. It holds from (until) T where it "
        "is reproduced at this and all longer (shorter) horizons alone. Otherwise it cannot be told. The number shown "
        "is that of the setting furthest out of the range, or closest to its ends."
    )


def _details(claim: Claim, evidence: Evidence) -> Iterator[tuple[str, str]]:
    """What the report says of a claim: pairs of a term and a text."""
    yield "measured", evidence.statistic
    settings = f"; the setting that decides, of {evidence.compared}" if evidence.compared > 1 else ""
    yield "number", f"{interval(evidence)} ({evidence.setting}{settings})"
    if evidence.verdict == IN_PART:
        yield "settings", f"holds in {len(evidence.inside)} of {evidence.compared}: {_listed(evidence.inside)}"
    if evidence.ties:
        yield "ties", f"{evidence.ties} of {evidence.compared} settings are exact ties, which say nothing"
    if claim.assumed:
        yield "assumed", f"{claim.assumed} (not stated in the paper)"
    if evidence.finding:
        yield "finding", evidence.finding
    if evidence.holds_for:
        yield "holds for", evidence.holds_for


def _listed(settings: Sequence[str]) -> str:
    """The first settings by name, and how many more there are."""
    more = f" and {len(settings) - _LISTED} more" if len(settings) > _LISTED else ""
    return "; ".join(settings[:_LISTED]) + more


def markdown(report: Report, out: Path) -> str:
    """The report in Markdown, with links to the files of the figures."""
    lines = ["# Reproduction", "", *(line + "\n" for line in _preface(report)), f"**{summary(report)}**", ""]
    lines += ["| claim | verdict | |", "|---|---|---|"]
    for results in report.papers:
        lines += [f"| {c.name} | {e.verdict} | {c.statement} |" for c, e in results.decided]
    for results in report.papers:
        lines += ["", f"## {results.paper.name}", "", results.paper.citation]
        for claim, evidence in results.decided:
            lines += ["", f"### {claim.name}: {evidence.verdict}", ""]
            lines += [f"{claim.statement} ({claim.place}; {claim.figure})", ""]
            lines += [f"- {term}: {text}" for term, text in _details(claim, evidence)]
        for figure in results.figures:
            link = figure.file.relative_to(out).as_posix()
            lines += ["", f"![{figure.caption}]({link})", "", f"*{figure.caption}*"]
    return "\n".join(lines) + "\n"


_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; width: 100% } td, th { padding: .3rem .6rem; border-bottom: 1px solid #ddd;
text-align: left; vertical-align: top } img { max-width: 100% } figure { margin: 2rem 0 } figcaption { color: #555 }
td:first-child, .verdict { white-space: nowrap } .verdict { font-weight: 600 } .reproduced { color: #00664a }
.not { color: #a13d00 } dt { font-weight: 600 } dd { margin: 0 0 .4rem 1rem }
.holds { color: #00664a } .cannot { color: #555 }
section { margin-top: 3rem }
"""


def page(report: Report) -> str:
    """The report as one HTML page without external files."""
    parts = [f"<p>{html.escape(line)}</p>" for line in _preface(report)]
    parts += [f"<p><strong>{html.escape(summary(report))}</strong></p>", "<table>"]
    parts += [
        f'<tr><td><a href="#{claim.name}">{claim.name}</a></td>{_verdict(evidence)}'
        f"<td>{html.escape(claim.statement)}</td></tr>"
        for results in report.papers
        for claim, evidence in results.decided
    ]
    parts.append("</table>")
    for results in report.papers:
        parts += [f"<section><h2>{results.paper.name}</h2>", f"<p>{html.escape(results.paper.citation)}</p>"]
        parts += [_claim(claim, evidence) for claim, evidence in results.decided]
        parts += [_figure(figure) for figure in results.figures] + ["</section>"]
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>jaxbandit: reproduction</title>'
        f"<style>{_STYLE}</style></head><body><h1>Reproduction</h1>\n{body}\n</body></html>\n"
    )


def _verdict(evidence: Evidence, tag: str = "td") -> str:
    return f'<{tag} class="verdict {evidence.verdict.split()[0]}">{evidence.verdict}</{tag}>'


def _claim(claim: Claim, evidence: Evidence) -> str:
    rows = "".join(f"<dt>{term}</dt><dd>{html.escape(text)}</dd>" for term, text in _details(claim, evidence))
    link = f'<a href="#{claim.figure}">figure</a>'
    return (
        f'<h3 id="{claim.name}">{claim.name}: {_verdict(evidence, "span")}</h3>'
        f"<p>{html.escape(claim.statement)} ({html.escape(claim.place)}; {link})</p><dl>{rows}</dl>"
    )


def _figure(figure: SavedFigure) -> str:
    image = base64.b64encode(figure.file.read_bytes()).decode()
    caption = html.escape(figure.caption)
    return (
        f'<figure id="{figure.name}"><img alt="{caption}" src="data:image/png;base64,{image}">'
        f"<figcaption>{caption}</figcaption></figure>"
    )
