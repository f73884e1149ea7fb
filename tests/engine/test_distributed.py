"""Two processes on one simulation, over the loopback interface, against one; and what they say when it cannot be.

Tests in which they compute run on CPUs alone: two processes cannot share a GPU, since each needs its own.
"""

import os
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from sweeps import swept

from jaxbandit.cli import main
from jaxbandit.engine import simulation as engine
from jaxbandit.engine.host import distributed
from jaxbandit.experiments import dataset
from jaxbandit.experiments.configs import config as configs

CONFIG = """
[simulation]
horizon = 200
seeds = 40
record = 10
block = 16

[problem]
means = [0.9, 0.8, 0.7]
fractions = 0.1
penalties = 0.4

[[policies]]
kind = "hard-threshold-ucb"
penalties = [0.1, 0.5]

[[policies]]
kind = "fucb"
"""
SECOND = """
[[policies]]
kind = "fucb"
"""


LONG = 40_000  # rounds


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture
def there(tmp_path, monkeypatch):
    """A folder with a config, in which programs run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").write_text(CONFIG)
    return tmp_path


@pytest.fixture
def long(there):
    """The same, with a config that is still running when an interruption is noticed."""
    (there / "config.toml").write_text(CONFIG.replace("horizon = 200", f"horizon = {LONG}"))
    return there


def started(*commands, before="", environment=None):
    """Processes 0, 1, ... with a command of `jaxbandit` each; `before` is Python that each runs first."""
    port = free_port()
    made = []
    for number, command in enumerate(commands):
        others = ["--coordinator", f"127.0.0.1:{port}", "--processes", str(len(commands)), "--process-id", str(number)]
        program = (
            f"import sys\nNUMBER = {number}\n{before}\nfrom jaxbandit.cli import main\nsys.exit(main(sys.argv[1:]))"
        )
        path = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **(environment or {})}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        made.append(subprocess.Popen([sys.executable, "-c", program, *command, *others], env=path, **pipes))
    return made


def ended(made, seconds=100):
    """Exit codes, and what went to standard output and error (JAX's word on an option left out), soon."""
    try:
        said = [one.communicate(timeout=seconds) for one in made]
    finally:
        for one in made:
            one.kill()
    errors = [[line for line in error.splitlines() if "recoverable task" not in line] for _, error in said]
    return [one.returncode for one in made], [out for out, _ in said], ["\n".join(lines) for lines in errors]


def opened(folder):
    with xr.open_dataset(folder / "results.nc") as data:
        return data.load().drop_attrs()


def alone(without="", **setting):
    """The results of the config by one process."""
    config = tomllib.loads(CONFIG.replace(without, ""))
    config["simulation"] |= setting
    simulation = configs.make_plan(config)
    return dataset.dataset(simulation, engine.run(simulation), {}).drop_attrs()


# Process 0 writes down where it listens, as the system has it, once it has met the others.
LISTENS = """
from jaxbandit.engine.host import distributed as processes
connect = processes.connect
def connected(coordinator, *others):
    connect(coordinator, *others)
    port, lines = int(coordinator.rpartition(":")[2]), []
    for name in ("tcp", "tcp6"):
        lines += [line.split() for line in open(f"/proc/self/net/{name}").readlines()[1:]]
    places = [line[1].split(":")[0] for line in lines if line[3] == "0A" and int(line[1].split(":")[1], 16) == port]
    if NUMBER == 0:
        open("listens.txt", "w").write(" ".join(sorted(set(places))))
processes.connect = connected
"""


NO_FIGURES = """
from jaxbandit.experiments.plots import figures
figures.draw_all = lambda results, folder: []
"""


@pytest.mark.cpu
@pytest.mark.slow
def test_two_processes_give_what_one_does(there):
    (there / "config.toml").write_text(CONFIG.replace(SECOND, ""))
    before = LISTENS if Path("/proc/self/net/tcp").is_file() else ""
    run = ["run", "config.toml", "--out", "shared"]
    codes, out, error = ended(started(run, run, before=before + NO_FIGURES))
    if before:
        (place,) = (there / "listens.txt").read_text().split()  # 127.0.0.1, and be it as an IPv6 address
        assert place in ("0100007F", "0000000000000000FFFF00000100007F")
    assert (codes, error) == ([0, 0], ["", ""])
    assert out[0].splitlines()[-1].startswith("wrote results.nc, table.csv")
    assert out[1] == ""
    assert not (there / "shared" / "unfinished").exists()
    xr.testing.assert_identical(opened(there / "shared"), alone(SECOND))


@pytest.mark.cpu
@pytest.mark.slow
def test_processes_may_have_a_disk_and_devices_of_their_own(there):
    runs = [["run", "config.toml", "--out", out, "--until", "regret_stderr<0.2"] for out in ("first", "second")]
    eight = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
    codes, out, error = ended(started(*runs, environment=eight))
    assert (codes, error) == ([0, 0], ["", ""])
    assert out[1] == ""
    assert not list((there / "second").glob("*"))
    data = opened(there / "first")
    assert data.sizes["seed"] > 40
    xr.testing.assert_identical(data, alone(until="regret_stderr<0.2"))


# The process of that number is interrupted, or dies, after its second block.
STOP = """
from jaxbandit.engine.host.checkpoint import Checkpoint
import os, signal, sys
save, saved = Checkpoint.save, []
def once(self, name, arrays):
    save(self, name, arrays)
    saved.append(name)
    if NUMBER == {number} and len(saved) == 2:
        {act}
Checkpoint.save = once
"""


@pytest.mark.cpu
@pytest.mark.slow
def test_two_processes_go_on_with_what_one_began(long):
    begun = [sys.executable, "-c", "NUMBER = 0\n" + STOP.format(number=0, act="os.kill(os.getpid(), signal.SIGINT)")]
    begun[-1] += "\nfrom jaxbandit.cli import main\nsys.exit(main(['run', 'config.toml', '--out', 'shared']))"
    path = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    assert subprocess.run(begun, env=path, capture_output=True, timeout=100).returncode == 130
    assert len(list((long / "shared" / "unfinished").glob("*.block"))) >= 2
    codes, _, error = ended(started(*[["resume", "shared"]] * 2))
    assert (codes, error) == ([0, 0], ["", ""])
    assert not (long / "shared" / "unfinished").exists()
    xr.testing.assert_identical(opened(long / "shared"), alone(horizon=LONG))


@pytest.mark.cpu
@pytest.mark.parametrize("act", swept(["os._exit(9)", "os.kill(os.getpid(), signal.SIGINT)"], ["os._exit(9)"]))
def test_where_another_process_ends_the_first_says_so_and_keeps_its_part(long, act):
    made = started(*[["run", "config.toml", "--out", "shared"]] * 2, before=STOP.format(number=1, act=act))
    codes, _, error = ended(made)
    assert codes[0] == 1
    assert codes[1] in (9, 130)
    assert "jaxbandit: another process has ended" in error[0]
    assert "`jaxbandit resume shared` continues the run" in error[0]
    assert "Traceback" not in error[0]
    assert main(["resume", "shared"]) == 0
    xr.testing.assert_identical(opened(long / "shared"), alone(horizon=LONG))


@pytest.mark.cpu
@pytest.mark.slow
def test_where_the_first_process_ends_the_others_do_not_wait(long):
    """JAX ends them, with a status of its own; what is done is kept."""
    before = STOP.format(number=0, act="os._exit(9)")
    codes, _, _ = ended(started(*[["run", "config.toml", "--out", "shared"]] * 2, before=before), seconds=60)
    assert codes[0] == 9
    assert codes[1] != 0
    assert main(["resume", "shared"]) == 0


@pytest.mark.cpu
@pytest.mark.parametrize("number", swept([0, 1], [0]))
def test_where_a_process_cannot_write_both_stop_with_a_message(there, number):
    before = STOP.format(number=number, act="raise WriteError(self.path, OSError(28, 'No space left on device'))")
    before = "from jaxbandit.core.errors import WriteError\n" + before
    codes, _, error = ended(started(*[["run", "config.toml", "--out", "shared"]] * 2, before=before))
    assert codes == [1, 1]
    assert "No space left on device" in error[number]
    assert f"process {number} stopped with an error" in error[1 - number]
    assert not any("Traceback" in text for text in error)


@pytest.mark.cpu
@pytest.mark.parametrize("number", swept([0, 1], [1]))
def test_where_a_process_is_given_a_bad_folder_both_stop_with_a_message(there, number):
    (there / "file").write_text("")
    runs = [["run", "config.toml", "--out", out] for out in ("good", "file")]
    codes, _, error = ended(started(*(runs if number else reversed(runs))))
    assert codes[number] == 2
    assert codes[1 - number] == 1
    assert "--out = 'file'" in error[number]
    assert f"process {number} stopped with an error" in error[1 - number]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--processes", "2"], "--coordinator is missing: must be HOST:PORT"),
        (["--coordinator", "here", "--processes", "2", "--process-id", "0"], "--coordinator = 'here'"),
        (["--coordinator", "localhost:1"], "--processes is missing"),
        (["--coordinator", "localhost:1", "--processes", str(10**12), "--process-id", "0"], "--processes = 1000"),
        (["--coordinator", "localhost:1", "--processes", "0", "--process-id", "0"], "--processes = 0"),
        (["--coordinator", "localhost:1", "--processes", "2"], "--process-id is missing"),
        (["--coordinator", "localhost:1", "--processes", "2", "--process-id", "5"], "--process-id = 5"),
        (["--coordinator", "localhost:99999", "--processes", "2", "--process-id", "1"], "--coordinator ="),
    ],
)
def test_options_that_cannot_be_are_refused(there, capsys, options, message):
    assert main(["run", "config.toml", *options]) == 2
    assert message in capsys.readouterr().err


def test_one_process_needs_no_other(there):
    distributed.connect(f"127.0.0.1:{free_port()}", 1, 0)
    assert distributed.count() == 1


@pytest.mark.parametrize("number", swept([0, 1], [0]))
def test_a_process_that_stays_alone_says_so_and_gives_up(there, number):
    """JAX ends it, after so long; here after one second (and five in which JAX tries to tell the others)."""
    where = ["--coordinator", f"127.0.0.1:{free_port()}", "--processes", "2", "--process-id", str(number)]
    code = (
        "import sys; from jaxbandit import cli; from jaxbandit.engine.host import distributed as processes; "
        "processes._PATIENCE, processes._SILENCE = 1, 0.1; "
        f"sys.exit(cli.main(['run', 'config.toml', *{where}]))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode != 0
    assert f"jaxbandit: process {number} of 2 waits for the others at {where[1]}, at most 1 s" in ended.stderr
    assert not (there / "results").exists()


def test_a_coordinator_that_is_nobody_is_refused(there, capsys):
    where = ["--coordinator", "nobody.invalid:4000", "--processes", "2", "--process-id", "1"]
    assert main(["run", "config.toml", *where]) == 1
    assert "process 1 cannot use nobody.invalid:4000: " in capsys.readouterr().err


def test_a_port_that_is_taken_is_said(there, capsys):
    with socket.create_server(("127.0.0.1", 0)) as other:
        where = ["--coordinator", f"127.0.0.1:{other.getsockname()[1]}", "--processes", "2", "--process-id", "0"]
        assert main(["run", "config.toml", *where]) == 1
    assert "Address already in use" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("host", "known", "everywhere"),
    [
        ("127.0.0.1", None, False),
        ("localhost", ["127.0.0.1"], False),
        ("node7", ["127.0.0.1"], True),  # a machine's own name, which means another address to others
        ("node7", ["192.0.2.1"], True),  # an address that this machine does not have: it is translated on the way
        ("192.0.2.1", None, True),
        ("[::1]", None, False),
    ],
)
def test_process_0_listens_where_it_was_told_as_far_as_it_can(monkeypatch, caplog, host, known, everywhere):
    if host == "[::1]" and not socket.has_dualstack_ipv6():
        pytest.skip("no IPv6")
    if known is not None:
        families = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in known]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: families)
    asked = {}
    monkeypatch.setattr(distributed.jax.distributed, "initialize", lambda *_, **options: asked.update(options))
    monkeypatch.setattr(distributed.jax.config, "update", lambda *_: None)
    monkeypatch.setattr(distributed.atexit, "register", lambda _: None)
    where = f"{host}:{free_port()}"
    distributed.connect(where, 2, 0)
    assert asked["coordinator_bind_address"] == (None if everywhere else where)
    note = f"{host} is not a network address of this machine: process 0 listens on all its addresses"
    assert [record.getMessage() for record in caplog.records if record.name == "jaxbandit"] == [note] * everywhere
    distributed.connect(where, 2, 1)
    assert asked["coordinator_bind_address"] is None  # process 0 alone listens
    assert len(caplog.records) == everywhere
    monkeypatch.setenv("JAX_COORDINATOR_BIND_ADDRESS", "127.0.0.1:77")  # JAX's own word
    distributed.connect(where, 2, 0)
    assert asked["coordinator_bind_address"] == (None if everywhere else "127.0.0.1:77")


def test_processes_that_share_a_gpu_are_told(monkeypatch):
    def fail(words):
        raise ValueError("INTERNAL: NCCL operation ncclCommInitRankConfig failed: invalid usage\nmore")

    monkeypatch.setattr(distributed, "_gathered", fail)
    with pytest.raises(ConnectionError, match=r"ended, or shares its GPU .*CUDA_VISIBLE_DEVICES.*invalid usage$"):
        distributed._all(np.zeros(1, np.int64))
