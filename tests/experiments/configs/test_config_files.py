"""Config files and `--set` changes: how they are read, and which are refused."""

import copy
import time
import tomllib

import pytest
from small_config import TABLES, TOML

import jaxbandit as jb
from jaxbandit.experiments.configs import config


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "good.toml"
    path.write_text(TOML)
    return path


def test_a_file_holds_the_tables_of_its_config(file):
    assert config.load(file) == TABLES


@pytest.mark.parametrize(
    ("change", "path", "value"),
    [
        ("simulation.seeds=200", ("simulation", "seeds"), 200),
        (" simulation . seeds = 200 ", ("simulation", "seeds"), 200),
        ("simulation.key=0xFF", ("simulation", "key"), 255),
        ("simulation.record=all", ("simulation", "record"), "all"),
        ('simulation.record="all"', ("simulation", "record"), "all"),
        ('simulation.metrics=["regret", "unfairness"]', ("simulation", "metrics"), ["regret", "unfairness"]),
        ("problem.means=[[0.1, 0.2], [0.3, 0.4]]", ("problem", "means"), [[0.1, 0.2], [0.3, 0.4]]),
        ("problem.reward=gaussian", ("problem", "reward"), "gaussian"),
        ('problem.reward={kind = "gaussian", sd = 0.1}', ("problem", "reward"), {"kind": "gaussian", "sd": 0.1}),
        ("policies.0.eta=7", ("policies", 0, "eta"), 7),
        ("policies.0.eta=[1, 2]", ("policies", 0, "eta"), [1, 2]),
        ("policies.1.label=a = b", ("policies", 1, "label"), "a = b"),
        ("policies.0.eta={scale = 1.0, horizon_power = 0.5}", ("policies", 0, "eta", "horizon_power"), 0.5),
    ],
)
def test_set(file, change, path, value):
    loaded = config.load(file, [change])
    place = loaded
    for part in path:
        place = place[part]
    assert place == value
    expected = copy.deepcopy(TABLES)
    expected[path[0]] = loaded[path[0]]
    assert loaded == expected  # the other sections are as they were
    assert config.make_plan(loaded).configurations


def test_changes_come_one_after_the_other(file):
    changes = ["problem.reward=gaussian", "problem.reward.sd=0.25", "simulation.seeds=5", "simulation.seeds=6"]
    loaded = config.load(file, changes)
    assert loaded["problem"]["reward"] == {"kind": "gaussian", "sd": 0.25}
    assert loaded["simulation"]["seeds"] == 6


@pytest.mark.parametrize(
    ("change", "allowed"),
    [
        ("simulation.seeds", "must have the form section.key=value"),
        ("=3", "must have the form section.key=value"),
        ("simulation..seeds=3", "with a name between any two dots"),
        ("policies.2.eta=1", "by a number from 0 to 1"),
        ("policies.-1.eta=1", "by a number from 0 to 1"),
        ("policies.first.eta=1", "by a number from 0 to 1"),
        ("policies.0=3", "cannot set an entry of a list"),
        ("simulation.horizon.most=3", "cannot set a key of horizon: it is 400, not a table"),
        ("problem.means.0=3", "cannot set an entry of a list"),
        ("problem.penalties.gap_fraction=0.5", "cannot set a key of penalties: it is 0.2, not a table"),
        ("policies.0.eta.scale=2", "cannot set a key of eta: it is 2.0, not a table"),
    ],
)
def test_a_change_that_cannot_be_applied_is_refused(file, change, allowed):
    with pytest.raises(jb.InputError) as caught:
        config.load(file, [change])
    assert (caught.value.key, caught.value.held) == ("--set", change)
    assert allowed in caught.value.allowed


@pytest.mark.parametrize(
    ("change", "key", "held"),
    [
        ("simulation.seeds=", "simulation.seeds", ""),
        ("simulation.seeds=many", "simulation.seeds", "many"),
        ("simulation.seeds=0", "simulation.seeds", 0),
        ("simulation=3", "simulation", 3),
        ("policies.0.eta=-1", "policies[0].eta", -1),
        ("policies=[]", "policies", []),
    ],
)
def test_a_change_to_a_bad_value_is_refused_by_its_key(file, change, key, held):
    with pytest.raises(jb.InputError) as caught:
        config.make_plan(config.load(file, [change]))
    assert (caught.value.key, caught.value.held) == (key, held)


@pytest.mark.parametrize(
    ("content", "allowed"),
    [
        (None, "no such file or directory"),
        (b"[simulation\n", "not TOML: "),
        (b"seeds = 3\nseeds = 4\n", "not TOML: "),
        (b"\xff\xfe", "not TOML: "),
    ],
)
def test_a_file_that_is_not_toml_is_refused(tmp_path, content, allowed):
    path = tmp_path / "bad.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(jb.InputError) as caught:
        config.load(path)
    assert (caught.value.key, caught.value.held) == ("CONFIG", str(path))
    assert caught.value.allowed.startswith(allowed)


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "mark.toml"
    path.write_bytes(b"\xef\xbb\xbf[simulation]\nhorizon = 3\n")
    assert config.load(path) == {"simulation": {"horizon": 3}}


def test_a_folder_is_not_a_config(tmp_path):
    with pytest.raises(jb.InputError, match=r"^cannot read .*: is a directory$"):
        config.load(tmp_path)


# Dotted keys of thousands of parts, which TOML's reader takes seconds to refuse, and dots elsewhere.

DOTS = ".".join(["a"] * 20_000)


LONG = {
    "plain": f"{DOTS} = 1",
    "header": f"[{DOTS}]",
    "array of tables": f"[[{DOTS}]]",
    "inline table": f"x = {{ {DOTS} = 1 }}",
    "spaces": f"{DOTS.replace('.', ' . ')} = 1",
    "quoted": ".".join(["'a b'"] * 20_000) + "=1",
    "after strings": f'x = """"""\n# "\n{DOTS} = 1',
}


@pytest.mark.parametrize("kind", LONG)
def test_a_key_of_thousands_of_parts_is_refused_at_once(tmp_path, kind):
    """Python's TOML reader would take seconds."""
    (tmp_path / "x.toml").write_text(LONG[kind])
    begun = time.process_time()
    with pytest.raises(jb.InputError, match=r"^cannot read .*: not TOML: a key has more than 100 parts$"):
        config.load(tmp_path / "x.toml")
    assert time.process_time() - begun < 1


def test_a_change_of_a_key_of_thousands_of_parts_is_refused_at_once(tmp_path):
    (tmp_path / "x.toml").write_text("")
    begun = time.process_time()
    for change in (f"{DOTS}=1", f"problem.{DOTS}=1"):
        with pytest.raises(jb.InputError, match=r"^--set = .*: must have .* key of at most 100 parts$"):
            config.load(tmp_path / "x.toml", [change])
    assert config.load(tmp_path / "x.toml", [f"problem.means={{{DOTS}=1}}"])["problem"]["means"].startswith("{a.a")
    assert time.process_time() - begun < 1


SHORT = {
    "string": f'label = "{DOTS}"',
    "literal": f"label = '{DOTS}'",
    "lines": f'label = """\n{DOTS}\n"""',
    "literal lines": f"label = '''\n{DOTS} = 1\n'''",
    "escape": f'label = "\\"{DOTS}"',
    "escape in lines": f'label = """\\"""{DOTS}"""',
    "comment": f"x = 1  # {DOTS}",
    "quote in a comment": f"# it's {DOTS}\nx = 1",
    "numbers": f"means = [{', '.join(['0.5'] * 20_000)}]",
    "a hundred": f"{'.'.join(['a'] * 100)} = 1",
}


@pytest.mark.parametrize("kind", SHORT)
def test_dots_elsewhere_are_not_counted(tmp_path, kind):
    (tmp_path / "x.toml").write_text(SHORT[kind])
    assert config.load(tmp_path / "x.toml") == tomllib.loads(SHORT[kind])
