"""`jaxbandit run --add`: policies and seeds that the results in a folder lack are simulated and joined with them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import tomli_w

from jaxbandit.cli import carrying_out
from jaxbandit.cli.imports import import_files
from jaxbandit.cli.preparation import check_writable, prepare_machine
from jaxbandit.core.errors import InputError
from jaxbandit.core.files.output_names import RESULTS, is_output
from jaxbandit.core.files.streams import print_lines, print_note
from jaxbandit.engine.host import checkpoint, distributed

if TYPE_CHECKING:
    import xarray as xr

    from jaxbandit.engine.result import SimulationResult
    from jaxbandit.experiments.configs.grid import Table
    from jaxbandit.experiments.joining.additions import Addition
    from jaxbandit.experiments.output.views import Begin

# Modules that import xarray, pandas or matplotlib are imported in functions, after bad input is refused.


def add(
    config: Table, out: Path, parsed: argparse.Namespace, files: Sequence[Path], begun: Mapping[str, object]
) -> int:
    """Add what a config has and the results in a folder lack: first policies, then seeds of all policies.

    After each of the two steps the folder holds complete results, those of the policies and seeds that it has. `begun`
    is what the progress of an interrupted addition holds of its arguments.
    """
    outputs = carrying_out.outputs_of(parsed, begun)
    with carrying_out.views_beside(parsed, outputs, files) as begin:
        prepare_machine(parsed)
        with distributed.together():
            imports = import_files(files)
            check_writable(out, is_output)
            results = _read(out)
            _check_imports(results, imports, out)
            from jaxbandit.experiments.joining import additions

            addition = additions.next_addition(config, results, out)
            if distributed.number() == 0:
                _finish_writing(results, out, begin)
        if addition is None and distributed.number() == 0:
            print_lines(f"nothing to add: {out}/{RESULTS} has the policies and seeds of the config")
        while addition is not None:
            about = carrying_out.resume_table(tomli_w.dumps(config), imports, **carrying_out.left_out(outputs))
            results = _add(addition, results, out, about, imports, begin)
            with distributed.together():
                addition = additions.next_addition(config, results, out)
        return 0


def _add(
    addition: Addition,
    results: xr.Dataset,
    out: Path,
    about: Mapping[str, object],
    imports: Sequence[Path],
    begin: Begin,
) -> xr.Dataset:
    """Simulate an addition, join it with the results, and write the folder. Returns the joined results."""
    from jaxbandit.experiments.joining.combine import combine
    from jaxbandit.experiments.output import previous_run

    before = previous_run.stamp(out)

    def simulated(result: SimulationResult) -> xr.Dataset:
        return carrying_out.simulated_dataset(addition.plan, result, addition.config, imports)

    def write(result: SimulationResult) -> list[str]:
        more = simulated(result)
        held = results if previous_run.stamp(out) == before else _read(out)  # another process has added something else
        table, files = carrying_out.write_outputs(combine(held, more), out, begin)
        return [table, carrying_out.speed_line(more), f"added {addition.text}; {files}"]

    def is_finished(_: bool) -> bool:
        """Whether another process has added the same."""
        return previous_run.stamp(out) != before and addition.is_in(_read(out))

    result = carrying_out.carry_out(addition.plan, out, {**about, "add": addition.table()}, write, is_finished)
    return _read(out) if result is None else combine(results, simulated(result))


def _read(out: Path) -> xr.Dataset:
    """The results in a folder.

    Raises:
        InputError: there are none that can be read.
    """
    import xarray as xr

    path = out / RESULTS
    if not path.is_file():
        ways = "`jaxbandit run CONFIG.toml` without --add writes them"
        if checkpoint.begun(out):
            ways = f"`jaxbandit resume {out}` finishes its run"
        raise InputError("--out", str(out), f"must hold the results of a finished run ({RESULTS}); {ways}")
    try:
        with xr.open_dataset(path, engine="h5netcdf") as found:
            return found.load()
    except Exception:  # of any kind, where the file is damaged or another program's
        raise InputError("--out", str(out), f"must hold a {RESULTS} that can be read") from None


def _check_imports(results: xr.Dataset, imports: Sequence[Path], out: Path) -> None:
    """Refuse to go on without a file that the run in the folder imported, and note files that have changed since."""
    from jaxbandit.experiments.joining import imported_files

    here = imported_files.digests(imports)
    for name, digest in imported_files.read(results.attrs.get("imports")).items():
        if name not in here:
            words = f"must be given as --import {name}, which the run in {out} imported"
            raise InputError("--import", None, words)
        if here[name] != digest:
            print_note(f"{name} has changed since {out}/{RESULTS} was written; its classes must do the same")


def _finish_writing(results: xr.Dataset, out: Path, begin: Begin) -> None:
    """Write the other files of results whose addition was interrupted after `results.nc` was written."""
    from jaxbandit.experiments.joining import additions

    if not checkpoint.begun(out):
        return
    try:
        added = checkpoint.unfinished(out).get("add")
    except InputError:  # damaged; the run that follows says so
        return
    if additions.is_in(results, added):
        print_lines(*carrying_out.write_outputs(results, out, begin))
        checkpoint.forget(out)
