"""The pages of `docs/`: their examples run, their images are there, and their configs, too."""

import re
from pathlib import Path

import pytest

from jaxbandit.cli import main

DOCS = Path(__file__).parent.parent / "docs"
PAGES = sorted(DOCS.rglob("*.md"))


def test_there_are_pages():
    assert {page.stem for page in PAGES} >= {"changing-means", "groups", "welfare", "chances"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_run(page, capsys):
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    assert blocks
    scope = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), scope)
    assert "nan" not in capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_and_configs_exist(page):
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert target.startswith("http") or (page.parent / target).exists(), target
    for config in re.findall(r"configs/[\w/.-]+\.toml", text):
        assert (DOCS.parent / config).exists(), config


@pytest.mark.slow
@pytest.mark.parametrize("name", ["changing-means", "groups", "welfare", "chances"])
def test_configs_run(name, tmp_path):
    config = DOCS.parent / "configs" / "beyond" / f"{name}.toml"
    assert (
        main(["run", str(config), "--out", str(tmp_path), "--set", "simulation.seeds=2", "--quiet", "--no-html"]) == 0
    )
    assert list(tmp_path.rglob("*.png"))
