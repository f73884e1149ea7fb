"""Every notebook installs the package first and stores no outputs. nbmake runs the notebooks."""

import json
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
INSTALL = """\
try:
    import jaxbandit as jb
except ImportError:  # a fresh machine: from the clone around this notebook, or else from PyPI
    from pathlib import Path

    if Path("../pyproject.toml").exists():
        %pip install -q ..
    else:
        %pip install -q jaxbandit
    import jaxbandit as jb"""


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    return json.loads(request.param.read_text())


def source(cell):
    return "".join(cell["source"])


def code(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_there_is_one_for_each_paper():
    papers = {"penalties", "guarantees", "merit_and_delays", "several_plays", "opportunities"}
    assert papers <= {path.stem for path in NOTEBOOKS}


def test_the_gallery_lists_them():
    gallery = (FOLDER.parent / "docs" / "gallery" / "index.md").read_text()
    assert [path.name for path in NOTEBOOKS if f"\nnotebooks/{path.stem}\n" not in gallery] == []


def test_the_first_code_cell_installs_the_package(notebook):
    assert source(code(notebook)[0]) == INSTALL


def test_no_outputs_are_stored(notebook):
    assert [cell["id"] for cell in code(notebook) if cell["outputs"] or cell["execution_count"] is not None] == []


def test_the_kernel_is_python3(notebook):
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"


def test_cells_have_readable_ids(notebook):
    """Cell ids are words, not the random ids that editors make, so that differences between versions are readable."""
    names = [cell["id"] for cell in notebook["cells"]]
    assert len(set(names)) == len(names)
    assert names[:2] == ["idea", "install"]
    assert any(name.startswith("try") for name in names)


def test_it_begins_with_a_title(notebook):
    assert source(notebook["cells"][0]).startswith("# ")


def test_only_public_names_are_used(notebook):
    """Apart from `import jaxbandit as jb`, nothing is imported from the package."""
    sources = "\n".join(source(cell) for cell in code(notebook))
    assert not re.search(r"from jaxbandit|import jaxbandit\.|\bjb\._", sources)
