"""The README and the pages of `docs/`: their examples run, their images are there, and their configs, too."""

import importlib
import json
import re
from pathlib import Path

import jax
import pytest
from sweeps import swept

from jaxbandit.cli import main
from jaxbandit.metrics.metric import METRICS
from jaxbandit.metrics.welfare import INSTANCE_NUMBERS
from jaxbandit.papers import PAPERS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MADE = ("generated", "notebooks")  # folders of pages that the build writes
COPIED = ("benchmarks.md", "changelog.md", "contributing.md", "speed.md")
PAGES = [
    page
    for page in sorted(DOCS.rglob("*.md"))
    if page.parent.name not in (*MADE, "verdicts") and page.relative_to(DOCS).as_posix() not in COPIED
]
FAST = {"five-minutes"}  # of the pages
README = (ROOT / "README.md").read_text()
STORED_AT_QUICK_SIZES = {"merit"}  # the others are verdicts of full reproductions
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
        promotion = (
            "standard" if "optax" in block else jax.config.jax_numpy_dtype_promotion
        )  # optax needs JAX's default
        with jax.numpy_dtype_promotion(promotion):
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


def test_the_page_of_metrics_has_every_metric_with_a_formula():
    text = (DOCS / "concepts" / "metrics.md").read_text()
    entries = dict(re.findall(r"^`(\w+)` \(.+\)\n: (\$\$.+\$\$)\n", text, re.MULTILINE))
    assert sorted(entries) == sorted([*METRICS, *INSTANCE_NUMBERS])


def test_the_speeds_of_the_readme_are_those_of_the_committed_results():
    (day,) = re.findall(r"Millions of rounds per second, .* on (\d{4}-\d\d-\d\d)\.", README)
    rows = json.loads((ROOT / "benchmarks" / "results" / f"{day}-cpu.json").read_text())["rows"]
    measured = {row["policy"]: row["million_rounds_per_second"] for row in rows}
    lines = re.findall(r"^\| `([\w-]+)`, K = \d+[^|]*\| ([\d.]+) \| ([\d.]+) \|", README, re.MULTILINE)
    assert len(lines) >= 5
    for kind, ours, numba in lines:
        speeds = measured[kind]
        assert [float(ours), float(numba)] == pytest.approx([speeds["jaxbandit"], speeds["numba"]], rel=0.03), (
            kind
        )  # two or three digits


@pytest.mark.parametrize(
    "name", swept(["changing-means", "groups", "welfare", "chances"], ["changing-means", "groups"])
)
def test_configs_run(name, tmp_path):
    config = DOCS.parent / "configs" / "beyond" / f"{name}.toml"
    assert (
        main(["run", str(config), "--out", str(tmp_path), "--set", "simulation.seeds=2", "--quiet", "--no-html"]) == 0
    )
    assert list(tmp_path.rglob("*.png"))


@pytest.mark.parametrize("paper", PAPERS)
def test_the_page_of_a_paper_has_its_verdicts(paper):
    """A row for each claim, and a figure; `docs/papers/store_verdicts.py` stores them."""
    page = (DOCS / "papers" / f"{paper}.md").read_text()
    results = (DOCS / "papers" / "verdicts" / f"{paper}.md").read_text()
    assert f"```{{include}} verdicts/{paper}.md\n```" in page
    assert (" at quick sizes. " in results) == (paper in STORED_AT_QUICK_SIZES)
    figures = re.findall(r"\]\((verdicts/[\w-]+\.png)\)", results)
    assert [(DOCS / "papers" / figure).stat().st_size < 150_000 for figure in figures] == [True]
    rows = [line for line in results.splitlines() if line.startswith("| ")][1:]
    claims = importlib.import_module(f"jaxbandit.papers.{paper}.claims").CLAIMS
    stated = [re.sub(r"\\(.)", r"\1", row).split(" | ")[0] for row in rows]
    assert stated == [f"| {claim.statement.rstrip('.')} ({claim.place})" for claim in claims]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_paragraph_is_not_taken_for_a_list(page):
    """A line of a paragraph that begins with a number and a point would be an item of a list."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    assert re.findall(r"^(?![-\d:|>#]|   ).*[\w$]\n\d+\. .*", text, re.MULTILINE) == []
