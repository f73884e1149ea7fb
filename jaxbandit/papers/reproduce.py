"""Reproducing papers: simulate what is not simulated yet, draw every figure, weigh every claim, write the report."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import tomli_w

from jaxbandit.core.errors import InputError, WriteError
from jaxbandit.core.files import checksums
from jaxbandit.core.provenance import version
from jaxbandit.engine import simulation
from jaxbandit.engine.host.progress_bar import Parts
from jaxbandit.engine.plan import Plan
from jaxbandit.experiments import dataset
from jaxbandit.experiments.configs import config as configs
from jaxbandit.experiments.plots.style import STYLE
from jaxbandit.papers import PAPERS, report
from jaxbandit.papers.experiment import Data, Experiment, Paper, Sizes

# Seconds, about: what a program takes to compile, a step of it to start, and an arm of a run in it. For time left only.
_COMPILE, _STEP, _ARM = 1.0, 1e-5, 1e-9
_DEAR = {"thompson": 20, "fcts-d": 20, "op-fcts-d": 40, "mp-ts-d": 20, "kl-ucb": 8, "f-ts": 20, "fcucb-d": 8}


@dataclass(frozen=True)
class Task:
    """An experiment, checked, and where its results go."""

    experiment: Experiment
    plan: Plan
    path: Path

    def done(self) -> bool:
        """Whether the results of this very config, by this version, lie there whole; what is damaged is said."""
        try:
            found = checksums.load_checked(self.path)
        except FileNotFoundError:
            return False
        except (OSError, checksums.DamagedError) as error:
            words = str(error) if isinstance(error, checksums.DamagedError) else f"{self.path} cannot be read"
            warnings.warn(f"{words}: simulating it again", stacklevel=2)
            return False
        known = (found.attrs.get("config"), found.attrs.get("jaxbandit_version"))
        return known == (tomli_w.dumps(self.experiment.config), version())

    def seconds(self) -> float:
        """How long it takes, about."""
        plan = self.plan
        runs = plan.problem.instances * plan.settings.seeds
        total = 0.0
        for policy in plan.prepared:
            dear = max(_DEAR.get(part.name, 1) for part in policy.components())
            steps = plan.settings.horizon * len(plan.blocks)
            total += _COMPILE + steps * _STEP
            total += plan.settings.horizon * runs * plan.problem.arms * dear * _ARM
        return total

    def run(self, parts: Parts) -> None:
        """Simulate, and write the results whole."""
        plan = self.plan
        rounds = len(plan.configurations) * plan.problem.instances * plan.settings.seeds
        with parts.part(self.experiment.name, rounds * plan.settings.horizon, self.seconds()) as bar:
            result = simulation.run(plan, bar)
        checksums.remove_checksum(self.path)
        checksums.write_checksum(
            self.path, dataset.write(dataset.dataset(plan, result, self.experiment.config), self.path)
        )


def reproduce(numbers: Sequence[str], out: Path, sizes: Sizes, progress: bool = False) -> report.Report:
    """Reproduce papers; what an interrupted call has simulated is kept and not simulated again.

    Args:
        numbers: of the papers, of `PAPERS`.
        out: a folder; the results of each experiment, the figures and the report go there.
        sizes: the papers', or small ones.
        progress: show a bar over everything, with the time left.

    Returns:
        What the report says; it lies at `out` as `report.html`, `report.md` and `claims.json`.

    Raises:
        InputError: before any work, where a config or the conversion log cannot be used.
        WriteError: a file cannot be written, or what was simulated cannot be read again.
    """
    papers = [PAPERS[number] for number in numbers]
    tasks = {paper.number: _tasks(paper, out, sizes) for paper in papers}
    left = [task for made in tasks.values() for task in made if not task.done()]
    with Parts(sum(task.seconds() for task in left), progress) as parts:
        for task in left:
            task.run(parts)
    formats = {".png": 120} if sizes.quick else {".png": 200, ".pdf": 200}
    try:
        chapters = [_chapter(paper, tasks[paper.number], out, formats) for paper in papers]
        whole = report.Report(chapters, sizes.quick)
        report.write(whole, out)
    except checksums.DamagedError as error:
        words = f"a folder whose files nobody changes meanwhile ({error}); run the command again to simulate them again"
        raise InputError("--out", str(out), words) from None
    except OSError as error:
        raise WriteError(Path(error.filename or out), error) from None
    return whole


def _tasks(paper: Paper, out: Path, sizes: Sizes) -> list[Task]:
    return [
        Task(made, configs.make_plan(made.config), out / paper.number / "data" / f"{made.name}.nc")
        for made in paper.experiments(sizes)
    ]


def _chapter(paper: Paper, tasks: list[Task], out: Path, formats: Mapping[str, int]) -> report.Chapter:
    """Draw and weigh; `formats` are the suffixes of the figures' files, and their dots an inch."""
    data = Data({task.experiment.name: task.path for task in tasks})
    drawn = []
    with plt.rc_context(STYLE):
        for made in paper.figures(data):
            for suffix, dots in formats.items():
                made.figure.savefig(out / paper.number / f"{made.name}{suffix}", dpi=dots)
            plt.close(made.figure)
            drawn.append(report.Picture(made.name, made.caption, out / paper.number / f"{made.name}.png"))
    weighed = [(claim, claim.weigh(data)) for claim in paper.claims if all(name in data for name in claim.needs)]
    seconds = sum(float(data[name].attrs["compile_seconds"] + data[name].attrs["run_seconds"]) for name in data.files)
    device = data[next(iter(data.files))].attrs["device"]
    gc.collect()  # the datasets of a paper take some hundred MiB
    return report.Chapter(paper.number, paper.title, drawn, weighed, seconds, device)
