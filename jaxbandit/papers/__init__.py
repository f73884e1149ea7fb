"""The papers' experiments, figures and claims: a module a paper."""

from . import guarantees, merit, opportunities, penalties, plays
from .experiment import Paper as Paper
from .experiment import Sizes as Sizes

PAPERS: dict[str, Paper] = {m.PAPER.number: m.PAPER for m in (penalties, guarantees, merit, plays, opportunities)}
