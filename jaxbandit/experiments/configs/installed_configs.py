"""The configs that are installed with the package."""

from __future__ import annotations

import difflib
from pathlib import Path

_PACKAGE = Path(__file__).parents[2]
CONFIGS = next(folder for folder in (_PACKAGE / "configs", _PACKAGE.parent / "configs") if folder.is_dir())


def names() -> list[str]:
    """Their names, such as "quickstart" and "penalties/figure-2-k5", in order."""
    return sorted(path.relative_to(CONFIGS).with_suffix("").as_posix() for path in CONFIGS.rglob("*.toml"))


def installed_file(name: str) -> Path | None:
    """The file of a config by its name; None where no config has it."""
    return CONFIGS / f"{name}.toml" if name in names() else None


def near_name(path: Path) -> str:
    """A suggestion for a path that does not exist: the nearest name of an installed config, in parentheses."""
    near = difflib.get_close_matches(path.as_posix(), names(), n=1)
    return f" (did you mean the installed config {near[0]!r}?)" if near else ""


def about_config(name: str) -> str:
    """The first sentence of the comment that begins a config; empty where there is none."""
    lines = []
    for line in (CONFIGS / f"{name}.toml").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return " ".join(lines).split(". ")[0].strip()
