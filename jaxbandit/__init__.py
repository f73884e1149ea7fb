"""jaxbandit: fair and delayed multi-armed bandits, simulated in batches by one compiled JAX program.

import jaxbandit as jb

problem = jb.Problem(means=[0.9, 0.8, 0.7], fractions=0.05, penalties=0.45)
results = jb.simulate(problem, ["hard-threshold-ucb", "fucb"], horizon=10_000, seeds=1000)
"""

import importlib
from typing import TYPE_CHECKING, Any

from jaxbandit import policies as policies
from jaxbandit import tuning as tuning
from jaxbandit.core.component import parameter as parameter
from jaxbandit.core.errors import InputError as InputError
from jaxbandit.core.errors import WriteError as WriteError
from jaxbandit.core.struct import struct as struct
from jaxbandit.environment import hard_instances as instances  # noqa: F401
from jaxbandit.environment.merit import Merit as Merit
from jaxbandit.environment.opportunities import Opportunity as Opportunity
from jaxbandit.environment.problem import Problem as Problem
from jaxbandit.environment.rewards import Reward as Reward
from jaxbandit.experiments import tables as grids  # noqa: F401
from jaxbandit.experiments.simulate import simulate as simulate
from jaxbandit.metrics.bounds import table as bounds  # noqa: F401
from jaxbandit.policies import indices as indices
from jaxbandit.policies.base import Index as Index
from jaxbandit.policies.base import Policy as Policy
from jaxbandit.policies.base import Rule as Rule
from jaxbandit.policies.base import policy as policy
from jaxbandit.policies.round_view import RoundView as RoundView

if TYPE_CHECKING:
    from jaxbandit.experiments.plots import figures as plots  # noqa: F401


def __getattr__(name: str) -> Any:
    """`plots` loads matplotlib, so it is imported when it is first used."""
    if name == "plots":
        return importlib.import_module("jaxbandit.experiments.plots.figures")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
