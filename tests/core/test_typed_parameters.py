"""A misspelt parameter of a component is an error to a type checker; a right call is none."""

import pytest

OWN = """
import jaxbandit as jb


class Optimist(jb.Index, name="optimist"):
    bonus: float = jb.parameter(1.0, low=0, doc="weight of the bonus")

    def value(self, state, now):
        return now.mean + self.bonus / now.samples


class Cautious(Optimist):
    weight: float = jb.parameter(0.5)


Optimist()
Optimist(bonus=2.0)
Cautious(bonus=2.0, weight=1.0)
Optimist(bonsu=2.0)
Cautious(wieght=1.0)
jb.indices.UCB1(exploration=2.0)
jb.indices.UCB1(explortion=2.0)
"""


@pytest.mark.slow
def test_a_type_checker_finds_misspelt_parameters(tmp_path):
    api = pytest.importorskip("mypy.api")
    file = tmp_path / "own.py"
    file.write_text(OWN)
    found, trouble, _ = api.run(
        [str(file), "--config-file=", "--follow-imports=silent", f"--cache-dir={tmp_path / 'cache'}"]
    )
    assert trouble == ""
    errors = [line.partition(": error: ") for line in found.splitlines() if ": error: " in line]
    lines = OWN.splitlines()
    misspelt = {lines[int(place.rpartition(":")[2]) - 1]: message for place, _, message in errors}
    assert set(misspelt) == {"Optimist(bonsu=2.0)", "Cautious(wieght=1.0)", "jb.indices.UCB1(explortion=2.0)"}
    assert all("Unexpected keyword argument" in message for message in misspelt.values())
