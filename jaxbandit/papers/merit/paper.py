"""The merit paper: selections in proportion to merit under delayed feedback, FCUCB-D and FCTS-D."""

from jaxbandit.papers.experiment import Paper

PAPER = Paper(
    name="merit",
    authors="Chen, Cai, Chen, Zhang & Lui",
    title="Merit-based fair combinatorial semi-bandit with unrestricted feedback delays",
    year=2024,
)
