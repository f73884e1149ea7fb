"""The page as a file: its size, its arguments, and what it holds; without a browser."""

import base64
import json
import zlib
from pathlib import Path

import numpy as np
import pytest
from made_up import grid, made_up

import jaxbandit as jb
from jaxbandit.experiments.configs import config as configs
from jaxbandit.experiments.dashboard.arrays import ArrayStore
from jaxbandit.experiments.dashboard.commands import in_toml

QUICKSTART = Path(__file__).parents[2] / "configs" / "quickstart.toml"


def contents(page):
    """The description and the bytes of the arrays in a page."""
    text = page.html.split('id="data">')[1].split("</script>")[0]
    content = zlib.decompress(base64.b64decode(text))
    size = int.from_bytes(content[:4], "little")
    return json.loads(content[4 : 4 + size]), content[4 + size :]


def numbers(description, arrays):
    """An array, regrouped by plain NumPy."""
    dtype, shape = np.dtype(description["dtype"]), description["shape"]
    count = int(np.prod(shape))
    part = arrays[description["start"] : description["start"] + count * dtype.itemsize]
    planes = np.frombuffer(part, np.uint8).reshape(dtype.itemsize, count)
    return np.ascontiguousarray(planes.T).view(dtype).reshape(shape)


@pytest.fixture(scope="module")
def results():
    return made_up(["ucb1", "fucb", *grid("lfg", eta=[float(i) for i in range(1, 31)])])


def test_the_page_is_one_text_without_references(results):
    page = jb.dashboard(results, title="A & <B>").html
    assert "<title>A &amp; &lt;B&gt;</title>" in page
    assert " src=" not in page.split("<body>")[0]
    assert not {"http://", "https://"} & {word for word in ("http://", "https://") if word in page.split("uPlot")[0]}
    assert "The MIT License (MIT)" in page
    assert "Copyright (c) 2022 Leon Sorokin" in page


def test_the_page_holds_the_metrics_of_all_and_the_curves_of_some(results):
    named = "lfg (eta=7)"
    description, arrays = contents(jb.dashboard(results, curves=[named]))
    shown = [description["policies"]["labels"][one["policy"]] for one in description["shown"]]
    assert len(shown) == 2 + 3 + 1
    assert {"ucb1", "fucb", named} <= set(shown)
    metric = next(one for one in description["metrics"] if one["name"] == "regret")
    finals = numbers(metric["final"]["mean"], arrays)
    np.testing.assert_array_equal(finals[:, 0, 0], results.regret.isel(round=-1).mean("instance"))
    curves = numbers(metric["curves"]["mean"], arrays)
    for curve, label in zip(curves, shown, strict=True):
        np.testing.assert_array_equal(curve[0], results.regret.sel(policy=label).mean("instance"))


def test_equal_arrays_are_stored_once():
    store = ArrayStore()
    first, other = store.add(np.arange(5.0)), store.add(np.arange(5.0))
    different = store.add(np.arange(1.0, 6.0))
    assert first == other != different


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"curves": ["ucb2"]}, "curves = 'ucb2'"),
        ({"curves": "ucb1"}, "curves = 'ucb1': must be a list of at most 50 labels"),
        ({"curves": ["ucb1"] * 51}, "a list of at most 50 labels"),
        ({"height": 10}, "height = 10: must be a whole number of pixels, at least 200"),
        ({"title": 3}, "title = 3: must be a string"),
        ({"tilte": "x"}, "did you mean 'title'"),
    ],
)
def test_bad_arguments_are_refused(results, arguments, message):
    with pytest.raises(jb.InputError, match=message):
        jb.dashboard(results, **arguments)


def test_selected_seeds_are_refused(results):
    with pytest.raises(jb.InputError, match="seed"):
        jb.dashboard(results.isel(seed=[0, 1]).assign_attrs(seeds=6))


def test_the_page_in_a_frame_and_in_a_file(results, tmp_path):
    made = jb.dashboard(results, height=300)
    assert repr(made) == "<dashboard of 32 policies: save(path) writes the page>"
    frame = made._repr_html_()
    assert frame.startswith("<iframe srcdoc=")
    assert 'sandbox="allow-scripts allow-downloads"' in frame
    assert "height: 300px" in frame
    assert made.save(tmp_path / "page.html").read_text("utf-8") == made.html
    with pytest.raises(jb.WriteError):
        made.save(tmp_path / "page.html" / "page.html")


@pytest.mark.parametrize("metrics", [[], ["regret"]])
def test_results_with_few_metrics(metrics):
    few = jb.simulate(jb.Problem([0.9, 0.5]), "ucb1", horizon=20, seeds=1, metrics=metrics, record=1)
    description, _ = contents(jb.dashboard(few))
    assert [one["name"] for one in description["metrics"]] == metrics
    assert "NaN" not in json.dumps(description)


def test_values_in_toml():
    values = {"kind": 'a"b\\\n\u2028\x7f', "p": [1, 2.5, True], "t": {"a b": 1e-7}}
    import tomllib

    assert tomllib.loads(f"v = {in_toml(values)}")["v"] == values


def test_ten_thousand_points_take_at_most_three_megabytes():
    etas, rates = [2.0**i for i in range(100)], [0.05 * (i + 1) for i in range(100)]
    many = made_up(["ucb1", *grid("lfg", eta=etas, exploration=rates)], rounds=60)
    named = many.policy.values[5:55].tolist()
    assert len(jb.dashboard(many, curves=named).html) <= 3_000_000


@pytest.mark.slow
def test_the_page_of_the_quickstart_takes_at_most_400_kilobytes():
    config = configs.load(QUICKSTART)
    settings = {**config["simulation"], "seeds": 200}
    results = jb.simulate(config["problem"], config["policies"], **settings)
    assert len(jb.dashboard(results).html) <= 400_000


def test_commands_of_a_policy_and_a_grid_of_one_family():
    policies = [{"kind": "ucb1", "exploration": [1.0, 3.0]}, jb.policy("ucb1", exploration=4.0)]
    both = jb.simulate(jb.Problem([0.9, 0.5]), policies, horizon=20, seeds=2)
    assert set(both.family.values) == {"ucb1"}
    description, _ = contents(jb.dashboard(both))
    tables = [dict(pairs) for pairs in description["commands"]["families"]["ucb1"]]
    assert [one["exploration"] for one in tables] == [None, "4.0"]


def test_up_to_24_policies_are_on_at_first_and_of_more_three_of_each_group():
    few = made_up([*grid("lfg", eta=[float(i) for i in range(16)]), *grid("fair-learn", alpha=[0, 2, 10, 50])])
    assert contents(jb.dashboard(few))[0]["ticked"] == list(range(20))
    many = made_up(
        [*grid("lfg", eta=[float(i) for i in range(20)]), *grid("fair-learn", alpha=list(range(15))), "ucb1"]
    )
    description = contents(jb.dashboard(many))[0]
    finals = many.penalized_regret.isel(round=-1).mean("instance").values
    expected = {35}
    for members in (np.arange(20), np.arange(20, 35)):
        order = members[np.argsort(finals[members], kind="stable")]
        expected |= {order[0], order[(len(order) - 1) // 2], order[-1]}
    assert description["ticked"] == sorted(expected)
    assert description["best"] == [int(np.argmin(finals))]


@pytest.mark.slow
def test_the_best_of_each_problem_and_the_confidence_sets_are_marked():
    grids = {"problem": {"penalties": [0.1, 0.4]}}
    problem = {"means": [0.5, 0.9, 0.7], "fractions": 0.1, "penalties": 0.2}
    policies = ["ucb1", "fucb", {"kind": "lfg", "eta": [1.0, 10.0]}]
    results = jb.simulate(problem, policies, grid=grids, horizon=60, seeds=8, key=1)
    description = contents(jb.dashboard(results))[0]
    best = jb.grids.best(results, "penalized_regret", per=["problem.penalties"]).policy.tolist()
    assert [description["policies"]["labels"][position] for position in description["best"]] == best
    kept = jb.grids.confidence_set(results, "penalized_regret", per=["problem.penalties"]).policy.tolist()
    assert {description["policies"]["labels"][position] for position in description["possible"]} == set(kept)
    alone = jb.simulate(problem, policies, horizon=60, seeds=1, key=1)
    assert contents(jb.dashboard(alone))[0]["possible"] is None


def test_a_command_of_a_grid_over_a_nested_base_has_its_keys(tmp_path):
    policy = {"kind": "fair-learn", "alpha": 1.0, "base": {"kind": "ucb1", "exploration": [0.5, 1.0]}}
    problem = jb.Problem([0.9, 0.5], fractions=0.1)
    parts = contents(jb.dashboard(jb.simulate(problem, policy, horizon=5, seeds=2)))[0]["commands"]
    ((pairs,),) = parts["families"].values()
    chosen = {key: parts["values"][f"policies.{key}"]["0.5"] if value is None else value for key, value in pairs}
    table = "{" + ", ".join(f"{key} = {value}" for key, value in chosen.items()) + "}"
    (tmp_path / "c.toml").write_text(
        "[simulation]\nhorizon = 5\nseeds = 2\n[problem]\nmeans = [0.9, 0.5]\nfractions = 0.1"
    )
    config = configs.load(tmp_path / "c.toml", [f"policies=[{table}]"])
    (made,) = configs.make_plan(config).configurations
    assert made.policy == jb.policy("fair-learn", alpha=1.0, base="ucb1", exploration=0.5)


@pytest.mark.slow
def test_bounds_belong_to_the_instances_that_are_left():
    problem = {"means": [[0.9, 0.5, 0.3], [0.9, 0.85, 0.1]], "fractions": 0.1}
    results = jb.simulate(problem, ["fucb"], horizon=200, seeds=2, metrics=["r_regret"])
    values = []
    for part in (results, results.isel(instance=[1, 0]), results.isel(instance=[1])):
        description, arrays = contents(jb.dashboard(part))
        bound = next(one for one in description["theory"] if one["metric"] == "r_regret")
        values.append(numbers(bound["values"], arrays)[-part.sizes["instance"] :])
    np.testing.assert_array_equal(values[1], values[0][::-1])
    np.testing.assert_array_equal(values[2], values[0][1:])
    assert np.abs(values[0][0, -1] - values[0][1, -1]) > 1


@pytest.mark.slow
def test_largest_deficits_of_arms_and_groups_are_there_for_each_instance():
    problem = {"means": [[0.9, 0.5, 0.3], [0.1, 0.5, 0.7]], "groups": [[0, 1], [2]], "group_fractions": [0.6, 0.3]}
    results = jb.simulate({**problem, "fractions": 0.1, "plays": 2}, ["ucb1"], horizon=100, seeds=6)
    description, arrays = contents(jb.dashboard(results))
    for name in ("max_deficit_ever", "group_max_deficit_ever"):
        (metric,) = (one for one in description["metrics"] if one["name"] == name)
        runs = results[name].transpose("policy", "instance", "seed").values[0]
        errors = runs.std(axis=1, ddof=1) / 6**0.5
        mean, error = (numbers(metric["final"][one], arrays)[0, :, 0] for one in ("mean", "error"))
        np.testing.assert_allclose(mean, [runs.mean(), *runs.mean(axis=1)])
        np.testing.assert_allclose(error, [np.sqrt((errors**2).sum()) / 2, *errors])


def test_results_without_what_the_page_shows_are_refused(results):
    with pytest.raises(jb.InputError, match="must have the variable 'pulls'"):
        jb.dashboard(results.drop_vars("pulls"))
