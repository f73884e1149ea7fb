"""The pages of results within the report: a button per experiment opens its page in a frame."""

from __future__ import annotations

import base64
from html import escape

from jaxbandit.experiments.dashboard.page import page
from jaxbandit.papers.report.results import Report, SavedFigure

STYLE = """
.explore { margin: .5rem 0 }
.explore button { font: inherit; margin: 0 .4rem .4rem 0; padding: .1rem .6rem; cursor: pointer }
.explore iframe { width: 100%; height: 46rem; border: 1px solid #999; border-radius: 6px }
"""
_DATA = "@@data@@"  # stands for the contents in the page that all experiments share

# A page is made when its button is pressed: dozens of pages at once would be slow.
_SCRIPT = """
const text = id => document.getElementById(id).textContent;
const page = new TextDecoder().decode(Uint8Array.from(atob(text("page-of-results")), c => c.charCodeAt(0)));
for (const button of document.querySelectorAll(".explore button")) {
  button.addEventListener("click", () => {
    const place = button.parentElement.querySelector("div"), open = button.getAttribute("aria-expanded") === "true";
    for (const other of button.parentElement.querySelectorAll("button")) other.setAttribute("aria-expanded", "false");
    place.replaceChildren();
    if (open) return;
    button.setAttribute("aria-expanded", "true");
    const frame = document.createElement("iframe");
    frame.sandbox = "allow-scripts allow-downloads";
    frame.title = `Results of ${button.textContent}`;
    frame.srcdoc = page.replace("DATA", () => text(button.dataset.results));
    place.append(frame);
  });
}
""".replace("DATA", _DATA)


def buttons(paper: str, figure: SavedFigure) -> str:
    """The buttons that open the results behind a figure, and the place for their frame."""
    made = [
        f'<button type="button" aria-expanded="false" data-results="{_place(paper, name)}">{escape(name)}</button>'
        for name in figure.experiments
    ]
    return f'<div class="explore">Explore the results: {"".join(made)}<div></div></div>' if made else ""


def script(report: Report) -> str:
    """The contents of all pages, the page that they share, and the script of the buttons."""
    contents = [
        f'<script type="text/plain" id="{_place(results.paper.name, name)}">{data}</script>\n'
        for results in report.papers
        for name, data in results.pages.items()
    ]
    if not contents:
        return ""
    shared = base64.b64encode(page(_DATA, "Results").encode()).decode()
    contents.append(f'<script type="text/plain" id="page-of-results">{shared}</script>\n')
    return f"{''.join(contents)}<script>{_SCRIPT}</script>"


def _place(paper: str, experiment: str) -> str:
    """The id of the contents of an experiment's page."""
    return escape(f"results-{paper}-{experiment}")
