"""`jb.combine`: policies added later, more seeds, what is refused, and the config of what was joined."""

import io
import json
import tomllib
import warnings

import numpy as np
import pytest
import xarray as xr

import jaxbandit as jb
from jaxbandit.experiments.joining import joined_configs

PROBLEM = {"means": [[0.9, 0.5, 0.1], [0.2, 0.4, 0.3]], "fractions": 0.1, "penalties": 0.2, "opportunity": "linear"}
POLICIES = [{"kind": "lfg", "eta": [1.0, 10.0]}, "self-regulated", "moss"]
SETTING = {
    "horizon": 50,
    "record": 5,
    "key": 3,
    "metrics": ["regret", "max_deficit"],
    "runs": ["regret"],
    "trace": True,
}


def simulate(policies="ucb1", problem=PROBLEM, seeds=3, **changes):
    return jb.simulate(problem, policies, seeds=seeds, **{**SETTING, **changes})


@pytest.fixture(scope="module")
def every():
    """One simulation of all policies and seeds."""
    return simulate(POLICIES, seeds=6)


def reloaded(data):
    file = io.BytesIO()
    data.to_netcdf(file, engine="h5netcdf")
    with xr.open_dataset(io.BytesIO(file.getvalue()), engine="h5netcdf") as found:
        return found.load()


def config(data):
    return tomllib.loads(data.attrs["config"])


def assert_same(one, two):
    xr.testing.assert_identical(one.drop_attrs(deep=False), two.drop_attrs(deep=False))
    assert {name: one[name].dtype for name in one.variables} == {name: two[name].dtype for name in two.variables}


@pytest.mark.slow
def test_policies_added_later_give_the_bits_of_one_simulation(every):
    one, two, three = (simulate(part, seeds=6) for part in (POLICIES[:1], POLICIES[1:2], POLICIES[2:]))
    joined = [jb.combine(jb.combine(one, reloaded(two)), three), jb.combine(reloaded(one), jb.combine(two, three))]
    for data in joined:
        assert_same(data, every)
        assert config(data) == config(every)
        parts = (one, two, three)
        for name in ("compile_seconds", "run_seconds"):
            assert data.attrs[name] == pytest.approx(sum(part.attrs[name] for part in parts))
        rounds = 4 * 2 * 6 * 50
        assert data.attrs["rounds_per_second"] == pytest.approx(rounds / data.attrs["run_seconds"])
        assert data.attrs["plays"] == 1
    assert_same(reloaded(reloaded(joined[0])), reloaded(every))


@pytest.mark.slow
def test_more_seeds_give_the_runs_of_one_simulation(every):
    one, two, three = (simulate(POLICIES, seeds=2, first_seed=first) for first in (0, 2, 4))
    turned = two.isel(policy=[2, 0, 3, 1])
    runs = [name for name in every if "seed" in every[name].dims]
    for data in (
        jb.combine(jb.combine(one, reloaded(turned)), three),
        jb.combine(three, jb.combine(two, one)),
        jb.combine(jb.combine(three, one), two),  # with a gap, which is filled
    ):
        assert_same(data[runs], every[runs])
        xr.testing.assert_allclose(data, every, rtol=1e-12, atol=1e-14)
        assert config(data) == config(every)
    gap = config(jb.combine(three, one))
    assert [part["simulation"]["seeds"] for part in gap["joined"]] == [2, 2]


def test_seeds_of_another_key(every):
    other = simulate(POLICIES, seeds=4, key=2**64 - 1)
    data = jb.combine(every, other)
    assert data.seed.values.tolist() == list(range(10))
    assert data.key.values.tolist() == [3] * 6 + [2**64 - 1] * 4
    assert data.key_seed.values.tolist() == [*range(6), *range(4)]
    np.testing.assert_array_equal(data.pulls[:, :, 6:], other.pulls)
    for name in ("regret", "max_deficit"):  # independently, from the runs at T
        finals = data[f"{name}_final"].values
        np.testing.assert_allclose(data[name][..., -1], finals.mean(-1), rtol=1e-12)
        np.testing.assert_allclose(data[f"{name}_stderr"][..., -1], finals.std(-1, ddof=1) / 10**0.5, atol=1e-12)
    assert [part["simulation"]["key"] for part in config(data)["joined"]] == [3, 2**64 - 1]
    more = jb.combine(simulate("ucb1", seeds=6), simulate("ucb1", seeds=4, key=2**64 - 1))
    both = jb.combine(reloaded(data), more)
    assert both.sizes["policy"] == 5
    assert len(config(both)["joined"]) == 2
    assert "ucb1" in jb.summary.table(both)
    assert jb.grids.best(both, "regret")
    assert set(jb.grids.table(both).policy) == set(both.policy.values)
    with pytest.raises(jb.InputError, match=r"^policy = .*: must not be in both with the same runs \(seeds 0 to 5 of"):
        jb.combine(both, both)


def test_whatever_is_kept_of_runs_is_joined():
    """Variables with `seed` are joined run by run, a mean with its standard error is pooled; both by their shape."""
    runs = np.random.default_rng(0).normal(size=(2, 2, 6, 5))
    dims = ("policy", "instance", "seed", "round")

    def with_runs(policies, seeds):
        own = runs[policies][:, :, seeds]
        data = simulate(["ucb1", "moss"][policies], seeds=own.shape[2], first_seed=seeds.start)
        error = own.std(2, ddof=1) / own.shape[2] ** 0.5
        mean = ("policy", "instance", "round")
        kept = data.assign(runs=(dims, own), kept=(mean, own.mean(2)), kept_stderr=(mean, error))
        return kept.assign(arms=((*dims[:3], "at"), own.astype(np.int32)))

    first, second, both = slice(0, 2), slice(2, 6), slice(0, 6)
    every = with_runs(slice(0, 2), both)
    halves = jb.combine(with_runs(slice(0, 2), first), with_runs(slice(0, 2), second))
    policies = jb.combine(with_runs(slice(0, 1), both), with_runs(slice(1, 2), both))
    assert_same(policies, every)
    xr.testing.assert_identical(halves[["runs", "arms"]].drop_attrs(), every[["runs", "arms"]].drop_attrs())
    xr.testing.assert_allclose(halves, every, rtol=1e-9)
    with pytest.warns(UserWarning, match="only one of the two has arms, rewards, delays, runs, kept, which the joined"):
        left = jb.combine(simulate("lfg", seeds=6, trace=False), every)
    assert not {"kept", "kept_stderr", "runs", "arms"} & set(left)
    assert "trace" not in config(left)["simulation"]
    assert config(left)["simulation"]["runs"] == ["regret"]


@pytest.mark.slow
def test_metrics_of_one_only_are_left_out():
    one, two = (
        simulate(policy, metrics=names)
        for policy, names in (("ucb1", ["regret", "max_deficit"]), ("moss", ["unfairness", "regret"]))
    )
    with pytest.warns(UserWarning, match="only one of the two has max_deficit, max_deficit_ever, unfairness, which"):
        data = jb.combine(one, two)
    assert config(data)["simulation"]["metrics"] == ["regret"]
    assert "max_deficit_ever" not in data
    assert_same(data, simulate(["ucb1", "moss"], metrics=["regret"]))
    assert "pulls_mean" in data


@pytest.mark.slow
def test_grids_over_problems_and_labels():
    grid = {**PROBLEM, "plays": [1, 2]}
    one, two = simulate("ucb1", grid), simulate({"kind": "lfg", "eta": [1.0, 2.0]}, grid)
    both = simulate(["ucb1", {"kind": "lfg", "eta": [1.0, 2.0]}], grid)
    assert_same(jb.combine(one, two), both)
    assert config(jb.combine(one, two)) == config(both)
    renamed = simulate({"kind": "ucb1", "exploration": 5.0}).assign_coords(policy=["wide"])
    data = jb.combine(simulate(), renamed)
    assert data.family.values.tolist() == ["ucb1", "wide"]
    assert [table["label"] for table in config(data)["policies"]] == ["ucb1", "wide"]
    longer = jb.combine(
        simulate({"kind": "lfg", "eta": [1.0, 2.0]}),
        simulate({"kind": "lfg", "eta": [1.0, 2.0, 3.0]}).sel(policy=["lfg (eta=3)"]),
    )
    assert [table["eta"] for table in config(longer)["policies"]] == [[1.0, 2.0, 3.0]]
    words = jb.combine(
        simulate({"kind": "lfg", "eta": [1, 2]}), simulate({"kind": "fair-learn", "base": ["moss", "ucb1"]})
    )
    assert words["policies.base"].values.tolist() == ["", "", "moss", "ucb1"]
    np.testing.assert_array_equal(words["policies.eta"], [1, 2, np.nan, np.nan])


RANDOM = {"means": {"random": "uniform", "arms": 3, "instances": 2}, "fractions": 0.1}
BEFORE = {key: value for key, value in PROBLEM.items() if key != "penalties"}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"horizon": 60}, "simulation.horizon = 60: must be 50, as in the other results"),
        ({"record": 2}, "simulation.record = [1, 50]: must be [1, 3, 8, 20, 50], as in the other results"),
        ({"key": 4}, "simulation.key = 4: must be 3, as in the other results"),
        ({"seeds": 5}, "seed = '0 to 4 of key 3': must be '0 to 2 of key 3', as in the other results"),
        ({"first_seed": 1}, "seed = '1 to 3 of key 3': must be '0 to 2 of key 3', as in the other results"),
        ({"problem": {**PROBLEM, "penalties": 0.3}}, "problem.penalties = [0.3, 0.3, 0.3]: must be [0.2, 0.2, 0.2]"),
        ({"problem": {**PROBLEM, "delay": {"kind": "fixed", "d": 3}}}, "problem.delay.kind = 'fixed': must be 'none'"),
        ({"problem": BEFORE}, "problem.penalties is missing: must be [0.2, 0.2, 0.2], as in the other results"),
        ({"policies": "ucb1"}, "policy = ['ucb1']: must not be in both with the same runs (seeds 0 to 2 of key 3)"),
        ({"policies": ["ucb1", "moss"]}, "policy = ['ucb1']: must not be in both with the same runs"),
        ({"policies": ["ucb1", "moss"], "key": 9}, "policy = ['moss']: must be in both where the seeds differ"),
        (
            {"policies": {"kind": "ucb1", "exploration": 5.0}, "key": 9},
            "policies[ucb1] = {'kind': 'ucb1', 'exploration': 5.0, 'log_offset': 0.0}: must be {'kind': 'u",
        ),
    ],
)
def test_results_that_do_not_fit_are_refused(more, message):
    with pytest.raises(jb.InputError) as error:
        jb.combine(simulate(), simulate(**{"policies": "moss", **more}))
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([0.1, 0.2, 0.4], "grid[4].problem.delay.p = 0.4: must be 0.3, as in the other results"),
        (
            [0.1, 0.2, 0.3, 0.4],
            "grid = '8 values': must have 6 values, as in the other results; only policies and seeds",
        ),
    ],
)
def test_grids_over_other_problems_are_refused(more, message):
    problem = {**PROBLEM, "delay": {"kind": "geometric"}}
    one, other = (
        {
            "simulation": {"horizon": 50},
            "problem": problem,
            "grid": {"problem.delay.p": values, "problem.plays": [1, 2]},
        }
        for values in ([0.1, 0.2, 0.3], more)
    )
    with pytest.raises(jb.InputError) as error:
        joined_configs.check_same_problem(one, other)
    assert str(error.value).startswith(message)


def test_other_refusals():
    results = simulate(seeds=4)
    for held, start in [
        (3, "more = 3: must be the dataset that `simulate` returns"),
        (results.drop_attrs(), "more = (): must have the attribute `config`"),
        (results.isel(seed=[0]), "more.seed = [0]: must have every seed and the last round"),
    ]:
        with pytest.raises(jb.InputError) as error:
            jb.combine(results, held)
        assert str(error.value).startswith(start)
    with pytest.raises(jb.InputError, match=r"^problem.means\[0\]\[0\] = .*: must be .*, as in the other results"):
        jb.combine(simulate(problem=RANDOM), simulate(problem=RANDOM, key=4))
    with pytest.warns(UserWarning, match=r"different versions \(jax_version: .* and 0.1\)"):
        data = jb.combine(results, simulate("moss", seeds=4).assign_attrs(jax_version="0.1"))
    assert data.attrs["jax_version"].endswith(", 0.1")


def test_results_of_other_dtypes_and_devices_are_told():
    results, more = simulate(seeds=4), simulate("moss", seeds=4)
    with pytest.warns(UserWarning, match=r"different dtypes \(float32 and float64\): the same run may differ"):
        both = jb.combine(results, more.assign_attrs(dtype="float64"))
    assert both.attrs["dtype"] == "float32, float64"
    one, many, other = (results.assign_attrs(device=name) for name in ("1 x cpu (cpu)", "8 x cpu (cpu)", "1 x A (gpu)"))
    with pytest.warns(UserWarning, match=r"kinds of devices \(1 x A \(gpu\) and 1 x cpu \(cpu\)\)"):
        jb.combine(other, more.assign_attrs(device="1 x cpu (cpu)"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert jb.combine(one, more.assign_attrs(device=many.device)).attrs["device"] == "1 x cpu (cpu), 8 x cpu (cpu)"


def test_results_of_classes_without_a_name():
    class Mine(jb.Index):
        """The mean."""

        def value(self, state, now):
            return now.mean

    one, two = (jb.simulate({"means": [0.9, 0.1]}, Mine(), horizon=20, seeds=2, first_seed=n) for n in (0, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = jb.combine(one, two)
    assert data.sizes["seed"] == 4
    assert config(data)["simulation"]["seeds"] == data.attrs["seeds"] == 4


def test_means_without_their_errors_are_those_of_all_runs():
    problem = jb.Problem([0.9, 0.5, 0.4])
    first = jb.simulate(problem, "ucb1", horizon=40, seeds=2, record=5)
    second = jb.simulate(problem, "ucb1", horizon=40, seeds=4, first_seed=2, record=5).drop_vars("pulls_mean_stderr")
    with pytest.warns(UserWarning, match="stderr"):
        joined = jb.combine(first.drop_vars("regret_stderr"), second)
    np.testing.assert_allclose(joined.regret[..., -1], joined.regret_final.mean("seed"))
    np.testing.assert_allclose(joined.pulls_mean[..., -1], joined.pulls.mean("seed"))
    assert not {"regret_stderr", "pulls_mean_stderr"} & set(joined)


def test_runs_of_two_codes_of_one_class_are_not_joined():
    sign = 1.0

    class Mine(jb.Index):
        """The mean, or minus the mean."""

        def value(self, state, now):
            return sign * now.mean

    def results(first):
        return jb.simulate(
            {"means": [0.9, 0.1]}, {"mine": Mine, "plain": "ucb1"}, horizon=20, seeds=2, first_seed=first
        )

    one, same = results(0), results(2)
    sign = -1.0
    other = results(2)
    assert list(json.loads(one.attrs["programs"])) == ["mine"]  # of plain policies the version tells
    assert jb.combine(one, same).attrs["programs"] == one.attrs["programs"]
    says = r"policy = 'mine': must be computed by the same code in both results; .* Simulate all runs with the new code"
    with pytest.raises(jb.InputError, match=says):
        jb.combine(one, other)
    with pytest.warns(UserWarning, match="different versions"):  # whose digests cannot be compared
        jb.combine(one, other.assign_attrs(jax_version="0.0"))


@pytest.mark.slow
def test_a_part_of_a_grid_whose_points_have_programs_of_their_own_is_joined():
    class Recent(jb.Index, name="test-recent"):
        """The mean, over a number that is known to the compiler."""

        divisor: int = jb.parameter(1, low=1, static=True)

        def value(self, state, now):
            return now.mean / self.divisor

    try:
        problem, grid = (
            {"means": [0.9, 0.1]},
            [{"kind": "test-recent", "divisor": held} for held in ([1, 2, 3], [1, 3])],
        )
        one, two = (jb.simulate(problem, grid[n], horizon=20, seeds=2, first_seed=2 * n) for n in (0, 1))
        joined = jb.combine(one.isel(policy=[0, 2]), two)
    finally:
        del jb.Index.registry["test-recent"]
    programs = [json.loads(data.attrs["programs"])["test-recent"] for data in (one, two, joined)]
    assert [len(held) for held in programs] == [3, 2, 3]
    assert joined.sizes["seed"] == 4
