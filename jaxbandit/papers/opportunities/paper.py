"""The opportunities paper: opportunities for arms, and a cost for withholding them, Self-regulated."""

from jaxbandit.papers.experiment import Paper

PAPER = Paper(
    name="opportunities",
    authors="Ron, Ben-Porat & Shalit",
    title="Corporate social responsibility via multi-armed bandits",
    year=2021,
)
