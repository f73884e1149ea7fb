"""Pages that lie elsewhere in the repository, copied beside the other pages: notebooks, benchmarks, contributing."""

import shutil
from pathlib import Path

COPIED = {
    "benchmarks/README.md": "benchmarks.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}


def setup(app):
    """Copy the pages before Sphinx reads any; called by Sphinx."""
    app.connect("config-inited", _copy_all)
    return {"parallel_read_safe": True}


def _copy_all(app, config):
    docs = Path(app.srcdir)
    root = docs.parent
    for source, target in COPIED.items():
        _write(docs / target, (root / source).read_text())
    notebooks = docs / "gallery" / "notebooks"
    notebooks.mkdir(exist_ok=True)
    for notebook in sorted((root / "notebooks").glob("*.ipynb")):
        target = notebooks / notebook.name
        if not target.exists() or target.read_bytes() != notebook.read_bytes():
            shutil.copy(notebook, target)


def _write(path, text):
    """Write a page if it has changed, so that Sphinx reads changed pages only."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
