"""The merit paper: its experiments can be simulated, its claims are decided rightly, its figures show the results."""

import re
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex

from jaxbandit.experiments.configs import config
from jaxbandit.experiments.plots import figures as plots
from jaxbandit.papers import Sizes
from jaxbandit.papers.evidence import FAILED, IN_PART, UNDECIDED
from jaxbandit.papers.merit import experiments as merit
from jaxbandit.papers.merit.claims import CLAIMS as ALL_CLAIMS
from jaxbandit.papers.merit.decisions import exponent
from jaxbandit.papers.merit.figures import FIGURES
from jaxbandit.papers.merit.findings import FINDINGS
from jaxbandit.papers.merit.merit_functions import spread

ROUNDS = np.array([1, 10, 50, 100, 250, 500, 1000])
T = 1000
SEEDS = 40
MEANS = np.array([0.3, 0.5, 0.7, 0.9, 0.8, 0.6, 0.4])
OPTIMAL = 3 * (1 + 2 * MEANS**4) / (1 + 2 * MEANS**4).sum()  # merit paper, eq. 4, with f = 1 + 2 mu^4, L = 3
UNIFORM = np.full(7, 3 / 7)
THREE_BEST = (MEANS >= 0.7) + 0.0
CONFIGS = {one.name: one.config for one in merit.experiments(Sizes())}
NAMES = [*CONFIGS, merit.LOG]

# Reward and 20 times the fairness regret at T in a world where every claim holds; the same under all delays but one.
SCALE = np.array([1, 0.05])
HOLDS = {
    "FCUCB-D": (35, 1800),
    "FCTS-D": (50, 1000),
    "CUCB-D": (10, 90000),
    "MP-TS-D": (4, 100000),
    "FGREEDY-D": (700, 4000),
    "OP-FCUCB-D": (100, 3000),
    "OP-FCTS-D": (120, 3500),
}
DEPENDENT = HOLDS | {
    "FCUCB-D": (200, 2000),
    "FCTS-D": (220, 2200),
    "FGREEDY-D": (300, 2500),
    "OP-FCUCB-D": (100, 1000),
    "OP-FCTS-D": (110, 1100),
}
NOISE = np.random.default_rng(1).standard_normal((9, SEEDS))
NOISE = (NOISE - NOISE.mean(1, keepdims=True)) / NOISE.std(1, ddof=1, keepdims=True)  # means and deviations are exact


@cache
def problem_of(name):
    return config.make_plan(CONFIGS[name]).problem


class World:
    """Results by experiment, made by hand in the form that simulations give."""

    def __init__(self, names=NAMES, deviation=0.02):
        self.names, self.deviation = list(names), deviation
        self.ends, self.powers, self.shares, self.speed = {}, {}, {}, {}
        for name in names:
            steep = int(found[1]) if (found := re.search(r"-c(\d)$", name)) else 4
            regrets = DEPENDENT if "dependent" in name else HOLDS
            self.ends[name] = {k: np.array(v) * SCALE * steep / 4 for k, v in regrets.items()}
            self.powers[name] = {k: 1.0 if k in (*merit.UNFAIR, merit.GREEDY) else 0.5 for k in HOLDS}
            self.shares[name] = {k: THREE_BEST if k in merit.UNFAIR else OPTIMAL for k in HOLDS}
            self.shares[name][merit.GREEDY] = UNIFORM
            self.speed[name] = 1e6 if "ucb" in name else 2e6

    def __contains__(self, name):
        return name in self.names

    def problem(self, name):
        return problem_of(GEOMETRIC if name == merit.LOG else name)  # the log is not here

    def __getitem__(self, name):
        labels = list(self.ends[name])
        own_noise = np.roll(NOISE, self.names.index(name), axis=1)
        growth = np.stack([(ROUNDS / T) ** self.powers[name][k] for k in labels])[:, None]
        data = {}
        for i, metric in enumerate(merit.REGRETS):
            end = np.array([self.ends[name][k][i] for k in labels], float)[:, None]
            finals = end + end * self.deviation * own_noise[: len(labels)]
            data[f"{metric}_final"] = (("policy", "instance", "seed"), finals[:, None])
            data[metric] = (("policy", "instance", "round"), growth * end[:, None])
            error = growth * end[:, None] * self.deviation / np.sqrt(SEEDS)
            data[f"{metric}_stderr"] = (("policy", "instance", "round"), error)
        shares = np.stack([self.shares[name][k] for k in labels])[:, None, None]
        noise = (1 + self.deviation * NOISE[7:8] * (-1) ** np.arange(7)[:, None]).T
        data["pulls"] = (("policy", "instance", "seed", "arm"), T * shares * noise)
        data["means"] = (("instance", "arm"), MEANS[None])
        repeat = int(name[-1]) if name.startswith("merit-time") else 0
        own = ("policy", labels)
        coordinates = {"policy": labels, "family": own, "kind": ("policy", [k.lower() for k in labels])}
        sign = 1 if "ucb" in name else -1
        speed = self.speed[name] * np.exp(sign * min(self.deviation, 1) * (repeat - 2))
        return xr.Dataset(
            data,
            {**coordinates, "instance": [0], "seed": np.arange(SEEDS), "arm": np.arange(7), "round": ROUNDS},
            {"device": "a device", "rounds_per_second": speed},
        )


GEOMETRIC, PARETO, LOST, DEPENDS = map(
    merit.experiment_name, ("geometric", "pareto", "packet-loss", "reward-dependent")
)
GEOMETRIC_8 = merit.experiment_name("geometric", 8)


def ends(name, **regrets):
    return lambda world: world.ends[name].update({k.replace("_", "-"): np.array(v) * SCALE for k, v in regrets.items()})


def powers(name, power, *labels):
    return lambda world: world.powers[name].update(dict.fromkeys(labels, power))


def shares(name, label, values):
    return lambda world: world.shares[name].update({label: values})


def scaled(name, factors):
    def change(world):
        world.ends[name] = {k: v * factors for k, v in world.ends[name].items()}

    return change


def slower(world):
    for repeat in range(merit.REPEATS):
        world.speed[merit.timing_name("OP-FCTS-D", repeat)] = 0.5e6


def never_worse(world):
    for delay in merit.INDEPENDENT:
        ends(merit.experiment_name(delay), OP_FCUCB_D=(20, 900), OP_FCTS_D=(20, 900))(world)


# What makes each claim fail.
BREAKS = {
    "merit-1": ends(GEOMETRIC, CUCB_D=(1000, 90000)),
    "merit-2": ends(GEOMETRIC, FCTS_D=(50, 9000)),
    "merit-3": shares(GEOMETRIC, "FGREEDY-D", OPTIMAL),
    "merit-4": ends(GEOMETRIC, FGREEDY_D=(700, 1500)),
    "merit-5": ends(GEOMETRIC, FCUCB_D=(60, 1800)),
    "merit-6": powers(GEOMETRIC, 0.9, "FCTS-D"),
    "merit-7": scaled(merit.fixed_name(300), (1.5, 1.0)),
    "merit-8": powers(PARETO, 0.9, "FCUCB-D"),
    "merit-9": powers(LOST, 0.7, "FGREEDY-D"),
    "merit-10": ends(DEPENDS, OP_FCTS_D=(110, 2500)),
    "merit-11": never_worse,
    "merit-12": powers(merit.LOG, 1.0, "FCTS-D"),
    "merit-13": ends(merit.LOG, FGREEDY_D=(10, 1500)),
    "merit-14": ends(merit.LOG, OP_FCTS_D=(120, 800)),
    "merit-15": scaled(merit.experiment_name("pareto", 8), (1.0, 0.5)),
    "merit-16": scaled(merit.experiment_name("fixed", 2), (5.0, 1.0)),
    "merit-17": ends(merit.experiment_name("reward-dependent", 6), FGREEDY_D=(3000, 3000)),
    "merit-18": slower,
    "merit-19": scaled(merit.fixed_name(300), (1.0, 1.5)),
    "merit-20": shares(GEOMETRIC, "MP-TS-D", UNIFORM),
    "merit-21": ends(GEOMETRIC_8, FGREEDY_D=(1400, 3000)),
}
CLAIMS = {claim.name: claim for claim in ALL_CLAIMS}


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda one: one.name)
def test_every_finding_contradicts_what_is_printed(finding):
    assert finding.measure()[1]


def test_every_claim_is_here():
    assert all(claim.quotation and claim.place and claim.setting and claim.tolerance for claim in ALL_CLAIMS)
    assert list(CLAIMS) == list(BREAKS)
    figures = {f"merit-figure-{number}" for number in range(1, 10)}
    assert {claim.figure for claim in ALL_CLAIMS} <= figures


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_that_holds_is_reproduced(name):
    evidence = CLAIMS[name].weigh(World())
    assert (evidence.verdict, evidence.holds_for) == ("reproduced", "")
    assert evidence.low <= evidence.number <= evidence.high


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_that_does_not_hold_is_not_reproduced(name):
    world = World()
    BREAKS[name](world)
    evidence = CLAIMS[name].weigh(world)
    assert evidence.verdict in (FAILED, IN_PART)
    assert evidence.finding


@pytest.mark.parametrize("name", [name for name in CLAIMS if name != "merit-20"])  # its shares of counts have no noise
def test_a_claim_that_the_noise_hides_cannot_be_told(name):
    assert CLAIMS[name].weigh(World(deviation=30.0)).verdict == UNDECIDED


def test_exponents_are_those_of_the_growth():
    world = World()
    for power in (0.3, 0.5, 1.0):
        powers(GEOMETRIC, power, "FCTS-D")(world)
        estimate = exponent("here", world[GEOMETRIC], "reward_regret", "FCTS-D")
        assert estimate.value == pytest.approx(power)  # from T/4 = 250, a recorded round, to 1000
        assert estimate.stderr == pytest.approx(0.02 / np.sqrt(SEEDS) * np.sqrt(2) / np.log(4))


def test_the_spread_is_between_the_largest_and_the_least():
    estimate = spread(World()[GEOMETRIC], "reward_regret")
    assert estimate.value == pytest.approx(700 - 4)
    assert estimate.setting == "FGREEDY-D minus MP-TS-D"


@pytest.fixture
def log(tmp_path):
    """A conversion log of ten products."""
    path = tmp_path / 'a "log".tsv'
    lines = [f"1\t{60 * line}\t{7 * line}\tid\tproduct {arm}\n" for arm in range(10) for line in range(12 - arm)]
    path.write_text("".join(lines))
    return path


@pytest.mark.parametrize("quick", [False, True])
def test_the_experiments_are_those_of_the_paper(quick, log):
    experiments = {made.name: made.config for made in merit.experiments(Sizes(quick, log))}
    assert set(experiments) == (set(experiments) & set(NAMES) if quick else set(NAMES))
    for name, made in experiments.items():
        given, problem = made["simulation"], made["problem"]
        assert problem["plays"] == 3
        assert problem["merit"]["scale"] == (3.5 if name == merit.LOG else 2.0)
        assert problem["merit"]["kind"] == ("searched-power" if "searched" in name else "power")
        assert given["metrics"] == list(merit.REGRETS)
        if not quick:  # merit paper, sec. 6 and App. B
            assert given["seeds"] == 100
            rounds = {merit.LOG: 50_000}.get(name, 100_000 if "fixed" in name else 40_000)
            assert given["horizon"] == (10_000 if "time" in name else rounds)
    delays = [experiments[merit.fixed_name(rounds)]["problem"]["delay"] for rounds in merit.FIXED]
    assert delays == [{"kind": "fixed", "d": rounds} for rounds in merit.FIXED]
    for delay in merit.DELAYS:
        made = experiments[merit.experiment_name(delay)]
        assert made["problem"]["delay"]["kind"] == delay
        assert [table["label"] for table in made["policies"]] == list(merit.SEVEN)
    exponents = {
        c: experiments[name]["problem"]["merit"]["exponent"]
        for c in merit.EXPONENTS
        if (name := merit.experiment_name("geometric", c)) in experiments
    }
    assert exponents == ({4: 4, 8: 8} if quick else {2: 2, 4: 4, 6: 6, 8: 8})
    plan = config.make_plan(experiments[merit.LOG])
    assert (plan.problem.arms, plan.problem.delay.name) == (10, "empirical")


def test_without_a_log_figure_3_and_its_claims_are_left_out():
    assert merit.LOG not in CONFIGS
    assert [claim.name for claim in ALL_CLAIMS if claim.needs] == ["merit-12", "merit-13", "merit-14"]


def lines(axis):
    return {line.get_label(): line for line in axis.lines if not line.get_label().startswith("_")}


def halves(bars):
    """Half the lengths of the error bars."""
    return [(high - low) / 2 for (_, low), (_, high) in bars[2][0].get_segments()]


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    yield
    plt.close("all")


@pytest.mark.slow
def test_the_figures_show_the_results():
    world = World()
    drawn = {one.name: one.draw(world) for one in FIGURES}
    assert list(drawn) == [f"merit-figure-{number}" for number in range(1, 10)]
    assert all(one.get_figwidth() <= 7.1 for one in drawn.values())
    colours = {label: plots.COLOURS.get(label.lower()) for label in merit.SEVEN}
    for number, one in enumerate(drawn.values(), start=1):
        for axis in one.axes:
            assert axis.get_xlabel()
            for label, line in lines(axis).items():
                if colours.get(label):
                    assert to_hex(line.get_color()) == colours[label].lower(), number
    by_metric = [lines(axis) for axis in drawn["merit-figure-1"].axes[1:]]
    for metric, found in zip(merit.REGRETS, by_metric, strict=True):
        (growth,) = set(found) - {*merit.FIVE}
        assert "Theorem 7" in growth
        for label in merit.FIVE:
            np.testing.assert_allclose(found[label].get_ydata(), world[GEOMETRIC][metric].sel(policy=label)[0])
        x, y = found[growth].get_data()
        np.testing.assert_allclose(2 * y[-1], world[GEOMETRIC][f"{metric}_final"].sel(policy="FCTS-D").mean())
        steps = np.diff(np.log(y)) / np.diff(np.log(x))
        assert ((steps > 0) & (steps < 1)).all(), "sublinear"
    bars = drawn["merit-figure-1"].axes[0].containers
    heights = {b.get_label(): [patch.get_height() for patch in b] for b in bars if hasattr(b, "patches")}
    np.testing.assert_allclose(heights["optimal"], OPTIMAL, rtol=1e-6)
    np.testing.assert_allclose(heights["FGREEDY-D"], UNIFORM)
    shares = world[GEOMETRIC].pulls.sel(policy="FGREEDY-D")[0] / T
    (greedy,) = [b for b in bars if b.get_label() == "FGREEDY-D" and hasattr(b, "patches")]
    np.testing.assert_allclose(halves(greedy.errorbar), 1.96 * shares.std("seed", ddof=1) / np.sqrt(SEEDS))
    fixed = drawn["merit-figure-2"].axes[0].containers[0]
    np.testing.assert_allclose(fixed[0].get_xydata(), [(rounds, 35) for rounds in merit.FIXED])
    runs = [world[merit.fixed_name(rounds)].reward_regret_final.sel(policy=merit.FAIR[0])[0] for rounds in merit.FIXED]
    np.testing.assert_allclose(halves(fixed), [1.96 * one.std(ddof=1) / np.sqrt(SEEDS) for one in runs])
    assert len(drawn["merit-figure-8"].axes) == 8
    widths = [patch.get_width() for patch in drawn["merit-figure-9"].axes[0].patches]
    np.testing.assert_allclose(widths, [1000, 500, 1000, 1000, 500, 1000], rtol=0.001)


def test_small_sizes_have_fewer_columns():
    world = World([e.name for e in merit.experiments(Sizes(quick=True))])
    drawn = [one.draw(world) for one in FIGURES if one.label in ("4", "5")]
    titles = [[axis.get_title("left") for axis in one.axes] for one in drawn]
    assert titles == [["c = 4", ""], ["c = 4", "c = 8", "", ""]]
    assert [CLAIMS[name].weigh(world).verdict for name in CLAIMS if not CLAIMS[name].needs] == ["reproduced"] * 18
