"""Paper 002: merit-based fairness under delayed feedback, FCUCB-D and FCTS-D. Figures 1 to 9."""

from __future__ import annotations

from jaxbandit.papers.evidence import Claim
from jaxbandit.papers.experiment import Paper
from jaxbandit.papers.merit import claims as claims
from jaxbandit.papers.merit.experiments import INDEPENDENT, LOG, REGRETS, experiments, name
from jaxbandit.papers.merit.figures import figures

PAPER = Paper(
    "002",
    "Merit-based fair combinatorial semi-bandit with unrestricted feedback delays",
    experiments,
    figures,
    (
        Claim(
            "002-1",
            "CUCB-D and MP-TS-D have the least reward regret and the most fairness regret.",
            "sec. 6, Fig. 1(b), 1(c)",
            "002-figure-1",
            claims.extremes,
        ),
        Claim(
            "002-2",
            "FCUCB-D and FCTS-D reach the selection fractions of the optimal fair policy.",
            "sec. 6, Fig. 1(a)",
            "002-figure-1",
            claims.fractions,
        ),
        Claim(
            "002-3",
            "FGREEDY-D selects the arms almost uniformly.",
            "sec. 6, Fig. 1(a)",
            "002-figure-1",
            claims.uniform,
        ),
        Claim(
            "002-4",
            "FCUCB-D and FCTS-D have less reward regret and less fairness regret than FGREEDY-D.",
            "sec. 6, Fig. 1(b), 1(c)",
            "002-figure-1",
            claims.below_greedy,
        ),
        Claim(
            "002-5",
            "FCUCB-D has less reward regret than FCTS-D, and pays with more fairness regret.",
            "sec. 6, Fig. 1(b), 1(c)",
            "002-figure-1",
            claims.penalty_rate,
        ),
        Claim(
            "002-6",
            "The regrets of FCUCB-D and FCTS-D grow sublinearly under geometric delays.",
            "sec. 6, Fig. 1(b), 1(c)",
            "002-figure-1",
            lambda data: claims.sublinear(data, [name("geometric")]),
        ),
        Claim(
            "002-7",
            "The regrets of FCUCB-D and FCTS-D barely depend on a fixed delay of up to 300 rounds.",
            "sec. 6, Fig. 2(a)",
            "002-figure-2",
            claims.insensitive,
        ),
        Claim(
            "002-8",
            "The regrets of FCUCB-D and FCTS-D grow sublinearly under Pareto delays and packet loss too.",
            "sec. 6, Fig. 2(b), 2(c)",
            "002-figure-2",
            lambda data: claims.sublinear(data, [name("pareto"), name("packet-loss")]),
        ),
        Claim(
            "002-9",
            "There the fairness regrets of CUCB-D, MP-TS-D and FGREEDY-D grow linearly.",
            "sec. 6, Fig. 2(b), 2(c)",
            "002-figure-2",
            claims.linear,
        ),
        Claim(
            "002-10",
            "OP-FCUCB-D and OP-FCTS-D have less of both regrets than the plain policies under reward-dependent delay.",
            "sec. 6, Fig. 2(d)",
            "002-figure-2",
            lambda data: claims.optimistic(data, [name("reward-dependent")], loses=False),
        ),
        Claim(
            "002-11",
            "They have more of both regrets where the delay does not depend on the reward.",
            "sec. 5.2, Remark 10",
            "002-figure-2",
            lambda data: claims.optimistic(data, map(name, INDEPENDENT), loses=True),
        ),
        Claim(
            "002-12",
            "The regrets of FCUCB-D and FCTS-D grow sublinearly on the conversion log.",
            "sec. 6, Fig. 3",
            "002-figure-3",
            lambda data: claims.sublinear(data, [LOG]),
            (LOG,),
        ),
        Claim(
            "002-13",
            "FCUCB-D and FCTS-D trade reward for fairness best on the conversion log.",
            "sec. 6, Fig. 3",
            "002-figure-3",
            claims.tradeoff,
            (LOG,),
        ),
        Claim(
            "002-14",
            "OP-FCUCB-D and OP-FCTS-D have more of both regrets than the plain policies on the conversion log.",
            "sec. 6, Fig. 3",
            "002-figure-3",
            lambda data: claims.optimistic(data, [LOG], loses=True),
            (LOG,),
        ),
        Claim(
            "002-15",
            "The fairness regrets of the algorithms move apart as the merit function gets steeper (c grows).",
            "sec. 6 and App. B.1, Figs. 4 to 8",
            "002-figure-4",
            lambda data: claims.widens(data, REGRETS[1]),
        ),
        Claim(
            "002-16",
            "So do their reward regrets.",
            "sec. 6 and App. B.1, Figs. 4 to 8",
            "002-figure-4",
            lambda data: claims.widens(data, REGRETS[0]),
        ),
        Claim(
            "002-17",
            "Under reward-dependent delay the regrets of FGREEDY-D are comparable with those of FCUCB-D and FCTS-D.",
            "App. B.1, Fig. 8",
            "002-figure-8",
            claims.comparable,
        ),
        Claim(
            "002-18",
            "The TS-type algorithms run faster than the UCB-type ones.",
            "sec. 6 and App. B, Fig. 9",
            "002-figure-9",
            claims.faster,
        ),
    ),
)
