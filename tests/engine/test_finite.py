"""Values that are not finite, too large for a mean to be exact, or contradict each other are not averaged."""

import dataclasses
import re
import threading
import warnings

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from sweeps import first_fast

import jaxbandit as jb
from jaxbandit.core.errors import DeviceError, ReturnedError
from jaxbandit.engine.batch import recorder

MEANS = [0.9, 0.5, 0.1]
PRICED = {"means": MEANS, "penalties": 0.3, "opportunity": "uniform"}
SMALL = {"horizon": 30, "seeds": 3, "record": 4}


class Lost(jb.Reward):
    """A reward that is not a number from each arm's third play on."""

    factor: float = float("nan")

    def draw(self, mean, random):
        return jnp.where(random.t > 1, self.factor, 1.0) * mean

    def check(self, key):
        """Any factor, for a test."""


class Sure(jb.Policy):
    """The first arm, by a chance that is not a number in round 7."""

    def choose(self, state, now):
        arm = jnp.arange(len(now.pulls)).reshape(-1, *[1] * (now.pulls.ndim - 1))
        chances = jnp.where(now.t == 7, jnp.nan, (arm == 0).astype(float))
        return jnp.broadcast_to(arm == 0, now.pulls.shape), jnp.broadcast_to(chances, now.pulls.shape)

    def select(self, state, now):
        return self.choose(state, now)[0]


@pytest.mark.parametrize("factor", first_fast([np.nan, np.inf, 1e30]))
def test_rewards_in_a_metric(factor):
    problem = {**PRICED, "reward": Lost(factor=factor)}
    words = r"policy 'uniform-random': utility at round \d+ is not finite, or of magnitude 1\.1e\+12 or more, in \d run"
    with pytest.raises(FloatingPointError, match=words):
        jb.simulate(problem, "uniform-random", metrics=["utility"], **SMALL)


def test_rewards_that_only_policies_see():
    problem = {"means": [MEANS, MEANS], "reward": Lost()}
    words = r"policy 'uniform-random', instance 0: the sum of the rewards of arm \d up to round 30 is not finite"
    with pytest.raises(FloatingPointError, match=words):
        jb.simulate(problem, ["uniform-random"], metrics=["regret"], **SMALL)


@pytest.mark.slow
def test_chances():
    problem = {"means": MEANS, "merit": "power"}
    words = r"policy 'Sure': choose returned 1 arm too few \(chances outside \[0, 1\] or that do not sum to the plays"
    with pytest.raises(ReturnedError, match=words):
        jb.simulate(problem, Sure, horizon=30, seeds=3, record=[1, 5, 10, 20])


def test_an_index_that_is_not_a_number_is_said_to_be_one():
    class Undefined(jb.Index):
        def value(self, state, now):
            return jnp.where(now.t > 9, jnp.nan, now.mean)

    with pytest.raises(
        FloatingPointError,
        match=r"policy 'Undefined': an index was not a number, in round \d+ or before; jb.check_policy finds the round",
    ):
        jb.simulate({"means": MEANS}, Undefined, metrics=["regret"], **SMALL)


@pytest.mark.parametrize("least", [-0.5, pytest.param(np.nan, marks=pytest.mark.slow)])
def test_chances_that_cannot_be_are_said(least):
    class Drawn(jb.policies.ChancePolicy):
        def chances(self, state, now):
            return now.mean + least

    with pytest.raises(
        FloatingPointError, match=r"policy 'Drawn': a chance was not a finite number >= 0, in round \d+"
    ):
        jb.simulate({"means": MEANS}, Drawn, metrics=["regret"], **SMALL)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "words"), [(jb.Index, "an index was not a number"), (jb.policies.ChancePolicy, "chance")]
)
def test_a_base_that_is_not_a_number_is_said_by_the_policy_around_it(kind, words):
    class Base(kind):
        def value(self, state, now):
            return now.mean * jnp.nan

        chances = value

    mixed = jb.policy("min-probability", base=Base, floor=0.1)
    with pytest.raises(FloatingPointError, match=f"policy 'min-probability': .*{words}.* in round"):
        jb.simulate({"means": MEANS}, mixed, metrics=["regret"], **SMALL)


@pytest.mark.parametrize(
    ("reward", "key"),
    first_fast(
        [
            ({"kind": "gaussian", "sd": [1.0, 1e13, 1.0]}, "problem.reward.sd"),
            ({"kind": "gaussian", "sd": 1e13}, "problem.reward.sd"),
            ({"kind": "uniform", "width": 1e25}, "problem.reward.width"),
        ]
    ),
)
def test_rewards_too_large_for_the_horizon_are_refused_beforehand(reward, key):
    with pytest.raises(jb.InputError, match=r"must be numbers of at most .* with T = 30") as error:
        jb.simulate({**PRICED, "reward": reward}, "ucb1", **SMALL)
    assert error.value.key == key
    most = float(str(error.value).split("at most ")[1].split()[0])
    name = key.rpartition(".")[2]
    results = jb.simulate({**PRICED, "reward": {**reward, name: 0.99 * most}}, "ucb1", **SMALL)
    finals = results.utility_final.values
    np.testing.assert_allclose(results.utility.values[..., -1], finals.mean(axis=-1), rtol=1e-12)


def test_sums_of_squares_stay_finite():
    problem = {"means": MEANS, "reward": {"kind": "gaussian", "sd": 1e20}}
    with pytest.raises(jb.InputError, match=r"problem\.reward\.sd = 1e\+20: must be numbers of at most"):
        jb.simulate(problem, "ucb-v", metrics=["regret"], **SMALL)


@pytest.mark.slow
@pytest.mark.parametrize("c", [1e3, 1e17, 1e20, 1e30, -1e20])
def test_softmax_of_any_steepness(c):
    """The share is that of the best arm, or of arms as good; differences of means decide, not rounded products."""
    means = [0.9, 0.5, 0.9, 0.1] if c > 0 else [0.1, 0.5, 0.1, 0.9]
    shares = jb.Problem(means, penalties=0.3, opportunity={"kind": "softmax", "c": c}).opportunities()[:, 0]
    np.testing.assert_allclose(shares, [0.5, 0, 0.5, 0], atol=1e-12)
    results = jb.simulate(
        {"means": means, "penalties": 0.3, "opportunity": {"kind": "softmax", "c": c}}, "self-regulated", **SMALL
    )
    assert np.isfinite(results.utility_final).all()


@pytest.mark.slow
def test_gaps_that_are_rounded_away_are_told():
    """Means over runs are those of multiples of 2^-40; a mean of smaller values is said to have few digits."""
    options = {"horizon": 20, "seeds": 50, "record": 5, "metrics": ["regret"], "runs": ["regret"]}
    with pytest.warns(UserWarning, match=r"means differ by 7e-11 at most, and .* multiples of 9\.1e-13 before"):
        made = jb.simulate(jb.Problem([9e-11, 5e-11, 2e-11]), "uniform-random", **options)
    exact = made.regret_runs.values[0, 0].mean(axis=0)
    assert abs(made.regret.values[0, 0] - exact).max() <= 2.0**-41
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jb.simulate(jb.Problem([9e-9, 5e-9, 2e-9]), "uniform-random", **options)


class Unreliable:
    """In the place of the program of the recorder: it returns zeros for the sums of the calls of some numbers."""

    def __init__(self, program, wrong):
        self.program, self.wrong, self.calls = program, wrong, 0
        self.lock = threading.Lock()  # two blocks are simulated at a time

    def __call__(self, wanted, counts, *others):
        records = self.program(wanted, counts, *others)
        if not np.asarray(counts).any():  # compiles it
            return records
        with self.lock:
            self.calls += 1
            wrong = self.calls in self.wrong
        return dataclasses.replace(records, sums=0 * records.sums) if wrong else records


@pytest.mark.slow
@pytest.mark.parametrize("metrics", [["r_regret"], ["max_deficit", "penalized_regret", "regret"]])
@pytest.mark.parametrize("seeds", [7, 260])
def test_sums_that_a_device_adds_up_wrongly(monkeypatch, caplog, seeds, metrics):
    """As on a GPU: the block is simulated again, and a second contradiction is an error."""
    problem = jb.Problem([MEANS, MEANS[::-1]], fractions=0.1, penalties=0.3)
    options = {"horizon": 60, "seeds": seeds, "record": 3, "metrics": metrics, "block": seeds}
    right = jb.simulate(problem, "ucb1", **options)
    monkeypatch.setattr(recorder, "on_cpu", lambda: False)
    monkeypatch.setattr(recorder, "_records_at", program := Unreliable(recorder._records_at, [2]))
    made = jb.simulate(problem, "ucb1", **options)
    assert program.calls == 3  # two blocks, and one of them again
    xr.testing.assert_identical(made.drop_attrs(deep=False), right.drop_attrs(deep=False))
    (said,) = [record.message for record in caplog.records if record.levelname == "WARNING"]
    words = rf"lost reward at round 60: its sum over {seeds} runs is 0 by one computation of the device, and \d+"
    assert re.fullmatch(rf"policy 'ucb1', instance [01]: {words}.* by another; its block is simulated again", said)
    program.wrong = range(100)
    with pytest.raises(DeviceError, match=words):
        jb.simulate(problem, "ucb1", **options)


@pytest.mark.slow
def test_counts_that_a_device_adds_up_wrongly(monkeypatch):
    def wrongly(*arguments):
        records = records_at(*arguments)
        return dataclasses.replace(records, pulls=records.pulls + int(np.asarray(arguments[1]).any()))

    records_at = recorder._records_at
    monkeypatch.setattr(recorder, "on_cpu", lambda: False)
    options = {"horizon": 60, "seeds": 7, "record": 3, "metrics": ["regret"]}
    assert "regret" not in jb.simulate(jb.Problem(MEANS), "ucb1", **{**options, "metrics": []})
    assert jb.simulate(jb.Problem(MEANS), "ucb1", **options).pulls_mean.values[0, 0, :, -1].sum() == pytest.approx(60)
    monkeypatch.setattr(recorder, "_records_at", wrongly)
    with pytest.raises(DeviceError, match=r"policy 'ucb1': the device returned two sums of N_k\(T\) over 7 runs"):
        jb.simulate(jb.Problem(MEANS), "ucb1", **options)
