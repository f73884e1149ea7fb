"""The penalties paper: fairness as a penalty in the objective, hard-threshold UCB."""

from jaxbandit.papers.experiment import Paper

PAPER = Paper(
    name="penalties",
    authors="Anonymous authors, under review",
    title="A new look at fairness in stochastic multi-armed bandit problems",
)
