"""The examples in the docstrings of simulators, agents and their files."""

import doctest
import importlib

import jax
import jax.numpy as jnp
import pytest

import jaxbandit as jb


@pytest.mark.parametrize("name", ["agent", pytest.param("simulator", marks=pytest.mark.slow), "state_files"])
def test_examples_give_what_they_show(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module, tried = importlib.import_module(f"jaxbandit.engine.stepping.{name}"), 0
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, extraglobs={"jb": jb, "jax": jax, "jnp": jnp}):
        tried += len(test.examples)
        assert doctest.DocTestRunner(verbose=False).run(test).failed == 0, test.name
    assert tried
