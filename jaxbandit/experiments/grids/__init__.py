"""Results of grids: their parameters, tables, differences between policies, and the best policy.

    lfg = {"kind": "lfg", "eta": [1.0, 10.0, 100.0]}
    results = jb.simulate(problem, lfg, horizon=1000, seeds=100)
    jb.grids.table(results)
    jb.grids.difference(results, "lfg (eta=10)", "lfg (eta=100)", "regret")

A parameter has the name of its config key: `policies.eta` is the key `eta` of a policy's table, `problem.delay.p` the
key `delay.p` of the problem. Results hold the parameters of grids as coordinates of these names. Labels leave out the
prefix `policies.`: "lfg (eta=10, problem.delay.p=0.1)".
"""

from jaxbandit.experiments.grids.comparisons import Difference, best, difference
from jaxbandit.experiments.grids.confidence_sets import confidence_set
from jaxbandit.experiments.grids.parameters import families, parameters, varying
from jaxbandit.experiments.grids.tables import pooled_table, table

__all__ = [
    "Difference",
    "best",
    "confidence_set",
    "difference",
    "families",
    "parameters",
    "pooled_table",
    "table",
    "varying",
]


def __dir__() -> list[str]:
    return list(__all__)
