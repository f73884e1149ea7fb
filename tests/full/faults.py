"""One-line faults in the package, and whether the tests notice them: a mutation test.

    python faults.py draw ROOT faults.json --count 60 --seed 21
    python faults.py run ROOT faults.json outcomes.json [--only 3 17] [--seconds 60]

ROOT is a checkout: the package and its tests. `draw` only reads it. `run` works in a copy of it, one fault at a time,
and writes the outcomes after every fault: started again, it goes on where it stopped (`--only` plays those again).

A fault is its `file`, `line`, and that line's `old` and `new` text. After code has moved, edit these four by hand;
`function` and `key` (names, numbers and operators of the old line) help to find the line.

A fault is put to the test files that name its module: in their imports, as `jb.X`, or by a name it registers; directly,
through helper modules, or through a conftest.py. Where there are none: to those that name a module that imports it, one
or two levels up. The most specific come first. They have a number of seconds of processor time (others may share the
machine), and five times that by the clock. The outcome is "caught" (with the first test that failed), "survived" or
"time out". If a test hangs or crashes, the fault is caught where without it the same test does not.

If JAX_COMPILATION_CACHE_DIR is set the tests compile into that folder, instead of one of their own for each run.
"""

import argparse
import ast
import contextlib
import functools
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from faults_drawn import PACKAGE, draw

KEPT = ("JAX_COMPILATION_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS")
GIVEN = {name: os.environ[name] for name in KEPT if name in os.environ}  # before a conftest.py changes it


class Naming:
    """Which test files name a module."""

    def __init__(self, root):
        self.root, self.tests = root, root / "tests"
        modules = {path.relative_to(root).with_suffix("").parts: path for path in (root / PACKAGE).rglob("*.py")}
        self.modules = {".".join(m[:-1] if m[-1] == "__init__" else m): path for m, path in modules.items()}
        self.own = {path.relative_to(root).with_suffix("").parts: path for path in self.tests.rglob("*.py")}
        self.read, self.named = functools.cache(self.read), functools.cache(self.named)

    def read(self, path):
        """A file's imports `[(module, name or None, known as)]`, and its `a.b`, strings and `name=...`."""
        imports, words, above = [], set(), path.relative_to(self.root).parts
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imports += [(a.name, None, a.asname or a.name.split(".")[0]) for a in node.names]
            elif isinstance(node, ast.ImportFrom):
                base = [*(above[: -node.level] if node.level else ()), *filter(None, [node.module])]
                imports += [(".".join(base), a.name, a.asname or a.name) for a in node.names]
            elif isinstance(node, ast.Attribute):
                words.add(ast.unparse(node))
            elif isinstance(node, ast.ClassDef):
                words |= {f"name={ast.unparse(k.value)}" for k in node.keywords if k.arg == "name"}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                words.add(repr(node.value))
        return imports, words

    def origin(self, module, name):
        """The module that a module's name comes from."""
        for base, imported, known in self.read(self.modules[module])[0]:
            if known == name and base in self.modules and (base, imported) != (module, name):
                return self.origin(base, imported) if imported else base
        return f"{module}.{name}" if f"{module}.{name}" in self.modules else module

    def named(self, path):
        """The package's modules that a file names."""
        found, known, (imports, words) = set(), {}, self.read(path)
        for base, name, alias in imports:
            if base in self.modules:
                known[alias] = self.origin(base, name) if name else base if alias != PACKAGE else PACKAGE
                found |= {base, known[alias]}
        for first, *names in (word.split(".") for word in words):
            module = known.get(first)
            for name in names if module else ():
                module = self.origin(module, name)
                found.add(module)
        return found

    def read_with(self, path):
        """A test file, the helper modules it imports, theirs too, and each conftest.py above it."""
        found, new = [], [path, *(p for p in self.own.values() if p.name == "conftest.py" and p.parent in path.parents)]
        while new:
            found.append(new.pop(0))
            called = {m for base, name, _ in self.read(found[-1])[0] for m in (base, f"{base}.{name}")}
            called = [tuple(module.split(".")) for module in called]
            helpers = [path for parts, path in self.own.items() if any(parts[-len(m) :] == m for m in called)]
            new += [helper for helper in helpers if helper not in (*found, *new)]
        return found

    def files(self, name):
        """The test files for a module, the most specific first: of like names, direct, naming few modules."""
        module = next(m for m, path in self.modules.items() if path == self.root / name)
        aims, own, found = {module}, {*re.split("[._]", module)} - {PACKAGE}, []
        for _ in range(3):
            registered = {word[5:] for aim in aims for word in self.read(self.modules[aim])[1] if word[:5] == "name="}
            for path in sorted(self.tests.rglob("test_*.py")):
                every = self.read_with(path)
                hits = [bool(self.named(p) & aims or self.read(p)[1] & registered) for p in every]
                test = path.relative_to(self.root).as_posix()
                words, many = {*re.split("[/_.]", test)} - {"tests", "test", "py"}, set().union(*map(self.named, every))
                alike = len(words & own) / len(words | own)
                found += [(-alike, not hits[0], len(many), test)] if any(hits) else []
            if found:
                break
            aims |= {m for m, path in self.modules.items() if aims & self.named(path)}
        return [test for *_, test in sorted(found)]


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    """As a plugin: compile into the folder given from outside, whatever a conftest.py has chosen."""
    import jax

    os.environ.update(GIVEN)
    for name, value in GIVEN.items():
        jax.config.update(name.lower(), value if name == KEPT[0] else float(value))


def pytest_runtest_logstart(nodeid):
    with open(os.environ["FAULTS_LOG"], "a") as log:
        log.write(f"{time.time()} {nodeid}\n")


def play(copy, files, seconds):
    """Run tests: exit status (-SIGXCPU: time ran out), seconds taken, words on failures, `[(second, test)]` begun."""
    words = f"-m pytest -x -q -rfE -p no:xdist -p no:cacheprovider -p {Path(__file__).stem} -o addopts= -m".split()
    with tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as own:
        said, log, begun = Path(own, "said"), Path(own, "log"), time.time()
        log.touch()
        given = {
            "PYTHONPATH": f"{copy}{os.pathsep}{Path(__file__).parent.absolute()}",
            "FAULTS_LOG": log,
            "TMPDIR": own,
        }
        with open(said, "w") as out:
            process = subprocess.Popen(
                [sys.executable, *words, "not slow", *files],
                **{
                    "cwd": copy,
                    "env": {**os.environ, **given},
                    "stdout": out,
                    "stderr": out,
                    "start_new_session": True,
                },
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5)),
            )
            try:
                status = process.wait(5 * seconds)
            except subprocess.TimeoutExpired:
                status = -signal.SIGXCPU
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        failed = re.findall("^(?:FAILED|ERROR) (tests/.*)", said.read_text(errors="replace"), re.MULTILINE)
        starts = [line.split(" ", 1) for line in log.read_text().splitlines()]
        return status, time.time() - begun, failed, [(float(at) - begun, test) for at, test in starts]


def passes(copy, files, seconds, last, most):
    """Whether without the fault the tests pass the one in which they hung or crashed, in so many seconds at most."""
    status, took, _, clean = play(copy, files, seconds)
    at = [test for _, test in clean].index(last) if last in [test for _, test in clean] else len(clean)
    ends = [*(second for second, _ in clean[1:]), *([took] if status == 0 else [])]
    return at < len(ends) and ends[at] - clean[at][0] < most


def planted(copy, fault, back=False):
    """Put a fault's new line in the place of the old, or take it back."""
    path = copy / fault["file"]
    lines, (old, new) = path.read_text().split("\n"), (fault["old"], fault["new"])[:: -1 if back else 1]
    assert lines[fault["line"] - 1] == old, f"fault {fault['number']}: {path}:{fault['line']} is not {old}"
    lines[fault["line"] - 1] = new
    path.write_text("\n".join(lines))
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        compiled.unlink()  # or one as long, of the same second, would be taken for it


def judged(copy, naming, fault, seconds):
    """The fault with its outcome."""
    files = naming.files(fault["file"])
    planted(copy, fault)
    status, took, failed, starts = play(copy, files, seconds)
    planted(copy, fault, back=True)
    second, last = starts[-1] if starts else (0.0, "")
    outcome = {"outcome": "survived", "test": "", "reason": ""}
    if status in (1, 2):
        test, _, reason = (failed or [last])[0].partition(" - ")
        outcome = {"outcome": "caught", "test": test, "reason": reason}
    elif status not in (0, 5):  # 5: no tests
        spent, hung = took - second, status == -signal.SIGXCPU
        outcome = {"outcome": "time out", "test": last, "reason": f"{spent:.0f} s in this test, status {status}"}
        if starts and (spent > seconds / 3 or not hung):
            outcome["outcome"] = (
                "caught" if passes(copy, files, seconds, last, spent / 4 if hung else 1e9) else "time out"
            )
    return {**fault, **outcome, "seconds": round(took, 1), "began": len(starts), "tests": files}


def run(root, faults, out, only, seconds):
    done = {fault["number"]: fault for fault in json.loads(out.read_text())} if out.exists() else {}
    with tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder).resolve() / "copy"
        shutil.copytree(root, copy, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache"))
        naming = Naming(copy)
        for fault in faults:
            if fault["number"] in (only or {fault["number"]} - set(done)):
                made = done[fault["number"]] = judged(copy, naming, fault, seconds)
                out.write_text(json.dumps([done[n] for n in sorted(done)], indent=1, ensure_ascii=False) + "\n")
                print(*(made[k] for k in ("number", "outcome", "seconds", "file", "test", "reason")), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    drawing, running = commands.add_parser("draw"), commands.add_parser("run")
    for command, names in ((drawing, ("root", "out")), (running, ("root", "faults", "out"))):
        for name in names:
            command.add_argument(name, type=Path)
    drawing.add_argument("--count", type=int, default=60)
    drawing.add_argument("--seed", type=int, default=21)
    running.add_argument("--only", type=int, nargs="*")
    running.add_argument("--seconds", type=float, default=60)
    given = parser.parse_args()
    if given.command == "draw":
        faults = draw(given.root, given.count, given.seed)
        given.out.write_text(json.dumps(faults, indent=1, ensure_ascii=False) + "\n")
    else:
        run(given.root, json.loads(given.faults.read_text()), given.out, given.only, given.seconds)


if __name__ == "__main__":
    main()
