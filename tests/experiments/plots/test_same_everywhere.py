"""Figures look the same whatever matplotlib's settings are, show every label, and show equal panels once."""

import io
import re
import zlib

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from fontTools import subset, ttLib
from made_up import grid, made_up

import jaxbandit as jb
from jaxbandit.experiments import summary

SETTINGS = {
    "font.size": 21.0,
    "font.family": "monospace",
    "figure.dpi": 37.0,
    "figure.facecolor": "red",
    "savefig.facecolor": "blue",
    "axes.grid": True,
    "axes.prop_cycle": matplotlib.cycler(color=["lime"]),
    "lines.linewidth": 9.0,
    "xtick.labelsize": 30,
    "mathtext.fontset": "cm",
    "image.cmap": "jet",
    "savefig.bbox": "tight",
}
LONG = "a policy with a label of about a hundred characters, as users write them when they compare many of them"


@pytest.fixture(scope="module")
def simulated():
    problem = jb.Problem([0.3, 0.9, 0.5], fractions=[0.15, 0.1, 0.2], penalties=0.3)
    lfg = {"kind": "lfg", "eta": [1.0, 10.0, 100.0], "exploration": [0.5, 2.0]}
    return jb.simulate(problem, [lfg, "ucb1", "fucb"], horizon=150, seeds=5, runs=["regret"])


def pixels(figure):
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=50)
    content.seek(0)
    return plt.imread(content)


@pytest.mark.slow
def test_figures_do_not_follow_the_users_settings(simulated):
    plain = {name: pixels(figure) for name, figure in jb.plots.figures(simulated)}
    plt.close("all")
    with matplotlib.rc_context(SETTINGS):
        before = dict(matplotlib.rcParams)
        for name, figure in jb.plots.figures(simulated):
            np.testing.assert_array_equal(pixels(figure), plain[name], err_msg=name)
        assert dict(matplotlib.rcParams) == before
    figure = jb.plots.curves(simulated)
    with matplotlib.rc_context(SETTINGS):  # also where a figure is drawn before and saved after a change
        np.testing.assert_array_equal(pixels(figure), plain["curves"])


@pytest.mark.slow
def test_style_can_be_changed(simulated, monkeypatch):
    monkeypatch.setitem(jb.plots.STYLE, "axes.facecolor", "yellow")
    picture = pixels(jb.plots.curves(simulated))
    assert (np.abs(picture[..., :3] - [1, 1, 0]).max(axis=-1) < 0.01).mean() > 0.2


def test_fonts_of_pdf_files(tmp_path):
    """Journals want TrueType fonts. Their tables of ligatures and kerning are left out: no reader uses them."""
    load = subset.load_font
    jb.plots.draw_all(CASES["short"](), tmp_path)
    assert subset.load_font is load
    streams = re.findall(rb"stream\r?\n(.*?)endstream", (tmp_path / "pulls.pdf").read_bytes(), re.DOTALL)
    contents = [zlib.decompressobj().decompress(stream) for stream in streams if stream.startswith(b"\x78")]
    fonts = [ttLib.TTFont(io.BytesIO(content)) for content in contents if content.startswith(b"\x00\x01\x00\x00")]
    names = {font["name"].getDebugName(4) for font in fonts}
    assert "DejaVu Sans" in names
    for font in fonts:
        assert {"glyf", "loca", "hmtx"} <= set(font.keys())
        assert not {"GSUB", "GPOS", "GDEF", "kern"} & set(font.keys())


def overhang(figure):
    """How far the drawn figure reaches out of the picture, in inches: its texts, legends and axes."""
    figure.draw_without_rendering()
    box, (width, height) = figure.get_tightbbox(figure.canvas.get_renderer()), figure.get_size_inches()
    return max(-box.x0, -box.y0, box.x1 - width, box.y1 - height)


CASES = {
    "short": lambda: made_up(["ucb1", "fucb"]),
    "long": lambda: made_up([LONG, LONG.upper(), "ucb1", LONG[::-1]]),
    "many": lambda: made_up([f"policy number {i} of twenty" for i in range(20)]),
    "grid": lambda: made_up(["ucb1", *grid("lfg", eta=[1.0, 10.0, 100.0], exploration=[0.5, 2.0])]),
    "long grid": lambda: made_up(grid("lfg", family=LONG, eta=[1.0, 10.0, 100.0, 1000.0])),
    "instances": lambda: made_up(["ucb1", LONG], means=[[0.1, 0.5, 0.7, 0.3], [0.9, 0.1, 0.2, 0.3]]),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_no_label_is_cut_off(case):
    for name, figure in jb.plots.figures(CASES[case]()):
        assert overhang(figure) < 0.01, name
        plt.close(figure)


@pytest.mark.slow
def test_no_label_is_cut_off_in_figures_of_simulations(simulated):
    for name, figure in jb.plots.figures(simulated):
        assert overhang(figure) < 0.01, name
    unlike = jb.simulate(
        {"means": [[0.8, 0.3], [0.2, 0.9]], "penalties": 0.5, "opportunity": "softmax"},
        {LONG: "self-regulated", "B": "fairness-aware-etc", "C": "ucb1"},
        horizon=100,
        seeds=3,
    )
    for name, figure in jb.plots.figures(unlike):
        assert overhang(figure) < 0.01, name


@pytest.mark.slow
def test_equal_metrics_are_shown_once(simulated):
    drawn = [axis.get_ylabel() for axis in jb.plots.curves(simulated).axes if axis.get_visible()]
    assert drawn[0] == "penalized regret (reward)"
    assert "r-regret ≈ c-regret (reward)" in drawn
    assert not any(label.startswith("c-regret") for label in drawn)
    assert drawn[-1] == "regret (reward)"
    header = summary.table(simulated).splitlines()[0]
    assert "r-regret ≈ c-regret" in header
    assert header.index("penalized regret") < header.index("r-regret ≈")
    chosen = jb.plots.curves(simulated, ["c_regret", "r_regret"])
    assert [axis.get_ylabel() for axis in chosen.axes] == ["c-regret (reward)", "r-regret (reward)"]
    two = jb.simulate({"means": [0.9, 0.5, 0.3], "fractions": 0.1, "plays": 2}, "fair-mmab", horizon=60, seeds=3)
    shown = [axis.get_ylabel() for axis in jb.plots.curves(two).axes if axis.get_visible()]
    assert {"c-regret (reward)", "r-regret (reward)"} <= set(shown)
