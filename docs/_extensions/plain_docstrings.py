"""Docstrings as Sphinx reads them: outside code, `*`, `|` and `_` are the signs that they are, and not markup."""

import re

_CODE = re.compile(r"``.+?``|`[^`]+`")
_SIGNS = re.compile(r"([*|\\]|_(?=\W|$))")


def setup(app):
    """Connect to autodoc; called by Sphinx. Runs before napoleon finds the sections."""
    app.connect("autodoc-process-docstring", _escape, priority=100)
    return {"parallel_read_safe": True}


def _escape(app, what, name, obj, options, lines):
    in_example = False
    for number, line in enumerate(lines):
        in_example = line.lstrip().startswith((">>>", "...")) or (in_example and bool(line.strip()))
        if not in_example:
            lines[number] = _escaped(line)


def _escaped(line):
    """The line with signs escaped outside code."""
    parts, start = [], 0
    for code in _CODE.finditer(line):
        parts += [_SIGNS.sub(r"\\\1", line[start : code.start()]), code[0]]
        start = code.end()
    return "".join([*parts, _SIGNS.sub(r"\\\1", line[start:])])
