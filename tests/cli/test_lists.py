"""`jaxbandit list` and `policies NAME`, help, suggestions, and the options that leave files or words out."""

import logging

import numpy as np
import pytest
import tomli_w
import xarray as xr

import jaxbandit as jb
from jaxbandit import cli
from jaxbandit.experiments.plots import figures

COMMANDS = ["run", "resume", "tune", "reproduce", "policies", "list"]
KINDS = ["policies", "indices", "rewards", "delays", "merits", "opportunities", "metrics", "configs"]
SMALL = {
    "simulation": {"horizon": 30, "seeds": 4, "record": 5, "metrics": ["regret"]},
    "problem": {"means": [0.9, 0.5, 0.1]},
    "policies": [{"kind": "ucb1", "label": "A"}, {"kind": "ucb1", "exploration": [1.0, 2.0], "label": "B"}],
}


@pytest.fixture
def there(tmp_path, monkeypatch):
    (tmp_path / "small.toml").write_text(tomli_w.dumps(SMALL))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(capsys, *arguments):
    assert cli.main(list(arguments)) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("kind", KINDS)
def test_lists(kind, capsys):
    names = getattr(jb, f"list_{kind}")()
    assert len(names) == len(set(names)) > 0
    lines = printed(capsys, "list", kind).splitlines()
    assert [line for line in lines if not line.startswith(" ")] == names
    for name, after in zip(lines, [*lines[1:], ""], strict=True):
        assert name.startswith(" ") or after.startswith("    "), f"{name} has no description"


def test_lists_hold_what_problems_take(capsys):
    assert set(jb.list_rewards()) == {"bernoulli", "beta", "uniform", "constant", "gaussian"} | set(jb.list_rewards())
    for kind in jb.list_policies():
        jb.policy(kind)
    for index in jb.list_indices():
        jb.policy("fair-learn", base=index)
    for metric in jb.list_metrics():
        assert metric in jb.metrics.METRICS or metric == "price_of_fairness"
    assert "    p = 0.5 (from 0 to 1): " in printed(capsys, "list", "delays")


def test_policies_by_name(capsys):
    text = printed(capsys, "policies", "lfg", "fucb")
    assert text.startswith("lfg\n    LFG: ")
    assert '    [[policies]]\n    kind = "lfg"\n    base = "ucb1"\n    eta = 1\n' in text
    assert "\nfucb\n" in text
    assert "kl-ucb\n" not in text
    assert "\n    clipped = false\n" in printed(capsys, "policies", "eta-fucb")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_a_description_and_examples(command, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([command, "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert f"  jaxbandit {command}" in text
    assert "example" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rum", "x.toml"], "unknown command 'rum' (did you mean 'run'?)"),
        (["run", "x.toml", "--out", ""], "argument --out: must be the path of a folder, not ''"),
        (["run", "x.toml", "--sets", "a=1"], "unknown option '--sets' (did you mean '--set'?)"),
        (["run", "x.toml", "--no-figure-s"], "unknown option '--no-figure-s' (did you mean '--no-figures'?)"),
        (["reproduce", "--quik"], "unknown option '--quik' (did you mean '--quick'?)"),
        (["resume", "made", "--no-htm1"], "unknown option '--no-htm1' (did you mean '--no-html'?)"),
        (["--versoin"], "unknown option '--versoin' (did you mean '--version'?)"),
        (["run", "x.toml", "simulation.seeds=3"], "unexpected argument 'simulation.seeds=3' (did you mean --set "),
        (["resume", "one", "two"], "unexpected argument 'two'"),
    ],
)
def test_misspelt_commands_and_options(arguments, message, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["policies", "lfq"], "(did you mean 'lfg'?)"),
        (["list", "delay"], "(did you mean 'delays'?)"),
        (["run", "quikstart"], "(did you mean the installed config 'quickstart'?)"),
    ],
)
def test_misspelt_names(arguments, message, capsys):
    assert cli.main(arguments) == 2
    assert message in capsys.readouterr().err


def test_files_that_are_left_out(there, capsys, monkeypatch):
    assert cli.main(["run", "small.toml", "--out", "all", "--no-figures"]) == 0
    assert sorted(path.name for path in (there / "all").iterdir()) == ["results.html", "results.nc", "table.csv"]
    assert cli.main(["run", "small.toml", "--out", "few", "--no-figures", "--no-html"]) == 0
    assert sorted(path.name for path in (there / "few").iterdir()) == ["results.nc", "table.csv"]
    with xr.open_dataset(there / "all" / "results.nc") as one, xr.open_dataset(there / "few" / "results.nc") as other:
        np.testing.assert_array_equal(one.regret_final, other.regret_final)
    assert "</html>" in (there / "all" / "results.html").read_text()


def test_a_resumed_run_leaves_the_same_files_out(there, monkeypatch):
    from jaxbandit.experiments import dataset

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(dataset, "write", interrupted)
        assert cli.main(["run", "small.toml", "--out", "made", "--no-figures", "--no-html"]) == 130
    assert cli.main(["resume", "made"]) == 0
    assert sorted(path.name for path in (there / "made").iterdir()) == ["results.nc", "table.csv"]


def test_quiet_prints_errors_alone(there, capsys, monkeypatch):
    monkeypatch.setattr(figures, "draw_all", lambda results, folder: [])
    assert cli.main(["run", "small.toml", "--out", "made", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert cli.main(["run", "small.toml", "--out", "made", "--quiet", "--set", "simulation.seeds=0"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "simulation.seeds = 0" in captured.err


def test_the_config_of_results_runs_again(there, capsys, monkeypatch):
    monkeypatch.setattr(figures, "draw_all", lambda results, folder: [])
    assert cli.main(["run", "small.toml", "--out", "made"]) == 0
    assert cli.main(["run", "made/results.nc", "--out", "again"]) == 0
    with (
        xr.open_dataset(there / "made" / "results.nc") as one,
        xr.open_dataset(there / "again" / "results.nc") as other,
    ):
        np.testing.assert_array_equal(one.pulls, other.pulls)
        assert one.attrs["config"] == other.attrs["config"]
    (there / "text.nc").write_text("no netCDF")
    assert cli.main(["run", "text.nc"]) == 2
    assert "this file is neither" in capsys.readouterr().err


def test_the_log_tells_what_happens(there, caplog):
    with caplog.at_level(logging.INFO, logger="jaxbandit"):
        jb.simulate(SMALL["problem"], ["ucb1", "moss"], horizon=30, seeds=4)
    messages = [record.getMessage() for record in caplog.records if record.name == "jaxbandit"]
    assert any(message.startswith("compiled 2 policies in ") for message in messages)
    assert any(message.startswith("simulated 4 seeds of 2 policies in ") for message in messages)
