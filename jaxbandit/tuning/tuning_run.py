"""`TuningRun`: a sweep of common values, a search along linear models of the goal, and a selection on fresh runs."""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.engine.host import fingerprint
from jaxbandit.engine.host.checkpoint import Checkpoint
from jaxbandit.engine.host.progress_bar import Progress
from jaxbandit.engine.settings import SimulationSettings
from jaxbandit.environment.problem import Problem
from jaxbandit.policies.base import Policy
from jaxbandit.tuning.advice import about_problem, advice
from jaxbandit.tuning.estimators.gradient_program import GradientProgram
from jaxbandit.tuning.estimators.soft_model import SoftModels
from jaxbandit.tuning.goal import Goal
from jaxbandit.tuning.objective import Objective
from jaxbandit.tuning.parameters import Tunable
from jaxbandit.tuning.search.coordinates import Coordinates
from jaxbandit.tuning.search.evaluation import Evaluator, Scores
from jaxbandit.tuning.search.landscape import Landscape
from jaxbandit.tuning.search.linear_model import LinearModel, count_directions, linear_model
from jaxbandit.tuning.search.points import point_of, trajectory_of
from jaxbandit.tuning.search.population import GENERATIONS, POINTS, SHARE
from jaxbandit.tuning.search.selection import USUAL_CANDIDATES, Candidates, common_kept, select
from jaxbandit.tuning.search.steps import TRIED, MakeModel, Search
from jaxbandit.tuning.search.sweep import COUNT, REFINED, Sweep, sweep
from jaxbandit.tuning.tuned import Tuned

if TYPE_CHECKING:
    import optax
    import xarray as xr

_SPREADS = 0.25, 0.9, 0.04  # of perturbations: in the first step, its factor per step, and the least
START, COMMON = 0, 1  # the places of the start and of the best common value among the candidates
_SOFT_SHARE = 4  # the seeds of the search per seed of a soft gradient


@dataclass(frozen=True)
class TuningRun:
    """A tuning, with its arguments checked; they are those of `tune`.

    Attributes:
        problem, policy, goal, tunables: what is tuned. The policy holds the starts.
        settings: the horizon, the key, and the seeds of the search.
        estimator, softness: where slopes come from; the temperature and width of a soft policy.
        steps, final_seeds, optimizer: as for `tune`.
    """

    problem: Problem
    policy: Policy
    goal: Goal
    tunables: list[Tunable]
    settings: SimulationSettings
    estimator: str
    softness: dict[str, float]
    steps: int
    final_seeds: int
    optimizer: optax.GradientTransformation

    def check(self) -> None:
        """Refuse what the estimator cannot do.

        Raises:
            InputError: naming the argument.
        """
        if self.estimator != "perturbation" and self.goal.over == "worst":
            raise InputError("objective.over", self.goal.over, f"'mean' with the estimator {self.estimator!r}")
        if self.estimator != "perturbation":
            self._gradients(self.goal.objective).checked_seeds(self._soft_seeds)
        most = dataclasses.replace(self.settings, seeds=self.final_seeds, first_seed=self.settings.seeds)
        try:
            most.check()
        except InputError as error:
            raise error.with_key("final_seeds") from None

    def carry_out(self, folder: Path | None, shown: bool) -> Tuned:
        """Tune.

        Args:
            folder: keeps what is simulated in its subfolder `unfinished`, and is read after an interruption.
            shown: whether to show a progress bar.
        """
        problem, settings = self.problem, self.settings
        with Progress(expected := self._expected_rounds(), problem.plays, shown=shown) as bar:
            evaluator = Evaluator(problem, self.policy, self.tunables, self.goal, settings.horizon, settings.key, bar)
            if folder is None:
                tuned = self._tuned(evaluator)
            else:
                with Checkpoint(folder, self._fingerprint(evaluator), {"command": "tune"}) as evaluator.checkpoint:
                    tuned = self._tuned(evaluator)
            bar.more(evaluator.rounds - expected)  # the bar ends at 100 %
        return tuned

    def _tuned(self, evaluator: Evaluator) -> Tuned:
        goal, seeds = self.goal, self.settings.seeds
        swept = sweep(lambda points, count: Scores.of(evaluator(points, count), goal), goal, self.tunables, seeds)
        space = Coordinates(self.tunables, swept.scales)
        landscape = Landscape(evaluator, space, goal, seeds, self.final_seeds, swept.ranges)
        start = {tunable.name: tunable.start for tunable in self.tunables}
        given = np.stack([space.of(values) for values in (start, swept.best)])
        scores = landscape(given)
        rng = np.random.default_rng(self.settings.key)
        search = Search(
            space.inside(given[scores.best()]),
            self._models(landscape, space, evaluator, rng),
            landscape,
            self.optimizer,
            rng,
        )
        while len(search.steps) < self.steps and not search.converged:
            search.take_step()
        # One parameter is chosen among the values of the sweep, too: its search has nothing but noise to gain.
        name = self.tunables[0].name
        more = [space.of({name: np.array(value)}) for value in swept.promising] if space.size == 1 else []
        found = select(landscape, given, search, more)
        if space.size > len(self.tunables):  # numbers of their own have to be worth it
            found = common_kept(found, landscape, search, COMMON, space.blocks)
        path = trajectory_of(given, scores, search.steps, space, goal)
        return self._result(evaluator, swept, space, search, found, path)

    def _models(
        self, landscape: Landscape, space: Coordinates, evaluator: Evaluator, rng: np.random.Generator
    ) -> MakeModel:
        """Makes the linear models of the search."""

        def perturbed(y: np.ndarray, number: int) -> LinearModel:
            return linear_model(landscape, y, max(_SPREADS[0] * _SPREADS[1] ** number, _SPREADS[2]), rng)

        if self.estimator == "perturbation":
            return perturbed
        return SoftModels(self._gradients, self.goal, space, landscape, self._soft_seeds, evaluator.count)

    @property
    def _soft_seeds(self) -> int:
        return max(self.settings.seeds // _SOFT_SHARE, 2)

    def _gradients(self, objective: Objective) -> GradientProgram:
        """The gradients of a soft policy."""
        return GradientProgram(
            self.problem,
            self.policy,
            {tunable.name: tunable.start for tunable in self.tunables},
            objective,
            self.estimator,
            horizon=self.settings.horizon,
            key=self.settings.key,
            **self.softness,
        )

    def _result(
        self,
        evaluator: Evaluator,
        swept: Sweep,
        space: Coordinates,
        search: Search,
        found: Candidates,
        path: xr.Dataset,
    ) -> Tuned:
        exact = {START: {one.name: one.start for one in self.tunables}, COMMON: swept.best}  # not rounded
        points = tuple(
            point_of(name, exact.get(place) or space.values(found.points[place]), found.scores, place, self.goal)
            for name, place in (("start", START), ("common", COMMON), ("result", found.best))
        )
        values = points[-1].values
        tuned = Tuned(
            policy=evaluator.policy(values),
            values=values,
            step=found.best if found.best in exact else _nearest(search, found.points[found.best]),
            points=points,
            converged=search.converged,
            warnings=(),
            trajectory=path,
            rounds=evaluator.rounds,
            goal=self.goal,
        )
        sentences = [
            *about_problem(self.policy, self.problem, self.goal.metrics),
            *advice(tuned, self.tunables, swept, search, evaluator),
        ]
        return dataclasses.replace(tuned, warnings=tuple(sentences))

    def _expected_rounds(self) -> int:
        """About the rounds that are simulated if the search takes all steps: what the progress bar expects."""
        size = sum(tunable.start.size for tunable in self.tunables)
        model = 1 + 2 * count_directions(size) if self.estimator == "perturbation" else 1
        points = len(self.tunables) * (COUNT // 2 + 2 * REFINED) + 2 + self.steps * (model + TRIED)
        points += GENERATIONS * POINTS // SHARE
        runs = points * self.settings.seeds + USUAL_CANDIDATES * self.final_seeds
        return runs * self.problem.instances * self.settings.horizon

    def _fingerprint(self, evaluator: Evaluator) -> str:
        """A digest of what decides the simulations, except for the optimizer: each simulation names its points."""
        start = {tunable.name: tunable.start for tunable in self.tunables}
        about = [self.goal, self.tunables, self.estimator, self.softness, self.steps, self.final_seeds]
        digest = fingerprint.digest(evaluator.plan([start], self.settings.seeds))
        return hashlib.sha256(f"{digest} {about!r}".encode()).hexdigest()


def _nearest(search: Search, y: np.ndarray) -> int:
    """The row of the trajectory with the step of the search that is nearest to a point."""
    distances = [float(((step.y - y) ** 2).sum()) for step in search.steps]
    return COMMON + 1 + int(np.argmin(distances))
