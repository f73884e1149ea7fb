"""Delay models: their distributions, and simulations with delays."""

import tomllib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tomli_w
from harness import reference_run, trajectory
from scipy import stats
from sweeps import FULL, every, first_fast

import jaxbandit as jb
from jaxbandit.core.prng import DELAY, Stream, run_keys
from jaxbandit.core.xla.tiling import LANES
from jaxbandit.engine import rollout
from jaxbandit.engine import simulation as engine
from jaxbandit.engine.batch.blocks import on_device
from jaxbandit.engine.plan import make_plan
from jaxbandit.engine.settings import Configuration, SimulationSettings
from jaxbandit.environment.delays import NEVER, Delay
from jaxbandit.environment.feedback_calendar import calendar_length
from jaxbandit.environment.world import world_of

MEANS = [0.35, 0.62, 0.5, 0.81]
KINDS = {
    "fixed": {"kind": "fixed", "d": [3, 0, 11, 6]},
    "geometric": {"kind": "geometric", "p": [0.05, 0.2, 0.5, 1.0]},
    "pareto": {"kind": "pareto", "alpha": [0.4, 1.0, 2.5, 0.1]},
    "packet loss": {"kind": "packet-loss", "p": [0.3, 0.9, 1.0, 0.0]},
    "reward-dependent": {
        "kind": "reward-dependent",
        "one": {"kind": "fixed", "d": [0, 0, 30, 30]},
        "zero": {"kind": "geometric", "p": 0.1},
    },
    "empirical": {"kind": "empirical", "table": [[0, 0, 40, 7], [3], [1, 2, 500], [0, 9]]},
}


# Simulations under delay


def assert_runs_are_those_of_the_reference(kind, name, plays, horizon=250, seeds=3):
    world = jb.Problem(MEANS, fractions=0.1, plays=plays, delay=KINDS[name])
    ours = trajectory(world, kind, horizon, seeds)
    for seed in range(seeds):
        theirs = reference_run(world, kind, horizon, seed)
        assert [np.flatnonzero(row).tolist() for row in ours[:, :, 0, seed]] == theirs


@pytest.mark.parametrize(("name", "plays"), first_fast([("reward-dependent", 2), ("pareto", 1)]))
@pytest.mark.usefixtures("quick")
def test_selections_under_delay_are_those_of_the_reference(name, plays):
    assert_runs_are_those_of_the_reference("ucb1", name, plays, seeds=1)


@pytest.mark.parametrize(
    ("kind", "name", "plays"),
    every([(kind, name, plays) for plays in (1, 2) for kind in ("ucb1", "thompson") for name in KINDS], 5),
)
def test_selections_under_any_delay_are_those_of_the_reference(kind, name, plays):
    assert_runs_are_those_of_the_reference(kind, name, plays)


AT_ONCE = {
    "fixed, one number": "fixed",
    "fixed": {"kind": "fixed", "d": [0, 0, 0, 0]},
    "packet loss": {"kind": "packet-loss", "p": 1.0},
    "geometric": {"kind": "geometric", "p": 1.0},
    "reward-dependent": {"kind": "reward-dependent", "one": "none", "zero": {"kind": "fixed", "d": 0}},
}


def assert_runs_are_those_without_delay(kind, plays, delays):
    def runs(delay):
        return trajectory(jb.Problem(MEANS, fractions=0.1, penalties=0.3, plays=plays, delay=delay), kind, 300, 8)

    without = runs("none")
    for delay in delays:
        np.testing.assert_array_equal(runs(delay), without)


@pytest.mark.usefixtures("quick")
def test_a_delay_of_0_is_no_delay():
    assert_runs_are_those_without_delay("hard-threshold-ucb", 1, [AT_ONCE["reward-dependent"]])


@pytest.mark.parametrize(("kind", "plays"), [("hard-threshold-ucb", 2), pytest.param("f-ts", 1, marks=FULL)])
@pytest.mark.slow
def test_any_delay_of_0_and_no_loss_are_no_delay(kind, plays):
    assert_runs_are_those_without_delay(kind, plays, AT_ONCE.values())


@pytest.mark.parametrize(
    ("delay", "longest"),
    [
        ("none", 0),
        ({"kind": "fixed", "d": [3, 9, 0, 1]}, 9),
        ({"kind": "geometric", "p": 1.0}, 0),
        ({"kind": "geometric", "p": 0.5}, 65),  # draws have 65 bits
        ({"kind": "geometric", "p": [0.9, 0.25, 1, 1]}, np.ceil(65 * np.log(2) / np.log(4 / 3))),
        ({"kind": "pareto", "alpha": [5.0, 5, 10, 10]}, 2.0**13),
        ({"kind": "packet-loss", "p": 0.1}, 0),
        ({"kind": "reward-dependent", "one": {"kind": "fixed", "d": 7}}, 7),
        ({"kind": "reward-dependent", "one": {"kind": "fixed", "d": 7}, "zero": {"kind": "fixed", "d": 8}}, 8),
        (KINDS["empirical"], 500),
    ],
    ids=str,
)
def test_the_longest_delay(delay, longest):
    assert jb.Problem(MEANS, delay=delay).delay.longest() == pytest.approx(longest)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_delays_do_not_depend_on_the_block(name):
    world = jb.Problem([MEANS, MEANS[::-1]], fractions=0.1, delay=KINDS[name])
    whole, parts = (jb.simulate(world, ["ucb1", "ucb-v"], horizon=150, seeds=20, block=b, key=3) for b in (None, 7))
    for values in whole.data_vars:
        np.testing.assert_array_equal(whole[values], parts[values], err_msg=values)


@pytest.mark.usefixtures("quick")
def test_a_delay_may_differ_between_instances():
    def pulls(delays):
        problem = jb.Problem([[0.9, 0.1]] * 2, delay={"kind": "fixed", "d": delays})
        return jb.simulate(problem, "ucb1", horizon=60, seeds=4).pulls[0]

    rows = [[40, 0], [50, 0]]  # calendars of one length, so that the three simulations share a program
    both = pulls(rows)
    for j, row in enumerate(rows):
        np.testing.assert_array_equal(both[j], pulls([row, row])[j])
    assert not np.array_equal(both[0], both[1])


def received_by(world, horizon, runs):
    """M_k(T) of some runs of ucb1, `[K, runs]`, from the engine's own state."""
    cells, lanes = np.zeros(1, int), np.arange(runs)
    placed = on_device(jb.policy("ucb1").prepare(world, horizon), cells)
    place = on_device(world_of(world, False, horizon), cells)
    keys = tuple(jnp.asarray(word) for word in run_keys(0, cells[:, None], lanes))
    state = rollout.start(placed, place, (world.arms, 1, runs), False)
    zero, last = jnp.asarray(0, jnp.int32), jnp.asarray(horizon, jnp.int32)
    state = rollout.advance(placed, place, keys, None, zero, last, zero, last[None], None, state)[0]
    return np.asarray(state.received)[:, 0]


@pytest.mark.slow
def test_pareto_of_infinite_mean_to_a_hundred_thousand_rounds():
    """The rewards that arrived by T are those with D <= T - t; blocks shrink so that their calendar fits."""
    horizon, alpha = 100_000, [0.5, 0.3]
    world = jb.Problem([0.4, 0.7], plays=2, delay={"kind": "pareto", "alpha": alpha})
    simulation = make_plan(
        world, [Configuration("all", jb.policy("ucb1"), "all")], SimulationSettings(horizon, 300, record=1)
    )
    widest = max(block.seeds.stop - block.seeds.start for block in simulation.blocks)
    if jax.default_backend() == "cpu":  # a GPU has the memory for all
        assert len(simulation.blocks) > 1
        assert widest * 2 * 8 * calendar_length(float("inf"), horizon) <= 1 << 29  # two arms: a count and a sum each
    received = received_by(world, horizon, runs=32)
    rounds = np.arange(horizon)
    for k, a in enumerate(alpha):
        arrives = 1 - (rounds + 1.0) ** -a  # P(D <= T - t), both arms being played in every round
        error = np.sqrt((arrives * (1 - arrives)).sum() / received.shape[1])
        assert abs(received[k].mean() - arrives.sum()) < 5 * error  # by chance once in 1.7 million


# Distributions

DRAWS = 100_000
ALARM = 1e-6  # false-alarm rate of each test; the keys are fixed, so a pass stays a pass


def drawn(spec, reward=None):
    """Draws of the first arm's delay, int64 `[DRAWS]`."""
    problem = jb.Problem([0.5], delay=spec)
    k0, k1 = run_keys(1, np.array(0), np.arange(DRAWS))
    stream = Stream((jnp.asarray(k0), jnp.asarray(k1)), jnp.uint32(1), DELAY)
    reward = jnp.zeros((1, DRAWS)) if reward is None else reward
    model = on_device(problem.delay.device_model(), np.zeros(1, int))
    model = jax.tree.map(lambda x: x if x.ndim == 1 else x.reshape(1, 1), model)  # a table stays as it is
    return np.broadcast_to(np.asarray(model.draw(reward, stream), np.int64), (1, DRAWS))[0]


def assert_drawn_from(values, cdf):
    """A chi-square test over some twenty classes of equal probability."""
    edges = np.unique(np.quantile(values, np.linspace(0.05, 0.95, 19), method="inverted_cdf"))
    edges = edges[edges < NEVER]
    seen = np.diff(np.concatenate([[0], [(values <= e).sum() for e in edges], [len(values)]]))
    chance = np.diff(np.concatenate([[0], cdf(edges), [1]]))
    assert chance.min() * len(values) > 100
    assert stats.chisquare(seen, chance * len(values)).pvalue > ALARM


@pytest.mark.parametrize("p", [0.9, 0.3, 0.05, 1e-3, 1e-5])
def test_geometric_delays(p):
    assert_drawn_from(drawn({"kind": "geometric", "p": p}), lambda d: -np.expm1((d + 1) * np.log1p(-p)))


@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0, 3.0])
def test_pareto_delays(alpha):
    values = drawn({"kind": "pareto", "alpha": alpha})
    assert_drawn_from(values, lambda d: 1 - (d + 1.0) ** -alpha)
    assert values.min() == 1


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_packets_are_lost(p):
    values = drawn({"kind": "packet-loss", "p": p})
    assert set(values) <= {0, NEVER}
    assert abs((values == 0).mean() - p) <= 5 * np.sqrt(p * (1 - p) / DRAWS)  # false alarm: 1 in 1.7 million


def test_delays_that_depend_on_the_reward():
    reward = jnp.asarray(np.arange(DRAWS)[None] % 2, jnp.float32)
    spec = {"kind": "reward-dependent", "one": {"kind": "geometric", "p": 0.2}, "zero": {"kind": "fixed", "d": 7}}
    values = drawn(spec, reward)
    assert np.all(values[::2] == 7)
    np.testing.assert_array_equal(values[1::2], drawn({"kind": "geometric", "p": 0.2})[1::2])


@pytest.mark.parametrize("name", KINDS)
def test_the_chance_of_a_delay_is_that_of_its_draws(name):
    """Of each arm's own delay, at rounds up to the hundreds, rewards being 1 as often as the arm's mean says."""
    rounds = np.array([0, 1, 2, 3, 6, 7, 11, 30, 100, 500])
    problem = jb.Problem(MEANS, delay=KINDS[name])
    chances = np.broadcast_to(problem.delay.cdf(rounds, problem.means), (len(rounds), len(MEANS), 1))[..., 0]
    for k, mean in enumerate(MEANS):
        reward = jnp.asarray(np.random.default_rng(k).random((1, DRAWS)) < mean, jnp.float32)
        values = drawn({key: _of_arm(value, k) for key, value in KINDS[name].items()}, reward)
        share = (values[None] <= rounds[:, None]).mean(axis=1)
        error = np.sqrt(chances[:, k] * (1 - chances[:, k]) / DRAWS)
        assert np.all(np.abs(share - chances[:, k]) <= 5 * error)  # each by chance once in 1.7 million


def _of_arm(value, arm):
    """A parameter's value for one arm: of a list, of a delay within, or of all."""
    if isinstance(value, dict):
        return {key: _of_arm(inner, arm) for key, inner in value.items()}
    return value[arm] if isinstance(value, list) else value


def test_chances_are_those_of_closed_forms():
    def chances(spec, rounds, means=(0.25,)):
        problem = jb.Problem(list(means), delay=spec)
        found = problem.delay.cdf(np.array(rounds), problem.means)
        return np.broadcast_to(found, (len(rounds), len(means), 1))[..., 0].T.tolist()

    assert chances("none", [0, 5]) == [[1.0, 1.0]]
    assert chances({"kind": "fixed", "d": [2, 0]}, [1, 2], (0.1, 0.2)) == [[0.0, 1.0], [1.0, 1.0]]
    assert chances({"kind": "geometric", "p": 0.5}, [0, 1, 2]) == [[0.5, 0.75, 0.875]]
    assert chances({"kind": "geometric", "p": 1.0}, [0]) == [[1.0]]
    assert chances({"kind": "pareto", "alpha": 1.0}, [0, 1, 3]) == [[0.0, 0.5, 0.75]]
    assert chances({"kind": "packet-loss", "p": 0.75}, [0, 10**6]) == [[0.75, 0.75]]
    for table in ([5, 1, 5, 9], np.array([5.0, 1.0, 5.0, 9.0])):
        assert chances({"kind": "empirical", "table": table}, [0, 1, 5, 8, 9]) == [[0.0, 0.25, 0.75, 0.75, 1.0]]
    biased = {"kind": "reward-dependent", "one": {"kind": "fixed", "d": 4}, "zero": {"kind": "packet-loss", "p": 0.5}}
    assert chances(biased, [3, 4]) == [[0.375, 0.625]]


def test_recorded_delays_are_drawn_evenly():
    table = [0, 5, 5, 9, 300]
    values = drawn({"kind": "empirical", "table": table})
    found, counts = np.unique(values, return_counts=True)
    assert found.tolist() == [0, 5, 9, 300]
    assert stats.chisquare(counts, DRAWS * np.array([1, 2, 1, 1]) / 5).pvalue > ALARM


def prepared(problem):
    """The arrays of a problem's delay."""
    return jax.tree.map(np.asarray, jax.tree.leaves(problem.delay))


def test_a_log_gives_means_and_delays(tmp_path):
    """Two products, three and one conversions; 1200 clicks a week at a click rate of .05 are a visit every 25.2 s."""
    lines = [("b", 60), ("a", 600), ("b", 25), ("b", 26)]
    path = tmp_path / "log.tsv"
    path.write_text("".join(f"1\t{seconds}\t1200\tid\t{title}\n" for title, seconds in lines))
    delay = {"kind": "empirical", "table": str(path), "click_rate": 0.05}
    problem = jb.Problem({"conversions": str(path), "arms": 2}, delay=delay)
    assert problem.means.ravel().tolist() == [1.0, 0.0]
    by_hand = {"kind": "empirical", "table": [[60, 25, 26], [600]], "clicks": [[1200] * 3, [1200]]}
    for delay in (problem.delay, jb.Problem([1.0, 0.0], delay=by_hand).delay):
        assert delay.recorded.tolist() == [2, 0, 1, 23, NEVER]
        assert (delay.start.ravel().tolist(), delay.size.ravel().tolist()) == ([0, 3], [3, 1])


@pytest.mark.parametrize("name", KINDS)
def test_a_config_describes_the_delay(name):
    problem = jb.Problem(MEANS, delay=KINDS[name])
    table = tomllib.loads(tomli_w.dumps(problem.as_table()))
    jax.tree.map(np.testing.assert_array_equal, prepared(problem), prepared(jb.Problem(**table)))


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_results_under_any_delay_carry_a_config_that_gives_them_again(name, tmp_path):
    from jaxbandit.experiments.configs import config

    results = jb.simulate({"means": MEANS, "delay": KINDS[name]}, "ucb1", horizon=60, seeds=3, key=4)
    path = tmp_path / "again.toml"
    path.write_text(results.attrs["config"])
    again = engine.run(config.make_plan(config.load(path)))
    np.testing.assert_array_equal(results.pulls[0], again.statistics[0].pulls)


# Memory


@pytest.mark.cpu
def test_blocks_shrink_with_the_horizon_of_a_heavy_tail():
    def simulation(horizon, delay):
        world = jb.Problem(np.linspace(0.1, 0.9, 7), plays=3, delay=delay)
        entry = Configuration("ucb1", jb.policy("ucb1"), "ucb1")
        return make_plan(world, [entry], SimulationSettings(horizon=horizon, seeds=4096))

    wide = {T: simulation(T, "pareto").blocks[0].wide for T in (100, 10**4, 10**5, 10**6)}
    assert sorted(wide.values(), reverse=True) == list(wide.values())
    for horizon, runs in wide.items():
        assert runs * calendar_length(np.inf, horizon) * 7 * 2 <= 2**29 or runs == LANES
    assert simulation(10**6, {"kind": "packet-loss", "p": 0.1}).blocks[0].wide == 2048


def test_a_calendar_that_cannot_fit_is_refused_before_work_starts():
    world = jb.Problem(np.full(5000, 0.5), delay="pareto")
    with pytest.raises(jb.InputError, match=r"problem\.delay .* calendar .* fits the memory: 16 runs, .* take .* GiB"):
        jb.simulate(world, "ucb1", horizon=10**7, seeds=1)


# Rewards of 0 and 1


class Coin(jb.Reward):
    """Rewards of 0 and 1 that are not of the class `Bernoulli`."""

    centred, zero_one = False, True  # sums of 0 and 1 are exact

    def draw(self, mean, random):
        return (random.uniform(len(mean)) < mean).astype(mean.dtype)


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_a_delay_may_depend_on_any_reward_of_0_and_1():
    """Rewards of 1 arrive at once and rewards of 0 never, so the mean of the arrived rewards is 1."""
    delay = {"kind": "reward-dependent", "one": "none", "zero": {"kind": "packet-loss", "p": 0.0}}
    world = jb.Problem(MEANS, reward=Coin(), delay=delay)

    class Arrived(jb.Index):
        def value(self, state, now):
            ones = (now.received == 0) | (now.mean == 1.0)
            return jnp.where(ones, -now.pulls.astype(now.mean.dtype), jnp.nan)

    pulls = jb.simulate(world, Arrived, horizon=40, seeds=4).pulls
    assert np.all(pulls == 10)
    assert world.delay.cdf(np.array([0, 5]), world.means)[..., 0].tolist() == [MEANS, MEANS]


def test_every_delay_is_documented():
    for model in Delay.registry.values():
        assert model.__doc__
        assert all(field.metadata.get("doc") for field in model.parameters().values())
