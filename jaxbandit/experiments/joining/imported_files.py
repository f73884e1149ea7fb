"""The attribute `imports` of results: the files that the command line imported, with digests of their content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path


def digests(files: Sequence[Path]) -> dict[str, str]:
    """The SHA-256 of each file, by its name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def write(files: Mapping[str, str]) -> str:
    """The text for the attribute."""
    return json.dumps(dict(files))


def read(text: object) -> dict[str, str]:
    """The digests in the attribute; empty where there is none."""
    held = json.loads(text) if isinstance(text, str) else {}
    return {str(name): str(digest) for name, digest in held.items()}


def joined(first: object, second: object) -> str:
    """The attribute of joined results. A file that differs between the two has both digests."""
    one, two = read(first), read(second)
    both = {
        name: "+".join(dict.fromkeys(files[name] for files in (one, two) if name in files)) for name in {**one, **two}
    }
    return write(both)
