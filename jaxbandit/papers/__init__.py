"""The five papers: their experiments, figures and claims, one folder per paper. This module imports no plotting."""

from jaxbandit.papers.experiment import Paper as Paper
from jaxbandit.papers.experiment import Sizes as Sizes
from jaxbandit.papers.guarantees.paper import PAPER as GUARANTEES
from jaxbandit.papers.merit.paper import PAPER as MERIT
from jaxbandit.papers.opportunities.paper import PAPER as OPPORTUNITIES
from jaxbandit.papers.penalties.paper import PAPER as PENALTIES
from jaxbandit.papers.plays.paper import PAPER as PLAYS

PAPERS: dict[str, Paper] = {paper.name: paper for paper in (PENALTIES, GUARANTEES, MERIT, PLAYS, OPPORTUNITIES)}
