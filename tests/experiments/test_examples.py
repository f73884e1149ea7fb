"""The examples in the docstrings of simulate, combine, tables, the summary and figures run and print what they say."""

import doctest
import importlib

import pytest

import jaxbandit as jb

GRIDS = ["grids.comparisons", "grids.confidence_sets", "grids.parameters", "grids.tables"]
MODULES = [
    "simulate",
    *GRIDS,
    "configs.names",
    "dashboard.page",
    "summary",
    "joining.combine",
    "joining.pooling",
    "output.citations",
]
LONG = ["grids.comparisons", "joining.combine"]
FAST = [*(name for name in MODULES if name not in LONG), "plots.figures", "plots.style"]
PLOTS = ["figures", "lines", "style", "arms", "selection_fractions", "tradeoffs", "phase_bars", "sweeps", "heat_maps"]


def fast_or_slow(name):
    return name if name in FAST else pytest.param(name, marks=pytest.mark.slow)


@pytest.mark.parametrize("name", [fast_or_slow(name) for name in (*MODULES, *(f"plots.{name}" for name in PLOTS))])
def test_examples_run(name):
    module = importlib.import_module(f"jaxbandit.experiments.{name}")
    tried = 0
    for example in doctest.DocTestFinder().find(module, extraglobs={"jb": jb}):
        tried += len(example.examples)
        assert doctest.DocTestRunner(verbose=False).run(example).failed == 0
    assert tried >= 2


@pytest.mark.parametrize("module", [jb.grids, jb.plots, jb.summary])
def test_every_public_function_has_an_example(module):
    for name in module.__all__:
        assert not callable(getattr(module, name)) or ">>> " in getattr(module, name).__doc__, name
