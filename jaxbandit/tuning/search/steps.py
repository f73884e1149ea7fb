"""Steps to the best point within the limits, along linear models of the goal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.tuning.search.evaluation import Scores
from jaxbandit.tuning.search.landscape import Landscape
from jaxbandit.tuning.search.linear_model import LinearModel
from jaxbandit.tuning.search.population import look_around

if TYPE_CHECKING:
    import optax

_MEMORY = 0.6  # of the slopes, per step
_NEAR = 0.15  # a limit within this part of its unit counts
_SLACK_WEIGHT = 0.02  # of the slack of such a limit, against its price
_RESTORED = 0.3  # the farthest that one step moves to a limit, root mean square per coordinate
# The moves that a step tries: parts of the move to the limits, and lengths of the update.
_TRIED = ((1.0, 0.0), (1.0, 0.25), (1.0, 0.5), (1.0, 1.0), (1.0, 2.0), (1.0, 4.0), (0.3, 0.0), (0.3, 0.5), (0.0, 1.0))
TRIED = len(_TRIED)
_FARTHEST = 0.5  # an update, root mean square per coordinate
_SHORTEST, _LONGEST = 0.02, 16.0  # of the update before it is tried at these lengths
_TOLERATED = 0.03  # of a limit's unit: from about this excess on, a point is refused whatever its value
_RAISED = 0.3  # of what the stiffness makes of an excess: by this its price rises per step
_ON_LIMIT = 0.01  # an excess, in its unit, that may stay
_LITTLE = 2.5e-4  # a relative gain that does not count
_RANDOM_SPREADS = 0.6, 0.15, 0.6  # of points at random: after the first step, and each time the search is stuck
_STUCK = 2  # steps without progress, after which the search looks around
_QUIET = 3  # steps without progress, after which the search has converged

MakeModel = Callable[[np.ndarray, int], LinearModel]  # from a point and the number of the step


class _Slopes:
    """The slopes of the last models, averaged with weights that decay."""

    def __init__(self) -> None:
        self._sums: np.ndarray | float = 0.0  # of the slopes of the objective and of the excesses, `[1 + limits, n]`
        self._weight = 0.0

    def averaged(self, model: LinearModel) -> tuple[np.ndarray, np.ndarray]:
        """The slopes of the objective, `[n]`, and of the excesses, `[limits, n]`, with those of another model."""
        self._sums = _MEMORY * self._sums + (1 - _MEMORY) * np.concatenate([model.slope[None], model.slopes])
        self._weight = _MEMORY * self._weight + 1 - _MEMORY
        slopes = np.asarray(self._sums / self._weight)
        return slopes[0], slopes[1:]


@dataclass(frozen=True)
class Step:
    """A step of the search.

    Attributes:
        y: the point before the step.
        model: the linear model there.
        multipliers: the price of each limit, >= 0: what the objective gains per unit by which the limit is relaxed.
        gradient: the slope of the objective plus the multipliers times those of the limits, `[n]`.
        slopes: of the excesses, averaged over the last steps, `[limits, n]`.
    """

    y: np.ndarray
    model: LinearModel
    multipliers: np.ndarray
    gradient: np.ndarray
    slopes: np.ndarray


def default_optimizer(learning_rate: float) -> optax.GradientTransformation:
    """Steps in proportion to the gradient over its largest recent norm."""
    import optax

    return optax.chain(_over_largest_norm(0.9), optax.scale_by_learning_rate(learning_rate))


def _over_largest_norm(decay: float) -> optax.GradientTransformation:
    """Gradients over the largest root mean square of the gradients so far, which decays from step to step."""
    import optax

    def init(parameters: Any) -> jax.Array:
        return jnp.zeros(())

    def update(gradient: jax.Array, largest: jax.Array, parameters: Any = None) -> tuple[jax.Array, jax.Array]:
        largest = jnp.maximum(decay * largest, jnp.sqrt(jnp.mean(gradient**2)))
        return gradient / jnp.maximum(largest, 1e-30), largest

    return optax.GradientTransformation(init, update)


class Search:
    """A search that has taken some steps.

    Each step makes a linear model, solves for the prices of the limits, and lets the optimizer propose an update along
    the gradient of the objective plus the priced limits. The update is tried at several lengths, with the move to the
    limits that are exceeded or priced. The search goes to the best of these points, or stays. After the first model,
    and where it is stuck, it tries points at random as well.

    Args:
        start: the first point, `[n]`.
        model: makes the linear model of a point.
        landscape: the goal.
        optimizer: proposes updates from gradients.
        rng: draws the points of the look around.
    """

    def __init__(
        self,
        start: np.ndarray,
        model: MakeModel,
        landscape: Landscape,
        optimizer: optax.GradientTransformation,
        rng: np.random.Generator,
    ):
        self._model, self._landscape, self._optimizer, self._rng = model, landscape, optimizer, rng
        self._y = start
        self._state = optimizer.init(jnp.asarray(start))
        self._length = 1.0
        self._slopes = _Slopes()
        self._quiet, self._looks = 0.0, 0
        self._raised = np.zeros(len(landscape.units))  # what is added to the prices of limits that stay exceeded
        self.steps: list[Step] = []

    @property
    def converged(self) -> bool:
        """Whether the last steps brought no progress."""
        return self._quiet >= _QUIET

    @property
    def y(self) -> np.ndarray:
        """The point that the next step starts from."""
        return self._y

    def take_step(self) -> Step:
        """Take a step."""
        model = self._model(self._y, len(self.steps))
        slope, slopes = self._slopes.averaged(model)
        slack = np.maximum(-model.excess, 0.0) / (_NEAR * self._landscape.units)
        near = slack < 1.0
        multipliers = np.zeros(len(near))
        multipliers[near] = prices(slope, slopes[near], slack[near])
        step = Step(self._y, model, multipliers, slope + slopes.T @ multipliers, slopes)
        self.steps.append(step)
        if len(self.steps) == 1 and len(self._y) > 1:  # one parameter was swept
            self._go_on_from(look_around(self._landscape, self._merit_of, self._y, _RANDOM_SPREADS[0], self._rng))
        else:
            self._go_to_best(step)
        return step

    def _go_on_from(self, y: np.ndarray) -> None:
        """Go to a point far away, where the slopes so far do not hold."""
        self._y, self._slopes = y, _Slopes()

    def visited(self) -> list[np.ndarray]:
        """The points of the steps, the best one first."""
        models = [step.model for step in self.steps]
        merits = [float(self.merit(model.value, model.excess)) for model in models]
        return [self.steps[number].y for number in np.argsort(merits, kind="stable")]

    def _go_to_best(self, step: Step) -> None:
        """Try the update at several lengths, and go to the best point."""
        update = self._length * self._update(step.gradient)
        restoration = self._restoration(step)
        moves = [part * restoration + _shortened(length * update, _FARTHEST) for part, length in _TRIED]
        points = np.stack([self._landscape.inside(self._y + move) for move in moves])
        merits = self._merit_of(self._landscape(points))
        best = int(merits.argmin())
        before = float(self.merit(step.model.value, step.model.excess))
        gain = (before if np.isfinite(before) else np.inf) - float(merits[best])
        if gain > 0:
            self._y = points[best]
        length = _TRIED[best][1] if gain > 0 else 0.0
        self._length = float(np.clip(self._length * max(length, 0.25) ** 0.7, _SHORTEST, _LONGEST))
        little = max(_LITTLE * abs(step.model.value), 0.02 * step.model.value_stderr)
        excess = np.nan_to_num(step.model.excess)
        self._raised = np.maximum(self._raised + _RAISED * self._stiffness() * excess, 0.0)
        within = np.max(excess / self._landscape.units, initial=-np.inf) < _ON_LIMIT
        self._quiet = self._quiet + (1.0 if within else 0.5) if gain < little else 0.0  # outside, prices still rise
        if self._quiet == _STUCK and len(self._y) > 1 and self._looks < len(_RANDOM_SPREADS) - 1:
            self._look_again(step, little)

    def _look_again(self, step: Step, little: float) -> None:
        """Look for better points that slopes do not show: where the goal has edges, or elsewhere."""
        self._looks += 1
        found = look_around(self._landscape, self._merit_of, self._y, _RANDOM_SPREADS[self._looks], self._rng)
        if np.array_equal(found, self._y):
            return
        before, after = self._merit_of(self._landscape(np.stack([self._y, found])))
        if before - after > little:
            self._go_on_from(found)
            self._quiet, self._length = 0.0, 1.0

    def merit(self, value: np.ndarray | float, excess: np.ndarray) -> np.ndarray:
        """The augmented Lagrangian of values `[...]` and excesses `[..., limits]`, with the prices of the last step.

        value + sum_j (max(m_j + s_j c_j, 0)^2 - m_j^2) / (2 s_j), with prices m, stiffness s and excesses c. For a
        priced limit it is about the value that is reached once the point has moved to the limit.

        Source: Rockafellar (1974), "Augmented Lagrange multiplier functions and duality in nonconvex programming".
        """
        paid, stiffness = self.steps[-1].multipliers + self._raised, self._stiffness()
        terms = np.maximum(paid + stiffness * excess, 0.0) ** 2 - paid**2
        return np.asarray(value + (terms / (2 * stiffness)).sum(axis=-1))

    def _stiffness(self) -> np.ndarray:
        """How fast the prices of limits rise with their excesses, `[limits]`."""
        last, units = self.steps[-1], self._landscape.units
        return np.asarray((last.multipliers + 0.1 * abs(last.model.value) / units + 1e-30) / (_TOLERATED * units))

    def _merit_of(self, scores: Scores) -> np.ndarray:
        """The merits of points; infinite for those that the policy refuses."""
        merits = self.merit(scores.value, scores.excess)
        return np.where(np.isfinite(merits), merits, np.inf)

    def _update(self, gradient: np.ndarray) -> np.ndarray:
        import optax

        with jax.numpy_dtype_promotion("standard"):  # which optax expects
            parameters = jnp.asarray(self._y)
            updates, self._state = self._optimizer.update(jnp.asarray(gradient), self._state, parameters)
            moved = np.asarray(optax.apply_updates(parameters, updates), np.float64)
        if not np.all(np.isfinite(moved)):
            raise InputError("optimizer", self._optimizer, "an optimizer whose updates are finite")
        return moved - np.asarray(parameters, np.float64)

    def _restoration(self, step: Step) -> np.ndarray:
        """The move to the limits that are exceeded, or that have a price."""
        excess = step.model.excess
        active = (excess > 0) | (step.multipliers > 0)
        if not active.any():
            return np.zeros(len(self._y))
        return _shortened(-np.linalg.lstsq(step.slopes[active], excess[active], rcond=1e-6)[0], _RESTORED)


def _shortened(move: np.ndarray, most: float) -> np.ndarray:
    """A move whose root mean square is at most `most`."""
    length = float(np.sqrt(np.mean(move**2)))
    return np.asarray(move * min(1.0, most / max(length, 1e-30)))


def prices(slope: np.ndarray, slopes: np.ndarray, slack: np.ndarray) -> np.ndarray:
    """The multipliers of limits that leave the smallest gradient: min over m >= 0 of |slope + slopes' m|.

    If the slopes of limits are linearly dependent, as those of two limits on one parameter are, several multipliers
    leave it. Of these, limits without slack get theirs first.

    Args:
        slope: of the objective, `[n]`.
        slopes: of the excesses, `[limits, n]`.
        slack: how far the point is within each limit, from 0 on it to 1, `[limits]`.

    Returns:
        `[limits]`.
    """
    from scipy.optimize import nnls  # late: `import jaxbandit` does not need it

    if not len(slopes):
        return np.zeros(0)
    rows, target = slopes.T, -slope
    if np.linalg.matrix_rank(slopes) < len(slopes):
        charged = np.diag(_SLACK_WEIGHT * slack * np.linalg.norm(slopes, axis=1))
        rows, target = np.concatenate([rows, charged]), np.concatenate([target, np.zeros(len(slack))])
    return np.asarray(nnls(rows, target)[0])
