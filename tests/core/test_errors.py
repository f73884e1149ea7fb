"""The texts of errors about input."""

import pytest

import jaxbandit as jb
from jaxbandit.core.errors import InputError, unknown_key, unknown_name


@pytest.mark.parametrize("key", ["a ", " a", "a.b.", "problem..means "])
def test_a_key_whose_blanks_or_dots_are_easily_overlooked_is_quoted(key):
    assert str(InputError(key, 1, "2")) == f"{key!r} = 1: must be 2"


def test_other_keys_are_printed_as_they_are():
    assert str(InputError("problem.means", 1, "2")) == "problem.means = 1: must be 2"


def test_a_message_stays_short_however_long_its_parts_are():
    names = [f"name-{number}" for number in range(100)]
    for key in ("k", "k" * 200):
        for name in ("name-1O", "n" * 1000):
            assert len(str(unknown_name(key, name, names))) < 600
            assert len(str(unknown_key(f"{key}.{name}", 1, names))) < 600
    assert "name-90" not in str(unknown_name("k", "name-1O", names))
    assert len(str(InputError("k", "v" * 1000, "1 " * 200))) < 600


def test_a_warning_points_at_the_callers_line():
    """Not at a line of the package, however deep the function lies that warns."""
    with pytest.warns(UserWarning, match="ties go to the lowest arm") as caught:
        jb.simulate(jb.Problem([0.9, 0.5], fractions=0.1), "lfg", horizon=5, seeds=2)
    assert [one.filename for one in caught if "ties go" in str(one.message)] == [__file__]
