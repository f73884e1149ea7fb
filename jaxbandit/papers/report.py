"""The report of a reproduction: one self-contained page, the same in Markdown, and the verdicts as JSON."""

from __future__ import annotations

import base64
import html
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import jax

from jaxbandit.core.provenance import version
from jaxbandit.papers.evidence import FAILED, REPRODUCED, UNDECIDED, Claim, Evidence

FILES = ("report.html", "report.md", "claims.json")


@dataclass(frozen=True)
class Picture:
    """A drawn figure: its name, its caption and its PNG file."""

    name: str
    caption: str
    file: Path


@dataclass(frozen=True)
class Chapter:
    """What was reproduced of one paper.

    Attributes:
        number, title: the paper's.
        pictures: its figures, in order.
        weighed: its claims with their evidence.
        seconds: that simulating took, compilation included.
        device: that it was simulated on.
    """

    number: str
    title: str
    pictures: list[Picture]
    weighed: list[tuple[Claim, Evidence]]
    seconds: float
    device: str


@dataclass(frozen=True)
class Report:
    """All chapters, and whether the sizes were the papers' or small."""

    chapters: list[Chapter]
    quick: bool


def write(report: Report, out: Path) -> None:
    """Write `report.html`, `report.md` and `claims.json`, each whole or not at all."""
    texts = (page(report), markdown(report, out), json.dumps(claims(report), indent=1))
    for name, text in zip(FILES, texts, strict=True):
        partial = out / f".{name}.{os.getpid()}"
        partial.write_text(text, encoding="utf-8")
        partial.replace(out / name)


def claims(report: Report) -> list[dict[str, object]]:
    """The claims as plain data: name, statement, source, figure, and all fields of the evidence."""
    about = ("name", "statement", "source", "figure")
    return [
        {"paper": chapter.number, **{key: getattr(claim, key) for key in about}, **_finite(asdict(evidence))}
        for chapter in report.chapters
        for claim, evidence in chapter.weighed
    ]


def _finite(fields: dict[str, object]) -> dict[str, object]:
    """JSON has no infinity: what is not finite is left empty."""
    return {k: None if isinstance(v, float) and not abs(v) < float("inf") else v for k, v in fields.items()}


def table(report: Report) -> str:
    """The verdicts as text, a line a claim."""
    lines = []
    for chapter in report.chapters:
        for claim, evidence in chapter.weighed:
            lines.append(f"{claim.name:8}{evidence.verdict:16}{interval(evidence):32}{claim.statement}")
    return "\n".join([*lines, summary(report)])


def summary(report: Report) -> str:
    """How many claims there are of each verdict."""
    verdicts = [evidence.verdict for chapter in report.chapters for _, evidence in chapter.weighed]
    return ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in (REPRODUCED, FAILED, UNDECIDED))


def interval(evidence: Evidence) -> str:
    """The number that decides with its confidence interval."""
    number, low, high = (f"{value:.4g}" for value in (evidence.number, evidence.low, evidence.high))
    return f"{number} (exact)" if low == high else f"{number} [{low}, {high}]"


def _preface(report: Report) -> Iterator[str]:
    sizes = "small sizes (--quick): verdicts are those of small samples" if report.quick else "the papers' sizes"
    devices = ", ".join(sorted({chapter.device for chapter in report.chapters}))
    seconds = sum(chapter.seconds for chapter in report.chapters)
    yield (
        f"Simulated at {sizes}, by jaxbandit {version()} with JAX {jax.__version__} on {devices}, "
        f"in {seconds / 60:.1f} minutes, compilation included."
    )
    yield (
        "Every verdict is computed: a claim is reproduced where the confidence intervals of all its settings, which "
        "hold together with 95 %, lie where the claim says; not reproduced where one lies wholly outside; undecided "
        "otherwise. The number shown is that of the setting furthest out."
    )


def markdown(report: Report, out: Path) -> str:
    """The report in Markdown; figures are the files beside it."""
    lines = ["# Reproduction", "", *(line + "\n" for line in _preface(report)), f"**{summary(report)}**", ""]
    lines += ["| claim | verdict | |", "|---|---|---|"]
    for chapter in report.chapters:
        lines += [f"| {c.name} | {e.verdict} | {c.statement} |" for c, e in chapter.weighed]
    for chapter in report.chapters:
        lines += ["", f"## {chapter.number}: {chapter.title}"]
        for claim, evidence in chapter.weighed:
            lines += ["", f"### {claim.name}: {evidence.verdict}", ""]
            lines += [f"{claim.statement} ({claim.source}; figure {claim.figure})", ""]
            lines += [f"- {name}: {text}" for name, text in _details(evidence)]
        for picture in chapter.pictures:
            lines += [
                "",
                f"![{picture.caption}]({picture.file.relative_to(out).as_posix()})",
                "",
                f"*{picture.caption}*",
            ]
    return "\n".join(lines) + "\n"


def _details(evidence: Evidence) -> Iterator[tuple[str, str]]:
    yield "measured", evidence.quantity
    settings = f"; the furthest out of {evidence.settings} settings" if evidence.settings > 1 else ""
    yield "number", f"{interval(evidence)} ({evidence.where}{settings})"
    if evidence.finding:
        yield "finding", evidence.finding
    if evidence.nearest:
        yield "nearest setting in which it holds", evidence.nearest


_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; width: 100% } td, th { padding: .3rem .6rem; border-bottom: 1px solid #ddd;
text-align: left; vertical-align: top } img { max-width: 100% } figure { margin: 2rem 0 } figcaption { color: #555 }
.verdict { white-space: nowrap; font-weight: 600 } .reproduced { color: #00664a } .not { color: #a13d00 }
.undecided { color: #555 } dt { font-weight: 600 } dd { margin: 0 0 .4rem 1rem } section { margin-top: 3rem }
"""


def page(report: Report) -> str:
    """The report as one HTML page with everything in it."""
    parts = [f"<p>{html.escape(line)}</p>" for line in _preface(report)]
    parts += [f"<p><strong>{html.escape(summary(report))}</strong></p>", "<table>"]
    parts += [
        f'<tr><td><a href="#{claim.name}">{claim.name}</a></td>{_verdict(evidence)}'
        f"<td>{html.escape(claim.statement)}</td></tr>"
        for chapter in report.chapters
        for claim, evidence in chapter.weighed
    ]
    parts.append("</table>")
    for chapter in report.chapters:
        parts += [f"<section><h2>{chapter.number}: {html.escape(chapter.title)}</h2>"]
        parts += [_claim(claim, evidence) for claim, evidence in chapter.weighed]
        parts += [_figure(chapter, picture) for picture in chapter.pictures] + ["</section>"]
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>jaxbandit: reproduction</title>'
        f"<style>{_STYLE}</style></head><body><h1>Reproduction</h1>\n{body}\n</body></html>\n"
    )


def _verdict(evidence: Evidence, tag: str = "td") -> str:
    return f'<{tag} class="verdict {evidence.verdict.split()[0]}">{evidence.verdict}</{tag}>'


def _claim(claim: Claim, evidence: Evidence) -> str:
    rows = "".join(f"<dt>{name}</dt><dd>{html.escape(text)}</dd>" for name, text in _details(evidence))
    link = f'<a href="#{claim.figure}">figure</a>'
    return (
        f'<h3 id="{claim.name}">{claim.name}: {_verdict(evidence, "span")}</h3>'
        f"<p>{html.escape(claim.statement)} ({html.escape(claim.source)}; {link})</p><dl>{rows}</dl>"
    )


def _figure(chapter: Chapter, picture: Picture) -> str:
    image = base64.b64encode(picture.file.read_bytes()).decode()
    caption = html.escape(picture.caption)
    return (
        f'<figure id="{picture.name}"><img alt="{caption}" src="data:image/png;base64,{image}">'
        f"<figcaption>{caption}</figcaption></figure>"
    )
