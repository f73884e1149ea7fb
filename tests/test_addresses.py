"""The project's address is set in `pyproject.toml`; whatever repeats it says the same."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
URLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
OF_THE_PROJECT = re.compile(
    r"https://[\w.-]*(?:github|readthedocs|githubusercontent)[\w.-]*/?[\w./-]*jaxbandit[\w./-]*"
)


def test_links_of_the_readme_are_absolute():
    """A package index shows it without the repository around it."""
    targets = re.findall(r"\]\(([^)]+)\)", (ROOT / "README.md").read_text())
    assert targets
    assert [target for target in targets if not target.startswith("https://")] == []


def test_addresses_are_those_of_the_project():
    repository = URLS["Homepage"].removeprefix("https://github.com/")
    allowed = (URLS["Homepage"], URLS["Documentation"], f"https://raw.githubusercontent.com/{repository}/")
    pages = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CITATION.cff", *ROOT.glob("docs/*/*.md")]
    paths = [*pages, *ROOT.glob("notebooks/*.ipynb"), *ROOT.glob(".github/ISSUE_TEMPLATE/*.yml")]
    texts = {path: path.read_text() for path in paths}
    found = [(path.name, address) for path, text in texts.items() for address in OF_THE_PROJECT.findall(text)]
    assert found
    assert [(name, address) for name, address in found if not address.startswith(allowed)] == []


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120
