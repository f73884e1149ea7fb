"""The claims of the merit paper; the functions of `decisions` and `merit_functions` decide them."""

from __future__ import annotations

from jaxbandit.papers.claim import ANY_DIFFERENCE, Claim
from jaxbandit.papers.merit import decisions, merit_functions
from jaxbandit.papers.merit.experiments import LOG, REGRETS, TIMED_ROUNDS, experiment_name

_ARMS = "K = 7, L = 3, Bernoulli rewards with means (0.3, 0.5, 0.7, 0.9, 0.8, 0.6, 0.4), f(μ) = 1 + 2 μ^c, 100 runs"
_GEOMETRIC = f"{_ARMS}, c = 4; geometric delays with p = 0.05; T = 40,000 (stated for Fig. 1(a))"
_INFINITE = f"{_ARMS}, c = 4; Pareto delays with tail indices from (0, 1], packet loss with p from (0.3, 0.8]"
_BIASED = (
    f"{_ARMS}, c = 4; delays of 6,000 rounds for reward 1 of the three arms of highest mean and for reward 0 of the "
    "others"
)
_LOG = "ten ads of a conversion log, L = 3, f(μ) = 1 + 3.5 μ^4, click rate 5 %, T = 50,000, 100 runs"
_APP_B = f"{_ARMS}, c = 2, 4, 6, 8; five kinds of delays"
_TIES = "how ties are broken: at random"
_EPS = f"eps of FGREEDY-D: 0.1; {_TIES}"
_DRAW = "T = 40,000; the tail indices and probabilities, drawn once"
_SUBLINEAR = (
    "An exponent of 1 is linear and the theorems have 1/2. It is measured over the last three quarters of the rounds "
    "and lies between them."
)

CLAIMS = (
    Claim(
        "merit-1",
        "CUCB-D and MP-TS-D have less reward regret and more fairness regret than FCUCB-D and FCTS-D.",
        "CUCB-D and MP-TS-D consistently exhibit smaller reward regret and larger fairness regret when compared to "
        "FCUCB-D and FCTS-D",
        "sec. 6, Fig. 1(b), 1(c)",
        "merit-figure-1",
        decisions.extremes,
        setting=_GEOMETRIC,
        assumed=_TIES,
    ),
    Claim(
        "merit-2",
        "FCUCB-D and FCTS-D come to select the arms with the optimal probabilities.",
        "both FCUCB-D and FCTS-D can converge to the optimally fair policy",
        "sec. 6, Fig. 1(a)",
        "merit-figure-1",
        decisions.converge_to_optimum,
        setting=_GEOMETRIC,
        assumed=_TIES,
        tolerance="A tenth of the distance that uniform selections have. Exploration in a tenth of the rounds, as "
        "FGREEDY-D's, is not closer.",
    ),
    Claim(
        "merit-3",
        "FGREEDY-D tends to select the arms uniformly.",
        "FGreedy-D tends to select arms uniformly randomly since it randomly explores the arms in the exploration "
        "phase",
        "sec. 6, Fig. 1(a)",
        "merit-figure-1",
        decisions.greedy_is_uniform,
        setting=_GEOMETRIC,
        assumed=f"eps of FGREEDY-D: 0.1, and 0.13 as in the authors' public code; {_TIES}",
        tolerance="Selections that tend to be uniform are closer to uniform ones than to the optimal ones.",
    ),
    Claim(
        "merit-4",
        "FCUCB-D and FCTS-D have less reward regret and less fairness regret than FGREEDY-D.",
        "the reward/fairness regrets of our algorithms are smaller than FGreedy-D",
        "sec. 6, Fig. 1(b), 1(c)",
        "merit-figure-1",
        decisions.below_greedy,
        setting=_GEOMETRIC,
        assumed=_EPS,
    ),
    Claim(
        "merit-5",
        "FCUCB-D has less reward regret and more fairness regret than FCTS-D.",
        "FCUCB-D outperforms FCTS-D in reward regret. However, this advantage comes at the cost of incurring higher "
        "fairness regret.",
        "sec. 6, Fig. 1(b), 1(c)",
        "merit-figure-1",
        decisions.reward_against_fairness,
        setting=_GEOMETRIC,
        assumed=_TIES,
    ),
    Claim(
        "merit-6",
        "The regrets of FCUCB-D and FCTS-D grow sublinearly under geometric delays.",
        "the reward/fairness regrets of our algorithms ... increase sublinearly in T",
        "sec. 6, Fig. 1(b), 1(c)",
        "merit-figure-1",
        lambda data: decisions.sublinear(data, [experiment_name("geometric")]),
        setting=_GEOMETRIC,
        assumed=_TIES,
        tolerance=_SUBLINEAR,
    ),
    Claim(
        "merit-7",
        "The reward regrets of FCUCB-D and FCTS-D hardly depend on a fixed delay of up to 300 rounds.",
        "the reward regrets and the fairness regrets of our algorithms are quite close under different fixed delays",
        "sec. 6, Fig. 2(a)",
        "merit-figure-2",
        lambda data: decisions.close_under_fixed_delays(data, REGRETS[0]),
        setting=f"{_ARMS}, c = 4; fixed delays; T = 100,000",
        assumed=f"the delays of the figure: 0, 100, 200 and 300 rounds; {_TIES}",
        tolerance="Regrets that differ by more than a quarter are not quite close; no size is named.",
    ),
    Claim(
        "merit-8",
        "The regrets of FCUCB-D and FCTS-D grow sublinearly under Pareto delays and packet loss too.",
        "FCUCB-D and FCTS-D can achieve both sublinear fairness and reward regret upper bounds across various delay "
        "distributions with infinite expectations",
        "sec. 6, Fig. 2(b), 2(c)",
        "merit-figure-2",
        lambda data: decisions.sublinear(data, [experiment_name("pareto"), experiment_name("packet-loss")]),
        setting=_INFINITE,
        assumed=f"{_DRAW}; {_TIES}",
        tolerance=_SUBLINEAR,
    ),
    Claim(
        "merit-9",
        "Under Pareto delays and packet loss each other policy has a regret that grows linearly.",
        "Remarkably, compared to other algorithms, FCUCB-D and FCTS-D can achieve both sublinear fairness and reward "
        "regret upper bounds",
        "sec. 6, Fig. 2(b), 2(c)",
        "merit-figure-2",
        decisions.one_is_linear,
        setting=_INFINITE,
        assumed=f"{_DRAW}; {_EPS}",
        tolerance="Without both, a policy has one regret that is not sublinear. An exponent of 1 is linear.",
    ),
    Claim(
        "merit-10",
        "OP-FCUCB-D and OP-FCTS-D have less of both regrets than the plain policies under reward-dependent delay.",
        "OP-FCUCB-D and OP-FCTS-D significantly outperform FCUCB-D and FCTS-D in both reward regret and fairness "
        "regret",
        "sec. 6, Fig. 2(d)",
        "merit-figure-2",
        lambda data: decisions.optimistic(data, experiment_name("reward-dependent"), loses=False),
        setting=_BIASED,
        assumed=f"T = 40,000; {_TIES}",
    ),
    Claim(
        "merit-11",
        "OP-FCUCB-D or OP-FCTS-D can have larger regrets where the delay does not depend on the reward.",
        "this application may lead to potentially larger reward regret and fairness regret",
        "sec. 5.2, Remark 10",
        "merit-figure-2",
        decisions.optimistic_may_lose,
        setting="reward-independent delays",
        assumed=f"fixed delays of 200 rounds, geometric and Pareto delays, packet loss, as in sec. 6; {_DRAW}; {_TIES}",
        tolerance=f"{ANY_DIFFERENCE} The sentence says that it may, so one setting decides.",
    ),
    Claim(
        "merit-12",
        "The regrets of FCUCB-D and FCTS-D grow sublinearly on the conversion log.",
        "our algorithms achieve sublinear bounds on fairness/reward regret",
        "sec. 6, Fig. 3",
        "merit-figure-3",
        lambda data: decisions.sublinear(data, [LOG]),
        setting=_LOG,
        assumed=_TIES,
        tolerance=_SUBLINEAR,
        needs=(LOG,),
    ),
    Claim(
        "merit-13",
        "FCUCB-D and FCTS-D have the best trade-off between reward and fairness on the conversion log.",
        "exhibit a better tradeoff between reward and fairness on the conversion log dataset, in comparison to other "
        "algorithms",
        "sec. 6, Fig. 3",
        "merit-figure-3",
        decisions.best_tradeoff,
        setting=_LOG,
        assumed=f"what a better trade-off is: a smaller product of both regrets, which has no scale; {_EPS}",
        needs=(LOG,),
    ),
    Claim(
        "merit-14",
        "FCUCB-D and FCTS-D have less of both regrets than their OP variants on the conversion log.",
        "FCUCB-D and FCTS-D outperform OP-FCUCB-D and OP-FCTS-D in terms of reward regret and fairness regret",
        "sec. 6, Fig. 3",
        "merit-figure-3",
        lambda data: decisions.optimistic(data, LOG, loses=True),
        setting=_LOG,
        assumed=_TIES,
        needs=(LOG,),
    ),
    Claim(
        "merit-15",
        "Gaps between the fairness regrets of the policies widen as the merit function becomes steeper (c grows).",
        "the regret gap between different bandit algorithms widens as the parameter c increases",
        "sec. 6; App. B.1, Figs. 4 to 8",
        "merit-figure-4",
        lambda data: merit_functions.widens(data, REGRETS[1]),
        setting=_APP_B,
        assumed=f"which gaps: that of the five policies and that of FCUCB-D and FCTS-D; {_DRAW}; {_EPS}",
    ),
    Claim(
        "merit-16",
        "Gaps between the reward regrets of the policies widen as the merit function becomes steeper (c grows).",
        "As the parameter c increases, making the merit function f steeper, the gap between different bandit "
        "algorithms widens accordingly.",
        "sec. 6; App. B.1, Figs. 4 to 8",
        "merit-figure-4",
        lambda data: merit_functions.widens(data, REGRETS[0]),
        setting=_APP_B,
        assumed=f"which gaps: that of the five policies and that of FCUCB-D and FCTS-D; {_DRAW}; {_EPS}",
    ),
    Claim(
        "merit-17",
        "Under reward-dependent delay the regrets of FGREEDY-D are comparable with those of FCUCB-D and FCTS-D.",
        "FGreedy-D has a comparable performance with FCUCB-D and FCTS-D under the reward-dependent delay setting in "
        "Figure 8",
        "App. B.1, Fig. 8",
        "merit-figure-8",
        merit_functions.comparable,
        setting=f"{_ARMS}, c = 2, 4, 6, 8; the delays of Fig. 2(d)",
        assumed=f"T = 40,000; {_EPS}",
        tolerance="Regrets within a factor 2 are comparable; no size is named.",
    ),
    Claim(
        "merit-18",
        "The policies of TS type run faster than those of UCB type, which search for an optimum.",
        "our TS-type algorithms (FCTS-D and OP-FCTS-D) have shorter running times for the same number of rounds by "
        "avoiding solving the optimization problem",
        "App. B.1, Fig. 9",
        "merit-figure-9",
        merit_functions.faster,
        setting="the same number of rounds",
        assumed=f"{TIMED_ROUNDS:,} rounds of the problem of Fig. 1, 100 runs at once; a search by grid and parabola",
    ),
    Claim(
        "merit-19",
        "The fairness regrets of FCUCB-D and FCTS-D hardly depend on a fixed delay of up to 300 rounds.",
        "the reward regrets and the fairness regrets of our algorithms are quite close under different fixed delays",
        "sec. 6, Fig. 2(a)",
        "merit-figure-2",
        lambda data: decisions.close_under_fixed_delays(data, REGRETS[1]),
        setting=f"{_ARMS}, c = 4; fixed delays; T = 100,000",
        assumed=f"the delays of the figure: 0, 100, 200 and 300 rounds; {_TIES}",
        tolerance="Regrets that differ by more than a quarter are not quite close; no size is named.",
    ),
    Claim(
        "merit-20",
        "CUCB-D and MP-TS-D mainly select the three arms of highest mean.",
        "CUCB-D and MP-TS-D are unfair by mainly selecting the arms (arm 3,4,5) with high rewards, neglecting the "
        "potential merits of other arms",
        "sec. 6, Fig. 1(a)",
        "merit-figure-1",
        decisions.mainly_three_arms,
        setting=_GEOMETRIC,
        assumed=_TIES,
        tolerance="Mainly is in three quarters of the selections; half would not tell, since fair policies have 0.56.",
    ),
    Claim(
        "merit-21",
        "FCUCB-D and FCTS-D have the least fairness regret with every merit function.",
        "our algorithms effectively ensure merit-based fairness among arms while achieving low reward regret for "
        "different merit functions",
        "App. B.1, Figs. 4 to 8",
        "merit-figure-5",
        merit_functions.fairest,
        setting=_APP_B,
        assumed="effectively: with less fairness regret than the other policies; the reward-dependent delays of "
        f"Fig. 8 are left out (merit-17); low: not tested; {_DRAW}; {_EPS}",
    ),
)
