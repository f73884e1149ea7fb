"""jaxbandit: fair and delayed multi-armed bandits, simulated in batches by one compiled JAX program.

import jaxbandit as jb

problem = jb.Problem(means=[0.9, 0.8, 0.7], fractions=0.05, penalties=0.45)
results = jb.simulate(problem, ["hard-threshold-ucb", "fucb"], horizon=10_000, seeds=1000)
"""

import importlib
from typing import TYPE_CHECKING, Any

from . import bounds as bounds
from . import grids as grids
from . import indices as indices
from . import instances as instances
from . import policies as policies
from . import tuning as tuning
from .api import simulate as simulate
from .component import parameter as parameter
from .errors import InputError as InputError
from .errors import WriteError as WriteError
from .merit import Merit as Merit
from .opportunity import Opportunity as Opportunity
from .policy import Index as Index
from .policy import Policy as Policy
from .policy import Rule as Rule
from .policy import policy as policy
from .problem import Problem as Problem
from .rewards import Reward as Reward
from .rounds import Round as Round
from .struct import struct as struct

if TYPE_CHECKING:
    from . import plots as plots


def __getattr__(name: str) -> Any:
    """`plots` loads matplotlib, so it is imported when it is first used."""
    if name == "plots":
        return importlib.import_module(".plots", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
