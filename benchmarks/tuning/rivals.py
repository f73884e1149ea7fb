"""The rivals of `jb.tuning.tune` on a random problem: a sweep of common values, and a CMA-ES on the policy itself.

The CMA-ES (Hansen 2016, "The CMA evolution strategy: a tutorial") is set as a competent user would set it:

- The first generation is a ladder of common values; the search starts from the best of them.
- Parameters with a natural zero are moved linearly and reflected at 0; others are moved on a logarithmic scale.
- All candidates of all generations are simulated with the same seeds.
- An excess over the budget costs `weight` per unit. The weight is three times the slope of the objective against the
  limited metric along the ladder, and grows while most of the best candidates exceed the budget.
- The best candidates that meet the budget, with margins of 0, 0.5, ... standard errors, are simulated again with other
  seeds. The result is the best of those that meet the budget there too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.tuning.problem_generator import Measured, TuningProblem

SWEEP_KEY, SEARCH_KEY, CHECK_KEY = 11, 5, 7  # keys of the simulations
MARGINS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0)  # in standard errors of the limited metric


@dataclass(frozen=True)
class Sizes:
    """How much the rivals simulate.

    Attributes:
        sweep_seeds: seeds per common value of the sweep.
        population: candidates per generation of the CMA-ES; 0 for 4 + 3 ln(numbers).
        generations: of the CMA-ES, the ladder among them.
        search_seeds: seeds per candidate.
        check_seeds: seeds per candidate in the last selection.
        judge_seeds: fresh seeds, with which every result is judged.
    """

    sweep_seeds: int = 4096
    population: int = 24
    generations: int = 40
    search_seeds: int = 1024
    check_seeds: int = 4096
    judge_seeds: int = 8192


FULL, QUICK = Sizes(), Sizes(512, 12, 10, 128, 512, 2048)
MANY, MANY_QUICK = Sizes(4096, 0, 200, 1024, 4096, 8192), Sizes(256, 0, 20, 128, 512, 2048)


def sweep(task: TuningProblem, sizes: Sizes) -> np.ndarray:
    """The best common value that meets the budget, or else the one that exceeds it least; `[1]`."""
    measured = Measured.of(task, task.values, sizes.sweep_seeds, SWEEP_KEY)
    return np.array([task.values[_best(task, measured.minimised, measured.limited)]])


def _best(task: TuningProblem, minimised: np.ndarray, limited: np.ndarray) -> int:
    """The number of the candidate that minimises the objective within the budget, or that exceeds it least."""
    excess = np.zeros_like(limited) if task.budget is None else np.maximum(limited - task.budget, 0.0)
    return int(np.lexsort((minimised, excess))[0])


class Coordinates:
    """The space in which the CMA-ES moves: the parameter reflected at 0, or its logarithm."""

    def __init__(self, task: TuningProblem) -> None:
        self.logarithmic = task.logarithmic
        self.ends = task.values[0], task.values[-1]

    def values(self, points: np.ndarray) -> np.ndarray:
        """The values of the parameter at some points."""
        return np.clip(np.exp(points), *self.ends) if self.logarithmic else np.abs(points)

    def point(self, value: float) -> float:
        """The point of a value."""
        return float(np.log(value)) if self.logarithmic else value

    def deviation(self, values: np.ndarray, best: int) -> float:
        """The first standard deviation of the search around the best value of a ladder."""
        if self.logarithmic:
            return float(2 * np.log(values[1] / values[0]))
        return float(max(0.5 * values[best], values[1]))


class EvolutionStrategy:
    """The state of a CMA-ES with rank-one and rank-mu updates and cumulative step-size adaptation."""

    def __init__(self, mean: np.ndarray, deviation: float, population: int, rng: np.random.Generator) -> None:
        n = len(mean)
        self.mean, self.deviation, self.population, self.rng = mean, deviation, population, rng
        self.covariance, self.path, self.path_of_steps = np.eye(n), np.zeros(n), np.zeros(n)
        parents = population // 2
        weights = np.log((population + 1) / 2) - np.log(np.arange(1, parents + 1))
        self.weights = weights / weights.sum()
        self.mass = mass = 1 / (self.weights**2).sum()  # the variance effective selection mass
        self.rate_path = (4 + mass / n) / (n + 4 + 2 * mass / n)
        self.rate_steps = (mass + 2) / (n + mass + 5)
        self.rate_one = 2 / ((n + 1.3) ** 2 + mass)
        self.rate_mu = min(1 - self.rate_one, 2 * (mass - 2 + 1 / mass) / ((n + 2) ** 2 + mass))
        self.damping = 1 + 2 * max(0.0, np.sqrt((mass - 1) / (n + 1)) - 1) + self.rate_steps
        self.norm = np.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n))  # of a standard normal vector, in the mean
        self.generation = 0

    def ask(self) -> np.ndarray:
        """The candidates of a generation, `[population, n]`."""
        self.scales, self.axes = np.linalg.eigh(self.covariance)
        self.scales = np.sqrt(np.maximum(self.scales, 1e-14))
        normal = self.rng.normal(size=(self.population, len(self.mean)))
        return self.mean + self.deviation * (normal * self.scales) @ self.axes.T

    def tell(self, candidates: np.ndarray, order: np.ndarray) -> None:
        """Move the distribution; `order` ranks the candidates, best first."""
        self.generation += 1
        steps = (candidates[order[: len(self.weights)]] - self.mean) / self.deviation
        step = self.weights @ steps
        self.mean = self.mean + self.deviation * step
        whitened = self.axes @ ((self.axes.T @ step) / self.scales)
        rate = self.rate_steps
        self.path_of_steps = (1 - rate) * self.path_of_steps + np.sqrt(rate * (2 - rate) * self.mass) * whitened
        length = np.linalg.norm(self.path_of_steps)
        expected = self.norm * np.sqrt(1 - (1 - rate) ** (2 * self.generation))
        moving = length / expected < 1.4 + 2 / (len(self.mean) + 1)
        rate = self.rate_path
        self.path = (1 - rate) * self.path + moving * np.sqrt(rate * (2 - rate) * self.mass) * step
        kept = 1 - self.rate_one - self.rate_mu + (not moving) * self.rate_one * rate * (2 - rate)
        spread = self.rate_one * np.outer(self.path, self.path) + self.rate_mu * (steps.T * self.weights) @ steps
        self.covariance = kept * self.covariance + spread
        self.covariance = (self.covariance + self.covariance.T) / 2
        self.deviation *= float(np.exp(min(1.0, self.rate_steps / self.damping * (length / self.norm - 1))))


def cma_es(task: TuningProblem, sizes: Sizes) -> np.ndarray:
    """The result of a CMA-ES on the policy itself, `[numbers]`."""
    population = sizes.population or 4 + int(3 * np.log(task.numbers))
    seen: list[tuple[np.ndarray, Measured]] = []

    def simulate(values: np.ndarray) -> Measured:
        seen.append((values, Measured.of(task, list(values), sizes.search_seeds, SEARCH_KEY)))
        return seen[-1][1]

    coordinates = Coordinates(task)
    ladder = np.array(task.values)[np.linspace(0, len(task.values) - 1, population).round().astype(int)]
    first = simulate(np.repeat(ladder[:, None], task.numbers, axis=1))
    penalty = _Penalty(task, first)
    best = int(penalty.scores(first).argmin())
    search = EvolutionStrategy(
        np.full(task.numbers, coordinates.point(ladder[best])), coordinates.deviation(ladder, best), population,
        np.random.default_rng(task.seed),
    )  # fmt: skip
    for _ in range(sizes.generations - 1):
        points = search.ask()
        measured = simulate(coordinates.values(points))
        search.tell(points, np.argsort(penalty.scores(measured), kind="stable"))
        penalty.adapt(measured)
    return _checked(task, seen, sizes)


class _Penalty:
    """The penalised objective: metric + weight * excess over the budget."""

    def __init__(self, task: TuningProblem, ladder: Measured) -> None:
        self.budget = task.budget
        order = np.argsort(ladder.limited)
        objective, limited = ladder.minimised[order], ladder.limited[order]
        crossing = 0 if task.budget is None else int(np.clip(np.searchsorted(limited, task.budget), 2, len(order) - 2))
        near = slice(max(crossing - 3, 0), crossing + 3)
        slope = abs(np.ptp(objective[near]) / max(np.ptp(limited[near]), 1e-9)) if task.budget is not None else 0.0
        self.weight = self.least = 3 * slope + 1e-9
        self.exceeded = 0

    def scores(self, measured: Measured) -> np.ndarray:
        """The penalised objective of each candidate."""
        if self.budget is None:
            return measured.minimised
        return measured.minimised + self.weight * np.maximum(measured.limited - self.budget, 0.0)

    def adapt(self, measured: Measured) -> None:
        """Raise the weight if the best quarter exceeded the budget three times in a row; lower it while it does not."""
        if self.budget is None:
            return
        best = np.argsort(self.scores(measured))[: max(len(measured.minimised) // 4, 1)]
        outside = bool(np.all(measured.limited[best] > self.budget))
        self.exceeded = self.exceeded + 1 if outside else 0
        if self.exceeded >= 3:
            self.weight, self.exceeded = 2 * self.weight, 0
        elif np.all(measured.limited[best] <= self.budget):
            self.weight = max(0.9 * self.weight, self.least / 3)


def _checked(task: TuningProblem, seen: list[tuple[np.ndarray, Measured]], sizes: Sizes) -> np.ndarray:
    """The best of the best candidates at several margins, by other seeds."""
    values = np.concatenate([value for value, _ in seen])
    join: Callable[[str], np.ndarray] = lambda name: np.concatenate([getattr(one, name) for _, one in seen])  # noqa: E731
    minimised, limited, error = join("minimised"), join("limited"), join("limited_error")
    chosen = [_best(task, minimised, limited + margin * error) for margin in MARGINS]
    if task.budget is None:
        chosen = np.argsort(minimised)[: len(MARGINS)].tolist()
    candidates = values[list(dict.fromkeys(chosen))]
    measured = Measured.of(task, list(candidates), sizes.check_seeds, CHECK_KEY)
    return candidates[_best(task, measured.minimised, measured.limited)]
