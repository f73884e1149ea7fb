"""Set the first cells of the notebooks, run them, and store their outputs.

    python notebooks/refresh.py [NAME ...]

The address that machines without a clone install from, and the links to Colab, come from `[project.urls]` in
`pyproject.toml`. Outputs keep what a reader sees: texts, tables and figures as PNG.
"""

import argparse
import os
import tomllib
from pathlib import Path

import nbclient
import nbformat

FOLDER = Path(__file__).parent
REPOSITORY = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text())["project"]["urls"]["Homepage"]
INSTALL = f"""\
SOURCE = "git+{REPOSITORY}"  # where a machine without a clone installs from
try:
    import jaxbandit as jb
except ImportError:  # a fresh machine; a JAX that is new enough stays as it is
    from pathlib import Path

    source = ".." if Path("../pyproject.toml").exists() else SOURCE
    %pip install -q {{source}}
    import jaxbandit as jb
import jax

print(f"jaxbandit {{jb.__version__}} with JAX {{jax.__version__}} on {{jax.devices()[0].device_kind}}")"""
KEPT = ("text/plain", "text/html", "text/markdown", "text/latex", "image/png")


def colab_link(name):
    """The line that leads from a notebook to Colab."""
    place = REPOSITORY.removeprefix("https://github.com/")
    return f"[Open in Colab](https://colab.research.google.com/github/{place}/blob/main/notebooks/{name}.ipynb)"


def with_first_cells(notebook, name):
    """The notebook with its link to Colab and its install cell."""
    idea, install = notebook.cells[:2]
    title, *rest = [line for line in idea.source.split("\n") if not line.startswith("[Open in Colab]")]
    idea.source = "\n".join([title, "", colab_link(name), "", *rest[next(i for i, line in enumerate(rest) if line) :]])
    install.source = INSTALL
    return notebook


def run(notebook):
    """Run all cells in the folder of the notebooks, and keep the outputs that a reader sees."""
    own = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}  # figures show in the cells
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(FOLDER)}}).execute(env=own)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
            for output in cell.outputs:
                if "data" in output:
                    output["data"] = {kind: output["data"][kind] for kind in KEPT if kind in output["data"]}
                    output["metadata"] = {}
    notebook.metadata.language_info = {"name": "python"}
    return notebook


def main():
    """Refresh the named notebooks, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="names of notebooks (default: all)")
    for name in parser.parse_args().names or sorted(path.stem for path in FOLDER.glob("*.ipynb")):
        path = FOLDER / f"{name}.ipynb"
        notebook = run(with_first_cells(nbformat.read(path, 4), name))
        nbformat.write(notebook, path)
        print(f"{path.name}: {path.stat().st_size // 1024} KiB", flush=True)


if __name__ == "__main__":
    main()
