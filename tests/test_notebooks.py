"""Every notebook installs the package first and stores its outputs, which are those of its cells."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
REFRESH = importlib.util.spec_from_file_location("refresh_notebooks", FOLDER / "refresh.py")
refresh = importlib.util.module_from_spec(REFRESH)
REFRESH.loader.exec_module(refresh)
NUMBER = re.compile(r"-?\d[\d,_]*\.?\d*(?:e[+-]?\d+)?")
MEASURED = r"0x[0-9a-f]+|JAX [\d.]+ on .*|[\d.]+ (s|million rounds per second)\b"  # addresses, the machine, times
# The steps of a search and the rates that it ends with, some of which do not matter, depend on the model of the CPU
SEARCHED = r"converged after \d+ steps|(?<=^result)(.*)penalties = \[.*\]"
LARGEST = 450  # KiB of a notebook with its outputs
# Lines that begin a figure, which the cell has to show
DRAWS = re.compile(r"^(?:[\w, ()]+ = )?(?:(?:jb\.)?plots\.(?!styles)\w+|plt\.subplots|\w+\.figure)\(", re.MULTILINE)


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
    """From the one address of the project; `python notebooks/refresh.py` sets it."""
    assert source(code(notebook)[0]) == refresh.INSTALL


def test_it_opens_in_colab(request, notebook):
    name = request.node.callspec.params["notebook"].stem
    assert refresh.colab_link(name) in source(notebook["cells"][0]).split("\n")


def test_outputs_are_stored(request, notebook):
    cells = code(notebook)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    drawn = [len(DRAWS.findall(source(cell))) for cell in cells]
    shown = [sum("image/png" in output.get("data", {}) for output in cell["outputs"]) for cell in cells]
    assert sum(shown) > 0
    assert shown == drawn
    assert all(output["output_type"] != "error" for cell in cells for output in cell["outputs"])
    assert request.node.callspec.params["notebook"].stat().st_size <= LARGEST * 1024


def shown(cell):
    """What a cell shows: its words, the numbers in them, and the number of its figures."""
    texts = [output["text"] for output in cell.outputs if output.output_type == "stream"]
    data = [output.data for output in cell.outputs if "data" in output]
    texts += ["".join(kinds["text/plain"]) for kinds in data if "image/png" not in kinds and "text/plain" in kinds]
    text = re.sub(SEARCHED, r"\1", re.sub(MEASURED, "", "\n".join(texts)), flags=re.MULTILINE)
    numbers = [float(found.replace(",", "").replace("_", "")) for found in NUMBER.findall(text)]
    return NUMBER.sub("#", text).split(), numbers, sum("image/png" in kinds for kinds in data)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_its_cells_show_the_stored_outputs(path):
    """Words are equal, numbers to 3 digits, and there are as many figures."""
    stored = nbformat.read(path, 4)
    again = refresh.run(nbformat.read(path, 4))
    for before, after in zip(stored.cells, again.cells, strict=True):
        if before.cell_type == "code":
            (words, numbers, figures), (new_words, new_numbers, new_figures) = shown(before), shown(after)
            assert (before.id, words, figures) == (after.id, new_words, new_figures)
            assert new_numbers == pytest.approx(numbers, rel=2e-3, abs=1e-9), before.id


@pytest.mark.slow
def test_the_first_cell_installs_where_there_is_no_clone(tmp_path):
    """In an environment with IPython alone, from a local address, away from the repository."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "ipython"], check=True, capture_output=True)
    cell = refresh.INSTALL.replace(f"git+{refresh.REPOSITORY}", FOLDER.parent.as_uri())
    assert cell != refresh.INSTALL
    (tmp_path / "cell.ipy").write_text(cell + "\nassert '.venv' not in jb.__file__, jb.__file__\n")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    clean["PIP_COMPILE"] = "0"  # modules are compiled when they are imported: half of the time of the installation
    words = [python, "-m", "IPython", "--no-banner", "cell.ipy"]
    ended = subprocess.run(words, cwd=tmp_path, env=clean, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:] + ended.stdout[-2000:]
    assert "jaxbandit 0." in ended.stdout
    assert " with JAX " in ended.stdout


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
    assert not re.search(r"from jaxbandit|import jaxbandit\.|\bjb\._[a-z]", sources)
