"""The shape of the package: imports in one direction, short files, one file and one line a policy."""

import ast
import tomllib
from pathlib import Path

import jaxbandit

ROOT = Path(jaxbandit.__file__).parent
LAYERS = [
    ["errors", "struct", "fusion", "about", "plain", "outputs", "rewriting", "roots"],
    ["rows", "contracts", "canonical", "sealed", "streams"],
    ["kernel", "lanes"],
    ["exact", "bits", "randomness", "queues", "sums", "expansion", "progress", "progress_folder", "moments"],
    ["component", "conversions", "tallies", "until", "rounding"],
    ["rewards", "delays", "merit", "opportunity"],
    ["problem"],
    ["instances", "facts"],
    ["rounds"],
    ["selection"],
    ["policy"],
    ["proportional"],
    ["indices"],
    ["phases", "claims"],
    ["policies", "setting"],
    ["engine"],
    ["optimum", "blocks", "theory"],
    ["metrics", "devices", "groups"],
    ["programs"],
    ["bounds", "memory", "processes", "stretches", "outcome", "identity", "limits"],
    ["recording"],
    ["simulate"],
    ["results", "estimates"],
    ["grids"],
    ["config", "description"],
    ["api", "earlier"],
    ["palette"],
    ["heat_maps", "sweeps"],
    ["plots"],
    ["papers", "tuning"],
    ["report"],
    ["summary", "reproduce", "writing"],
    ["cli"],
    ["__init__", "__main__"],
]


def layer(path):
    """The place of a module, or of the folder that holds it, in `LAYERS`."""
    name = path.relative_to(ROOT).parts[0].removesuffix(".py")
    return next(i for i, names in enumerate(LAYERS) if name in names)


def imported(path):
    """The package's modules that a file imports when it runs (not those it imports for type checking)."""
    tree = ast.parse(path.read_text())
    quiet = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not node.level or node in quiet:
            continue
        base = path.parent if node.level == 1 else path.parent.parent
        for target in [node.module] if node.module else [alias.name for alias in node.names]:
            place = base / target.replace(".", "/")
            yield place if place.is_dir() else place.with_suffix(".py")


def test_imports_run_one_way():
    seen = 0
    for path in ROOT.rglob("*.py"):
        for target in imported(path):
            seen += 1
            inside = path.parent == target.parent != ROOT
            assert inside or layer(target) < layer(path), f"{path.relative_to(ROOT)} imports {target.relative_to(ROOT)}"
    assert seen > 50


def test_every_package_is_installed():
    listed = set(tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    folders = {path.parent.relative_to(ROOT.parent) for path in ROOT.rglob("__init__.py")}
    assert listed == {".".join(folder.parts) for folder in folders} | {"jaxbandit.configs"}


def test_files_are_short():
    lengths = {path: len(path.read_text().splitlines()) for path in ROOT.rglob("*.py")}
    assert max(lengths.values()) <= 400
    algorithms = {p: n for p, n in lengths.items() if p.parent.name in ("indices", "policies") and p.stem != "__init__"}
    assert sum(n <= 60 for n in algorithms.values()) > len(algorithms) / 2


def test_a_policy_is_one_file_and_one_line():
    for folder in (ROOT / "indices", ROOT / "policies"):
        listed = [
            line.split()[1].removeprefix(".")
            for line in (folder / "__init__.py").read_text().splitlines()
            if line.startswith("from")
        ]
        files = {path.stem for path in folder.glob("*.py")} - {"__init__", "needs"}
        assert sorted(listed) == sorted(files)
