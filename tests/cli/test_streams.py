"""Unusual streams, names, platforms and limits: one line and an exit code, and no results are lost."""

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest
import tomli_w
from interruption import names

from jaxbandit import cli
from jaxbandit.experiments.plots import figures
from jaxbandit.policies.base import Policy

CONFIG = {
    "simulation": {"horizon": 40, "seeds": 6, "record": 1, "metrics": ["regret"]},
    "problem": {"means": [0.9, 0.5, 0.1]},
    "policies": [{"kind": "ucb1"}],
}
MINE = ["pulls.pdf", "pulls.png", "results.html", "results.nc"]


@pytest.fixture
def there(tmp_path, monkeypatch):
    (tmp_path / "small.toml").write_text(tomli_w.dumps(CONFIG))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def plain(there, monkeypatch):
    """The same, without figures."""
    monkeypatch.setattr(figures, "draw_all", lambda data, folder: [])
    return there


def error_line(capsys):
    line = capsys.readouterr().err
    assert line.startswith("jaxbandit: ")
    assert line.count("\n") == 1
    return line


def shell(command, **environment):
    """Run a command of the shell in which `jaxbandit` is `python -m jaxbandit` of this repository."""
    path = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **environment}
    program = f'jaxbandit() {{ "{sys.executable}" -m jaxbandit "$@"; }}; {command}'
    ended = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {program}"],
        env=path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert "Traceback" not in ended.stderr
    return ended.returncode, ended.stdout, ended.stderr


@pytest.mark.slow
def test_with_closed_streams_results_are_written(there):
    assert shell("jaxbandit run small.toml --out made >&- 2>&-") == (0, "", "")
    assert names(there / "made") == MINE


def test_a_pipe_that_is_closed_halfway_ends_quietly():
    code, out, err = shell("jaxbandit policies | head -n 1")
    assert (code, out, err) == (0, f"{next(iter(Policy.registry))}\n", "")


@pytest.mark.parametrize("command", ["run small.toml --out made", "policies"])
def test_a_broken_pipe_in_process(plain, monkeypatch, command):
    read, write = os.pipe()
    os.close(read)
    with open(write, "w") as out, contextlib.redirect_stdout(out):
        assert cli.main(command.split()) == 0
    assert names(plain) == (["made", "small.toml"] if command.startswith("run") else ["small.toml"])
    assert not command.startswith("run") or names(plain / "made") == ["results.html", "results.nc"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_standard_output_is_reported_and_results_are_written(plain, capsys):
    with open("/dev/full", "w") as out, contextlib.redirect_stdout(out):
        assert cli.main(["run", "small.toml", "--out", "made"]) == 1
    assert error_line(capsys) == "jaxbandit: standard output cannot be written: No space left on device\n"
    assert names(plain / "made") == ["results.html", "results.nc"]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
@pytest.mark.parametrize("command", ["run small.toml --out made --set policies.0.label=\U0001f4a5η", "policies"])
def test_characters_that_an_encoding_lacks_are_replaced(plain, encoding, command):
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    err = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        assert cli.main(command.split()) == 0
    assert out.errors == "strict"  # as it was given
    shown = out.buffer.getvalue().decode(encoding)
    assert ("??" if command.startswith("run") else "ucb1") in shown
    if command.startswith("run"):
        assert names(plain / "made") == ["results.html", "results.nc"]


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_a_stream_may_be_none(plain, monkeypatch, name):
    monkeypatch.setattr(sys, name, None)
    assert cli.main(["run", "small.toml", "--out", "made"]) == 0
    assert cli.main(["run", "small.toml", "--out", "small.toml"]) == 2
    assert getattr(sys, name) is None
    assert names(plain / "made") == ["results.html", "results.nc"]


def test_the_summary_is_printed_last(plain, monkeypatch):
    """A failure to print loses nothing."""

    class Stopped(BaseException):
        pass

    def stop(*_):
        raise Stopped

    monkeypatch.setattr(cli.carrying_out, "print_lines", stop)
    with pytest.raises(Stopped):
        cli.main(["run", "small.toml", "--out", "made"])
    assert names(plain / "made") == ["results.html", "results.nc"]


# Names.

LONG = "x" * 256


@pytest.mark.parametrize(
    "command",
    [
        f"run small.toml --out {LONG}",
        f"run small.toml --out {LONG}/made",
        f"run small.toml --out {'/'.join(['x' * 200] * 20)}",
        f"tune tune.toml --out {LONG}",
        f"reproduce penalties --quick --out {LONG}",
        f"resume {LONG}",
        f"run {LONG}.toml",
    ],
)
def test_names_that_are_too_long_are_refused(there, capsys, command):
    (there / "tune.toml").write_text(tomli_w.dumps({**CONFIG, "tuning": {"parameters": ["exploration"]}}))
    assert cli.main(command.split()) == 2
    assert "file name too long" in error_line(capsys).lower()
    assert names(there) == ["small.toml", "tune.toml"]


@pytest.mark.parametrize(
    "command", ["run small.toml --out closed/made", "run small.toml --out closed", "resume closed/made"]
)
def test_a_folder_that_may_not_be_entered_is_refused(there, capsys, command):
    (there / "closed").mkdir()
    (there / "closed").chmod(0)
    try:
        with contextlib.suppress(PermissionError):
            os.stat(there / "closed" / ".")
            os.listdir(there / "closed")
            pytest.skip("this user may enter any folder")
        assert cli.main(command.split()) == 2
        assert "Permission denied" in error_line(capsys)
    finally:
        (there / "closed").chmod(0o700)


@pytest.mark.parametrize("command", ["run small.toml --out made", "resume made"])
def test_a_folder_that_may_not_be_looked_at_is_refused(there, capsys, monkeypatch, command):
    """The system's refusal is simulated, since root may look at any folder."""

    for name, way in (("exists", Path.exists), ("is_file", Path.is_file)):

        def look(path, before=way):
            if "made" in path.parts:
                raise PermissionError(13, "Permission denied")
            return before(path)

        monkeypatch.setattr(Path, name, look)
    assert cli.main(command.split()) == 2
    assert "Permission denied" in error_line(capsys)


@pytest.mark.parametrize("name", ["...toml", "..toml", "....toml"])
@pytest.mark.parametrize("command", ["run", "tune"])
def test_a_config_whose_name_is_not_a_folder_name_needs_out(there, capsys, name, command):
    (there / name).write_text(tomli_w.dumps({**CONFIG, "tuning": {"parameters": ["exploration"]}}))
    before = names(there)
    assert cli.main([command, name]) == 2
    assert "--out is missing: must be given: the config's name, " in error_line(capsys)
    assert names(there) == before


@pytest.mark.parametrize("value", ["5", "[1]", "words"])
def test_until_with_a_simulation_that_is_not_a_table(there, capsys, value):
    assert cli.main(["run", "small.toml", "--until", "stderr<1", "--set", f"simulation={value}"]) == 2
    assert error_line(capsys).startswith(
        f"jaxbandit: simulation = {value if value != 'words' else repr(value)}: must be a table"
    )


# Surroundings.


def test_an_unknown_backend_of_matplotlib_is_refused_before_work(there):
    code, out, err = shell("jaxbandit run small.toml --out made", MPLBACKEND="nonsense")
    assert (code, out) == (2, "")
    assert err.startswith("jaxbandit: MPLBACKEND = 'nonsense': must be a backend of matplotlib that works here")
    assert err.count("\n") == 1
    assert names(there) == ["small.toml"]


def test_a_missing_platform_is_refused_before_work(there):
    code, out, err = shell("jaxbandit run small.toml --out made", JAX_PLATFORMS="rocm")
    assert (code, out) == (2, "")
    assert err.startswith("jaxbandit: JAX_PLATFORMS = 'rocm': must be platforms for which JAX finds devices on")
    assert err.count("\n") == 1
    assert names(there) == ["small.toml"]


def test_a_memory_limit_below_that_of_jax_is_refused_before_work(there):
    code, out, err = shell("ulimit -v 1500000; jaxbandit run small.toml --out made")
    assert (code, out) == (2, "")
    assert err.startswith("jaxbandit: ulimit -v = 1500000: must be at least 2097152 KiB, or unlimited")
    assert err.count("\n") == 1
    assert names(there) == ["small.toml"]


def test_a_variable_that_jax_refuses_is_said(there):
    code, out, err = shell("jaxbandit list metrics", JAX_ENABLE_X64="banana")
    assert (code, out) == (2, "")
    assert err == "jaxbandit: invalid truth value 'banana' for environment 'JAX_ENABLE_X64'\n"


def test_programs_have_to_be_compiled(there, capsys):
    with jax.disable_jit():
        assert cli.main(["run", "small.toml", "--out", "made"]) == 2
    assert error_line(capsys).startswith(
        "jaxbandit: JAX_DISABLE_JIT = True: must be False: simulations are compiled programs"
    )
