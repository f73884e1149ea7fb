"""Parameters with `static=True` reach every method as Python values, so that they can set shapes and decide an `if`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.engine import rollout

MEANS = [0.9, 0.5, 0.2]
SMALL = {"horizon": 24, "seeds": 4, "record": 2, "metrics": ["regret"]}


class Recent(jb.Index):
    """The rewards of the last `window` rounds; `bonus` is a number."""

    window: int = jb.parameter(3, low=1, static=True)
    bonus: float = jb.parameter(1.0, smooth=True)
    seen = set()  # noqa: RUF012  the types and values that methods got

    def init(self, world, shape):
        return jnp.zeros((self.window, *shape))

    def value(self, state, now):
        self.seen.add((type(self.window), self.window))
        return jnp.sum(state, axis=0) + self.bonus / now.samples

    def update(self, state, after, selected):
        return jnp.concatenate([state[1:], jnp.where(selected, after.mean, 0.0)[None]])


class Averaged(jb.Reward):
    """The mean plus that of `n` uniform numbers."""

    n: int = jb.parameter(2, low=1, static=True)

    def draw(self, mean, random):
        u = random.uniform(self.n * len(mean)).reshape((self.n, len(mean), *random.key[0].shape[1:]))
        return mean + jnp.mean(u, axis=0) - 0.5


class Summed(jb.Delay):
    """How many of `n` uniform numbers are below 1/2."""

    n: int = jb.parameter(2, low=1, static=True)

    def draw(self, reward, random):
        u = random.uniform(self.n * len(reward)).reshape((self.n, *reward.shape))
        return jnp.sum(u < 0.5, axis=0, dtype=jnp.int32)

    def longest(self):
        return self.n


class Powers(jb.Merit):
    """The sum of the first `n` powers of the mean."""

    n: int = jb.parameter(2, low=1, static=True)

    def value(self, mu):
        return 1.0 + sum(mu**k for k in range(1, self.n))


class Shares(jb.Opportunity):
    """The mean of the first `n` powers of the mean, over K."""

    n: int = jb.parameter(2, low=1, static=True)

    def value(self, mu):
        return sum(mu**k for k in range(1, self.n + 1)) / (self.n * len(mu))

    def lipschitz(self, arms):
        return 1.0


class Words(jb.Index):
    mode: str = jb.parameter("mean", static=True)
    reversed: bool = jb.parameter(False, static=True)
    weights: tuple = jb.parameter((1.0, 2.0), static=True)
    step: float = jb.parameter(0.5, static=True)
    seen = []  # noqa: RUF012

    def value(self, state, now):
        self.seen.append((self.mode, self.reversed, self.weights, self.step))
        sign = -1.0 if self.reversed else 1.0
        return sign * (now.mean if self.mode == "mean" else now.total)


@pytest.fixture
def named(monkeypatch):
    """The classes have names, which grids need; they are forgotten afterwards."""
    for kind in (Recent, Averaged, Summed, Powers, Words):
        monkeypatch.setitem(kind.registry, f"test-{kind.__name__.lower()}", kind)
        monkeypatch.setattr(kind, "name", f"test-{kind.__name__.lower()}")


PARTS = {
    "policy": (Recent, {}),
    "reward": ("ucb1", {"reward": Averaged()}),
    "delay": ("ucb1", {"delay": Summed()}),
    "delay in a delay": ("ucb1", {"delay": {"kind": "reward-dependent", "one": Summed(n=3)}}),
    "merit": ("fcucb-d", {"merit": Powers()}),
    "opportunity": ("self-regulated", {"penalties": 0.1, "opportunity": Shares()}),
}


@pytest.mark.parametrize(
    "part", [part if part == "policy" else pytest.param(part, marks=pytest.mark.slow) for part in PARTS]
)
def test_simulations_simulators_and_agents_take_them(part):
    policy, keys = PARTS[part]
    problem = jb.Problem(MEANS, **keys)
    expected = jb.simulate(problem, policy, **SMALL).pulls.values[0, 0, 0]
    simulator = jb.Simulator(problem, policy, horizon=24)
    final = jax.jit(lambda s: jax.lax.scan(lambda s, _: (simulator.step(s)[0], None), s, length=24))(simulator.init(0))
    np.testing.assert_array_equal(final[0].pulls, expected)
    of_agent = {name: value for name, value in keys.items() if name not in ("reward", "delay")}
    agent = jb.Agent(policy, arms=3, horizon=24, **of_agent)
    state, arms, _ = agent.select(agent.init(0))
    agent.select(agent.observe(state, arms, [1.0]))


@pytest.mark.parametrize(
    ("policy", "problem", "grid", "varied"),
    [
        ({"kind": "test-recent", "window": [2, 4], "bonus": [0.5, 1.0, 2.0]}, {}, None, "policies.window"),
        *(
            pytest.param(policy, problem, {"problem": grid}, f"problem.{name}.n", marks=marks)
            for name, policy, problem, grid, marks in [
                ("reward", "ucb1", {"reward": {"kind": "test-averaged"}}, {"reward": {"n": [1, 3]}}, []),
                ("delay", "ucb1", {"delay": {"kind": "test-summed"}}, {"delay": {"n": [1, 3]}}, pytest.mark.slow),
                ("merit", "fcucb-d", {"merit": {"kind": "test-powers"}}, {"merit": {"n": [3, 4]}}, pytest.mark.slow),
            ]
        ),
    ],
)
def test_a_grid_has_a_program_per_value(named, policy, problem, grid, varied):
    before = rollout.compiled()._cache_size()
    results = jb.simulate({"means": MEANS, **problem}, policy, grid=grid, **SMALL)
    assert rollout.compiled()._cache_size() - before == 2
    for value in np.unique(results[varied]):
        several = results.isel(policy=results[varied].values == value)
        assert (several.pulls.sum("arm") == 24).all()
    assert len(np.unique(results[varied])) == 2


@pytest.mark.slow
def test_a_policy_in_a_rule_takes_them():
    pulls = jb.simulate(
        {"means": MEANS, "fractions": 0.1}, jb.policy("fair-learn", base=Recent, window=2), **SMALL
    ).pulls
    assert (pulls.sum("arm") == 24).all()


@pytest.mark.slow
def test_tuning_takes_them():
    options = {"objective": "regret", "horizon": 12, "seeds": 16}
    found = jb.tuning.value_and_gradient(jb.Problem(MEANS), Recent(window=2), ["bonus"], estimator="score", **options)
    assert np.isfinite(found.gradient["bonus"])
    with pytest.raises(
        jb.InputError, match=r"^parameters = .window.: must be a parameter that may be any real .*\(here: bonus\)$"
    ):
        jb.tuning.value_and_gradient(jb.Problem(MEANS), Recent(), ["window"], estimator="score", **options)


@pytest.mark.parametrize("number", [2, np.int64(2), np.array(2), jnp.int32(2)], ids=lambda n: type(n).__name__)
def test_numbers_of_any_library_are_numbers_of_python(number):
    Recent.seen.clear()
    policy = jb.policy(Recent, window=number)
    jax.eval_shape(lambda: jb.Simulator(jb.Problem(MEANS), policy, horizon=24).step(_start(policy)))
    assert Recent.seen == {(int, 2)}
    assert type(Averaged(n=number).prepare(np.zeros((3, 1))).n) is int
    assert type(Summed(n=number).prepare(np.zeros((3, 1))).n) is int
    assert type(Powers(n=number).prepare(3, 1).n) is int
    assert type(Shares(n=number).prepare(np.full((3, 1), 0.5)).n) is int


def _start(policy):
    return jb.Simulator(jb.Problem(MEANS), policy, horizon=24).init(0)


def test_strings_booleans_and_tuples_stay_what_they_are():
    Words.seen.clear()
    policy = jb.policy(Words, mode="total", reversed=True, weights=np.array([1, 2, 3]), step=np.float64(0.25))
    jax.eval_shape(lambda: jb.Simulator(jb.Problem(MEANS), policy, horizon=24).step(_start(policy)))
    assert set(Words.seen) == {("total", True, (1, 2, 3), 0.25)}
    assert [type(part) for part in Words.seen[0]] == [str, bool, tuple, float]
    assert {type(weight) for weight in Words.seen[0][2]} == {int}


@pytest.mark.slow
def test_a_grid_over_strings(named):
    results = jb.simulate({"means": MEANS}, {"kind": "test-words", "mode": ["mean", "total"]}, **SMALL)
    assert results["policies.mode"].values.tolist() == ["mean", "total"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"mode": 3}, r"^policies\.mode = 3: must be a string$"),
        ({"reversed": 1}, r"^policies\.reversed = 1: must be true or false$"),
        (
            {"weights": [1.0, float("nan")]},
            r"^policies\.weights = nan: must be a finite number, a string or a bool",
        ),
        ({"step": [0.1, 0.2]}, r"^policies\.step = \[0\.1, 0\.2\]: must be a finite number$"),
        ({"step": "large"}, r"^policies\.step = 'large': must be a finite number$"),
    ],
)
def test_other_values_are_refused(given, words):
    with pytest.raises(jb.InputError, match=words):
        jb.policy(Words, **given)
    with pytest.raises(jb.InputError, match=r"^policies\.window = 0: must be a whole number >= 1$"):
        jb.policy(Recent, window=0)


@pytest.mark.parametrize("whole", [5.0, np.float64(5), jnp.int32(5)])
def test_whole_numbers_are_ints_whatever_type_they_have(whole):
    made = jb.policy("sliding-window-ucb", window=whole).prepare(jb.Problem(MEANS), 10)
    assert (type(made.window), made.window) == (int, 5)


@pytest.mark.parametrize("window", [20.5, [10, 20.5]])
def test_numbers_that_are_not_whole_are_refused(window):
    with pytest.raises(jb.InputError, match=r"\.window = 20\.5: must be a whole number from 1 to 1e\+07$"):
        jb.simulate({"means": MEANS}, {"kind": "sliding-window-ucb", "window": window}, **SMALL)
