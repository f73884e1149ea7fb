"""Papers 003 and 004: what decides their claims, on results made by hand, and that every config of theirs loads."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from jaxbandit.experiments.configs import config as configs
from jaxbandit.experiments.dataset import kind
from jaxbandit.metrics.definitions import METRICS
from jaxbandit.papers import PAPERS, Sizes
from jaxbandit.papers.evidence import FAILED, REPRODUCED, UNDECIDED, Margin, from_on, holding, ratio, tally
from jaxbandit.papers.experiment import Experiment, together
from jaxbandit.papers.opportunities import experiments as shares
from jaxbandit.papers.plays import experiments as plays

RUNS = ("policy", "instance", "seed")
SEEDS = 8
CLAIMS = {claim.name: claim.weigh for number in ("003", "004") for claim in PAPERS[number].claims}
LABELS = [*plays.OWN, *plays.RIVALS]


def spread(value, size=0.01):
    """A value a run, `[SEEDS]`, whose mean is exactly `value`."""
    return value + size * np.array([-1, 1] * (SEEDS // 2))


def results(labels, horizon, **values):
    """Results at the horizon: `name=values[policy, seed]`, or with instances between."""
    rows = {name: np.asarray(value, float) for name, value in values.items()}
    data = {name: (RUNS, value if value.ndim == 3 else value[:, None, :]) for name, value in rows.items()}
    return xr.Dataset(data, coords={"policy": labels, "round": np.atleast_1d(horizon)})


def verdict(name, data):
    return CLAIMS[name](data).verdict


# What evidence is made of


def test_the_error_of_a_ratio_is_that_of_many_samples():
    """1000 samples of 400 runs; the spread of their ratios is known to 2.2 %, four times that is the gate."""
    draw = np.random.default_rng(0)
    below = 5 + draw.normal(size=(1000, 400))
    above = 2 * below + draw.normal(size=(1000, 400))
    made = [ratio("here", a[None], b[None]) for a, b in zip(above, below, strict=True)]
    errors, values = [m.error for m in made], [m.value for m in made]
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.09)
    assert np.mean(values) == pytest.approx(2, abs=4 * np.std(values) / np.sqrt(1000))
    assert ratio("here", 3 * below[:1], below[:1]).error == pytest.approx(0, abs=1e-12)


def test_the_least_time_from_which_a_claim_holds():
    by_time = {10: [Margin("", 1.0, 0.1)], 20: [Margin("", -1.0, 0.1)], 30: [Margin("", 1.0, 0.1)], 40: [Margin("", 2)]}
    assert from_on(by_time, 0.0) == 30
    assert from_on({10: by_time[10], 20: by_time[20]}, 0.0) is None
    assert holding({"a": by_time[10], "b": by_time[20] + by_time[30]}, low=0.0) == (["a"], ["b"])
    assert tally(by_time[10] + by_time[20]) == "1 of 2 differences are positive, from -1 to 1"


# 003


def grown(regret):
    """Results of figures 1 and 2, c-regret by base, theta, c and the round: `regret(...)` a run."""
    data = {}
    for base, (rounds, _) in plays.ROUNDS.items():
        for part in (1, 4):
            times = [plays.ROUNDS[plays.KL][0], rounds] if (base, part) == (plays.UCB, 1) else [rounds // part]
            runs = np.array([[regret(base, theta, float(c), t) for t in times] for theta, c in plays.CASES])
            made = results([base], times, c_regret_final=[runs[:, -1]])
            made["c_regret"] = (("policy", "instance", "round"), runs.mean(2)[None])
            made["c_regret_stderr"] = (("policy", "instance", "round"), runs.std(2, ddof=1)[None] / SEEDS**0.5)
            data[plays.grown(base, part)] = made
    return data


NOISE = spread(0, 30.0)


@pytest.mark.parametrize(
    ("regret", "expected"),
    [
        (lambda base, theta, c, t: spread(50) - 1e4 / t, REPRODUCED),  # within 0.2 of its bound
        (lambda base, theta, c, t: spread(80) - 30 * (t >= 50_000), REPRODUCED),  # it falls
        (lambda base, theta, c, t: spread(8) * np.log(t), FAILED),
        (lambda base, theta, c, t: spread(0.5) * np.sqrt(t), FAILED),
        (lambda base, theta, c, t: spread(8) * np.log(t) if (theta, c) == ("theta2", 0.1) else spread(50), FAILED),
        (lambda base, theta, c, t: spread(50) + (t in (48_000, 384_000)) * NOISE, UNDECIDED),
    ],
    ids=["bound", "falling", "log", "root", "log in one setting", "noise"],
)
def test_growth_like_log_t_is_told_from_a_bound(regret, expected):
    assert verdict("003-1", grown(regret)) == expected


@pytest.mark.parametrize(
    ("regret", "more_owed", "crossing", "kl_below"),
    [
        (lambda base, theta, c, t: spread(c * (10 + 40 * (theta == "theta2")) + 4 * (theta == "theta1")), 1, 1, 0),
        (lambda base, theta, c, t: spread(20 - 100 * c + (base == plays.UCB)), -1, -1, 1),
        (lambda base, theta, c, t: spread(20 + 9 * c - (base == plays.UCB)), 1, -1, -1),
        (lambda base, theta, c, t: NOISE * (1 + c + (theta == "theta1") + 5 * (base == plays.UCB)), 0, 0, 0),
    ],
    ids=["crossing", "falling in c", "rising in c", "noise"],
)
def test_orders_of_regret(regret, more_owed, crossing, kl_below):
    """1: reproduced; -1: not reproduced, as where runs are equal pair by pair; 0: undecided, as where means are."""
    data, names = grown(regret), {1: REPRODUCED, -1: FAILED, 0: UNDECIDED}
    found = [verdict(name, data) for name in ("003-2", "003-3", "003-4")]
    assert found == [names[sign] for sign in (more_owed, crossing, kl_below)]


def compared(names, **values):
    """Results of the figures with five policies, the same in each experiment; a row of values a policy.

    Every bad arm has its 1000 rounds, but the last under LFG, which lacks 8 to 12 of them.
    """
    made = results(LABELS, 10_000, **values)
    pulls = np.full((5, 1, SEEDS, 8), 1000)
    pulls[2, 0, :, 7] = 990 + 2 * spread(0, 1)
    made["pulls"] = ((*RUNS, "arm"), pulls)
    made["means"] = (("instance", "arm"), [[0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]])
    made["fractions"] = (("instance", "arm"), [[0.1] * 8])
    return dict.fromkeys(names, made.assign_attrs(plays=3))


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        ([10, 8, 30, 12, 90], (REPRODUCED, REPRODUCED)),
        ([10, 8, 9, 12, 11], (FAILED, FAILED)),
        ([10, 8, 10.05, 12, 90], (UNDECIDED, REPRODUCED)),
    ],
    ids=str,
)
def test_the_least_and_the_largest_regret_of_five(means, expected):
    rows = [spread(mean, 0.1 * (1 + i)) for i, mean in enumerate(means)]
    data = compared(plays.COMPARED.values(), c_regret_final=rows)
    assert (verdict("003-5", data), verdict("003-6", data)) == expected
    if expected[0] == FAILED:  # (0.7 - 0.2) 10
        assert "saved: 5.0 (θ₁), 5.0 (θ₂) rewards" in CLAIMS["003-5"](data).finding


@pytest.mark.parametrize(("deepest", "expected"), [(0.99, REPRODUCED), (1.0, FAILED), (3.2, FAILED)])
def test_one_run_that_is_behind_by_a_round_decides(deepest, expected):
    rows = np.full((5, SEEDS), 0.5)
    rows[:2, 3] = deepest
    rows[4] = rows[0]
    data = compared([*plays.COMPARED.values(), *plays.MANY.values()], max_deficit_ever=rows)
    data |= compared(plays.UNEVEN.values(), max_deficit_ever=rows)
    data |= compared(plays.CAPPED.values(), max_deficit_ever=rows)
    data |= {plays.grown(base): results([base], 9, max_deficit_ever=np.full((1, 6, SEEDS), 0.95)) for base in plays.OWN}
    assert verdict("003-7", data) == expected
    assert verdict("003-9", data) == expected


@pytest.mark.parametrize(
    ("level", "unfair", "lower"), [(-9, FAILED, REPRODUCED), (20, REPRODUCED, FAILED), (1, UNDECIDED, UNDECIDED)]
)
def test_deficits_beyond_a_level(level, unfair, lower):
    """LFG, UCB-LP and UCB-PLLP at `level` in Fig. 5, and at 1 more for the last in Fig. 4."""
    rows = [spread(0.5), spread(0.5), *[spread(level, 1.0)] * 3]
    less = [*rows[:4], spread(1.0, 2.0)]
    data = compared(plays.MANY.values(), max_deficit_final=rows)
    data |= compared(plays.COMPARED.values(), max_deficit_final=rows)
    assert verdict("003-8", data) == unfair
    data |= compared(plays.COMPARED.values(), max_deficit_final=less)
    assert verdict("003-12", data) == lower


@pytest.mark.parametrize(
    ("level", "expected", "nearest"),
    [
        (-7.0, REPRODUCED, ""),
        (-1.0, FAILED, "eps_t = 0.6/sqrt(t) at T = 10,000"),
        (-5.0, UNDECIDED, "eps_t = 0.6/sqrt(t) at T = 10,000"),
    ],
)
def test_a_level_that_deficits_stay_below(level, expected, nearest):
    data = compared(plays.COMPARED.values(), max_deficit_final=[spread(0)] * 4 + [spread(level, 0.5)])
    slack = {
        "max_deficit": (("policy", "instance", "round"), [[[-10 * eps] * 3] for eps in plays.SLACKS]),
        "max_deficit_stderr": (("policy", "instance", "round"), [[[0.1] * 3]] * len(plays.SLACKS)),
    }
    made = xr.Dataset(slack, coords={"policy": [str(eps) for eps in plays.SLACKS], "round": [10_000, 20_000, 40_000]})
    evidence = CLAIMS["003-10"](data | dict.fromkeys(plays.SLACK.values(), made))
    assert (evidence.verdict, evidence.nearest) == (expected, nearest)


# 004


def utilities(value, horizons=(1_000, 10_000, 100_000)):
    """Results of figure 1, average utility by f, lambda and horizon: `value(...)`, `[SEEDS]`; half of it swept."""
    quarters = np.ones((1, 1, SEEDS, 4)) / 4
    return {
        shares.run_name(f, price, t): results(
            [shares.OWN], t, utility_final=[t * np.broadcast_to(value(f, float(price), t), SEEDS)]
        ).assign(phase_rounds=((*RUNS, "phase"), t * quarters))
        for f in shares.FUNCTIONS
        for price in shares.PRICES
        for t in horizons
    }


LINEAR = {"uniform": 0.0, "linear": 0.2, "softmax": 0.1}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (lambda f, price, t: spread(0.4 - (0.3 - LINEAR[f]) * price + 0.1 * np.log10(t)), (1, 1, 1, 1)),
        (lambda f, price, t: spread(0.4 + (0.3 - LINEAR[f]) * price - 0.1 * np.log10(t)), (-1, -1, -1, -1)),
        (lambda f, price, t: spread(0.4 - 0.2 * price) * (t < 50_000), (-1, -1, -1, -1)),
        (lambda f, price, t: spread(0.4, 0.1 + 0.1 * price + LINEAR[f] + 1e-7 * t), (0, 0, 0, 0)),
    ],
    ids=["as in the paper", "the reverse", "from 50,000 on equal", "noise"],
)
def test_orders_of_utility(value, expected):
    """Of lambda, of the horizon, of linear and softmax against uniform; 1: reproduced, -1: not, 0: undecided."""
    data, names = utilities(value), {1: REPRODUCED, -1: FAILED, 0: UNDECIDED}
    found = [verdict(name, data) for name in ("004-1", "004-3", "004-4", "004-5")]
    assert found == [names[sign] for sign in expected]


def test_the_nearest_horizon_is_that_from_which_utility_falls_in_lambda():
    evidence = CLAIMS["004-1"](utilities(lambda f, price, t: spread(0.4 - price * (t - 5_000) / t)))
    assert (evidence.verdict, evidence.nearest) == (FAILED, "T >= 10,000")
    assert "take 50% (T = 1,000), 50% (T = 10,000), 50% (T = 100,000) of the rounds" in evidence.finding


def phases(value, horizons=(1_000, 10_000, 100_000)):
    """Results of figure 2, rounds by f, lambda, horizon: `value(...)`, the shares of four phases."""
    made = {}
    for f in shares.FUNCTIONS:
        for price in shares.PRICES:
            for t in horizons:
                rounds = np.broadcast_to(np.asarray(value(f, float(price), t)) * t, (1, 1, SEEDS, 4))
                means, owed = np.array([[0.2, 0.5, 0.9]]), np.array([[0.2, 0.3, 0.5]])
                made[shares.run_name(f, price, t)] = xr.Dataset(
                    {
                        "phase_rounds": ((*RUNS, "phase"), rounds + spread(0, 1)[:, None] * [1, 0, -1, 0]),
                        "means": (("instance", "arm"), means),
                        "opportunities": (("instance", "arm"), owed),
                    },
                    coords={"policy": [shares.OWN]},
                )
    return made


@pytest.mark.parametrize(
    ("shrinking", "names"),
    [
        (lambda t: 0.9 - 0.1 * np.log10(t), REPRODUCED),
        (lambda t: 0.1 + 0.1 * np.log10(t), FAILED),
        (lambda t: 0.5, UNDECIDED),  # but for a round or two
    ],
    ids=["less", "more", "the same"],
)
def test_shares_of_phases(shrinking, names):
    data = phases(lambda f, price, t: [shrinking(t) / 2, shrinking(t) / 2, 0.9 - shrinking(t), 0.1])
    assert verdict("004-8", data) == names
    assert verdict("004-9", data) == names


@pytest.mark.parametrize(
    ("left", "expected"), [(0.0, (FAILED, REPRODUCED, FAILED)), (0.9, (FAILED, FAILED, REPRODUCED))]
)
def test_rounds_of_the_black_box(left, expected):
    """Straight to it, none left to it, and more than half of the opportunities of arms not worth theirs, 0.2."""
    data = phases(lambda f, price, t: [1 - left, 0, 0, left])
    assert tuple(verdict(name, data) for name in ("004-6", "004-7", "004-10")) == expected


def test_one_run_that_explores_at_no_price_decides():
    data = phases(lambda f, price, t: [0, 0, 0, 1])
    for made in data.values():
        made.phase_rounds[:] = made.phase_rounds.round() * [0, 0, 0, 1]
    assert verdict("004-6", data) == REPRODUCED
    changed = data[shares.run_name("linear", "0", 1_000)].phase_rounds
    changed[0, 0, 5] = [1, 0, 0, 999]
    assert verdict("004-6", data) == FAILED


@pytest.mark.parametrize(
    ("power", "size", "expected"),
    [
        (2 / 3, 0.001, (REPRODUCED, REPRODUCED)),
        (0.5, 0.001, (FAILED, REPRODUCED)),
        (0.8, 0.001, (REPRODUCED, FAILED)),
        (2 / 3, 0.5, (UNDECIDED, UNDECIDED)),
    ],
)
def test_exponents_of_the_worst_regret(power, size, expected):
    """Three instances, the second worse than the others by half."""
    data = {}
    for family in shares.FAMILIES:
        for t in (10_000, 100_000, 1_000_000):
            regret = t**power * np.array([[1.0], [1.5], [0.9]]) * spread(1, size)
            made = {
                "utility_regret_final": (RUNS, regret[None]),
                "pulls": ((*RUNS, "arm"), np.ones((1, 3, SEEDS, 3))),
                "opportunities": (("instance", "arm"), np.ones((3, 3)) / 3),
            }
            data[shares.edge_name(family, t)] = xr.Dataset(made, coords={"policy": [shares.OWN]})
    assert (verdict("004-11", data), verdict("004-12", data)) == expected
    assert CLAIMS["004-11"](data).number == pytest.approx(power, abs=1e-9)


# Everything together


@pytest.mark.parametrize("quick", [True, False], ids=["small", "the papers'"])
@pytest.mark.parametrize("number", ["003", "004"])
def test_every_config_loads(number, quick):
    made = PAPERS[number].experiments(Sizes(quick))
    assert len({one.name for one in made}) == len(made)
    for one in made:
        setting = configs.make_plan(one.config).setting
        assert setting.seeds == 20 if quick else setting.seeds >= 200
        assert setting.horizon <= (100_000 if quick else 1_000_000)


def test_settings_together_are_instances_and_differ_in_nothing_else():
    one = Experiment(
        "one", {"simulation": {"horizon": 5, "seeds": 2}, "problem": {"means": [0.5, 0.1], "fractions": 0.2}}
    )
    two = Experiment("two", {**one.config, "problem": {"means": [0.2, 0.9], "fractions": [0.1, 0.3]}})
    policies = {"policies": [{"kind": "fucb"}]}
    problem = configs.make_plan(together([one, two], "both").config | policies).problem
    assert problem.means.T.tolist() == [[0.5, 0.1], [0.2, 0.9]]
    assert problem.fractions.astype(float).T.tolist() == [[0.2, 0.2], [0.1, 0.3]]
    with pytest.raises(ValueError, match=r"\['one', 'two'\] differ in more"):
        together([one, Experiment("two", {**two.config, "simulation": {"horizon": 6, "seeds": 2}})], "both")


def made_up(experiment):
    """Results of an experiment in their full form, of numbers that mean nothing."""
    draw = np.random.default_rng(0)
    simulation = configs.make_plan(experiment.config)
    problem, times = simulation.problem, simulation.rounds
    policies, horizon = simulation.prepared, simulation.setting.horizon
    runs, curve = (len(policies), problem.instances, SEEDS), (len(policies), problem.instances, len(times))
    data = {"pulls": ((*RUNS, "arm"), draw.integers(1, horizon, (*runs, problem.arms)))}
    for name in simulation.metrics:
        assert name in METRICS
        data[name] = (("policy", "instance", "round"), 1 + draw.random(curve))
        data[f"{name}_stderr"] = (("policy", "instance", "round"), 0.1 * draw.random(curve))
        data[f"{name}_final"] = (RUNS, horizon * (1 + draw.random(runs)))
    data["max_deficit_ever"] = (RUNS, draw.random(runs))
    rows = ("instance", "arm")
    data["means"] = (rows, problem.means.T)
    phase = {}
    if problem.opportunity is not None:
        data["opportunities"] = (rows, problem.opportunities().T)
        data["penalties"] = (rows, np.broadcast_to(problem.penalties, problem.means.shape).T)
        names = policies[0].phases
        data["phase_rounds"] = ((*RUNS, "phase"), np.full((*runs, len(names)), horizon // len(names)))
        phase = {"phase_name": (("policy", "phase"), [list(names)])}
    kinds = ("policy", [kind(entry.policy) for entry in simulation.entries])
    names, families = [e.label for e in simulation.entries], [e.family for e in simulation.entries]
    axes = {"policy": names, "family": ("policy", families), "kind": kinds, "round": times}
    if problem.fractions is not None:
        data["fractions"] = (rows, np.broadcast_to(problem.fractions, problem.means.shape).T.astype(float))
    return xr.Dataset(data, coords={**axes, **phase}, attrs={"plays": problem.plays})


class MadeUp(dict):
    """Such results of all experiments of a paper, by name."""

    def __init__(self, experiments):
        super().__init__({one.name: made_up(one) for one in experiments})
        self._configs = {one.name: one.config for one in experiments}

    def problem(self, name):
        return configs.make_plan(self._configs[name]).problem


@pytest.mark.parametrize("number", ["003", "004"])
def test_every_figure_is_drawn_and_every_claim_weighed(number):
    paper = PAPERS[number]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = MadeUp(paper.experiments(Sizes(quick=True)))
        drawn = []
        for one in paper.figures(data):
            drawn.append(one.name)
            assert one.figure.get_figwidth() <= 7.1
            assert all(axis.get_xlabel() for axis in one.figure.axes)
            plt.close(one.figure)
    assert len(set(drawn)) == len(drawn)
    assert {claim.figure for claim in paper.claims} <= set(drawn)
    for claim in paper.claims:
        evidence = claim.weigh(data)
        assert evidence.verdict in (REPRODUCED, FAILED, UNDECIDED)
        assert evidence.quantity
        assert evidence.verdict == REPRODUCED or evidence.finding
