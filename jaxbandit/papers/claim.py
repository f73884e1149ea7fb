"""What the reports are made of: claims of the papers, findings about the papers, and figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxbandit.papers.evidence import Evidence
from jaxbandit.papers.experiment import Data

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ANY_DIFFERENCE = "The sentence names no size, so a difference of any size counts; an exact tie says nothing."


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper about its experiments, and how to decide it.

    Attributes:
        name: the paper's name and a number, such as "merit-1".
        statement: the sentence in short, in our words.
        quotation: the paper's own words, one sentence or a part of it.
        place: where the paper has them, such as "sec. 6, Fig. 1(b)".
        figure: the name of the `PaperFigure` that shows what is claimed; empty if none does.
        weigh: computes the evidence from the results of the paper's experiments.
        setting: what the paper states of the setting of the sentence.
        assumed: what the paper leaves open, and what is assumed for it here; empty if it leaves nothing open.
        tolerance: why the range that decides is what it is.
        needs: experiments without which the claim cannot be decided.
        invariant: why the claim cannot fail in a right program, such as a theorem; empty if it can. The report marks
            such a claim: it tests the program and says nothing about the paper's experiments.
    """

    name: str
    statement: str
    quotation: str
    place: str
    figure: str
    weigh: Callable[[Data], Evidence]
    setting: str = ""
    assumed: str = ""
    tolerance: str = ANY_DIFFERENCE
    needs: tuple[str, ...] = ()
    invariant: str = ""


@dataclass(frozen=True)
class Finding:
    """Something that a paper prints and that does not hold as printed.

    Attributes:
        name: the paper's name and a key, such as "plays-theorem-3.4".
        place: where the paper prints it.
        printed: what the paper prints.
        holds: what holds in its place, and how this package reads it.
        instance: the smallest instance known to us that shows it.
        measure: computes the numbers on this instance: these numbers in words, and whether they contradict what is
            printed.
    """

    name: str
    place: str
    printed: str
    holds: str
    instance: str
    measure: Callable[[], tuple[str, bool]]


@dataclass(frozen=True)
class PaperFigure:
    """A figure of a report.

    Attributes:
        name: the name of its files, such as "plays-figure-7".
        label: what `jaxbandit reproduce PAPER --figure` calls it: the paper's number, or a word.
        caption: what it shows, and the figure of the paper that it corresponds to. The report adds all parameters.
        experiments: the names of the experiments that it draws. Those that a size leaves out are not drawn.
        draw: draws it from the results.
        assumed: dotted config keys whose values the paper does not state, such as "simulation.horizon" or
            "policies.lfg.eta". The report marks them.
        needs: experiments without which it is left out.
    """

    name: str
    label: str
    caption: str
    experiments: tuple[str, ...]
    draw: Callable[[Data], Figure]
    assumed: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
