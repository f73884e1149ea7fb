"""What a report shows: figures that were drawn, claims that were decided, and findings that were measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import jax

from jaxbandit.core.provenance import version
from jaxbandit.papers.claim import Claim, Finding
from jaxbandit.papers.evidence import HOLDS_FROM, HOLDS_UNTIL, IN_PART, REPRODUCED, VERDICTS, Evidence
from jaxbandit.papers.experiment import Paper

_LISTED = 12  # settings that the report names


@dataclass(frozen=True)
class SavedFigure:
    """A figure that was drawn.

    Attributes:
        name: the name of its files.
        caption: what it shows.
        parameters: all parameters of the experiments that it draws, in words.
        command: the command that draws it alone.
        file: its PNG file.
        experiments: the names of the experiments that it draws.
    """

    name: str
    caption: str
    parameters: str
    command: str
    file: Path
    experiments: tuple[str, ...] = ()


@dataclass(frozen=True)
class MeasuredFinding:
    """A finding, the numbers on its instance in words, and whether they contradict what the paper prints."""

    finding: Finding
    numbers: str
    contradicts: bool


@dataclass(frozen=True)
class PaperResults:
    """The reproduction of one paper.

    Attributes:
        paper: the paper.
        figures: its figures, in order.
        decided: its claims with their evidence.
        seconds: the time that the simulations took, compilation included.
        device: the device that they ran on.
        findings: what the paper prints and does not hold as printed.
        pages: by the name of an experiment, the contents of its page, as `dashboard.contents` makes them.
        left_out: the names of the claims whose experiments were not simulated.
    """

    paper: Paper
    figures: list[SavedFigure]
    decided: list[tuple[Claim, Evidence]]
    seconds: float
    device: str
    findings: list[MeasuredFinding] = field(default_factory=list)
    pages: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Report:
    """The results of all papers, and whether the sizes were quick."""

    papers: list[PaperResults]
    quick: bool

    def verdict(self, evidence: Evidence) -> str:
        """A verdict in words, with the horizons where it holds for some; marked where the sizes were quick."""
        partly = evidence.verdict in (HOLDS_FROM, HOLDS_UNTIL)
        words = f"holds for {evidence.holds_for}" if partly else evidence.verdict
        return f"{words} (quick)" if self.quick else words

    def summary(self) -> str:
        """The number of claims with each verdict."""
        verdicts = [evidence.verdict for results in self.papers for _, evidence in results.decided]
        counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS if verdict in verdicts)
        return f"{counts} (quick)" if self.quick else counts

    def table(self) -> str:
        """The verdicts as text, one line per claim."""
        decided = [pair for results in self.papers for pair in results.decided]
        width = 2 + max((len(claim.name) for claim, _ in decided), default=0)
        verdicts = [self.verdict(evidence) for _, evidence in decided]
        widest = 2 + max(map(len, verdicts), default=0)
        lines = [
            f"{claim.name:{width}}{verdict:{widest}}{interval(evidence):33} {claim.statement}"
            for (claim, evidence), verdict in zip(decided, verdicts, strict=True)
        ]
        return "\n".join([*lines, *filter(None, [self.left_out()]), self.summary()])

    def left_out(self) -> str:
        """Which claims are left out, and why, as a sentence; "" where none is."""
        names = ", ".join(name for results in self.papers for name in results.left_out)
        needed = "experiments of full sizes, or --conversion-log" if self.quick else "--conversion-log"
        return names and f"Left out: {names}, for which {needed} would be needed."

    def preface(self) -> Iterator[str]:
        """Paragraphs on the sizes, the machine and the rules that decide."""
        sizes = (
            "Quick sizes (--quick): smaller problems, fewer rounds and fewer runs than in the papers. Verdicts are "
            "marked as quick, and a counterexample decides nothing. The parameters below a figure are those that were "
            "simulated; what a claim states and assumes are the full sizes."
            if self.quick
            else "Full sizes: where a paper states a number of rounds or runs, that number, unless a caption says "
            "otherwise. What a paper does not state is assumed; captions and claims mark it."
        )
        devices = ", ".join(sorted({results.device for results in self.papers}))
        seconds = sum(results.seconds for results in self.papers)
        yield (
            f"{sizes} Simulated with jaxbandit {version()} and JAX {jax.__version__} on {devices}. The simulations "
            f"took {seconds / 60:.1f} minutes in sum, compilation included; some ran at the same time."
        )
        yield (
            "Every verdict is computed from confidence intervals, one per setting. A claim holds in a setting where "
            "its 95 % interval lies in the range that the claim gives; a setting is a counterexample where its "
            "interval lies wholly outside, with intervals so wide that all of them hold together with 95 %. An exact "
            "tie says nothing. A claim is reproduced where it holds in all settings, reproduced in part where it holds "
            "in some and others are counterexamples, and not reproduced where there are counterexamples only. It holds "
            "from (until) T where it is reproduced at this and all longer (shorter) simulated horizons alone. "
            "Otherwise it cannot be told. The number shown is that of the setting furthest outside the range or, if "
            "all are inside, closest to its ends."
        )
        if left_out := self.left_out():
            yield left_out


def interval(evidence: Evidence) -> str:
    """The number that decides with its confidence interval."""
    number, low, high = (f"{value:.4g}" for value in (evidence.number, evidence.low, evidence.high))
    return f"{number} (exact)" if low == high else f"{number} [{low}, {high}]"


def details(claim: Claim, evidence: Evidence) -> Iterator[tuple[str, str]]:
    """What the report says of a claim: pairs of a term and a text."""
    if claim.invariant:
        yield "invariant", f"{claim.invariant} The claim tests the program, not the paper."
    if claim.setting:
        yield "stated", claim.setting
    if claim.assumed:
        yield "assumed", f"{claim.assumed} (not stated in the paper; numbers are those of full sizes)"
    yield "measured", evidence.statistic
    settings = f"; the setting that decides, of {evidence.compared}" if evidence.compared > 1 else ""
    yield "number", f"{interval(evidence)} ({evidence.setting}{settings})"
    if claim.tolerance:
        yield "tolerance", claim.tolerance
    if evidence.other_tolerances:
        yield "other tolerances", "; ".join(f"{end}: {verdict}" for end, verdict in evidence.other_tolerances)
    if evidence.verdict == IN_PART:
        yield "settings", f"holds in {len(evidence.inside)} of {evidence.compared}: {_listed(evidence.inside)}"
    if evidence.ties:
        yield "ties", f"{evidence.ties} of {evidence.compared} settings are exact ties, which say nothing"
    if evidence.finding:
        yield "finding", evidence.finding
    if evidence.holds_for and evidence.verdict != REPRODUCED:
        yield "holds for", evidence.holds_for


def _listed(settings: tuple[str, ...]) -> str:
    """The first settings by name, and how many more there are."""
    more = f" and {len(settings) - _LISTED} more" if len(settings) > _LISTED else ""
    return "; ".join(settings[:_LISTED]) + more


def by_figure(results: PaperResults) -> Iterator[tuple[SavedFigure | None, list[tuple[Claim, Evidence]]]]:
    """The figures with their claims; last, with None, the claims without a figure."""
    for figure in results.figures:
        yield figure, [pair for pair in results.decided if pair[0].figure == figure.name]
    drawn = {figure.name for figure in results.figures}
    if others := [pair for pair in results.decided if pair[0].figure not in drawn]:
        yield None, others
