"""`jaxbandit tune`: the files it writes, and what it refuses."""

import re
import tomllib

import numpy as np
import pytest
import xarray as xr

import jaxbandit as jb
from jaxbandit import cli
from jaxbandit.tuning import command, plot

TOML = """
[simulation]
horizon = 36
seeds = 4
record = 1
metrics = ["penalized_regret"]

[problem]
means = [0.9, 0.5, 0.3]
fractions = 0.2
penalties = 0.3

[[policies]]
kind = "hard-threshold-ucb"
label = "HT"

[[policies]]
kind = "naive"

[tuning]
policy = "HT"
parameters = ["penalties"]
steps = 4
seeds = 16
check = 2
"""


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(TOML)
    return path


def test_the_command_writes_a_config_that_runs(config, tmp_path, capsys):
    out = tmp_path / "made"
    assert cli.main(["tune", str(config), "--out", str(out)]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["tuned.toml", "tuning.nc", "tuning.pdf", "tuning.png"]
    printed = capsys.readouterr().out
    assert "before: penalized regret" in printed
    with xr.open_dataset(out / "tuning.nc") as path:
        path.load()
    assert path.sizes["step"] == 5
    assert path.attrs["policy"] == "HT"
    tuned = tomllib.loads((out / "tuned.toml").read_text())
    assert "tuning" not in tuned
    assert [table.get("label") for table in tuned["policies"]] == ["HT", None, "HT, tuned"]
    np.testing.assert_array_equal(tuned["policies"][2]["penalties"], [path.penalties.values[path.attrs["step"]]])
    assert cli.main(["run", str(out / "tuned.toml"), "--out", str(tmp_path / "run")]) == 0
    assert cli.main(["run", str(config), "--out", str(tmp_path / "untuned")]) == 0


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ("tuning.stepz=3", "tuning.stepz"),
        ("tuning.policy=ucb1", "tuning.policy"),
        ("tuning.policy=naive", "tuning.policy"),
        ("tuning.temperature=-1", "tuning.temperature"),
        ("tuning.parameters=[]", "tuning.parameters"),
        ("tuning.objective={kind='budget', bound=1}", "tuning.objective.bound"),
        ("tuning=3", "tuning"),
        ("simulation.horizons=3", "simulation.horizons"),
    ],
)
def test_a_bad_table_is_refused_and_nothing_written(change, key, config, tmp_path, capsys):
    assert cli.main(["tune", str(config), "--out", str(tmp_path / "made"), "--set", change]) == 2
    assert re.match(
        rf"jaxbandit: (unknown key )?{re.escape(key)}( =| is missing| \(did you mean|;)", capsys.readouterr().err
    )
    assert not (tmp_path / "made").exists()


@pytest.fixture(scope="module")
def tuned():
    """A tuning of one step, and what came of it."""
    job = command.task({**tomllib.loads(TOML), "tuning": {**tomllib.loads(TOML)["tuning"], "steps": 1, "check": 1}})
    return job, job.run()


FILES = ["tuned.toml", "tuning.nc", "tuning.pdf", "tuning.png"]
HEX = "0123456789abcdef" * 2


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_a_kill_has_left_of_a_tuning_goes_with_the_next_one(tuned, tmp_path):
    left, mine = tmp_path / f".tuning-{HEX}", tmp_path / f".tuning-{HEX[::-1]}"
    for folder in (left, mine, tmp_path / ".tuning-mine"):
        folder.mkdir()
        for name in (*FILES, ".tuning.nc.123"):
            (folder / name).write_bytes(b"half")
    (mine / "thesis.txt").write_text("precious")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "tuning.nc").write_text("precious")
    (tmp_path / f".tuning-{'0' * 32}").symlink_to(tmp_path / "elsewhere")
    assert sorted(path.name for path in command.save(*tuned, tmp_path)) == FILES
    assert names(tmp_path) == sorted([*FILES, ".tuning-mine", mine.name, f".tuning-{'0' * 32}", "elsewhere"])
    assert names(mine) == ["thesis.txt"]
    assert len(names(tmp_path / ".tuning-mine")) == 5
    assert names(tmp_path / "elsewhere") == ["tuning.nc"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_tuning_that_cannot_be_written_leaves_nothing(tuned, tmp_path, monkeypatch, error):
    def fail(*_):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(plot, "draw", fail)
        with pytest.raises(jb.WriteError if isinstance(error, OSError) else KeyboardInterrupt):
            command.save(*tuned, tmp_path / "made")
    assert names(tmp_path / "made") == []
