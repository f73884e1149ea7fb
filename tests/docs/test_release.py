"""Dependencies, versions and addresses agree wherever they are stated, and the workflows are pinned and do little."""

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest
import yaml

import jaxbandit as jb

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
INSTALL = (ROOT / "docs" / "start" / "install.md").read_text()
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text()) for path in (ROOT / ".github" / "workflows").glob("*.yml")}
BY_OTHERS = {  # what imports it for us, where no file of the package does
    "filelock": "jax/_src/lru_cache.py",
}
BY_NAME = {"h5netcdf": 'engine="h5netcdf"'}  # how xarray is told to import it


def packages(requirements):
    return [re.match(r"[\w-]+", requirement)[0] for requirement in requirements]


def table(title):
    """The names in the first column of the table below a heading of the page about installation."""
    section = INSTALL.partition(f"## {title}\n")[2].partition("\n## ")[0]
    first = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return [name for cell in first for name in re.findall(r"`([\w-]+)`", cell)]


@pytest.mark.parametrize("package", packages(PROJECT["dependencies"]))
def test_a_dependency_is_used(package):
    if package in BY_OTHERS:
        text = importlib.metadata.distribution("jax").locate_file(BY_OTHERS[package]).read_text()
    else:
        text = "\n".join(path.read_text() for path in (ROOT / "jaxbandit").rglob("*.py"))
    module = {"fonttools": "fontTools"}.get(package, package.replace("-", "_"))
    assert BY_NAME.get(package, "") in text
    assert package in BY_NAME or re.search(rf"^\s*(import|from) {module}\b", text, re.MULTILINE)


def test_what_is_imported_is_a_dependency():
    text = "\n".join(path.read_text() for path in (ROOT / "jaxbandit").rglob("*.py"))
    imported = {name.split(".")[0] for name in re.findall(r"^\s*(?:from|import) ([\w.]+)", text, re.MULTILINE)}
    modules = importlib.metadata.packages_distributions()
    distributions = {name.lower().replace("_", "-") for module in imported for name in modules.get(module, [])}
    optional = {"ipython", "jaxbandit"}
    assert distributions - optional <= set(packages(PROJECT["dependencies"]))
    assert len(distributions) > 10


def test_the_documentation_lists_dependencies_and_extras():
    assert sorted(table("What is installed")) == sorted(packages(PROJECT["dependencies"]))
    assert sorted(table("Extras")) == sorted(PROJECT["optional-dependencies"])


def test_the_citation_file_agrees_with_the_package():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == PROJECT["version"] == jb.__version__
    assert citation["license"] == PROJECT["license"]
    assert citation["authors"] == PROJECT["authors"] == [{"name": "The jaxbandit developers"}]
    assert citation["repository-code"] == PROJECT["urls"]["Homepage"]
    assert citation["url"] == PROJECT["urls"]["Documentation"]
    assert sorted(citation["keywords"]) == sorted(PROJECT["keywords"])


def steps(workflow):
    return [step for job in WORKFLOWS[workflow]["jobs"].values() for step in job["steps"]]


def test_the_workflows_are_there():
    assert sorted(WORKFLOWS) == ["ci", "docs", "nightly-jax", "publish"]


@pytest.mark.parametrize("name", sorted(WORKFLOWS))
def test_actions_are_pinned_and_may_do_little(name):
    uses = [step["uses"] for step in steps(name) if "uses" in step]
    assert uses
    assert [action for action in uses if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action)] == []
    assert WORKFLOWS[name]["permissions"] == {"contents": "read"}
    assert all(job["timeout-minutes"] <= 60 for job in WORKFLOWS[name]["jobs"].values())


def test_a_version_is_written_behind_each_pin():
    lines = [line for path in (ROOT / ".github" / "workflows").glob("*.yml") for line in path.read_text().splitlines()]
    pins = [line for line in lines if "uses:" in line]
    assert [line for line in pins if not re.search(r"@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line)] == []
    assert len({re.sub(r".*uses: ", "", line) for line in pins}) == len(
        {re.search(r"uses: (.*)@", line)[1] for line in pins}
    )


def test_the_workflows_run_the_commands_of_the_readme():
    readme = (ROOT / "README.md").read_text()
    commands = [step.get("run", "") for step in steps("ci")]
    assert ".ci/run" in commands
    test = next(command for command in commands if "pytest" in command)
    assert f"```sh\n{test}\n```" in readme
    assert f"\n    {test}\n" in (ROOT / ".ci" / "run").read_text()


def test_versions_of_python_agree():
    matrix = WORKFLOWS["ci"]["jobs"]["pairs"]["strategy"]["matrix"]
    minor = [line.rpartition(" :: ")[2] for line in PROJECT["classifiers"] if " :: Python :: 3." in line]
    assert set(matrix["python"]) <= set(minor)
    assert PROJECT["requires-python"] == f">={minor[0]}"
    assert matrix["python"][0] == minor[0]
    assert matrix["python"][-1] == minor[-1]
    assert {pair["python"]: pair["jax"] for pair in matrix["include"]} == {"3.11": "0.10", "3.13": "0.11"}


def test_a_release_is_tested_and_published_without_a_token():
    jobs = WORKFLOWS["publish"]["jobs"]
    assert jobs["publish"]["needs"] == "test"
    assert jobs["test"]["needs"] == "build"
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert jobs["publish"]["if"] == "github.event_name == 'release'"
    assert "secrets." not in (ROOT / ".github" / "workflows" / "publish.yml").read_text()
    assert sorted(jobs["test"]["strategy"]["matrix"]["kind"]) == ["sdist", "wheel"]
