"""Reproduces papers: runs the simulations still missing, draws every figure, decides every claim, writes the report."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import tomli_w

from jaxbandit.core.errors import InputError, WriteError, unknown_name
from jaxbandit.core.files import checksums
from jaxbandit.core.provenance import version
from jaxbandit.engine import simulation
from jaxbandit.engine.host.progress_bar import Parts
from jaxbandit.engine.plan import Plan
from jaxbandit.experiments import dataset
from jaxbandit.experiments.configs import config as configs
from jaxbandit.experiments.plots.style import STYLE
from jaxbandit.papers import GUARANTEES, MERIT, OPPORTUNITIES, PENALTIES, PLAYS, report
from jaxbandit.papers.evidence import Claim
from jaxbandit.papers.experiment import Data, DrawnFigure, Experiment, Paper, Sizes
from jaxbandit.papers.guarantees.claims import CLAIMS as GUARANTEES_CLAIMS
from jaxbandit.papers.guarantees.experiments import experiments as guarantees_experiments
from jaxbandit.papers.guarantees.figures import figures as guarantees_figures
from jaxbandit.papers.merit.claims import CLAIMS as MERIT_CLAIMS
from jaxbandit.papers.merit.experiments import experiments as merit_experiments
from jaxbandit.papers.merit.figures import figures as merit_figures
from jaxbandit.papers.opportunities.claims import CLAIMS as OPPORTUNITIES_CLAIMS
from jaxbandit.papers.opportunities.experiments import experiments as opportunities_experiments
from jaxbandit.papers.opportunities.figures import figures as opportunities_figures
from jaxbandit.papers.penalties.claims import CLAIMS as PENALTIES_CLAIMS
from jaxbandit.papers.penalties.experiments import experiments as penalties_experiments
from jaxbandit.papers.penalties.figures import figures as penalties_figures
from jaxbandit.papers.plays.claims import CLAIMS as PLAYS_CLAIMS
from jaxbandit.papers.plays.experiments import experiments as plays_experiments
from jaxbandit.papers.plays.figures import figures as plays_figures


@dataclass(frozen=True)
class Reproduction:
    """How a paper is reproduced.

    Attributes:
        paper: the paper.
        experiments: the simulations to run at given sizes.
        figures: draws the figures from the results.
        claims: what the paper says of its experiments, and how to decide whether it holds.
    """

    paper: Paper
    experiments: Callable[[Sizes], list[Experiment]]
    figures: Callable[[Data], Iterator[DrawnFigure]]
    claims: tuple[Claim, ...]


REPRODUCTIONS: dict[str, Reproduction] = {
    reproduction.paper.name: reproduction
    for reproduction in (
        Reproduction(PENALTIES, penalties_experiments, penalties_figures, PENALTIES_CLAIMS),
        Reproduction(GUARANTEES, guarantees_experiments, guarantees_figures, GUARANTEES_CLAIMS),
        Reproduction(MERIT, merit_experiments, merit_figures, MERIT_CLAIMS),
        Reproduction(PLAYS, plays_experiments, plays_figures, PLAYS_CLAIMS),
        Reproduction(OPPORTUNITIES, opportunities_experiments, opportunities_figures, OPPORTUNITIES_CLAIMS),
    )
}
_FORMER_NAMES = dict(zip(("000", "001", "002", "003", "004"), REPRODUCTIONS, strict=True))

# Rough times in seconds, for the progress bar: of compiling a program, of a step of it, and per arm, run and round.
_COMPILE, _STEP, _ARM = 1.0, 1e-5, 1e-9
_COST_FACTORS = {
    "thompson": 20,
    "fcts-d": 20,
    "op-fcts-d": 40,
    "mp-ts-d": 20,
    "kl-ucb": 8,
    "f-ts": 20,
    "fcucb-d": 8,
}


@dataclass(frozen=True)
class Task:
    """An experiment, checked, and the file of its results."""

    experiment: Experiment
    plan: Plan
    path: Path

    def is_done(self) -> bool:
        """Whether the file holds the results of this config by this version. Warns about a damaged file."""
        try:
            found = checksums.load_checked(self.path)
        except FileNotFoundError:
            return False
        except (OSError, checksums.DamagedError) as error:
            problem = str(error) if isinstance(error, checksums.DamagedError) else f"{self.path} cannot be read"
            warnings.warn(f"{problem}; its runs are simulated again", stacklevel=2)
            return False
        made_by = (found.attrs.get("config"), found.attrs.get("jaxbandit_version"))
        return made_by == (tomli_w.dumps(self.experiment.config), version())

    def seconds(self) -> float:
        """A rough estimate of the time that the simulation takes."""
        plan = self.plan
        horizon = plan.settings.horizon
        runs = plan.problem.instances * plan.settings.seeds
        total = 0.0
        for policy in plan.prepared:
            factor = max(_COST_FACTORS.get(part.name, 1) for part in policy.nested_policies())
            total += _COMPILE + horizon * len(plan.blocks) * _STEP
            total += horizon * runs * plan.problem.arms * factor * _ARM
        return total

    def run(self, parts: Parts) -> None:
        """Simulate, and write the results atomically, with their checksum."""
        plan = self.plan
        runs = len(plan.configurations) * plan.problem.instances * plan.settings.seeds
        with parts.part(self.experiment.name, runs * plan.settings.horizon, self.seconds()) as bar:
            result = simulation.run(plan, bar)
        checksums.remove_checksum(self.path)
        digest = dataset.write(dataset.dataset(plan, result, self.experiment.config), self.path)
        checksums.write_checksum(self.path, digest)


def check_name(name: str) -> None:
    """Refuse a name that no paper has. The numbers that papers had before are answered with the name.

    Raises:
        InputError: about PAPER.
    """
    if name in _FORMER_NAMES:
        names = ", ".join(sorted(REPRODUCTIONS))
        raise InputError("PAPER", name, f"one of {names} (did you mean {_FORMER_NAMES[name]!r}?)")
    if name not in REPRODUCTIONS:
        raise unknown_name("PAPER", name, REPRODUCTIONS)


def reproduce(names: Sequence[str], out: Path, sizes: Sizes, progress: bool = False) -> report.Report:
    """Reproduce papers. Results that an interrupted call has already written are kept.

    Args:
        names: names of papers, of `REPRODUCTIONS`.
        out: the folder for the results of each experiment, the figures and the report.
        sizes: full or quick.
        progress: show one progress bar with the time left.

    Returns:
        The report. The folder holds it as `report.html`, `report.md` and `claims.json`.

    Raises:
        InputError: before any work, about a config or the conversion log; or about `out`, whose files were changed
            during the call.
        WriteError: a file cannot be written, or its results cannot be read again.
    """
    reproductions = [REPRODUCTIONS[name] for name in names]
    tasks = {one.paper.name: _tasks(one, out, sizes) for one in reproductions}
    missing = [task for of_paper in tasks.values() for task in of_paper if not task.is_done()]
    with Parts(sum(task.seconds() for task in missing), progress) as parts:
        for task in missing:
            task.run(parts)
    formats = {".png": 120} if sizes.quick else {".png": 200, ".pdf": 200}
    try:
        made = report.Report([_results(one, tasks[one.paper.name], out, formats) for one in reproductions], sizes.quick)
        report.write(made, out)
    except checksums.DamagedError as error:
        rule = (
            f"a folder whose files no other program changes ({error}); run the command again to repeat the simulation"
        )
        raise InputError("--out", str(out), rule) from None
    except OSError as error:
        raise WriteError(Path(error.filename or out), error) from None
    return made


def _tasks(reproduction: Reproduction, out: Path, sizes: Sizes) -> list[Task]:
    data = out / reproduction.paper.name / "data"
    return [
        Task(experiment, configs.make_plan(experiment.config), data / f"{experiment.name}.nc")
        for experiment in reproduction.experiments(sizes)
    ]


def _results(
    reproduction: Reproduction, tasks: Sequence[Task], out: Path, formats: Mapping[str, int]
) -> report.PaperResults:
    """Draw the figures and decide the claims.

    Args:
        formats: by the suffix of the figures' files, their resolution in dots per inch.
    """
    data = Data({task.experiment.name: task.path for task in tasks})
    folder = out / reproduction.paper.name
    saved = []
    with plt.rc_context(STYLE):
        for drawn in reproduction.figures(data):
            for suffix, dpi in formats.items():
                drawn.figure.savefig(folder / f"{drawn.name}{suffix}", dpi=dpi)
            plt.close(drawn.figure)
            saved.append(report.SavedFigure(drawn.name, drawn.caption, folder / f"{drawn.name}.png"))
    decided = [(claim, claim.weigh(data)) for claim in reproduction.claims if all(name in data for name in claim.needs)]
    seconds = sum(float(data[name].attrs["compile_seconds"] + data[name].attrs["run_seconds"]) for name in data.files)
    device = data[next(iter(data.files))].attrs["device"]
    gc.collect()  # the datasets of a paper take hundreds of MiB
    return report.PaperResults(reproduction.paper, saved, decided, seconds, device)
