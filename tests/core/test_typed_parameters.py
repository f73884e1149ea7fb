"""Type checkers know the parameters of components: misspelt ones are reported, right calls are accepted."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import tomli_w

import jaxbandit as jb

PROGRAM = """
import jax
import jax.numpy as jnp

import jaxbandit as jb


class Optimist(jb.Index):
    bonus: float = jb.parameter(1.0, low=0, doc="weight of the bonus")
    window: int = jb.parameter(10, static=True)
    plain: float = 0.5

    def value(self, state: object, now: jb.RoundView) -> jax.Array:
        return now.mean + self.bonus / now.samples


class Halved(jb.Rule):
    base: jb.Index = jb.parameter(jb.indices.UCB1(), doc="the index to halve")


class Triangular(jb.Reward):
    width: float = jb.parameter(0.2)


class Late(jb.Delay):
    rounds: float = jb.parameter(3.0)


class Least(jb.Policy):
    weight: float = jb.parameter(1.0)


Optimist(bonus=2.0, window=20, plain=1)
Optimist(2.0).replace(bonus=3.0)
Halved()
Halved(base=Optimist(bonus=0.5))
Triangular(width=0.1)
jb.indices.UCB1(exploration=jnp.float32(1.5))
jb.policies.FairLearn(base=jb.indices.KLUCB(a=3.0), alpha=1.0)
jb.policies.HardThreshold(penalties=[0.1, 0.2])

Optimist(bonu=2.0)  # wrong: bonu
Optimist(bonus="much")  # wrong: bonus
Halved(bas=Optimist())  # wrong: bas
Triangular(widht=0.1)  # wrong: widht
Late(round=3.0)  # wrong: round
Least(weigth=3.0)  # wrong: weigth
jb.indices.UCB1(exploraton=1.5)  # wrong: exploraton
jb.policies.FairLearn(alhpa=1.0)  # wrong: alhpa
jb.policies.LFG(etta=1.0)  # wrong: etta
"""


ROOT = Path(jb.__file__).parents[1]
# `--strict`, which a configuration file cannot set for one module
STRICT = dict.fromkeys(
    (
        "check_untyped_defs",
        "disallow_any_generics",
        "disallow_incomplete_defs",
        "disallow_subclassing_any",
        "disallow_untyped_calls",
        "disallow_untyped_decorators",
        "disallow_untyped_defs",
        "extra_checks",
        "strict_equality",
        "warn_return_any",
        "warn_unused_ignores",
    ),
    True,
)


@pytest.mark.slow  # half a minute where mypy has not checked the package before: it reads JAX's annotations
def test_mypy_reports_misspelt_parameters_and_nothing_else(tmp_path):
    """The user's program is checked strictly, the package as in its repository, whose cache is used."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    del settings["files"]
    settings["overrides"].append({"module": "program", "implicit_reexport": False, **STRICT})
    (tmp_path / "pyproject.toml").write_text(tomli_w.dumps({"tool": {"mypy": settings}}))
    (tmp_path / "program.py").write_text(PROGRAM)
    ended = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(ROOT / ".mypy_cache"), "program.py"],
        cwd=tmp_path,
        env={"MYPYPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    found = [
        (int(line), word)
        for line, word in re.findall(r'^program\.py:(\d+): error: .*?"(\w+)"', ended.stdout, re.MULTILINE)
    ]
    wrong = [
        (number, word)
        for number, line in enumerate(PROGRAM.splitlines(), 1)
        for word in re.findall(r"# wrong: (\w+)", line)
    ]
    assert found == wrong, ended.stdout + ended.stderr
    assert 'did you mean "alpha"?' in ended.stdout
