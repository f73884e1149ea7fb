"""Paper 003: its experiments, what they are called, and their sizes."""

from __future__ import annotations

import numpy as np

from jaxbandit.papers.experiment import Experiment, Sizes, experiment, together

THETAS = {"theta1": "θ₁", "theta2": "θ₂"}
CS = ("0.05", "0.10", "0.15")
UCB, KL = OWN = ("Fair-MMAB, UCB1", "Fair-MMAB, KL-UCB")
RIVALS = ("LFG", "UCB-LP", "UCB-PLLP")
# Rounds of figures 1 and 2, small ones second. With c = 0.05 a bad arm's bonus, sqrt(2 log t / (c t)) under UCB1, falls
# below the smallest gap by t = 45,000, and KL-UCB's by 8,000: a factor 4 of t follows in which a bound would show.
ROUNDS = {UCB: (384_000, 24_000), KL: (48_000, 6_000)}
RUNS = {UCB: 200, KL: 600}  # settings do not meet the same draws, and KL-UCB's differ by little
PAPERS = 10_000  # rounds of the paper's figures, about
CASES = [(theta, c) for theta in THETAS for c in CS]  # the instances of figures 1 and 2
COMPARED = {theta: f"003-3-4-{theta}" for theta in THETAS}
MANY = {theta: f"003-5-{theta}" for theta in THETAS}
UNEVEN = {"c4": "003-7-8-c4", "c5": "003-7-9-c5"}
CAPPED = {c: f"{name}-capped" for c, name in UNEVEN.items()}  # with a largest entry below 1/6, so that J = 1
CAP = [0.03, 0.05, 0.07, 0.09, 0.11, 0.13, 0.15, 0.16]
SLACK = {theta: f"003-4-slack-{theta}" for theta in THETAS}
SLACKS = [0.2, 0.3, 0.4, 0.6, 0.8, 1.0]  # eps of UCB-PLLP


def grown(base: str, part: int = 1) -> str:
    """The experiment of figure 1 or 2, or its first 1/part of the rounds."""
    return f"003-{OWN.index(base) + 1}" + ("" if part == 1 else f"-part{part}")


def _alone(made: Experiment, label: str) -> Experiment:
    """An experiment with one of its policies."""
    chosen = [table for table in made.config["policies"] if table["label"] == label]
    return Experiment(made.name, {**made.config, "policies": chosen})


def _rounds(horizon: int, also: list[int]) -> list[str]:
    """Changes to a horizon and to recorded rounds, those `also` among them; c t is whole at them for every c."""
    spaced = 20 * np.round(np.geomspace(20, horizon, 160) / 20).astype(int)
    recorded = np.unique([*spaced, *(t for t in also if t < horizon)]).tolist()
    return [f"simulation.horizon={horizon}", f"simulation.record={recorded}"]


def experiments(sizes: Sizes) -> list[Experiment]:
    """All of them; figures 1 and 2 over more rounds than the paper's."""
    made = []
    for base, (rounds, few) in ROUNDS.items():
        for part in (1, 4):  # the same runs, since no policy here knows T: growth run by run
            changes = [f"simulation.seeds={RUNS[base]}", *_rounds(rounds // part, [PAPERS, ROUNDS[KL][0]])]
            small = _rounds(few // part, [PAPERS, ROUNDS[KL][1]])
            cases = [experiment(f"003-1-2-{theta}-c{c}", sizes, small, changes) for theta, c in CASES]
            made.append(_alone(together(cases, grown(base, part)), base))
    made += [experiment(name, sizes) for names in (COMPARED, MANY, UNEVEN) for name in names.values()]
    for name, cap in zip(CAPPED.values(), (CAP, CAP[::-1]), strict=True):
        made.append(experiment(UNEVEN["c4"], sizes, changes=[f"problem.fractions={cap}"], name=name))
    for theta, name in SLACK.items():
        eps = [f"policies.4.eps={SLACKS}"]
        small, changes = ([f"simulation.horizon={n}", f"simulation.record=[{PAPERS}]"] for n in (PAPERS, 4 * PAPERS))
        made.append(_alone(experiment(COMPARED[theta], sizes, small, [*eps, *changes], name), "UCB-PLLP"))
    return made


def place(name: str) -> str:
    """An experiment's setting in words."""
    end = name.removesuffix("-capped").split("-")[-1]
    return THETAS.get(end, end) + (" with 0.16 for 0.17" if name.endswith("-capped") else "")
