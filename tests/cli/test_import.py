"""`--import`: classes of users in configs, errors of their files, and interrupted runs."""

import json
import sys
import textwrap
import tomllib

import numpy as np
import pytest
import tomli_w
from interruption import opened, stopping

import jaxbandit as jb
from jaxbandit import cli
from jaxbandit.engine.batch import sharding
from jaxbandit.engine.host.checkpoint import FOLDER
from jaxbandit.environment.merit import Merit
from jaxbandit.environment.rewards import Reward
from jaxbandit.experiments.plots import figures
from jaxbandit.metrics.metric import METRICS
from jaxbandit.policies.base import Policy

MINE = '''
from __future__ import annotations

import jaxbandit as jb
import numbers_of_mine


class Optimist(jb.Index, name="my-optimist"):
    """The mean and a bonus that shrinks."""

    bonus: float = jb.parameter(1.0, low=0, doc="weight of the bonus")

    def value(self, state, now):
        return now.mean + self.bonus * numbers_of_mine.FACTOR / now.samples


class Half(jb.Reward, name="my-half"):
    """The mean itself."""

    def draw(self, means, random):
        return means


class MostPlayed(jb.Metric, name="most_played"):
    """The largest number of plays of an arm."""

    def value(self, now):
        return now.pulls.max(axis=0)


class Doubled(jb.Merit, name="my-merit"):
    """1 + 2 mu."""

    def value(self, mu):
        return 1.0 + 2.0 * mu
'''
CONFIG = {
    "simulation": {"horizon": 30, "seeds": 4, "record": 2, "metrics": ["regret", "most_played"], "block": 2},
    "problem": {"means": [0.9, 0.5, 0.1], "reward": "my-half", "merit": "my-merit"},
    "policies": [{"kind": "my-optimist", "bonus": [0.5, 2.0]}, {"kind": "lfg", "base": "my-optimist"}],
}


@pytest.fixture
def there(tmp_path, monkeypatch):
    """A working folder with a config and a file of classes; what an import registers is removed at the end."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "mine.py").write_text(MINE)
    (tmp_path / "code" / "numbers_of_mine.py").write_text("FACTOR = 3.0\n")
    (tmp_path / "config.toml").write_text(tomli_w.dumps({**CONFIG, "problem": {**CONFIG["problem"], "fractions": 0.1}}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(figures, "draw_all", lambda data, folder: [])
    monkeypatch.setattr(sharding, "workers", lambda: 1)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for family in (Policy, Reward, Merit):
        monkeypatch.setattr(family, "registry", dict(family.registry))
    monkeypatch.setattr(jb.Index, "registry", Policy.registry)
    before = dict(sys.modules)
    yield tmp_path
    METRICS.pop("most_played", None)
    for name in set(sys.modules) - set(before):
        if name.partition("_")[0] in ("mine", "numbers"):
            del sys.modules[name]


def as_in_a_new_process():
    """Forget the names of the file."""
    for family, name in ((Policy, "my-optimist"), (Reward, "my-half"), (Merit, "my-merit")):
        del family.registry[name]
    del METRICS["most_played"]


def run(*options):
    return cli.main(["run", "config.toml", "--out", "made", *options])


@pytest.mark.slow
def test_classes_of_a_file_are_named_in_configs_and_changes(there):
    assert run() == 2
    assert run("--import", "code/mine.py", "--set", "policies.1.bonus=4.0", "problem.merit=my-merit") == 0
    made = opened(there / "made")
    assert made.policy.values.tolist() == ["my-optimist (bonus=0.5)", "my-optimist (bonus=2)", "lfg/my-optimist"]
    assert list(json.loads(made.attrs["imports"])) == ["mine.py"]
    assert "bonus = 4.0" in made.attrs["config"]
    # Rewards are the means: the index of an arm is a known function of its plays.
    plays, means = np.zeros(3), np.array([0.9, 0.5, 0.1])
    for _ in range(30):
        arm = int(np.argmax(np.where(plays == 0, np.inf, means + 0.5 * 3 / np.maximum(plays, 1))))
        plays[arm] += 1
    np.testing.assert_array_equal(made.pulls[0, 0], np.tile(plays, (4, 1)))
    np.testing.assert_array_equal(made.most_played_final[0, 0], plays.max())
    assert run("--import", "code/mine.py", "--import", "./code/mine.py", "--set", "policies.1.bonus=4.0") == 0


def test_policies_lists_them(there, capsys):
    assert cli.main(["policies", "--import", "code/mine.py"]) == 0
    printed = capsys.readouterr().out
    assert "my-optimist\n    The mean and a bonus that shrinks.\n    bonus = 1 (>= 0): weight of the bonus\n" in printed
    assert "lfg\n" in printed


def test_tune_reads_them(there, capsys):
    assert cli.main(["tune", "config.toml", "--out", "tuned", "--import", "code/mine.py"]) == 2
    assert "tuning is missing" in capsys.readouterr().err


CLASH = 'import jaxbandit as jb\n\n\nclass A(jb.Index, name="ucb1"):\n    """A."""\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "x = 1\n\n\ndef f():\n    return 1 / 0\n\n\nf()\n",
            "line 5 (return 1 / 0) raised ZeroDivisionError: division by",
        ),
        ("x = (\n", "line 1 (x = () raised SyntaxError: '(' was never closed"),
        ("import sys\n\nsys.exit(3)\n", "line 3 (sys.exit(3)) raised SystemExit: 3"),
        ("import nothing_like_it\n", "line 1 (import nothing_like_it) raised ModuleNotFoundError: No module named "),
        (
            CLASH,
            "line 4 (class A(jb.Index, name=\"ucb1\"):) raised InputError: A.name = 'ucb1': must be a name that no ",
        ),
        ("raise ValueError('a\\nb')\n", "line 1 (raise ValueError('a\\nb')) raised ValueError: a\\nb"),
    ],
)
def test_a_file_that_fails_is_one_message(there, capsys, text, message):
    (there / "bad.py").write_text(text)
    for command in (["run", "config.toml", "--out", "made"], ["policies"]):
        assert cli.main([*command, "--import", "bad.py"]) == 2
        printed = capsys.readouterr()
        start = "jaxbandit: --import = 'bad.py': must be a file that Python runs without an error; "
        assert printed.err.startswith(start + message), printed.err
        assert printed.err.count("\n") == 1
        assert printed.out == ""
    assert not (there / "made").exists()


def test_files_that_are_missing_or_that_define_one_name_twice(there, capsys):
    assert run("--import", "none.py") == 2
    assert capsys.readouterr().err == "jaxbandit: cannot read none.py: no such file or directory\n"
    (there / "mine.py").write_text(MINE)  # another file of the same name
    assert run("--import", "code/mine.py", "--import", "mine.py") == 2
    message = "Optimist.name = 'my-optimist': must be a name that no other policy has ('my-optimist' is mine.Optimist; "
    assert message in capsys.readouterr().err


def test_a_file_does_not_hide_another_module(there):
    (there / "tomllib.py").write_text("import jaxbandit\n")
    assert cli.main(["policies", "--import", "tomllib.py"]) == 0
    assert sys.modules["tomllib"] is tomllib


@pytest.mark.slow
def test_resume_imports_the_files_of_the_run(there, capsys):
    """From another folder; a file that has moved is asked for, and edited code is refused."""
    assert run("--import", "code/mine.py") == 0
    whole = opened(there / "made")
    with stopping(1):
        assert cli.main(["run", "config.toml", "--out", "again", "--import", "code/mine.py"]) == 130
    path, moved = there / "code" / "mine.py", there / "code" / "moved" / "mine.py"
    moved.parent.mkdir()
    path.rename(moved)
    capsys.readouterr()
    assert cli.main(["resume", "again"]) == 2
    message = (
        f"jaxbandit: --import is missing: must be given as --import mine.py: the run imported it from {path.parent}"
    )
    assert capsys.readouterr().err.startswith(message)
    moved.write_text(MINE.replace("now.mean +", "now.mean -"))
    as_in_a_new_process()
    assert cli.main(["resume", "again", "--import", "code/moved/mine.py"]) == 2
    words = "version or device (what differs: code of policies, rewards or delays); resume it with the code"
    assert words in " ".join(capsys.readouterr().err.split())
    assert (there / "again" / FOLDER).exists()
    moved.rename(path)
    path.write_text(MINE)
    as_in_a_new_process()
    assert cli.main(["resume", "again"]) == 0
    assert opened(there / "again").equals(whole)


@pytest.mark.slow
def test_additions_need_the_files_of_the_run(there, capsys):
    assert run("--import", "code/mine.py") == 0
    added = ["--add", "--set", "simulation.seeds=6"]
    assert run(*added) == 2
    message = "--import is missing: must be given as --import mine.py, which the run in made imported"
    assert message in capsys.readouterr().err
    (there / "code" / "mine.py").write_text(MINE + textwrap.dedent("# A comment.\n"))
    assert run(*added, "--import", "code/mine.py") == 0
    note = "note: mine.py has changed since made/results.nc was written; its classes must do the same"
    assert note in capsys.readouterr().err
    assert opened(there / "made").sizes["seed"] == 6
    (there / "code" / "mine.py").write_text(MINE.replace("return now.mean +", "return 2.0 * now.mean +"))
    as_in_a_new_process()
    assert run("--add", "--set", "simulation.seeds=8", "--import", "code/mine.py") == 2
    told = capsys.readouterr().err
    assert "policy = 'my-optimist'" in told
    assert ": must be computed by the same code in both results" in told
    assert opened(there / "made").sizes["seed"] == 6
