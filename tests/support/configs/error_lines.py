"""The lines that errors about input print."""

import re

from jaxbandit.core.errors import UnknownKeyError, UnreadableError


def assert_line(error):
    """The error's text is one line that names the key, its value and the rule, in the form of the error's class."""
    line = str(error)
    assert line.isprintable()  # so it is one line
    assert len(line) < 600  # the names of all policies take 390
    if isinstance(error, UnknownKeyError):
        assert re.fullmatch(r"unknown key \S.*; valid keys: .+", line)
        named = line.removeprefix("unknown key ")
    elif isinstance(error, UnreadableError):
        assert re.fullmatch(r"cannot read .*: .+", line)
        return
    elif error.held is None:
        assert re.fullmatch(r"\S.* is missing: (must|cannot) .+", line)
        named = line
    else:
        assert re.fullmatch(r"\S.* = .+: (must|cannot) .+", line)
        named = line
    if error.key.isprintable() and len(error.key) < 100:
        assert named.startswith((error.key, repr(error.key)))
