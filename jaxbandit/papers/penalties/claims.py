"""The claims of the penalties paper; the functions of `decisions` decide them."""

from __future__ import annotations

from jaxbandit.papers.claim import ANY_DIFFERENCE, Claim
from jaxbandit.papers.penalties import decisions

_BERNOULLI = "Bernoulli rewards; 200 runs; random ties"
_A_B = "K = 9, T = 20,000, τ_k = 1/20; three cases of means"
_PROPORTIONAL = (
    "Proportional counts lie on a line through the origin. On a plot they look so where it explains 90 % of their "
    "variance."
)
_D = (
    "K = 8, T = 10,000, two settings of means and τ; Gaussian rewards with sd 1/K; for a scale s from 0 to 1 A_k = s, "
    "α = (1 - s) τ_1 T, η₀ = (1 - s) T"
)
_D_ASSUMED = "scales in steps of 0.05; 100 runs; random ties; an arm is unfair that lacks more than 4 % of its rounds"
_FAIR = "penalty rates above all gaps, by a constant"
_FAIR_ASSUMED = (
    "the problem: means 0.9, 0.8, 0.7, 0.6, 0.5, τ = 0.195, A = 0.6, Bernoulli rewards; horizons from 5,000 to "
    "320,000; 100 runs; random ties"
)
CLAIMS = (
    Claim(
        "penalties-1",
        "The selections of non-critical arms that are below their quotas are proportional to 1/(gap - A)².",
        "the pulling number N_k(T) is proportional to 1/(Δ_k − A_k)² for k ∈ A_non-cr when N_k(T) does not reach "
        "fairness level τ_k T",
        "sec. 6, Fig. 1, upper row",
        "penalties-figure-1",
        lambda data: decisions.proportional(data, critical=False),
        setting=f"{_A_B}; A_k = 0.45 or 0.41",
        assumed=_BERNOULLI,
        tolerance=_PROPORTIONAL,
    ),
    Claim(
        "penalties-2",
        "The selections of critical arms that are above their quotas are proportional to 1/gap².",
        "N_k(T) is proportional to 1/Δ_k² for k ∈ A_cr when the pulling number is larger than fairness level τ_k T",
        "sec. 6, Fig. 1, bottom row",
        "penalties-figure-1",
        lambda data: decisions.proportional(data, critical=True),
        setting=f"{_A_B}; A_k = 0.45",
        assumed=_BERNOULLI,
        tolerance=_PROPORTIONAL,
    ),
    Claim(
        "penalties-3",
        "Hard-threshold UCB has less penalized regret than LFG and Fair-Learn.",
        "the proposed method achieves smaller penalized regret compared with LFG and Flearn",
        "sec. 6, Fig. 2",
        "penalties-figure-2",
        decisions.least_regret,
        setting="K = 5, 20; T from 500 to 16,000; τ_k = τ/K with τ = 0.2, 0.4, 0.8; A_k = (largest - smallest mean)/2; "
        "means drawn from [0, 1]; Gaussian rewards with sd 1/K; α = 0, η₀ = √T; 50 replications",
        assumed="six horizons, each twice the one before; 100 draws of the means with 10 runs each in place of 50 "
        "replications; random ties",
    ),
    Claim(
        "penalties-4",
        "Under hard-threshold UCB arms become unfair one by one as the scale decreases.",
        "For our method, with scale parameter decreasing, each arm becomes unfair one by one.",
        "sec. 6 and App. A, Fig. 3",
        "penalties-figure-3",
        decisions.one_by_one,
        setting=_D,
        assumed=_D_ASSUMED,
        tolerance="Gaps of two arms may fall into one step of the scale, so at most two arms per step are one by one. "
        "More than half of the seven arms that are not the best become unfair.",
    ),
    Claim(
        "penalties-5",
        "Under Fair-Learn and LFG all arms become unfair at once as the scale decreases from 1.",
        "all arms under both Flearn and LFG methods suddenly become unfair once scale parameter decreases from 1",
        "sec. 6 and App. A, Fig. 3",
        "penalties-figure-3",
        decisions.all_at_once,
        setting=_D,
        assumed=_D_ASSUMED,
        tolerance="More than half of the seven arms that are not the best, in the first step of the scale. There "
        "Fair-Learn lets an arm lack 5 % of its rounds, so 4 % is what an arm may lack and count as fair.",
    ),
    Claim(
        "penalties-6",
        "At equal unfairness hard-threshold UCB earns more expected reward than Fair-Learn and LFG.",
        "the proposed method always achieves the highest reward given the same unfairness level under different "
        "parameter settings",
        "sec. 6 and App. A, Fig. 4",
        "penalties-figure-4",
        decisions.more_reward,
        setting="K = 5, 20; τ = 0.2, 0.5; means drawn from [0, 1]; Gaussian, Beta and Bernoulli rewards",
        assumed="the horizon: T = 2,500 and 10,000, and 40,000 with K = 5; 100 draws of the means, 2 runs each; the "
        "scales; random ties",
        tolerance=f"{ANY_DIFFERENCE} Rewards are compared at five levels of unfairness that both policies reach.",
    ),
    Claim(
        "penalties-7",
        "Hard-threshold UCB keeps every sub-optimal arm fair on a wider range of scales.",
        "For sub-optimal arms, the proposed method can guarantee the fairness with a wider range of tuning parameter.",
        "App. A, caption of Fig. 3",
        "penalties-figure-3",
        decisions.wider_range,
        setting=_D,
        assumed=_D_ASSUMED,
    ),
    Claim(
        "penalties-8",
        "Soft-threshold UCB misses a constant share of the rounds of arms (its penalized regret is not tested).",
        "a soft-threshold UCB-like index fails to guarantee the asymptotic fairness and nearly-optimal penalized "
        "regret",
        "sec. 5",
        "",
        decisions.soft_is_unfair,
        setting="none; the paper does not run it",
        assumed=f"penalty rates above every gap; {_FAIR_ASSUMED}",
        tolerance="Missed rounds that grow like T are a constant share of the rounds; an exponent of 1 is linear.",
    ),
    Claim(
        "penalties-9",
        "Under hard-threshold UCB the missed rounds of critical arms do not grow with T.",
        "For any k ∈ A_opt ∪ A_cr, it holds E[(τ_k T − N_k(T))_+] = O(1).",
        "Theorem 2",
        "",
        decisions.deficits_are_bounded,
        setting=_FAIR,
        assumed=_FAIR_ASSUMED,
        tolerance="Less than one round over a factor 4 of T.",
        invariant="Theorem 2 proves it for large T; here no arm is behind at any of the horizons.",
    ),
    Claim(
        "penalties-10",
        "Under hard-threshold UCB the largest deficit of critical arms grows no faster than log T.",
        "E[max_{1≤t≤T} (τ_{k_j} t − N_{k_j}(t))_+] ≤ a_j log T + O(1)",
        "Theorem 3, eq. 14",
        "",
        decisions.largest_deficit_is_logarithmic,
        setting=_FAIR,
        assumed=_FAIR_ASSUMED,
        tolerance="1 is a logarithm; the ratio of a square root is above 1.6 over a factor 4 of these horizons.",
        invariant="Theorem 3 proves it for large T; here the first rounds have the largest deficit.",
    ),
)
