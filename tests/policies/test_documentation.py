"""Every policy is documented, and the examples in the docstrings of `jaxbandit.policies` run."""

import doctest
import importlib
import pkgutil

import jax.numpy as jnp
import pytest

import jaxbandit as jb
from jaxbandit.policies.base import Alias, Index, Policy, Rule
from jaxbandit.policies.make_policy import policy
from jaxbandit.policies.round_view import RoundView

CLASSES = [
    cls
    for cls in Policy.registry.values()
    if not isinstance(cls, Alias) and cls.__module__.startswith("jaxbandit.")  # not those of other tests
]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.name)
def test_a_policy_says_what_it_is_where_it_is_from_and_how_it_is_made(cls):
    assert cls.source
    assert cls.__doc__
    assert "Example:" in cls.__doc__
    assert all(field.metadata.get("doc") for field in cls.parameters().values())


def test_the_examples_in_docstrings_run():
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(jb.policies.__path__, f"{jb.policies.__name__}.")
    ]
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(verbose=False)
    with_examples = set()
    for module in modules:
        for test in finder.find(module, extraglobs={"jb": jb, "jnp": jnp}):
            assert runner.run(test).failed == 0, test.name
            if test.examples:
                with_examples.add(test.name.rpartition(".")[2])
    expected = {thing.__name__ for thing in (*CLASSES, Policy, Index, Rule, RoundView, policy)}
    assert expected <= with_examples
