"""`jaxbandit tune`: the files it writes, and what it refuses."""

import json
import os
import re
import time
import tomllib

import numpy as np
import pytest
import xarray as xr
from small_problem import TOML

import jaxbandit as jb
from jaxbandit import cli
from jaxbandit.experiments.configs.config import make_plan
from jaxbandit.tuning import command, plot, tuning_run
from jaxbandit.tuning.search import evaluation

FILES = ["tuned.toml", "tuning.nc", "tuning.pdf", "tuning.png"]
HEX = "0123456789abcdef" * 2


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(TOML)
    return path


@pytest.mark.slow
def test_the_command_writes_a_config_that_runs(config, tmp_path, capsys):
    out = tmp_path / "made"
    assert cli.main(["tune", str(config), "--out", str(out)]) == 0
    assert names(out) == FILES
    printed = capsys.readouterr().out
    assert printed.startswith("HT:\nhard-threshold-ucb: stopped after 2 steps; means ± 95 % on fresh runs\n")
    for line, name in zip(printed.splitlines()[3:6], ("start", "common", "result"), strict=True):
        assert line.startswith(f"{name} ")
    assert "warning: the search has not converged in 2 steps" in printed
    assert printed.endswith(f"wrote tuned.toml, tuning.nc, tuning.png, tuning.pdf to {out}/\n")
    with xr.open_dataset(out / "tuning.nc") as path:
        path.load()
    assert path.sizes["step"] == 4
    assert (path.attrs["policy"], path.attrs["converged"]) == ("HT", 0)
    assert path.attrs["warnings"].splitlines() == [
        line.removeprefix("warning: ") for line in printed.splitlines() if line.startswith("warning: ")
    ]
    assert tomllib.loads(path.attrs["config"])["tuning"]["steps"] == 2
    tuned = tomllib.loads((out / "tuned.toml").read_text())
    assert "tuning" not in tuned
    assert [table.get("label") for table in tuned["policies"]] == ["HT", None, "HT, tuned"]
    shown = re.search(r"^result .*penalties = (\[.*\])$", printed, re.MULTILINE).group(1)
    np.testing.assert_allclose(np.ravel(tuned["policies"][2]["penalties"]), json.loads(shown), atol=1e-6)
    assert [one.label for one in make_plan(tuned).configurations] == ["HT", "uniform-random", "HT, tuned"]
    assert [one.label for one in make_plan(tomllib.loads(TOML)).configurations] == ["HT", "uniform-random"]
    assert (
        cli.main(["run", str(out / "tuned.toml"), "--out", str(tmp_path / "run"), "--set", "simulation.seeds=8"]) == 0
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("tuning.stepz=3", "unknown key tuning.stepz (did you mean 'steps'?)"),
        ("tuning.rate=0.1", "unknown key tuning.rate (did you mean 'learning_rate'?)"),
        ("tuning.policy=ucb1", "tuning.policy = 'ucb1': must be one of HT, uniform-random"),
        ("tuning.policy=uniform-random", "tuning.parameters = 'penalties': "),
        ("tuning.check=2", "unknown key tuning.check; valid keys: estimator, final_seeds, horizon"),
        ("tuning.constraint=projection", "unknown key tuning.constraint"),
        ("tuning.estimator=both", "tuning.estimator = 'both': must be one of perturbation, relaxed, score"),
        ("tuning.temperature=0.1", "tuning.temperature = 0.1: must not be given with the estimator 'perturbation'"),
        ("tuning.final_seeds=1", "tuning.final_seeds = 1: must be a whole number >= 2"),
        ("tuning.horizon=0", "tuning.horizon = 0: must be a whole number >= 1"),
        ("simulation.horizon=0", "simulation.horizon = 0: must be a whole number >= 1"),
        ("tuning.learning_rate=0", "tuning.learning_rate = 0: must be a number > 0"),
        ("tuning.parameters={penalties=[0.1, -0.2, 0.3]}", "tuning.parameters.penalties = [0.1, -0.2, 0.3]: must be "),
        (
            "tuning.objective={minimize='regret', subject_to=[{metric='unfairness', at_mots=3}]}",
            "unknown key tuning.objective.subject_to[0].at_mots (did you mean 'at_most'?)",
        ),
        ("tuning.parameters=[]", "tuning.parameters = []: must be a list of names"),
        ("tuning.seeds=0", "tuning.seeds = 0: "),
        ("tuning.objective={kind='budget', bound=1}", "unknown key tuning.objective.bound; valid keys: "),
        ("tuning=3", "tuning = 3: "),
        ("simulation.horizons=3", "unknown key simulation.horizons (did you mean 'horizon'?)"),
    ],
)
def test_a_bad_table_is_refused_and_nothing_is_written(change, message, config, tmp_path, capsys):
    assert cli.main(["tune", str(config), "--out", str(tmp_path / "made"), "--set", change]) == 2
    assert re.match(re.escape(f"jaxbandit: {message}"), capsys.readouterr().err)
    assert not (tmp_path / "made").exists()


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """A tuning of one step, and its result."""
    config = tomllib.loads(TOML)
    task = command.make_task({**config, "tuning": {**config["tuning"], "steps": 1}})
    return task, task.run(tmp_path_factory.mktemp("tuned"))


@pytest.mark.slow
def test_of_a_grid_over_the_problem_the_problem_of_the_label_is_tuned(tuned):
    config, label = tomllib.loads(TOML), "HT (problem.fractions=0.3)"
    config["grid"] = {"problem": {"fractions": [0.1, 0.3]}}
    config["tuning"]["policy"] = label
    task = command.make_task(config)
    np.testing.assert_array_equal(task.problem.fractions.astype(float).ravel(), [0.3] * 3)
    after = task.tuned_config(tuned[1])
    assert after["problem"] == config["problem"] | {"fractions": 0.3}
    assert "grid" not in after
    assert [one.label for one in make_plan(after).configurations] == ["HT", "uniform-random", f"{label}, tuned"]


@pytest.mark.slow
def test_the_tuning_of_another_config_is_not_replaced_unless_that_is_wanted(tuned, tmp_path, capsys):
    task, made = tuned
    command.write(task, made, tmp_path)
    command.check_replaceable(task, tmp_path, force=False)
    (tmp_path / "small.toml").write_text(TOML)
    arguments = ["tune", str(tmp_path / "small.toml"), "--out", str(tmp_path), "--set", "simulation.key=5"]
    assert cli.main(arguments) == 2
    assert "a folder without the tuning of another config; `--force` replaces tuned.toml" in capsys.readouterr().err
    (tmp_path / "tuning.nc").write_text("damaged")
    with pytest.raises(jb.InputError, match=r"a tuning\.nc that cannot be read"):
        command.check_replaceable(task, tmp_path, force=False)
    command.check_replaceable(task, tmp_path, force=True)
    (tmp_path / "tuning.nc").unlink()
    with pytest.raises(jb.InputError, match=r"without a tuned\.toml that no tuning wrote"):
        command.check_replaceable(task, tmp_path, force=False)


@pytest.mark.slow
def test_the_tuned_policy_gets_a_label_of_its_own(tuned):
    config = tomllib.loads(TOML)
    config["policies"] += [{"kind": "ucb1", "label": "HT, tuned"}, {"kind": "moss", "label": "HT, tuned 2"}]
    after = command.make_task(config).tuned_config(tuned[1])
    assert make_plan(after).configurations[-1].label == "HT, tuned 3"


@pytest.mark.slow
def test_an_interruption_says_what_is_kept(config, tmp_path, monkeypatch, capsys):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(tuning_run, "select", interrupted)  # after the search
    assert cli.main(["tune", str(config), "--out", str(tmp_path / "made")]) == 130
    words = f"finished blocks are kept in {tmp_path / 'made' / 'unfinished'}; the same command goes on from there"
    assert words in capsys.readouterr().err


@pytest.mark.slow
def test_staging_folders_of_killed_processes_are_removed_and_those_of_live_ones_are_not(tuned, tmp_path):
    abandoned, mixed, live = (tmp_path / f".tuning-{digits}" for digits in (HEX, HEX[::-1], "1" * 32))
    for folder in (abandoned, mixed, live, tmp_path / ".tuning-mine"):
        folder.mkdir()
        for name in (*FILES, ".tuning.nc.123"):
            (folder / name).write_bytes(b"half")
    (mixed / "thesis.txt").write_text("precious")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "tuning.nc").write_text("precious")
    (tmp_path / f".tuning-{'0' * 32}").symlink_to(tmp_path / "elsewhere")
    for path in (abandoned, mixed, tmp_path / ".tuning-mine", tmp_path / "elsewhere", tmp_path / f".tuning-{'0' * 32}"):
        os.utime(path, (time.time() - 90_000,) * 2, follow_symlinks=False)  # a day and an hour ago
    assert sorted(path.name for path in command.write(*tuned, tmp_path)) == FILES
    others = [".tuning-mine", mixed.name, live.name, f".tuning-{'0' * 32}", "elsewhere"]
    assert names(tmp_path) == sorted([*FILES, *others])
    assert names(mixed) == ["thesis.txt"]
    assert len(names(live)) == len(names(tmp_path / ".tuning-mine")) == 5
    assert names(tmp_path / "elsewhere") == ["tuning.nc"]


@pytest.mark.slow
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_tuning_that_cannot_be_written_leaves_nothing(tuned, tmp_path, monkeypatch, error):
    def fail(*_):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(plot, "draw", fail)
        with pytest.raises(jb.WriteError if isinstance(error, OSError) else KeyboardInterrupt):
            command.write(*tuned, tmp_path / "made")
    assert names(tmp_path / "made") == []


@pytest.mark.slow
def test_a_full_disk_does_not_lose_the_simulations(config, tmp_path, monkeypatch, capsys):
    """The files cannot be written; the command is repeated once there is room, and simulates nothing again."""
    out, arguments = tmp_path / "made", ["tune", str(config), "--out", str(tmp_path / "made")]

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(plot, "draw", full)
        assert cli.main(arguments) == 1
    assert "cannot be written: No space left on device" in capsys.readouterr().err
    assert names(out) == ["unfinished"]
    with monkeypatch.context() as patch:
        patch.setattr(evaluation, "run", lambda plan: pytest.fail("simulated again"))
        assert cli.main(arguments) == 0
    assert names(out) == FILES
