"""The examples in the docstrings of core and environment."""

import doctest
import importlib
import pkgutil

import jax.numpy as jnp
import pytest

import jaxbandit as jb
from jaxbandit import core, environment

MODULES = [
    module.name
    for package in (core, environment)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_give_what_they_show(name):
    module = importlib.import_module(name)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, extraglobs={"jb": jb, "jnp": jnp}):
        assert doctest.DocTestRunner(verbose=False).run(test).failed == 0, test.name
