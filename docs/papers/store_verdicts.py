"""Store the verdicts and one figure of reproductions in `docs/papers/verdicts/`, which the papers' pages include.

jaxbandit reproduce guarantees --out OUT
python docs/papers/store_verdicts.py OUT [OUT ...]
"""

import argparse
import json
import re
from pathlib import Path

from PIL import Image

RESULTS = Path(__file__).parent / "verdicts"
FIGURES = {
    "penalties": "penalties-figure-2",
    "guarantees": "guarantees-section-6",
    "merit": "merit-figure-1",
    "plays": "plays-figure-3",
    "opportunities": "opportunities-figure-1",
}
WIDTH = 1200  # pixels of a stored figure, at most


def table(claims):
    """A Markdown table of claims, one per row."""
    lines = ["| claim | verdict | number (95 % interval) | what is measured |", "|---|---|---|---|"]
    for claim in claims:
        statement = f"{claim['statement'].rstrip('.')} ({claim['place']})"
        cells = [statement, verdict(claim), number(claim), claim["statistic"]]
        lines.append("| " + " | ".join(re.sub(r"([|_*\\])", r"\\\1", cell) for cell in cells) + " |")
    return lines


def verdict(claim):
    """The verdict, with the settings for which it holds."""
    if not claim["range"]:
        return claim["verdict"]
    holds = f"holds for {claim['range']}"
    return holds if claim["verdict"].startswith("holds") else f"{claim['verdict']}; {holds}"


def number(claim):
    """The number that decides, with its interval."""
    if claim["number"] is None:
        return ""
    low, high = claim["interval"] or (claim["number"],) * 2
    return f"{claim['number']:.4g}" + ("" if low == high else f" ({low:.4g} to {high:.4g})")


def store(out):
    """Write the page part and the figure of the paper whose reproduction lies in a folder."""
    claims = json.loads((out / "claims.json").read_text())
    (paper,) = {claim["paper"] for claim in claims}
    report = (out / "report.md").read_text()
    when = re.search(r"Simulated with [^\n]*?some ran at the same time\.", report)[0]
    name = FIGURES[paper]
    caption = re.search(rf"!\[(.*?)\]\([\w/-]*{name}\.png\)", report)[1]
    with Image.open(out / paper / f"{name}.png") as figure:
        small = figure.convert("RGB")
        small.thumbnail((WIDTH, WIDTH))
        small.quantize(128).save(RESULTS / f"{name}.png", optimize=True)
    quick = " at quick sizes" if any(claim["quick"] for claim in claims) else ""
    if quick:
        when += " Without `--quick` the sizes are those of the paper. Counterexamples at quick sizes decide nothing."
    lines = [
        f"![{caption}](verdicts/{name}.png)",
        "",
        f"*{caption}*",
        "",
        f"The verdicts of `jaxbandit reproduce {paper}`{quick}. {when}",
        "",
        *table(claims),
        "",
    ]
    (RESULTS / f"{paper}.md").write_text("\n".join(lines))
    print(f"{paper}: {len(claims)} claims, {(RESULTS / f'{name}.png').stat().st_size // 1024} KiB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, help="output folders of reproductions of one paper each")
    RESULTS.mkdir(exist_ok=True)
    for folder in parser.parse_args().folders:
        store(folder)
