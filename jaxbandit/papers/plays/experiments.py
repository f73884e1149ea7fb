"""The experiments of the plays paper."""

from __future__ import annotations

import numpy as np

from jaxbandit.papers.experiment import Changes, Experiment, Sizes, experiment, grid_values

THETAS = {"theta1": "θ₁", "theta2": "θ₂"}
CS = ("0.05", "0.10", "0.15")
UCB, KL = OWN = ("Fair-MMAB, UCB1", "Fair-MMAB, KL-UCB")
RIVALS = ("LFG", "UCB-LP", "UCB-PLLP")
CASES = [(theta, c) for theta in THETAS for c in CS]  # the instances of figures 1 and 2

# Figures 1 and 2: rounds at full and at quick sizes. With c = 0.05 the bonus of a bad arm, sqrt(2 log t / (c t)) with
# UCB1, falls below the smallest gap by t = 45,000, and with KL-UCB by t = 8,000. The remaining rounds are more than a
# factor 4 of t, in which a bound shows.
ROUNDS = {UCB: (192_000, 24_000), KL: (48_000, 6_000)}
RUNS = {UCB: 200, KL: 600}  # instances have random numbers of their own, and those of KL-UCB differ by little
GROWTH_TIMES = tuple(1_500 * 2**n for n in range(8))  # horizons at which claims on figures 1 and 2 are decided

# The other figures: the paper states no horizon, so claims are decided at each of these.
TIMES = (500, 1_000, 2_000, 3_000, 5_000, 10_000, 20_000, 40_000)
LONGEST = {False: TIMES[-1], True: 10_000}  # by whether sizes are quick
WINDOW = 20  # consecutive rounds up to each of these, over which the deficit of an arm rises and falls
DRAWN = 10_000  # rounds on the linear axes of figures

COMPARED = {theta: f"plays-figures-3-4-{theta}" for theta in THETAS}
LARGE = {theta: f"plays-figure-5-{theta}" for theta in THETAS}  # large fractions
UNEVEN = {c: f"plays-figures-7-9-{c}" for c in ("c4", "c5")}  # arms with different fractions
# Where two policies differ by little: UCB-LP and UCB-PLLP under theta_2, LFG and UCB1 with c4.
COMPARED_RUNS = {**dict.fromkeys(COMPARED.values(), 1_000), **dict.fromkeys(UNEVEN.values(), 800)}
SLACK = {theta: f"plays-slack-{theta}" for theta in THETAS}
SLACKS = [0.2, 0.3, 0.4, 0.6, 0.8, 1.0]  # eps of UCB-PLLP in figure 5

ORDERS = 20  # random orders of the arms


def growth_name(base: str) -> str:
    """The experiment of figure 1 or 2."""
    return f"plays-figure-{OWN.index(base) + 1}"


def reordered(name: str) -> str:
    """The experiment of a figure over random orders of the arms, with ties to the lowest arm."""
    return f"{name}-orders"


def experiments(sizes: Sizes) -> list[Experiment]:
    """The experiments of figures 1 to 5 and 7 to 9.

    Those that compare policies run twice: with random ties and the arms as the paper lists them, and with ties to the
    lowest arm over random orders of the arms (quick sizes leave out those of figure 5).
    """
    made = [_growth(sizes, base) for base in ROUNDS]
    points: list[tuple[str, str, Changes]] = []
    for file, names in (("plays/figures-3-4", COMPARED), ("plays/figure-5", LARGE)):
        points += [(file, name, point) for name, point in _at_means(file, names)]
    file = "plays/figures-7-9"
    for name, fractions in zip(UNEVEN.values(), grid_values(file, "problem.fractions"), strict=True):
        points.append((file, name, {"problem.fractions": fractions}))
    for file, name, point in points:
        metrics = ["max_deficit"] if name in LARGE.values() else ["c_regret", "max_deficit"]
        rounds = _compared_rounds(sizes, WINDOW if name in COMPARED.values() else 1, metrics)
        more = {"simulation.seeds": COMPARED_RUNS[name]} if name in COMPARED_RUNS else {}
        made.append(experiment(file, sizes, name, point=point, changes={**rounds, **more}))
        if not (sizes.quick and name in LARGE.values()):
            made.append(_in_random_orders(experiment(file, sizes, reordered(name), point=point, changes=rounds), sizes))
    return made + _slacks(sizes)


def place(name: str) -> str:
    """The setting of an experiment in words."""
    *_, setting, last = name.split("-")
    return f"{THETAS.get(setting, setting)}, random orders" if last == "orders" else THETAS.get(last, last)


def _growth(sizes: Sizes, base: str) -> Experiment:
    """Figure 1 or 2."""
    full, few = ({**_growth_rounds(horizon), "simulation.runs": ["c_regret"]} for horizon in ROUNDS[base])
    changes = {"simulation.seeds": RUNS[base], **full}
    return _one_policy(experiment("plays/figures-1-2", sizes, growth_name(base), changes=changes, quick=few), base)


def _growth_rounds(horizon: int) -> dict[str, object]:
    """A horizon and recorded rounds. c t is a whole number in each of them for every c."""
    spaced = 20 * np.round(np.geomspace(20, horizon, 120) / 20).astype(int)
    recorded = np.unique([*spaced, *(t for t in (*GROWTH_TIMES, DRAWN) if t <= horizon)]).tolist()
    return {"simulation.horizon": horizon, "simulation.record": recorded}


def _compared_rounds(sizes: Sizes, window: int, metrics: list[str]) -> dict[str, object]:
    """A horizon, recorded rounds, with the last `window` rounds up to each of `TIMES`, and metrics kept for every run.

    Every c_i t is a whole number in the others, so that the rounding of quotas does not show in curves.
    """
    horizon = LONGEST[sizes.quick]
    curve = [*range(100, DRAWN, 100), *range(DRAWN, horizon + 1, 1_000)]
    before = [t - back for t in TIMES if t <= horizon for back in range(window)]
    recorded = sorted({*curve, *before})
    return {"simulation.horizon": horizon, "simulation.record": recorded, "simulation.runs": metrics}


def _in_random_orders(made: Experiment, sizes: Sizes) -> Experiment:
    """The experiment with one instance per order: means, and fractions that differ, are permuted alike."""
    draw = np.random.default_rng(0)
    problem = dict(made.config["problem"])
    orders = [draw.permutation(len(problem["means"])).tolist() for _ in range(ORDERS)]
    for key in ("means", "fractions"):
        if isinstance(problem[key], list):
            problem[key] = [[problem[key][arm] for arm in order] for order in orders]
    seeds = 4 if sizes.quick else 10
    simulation = {**made.config["simulation"], "ties": "lowest", "seeds": seeds}
    return Experiment(made.name, {**made.config, "simulation": simulation, "problem": problem})


def _slacks(sizes: Sizes) -> list[Experiment]:
    """UCB-PLLP of figure 5 with other slacks."""
    file = "plays/figure-5"
    changes = {"policies.4.eps": SLACKS, **_compared_rounds(Sizes(quick=True), 1, ["max_deficit"])}
    return [
        _one_policy(experiment(file, sizes, name, point=point, changes=changes), "UCB-PLLP")
        for name, point in _at_means(file, SLACK)
    ]


def _at_means(file: str, names: dict[str, str]) -> list[tuple[str, Changes]]:
    """The points of a grid over theta_1 and theta_2, each with the name of its experiment."""
    means = grid_values(file, "problem.means")
    return [(name, {"problem.means": row}) for name, row in zip(names.values(), means, strict=True)]


def _one_policy(made: Experiment, label: str) -> Experiment:
    """The experiment with one of its policies."""
    policies = [table for table in made.config["policies"] if table["label"] == label]
    return Experiment(made.name, {**made.config, "policies": policies})
