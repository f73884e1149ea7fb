"""Names that the code no longer uses: each thing has one name."""

import ast
from pathlib import Path

import jaxbandit

ROOT = Path(jaxbandit.__file__).parent
BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
GONE = [
    "Setting",
    "Entry",
    "Form",
    "Leg",
    "Stretch",
    "Outcome",
    "Job",
    "Group",
    "Facts",
    "Truth",
    "Tally",
    "Round",
    "Course",
    "entry",
    "form",
    "leg",
    "stretch",
    "outcome",
    "job",
    "facts",
    "truth",
    "tally",
    "digits",
    "course",
    "apart",
    "either",
    "once",
    "deepest",
    "owed",
    "due",
    "penalty",
    "price",
    "transfer_cost",
    "rate",
]


def names(tree):
    """The names of classes, functions, arguments, attributes and fields, without leading underscores."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.arg | ast.keyword):
            yield node.arg
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def test_no_name_is_one_of_the_old_words():
    found = [
        f"{path}: {name}"
        for path in (*ROOT.rglob("*.py"), *BENCHMARKS.rglob("*.py"))
        for name in [path.stem, *names(ast.parse(path.read_text()))]
        if name and name.lstrip("_") in GONE
    ]
    assert not found
