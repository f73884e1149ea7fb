"""The claims of the guarantees paper; the functions of `decisions` decide them."""

from __future__ import annotations

from jaxbandit.papers.claim import ANY_DIFFERENCE, Claim
from jaxbandit.papers.guarantees import decisions
from jaxbandit.papers.guarantees.experiments import TIMES, known_name

_FIGURE = "guarantees-section-6"
_STATED = (
    "k = 10 arms, μ_1 = 0.8, each further mean lower by 0.01; Bernoulli rewards (sec. 3); 100 runs; η = 1000, which "
    "we read as that of LFG"
)
_TIMES = f"the horizon, decided at T = {', '.join(f'{t:,}' for t in TIMES)}; ties are random"
_R = f"{_TIMES}; r = 0.05 for every arm"
_EVERY_R = f"{_TIMES}; r, the same for every arm: 0.001, 0.01, 0.02, 0.05 and 0.09"
_LOG = (
    "The statistic is 1 for log T and 2 for a square root; √2 lies between them. A horizon at which the regret does "
    "not grow says nothing."
)
CLAIMS = (
    Claim(
        "guarantees-1",
        "Without fairness the regrets of η-FUCB and LFG follow that of UCB1.",
        "for r = 0, that the expected regret of proposed algorithms as well as LFG closely follow UCB1",
        "sec. 6, first plot",
        _FIGURE,
        decisions.follows_ucb1,
        setting=f"{_STATED}; r = 0",
        assumed=f"{_TIMES}; η = 0.000001 for η-FUCB. FUCB is left out: at r = 0 it makes the selections of UCB1",
        tolerance="On the scale of a plot curves that differ by 10 % lie close to each other.",
    ),
    Claim(
        "guarantees-2",
        "Without fairness F-TS has less regret per round than UCB1.",
        "whereas F-TS provides lower per-round regret",
        "sec. 6, first plot",
        _FIGURE,
        decisions.thompson_below_ucb1,
        setting=f"{_STATED}; r = 0",
        assumed=_TIMES,
    ),
    Claim(
        "guarantees-3",
        "With fairness the r-regrets of FUCB and LFG grow like log T.",
        "however both the algorithms achieve logarithmic regret",
        "sec. 6, second plot",
        _FIGURE,
        decisions.logarithmic,
        setting=_STATED,
        assumed=_EVERY_R,
        tolerance=_LOG,
    ),
    Claim(
        "guarantees-4",
        "A larger η gives more r-regret per round, and a large one satisfies the fairness constraints.",
        "as the value of η increases, the per round r-Regret increases whereas the fairness constraints are satisfied",
        "sec. 6, last plot",
        _FIGURE,
        decisions.trades_fairness,
        setting=_STATED,
        assumed=f"{_R}; nine values of η from 0.000001 to 1",
        tolerance=f"{ANY_DIFFERENCE} The constraints are satisfied where less than one round per arm is missed.",
    ),
    Claim(
        "guarantees-5",
        "The r-regret of η-FUCB is logarithmic even for a large η.",
        "Note that even for large η, the r-Regret is still logarithmic.",
        "sec. 6",
        _FIGURE,
        decisions.logarithmic_for_large_eta,
        setting=_STATED,
        assumed="the horizon, decided at T = 20,000, 80,000 and 320,000; η = 1; r = 0.05 for every arm; random ties",
        tolerance=_LOG,
    ),
    Claim(
        "guarantees-6",
        "Under FUCB no arm is behind its guarantee by a whole round, in any round.",
        "FUCB is α-fair for α = 1",
        "Theorem 4",
        _FIGURE,
        decisions.no_round_behind,
        setting="r equal for all arms and below 1/k",
        assumed="k = 10, r = 0.05",
        tolerance="Definition 3 with α = 1: a deficit of one round.",
        invariant="Theorem 4 proves it for every run.",
    ),
    Claim(
        "guarantees-7",
        "FUCB's r-regret is similar to the regret of UCB1.",
        "the r-Regret of FUCB is similar to the regret incurred by UCB1",
        "sec. 6, second plot",
        _FIGURE,
        decisions.similar_to_ucb1,
        setting=_STATED,
        assumed=_EVERY_R,
        tolerance="No size is named: curves of one plot look similar where they differ by less than half.",
    ),
    Claim(
        "guarantees-8",
        "LFG has less r-regret than FUCB, F-TS and η-FUCB.",
        "LFG (refer Li et al. [2019]) provides better regret guarantees over proposed algorithms",
        "sec. 6, second plot",
        _FIGURE,
        decisions.lfg_below_the_others,
        setting=_STATED,
        assumed=f"{_EVERY_R}; η = 0.00001 and r = 0.05 for η-FUCB; r = 0.05 for F-TS",
    ),
    Claim(
        "guarantees-9",
        "A policy that knows the horizon can trade off fairness and regret better.",
        "An algorithm that has access to time horizon T can trade-off fairness and regret more effectively.",
        "sec. 4, first sentence",
        "",
        decisions.better_with_the_horizon,
        setting="none; the paper does not run T-FUCB",
        assumed=f"{_R}; the arms of section 6; the comparison: r-regret of T-FUCB and of FUCB; fairness is not weighed",
    ),
    Claim(
        "guarantees-10",
        "The r-regret of NAIVE is sublinear in T.",
        "We show in Theorem 1 that NAIVE attains sub-linear regret",
        "sec. 4, Alg. 1",
        "",
        decisions.naive_is_sublinear,
        setting="none; the paper does not run NAIVE",
        assumed=f"{_R}; the arms of section 6; the share of exploration (ln T / T)^(1/3), the rate of the proof",
        tolerance="An exponent of 1 is linear; the bound (T² ln T)^(1/3) grows with about 0.7 over these horizons.",
    ),
    Claim(
        "guarantees-11",
        "The r-regret of T-FUCB grows like log T.",
        "Next we show that T-FUCB achieves logarithmic regret.",
        "sec. 4, Theorem 2",
        "",
        decisions.horizon_known_is_logarithmic,
        setting="none; the paper does not run T-FUCB",
        assumed=(
            "the horizon, decided at T = 80,000 and 320,000, each a simulation of its own; r = 0.05 for every arm; the "
            "arms of section 6; ties are random"
        ),
        tolerance=_LOG,
        needs=(known_name(TIMES[-1]),),
    ),
    Claim(
        "guarantees-12",
        "With fairness F-TS has less r-regret than FUCB.",
        "F-TS which attain further lower finite time regret",
        "sec. 5",
        _FIGURE,
        decisions.thompson_below_fucb,
        setting="none; the fairness guarantee of Theorem 4 holds for F-TS, too",
        assumed=f"{_R}; the arms of section 6",
    ),
)
