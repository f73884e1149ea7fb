"""Dotted keys of thousands of parts, which TOML's reader takes long to refuse, and dots that are none of a key."""

import time
import tomllib

import pytest

import jaxbandit as jb
from jaxbandit.experiments.configs import config as configs

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
    """TOML's reader takes seconds to do so."""
    (tmp_path / "x.toml").write_text(LONG[kind])
    begun = time.process_time()
    with pytest.raises(jb.InputError, match=r"^CONFIG = .*: must be TOML; a key has more than 100 parts$"):
        configs.load(tmp_path / "x.toml")
    assert time.process_time() - begun < 1


def test_a_change_of_a_key_of_thousands_of_parts_is_refused_at_once(tmp_path):
    (tmp_path / "x.toml").write_text("")
    begun = time.process_time()
    for change in (f"{DOTS}=1", f"problem.{DOTS}=1"):
        with pytest.raises(jb.InputError, match=r"^--set = .*: must be section.key=value, the key of at most"):
            configs.load(tmp_path / "x.toml", [change])
    assert configs.load(tmp_path / "x.toml", [f"problem.means={{{DOTS}=1}}"])["problem"]["means"].startswith("{a.a")
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
def test_dots_elsewhere_are_no_long_key(tmp_path, kind):
    (tmp_path / "x.toml").write_text(SHORT[kind])
    assert configs.load(tmp_path / "x.toml") == tomllib.loads(SHORT[kind])
