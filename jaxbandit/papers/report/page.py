"""The report as one self-contained HTML page."""

from __future__ import annotations

import base64
from html import escape

from jaxbandit.papers.claim import Claim
from jaxbandit.papers.evidence import Evidence
from jaxbandit.papers.report.explore import STYLE as EXPLORE_STYLE
from jaxbandit.papers.report.explore import buttons, script
from jaxbandit.papers.report.results import MeasuredFinding, Report, SavedFigure, by_figure, details

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; width: 100% } td, th { padding: .3rem .6rem; border-bottom: 1px solid #ddd;
overflow-wrap: anywhere;
text-align: left; vertical-align: top } img { max-width: 100% } figure { margin: 1.5rem 0 .5rem }
figcaption { color: #555; font-size: .9rem } code { font-size: .9rem; background: #f4f4f4; padding: .1rem .3rem }
td:first-child, .verdict { white-space: nowrap } .verdict { font-weight: 600 } .reproduced { color: #00664a }
.not { color: #a13d00 } .holds { color: #00664a } .cannot { color: #555 }
blockquote { margin: .5rem 0; padding-left: 1rem; border-left: 3px solid #ccc; color: #333 }
dl { display: grid; grid-template-columns: 9rem 1fr; margin: .5rem 0 } dt { color: #555 } dd { margin: 0 }
@media (max-width: 40rem) { .verdict { white-space: normal } td, th { padding: .3rem } }
article { margin: 1.5rem 0 2rem; padding-left: 1rem; border-left: 3px solid #eee } h3 { margin: 2.5rem 0 .5rem }
h4 { margin: 0 0 .3rem } section { margin-top: 3rem }
"""


def page(report: Report) -> str:
    """The report as one HTML page without external files."""
    findings = [found for results in report.papers for found in results.findings]
    parts = [f"<p>{escape(line)}</p>" for line in report.preface()]
    parts += [f"<p><strong>{escape(report.summary())}</strong></p>"]
    if findings:
        parts.append(f'<p><a href="#findings">{len(findings)} findings about the papers</a></p>')
    parts.append("<table>")
    parts += [
        f'<tr><td><a href="#{claim.name}">{claim.name}</a></td>{_verdict(report, evidence)}'
        f"<td>{escape(claim.statement)}</td></tr>"
        for results in report.papers
        for claim, evidence in results.decided
    ]
    parts.append("</table>")
    for results in report.papers:
        name, citation = results.paper.name, escape(results.paper.citation)
        parts += [f'<section id="{name}"><h2>{name}</h2>', f"<p>{citation}</p>"]
        for figure, decided in by_figure(results):
            parts.append(_figure(figure) if figure else "<h3>Without a figure</h3>")
            parts += [buttons(name, figure)] if figure else []
            parts += [_claim(report, claim, evidence) for claim, evidence in decided]
        parts.append("</section>")
    if findings:
        parts += ['<section id="findings"><h2>Findings about the papers</h2>', *map(_finding, findings), "</section>"]
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>jaxbandit: reproduction</title>'
        f"<style>{_STYLE}{EXPLORE_STYLE}</style></head><body><h1>Reproduction</h1>\n{body}\n{script(report)}</body></html>\n"
    )


def _verdict(report: Report, evidence: Evidence, tag: str = "td") -> str:
    return f'<{tag} class="verdict {evidence.verdict.split()[0]}">{report.verdict(evidence)}</{tag}>'


def _rows(pairs: list[tuple[str, str]]) -> str:
    return "<dl>" + "".join(f"<dt>{term}</dt><dd>{escape(text)}</dd>" for term, text in pairs) + "</dl>"


def _claim(report: Report, claim: Claim, evidence: Evidence) -> str:
    return (
        f'<article id="{claim.name}"><h4>{claim.name}: {_verdict(report, evidence, "span")}</h4>'
        f"<p>{escape(claim.statement)}</p><blockquote>{escape(claim.quotation)} ({escape(claim.place)})</blockquote>"
        f"{_rows(list(details(claim, evidence)))}</article>"
    )


def _figure(figure: SavedFigure) -> str:
    image = base64.b64encode(figure.file.read_bytes()).decode()
    caption = escape(figure.caption)
    return (
        f'<h3 id="{figure.name}">{figure.name}</h3>'
        f'<figure><img alt="{caption}" src="data:image/png;base64,{image}"><figcaption>{caption} '
        f"{escape(figure.parameters)}.</figcaption></figure><p><code>{escape(figure.command)}</code></p>"
    )


def _finding(found: MeasuredFinding) -> str:
    one = found.finding
    rows = [("printed", f"{one.printed} ({one.place})"), ("holds", one.holds)]
    rows += [("instance", one.instance), ("measured", found.numbers)]
    return f'<article id="{one.name}"><h4>{one.name}</h4>{_rows(rows)}</article>'
