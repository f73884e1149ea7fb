"""Reproduces papers: runs the simulations still missing, draws figures, decides claims, writes the report."""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib.pyplot as plt
import tomli_w

from jaxbandit.core.errors import InputError, WriteError, unknown_name
from jaxbandit.core.files import checksums
from jaxbandit.core.provenance import version
from jaxbandit.engine import simulation
from jaxbandit.engine.host.compilation import compiled_ahead
from jaxbandit.engine.host.progress_bar import Parts
from jaxbandit.engine.plan import Plan
from jaxbandit.experiments import dataset
from jaxbandit.experiments.configs import config as configs
from jaxbandit.experiments.dashboard.contents import contents
from jaxbandit.experiments.plots.canvas import house_style
from jaxbandit.papers import GUARANTEES, MERIT, OPPORTUNITIES, PENALTIES, PLAYS, report
from jaxbandit.papers.claim import Claim, Finding, PaperFigure
from jaxbandit.papers.experiment import Config, Data, Experiment, Paper, Sizes
from jaxbandit.papers.guarantees.claims import CLAIMS as GUARANTEES_CLAIMS
from jaxbandit.papers.guarantees.experiments import experiments as guarantees_experiments
from jaxbandit.papers.guarantees.figures import FIGURES as GUARANTEES_FIGURES
from jaxbandit.papers.guarantees.findings import FINDINGS as GUARANTEES_FINDINGS
from jaxbandit.papers.merit.claims import CLAIMS as MERIT_CLAIMS
from jaxbandit.papers.merit.experiments import experiments as merit_experiments
from jaxbandit.papers.merit.figures import FIGURES as MERIT_FIGURES
from jaxbandit.papers.merit.findings import FINDINGS as MERIT_FINDINGS
from jaxbandit.papers.opportunities.claims import CLAIMS as OPPORTUNITIES_CLAIMS
from jaxbandit.papers.opportunities.experiments import experiments as opportunities_experiments
from jaxbandit.papers.opportunities.figures import FIGURES as OPPORTUNITIES_FIGURES
from jaxbandit.papers.opportunities.findings import FINDINGS as OPPORTUNITIES_FINDINGS
from jaxbandit.papers.penalties.claims import CLAIMS as PENALTIES_CLAIMS
from jaxbandit.papers.penalties.experiments import experiments as penalties_experiments
from jaxbandit.papers.penalties.figures import FIGURES as PENALTIES_FIGURES
from jaxbandit.papers.penalties.findings import FINDINGS as PENALTIES_FINDINGS
from jaxbandit.papers.plays.claims import CLAIMS as PLAYS_CLAIMS
from jaxbandit.papers.plays.experiments import experiments as plays_experiments
from jaxbandit.papers.plays.figures import FIGURES as PLAYS_FIGURES
from jaxbandit.papers.plays.findings import FINDINGS as PLAYS_FINDINGS
from jaxbandit.papers.report.parameters import parameters_in_words
from jaxbandit.papers.report.results import MeasuredFinding, PaperResults, Report, SavedFigure

LOG = logging.getLogger("jaxbandit")


@dataclass(frozen=True)
class Reproduction:
    """How a paper is reproduced.

    Attributes:
        paper: the paper.
        experiments: the simulations to run at given sizes.
        figures: its figures.
        claims: what the paper says of its experiments, and how to decide whether it holds.
        findings: what the paper prints and does not hold as printed.
    """

    paper: Paper
    experiments: Callable[[Sizes], list[Experiment]]
    figures: tuple[PaperFigure, ...]
    claims: tuple[Claim, ...]
    findings: tuple[Finding, ...] = ()

    def figure(self, label: str) -> PaperFigure:
        """The figure with a label.

        Raises:
            InputError: about --figure.
        """
        for one in self.figures:
            if label in (one.label, one.name):
                return one
        raise unknown_name("--figure", label, [one.label for one in self.figures])


REPRODUCTIONS: dict[str, Reproduction] = {
    reproduction.paper.name: reproduction
    for reproduction in (
        Reproduction(PENALTIES, penalties_experiments, PENALTIES_FIGURES, PENALTIES_CLAIMS, PENALTIES_FINDINGS),
        Reproduction(GUARANTEES, guarantees_experiments, GUARANTEES_FIGURES, GUARANTEES_CLAIMS, GUARANTEES_FINDINGS),
        Reproduction(MERIT, merit_experiments, MERIT_FIGURES, MERIT_CLAIMS, MERIT_FINDINGS),
        Reproduction(PLAYS, plays_experiments, PLAYS_FIGURES, PLAYS_CLAIMS, PLAYS_FINDINGS),
        Reproduction(
            OPPORTUNITIES,
            opportunities_experiments,
            OPPORTUNITIES_FIGURES,
            OPPORTUNITIES_CLAIMS,
            OPPORTUNITIES_FINDINGS,
        ),
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
            LOG.warning("%s; its runs are simulated again", problem)
            return False
        made_by = (found.attrs.get("config"), found.attrs.get("jaxbandit_version"))
        return made_by == (tomli_w.dumps(self.experiment.config), version())

    def holds(self, config: Config) -> bool:
        """Whether the file holds the results of some config, by any version."""
        try:
            return bool(checksums.load_checked(self.path).attrs.get("config") == tomli_w.dumps(config))
        except (OSError, checksums.DamagedError):
            return False

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

    def run(self, parts: Parts, compile_seconds: float = 0.0) -> None:
        """Simulate, and write the results atomically, with their checksum.

        Args:
            parts: the progress bar.
            compile_seconds: the time that the compilation has taken before.
        """
        plan = self.plan
        runs = len(plan.configurations) * plan.problem.instances * plan.settings.seeds
        with parts.part(self.experiment.name, runs * plan.settings.horizon, self.seconds()) as bar:
            result = simulation.run(plan, bar)
        result = replace(result, compile_seconds=compile_seconds + result.compile_seconds)
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


def reproduce(names: Sequence[str], out: Path, sizes: Sizes, progress: bool = False) -> Report:
    """Reproduce papers. Results that an interrupted call has already written are kept.

    Args:
        names: names of papers, of `REPRODUCTIONS`.
        out: the folder for the results of each experiment, the figures and the report.
        sizes: full or quick.
        progress: show one progress bar with the time left.

    Returns:
        The report. The folder holds it as `report.html`, `report.md` and `claims.json`.

    Raises:
        InputError: before any work, about a config or the conversion log, or about `out`, which holds full-size results
            that quick ones would replace; or about `out`, whose files were changed during the call.
        WriteError: a file cannot be written, or its results cannot be read again.
    """
    reproductions = [REPRODUCTIONS[name] for name in names]
    tasks = {one.paper.name: _tasks(one, out, sizes) for one in reproductions}
    results = []
    with _simulations([task for of_paper in tasks.values() for task in of_paper], progress) as simulate:
        for one in reproductions:
            simulate(tasks[one.paper.name])
            with _file_errors(out):
                results.append(_results(one, tasks[one.paper.name], out, sizes))
    with _file_errors(out):
        made = Report(results, sizes.quick)
        report.write(made, out)
    return made


def draw_figure(name: str, label: str, out: Path, sizes: Sizes, progress: bool = False) -> list[Path]:
    """Draw one figure of a paper, and simulate only what it shows.

    Args:
        name: the name of a paper, of `REPRODUCTIONS`.
        label: the label of one of its figures.
        out, sizes, progress: as for `reproduce`; both keep their results in the same files.

    Returns:
        The files of the figure.

    Raises:
        InputError: as for `reproduce`, or about --figure.
        WriteError: as for `reproduce`.
    """
    reproduction = REPRODUCTIONS[name]
    figure = reproduction.figure(label)
    tasks = [task for task in _tasks(reproduction, out, sizes) if task.experiment.name in figure.experiments]
    if not all(any(task.experiment.name == needed for task in tasks) for needed in figure.needs):
        raise InputError("--figure", label, "a figure whose data are given: it needs --conversion-log")
    with _simulations(tasks, progress) as simulate:
        simulate(tasks)
    with _file_errors(out):
        data = Data({task.experiment.name: task.path for task in tasks})
        return _draw(figure, data, out / name, sizes)


@contextmanager
def _simulations(tasks: Sequence[Task], progress: bool) -> Iterator[Callable[[Sequence[Task]], None]]:
    """A function that runs those of some of the tasks whose results are missing.

    The programs of coming tasks are compiled while earlier ones run and figures are drawn, but not beside a task whose
    running time is a result.
    """
    missing = {task.path: task for task in tasks if not task.is_done()}
    pause = threading.Lock()
    with (
        Parts(sum(task.seconds() for task in missing.values()), progress) as parts,
        compiled_ahead([task.plan for task in missing.values()], pause) as compiled,
    ):
        ahead = dict(zip(missing, compiled, strict=True))

        def simulate(some: Sequence[Task]) -> None:
            for task in some:
                if task.path in missing:
                    wait([ahead[task.path]])
                    failed = ahead[task.path].exception() is not None
                    with pause if task.experiment.timed else nullcontext():
                        task.run(parts, 0.0 if failed else ahead[task.path].result())

        yield simulate


@contextmanager
def _file_errors(out: Path) -> Iterator[None]:
    """Say which file of `out` was changed during the call, or cannot be written."""
    try:
        yield
    except checksums.DamagedError as error:
        rule = (
            f"a folder whose files no other program changes ({error}); run the command again to repeat the simulation"
        )
        raise InputError("--out", str(out), rule) from None
    except OSError as error:
        raise WriteError(Path(error.filename or out), error) from None


def _tasks(reproduction: Reproduction, out: Path, sizes: Sizes) -> list[Task]:
    """The tasks of a paper, checked."""
    data = out / reproduction.paper.name / "data"
    try:
        tasks = [
            Task(experiment, configs.make_plan(experiment.config), data / f"{experiment.name}.nc")
            for experiment in reproduction.experiments(sizes)
        ]
    except InputError as error:
        raise error.with_key(error.key.replace("problem.means.conversions", "--conversion-log")) from None
    if sizes.quick:
        _keep_full_results(reproduction, tasks, out, sizes)
    return tasks


def _keep_full_results(reproduction: Reproduction, quick: Sequence[Task], out: Path, sizes: Sizes) -> None:
    """Refuse a folder with full-size results, which took hours, that quick ones would replace."""
    full = {one.name: one.config for one in reproduction.experiments(replace(sizes, quick=False))}
    for task in quick:
        name = task.experiment.name
        if full.get(name, task.experiment.config) != task.experiment.config and task.holds(full[name]):
            words = f"a folder without full-size results: --quick would replace those of {name}; name another folder"
            raise InputError("--out", str(out), words)


def _draw(figure: PaperFigure, data: Data, folder: Path, sizes: Sizes) -> list[Path]:
    """Draw a figure and save it: quick ones as PNG, others as PDF too. Returns its files, the PNG first."""
    formats = {".png": 120} if sizes.quick else {".png": 200, ".pdf": 200}
    with house_style():
        drawn = figure.draw(data)
        for suffix, dpi in formats.items():
            drawn.savefig(folder / f"{figure.name}{suffix}", dpi=dpi)
        plt.close(drawn)
    return [folder / f"{figure.name}{suffix}" for suffix in formats]


def _results(reproduction: Reproduction, tasks: Sequence[Task], out: Path, sizes: Sizes) -> PaperResults:
    """Draw the figures, decide the claims and measure the findings."""
    data = Data({task.experiment.name: task.path for task in tasks})
    name = reproduction.paper.name
    saved = []
    for figure in reproduction.figures:
        if not all(needed in data for needed in figure.needs):
            continue
        file = _draw(figure, data, out / name, sizes)[0]
        drawn = [data.config(one) for one in figure.experiments if one in data]
        parameters = parameters_in_words(drawn, figure.assumed)
        command = _command(name, figure, sizes)
        shown = tuple(one for one in figure.experiments if one in data)
        saved.append(SavedFigure(figure.name, figure.caption, parameters, command, file, shown))
    told = [claim for claim in reproduction.claims if all(one in data for one in claim.needs)]
    left_out = [claim.name for claim in reproduction.claims if claim not in told]
    decided = [(claim, claim.weigh(data)) for claim in told]
    if sizes.quick:
        decided = [(claim, evidence.at_quick_sizes()) for claim, evidence in decided]
    measured = [MeasuredFinding(one, *one.measure()) for one in reproduction.findings]
    pages = {
        one: contents(data[one], (), one, f"{name}/data/{one}.nc")
        for one in dict.fromkeys(one for figure in saved for one in figure.experiments)
    }
    seconds = sum(float(data[one].attrs["compile_seconds"] + data[one].attrs["run_seconds"]) for one in data.files)
    device = data[next(iter(data.files))].attrs["device"]
    gc.collect()  # the datasets of a paper take hundreds of MiB
    return PaperResults(reproduction.paper, saved, decided, seconds, device, measured, pages, left_out)


def _command(name: str, figure: PaperFigure, sizes: Sizes) -> str:
    """The command that draws a figure alone."""
    log = " --conversion-log FILE" if figure.needs else ""
    return f"jaxbandit reproduce {name} --figure {figure.label}{' --quick' * sizes.quick}{log}"
