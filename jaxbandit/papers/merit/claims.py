"""The claims of the merit paper; the functions of `decisions` decide them."""

from __future__ import annotations

from jaxbandit.papers.evidence import Claim
from jaxbandit.papers.merit import decisions
from jaxbandit.papers.merit.experiments import INDEPENDENT, LOG, REGRETS, experiment_name

_PARETO = "the tail exponents of the Pareto delays and the packets' probabilities of arrival: one draw"
_EPS = "eps of FGREEDY-D = 0.1"

CLAIMS = (
    Claim(
        "merit-1",
        "CUCB-D and MP-TS-D have the least reward regret and the most fairness regret.",
        "sec. 6, Fig. 1(b), 1(c)",
        "merit-figure-1",
        decisions.extremes,
        assumed=_EPS,
    ),
    Claim(
        "merit-2",
        "FCUCB-D and FCTS-D reach the selection fractions of the optimal fair policy.",
        "sec. 6, Fig. 1(a)",
        "merit-figure-1",
        decisions.reach_optimal_fractions,
    ),
    Claim(
        "merit-3",
        "FGREEDY-D selects the arms almost uniformly.",
        "sec. 6, Fig. 1(a)",
        "merit-figure-1",
        decisions.greedy_is_uniform,
        assumed=_EPS,
    ),
    Claim(
        "merit-4",
        "FCUCB-D and FCTS-D have less reward regret and less fairness regret than FGREEDY-D.",
        "sec. 6, Fig. 1(b), 1(c)",
        "merit-figure-1",
        decisions.below_greedy,
        assumed=_EPS,
    ),
    Claim(
        "merit-5",
        "FCUCB-D has less reward regret and more fairness regret than FCTS-D.",
        "sec. 6, Fig. 1(b), 1(c)",
        "merit-figure-1",
        decisions.reward_against_fairness,
    ),
    Claim(
        "merit-6",
        "The regrets of FCUCB-D and FCTS-D grow sublinearly under geometric delays.",
        "sec. 6, Fig. 1(b), 1(c)",
        "merit-figure-1",
        lambda data: decisions.sublinear(data, [experiment_name("geometric")]),
    ),
    Claim(
        "merit-7",
        "The regrets of FCUCB-D and FCTS-D hardly depend on a fixed delay of up to 300 rounds.",
        "sec. 6, Fig. 2(a)",
        "merit-figure-2",
        decisions.insensitive_to_delay,
    ),
    Claim(
        "merit-8",
        "The regrets of FCUCB-D and FCTS-D grow sublinearly under Pareto delays and packet loss too.",
        "sec. 6, Fig. 2(b), 2(c)",
        "merit-figure-2",
        lambda data: decisions.sublinear(data, [experiment_name("pareto"), experiment_name("packet-loss")]),
        assumed=_PARETO,
    ),
    Claim(
        "merit-9",
        "Under Pareto delays and packet loss the fairness regrets of CUCB-D, MP-TS-D and FGREEDY-D grow linearly.",
        "sec. 6, Fig. 2(b), 2(c)",
        "merit-figure-2",
        decisions.linear,
        assumed=f"{_PARETO}; {_EPS}",
    ),
    Claim(
        "merit-10",
        "OP-FCUCB-D and OP-FCTS-D have less of both regrets than the plain policies under reward-dependent delay.",
        "sec. 6, Fig. 2(d)",
        "merit-figure-2",
        lambda data: decisions.optimistic(data, [experiment_name("reward-dependent")], loses=False),
    ),
    Claim(
        "merit-11",
        "OP-FCUCB-D and OP-FCTS-D have more of both regrets where the delay does not depend on the reward.",
        "sec. 5.2, Remark 10",
        "merit-figure-2",
        lambda data: decisions.optimistic(data, map(experiment_name, INDEPENDENT), loses=True),
        assumed=_PARETO,
    ),
    Claim(
        "merit-12",
        "The regrets of FCUCB-D and FCTS-D grow sublinearly on the conversion log.",
        "sec. 6, Fig. 3",
        "merit-figure-3",
        lambda data: decisions.sublinear(data, [LOG]),
        (LOG,),
    ),
    Claim(
        "merit-13",
        "FCUCB-D and FCTS-D have the best trade-off between reward and fairness on the conversion log.",
        "sec. 6, Fig. 3",
        "merit-figure-3",
        decisions.best_tradeoff,
        (LOG,),
        _EPS,
    ),
    Claim(
        "merit-14",
        "OP-FCUCB-D and OP-FCTS-D have more of both regrets than the plain policies on the conversion log.",
        "sec. 6, Fig. 3",
        "merit-figure-3",
        lambda data: decisions.optimistic(data, [LOG], loses=True),
        (LOG,),
    ),
    Claim(
        "merit-15",
        "The gap between the fairness regrets of the policies widens as the merit function becomes steeper (c grows).",
        "sec. 6 and App. B.1, Figs. 4 to 8",
        "merit-figure-4",
        lambda data: decisions.widens(data, REGRETS[1]),
        assumed=f"{_PARETO}; {_EPS}",
    ),
    Claim(
        "merit-16",
        "The gap between the reward regrets of the policies widens as the merit function becomes steeper (c grows).",
        "sec. 6 and App. B.1, Figs. 4 to 8",
        "merit-figure-4",
        lambda data: decisions.widens(data, REGRETS[0]),
        assumed=f"{_PARETO}; {_EPS}",
    ),
    Claim(
        "merit-17",
        "Under reward-dependent delay the regrets of FGREEDY-D are comparable with those of FCUCB-D and FCTS-D.",
        "App. B.1, Fig. 8",
        "merit-figure-8",
        decisions.comparable,
        assumed=_EPS,
    ),
    Claim(
        "merit-18",
        "The policies of TS type run faster than those of UCB type.",
        "sec. 6 and App. B, Fig. 9",
        "merit-figure-9",
        decisions.faster,
    ),
)
