"""The common part of the commands that simulate: the run with its progress, the files, and what is printed."""

from __future__ import annotations

import argparse
import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import jax

from jaxbandit.core.errors import DeviceError, ReturnedError, WriteError
from jaxbandit.core.files.output_names import TABLE
from jaxbandit.core.files.streams import print_error, print_lines, shows_progress
from jaxbandit.core.provenance import version
from jaxbandit.engine import simulation
from jaxbandit.engine.host import checkpoint, distributed

if TYPE_CHECKING:
    import xarray as xr

    from jaxbandit.engine.plan import Plan
    from jaxbandit.engine.result import SimulationResult
    from jaxbandit.experiments.output.views import Begin, Outputs

# Modules that import xarray, pandas or matplotlib are imported in functions, after bad input is refused.


def outputs_of(parsed: argparse.Namespace, begun: Mapping[str, object]) -> Outputs:
    """The files to write: all but those that the arguments, or those of the begun run, leave out."""
    from jaxbandit.experiments.output.views import Outputs

    left_out = begun.get("left_out")
    before = left_out if isinstance(left_out, list) else []
    return Outputs(
        figures=not (parsed.no_figures or "figures" in before), page=not (parsed.no_html or "html" in before)
    )


@contextlib.contextmanager
def views_beside(parsed: argparse.Namespace, outputs: Outputs, imports: Sequence[Path]) -> Iterator[Begin]:
    """Within this context, what makes the page and the figures: another process, if it can and JAX has not started.

    Args:
        parsed: the arguments. Of several processes that share a run, one alone would need another process.
        outputs: the files to write.
        imports: files of the user; another process would not know their classes and metrics.
    """
    from jaxbandit.experiments.output import view_process, views

    if imports or getattr(parsed, "coordinator", None) is not None:
        view_process.end_early()
        yield partial(views.begin, outputs)
        return
    with view_process.views_beside(outputs) as begin:
        yield begin


def left_out(outputs: Outputs) -> dict[str, list[str]]:
    """What `jaxbandit resume` needs of the outputs."""
    names = [name for name, wanted in (("figures", outputs.figures), ("html", outputs.page)) if not wanted]
    return {"left_out": names} if names else {}


def versions() -> dict[str, str]:
    """The versions that a run can only be resumed with."""
    return {"jaxbandit": version(), "jax": jax.__version__}


def carry_out(
    plan: Plan,
    out: Path,
    about: Mapping[str, object],
    write: Callable[[SimulationResult], Sequence[str]],
    is_finished: Callable[[bool], bool],
) -> SimulationResult | None:
    """Simulate what is planned, keeping progress, write the output directory, and print what was done.

    Args:
        plan: what to simulate.
        out: the output directory.
        about: what `jaxbandit resume` needs.
        write: writes the directory, in one process, and returns the lines to print.
        is_finished: whether another process has finished the run; its argument is whether this process has simulated.

    Returns:
        The result of the simulation; None where another process was faster.
    """
    lines: Sequence[str] = [f"another process has finished this run; its results are in {out}/"]
    simulated = False
    try:
        threading.Thread(target=_import_what_comes).start()
        result = simulation.run(plan, progress=shows_progress(), keep=out, about={**about, **versions()})
        simulated = True
        with distributed.together():
            if distributed.number() == 0 and not is_finished(simulated):
                lines = write(result)
    except (KeyboardInterrupt, FloatingPointError, DeviceError, ReturnedError, WriteError, ConnectionError) as error:
        if isinstance(error, WriteError) and is_finished(simulated):
            checkpoint.forget(out)  # blocks that this process has written since
            print_lines(*lines)
            return None
        if checkpoint.kept(out):
            words = f"; `jaxbandit resume {out}` continues the run"
            if not checkpoint.begun(out):  # somebody has removed its table
                words = "; the same command continues the run"
            if isinstance(error, FloatingPointError | ReturnedError):
                words = f" in {out / checkpoint.FOLDER}, but `jaxbandit resume` would end with the same error:"
            print_error(f"finished blocks are kept{words}")
        raise
    checkpoint.forget(out)
    if distributed.number() == 0:
        print_lines(*lines)
    return result


def _import_what_comes() -> None:
    """Import what the results need while compiled programs run, which leave Python time."""
    with contextlib.suppress(Exception):  # what cannot be imported raises where it is needed
        from jaxbandit.experiments import dataset, summary  # noqa: F401
        from jaxbandit.experiments.output import export  # noqa: F401


def write_outputs(results: xr.Dataset, out: Path, begin: Begin) -> tuple[str, str]:
    """Write the output directory, and return the table to print and the line about the files; `begin` makes views."""
    from jaxbandit.experiments import summary
    from jaxbandit.experiments.output import export

    names = [path.name for path in export.write_outputs(results, out, out.absolute().name, begin)]
    table = summary.table(results, f"{out}/{TABLE}") if TABLE in names else summary.table(results)
    return table, f"wrote {', '.join(names)} to {out}/"


def speed_line(simulated: xr.Dataset) -> str:
    """The line about the time that a simulation took."""
    compiled, ran, speed = (
        simulated.attrs[f"{name}"] for name in ("compile_seconds", "run_seconds", "rounds_per_second")
    )
    return (
        f"compiled in {compiled:.1f} s, ran in {ran:.1f} s: "
        f"{speed / 1e6:.1f} million rounds per second on {simulated.attrs['device']}"
    )


def simulated_dataset(
    plan: Plan, result: SimulationResult, config: Mapping[str, object], imports: Sequence[Path]
) -> xr.Dataset:
    """The dataset of a simulation, with the files that its run imported."""
    from jaxbandit.experiments import dataset
    from jaxbandit.experiments.joining import imported_files

    made = dataset.dataset(plan, result, config)
    return made.assign_attrs(imports=imported_files.write(imported_files.digests(imports))) if imports else made


def resume_table(text: str, imports: Sequence[Path], **more: object) -> dict[str, object]:
    """The table that `jaxbandit resume` reads: the text of the config, the imported files, and more."""
    listed = {"imports": [str(path) for path in imports]} if imports else {}
    return {"config": text, **listed, **more}
