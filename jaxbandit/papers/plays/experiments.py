"""The experiments of the plays paper."""

from __future__ import annotations

import numpy as np

from jaxbandit.papers.experiment import Changes, Experiment, Sizes, experiment, grid_values

THETAS = {"theta1": "θ₁", "theta2": "θ₂"}
CS = ("0.05", "0.10", "0.15")
UCB, KL = OWN = ("Fair-MMAB, UCB1", "Fair-MMAB, KL-UCB")
RIVALS = ("LFG", "UCB-LP", "UCB-PLLP")
# Rounds of figures 1 and 2 at full and at quick sizes. With c = 0.05 the bonus of a bad arm, sqrt(2 log t / (c t)) with
# UCB1, falls below the smallest gap by t = 45,000, and with KL-UCB by t = 8,000. The remaining rounds are more than a
# factor 4 of t, in which a bound would show.
ROUNDS = {UCB: (384_000, 24_000), KL: (48_000, 6_000)}
RUNS = {UCB: 200, KL: 600}  # instances have random numbers of their own, and those of KL-UCB differ by little
FIGURE_ROUNDS = 10_000  # the paper's figures end at about this round
CASES = [(theta, c) for theta in THETAS for c in CS]  # the instances of figures 1 and 2
COMPARED = {theta: f"plays-figures-3-4-{theta}" for theta in THETAS}
LARGE = {theta: f"plays-figure-5-{theta}" for theta in THETAS}  # large fractions
UNEVEN = {c: f"plays-figures-7-9-{c}" for c in ("c4", "c5")}  # arms with different fractions
SLACK = {theta: f"plays-slack-{theta}" for theta in THETAS}
SLACKS = [0.2, 0.3, 0.4, 0.6, 0.8, 1.0]  # eps of UCB-PLLP


def growth_name(base: str, part: int = 1) -> str:
    """The experiment of figure 1 or 2, or its first 1/part of the rounds."""
    return f"plays-figure-{OWN.index(base) + 1}" + ("" if part == 1 else f"-part{part}")


def experiments(sizes: Sizes) -> list[Experiment]:
    """The experiments of figures 1 to 5 and 7 to 9. Figures 1 and 2 have more rounds than the paper's figures."""
    made = [_growth(sizes, base, part) for base in ROUNDS for part in (1, 4)]
    for file, names in (("plays/figures-3-4", COMPARED), ("plays/figure-5", LARGE)):
        made += [experiment(file, sizes, name, point=point) for name, point in _at_means(file, names)]
    file = "plays/figures-7-9"
    for name, fractions in zip(UNEVEN.values(), grid_values(file, "problem.fractions"), strict=True):
        made.append(experiment(file, sizes, name, point={"problem.fractions": fractions}))
    return made + _slacks(sizes)


def place(name: str) -> str:
    """The setting of an experiment in words."""
    setting = name.split("-")[-1]
    return THETAS.get(setting, setting)


def _growth(sizes: Sizes, base: str, part: int) -> Experiment:
    """Figure 1 or 2. No policy here knows T, so the runs of a part are the beginnings of the full runs."""
    rounds, few = (rounds // part for rounds in ROUNDS[base])
    changes = {"simulation.seeds": RUNS[base], **_rounds(rounds, [FIGURE_ROUNDS, ROUNDS[KL][0]])}
    quick = _rounds(few, [FIGURE_ROUNDS, ROUNDS[KL][1]])
    return _one_policy(
        experiment("plays/figures-1-2", sizes, growth_name(base, part), changes=changes, quick=quick), base
    )


def _slacks(sizes: Sizes) -> list[Experiment]:
    """UCB-PLLP of figure 4 with other slacks and more rounds."""
    file = "plays/figures-3-4"
    horizon, quick = ({"simulation.horizon": t, "simulation.record": [FIGURE_ROUNDS]} for t in (40_000, FIGURE_ROUNDS))
    changes = {"policies.4.eps": SLACKS, **horizon}
    return [
        _one_policy(experiment(file, sizes, name, point=point, changes=changes, quick=quick), "UCB-PLLP")
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


def _rounds(horizon: int, also: list[int]) -> dict[str, object]:
    """A horizon and recorded rounds, those in `also` among them. c t is a whole number in each of them for every c."""
    spaced = 20 * np.round(np.geomspace(20, horizon, 160) / 20).astype(int)
    recorded = np.unique([*spaced, *(t for t in also if t < horizon)]).tolist()
    return {"simulation.horizon": horizon, "simulation.record": recorded}
