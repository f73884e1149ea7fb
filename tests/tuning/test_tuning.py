"""Gradients against enumeration, what can be tuned, constraints, budgets, the command."""

import tomllib
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import reference_tuning
import xarray as xr

import jaxbandit as jb
from jaxbandit import cli, tuning
from jaxbandit.core import prng
from jaxbandit.core.errors import InputError
from jaxbandit.policies.base import Alias, Policy
from jaxbandit.tuning import command, gradients, plot, relaxations, soft_rollouts
from jaxbandit.tuning.parameters import Tunable, estimators_of

MEANS, TAU, PENALTIES, T = [0.9, 0.2], [Fraction(11, 20), Fraction(2, 5)], [0.2, 0.45], 6
TEMPERATURE, WIDTH = 0.3, 0.4
CASES = {
    "hard-threshold-ucb": (reference_tuning.HardThreshold, {"penalties": [0.2, 0.45], "exploration": [1.3]}),
    "lfg": (reference_tuning.LFG, {"eta": [0.8], "exploration": [0.1]}),
}
SMALL = jb.Problem([0.9, 0.5, 0.3], fractions=0.2, penalties=0.3)
TOML = """
[simulation]
horizon = 36
seeds = 4
record = 1
metrics = ["penalized_regret"]

[problem]
means = [0.9, 0.5, 0.3]
fractions = 0.2
penalties = 0.3

[[policies]]
kind = "hard-threshold-ucb"
label = "HT"

[[policies]]
kind = "naive"

[tuning]
policy = "HT"
parameters = ["penalties"]
steps = 4
seeds = 16
check = 2
"""


class Listed(jb.Reward):
    """Run i's n-th reward of arm k is bit k T + n of i: all tables of rewards, a run each."""

    def draw(self, mean, random):
        arm = jnp.arange(2).reshape(2, 1, 1) if random.arm is None else random.arm  # all arms, or those that are played
        place = arm.astype(jnp.uint32) * jnp.uint32(T) + jnp.minimum(random.t, T - 1)
        return ((random.key[1] >> place) & 1).astype(mean.dtype)

    def support(self, means):
        return 0.0, 1.0


def two_arms(reward="bernoulli"):
    return jb.Problem(MEANS, fractions=[float(tau) for tau in TAU], penalties=PENALTIES, reward=reward)


def made(parameters):
    return {name: values if len(values) > 1 else values[0] for name, values in parameters.items()}


@pytest.mark.parametrize("kind", CASES)
def test_the_relaxed_gradient_is_that_of_the_relaxed_objective(kind, float64, monkeypatch):
    reference, parameters = CASES[kind]
    value, slopes = reference_tuning.relaxed(reference, parameters, MEANS, TAU, PENALTIES, T, TEMPERATURE, WIDTH)
    monkeypatch.setattr(
        prng,
        "run_keys",
        lambda key, cells, seeds: (np.zeros((1, 1, seeds.size), np.uint32), seeds[None].astype(np.uint32)),
    )
    program = gradients.Program(
        two_arms(Listed()), kind, made(parameters), "penalized_regret", "relaxed",
        horizon=T, temperature=TEMPERATURE, width=WIDTH, key=0,
    )  # fmt: skip
    table = np.arange(4**T)
    bits = (table[:, None] >> np.arange(2 * T)) & 1
    mu = np.repeat(MEANS, T)
    chance = np.where(bits == 1, mu, 1 - mu).prod(axis=1)
    runs = program.runs({one.name: one.start for one in program.tunables}, table)
    np.testing.assert_allclose(chance @ runs.value, value, rtol=1e-9)
    for name, exact in slopes.items():
        assert min(np.abs(exact)) > 1e-4
        np.testing.assert_allclose(np.atleast_1d(chance @ runs.gradient[name]), exact, rtol=1e-6)


@pytest.mark.parametrize("kind", ["hard-threshold-ucb", pytest.param("lfg", marks=pytest.mark.slow)])
def test_the_score_gradient_is_unbiased_for_the_softened_policy(kind):
    """Within 4 standard errors: a false alarm in 5,000 runs for six numbers."""
    reference, parameters = CASES[kind]
    rounds = 5
    value, slopes = reference_tuning.softened(reference, parameters, MEANS, TAU, PENALTIES, rounds, TEMPERATURE)
    found = tuning.value_and_gradient(
        two_arms(), kind, made(parameters), estimator="score", horizon=rounds, seeds=1 << 15, temperature=TEMPERATURE
    )
    assert abs(found.value - value) < 4 * found.value_stderr
    for name, exact in slopes.items():
        error = np.atleast_1d(found.gradient_stderr[name])
        assert np.all(error < 0.15 * np.max(np.abs(exact))), "too noisy to tell"
        assert np.all(np.abs(np.atleast_1d(found.gradient[name]) - exact) < 4 * error), name


def test_the_relaxed_policy_goes_to_the_policy_itself():
    """Run by run: as temperature and width fall, on the same rewards."""
    policy = jb.policy("hard-threshold-ucb", exploration=1.0)
    problem = jb.Problem([0.9, 0.6, 0.3], fractions=0.2, penalties=0.3, reward={"kind": "gaussian", "sd": 0.1})
    hard = jb.simulate(problem, policy, horizon=64, seeds=64, metrics=["penalized_regret"], record=1)
    hard = hard.penalized_regret_final.values[0, 0]
    distances = []
    for temperature, width in ((0.1, 0.5), (1e-2, 0.1), (1e-5, 0.02)):
        program = gradients.Program(
            problem, policy, ["penalties"], "penalized_regret", "relaxed",
            horizon=64, temperature=temperature, width=width, key=0,
        )  # fmt: skip
        soft = program.runs({"penalties": program.tunables[0].start}, np.arange(64)).value
        distances.append(np.abs(soft - hard).mean())
    assert distances[0] > 2 * distances[1] > 4 * distances[2]
    assert distances[2] < 0.02 * hard.mean()


def soft_view(score, plays, available=None):
    """What a choice looks at, for scores `[K, runs]`."""
    score = jnp.asarray(score)
    key = tuple(jnp.asarray(w) for w in prng.run_keys(0, np.zeros(1, int), np.arange(score.shape[1])))
    world = gradients.world_of(jb.Problem([0.5] * len(score), plays=plays), False, 10)
    state = soft_rollouts.Shared(jnp.ones(score.shape, jnp.int32), *[jnp.zeros(score.shape)] * 4, (), {})
    t = jnp.asarray(1, jnp.int32)
    stream = prng.Stream(key, jnp.uint32(1))
    now = soft_rollouts.engine.observe(state, world, t, t, None, None, stream)
    return now if available is None else soft_rollouts.dataclasses.replace(now, available=jnp.asarray(available))


def test_shares_of_several_plays_sum_to_them():
    rng = np.random.default_rng(0)
    score = rng.normal(size=(6, 40))
    score[0, ::4] = np.inf  # for sure
    available = np.ones(score.shape, bool)
    available[2:, 1::4] = False  # two arms there for three plays
    now = soft_view(score, 3, available)
    for temperature in (1e-3, 0.1, 2.0):
        share = np.asarray(relaxations.shares(jnp.asarray(score), now, jnp.asarray(temperature)))
        np.testing.assert_allclose(share.sum(axis=0), np.minimum(available.sum(axis=0), 3), rtol=1e-5)
        assert np.all((share >= 0) & (share <= 1 + 1e-6))
        assert np.all(share[~available] == 0)
        assert np.all(share[np.isinf(score) & available] == 1)
    hard = np.argsort(np.argsort(-np.where(available, score, -np.inf), axis=0), axis=0) < 3
    share = np.asarray(relaxations.shares(jnp.asarray(score), now, jnp.asarray(1e-4)))
    np.testing.assert_allclose(share, hard & available, atol=1e-3)


def test_the_shares_of_several_plays_have_the_right_derivative(float64):
    score = np.random.default_rng(1).normal(size=(5, 1))
    now, temperature = soft_view(score, 2), jnp.asarray(0.4)
    slope = jax.jacobian(lambda s: relaxations.shares(s, now, temperature)[:, 0])(jnp.asarray(score))[..., 0]
    h = 1e-6
    for k in range(5):
        up, down = (relaxations.shares(jnp.asarray(score).at[k].add(d), now, temperature)[:, 0] for d in (h, -h))
        np.testing.assert_allclose(slope[:, k], (up - down) / (2 * h), atol=1e-7)


def test_several_arms_are_drawn_one_after_the_other():
    """Chances of pairs by Plackett's rule; each within 4.5 standard errors (a false alarm in 10,000 of six)."""
    score, temperature, runs = [0.3, -0.2, 0.5, 0.0], 0.7, 1 << 14
    taken, log_chance = relaxations.drawn(
        *(lambda s: (s, soft_view(s, 2)))(jnp.tile(jnp.asarray(score)[:, None], (1, runs))), jnp.asarray(temperature)
    )
    w = np.exp(np.array(score) / temperature)
    w /= w.sum()
    taken = np.asarray(taken)
    for a in range(4):
        for b in range(a):
            chance = w[a] * w[b] / (1 - w[a]) + w[b] * w[a] / (1 - w[b])
            share = (taken[a] & taken[b]).mean()
            assert abs(share - chance) < 4.5 * np.sqrt(chance * (1 - chance) / runs)
    assert np.all(taken.sum(axis=0) == 2)
    # The mean of the logarithm is that of the ordered pairs.
    pairs = [(w[a] * w[b] / (1 - w[a])) for a in range(4) for b in range(4) if a != b]
    spread = np.asarray(log_chance).std() / np.sqrt(runs)
    assert abs(np.asarray(log_chance).mean() - sum(p * np.log(p) for p in pairs)) < 4.5 * spread


@pytest.mark.parametrize(
    ("kind", "parameters", "problem"),
    [
        pytest.param(*("ucb1", ["exploration"], {}), marks=pytest.mark.slow),
        pytest.param(*("soft-threshold-ucb", ["penalties"], {}), marks=pytest.mark.slow),
        pytest.param(*("eta-fucb", {"eta": 0.1}, {}), marks=pytest.mark.slow),
        pytest.param(*("lfg", ["eta"], {"plays": 2}), marks=pytest.mark.slow),
        pytest.param(*("ucb-pllp", ["alpha", "eps"], {"plays": 2, "fractions": 0.6}), marks=pytest.mark.slow),
        pytest.param(*("ucb-v", ["exploration", "c"], {}), marks=pytest.mark.slow),
        pytest.param(
            *("fgreedy-d", ["merit.scale"], {"plays": 2, "merit": {"kind": "power", "scale": 0.5}}),
            marks=pytest.mark.slow,
        ),
        pytest.param(*("fcts-d", ["merit.scale"], {"merit": "power"}), marks=pytest.mark.slow),
        ("hard-threshold-ucb", ["exploration"], {"delay": {"kind": "fixed", "d": 2}}),
        pytest.param(*("thompson", ["sd"], {"reward": {"kind": "gaussian", "sd": 0.2}}), marks=pytest.mark.slow),
        pytest.param(
            *("hard-threshold-ucb", ["penalties"], {"availability": 0.7, "means": [[0.9, 0.5, 0.3], [0.1, 0.2, 0.8]]}),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_every_kind_of_policy_gives_gradients(kind, parameters, problem):
    """By each estimator it has: numbers, and not all 0."""
    world = jb.Problem(**{"means": [0.9, 0.5, 0.3], "fractions": 0.2, "penalties": 0.3, **problem})
    able = estimators_of(jb.policy(kind).prepare(world, 25))
    objective = "fairness_regret" if "merit" in problem else "regret"
    if not world.delay.immediate:
        able = ("score",)
    elif "merit" in problem and world.plays > 1:
        able = ("relaxed",)
    for estimator in able:
        found = tuning.value_and_gradient(
            world, kind, parameters, objective=objective, estimator=estimator, horizon=25, seeds=16, temperature=0.1
        )
        assert any(np.any(slope != 0) for slope in found.gradient.values()), estimator


def test_what_cannot_be_tuned_says_what_can():
    able = [n for n, entry in Policy.registry.items() if not isinstance(entry, Alias) and estimators_of(entry())]
    for kind in ("naive", "t-fucb", "self-regulated", "epsilon-greedy", "fcucb-d"):
        with pytest.raises(InputError) as caught:
            tuning.value_and_gradient(SMALL, kind, ["eps"], horizon=10, seeds=2) if kind != "self-regulated" else (
                tuning.value_and_gradient(
                    jb.Problem([0.9, 0.5], penalties=0.1, opportunity="uniform"),
                    kind,
                    ["alpha"],
                    objective="regret",
                    horizon=10,
                    seeds=2,
                )
            )
        if kind == "fcucb-d":
            assert caught.value.key == "problem.merit"
            continue
        assert caught.value.key == "policy"
        assert caught.value.held == kind
        assert "relaxed" in caught.value.allowed
        assert all(name in caught.value.allowed for name in able)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"estimator": "both"}, "estimator"),
        ({"policy": jb.policy("eta-fucb", base="kl-ucb"), "parameters": ["eta"]}, "estimator"),
        (
            {"problem": jb.Problem([0.9, 0.5], fractions=0.1, penalties=1, delay={"kind": "fixed", "d": 3})},
            "problem.delay",
        ),
        ({"parameters": "penalties"}, "parameters"),
        ({"parameters": []}, "parameters"),
        ({"parameters": ["eta"]}, "parameters"),
        ({"parameters": ["log_offset"]}, "parameters"),
        ({"parameters": {"penalties": [0.1, 0.2]}}, "parameters.penalties"),
        ({"parameters": {"penalties": -1.0}}, "parameters.penalties"),
        ({"parameters": {"penalties": 0.0}, "constraint": "reparametrisation"}, "parameters.penalties"),
        ({"constraint": "none"}, "constraint"),
        ({"constraint": {"eta": "projection"}}, "constraint"),
        ({"objective": "fame"}, "objective.kind"),
        ({"objective": "utility"}, "objective"),
        ({"objective": {"kind": "budget", "mots": 1.0}}, "objective.mots"),
        ({"objective": {"kind": "budget", "price": -1.0}}, "objective.price"),
        ({"objective": {"kind": "budget", "limited": "fame"}}, "objective.limited"),
        ({"temperature": 0.0}, "temperature"),
        ({"width": [0.1]}, "width"),
        ({"seeds": 0}, "simulation.seeds"),
        ({"estimator": "score", "seeds": 1}, "seeds"),
        ({"steps": 0}, "steps"),
        ({"check": 0.5}, "check"),
        ({"common": 1}, "common"),
        ({"learning_rate": -1.0}, "learning_rate"),
    ],
)
def test_input_that_cannot_be_tuned(changes, key):
    given = {"problem": SMALL, "policy": "hard-threshold-ucb", "parameters": ["penalties"], "horizon": 10, **changes}
    with pytest.raises(InputError) as caught:
        tuning.tune(**given)
    assert caught.value.key == key


def test_constraints_keep_parameters_in_range():
    free = np.array([-3.0, 0.2, 5.0])
    clipped = Tunable("a", ("a",), np.zeros(3), 0.0, 1.0, "projection")
    np.testing.assert_array_equal(clipped.value(free), [0.0, 0.2, 1.0])
    for low, high in ((0.0, None), (0.0, 1.0), (None, None), (-1.0, 4.0)):
        one = Tunable("a", ("a",), np.zeros(3), low, high, "reparametrisation")
        value = one.value(free)
        assert np.all(value > (-np.inf if low is None else low))
        assert np.all(value < (np.inf if high is None else high))
        np.testing.assert_allclose(one.free(value), free)
        h = 1e-6
        np.testing.assert_allclose(one.slope(free), (one.value(free + h) - one.value(free - h)) / (2 * h), rtol=1e-6)


def test_tuning_lowers_the_regret_of_the_policy_itself():
    """From a bonus that is too large; the result is ready to simulate, and the best step is the one kept."""
    result = tuning.tune(
        SMALL, "hard-threshold-ucb", {"penalties": [0.6, 0.6, 0.6]},
        horizon=100, seeds=32, steps=12, check=4, optimizer=optax.adam(0.05),
    )  # fmt: skip
    path = result.trajectory
    assert path.sizes == {"step": 13, "arm": 3}
    assert np.isfinite(path.hard_objective.values).tolist() == [step % 4 == 0 for step in range(13)]
    assert result.step == int(path.hard_objective.argmin("step"))
    np.testing.assert_array_equal(path.penalties.sel(step=result.step), result.values["penalties"])
    assert np.all(path.penalties >= 0)
    assert result.rounds == (13 + 4) * 32 * 100
    fresh = jb.simulate(
        SMALL, {"before": jb.policy("hard-threshold-ucb", penalties=[0.6] * 3), "after": result.policy},
        horizon=100, seeds=256, key=1, record=1,
    )  # fmt: skip
    before, after = fresh.penalized_regret.values[:, 0, -1]
    assert after < before - 4 * np.hypot(*fresh.penalized_regret_stderr.values[:, 0, -1])
    again = tuning.tune(
        SMALL, "hard-threshold-ucb", {"penalties": [0.6, 0.6, 0.6]},
        horizon=100, seeds=32, steps=12, check=4, optimizer=optax.adam(0.05),
    )  # fmt: skip
    xr.testing.assert_identical(again.trajectory, path)


def test_a_budget_is_met_by_the_policy_itself():
    """The start breaks it; the price rises until the policy keeps it, and what is kept keeps it on the same seeds."""
    objective = tuning.Budget(most=4.0, price=0.0, pace=0.5)
    result = tuning.tune(
        SMALL, "hard-threshold-ucb", {"penalties": [0.0, 0.0, 0.0]},
        objective=objective, horizon=100, seeds=32, steps=12, check=1, learning_rate=0.2,
    )  # fmt: skip
    path = result.trajectory
    assert path.hard_unfairness[0] > 4 >= path.hard_unfairness[result.step]
    assert path.price[0] == 0 < path.price.max()
    inside = path.hard_regret.where(path.hard_unfairness <= 4)
    assert path.hard_regret[result.step] == inside.min()
    np.testing.assert_allclose(path.objective, path.regret + path.price * (path.unfairness - 4), rtol=1e-5)


@pytest.mark.slow
def test_rewards_are_maximised_and_objectives_can_be_ones_own():
    class Played(tuning.Objective, name="played"):
        maximised = True

        def value(self, counts, truth, measured):
            return counts[:, -1]

    def slope(objective):
        found = tuning.value_and_gradient(
            SMALL, "hard-threshold-ucb", ["penalties"], objective=objective, horizon=64, seeds=16
        )
        return found.value, found.gradient["penalties"]

    value, gradient = slope("penalized_reward")
    regret, opposite = slope("penalized_regret")
    np.testing.assert_allclose(gradient, -opposite, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(value, 0.9 * 64 - 12.8 * (0.3 + 0.3) - regret, rtol=1e-5)  # L* = 12.8 min(gap, A) an arm
    result = tuning.tune(
        SMALL,
        "hard-threshold-ucb",
        {"penalties": [0.1] * 3},
        objective=Played(),
        horizon=60,
        seeds=16,
        steps=4,
        check=1,
    )
    assert result.values["penalties"][2] > 0.1
    assert result.trajectory.hard_objective[result.step] == result.trajectory.hard_objective.max()


def test_a_start_that_is_given_needs_no_other():
    problem = jb.Problem([0.9, 0.5, 0.3], fractions=0.2)
    found = tuning.value_and_gradient(
        problem, "hard-threshold-ucb", {"penalties": [0.3] * 3}, objective="regret", horizon=64, seeds=16
    )
    held = tuning.value_and_gradient(
        SMALL, "hard-threshold-ucb", ["penalties"], objective="regret", horizon=64, seeds=16
    )
    np.testing.assert_array_equal(found.gradient["penalties"], held.gradient["penalties"])


def test_a_number_that_is_none_stops_with_step_and_parameters():
    class Broken(jb.Index, name="broken-index"):
        bonus: float = jb.parameter(1.0, smooth=True)
        real_counts = True

        def value(self, state, now):
            return now.mean + jnp.log(self.bonus)

    with pytest.raises(FloatingPointError, match=r"step 1, at bonus = -1\.0"):
        tuning.tune(SMALL, Broken(), ["bonus"], horizon=64, seeds=16, steps=5, optimizer=_Jump())
    del Policy.registry["broken-index"]


def _Jump():  # noqa: N802
    """An optimiser that takes the parameter from 1 to -1."""
    return optax.GradientTransformation(
        lambda p: (), lambda g, s, p: (jax.tree.map(lambda x: -2 * np.ones_like(x), g), s)
    )


@pytest.mark.slow
def test_the_memory_of_a_gradient_grows_like_the_root_of_the_horizon():
    """XLA's own count of temporary bytes, at T and 16 T: about 4 times, where keeping every round would be 16."""

    def temporary(horizon):
        program = gradients.Program(
            jb.Problem([0.9, 0.5], fractions=0.2, penalties=0.3), "hard-threshold-ucb", ["penalties"],
            "penalized_regret", "relaxed", horizon=horizon, temperature=0.1, width=0.5, key=0,
        )  # fmt: skip
        arguments = program.arguments({"penalties": program.tunables[0].start}, np.arange(512), 512, program.objective)
        compiled = gradients.derivatives.lower(*arguments, **program.structure).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    assert temporary(16 * 256) < 6 * temporary(256)


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(TOML)
    return path


def test_the_command_writes_a_config_that_runs(config, tmp_path, capsys):
    out = tmp_path / "made"
    assert cli.main(["tune", str(config), "--out", str(out)]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["tuned.toml", "tuning.nc", "tuning.pdf", "tuning.png"]
    printed = capsys.readouterr().out
    assert "before: penalized regret" in printed
    with xr.open_dataset(out / "tuning.nc") as path:
        path.load()
    assert path.sizes["step"] == 5
    assert path.attrs["policy"] == "HT"
    tuned = tomllib.loads((out / "tuned.toml").read_text())
    assert "tuning" not in tuned
    assert [table.get("label") for table in tuned["policies"]] == ["HT", None, "HT, tuned"]
    np.testing.assert_array_equal(tuned["policies"][2]["penalties"], [path.penalties.values[path.attrs["step"]]])
    assert cli.main(["run", str(out / "tuned.toml"), "--out", str(tmp_path / "run")]) == 0
    assert cli.main(["run", str(config), "--out", str(tmp_path / "untuned")]) == 0


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ("tuning.stepz=3", "tuning.stepz"),
        ("tuning.policy=ucb1", "tuning.policy"),
        ("tuning.policy=naive", "tuning.policy"),
        ("tuning.temperature=-1", "tuning.temperature"),
        ("tuning.parameters=[]", "tuning.parameters"),
        ("tuning.objective={kind='budget', bound=1}", "tuning.objective.bound"),
        ("tuning=3", "tuning"),
        ("simulation.horizons=3", "simulation.horizons"),
    ],
)
def test_a_bad_table_is_refused_and_nothing_written(change, key, config, tmp_path, capsys):
    assert cli.main(["tune", str(config), "--out", str(tmp_path / "made"), "--set", change]) == 2
    assert capsys.readouterr().err.startswith(f"jaxbandit: {key} =")
    assert not (tmp_path / "made").exists()


@pytest.fixture(scope="module")
def tuned():
    """A tuning of one step, and what came of it."""
    job = command.task({**tomllib.loads(TOML), "tuning": {**tomllib.loads(TOML)["tuning"], "steps": 1, "check": 1}})
    return job, job.run()


FILES = ["tuned.toml", "tuning.nc", "tuning.pdf", "tuning.png"]
HEX = "0123456789abcdef" * 2


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_a_kill_has_left_of_a_tuning_goes_with_the_next_one(tuned, tmp_path):
    left, mine = tmp_path / f".tuning-{HEX}", tmp_path / f".tuning-{HEX[::-1]}"
    for folder in (left, mine, tmp_path / ".tuning-mine"):
        folder.mkdir()
        for name in (*FILES, ".tuning.nc.123"):
            (folder / name).write_bytes(b"half")
    (mine / "thesis.txt").write_text("precious")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "tuning.nc").write_text("precious")
    (tmp_path / f".tuning-{'0' * 32}").symlink_to(tmp_path / "elsewhere")
    assert sorted(path.name for path in command.save(*tuned, tmp_path)) == FILES
    assert names(tmp_path) == sorted([*FILES, ".tuning-mine", mine.name, f".tuning-{'0' * 32}", "elsewhere"])
    assert names(mine) == ["thesis.txt"]
    assert len(names(tmp_path / ".tuning-mine")) == 5
    assert names(tmp_path / "elsewhere") == ["tuning.nc"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_tuning_that_cannot_be_written_leaves_nothing(tuned, tmp_path, monkeypatch, error):
    def fail(*_):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(plot, "draw", fail)
        with pytest.raises(jb.WriteError if isinstance(error, OSError) else KeyboardInterrupt):
            command.save(*tuned, tmp_path / "made")
    assert names(tmp_path / "made") == []
