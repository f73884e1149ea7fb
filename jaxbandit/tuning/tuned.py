"""`Tuned`: the result of tuning, the points it is compared with, the steps and the warnings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxbandit.experiments.statistics import CONFIDENCE, with_error
from jaxbandit.policies.base import Policy
from jaxbandit.tuning.goal import Goal
from jaxbandit.tuning.parameters import Values, in_words
from jaxbandit.tuning.search.points import Point

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure


_PRECISION = 4  # significant digits of the values in the table: more are noise of the search


@dataclass(frozen=True, repr=False)
class Tuned:
    """The result of tuning; it prints as a table.

    Attributes:
        policy: the policy with the tuned parameters, ready for `jb.simulate`.
        values: the tuned parameters by name, float64 `[]` or `[K]`.
        step: the row of `trajectory` nearest to the result: 0 if the start is the result, 1 if the best common value
            is.
        points: the start, the best common value and the result, each a `Point`, on the same fresh runs.
        converged: whether the search ended because its last steps brought no progress.
        warnings: what the user should know, one sentence per warning: about a limit that does not bind, is not used up
            or is out of reach; a start that is the result; a search that has not converged; parameters at the ends of
            their ranges; or parameters on which nothing depends.
        trajectory: an `xarray.Dataset` with the dimension `step`, and `arm` for parameters with one number per arm. Row
            0 is the start, row 1 is the best common value, and the rows from 2 on are the points of the search. The
            variables:

            - the parameters, by name;
            - `objective` and each limited metric, by name: means of the policy itself over the seeds of the search;
            - `objective_stderr`: the standard error of `objective`;
            - `multiplier_<metric>`: the price of a limit, which is the gain of the objective per unit by which the
              limit is relaxed; NaN in rows 0 and 1;
            - `gradient_norm`: the norm of the gradient of the objective plus the limits times their prices, on the
              scale of the search; NaN in rows 0 and 1.
        rounds: the number of simulated rounds over all runs.
        goal: the objective and the limits.

    Example:
        >>> problem = jb.Problem([0.9, 0.5], fractions=0.2, penalties=0.3)
        >>> tuned = jb.tuning.tune(problem, "hard-threshold-ucb", ["penalties"], horizon=50)
        >>> [point.name for point in tuned.points]
        ['start', 'common', 'result']
    """

    policy: Policy
    values: Values
    step: int
    points: tuple[Point, ...]
    converged: bool
    warnings: tuple[str, ...]
    trajectory: xr.Dataset
    rounds: int
    goal: Goal

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def figure(self) -> Figure:
        """Draw the objective, the limited metrics, the parameters and the prices of the limits over the steps."""
        from jaxbandit.tuning.plot import tuning_figure  # late: matplotlib is slow to import

        return tuning_figure(self.trajectory, self.points[-1], self.goal)

    def _lines(self) -> list[str]:
        limits = self.goal.limits
        rows = [["", self.goal.objective.label, *(str(limit) for limit in limits), "values"]]
        for point in self.points:
            cells = [with_error(point.objective, CONFIDENCE * point.objective_stderr)]
            for limit in limits:
                name = self.goal.name_of(limit)
                cells.append(with_error(point.limited[name], CONFIDENCE * point.limited_stderr[name]))
            rows.append([point.name, *cells, in_words(point.values, _PRECISION)])
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        ended = "converged" if self.converged else "stopped"
        steps = f"{self.policy.name}: {ended} after {len(self.trajectory.step) - 2} steps; means ± 95 % on fresh runs"
        return [steps, *lines, *(f"warning: {sentence}" for sentence in self.warnings)]
