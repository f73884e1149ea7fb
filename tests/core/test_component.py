"""Components: what help shows of them, and errors about their parameters."""

import inspect

import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.core.component import Component, derived, parameter


class Part(Component):
    """A part."""

    family = "part"
    registry = {}  # noqa: RUF012


class Plain(Part, name="plain"):
    """A part with parameters.

    More about it.

    Source: nowhere.

    Example:
        >>> 1 + 1
        2
    """

    weight: float = parameter(2.0, low=0, doc="how much it weighs")
    chance: float = parameter(0.25, low=0, high=1, doc="the chance.")
    turns: float = parameter(1e-9, high=3, doc="turns")
    part: Part | None = parameter(None, doc="another part")
    label: str = "mine"
    rows: object = parameter((1, 2), doc="rows")
    table: object = parameter(np.float32(1), doc="a table")
    hidden: object = derived()


class Outer(Part, name="outer"):
    part: Part = parameter(Plain(), doc="a part")


class Bare(Part, name="bare"):
    """No parameters."""


class Explained(Part):
    """Explained by hand.

    Parameters:
        weight: by hand.
    """

    weight: float = parameter(1.0, doc="generated")


def test_the_docstring_lists_the_parameters_before_the_other_sections():
    assert inspect.getdoc(Plain).splitlines() == [
        "A part with parameters.",
        "",
        "More about it.",
        "",
        "Source: nowhere.",
        "",
        "Parameters:",
        "    weight (>= 0, default 2): how much it weighs.",
        "    chance (from 0 to 1, default 0.25): the chance.",
        "    turns (<= 3, default 1e-09): turns.",
        "    part: another part.",
        "    label (default 'mine'):",
        "    rows (default (1, 2)): rows.",
        "    table: a table.",
        "",
        "Example:",
        "    >>> 1 + 1",
        "    2",
    ]
    assert 'Parameters:\n    part (default "plain"): a part.' in Outer.__doc__


def test_docstrings_without_parameters_or_with_a_section_of_their_own_stay():
    assert Bare.__doc__ == "No parameters."
    assert Explained.__doc__.count("weight") == 1


def test_the_docstring_as_written():
    assert "Parameters" not in Plain.own_docstring()
    assert Plain.own_docstring().startswith("A part with parameters.\n\nMore")


def test_every_component_explains_every_parameter():
    from jaxbandit.environment.delays import Delay
    from jaxbandit.policies.base import Alias

    for family in (jb.Policy, jb.Reward, Delay, jb.Merit, jb.Opportunity):
        for entry in family.registry.values():
            if not isinstance(entry, Alias) and entry.__module__.startswith("jaxbandit."):
                assert all(field.metadata.get("doc") for field in entry.parameters().values()), entry
                assert all(f"\n    {name}" in entry.__doc__ for name in entry.parameters()), entry


FAMILIES = {"reward": jb.Reward, "delay": jb.Delay, "merit": jb.Merit, "opportunity": jb.Opportunity}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_class_without_the_method_of_its_family_is_refused(family):
    base = FAMILIES[family]
    method = "draw" if family in ("reward", "delay") else "value"
    unfinished = type("Unfinished", (base,), {})
    for given in (base, base(), unfinished, unfinished()):
        with pytest.raises(
            jb.InputError, match=rf"^problem\.{family} = .*: must be a class with a method `{method}`, or"
        ):
            jb.Problem([0.9, 0.5], **{family: given})
    finished = type("Finished", (base,), {method: lambda self, *_: None})
    assert isinstance(base.from_spec(finished, family), finished)
    prepared = type("Prepared", (base,), {"prepare": lambda self, *_: finished()})
    assert isinstance(base.from_spec(prepared, family), prepared)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"weight": -1}, r"^part\.weight = -1: must be a number >= 0$"),
        ({"weight": [1, -1]}, r"^part\.weight = \[1, -1\]: must be numbers >= 0$"),
        ({"weight": "much"}, r"^part\.weight = 'much': must be a number >= 0$"),
        ({"weight": float("nan")}, r"^part\.weight = nan: must be finite, and a number >= 0$"),
        ({"weight": True}, r"^part\.weight = True: must be a number >= 0$"),
        ({"weight": 2e30}, r"^part\.weight = 2e\+30: must be a number >= 0, at most 1e\+30 in magnitude$"),
        ({"weight": None}, r"^part\.weight is missing: must be a number >= 0$"),
        ({"chance": 1.1}, r"^part\.chance = 1\.1: must be a number from 0 to 1$"),
        ({"turns": 4}, r"^part\.turns = 4: must be a number <= 3$"),
        ({"part": Plain(weight=-2)}, r"^part\.weight = -2: must be a number >= 0$"),
        ({"weight": np.ma.array([1, 2], mask=[0, 1])}, r"part\.weight = .*: must be numbers >= 0, without masked entr"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(jb.InputError, match=message):
        Plain(**{"rows": 0, "label": 0, "table": 0, **parameters}).check("part")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("plane", r"^part\.kind = 'plane': must be one of bare, outer, plain \(did you mean 'plain'\?\)$"),
        (3, r'^part = 3: must be a part \(bare, outer, plain\), or a table { kind = "...", ... }$'),
        ({"kind": "bare", "weight": 1}, r"^unknown key part\.weight; valid keys: kind$"),
    ],
)
def test_bad_descriptions_are_refused(spec, message):
    with pytest.raises(jb.InputError, match=message):
        Part.from_spec(spec, "part")


def test_a_name_belongs_to_one_class():
    with pytest.raises(jb.InputError, match=r"^Other\.name = 'plain': must be a name that no other part has"):
        type("Other", (Part,), {}, name="plain")
    with pytest.raises(jb.InputError, match=r"^Other\.name = '': must be a printable string"):
        type("Other", (Part,), {}, name="")
    assert Part.registry["plain"] is Plain
