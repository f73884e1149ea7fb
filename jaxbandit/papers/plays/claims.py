"""The claims of the plays paper."""

from __future__ import annotations

from collections.abc import Callable

from jaxbandit.papers.claim import ANY_DIFFERENCE, Claim
from jaxbandit.papers.evidence import Evidence
from jaxbandit.papers.experiment import Data
from jaxbandit.papers.plays import decisions
from jaxbandit.papers.plays.experiments import KL, ORDERS, ROUNDS, TIMES, UCB

_ARMS = "M = 8 arms, K = 3 plays, Bernoulli rewards, "
_THETAS = "θ₁ = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2), θ₂ = (0.9, 0.85, 0.8, 0.5, 0.45, 0.4, 0.35, 0.3)"
_GROWTH = f"{_ARMS}{_THETAS}; c_i = c for all i with c in {{0.05, 0.10, 0.15}}; KL-UCB with a = 0; no horizon"
_EVEN = f"{_ARMS}{_THETAS}; c_i = 0.1 for all i; for θ₁ η = 50 (LFG), α_t = 0.9/√t and ε_t = 0.2/√t (UCB-PLL)"
_ONE_RUN = f"{_EVEN}; 'a specific instantiation', that is, one run"
_LARGE = (
    f"{_ARMS}c = (0.05, 0.10, 0.20, 0.15, 0.10, 0.15, 0.20, 0.25), L = 2; for θ₁ η = 50 (LFG), α_t = 0.9/√t and "
    "ε_t = 0.2/√t (UCB-PLL)"
)
_UNEVEN = (
    f"{_ARMS}θ₁; c₄ = (0.03, 0.05, 0.07, 0.09, 0.11, 0.13, 0.15, 0.17), c₅ the same in reverse; Fair-MMAB(K), which is "
    "Algorithm 1 (0.17 is above the 1/6 that it asks for); KL-UCB with a = 0; for θ₁ η = 50 (LFG), "
    "α_t = 0.9/√t and ε_t = 0.2/√t (UCB-PLL)"
)

_OPEN = "the index of an arm not selected yet (infinite) and the number of runs"
_GROWTH_ASSUMED = (
    f"T, decided at several up to {ROUNDS[UCB][0]:,} with UCB1 and {ROUNDS[KL][0]:,} with KL-UCB; random ties; {_OPEN}"
)
_HORIZON = f"T, decided at {', '.join(f'{t:,}' for t in TIMES)}"
_TIES = f"ties: random for the arms as listed, and to the lowest arm over {ORDERS} random orders of the arms"
_INDICES = "the exploration of the rivals' UCB1 index, 1.5 (LFG) and 2 (UCB-LP, UCB-PLL)"
_EVEN_ASSUMED = f"{_HORIZON}; {_TIES}; for θ₂ the η, α_t and ε_t of θ₁; {_INDICES}; {_OPEN}"
_LARGE_ASSUMED = (
    f"{_HORIZON}; {_TIES}; that η, α_t and ε_t, stated for θ₁ without a figure, hold in Fig. 5 too, and for θ₂; "
    f"{_INDICES}; {_OPEN}"
)
_UNEVEN_ASSUMED = (
    f"{_HORIZON}; {_TIES}; that η, α_t and ε_t, stated for θ₁ without a figure, hold here too; {_INDICES}; {_OPEN}"
)

_LEVEL = "The paper's pink line, y = 1: uniform fairness holds where the deficit is less than one round."
_SHARE = (
    f"{_LEVEL} The paper draws one run of unknown seed, so the claim counts as true where more than half of the runs "
    "show it."
)
_BEHIND = f"{_LEVEL} The paper draws one run; here the mean over runs has to be above the line."
_INVARIANT = "Theorems 3.4 and 4.1: with these fractions, Algorithms 1 and 2 never leave an arm behind by a round."


def _claim(
    number: int,
    statement: str,
    quotation: str,
    place: str,
    figure: str,
    weigh: Callable[[Data], Evidence],
    setting: str,
    assumed: str,
    tolerance: str = ANY_DIFFERENCE,
    invariant: str = "",
) -> Claim:
    name, drawn = f"plays-{number}", f"plays-figure-{figure}"
    return Claim(name, statement, quotation, place, drawn, weigh, setting, assumed, tolerance, invariant=invariant)


CLAIMS = (
    _claim(
        1,
        "The c-regret of Fair-MMAB is bounded for all three c and both θ.",
        "The graphs of R_c(T) are bounded for all choices of c and θ, which verifies Theorems 3.5 and 3.6.",
        "sec. 5.1.1 (i), Fig. 1-2",
        "1",
        decisions.bounded,
        _GROWTH,
        _GROWTH_ASSUMED,
        "Finitely many rounds cannot show a bound. Growth at less than half the pace of log t, which a regret without "
        "a bound would have, counts as bounded.",
    ),
    _claim(
        2,
        "For large T, a larger c gives more c-regret where all c_i are equal.",
        "A larger value of c leads to higher R_c(T) for sufficiently large T when c_i = c for all i.",
        "sec. 5.1.1 (ii), Fig. 1-2",
        "1",
        decisions.larger_c_more_regret,
        _GROWTH,
        _GROWTH_ASSUMED,
    ),
    _claim(
        3,
        "For large t, c-regret is higher under θ₁ than under θ₂ if c is small, and lower if c is large.",
        "When t is large, we observe that R_c^{θ₁}(t) > R_c^{θ₂}(t) for small c, whereas R_c^{θ₁}(t) < R_c^{θ₂}(t) for "
        "large c.",
        "sec. 5.1.1 (iii), Fig. 1-2",
        "1",
        decisions.thetas_cross,
        _GROWTH,
        f"which c is small (0.05) and which is large (0.15); {_GROWTH_ASSUMED}",
    ),
    _claim(
        4,
        "Fair-MMAB has a lower c-regret with KL-UCB than with UCB1.",
        "Fair-MMAB(K)-KL-UCB has a lower regret than Fair-MMAB(K)-UCB1",
        "sec. 5.1.1 (iv), Fig. 1-2",
        "2",
        decisions.kl_below_ucb1,
        _GROWTH,
        _GROWTH_ASSUMED,
    ),
    _claim(
        5,
        "Fair-MMAB, with UCB1 and with KL-UCB, has less c-regret than LFG, UCB-LP and UCB-PLL.",
        "We observe that our Fair-MMAB(K)-UCB1 and Fair-MMAB(K)-KL-UCB outperform the existing fair multiple-play MAB "
        "algorithms.",
        "sec. 5.1.1, Fig. 3",
        "3",
        decisions.least_regret_even,
        _EVEN,
        _EVEN_ASSUMED,
    ),
    _claim(
        6,
        "UCB-PLL has the largest c-regret of the five policies.",
        "UCB-PLL incurs the largest regret among the considered algorithms",
        "sec. 5.1.1, Fig. 3",
        "3",
        decisions.pllp_most_regret,
        _EVEN,
        _EVEN_ASSUMED,
    ),
    _claim(
        7,
        "Under Fair-MMAB, the largest deficit is always less than 1.",
        "The graphs of max_{i∈[M]} c_i t − n_{i,t} of Fair-MMAB(K)-UCB1 always lies below the pink line of y = 1; "
        "Figure 4 verifies the uniform fairness property of Fair-MMAB(K).",
        "sec. 5.1.2, Fig. 4; sec. 5.2, Fig. 5",
        "4",
        decisions.own_never_behind,
        "the settings of Fig. 1-2, 4 and 5: M = 8, K = 3, θ₁ and θ₂, c_i = 0.1, and c of Fig. 5 with L = 2",
        f"the horizon; the number of runs; {_TIES}",
        _LEVEL,
        _INVARIANT,
    ),
    _claim(
        8,
        "For c_i = 0.1 and large t, the largest deficits of LFG and of UCB-LP are above 1.",
        "But the graphs of LFG and UCB-LP lie above the pink line, y = 1, for large t",
        "sec. 5.1.2, Fig. 4",
        "4",
        decisions.others_behind,
        _ONE_RUN,
        _EVEN_ASSUMED,
        _BEHIND,
    ),
    _claim(
        9,
        "For c_i = 0.1, the largest deficit of UCB-PLL is always below 1.",
        "The graph of UCB-PLL also lies below the pink line for all t.",
        "sec. 5.1.2, Fig. 4",
        "4",
        decisions.pllp_never_behind,
        _ONE_RUN,
        _EVEN_ASSUMED,
        _SHARE,
    ),
    _claim(
        10,
        "For c_i = 0.1 and large t, the largest deficit of UCB-PLL is below -5.",
        "In Figure 4, the value max_{i∈[M]} c_i t − n_{i,t} for UCB-PLL remains consistently below -5 for large t",
        "sec. 5.1.2, Fig. 4",
        "4",
        decisions.pllp_far_below,
        _EVEN,
        _EVEN_ASSUMED,
        "The paper names the level, -5. It draws one run; here the mean over runs has to be below.",
    ),
    _claim(
        11,
        "For c_i = 0.1, the largest deficit of Fair-MMAB stays below 1 but close to 1 as t increases.",
        "the graphs of Fair-MMAB(K)-UCB1 and Fair-MMAB(K)-KL-UCB in Figure 4 stay below 1 but close to 1 as t increase",
        "sec. 5.1.2, Fig. 4",
        "4",
        decisions.own_close_to_1,
        _EVEN,
        f"what 'close' means; {_EVEN_ASSUMED}",
        "The sentence is about graphs: closer than 5 % of the height of the panel counts as close. That it is below 1 "
        "is Theorem 3.4 and cannot fail.",
    ),
    _claim(
        12,
        "The largest deficit of UCB-PLL is lower in Fig. 5 than in Fig. 4.",
        "The graph of UCB-PLL in Figure 5 takes lower values than the corresponding graph in Figure 4 to meet the more "
        "stringent fairness requirements.",
        "sec. 5.2, Fig. 5",
        "5",
        decisions.pllp_lower_with_large_fractions,
        f"{_LARGE}; Fig. 4: c_i = 0.1 for all i",
        _LARGE_ASSUMED,
    ),
    _claim(
        13,
        "For large T, the c-regret of Fair-MMAB is higher with c₄ than with c₅.",
        "the regrets of c₄ is higher than that of c₅ for large T, which is observed in Figure 7",
        "App. G.2, Fig. 7",
        "7",
        decisions.c4_above_c5,
        _UNEVEN,
        f"{_HORIZON}; random ties; {_OPEN}",
    ),
    _claim(
        14,
        "With c₄ and with c₅, Fair-MMAB has less c-regret than LFG, UCB-LP and UCB-PLL.",
        "Our Fair-MMAB(K) algorithms outperform the existing fair multiple-play MABs, LFG, UCB-LP, and UCB-PLL.",
        "App. G.2, Fig. 8-9",
        "8",
        decisions.least_regret_uneven,
        _UNEVEN,
        _UNEVEN_ASSUMED,
    ),
    _claim(
        15,
        "With c₄ and with c₅, as with equal c_i, the largest deficits of LFG and of UCB-LP are above 1 for large t.",
        "We observe similar behaviors of the graphs as for the case of constant fairness constraints in the figures.",
        "App. G.2, Fig. 8-9",
        "9",
        decisions.others_behind_uneven,
        _UNEVEN,
        f"what is similar: the claims of sec. 5.1.2, here plays-8; {_UNEVEN_ASSUMED}",
        _BEHIND,
    ),
    _claim(
        16,
        "In Fig. 5, LFG and UCB-LP do not satisfy uniform fairness.",
        "Our algorithms and UCB-PLL satisfy the uniform fairness property whereas LFG and UCB-LP do not.",
        "sec. 5.2, Fig. 5",
        "5",
        decisions.others_unfair_large,
        _LARGE,
        _LARGE_ASSUMED,
        _SHARE,
    ),
    _claim(
        17,
        "In Fig. 5, UCB-PLL satisfies uniform fairness.",
        "Our algorithms and UCB-PLL satisfy the uniform fairness property whereas LFG and UCB-LP do not.",
        "sec. 5.2, Fig. 5",
        "5",
        decisions.pllp_never_behind_large,
        _LARGE,
        _LARGE_ASSUMED,
        _SHARE,
    ),
    _claim(
        18,
        "With c₄ and with c₅, as with equal c_i, the largest deficit of UCB-PLL is always below 1.",
        "We observe similar behaviors of the graphs as for the case of constant fairness constraints in the figures.",
        "App. G.2, Fig. 8-9",
        "9",
        decisions.pllp_never_behind_uneven,
        _UNEVEN,
        f"what is similar: the claims of sec. 5.1.2, here plays-9; {_UNEVEN_ASSUMED}",
        _SHARE,
    ),
    _claim(
        19,
        "With c₄ and with c₅, as with equal c_i, the largest deficit of Fair-MMAB is always less than 1.",
        "We observe similar behaviors of the graphs as for the case of constant fairness constraints in the figures.",
        "App. G.2, Fig. 8-9",
        "8",
        decisions.own_never_behind_uneven,
        f"{_UNEVEN}; the largest c_i, 0.17, is above the bound 1/6 of Theorem 3.4",
        f"what is similar: the claims of sec. 5.1.2, here plays-7; {_UNEVEN_ASSUMED}",
        _LEVEL,
    ),
)
