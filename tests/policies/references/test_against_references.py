"""Every policy against the plain references, which are written from the papers: the same selections, round by round.

The worlds are those of `scripted_rounds`; `test_references_in_engine.py` has the tests with the engine.
"""

import dataclasses
import itertools

import jax
import numpy as np
import pytest
import reference
import reference_merit
import scripted_rounds as world
from harness import ALL, DISTINCT, MERIT_ALIASES, ONE_PLAY, RULES, TRANSFER
from scripted_rounds import ANY_PLAYS, arguments, compare, is_binary, play, program, standard
from sweeps import every, first_fast, partly_fast

import jaxbandit as jb
from jaxbandit.core.xla import cpu_kernel
from jaxbandit.policies.base import Policy

SEVERAL = 2
AWAKE = [(world.STEADY, 0), (world.STEADY, 1), (world.LATE, 0), (world.TIED, 0)]  # for a policy that needs all arms
EVERY_RUN = [(world.STEADY, 0), (world.STEADY, 1), *((cell, 0) for cell in range(1, 5))]
FEW_RUNS = [(world.STEADY, 0), (world.MIXED, 0), (world.MIXED, 1)]  # for references that take long
BOXED = ("fcucb-d", "op-fcucb-d")  # each of their rounds searches a box on a grid
# Weights with which sums of integers and deficits do not tie, for rounding settles such ties
GIVEN = {
    "eta-fucb": {"eta": 0.7317},
    "lfg": {"eta": 0.7317},
    "ucb-pllp": {"eps": 0.2137},
    "self-regulated": {"alpha": 0.2, "beta": 0.3},
    "fairness-aware-etc": {"rounds_per_arm": 6},
    "sliding-window-ucb": {"window": 20},
    "discounted-ucb": {"discount": 0.93},
    "discounted-thompson": {"discount": 0.93},
    "min-probability": {"floor": 0.07},
}
KINDS = [*DISTINCT, "f-ts"]  # thompson, too, draws from a stream of its own where it is a base
ONE = [kind for kind in KINDS if kind not in ("fair-mmab", *TRANSFER)]  # fair-mmab needs fractions below L/K
MANY = [kind for kind in KINDS if kind not in ONE_PLAY]
ALONE = ["lfg", "fair-mmab", "self-regulated"]
NOT_ALONE = [kind for kind in KINDS if kind not in ALONE]
# Some of those whose several plays are more than the best of their indices
FAST_WITH_TWO_PLAYS = [kind for kind in MANY if kind not in ANY_PLAYS][::6]


def plays_of(kind):
    return SEVERAL if kind == "fair-mmab" else 1


def world_of(kind, plays=1, **parameters):
    if kind in TRANSFER:  # as in `test_opportunity_policies.py`
        return standard(1, False, "uniform", 600, 3)
    return standard(plays, is_binary(kind, parameters))


def check(kind, plays=1, **parameters):
    proportional = isinstance(Policy.registry[kind], type) and "merit" in Policy.registry[kind].parameters()
    runs = FEW_RUNS[: 2 if kind in BOXED else 3] if proportional else EVERY_RUN
    if kind == "min-probability":
        runs = AWAKE
    return compare(kind, world_of(kind, plays, **parameters), runs, **parameters)


@pytest.fixture(autouse=True)
def coarse_grid(monkeypatch):
    """The merit function of these worlds has one peak at most, which a grid of few cells does not miss."""
    monkeypatch.setattr(reference_merit, "CELLS", 150)


def test_every_registered_policy_has_a_reference():
    assert set(ALL) <= {*reference.POLICIES, *MERIT_ALIASES}


@pytest.mark.parametrize(
    ("kind", "parameters"),
    first_fast(
        [("successive-elimination", {"exploration": 0.1}), ("opse", {"exploration": 0.1}), ("naive", {"eps": 0.2})]
    ),
)
def test_what_is_kept_from_round_to_round_where_nothing_is_late_and_no_arm_sleeps(kind, parameters):
    script = standard(1, is_binary(kind, parameters))
    steady = dataclasses.replace(script, delays=np.zeros_like(script.delays), available=np.ones_like(script.available))
    compare(kind, steady, EVERY_RUN, steady=True, **parameters)


@pytest.mark.parametrize("kind", partly_fast(ONE, ONE[::3]))
def test_one_play(kind):
    check(kind, **GIVEN.get(kind, {}))


@pytest.mark.parametrize("kind", partly_fast(MANY, FAST_WITH_TWO_PLAYS))
def test_two_plays(kind):
    check(kind, SEVERAL, **GIVEN.get(kind, {}))


# Other numbers, the same program


PARAMETERS = [
    ("ucb1", {"exploration": 0.5, "log_offset": 1.0}),
    ("kl-ucb", {"a": 3.0, "log_offset": 1.0}),
    ("epsilon-greedy", {"eps": 0.5}),
    ("ucb-v", {"exploration": 0.3, "c": 0.1, "b": 0.5}),
    ("explore-then-commit", {"rounds_per_arm": 4}),
    ("successive-elimination", {"exploration": 0.1}),
    ("opse", {"exploration": 0.1}),
    ("hard-threshold-ucb", {"exploration": 0.2}),
    ("soft-threshold-ucb", {"exploration": 0.1}),
    ("lfg", {"eta": 30.3, "exploration": 1.5}),
    ("fair-learn", {"alpha": 1.3}),
    ("f-ts", {"alpha": 2.0}),
    ("eta-fucb", {"eta": 0.0313}),
    ("eta-fucb", {"eta": 0.3137, "clipped": True}),
    ("naive", {"eps": 0.29}),
    ("naive", {"eps": 0.0}),
    ("naive", {"eps": 1.0}),
    ("fair-mmab", {"exploration": 0.3, "log_offset": 1.0}),
    ("fair-mmab", {"J": 1}),
    ("fair-mmab", {"J": 2}),
    ("ucb-lp", {"exploration": 0.05}),
    ("ucb-pllp", {"alpha": 3.1, "eps": 0.0}),
    ("ucb-pllp", {"alpha": 0.2, "eps": 0.9137, "exploration": 0.05}),
    ("fgreedy-d", {"eps": 0.6, "decay": 0.25}),
    ("discounted-ucb", {"discount": 0.8, "exploration": 0.3}),
    ("discounted-ucb", {"discount": 1.0}),
    ("exp3", {"eta": 0.1, "mix": 0.2}),
    ("fair-bandits", {"delta": 0.9}),
    ("min-probability", {"floor": 0.2, "base": "thompson"}),
    ("min-probability", {"floor": 0.05, "base": "exp3", "eta": 0.05}),
    ("min-probability", {"floor": 0.1, "base": "tsallis-inf"}),
    ("min-probability", {"floor": 0.1, "base": "fair-bandits"}),
    ("self-regulated", {"alpha": 0.4, "beta": 0.4, "exploration": 0.3}),
    ("constant-opportunity", {"exploration": 0.3}),
]


LONG = ("min-probability", "fair-bandits", "self-regulated", "constant-opportunity", "fair-mmab", "discounted-ucb")


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [pytest.param(*case, marks=[pytest.mark.slow] * (case[0] in LONG)) for case in PARAMETERS],
    ids=str,
)
def test_parameters(kind, parameters):
    check(kind, plays_of(kind), **parameters)


@pytest.mark.parametrize("kind", first_fast(["hard-threshold-ucb", "soft-threshold-ucb", "constant-opportunity"]))
def test_penalty_rates_of_the_policy_come_before_those_of_the_problem(kind):
    script, rates = world_of(kind), [0.15, 2.5, 0.0, 0.6, 0.3]
    own = play(jb.policy(kind, penalties=rates), script)
    problem = jb.Problem(
        world.MEANS, fractions=world.FRACTIONS, penalties=[rates] * 5, opportunity=script.problem.opportunity
    )
    given = play(jb.policy(kind), dataclasses.replace(script, problem=problem))
    np.testing.assert_array_equal(own[0], given[0])
    assert (own[0] != play(jb.policy(kind), script)[0]).any()


def test_gaussian_thompson_sampling():
    check("thompson", sd=0.3)
    check("thompson", sd=1.2)


@pytest.mark.slow
def test_the_base_of_a_rule_and_a_black_box_may_be_any_index():
    check("fair-mmab", SEVERAL, base="kl-ucb", log_offset=1.0, a=2.0)
    check("constant-opportunity", black_box="ucb-v", exploration=0.3)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("base", every(reference.INDICES[:9], 3))
def test_any_index_under_any_rule(rule, base):
    given = GIVEN.get(rule, {})
    if (rule, base) == ("hard-threshold-ucb", "moss"):  # its indices may be ratios: with A = 1/10, 22/30 + A is 40/48
        given = {"penalties": 0.1037}
    check(rule, plays_of(rule), base=base, **given)


@pytest.mark.slow
@pytest.mark.parametrize("black_box", reference.INDICES[:9])
def test_every_index_is_a_black_box(black_box):
    check("self-regulated", black_box=black_box, **GIVEN["self-regulated"])


@pytest.mark.parametrize("kind", every(KINDS, 5))
def test_float64(kind, float64):
    forget()  # programs and worlds in float32
    check(kind, plays_of(kind), **GIVEN.get(kind, {}))
    forget()


def forget():
    """Forget what earlier tests compiled and drew."""
    for cached in (world.standard, world._quotas, world._table):
        cached.cache_clear()
    jax.clear_caches()


# What is true of every policy


def numbers_of(kind):
    """Other values of a policy's parameters."""
    values = {"exploration": 0.7, "eta": 0.3, "eps": 0.4, "alpha": 1.5, "a": 2.0, "c": 0.5, "beta": 0.3}
    parameters = [name for part in jb.policy(kind).nested_policies() for name in part.parameters()]
    return {name: value for name, value in values.items() if name in parameters}


@pytest.mark.parametrize("kind", [*ALONE, *every(NOT_ALONE, 5)])
def test_other_numbers_compile_nothing_new_and_rounds_are_pure(kind):
    script = world_of(kind, plays_of(kind))
    once, again = (play(jb.policy(kind), script) for _ in range(2))
    jax.tree.map(np.testing.assert_array_equal, once, again)
    compiled = program._cache_size()
    problem = jb.Problem(
        [[0.9, 0.1, 0.2, 0.3, 0.6]] * 5,
        fractions=[[0.2, 0.07, 0.02, 0.0, 0.1]] * 5,
        penalties=[[0.0, 0.1, 0.2, 0.3, 0.4]] * 5,
        merit={"kind": "power", "scale": 0.5},
        opportunity=script.problem.opportunity,
        plays=plays_of(kind),
    )
    other = dataclasses.replace(script, problem=problem, rewards=1.0 - script.rewards)
    play(jb.policy(kind), other, key=5, horizon=77)
    play(jb.policy(kind, **numbers_of(kind)), other, key=6)
    assert program._cache_size() == compiled
    traced = program.trace(**arguments(jb.policy(kind), script)).jaxpr
    assert not traced.effects
    assert not cpu_kernel.unsupported_operations(traced)
    assert not any(str(v.aval.dtype) in ("float64", "int64") for v in itertools.chain(traced.jaxpr.outvars))


@pytest.mark.parametrize("kind", [*ALONE, *every(NOT_ALONE, 5)])
def test_one_run_without_axes_of_runs_is_a_column_of_the_batch(kind):
    script = world_of(kind, plays_of(kind))
    given = arguments(jb.policy(kind), script)
    shape = script.rewards.shape[2:]

    def of_run(leaf):
        if np.ndim(leaf) < 3:
            return leaf
        return np.broadcast_to(leaf, (*leaf.shape[:-2], *shape))[..., world.MIXED, 1]

    alone = program(
        **jax.tree.map(of_run, {name: part for name, part in given.items() if name != "plays"}), plays=given["plays"]
    )
    np.testing.assert_array_equal(alone[0], play(jb.policy(kind), script)[0][..., world.MIXED, 1])
