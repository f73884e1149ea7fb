"""On made-up results every figure is drawn and every claim is decided, without a warning."""

import warnings

import matplotlib.pyplot as plt
import pytest
from made_up_results import MadeUpData

from jaxbandit.papers import Sizes, drawing
from jaxbandit.papers.evidence import REPRODUCED, VERDICTS
from jaxbandit.papers.reproduce import REPRODUCTIONS

FIGURES = {"penalties": 4, "guarantees": 1, "plays": 9, "opportunities": 6}  # test_merit.py draws the other paper's


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "plays")) for name in FIGURES])
def test_every_figure_is_drawn_and_every_claim_decided(name):
    reproduction = REPRODUCTIONS[name]
    experiments = list(reproduction.experiments(Sizes(quick=True)))
    data = MadeUpData(experiments)
    drawn = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for one in reproduction.figures:
            shown = MadeUpData([made for made in experiments if made.name in one.experiments])
            figure = one.draw(shown)  # from the experiments that it names alone
            drawn.append(one.name)
            assert figure.get_figwidth() <= 7.1
            assert all(axis.get_xlabel() for axis in figure.axes)
            assert f"{name} paper" in one.caption
            plt.close(figure)
    assert len(set(drawn)) == len(drawn) == len({one.label for one in reproduction.figures}) == FIGURES[name]
    for claim in reproduction.claims:
        if all(needed in data for needed in claim.needs):
            assert claim.figure in ("", *drawn)
            evidence = claim.weigh(data)
            assert evidence.verdict in VERDICTS
            assert evidence.statistic
            assert evidence.verdict == REPRODUCED or evidence.finding or name == "guarantees"


def test_a_bound_far_above_the_axes_is_written_instead_of_drawn():
    figure, (near, far) = plt.subplots(1, 2)
    for axis in (near, far):
        axis.plot([0, 10], [0, 10])
    drawing.theory(near, [0, 10], [0, 12], "near")
    drawing.theory(far, [0, 10], [0, 1e5], "far")
    assert [line.get_label() for line in near.lines][1:] == ["near"]
    assert near.get_ylim()[1] >= 12
    assert len(far.lines) == 1
    assert [text.get_text() for text in far.texts] == ["far: 1e+05"]
    plt.close(figure)
