"""`Metric`, the base class of metrics; what metrics are computed from; and the table `METRICS`, which names them."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.errors import InputError
from jaxbandit.core.rationals import Quota, sum_in_order
from jaxbandit.core.struct import static, struct
from jaxbandit.core.users_code import contracts
from jaxbandit.core.users_code.contracts import is_user_defined
from jaxbandit.core.users_code.failures import told_of
from jaxbandit.environment.problem import Problem
from jaxbandit.metrics.class_attributes import check_name, checked_needs

Tree = TypeVar("Tree")


@struct
class Span:
    """The rounds from the last change of means up to a stop: for metrics that add up spans of constant means.

    Attributes:
        t: the number of rounds, `[R, 1, 1, 1]`.
        means: mu_k in these rounds, `[R, K, C, 1]`.
        quota: the growth of tau_k t, arrays `[R, K, C or 1, 1]`; its fraction lies in (-1, 1). None without fractions,
            or where no metric adds up spans.
    """

    t: Array
    means: Array
    quota: Quota | None


_OF_ROUNDS = ("t", "quota", "group_quota", "optimal_utility", "sums", "totals", "span", "deficits", "lost", "shared")


@struct
class MetricInputs:
    """The inputs of metrics besides the counts, for C instances and R recorded rounds.

    Arrays are float. `metric_inputs` makes them as NumPy's, on the host; `compute_metrics` takes them as they are.

    Attributes:
        t: the recorded rounds, `[R, 1, 1, 1]`.
        means: mu_k, `[K, C, 1]`.
        gaps: max_j mu_j - mu_k, `[K, C, 1]`.
        best_rewards: the sum of the L largest mu_k, `[1, C, 1]`.
        last_best: mu_(L), the L-th largest mu_k, `[1, C, 1]`.
        quota: tau_k t as a `Quota` (its floor and its fraction), arrays `[R, K, C or 1, 1]`; None without fractions.
        group_quota: phi_g L t as a `Quota`, arrays `[R, G, C or 1, 1]`; None without groups that are guaranteed plays.
        penalties: A_k, `[K, C or 1, 1]`; None without penalties.
        opportunities: f(mu)_k, `[K, C, 1]`; None without a fairness function.
        optimal_utility: the expected utility of the oracle's allocation (opportunities paper, Lemma 1), `[R, C, 1]`;
            None where no metric needs it.
        sums: the running sums that the engine keeps for the metrics, by name, `[R, C, S]` for S runs.
        p_mean: the exponent of `p_mean_regret`, `[1, 1, 1, 1]`; None if no metric needs it.
        totals: where means change, the metrics that add up spans, by name, `[R, C, S]`.
        span: the rounds since the last change, where means change; else None. `means` and `gaps` are then those of
            round 1 until `at_round` picks a stop.
        deficits: tau_k t - N_k, `[R, K, C, S]`, where it is known already; else None.
        lost: the lost reward sum_k gap_k N_k, `[R, C, S]`, where it is known already; else None.
        shared: the term of some metrics that does not depend on the counts (`formulas.SHARED`), by name,
            `[R, C or 1, 1]`, where it is known already.
        plays: L.
        groups: the arms of each group that is guaranteed plays.
    """

    t: Array
    means: Array
    gaps: Array
    best_rewards: Array
    last_best: Array
    quota: Quota | None
    group_quota: Quota | None
    penalties: Array | None
    opportunities: Array | None
    optimal_utility: Array | None
    sums: Mapping[str, Array]
    p_mean: Array | None
    totals: Mapping[str, Array]
    span: Span | None
    deficits: Array | None
    lost: Array | None
    shared: Mapping[str, Array]
    plays: int = static(1)
    groups: tuple[tuple[int, ...], ...] = static(())

    def at_round(self, place: Array | int) -> MetricInputs:
        """The inputs of one recorded round, given by its position: R = 1."""

        def row(part: Tree) -> Tree:
            return jax.tree.map(lambda leaf: lax.dynamic_slice_in_dim(leaf, place, 1), part)

        rows = {name: row(getattr(self, name)) for name in _OF_ROUNDS}
        made = dataclasses.replace(self, **rows)
        return made if made.span is None else made.with_means(made.span.means[0])

    def with_means(self, means: Array) -> MetricInputs:
        """The inputs with other means, `[K, C, 1]`."""
        best, last = best_means(means, self.plays)
        gaps = jnp.max(means, axis=0, keepdims=True) - means
        return dataclasses.replace(self, means=means, gaps=gaps, best_rewards=best, last_best=last)

    def of_span(self) -> MetricInputs:
        """The inputs of the rounds since the last change alone, of one recorded round."""
        assert self.span is not None
        return dataclasses.replace(self, t=self.span.t, quota=self.span.quota, span=None)

    def of_arm(self, k: Array | int) -> MetricInputs:
        """The inputs of one arm: arrays without the axis of the arms."""

        def pick(part: Tree, axis: int) -> Tree:
            return jax.tree.map(lambda leaf: lax.dynamic_index_in_dim(leaf, k, axis, keepdims=False), part)

        names = ("means", "gaps", "penalties", "opportunities")
        parts = {name: pick(getattr(self, name), 0) for name in names}
        quota, deficits = pick(self.quota, 1), pick(self.deficits, 1)
        return dataclasses.replace(self, t=self.t[:, 0], quota=quota, deficits=deficits, **parts)

    @property
    def quota_in_rounds(self) -> Array:
        """tau_k t as one float, `[R, K, C or 1, 1]`."""
        assert self.quota is not None
        quota: Array = self.quota.floor + self.quota.fraction
        return quota

    def deficit(self, counts: Array) -> Array:
        """tau_k t - N_k, `[R, ..., C, S]`; its sign and its zeros are exact."""
        if self.deficits is not None:
            return self.deficits
        assert self.quota is not None
        deficit: Array = (self.quota.floor - counts) + self.quota.fraction
        return deficit


def best_means(means: Any, plays: int) -> tuple[Any, Any]:
    """The sum of the L largest means, and the L-th largest one: `[1, ...]`, from NumPy or JAX arrays `[K, ...]`."""
    best = (np if isinstance(means, np.ndarray) else jnp).sort(means, axis=0)[::-1][:plays]
    return sum_in_order(best, axis=0)[None], best[-1:]


@struct
class MetricView:
    """What a metric sees of the runs in a recorded round: the argument of `Metric.value`.

    The first axis of an array is the arm, the other axes are the runs: `[K, *runs]`, or an axis of length 1 for a
    quantity that does not depend on the run. Numbers are float64 in simulations.

    Attributes:
        t: the round, float scalar.
        pulls: N_k, the selections of each arm in rounds 1 to t, float `[K, *runs]`; whole numbers, except in
            `jb.tuning`.
        means: mu_k, the mean reward of each arm; where means change, in round t.
        quota: tau_k t, the selections that each arm is guaranteed in t rounds; None without fractions.
        deficit: tau_k t - N_k, with exact signs and zeros, `[K, *runs]`; None without fractions.
        penalties: A_k, the penalty rate of each arm; None without penalties.
        opportunities: f(mu)_k, the fair shares of the opportunities paper; None without a fairness function.
        rewards: the sum of the drawn rewards of all arms, float `[*runs]`; None unless the metric sets
            `needs_rewards = True`.
        plays: L, the number of arms selected per round; int.
    """

    t: Array
    pulls: Array
    means: Array
    quota: Array | Any  # `Any` where it may be None: a metric that reads it needs it
    deficit: Array | Any
    penalties: Array | Any
    opportunities: Array | Any
    rewards: Array | Any
    plays: int = static(1)


METRICS: dict[str, Metric] = {}


class Metric:
    """A number per run and round, computed from the selections up to that round; results hold its mean over runs.

    A subclass implements `value`. `class Mine(jb.Metric, name="mine")` registers the metric: `jb.simulate` then
    computes it by default, as it does the built-in metrics, and `metrics=["mine"]` names it. Curves, tables, figures
    and `jb.tuning` treat it as they treat the built-in metrics. The first line of the docstring is its formula.

    Class attributes that a subclass may set:
        name: the name of its variable in results. Default: the name of the class.
        label: the name with the unit in parentheses, as axes show it: "Gini coefficient (selections)". Default: `name`.
        needs: the keys of `[problem]` that must be given, such as `("fractions",)`. Default: none.
        needs_rewards: whether `value` reads `now.rewards`. Default False.
        larger_is_better: True for a gain, False for a loss. Default False.

    Example:
        >>> class Gini(jb.Metric, name="gini"):
        ...     label = "Gini coefficient"
        ...
        ...     def value(self, now):
        ...         apart = jnp.abs(now.pulls[:, None] - now.pulls[None]).sum(axis=(0, 1))
        ...         return apart / (2 * len(now.pulls) * now.pulls.sum(axis=0))
        >>> results = jb.simulate(jb.Problem([0.9, 0.5]), "ucb1", horizon=50, seeds=8)
        >>> results.gini.sizes["round"], results.gini.attrs["long_name"]
        (50, 'Gini coefficient')
    """

    family: ClassVar[str] = "metric"
    name: ClassVar[str] = ""
    label: str = ""
    needs: tuple[str, ...] = ()
    needs_rewards: bool = False
    larger_is_better: bool = False
    when_named: bool = False  # it is not computed by default
    constant_means: bool = False  # it is not defined where means change
    adds_up: bool = False  # where means change, it is the sum of its values over the spans of constant means

    def __init_subclass__(cls, name: str | None = None, override: bool = False, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        for key, given in vars(cls).items():
            if isinstance(given, dataclasses.Field):
                words = "a plain class attribute, without `jb.parameter`: metrics have no parameters"
                raise InputError(f"{cls.__qualname__}.{key}", given.default, words)
        if name is not None and cls.value is Metric.value:
            raise InputError(f"{cls.__qualname__}.value", None, "a method that returns the metric of each run")
        cls.needs = checked_needs(cls)
        cls.name = name or cls.__dict__.get("name") or cls.__name__
        cls.label = cls.__dict__.get("label") or cls.name
        if cls.value is not Metric.value:
            check_name(cls, None if override else METRICS.get(cls.name))
            METRICS[cls.name] = cls()

    def refusal(self, problem: Problem) -> str:
        """Why the metric is not defined for a problem, as words after its name; empty if it is."""
        if self.constant_means and problem.changing is not None:
            return "is not defined where means change"
        if all(map(problem.has, self.needs)):
            return ""
        keys = [f"problem.{key}{' below 1' if key == 'availability' else ''}" for key in self.needs]
        return f"needs {' and '.join(keys)}"

    @property
    def sums(self) -> tuple[str, ...]:
        """The running sums that the engine must keep, names of `jaxbandit.engine.rounds.running_sums`."""
        return ("reward",) if self.needs_rewards else ()

    @property
    def summary(self) -> str:
        """The formula and its source, in one line."""
        return inspect.cleandoc(type(self).__doc__ or "").partition("\n")[0]

    def value(self, now: MetricView) -> Array:
        """The metric of each run.

        Args:
            now: the runs in a recorded round, a `jb.metrics.MetricView`: `now.t`, `now.pulls`, `now.means` and more.

        Returns:
            Float `[*runs]`: reduce over axis 0, the arms. Values must be finite and below 2^40 in magnitude.
        """
        raise TypeError(f"{type(self).__name__} has no value")

    def compute(self, counts: Array, inputs: MetricInputs) -> Array:
        """The metric of R recorded rounds.

        Args:
            counts: N_k, `[R, K, C, S]` for C instances and S runs of each.
            inputs: everything else.

        Returns:
            Float `[R, C, S]`.

        Raises:
            ReturnedError: `value` returned anything but a number per run.
        """

        def at_round(place: Array | int) -> Array:
            pulls = lax.dynamic_index_in_dim(counts, place, keepdims=False).astype(jnp.result_type(float))
            try:
                with told_of(self, "value"):
                    value = self.value(_view(pulls, inputs.at_round(place)))
            except (TypeError, AttributeError) as error:
                if "None" in str(error):
                    error.add_note(
                        "`now.rewards` needs `needs_rewards = True` in the class; `now.quota` and `now.deficit` need "
                        "`needs = ('fractions',)`, and so on."
                    )
                raise
            return contracts.broadcast_floats(self, "value", value, pulls.shape[1:], "a number per run")

        if len(counts) == 1:
            return at_round(0)[None]
        return jax.vmap(at_round)(jnp.arange(len(counts)))


def _view(pulls: Array, inputs: MetricInputs) -> MetricView:
    """The view of one round; `inputs` are those of this round."""
    quota = None if inputs.quota is None else inputs.quota_in_rounds[0]
    return MetricView(
        t=inputs.t.reshape(()),
        pulls=pulls,
        means=inputs.means,
        quota=quota,
        deficit=None if quota is None else inputs.deficit(pulls)[0],
        penalties=inputs.penalties,
        opportunities=inputs.opportunities,
        rewards=inputs.sums["reward"][0] if "reward" in inputs.sums else None,
        plays=inputs.plays,
    )


class Formula(Metric):
    """A metric that is given as a function: a built-in one.

    Args:
        formula: the function; arguments and result as those of `Metric.compute`. The first line of its docstring is the
            formula and its source; the rest explains the formula.
        label, needs, larger_is_better: as for `Metric`.
        constant_means: the metric is not defined where means change.
        adds_up: where means change, the metric is the sum of its values over the spans of rounds with constant means.
        sums: the running sums that the engine must keep, names of `jaxbandit.engine.rounds.running_sums`.

    Example:
        >>> jb.metrics.METRICS["unfairness"].summary
        'sum_k (tau_k t - N_k)+ (penalties paper, App. A).'
    """

    def __init__(
        self,
        formula: Callable[[Array, MetricInputs], Array],
        label: str,
        needs: tuple[str, ...] = (),
        sums: tuple[str, ...] = (),
        larger_is_better: bool = False,
        constant_means: bool = False,
        adds_up: bool = False,
    ):
        self.formula, self.label, self.needs, self._sums = formula, label, needs, sums
        self.larger_is_better, self.constant_means, self.adds_up = larger_is_better, constant_means, adds_up

    @property
    def sums(self) -> tuple[str, ...]:
        """The running sums that the engine must keep, names of `jaxbandit.engine.rounds.running_sums`."""
        return self._sums

    @property
    def summary(self) -> str:
        """The formula and its source, in one line."""
        return (self.formula.__doc__ or "").strip().partition("\n")[0]

    def compute(self, counts: Array, inputs: MetricInputs) -> Array:
        return self.formula(counts, inputs)


def is_users(metric: Metric) -> bool:
    """Whether a metric is a user's, so that its code may change."""
    return any(is_user_defined(kind) for kind in type(metric).__mro__ if kind is not object)


def kept_ever(names: Collection[str]) -> tuple[str, ...]:
    """Those metrics, built-in ones, whose largest value over all rounds is kept, too."""
    possible = ("max_deficit", "group_max_deficit")
    return tuple(name for name in possible if name in names and not is_users(METRICS[name]))
