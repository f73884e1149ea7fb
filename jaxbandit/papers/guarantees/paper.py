"""The guarantees paper: a guaranteed fraction of the rounds for each arm, Fair-Learn."""

from jaxbandit.papers.experiment import Paper

PAPER = Paper(
    name="guarantees",
    authors="Patil, Ghalme, Nair & Narahari",
    title="Stochastic multi-armed bandits with arm-specific fairness guarantees",
    year=2019,
)
