"""The plays paper: guaranteed fractions with several plays per round, Fair-MMAB."""

from jaxbandit.papers.experiment import Paper

PAPER = Paper(
    name="plays",
    authors="Jin, Kim & Suh",
    title="Fairness of exposure in stochastic multiple-play multi-armed bandits",
    year=2026,
)
