"""What the guarantees paper prints and does not hold as printed."""

from jaxbandit.papers.claim import Finding
from jaxbandit.papers.guarantees import decisions

FINDINGS: tuple[Finding, ...] = (
    Finding(
        "guarantees-theorem-1",
        "Theorem 1",
        "The regret of NAIVE is O((T² ln T)^(1/3)), for the share ε of exploration that the algorithm takes as input.",
        "Any fixed ε > 0 gives a regret of at least (m/k) ε T times the sum of the gaps, eq. 5, which is linear in T. "
        "The theorem holds for the ε of its proof, which shrinks like (ln T / T)^(1/3) and depends on unknown gaps.",
        "two arms with means 1 and 0, r = 0, ε = 0.1",
        decisions.fixed_share_is_linear,
    ),
    Finding(
        "guarantees-algorithm-4",
        "Alg. 4 and sec. 6",
        "η-FUCB adds η γ to the index, with γ = r (t-1) - N; even for large η its r-regret is logarithmic.",
        "γ falls without a bound for an arm that is ahead of its quota, so for any fixed η > 0 the rounds that are not "
        "guaranteed are shared among all arms, and the r-regret is linear in T. With γ clipped at 0 it is not.",
        "two arms with constant rewards 1 and 0, r = 0, η = 1",
        decisions.unclipped_eta_is_linear,
    ),
)
