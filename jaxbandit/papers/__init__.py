"""The papers' experiments, figures and claims: a module a paper."""

from . import merit, penalties
from .experiment import Paper as Paper
from .experiment import Sizes as Sizes

PAPERS: dict[str, Paper] = {module.PAPER.number: module.PAPER for module in (penalties, merit)}
