"""The shape of the package (folders in one order of import, no cycles), and short files in small folders everywhere."""

import ast
import functools
import tomllib
from pathlib import Path

import jaxbandit

ROOT = Path(jaxbandit.__file__).parent
# Each folder imports only from itself and from what stands before it.
ORDER = ["core", "environment", "policies", "metrics", "engine", "experiments", "tuning", "papers", "cli"]
OUTSIDE = ["__init__", "__main__"]


def imports(path):
    """The files of the package that a file imports, inside functions and for type checking too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "jaxbandit":
            folder = ROOT.joinpath(*node.module.split(".")[1:])
            for name in node.names:
                yield next(
                    place
                    for place in (
                        folder / f"{name.name}.py",
                        folder / name.name / "__init__.py",
                        folder.with_suffix(".py"),
                        folder / "__init__.py",
                    )
                    if place.exists()
                )


@functools.cache
def files():
    """What each file of the package imports."""
    return {path: set(imports(path)) for path in ROOT.rglob("*.py")}


def test_folders_import_in_one_order():
    place = {name: number for number, name in enumerate([*ORDER, *OUTSIDE])}
    for path, targets in files().items():
        for target in targets:
            one, other = (p.relative_to(ROOT).parts[0].removesuffix(".py") for p in (path, target))
            assert place[other] <= place[one], f"{path.relative_to(ROOT)} imports {target.relative_to(ROOT)}"
    assert sum(map(len, files().values())) > 500


def cycle(edges):
    """Some nodes that import each other in a circle, if any."""
    left = {node: set(targets) - {node} for node, targets in edges.items()}
    while leaves := [node for node, targets in left.items() if not targets & left.keys()]:
        for node in leaves:
            del left[node]
    return sorted(map(str, left))


def test_no_files_and_no_folders_import_each_other():
    assert not cycle({path: targets for path, targets in files().items() if path.stem != "__init__"})
    for folder in {path.parent for path in files()}:
        inside = {}
        for path, targets in files().items():
            if path.is_relative_to(folder) and path != folder / "__init__.py":
                name = path.relative_to(folder).parts[0]
                others = {t.relative_to(folder).parts[0] for t in targets if t.is_relative_to(folder)} - {"__init__.py"}
                inside.setdefault(name, set()).update(others)
        assert not cycle(inside), folder


def test_folders_and_files_are_small():
    """In the package, the tests and the benchmarks; only `tests` itself, with a folder per area, may be larger."""
    tests = Path(__file__).parent
    paths = [*files(), *tests.rglob("*.py"), *(tests.parent / "benchmarks").rglob("*.py")]
    for path in paths:
        assert len(path.read_text().splitlines()) <= 400, path
    for folder in {path.parent for path in paths} - {tests}:
        entries = [path.name for path in folder.iterdir() if path.name != "__pycache__"]
        assert len(entries) <= 12, (folder, sorted(entries))


def test_every_package_is_installed():
    listed = set(tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    folders = {path.parent.relative_to(ROOT.parent) for path in ROOT.rglob("__init__.py")}
    assert listed == {".".join(folder.parts) for folder in folders} | {"jaxbandit.configs"}
