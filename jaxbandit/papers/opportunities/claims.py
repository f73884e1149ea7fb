"""The claims of the opportunities paper; the functions of `decisions` and `decisions_on_theorems` decide them."""

from __future__ import annotations

from jaxbandit.papers.claim import ANY_DIFFERENCE, Claim
from jaxbandit.papers.opportunities import decisions, decisions_on_theorems

_FIGURE_1, _FIGURE_2 = "opportunities-figure-1", "opportunities-figure-2"
_ARMS = "K = 6, Bernoulli rewards (sec. 2) with means 0.2 + 0.15 (i - 1)"
_SETTING = f"{_ARMS}, f uniform, linear and softmax, λ = 0, 0.4 and 0.8, 200 runs, UCB1 as ALG"
_SOFTMAX = f"{_ARMS}, f softmax, 200 runs, UCB1 as ALG"
_ASSUMED = (
    "the horizons (the paper has “a varying horizon”): 1,000 to 3,000,000; α and β: those of Theorem 2; c = 1 in f "
    "softmax, as in App. A.5"
)
_TIES = (
    "The sentence names no size, so a difference of any size counts. Opportunities T f_i are rounded to whole rounds: "
    "where no run differs by more than K rewards in all T rounds, the difference counts as a tie."
)
_EXPONENT = "0.8 lies between the exponent of the rate, 0.69, and that of linear regret, 1."
_O = "the paper has no experiment; horizons from 10,000 to 1,000,000"

CLAIMS = (
    Claim(
        "opportunities-1",
        "The average utility decreases as the transfer cost λ increases.",
        "As expected, the average utility decreases as the transfer cost increases.",
        "sec. 5, Fig. 1",
        _FIGURE_1,
        decisions.decreases_in_transfer_cost,
        _SETTING,
        _ASSUMED,
        _TIES,
    ),
    Claim(
        "opportunities-2",
        "At λ = 0 all fairness functions have the same average utility.",
        "In Figure 1a, we see that the average utility of all the functions is the same, since ALG is played across "
        "all the rounds.",
        "sec. 5, Fig. 1a",
        _FIGURE_1,
        decisions.same_without_transfer_cost,
        _SETTING,
        _ASSUMED,
        "Runs with equal random numbers are equal up to rounding.",
        invariant="At λ = 0 no gap is below λ and no confidence bound below λ - β, so phases 1 to 3 have no rounds, "
        "and the fairness function is never used.",
    ),
    Claim(
        "opportunities-3",
        "The expected utility increases with the horizon.",
        "The expected utility increases with the horizon, since the proportion of approximation rounds (Lines 5 and 7) "
        "decreases with the horizon.",
        "sec. 5, Fig. 1",
        _FIGURE_1,
        decisions.increases_in_horizon,
        _SETTING,
        f"{_ASSUMED}; f uniform at λ = 0.8 is left out: there every arm has the same share of the rounds in every "
        "phase, so its expected utility is the same at every horizon, which a finding shows",
    ),
    Claim(
        "opportunities-4",
        "For λ > 0 the utility with f linear is greater than with f uniform.",
        "thus, the utility of f^lin is greater than f^uni for λ > 0.",
        "sec. 5, Fig. 1",
        _FIGURE_1,
        decisions.linear_above_uniform,
        _SETTING,
        _ASSUMED,
        _TIES,
    ),
    Claim(
        "opportunities-5",
        "At λ = 0.8 the utilities with f softmax and f uniform differ by what their allocations of the rounds differ.",
        "For λ = 0.8, f^sft and f^uni use all the rounds for allocating opportunities. "
        "The difference in the average utility stems from the allocation differences.",
        "sec. 5, Fig. 1c",
        _FIGURE_1,
        decisions.difference_of_allocations,
        _SETTING,
        _ASSUMED,
        "The sentence gives one cause, so the ratio is 1; 5 % is left to the error of the estimated means.",
    ),
    Claim(
        "opportunities-6",
        "At λ = 0 all rounds go to the black box.",
        "For λ = 0, Algorithm 2 always invokes the black box algorithm ALG.",
        "sec. 5, Fig. 2",
        _FIGURE_2,
        decisions.all_rounds_in_black_box,
        _SOFTMAX,
        _ASSUMED,
        "A single round of another phase contradicts the sentence.",
        invariant="At λ = 0 no confidence bound is below λ, which is the condition of phases 1 to 3.",
    ),
    Claim(
        "opportunities-7",
        "At λ = 0.8 all rounds are opportunities.",
        "For λ = 0.8, the algorithm dedicates all rounds for opportunities.",
        "sec. 5, Fig. 2",
        _FIGURE_2,
        decisions.all_rounds_are_opportunities,
        _SOFTMAX,
        _ASSUMED,
        "1 % is left to the error of the estimated means. A round of phases 1 and 2 counts as an opportunity of its "
        "arm as long as the arm is entitled to more rounds.",
    ),
    Claim(
        "opportunities-8",
        "For λ = 0.4 and 0.8 the share of phases 1 and 2 decreases as the horizon increases.",
        "For λ = 0.4 and λ = 0.8, the proportion of approximation rounds (phases 1 and 2) decreases "
        "as the horizon increases.",
        "sec. 5, Fig. 2",
        _FIGURE_2,
        decisions.explores_less,
        _SOFTMAX,
        _ASSUMED,
        _TIES,
    ),
    Claim(
        "opportunities-9",
        "For λ = 0.4 and 0.8 the share of phase 3 increases with the horizon.",
        "The proportion of phase 3 rounds increases as the horizon grows.",
        "sec. 5, Fig. 2",
        _FIGURE_2,
        decisions.grants_more,
        _SOFTMAX,
        _ASSUMED,
        _TIES,
    ),
    Claim(
        "opportunities-10",
        "At λ = 0.4 opportunities of the three arms of lowest mean, and of no others, are withheld (phase 4 in the "
        "remaining rounds is not tested).",
        "However, for λ = 0.4, it realizes that for arms 1,2, and 3 (with Δ_i > λ = 0.4) paying the transfer cost λ "
        "per each withheld opportunities, and hence the remaining rounds are devoted to phase 4.",
        "sec. 5, Fig. 2",
        _FIGURE_2,
        decisions.withholds_opportunities,
        _SOFTMAX,
        f"{_ASSUMED}; the longest horizon decides, since the exploration of shorter ones grants opportunities too",
        "An arm that gets its opportunities lacks about 1 % of them, for its mean is estimated; 5 % is well above.",
    ),
    Claim(
        "opportunities-11",
        "On an instance of the lower-bound family the regret of Self-regulated is at least of order T^(2/3).",
        "For any algorithm, there exists a R-O MAB instance such that R(T) ≥ Ω(T^(2/3)).",
        "Thm 3, App. A.3",
        "opportunities-lower-bound",
        decisions_on_theorems.above_lower_bound,
        "for any T, K and L; λ = 1 and ε = c T^(-1/3)",
        f"{_O}; K = 3; c = 4, L = 2 and c = 1, L = 1; the bound with the constants that App. A.3 derives, which take "
        "as certain an instance of probability 1/100 or more",
        "The regret exceeds the bound with these constants.",
        invariant="A theorem on every algorithm, up to its constants.",
    ),
    Claim(
        "opportunities-12",
        "The regret of Self-regulated is at most of the order that Theorem 2 gives.",
        "Algorithm 2 has a regret of O(K^(5/3) L^(2/3) T^(2/3) log^(1/3) T).",
        "Thm 2",
        _FIGURE_1,
        decisions_on_theorems.below_upper_bound,
        "any instance; α and β as in the theorem",
        "the horizons from 100,000 to 3,000,000, where phases 1 and 2 leave rounds to the others; 200 runs; the arms "
        "of sec. 5, λ = 0.4, f linear and softmax; the hidden constant",
        _EXPONENT,
    ),
    Claim(
        "opportunities-13",
        "At λ = 0.8 f softmax gives an arm more rounds the larger its mean, and f uniform does not.",
        "f^uni allocates evenly, while f^sft allocates more opportunities as the arm expected reward grows.",
        "sec. 5, Fig. 1c",
        _FIGURE_1,
        decisions.grants_more_to_better_arms,
        _SETTING,
        _ASSUMED,
        _TIES,
    ),
    Claim(
        "opportunities-14",
        "Explore-then-commit has a utility of about 0.7 T, and so a regret of 0.05 T.",
        "hence, its utility is T - λ T/2 - o(1) ≈ 0.7T. The regret is therefore 0.05T, which is "
        "linear in the number of rounds T.",
        "sec. 3",
        "opportunities-example-of-etc",
        decisions_on_theorems.etc_has_linear_regret,
        "K = 2, Bernoulli rewards (sec. 2) with means (1, 1/2), λ = 0.6, f = 1/2; an optimized exploration parameter",
        "the horizons: 1,000 to 300,000; 200 runs; the exploration: (T/2)^(2/3) log(T)^(1/3) rounds per arm "
        "(Slivkins 2019)",
        "0.7 is given to one digit; 0.01 is a fifth of the regret per round, which tells 0.7 from the optimum 0.75.",
    ),
    Claim(
        "opportunities-15",
        "Classical policies fail in the example: their regret is linear.",
        "we first demonstrate that classical MAB algorithms fail miserably on our setting",
        "sec. 3",
        "opportunities-example-of-etc",
        decisions_on_theorems.classical_policies_fail,
        "K = 2, Bernoulli rewards (sec. 2) with means (1, 1/2), λ = 0.6, f = 1/2",
        "the policies: explore-then-commit, UCB1 and Thompson sampling; the horizons: 1,000 to 300,000; 200 runs",
        "A policy without opportunities loses 0.05 per round; half of it at the least.",
    ),
    Claim(
        "opportunities-16",
        "The regret of Algorithm 1 is at most of the order that Theorem 1 gives.",
        "Algorithm 1 has a regret of O(K L^(2/3) T^(2/3) log^(1/3) T).",
        "Thm 1",
        "opportunities-theorem-1",
        decisions_on_theorems.regret_of_algorithm_1,
        "any instance; N = 8 L^(2/3) T^(2/3) log(T)^(1/3)",
        f"{_O}; 100 runs; the arms of sec. 5, λ = 0.4, f linear and softmax; the hidden constant; N at most T/K",
        f"{_EXPONENT} A bound on the regret itself would not tell: the regret of UCB1, which is linear, is below that "
        "of the exploration up to T = 1,000,000.",
    ),
    Claim(
        "opportunities-17",
        "In the example of App. B Algorithm 2 has more regret than Algorithm 3, by its exploration in phase 1.",
        "To illustrate the motivation to use Algorithm 3 instead of Algorithm 2 consider the following R-O MAB "
        "instance. ... Thus, the first phase of Algorithm 2 pulls each arm O(T^(2/3)) and incur a O(T^(2/3)) regret.",
        "App. B",
        "opportunities-appendix-b",
        decisions_on_theorems.explores_in_vain,
        "f = 1/T, λ = 1/2, means 1 and (1 + T^(-1/3))/2",
        f"{_O}; K = 2; 100 runs; α and β of Theorem 2; UCB1 as ALG",
        f"{ANY_DIFFERENCE} {_EXPONENT}",
    ),
    Claim(
        "opportunities-18",
        "In the example of App. B Algorithm 3 has about the regret of its black box alone.",
        "Thus, in this case the regret is bounded by the regret of ALG.",
        "App. B",
        "opportunities-appendix-b",
        decisions_on_theorems.costs_what_the_black_box_costs,
        "f = 1/T, λ = 1/2, means 1 and (1 + T^(-1/3))/2",
        f"{_O}; K = 2; 100 runs; UCB1 as ALG",
        "The bound is up to constants. Each arm is played once before ALG starts, which costs half a reward, 1 to 2 % "
        "of the regret of ALG; 10 % is allowed.",
    ),
    Claim(
        "opportunities-19",
        "In the example of App. B Algorithm 3 plays each arm once before the black box starts.",
        "Algorithm 3 will pull each arm exactly once and then invoke the black-box algorithm.",
        "App. B",
        "opportunities-appendix-b",
        decisions_on_theorems.selects_each_arm_once,
        "f = 1/T, λ = 1/2, means 1 and (1 + T^(-1/3))/2",
        f"{_O}; K = 2; 100 runs",
        "A single round more contradicts the sentence.",
        invariant="Each arm is entitled to T f = 1 round, which Algorithm 3 grants first.",
    ),
    Claim(
        "opportunities-20",
        "Where f is constant, the regret of Algorithm 3 is at most of the order that Proposition 4 gives.",
        "Algorithm 3 achieves a regret of O(max{√(KT log T), R(ALG)}).",
        "App. B, Prop. 4",
        "opportunities-appendix-b",
        decisions_on_theorems.regret_of_algorithm_3,
        "any instance with a constant f",
        f"{_O}; 100 runs; the arms of sec. 5, λ = 0.4, f = 0.1; UCB1 as ALG; the hidden constant",
        "The constant that follows from the confidence intervals of App. C: an arm is played at most 8 log T/(Δ - λ)^2 "
        "times too often, which costs at most sqrt(8 T log T/K) per arm.",
    ),
)
