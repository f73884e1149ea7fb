"""The README and the pages of `docs/`: their examples run, their images are there, and their configs, too."""

import re
from pathlib import Path

import pytest

from jaxbandit.cli import main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MADE = ("generated", "notebooks")  # folders of pages that the build writes
COPIED = ("benchmarks.md", "changelog.md", "contributing.md")
PAGES = [
    page
    for page in sorted(DOCS.rglob("*.md"))
    if page.parent.name not in MADE and page.relative_to(DOCS).as_posix() not in COPIED
]
FAST = ("five-minutes", "changing-means", "groups", "welfare", "chances")
EXAMPLES = [page for page in (ROOT / "README.md", *PAGES) if "```python" in page.read_text()]


def fast_or_slow(page):
    return page if page.stem in FAST else pytest.param(page, marks=pytest.mark.slow)


def test_there_are_pages():
    assert {page.stem for page in PAGES} >= {"changing-means", "groups", "welfare", "chances"}


@pytest.mark.parametrize("page", [fast_or_slow(page) for page in EXAMPLES], ids=lambda page: page.stem)
def test_examples_run(page, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # examples write figures and states
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    assert blocks
    scope = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), scope)
    assert "nan" not in capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_and_configs_exist(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        made = any(f"{part}/" in target for part in MADE) or target.rpartition("/")[2] in COPIED
        assert target.startswith("http") or made or (page.parent / target).exists(), target
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
