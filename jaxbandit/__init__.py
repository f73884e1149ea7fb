"""jaxbandit: simulations of multi-armed bandits with fairness constraints and delayed feedback, compiled by JAX.

    import jaxbandit as jb

    problem = jb.Problem(means=[0.9, 0.8, 0.7], fractions=0.05, penalties=0.45)
    results = jb.simulate(problem, ["hard-threshold-ucb", "fucb"], horizon=10_000, seeds=1000)

The public names are those of `__all__`, here and in the public modules. Everything else may change without notice.

Simulate:
    Problem: a bandit problem: means, rewards, delays and fairness constraints.
    policy: makes a policy from its name and its parameters.
    simulate: runs policies on a problem, or on a grid of problems; returns an xarray dataset.
    combine: joins two such datasets: more policies, or more runs.

Evaluate:
    dashboard: a page of results to walk around in, for browsers and notebooks.
    cite: BibTeX entries of the papers behind the results.

Evaluate (modules):
    summary: results as text; `jb.summary.table(results)` has one line per policy.
    grids: results as pandas tables, differences between policies, the best policy of a grid.
    plots: figures of results.
    metrics: `METRICS`, the table of metrics with their formulas.
    bounds: the theorems of the papers as functions.
    tuning: gradients of expected objectives, and tuning by gradient descent.

Round by round:
    Simulator: a policy on a problem as pure functions, `init` and `step`.
    Agent: a policy for the real world, `select` and `observe`.
    save, load: files of their states.

Built in (modules):
    policies, indices: the classes of the built-in policies and indices.
    instances: problems from the papers' proofs.

Names that configs and functions take:
    list_policies, list_indices, list_rewards, list_delays, list_merits, list_opportunities, list_metrics, list_configs.
    unregister: removes the name of a class of your own.

Extend:
    Policy, Index, Rule, Reward, Delay, Merit, Opportunity, Metric: base classes for components of your own.
    RoundView: the counts, feedback and random numbers that a policy sees in a round.
    Stream: random numbers: `now.random` in policies, `random` in rewards and delays.
    parameter: declares a parameter of a component, with its range and its meaning.
    struct: a class decorator for the states of policies.
    NEVER: the delay that a `Delay` draws for a reward that does not arrive.
    check_policy: checks whether a policy keeps the rules that simulations rely on.

Errors:
    InputError: an argument, a config key or a file cannot be used.
    ReturnedError: a method of one of your classes returned a value that cannot be used; an `InputError`.
    WriteError: a file cannot be written.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jaxbandit import metrics, policies, tuning
    from jaxbandit.core.component import parameter
    from jaxbandit.core.errors import InputError, ReturnedError, WriteError
    from jaxbandit.core.prng import Stream
    from jaxbandit.core.struct import struct
    from jaxbandit.engine.stepping import Agent, Simulator, load, save
    from jaxbandit.environment import hard_instances as instances
    from jaxbandit.environment.delays import NEVER, Delay
    from jaxbandit.environment.merit import Merit
    from jaxbandit.environment.opportunities import Opportunity
    from jaxbandit.environment.problem import Problem
    from jaxbandit.environment.rewards import Reward
    from jaxbandit.experiments import grids, summary
    from jaxbandit.experiments.configs.names import (
        list_configs,
        list_delays,
        list_indices,
        list_merits,
        list_metrics,
        list_opportunities,
        list_policies,
        list_rewards,
        unregister,
    )
    from jaxbandit.experiments.dashboard.page import dashboard
    from jaxbandit.experiments.joining.combine import combine
    from jaxbandit.experiments.output.citations import cite
    from jaxbandit.experiments.plots import figures as plots
    from jaxbandit.experiments.policy_checks.check import check_policy
    from jaxbandit.experiments.simulate import simulate
    from jaxbandit.metrics import bounds
    from jaxbandit.metrics.metric import Metric
    from jaxbandit.policies import indices
    from jaxbandit.policies.base import Index, Policy, Rule
    from jaxbandit.policies.make_policy import policy
    from jaxbandit.policies.round_view import RoundView

    __version__: str

__all__ = [
    "NEVER",
    "Agent",
    "Delay",
    "Index",
    "InputError",
    "Merit",
    "Metric",
    "Opportunity",
    "Policy",
    "Problem",
    "ReturnedError",
    "Reward",
    "RoundView",
    "Rule",
    "Simulator",
    "Stream",
    "WriteError",
    "__version__",
    "bounds",
    "check_policy",
    "cite",
    "combine",
    "dashboard",
    "grids",
    "indices",
    "instances",
    "list_configs",
    "list_delays",
    "list_indices",
    "list_merits",
    "list_metrics",
    "list_opportunities",
    "list_policies",
    "list_rewards",
    "load",
    "metrics",
    "parameter",
    "plots",
    "policies",
    "policy",
    "save",
    "simulate",
    "struct",
    "summary",
    "tuning",
    "unregister",
]

# Every name is imported on first use (PEP 562): `jaxbandit --version` needs no JAX.
_LAZY_MODULES = {
    "bounds": "jaxbandit.metrics.bounds",
    "grids": "jaxbandit.experiments.grids",
    "indices": "jaxbandit.policies.indices",
    "instances": "jaxbandit.environment.hard_instances",
    "metrics": "jaxbandit.metrics",
    "plots": "jaxbandit.experiments.plots.figures",
    "policies": "jaxbandit.policies",
    "summary": "jaxbandit.experiments.summary",
    "tuning": "jaxbandit.tuning",
}
_LAZY_NAMES = {
    "Agent": "jaxbandit.engine.stepping",
    "Delay": "jaxbandit.environment.delays",
    "Index": "jaxbandit.policies.base",
    "InputError": "jaxbandit.core.errors",
    "Merit": "jaxbandit.environment.merit",
    "Metric": "jaxbandit.metrics",
    "NEVER": "jaxbandit.environment.delays",
    "Opportunity": "jaxbandit.environment.opportunities",
    "Policy": "jaxbandit.policies.base",
    "Problem": "jaxbandit.environment.problem",
    "ReturnedError": "jaxbandit.core.errors",
    "Reward": "jaxbandit.environment.rewards",
    "RoundView": "jaxbandit.policies.round_view",
    "Rule": "jaxbandit.policies.base",
    "Simulator": "jaxbandit.engine.stepping",
    "Stream": "jaxbandit.core.prng",
    "WriteError": "jaxbandit.core.errors",
    "check_policy": "jaxbandit.experiments.policy_checks.check",
    "cite": "jaxbandit.experiments.output.citations",
    "combine": "jaxbandit.experiments.joining.combine",
    "dashboard": "jaxbandit.experiments.dashboard.page",
    "list_configs": "jaxbandit.experiments.configs.names",
    "list_delays": "jaxbandit.experiments.configs.names",
    "list_indices": "jaxbandit.experiments.configs.names",
    "list_merits": "jaxbandit.experiments.configs.names",
    "list_metrics": "jaxbandit.experiments.configs.names",
    "list_opportunities": "jaxbandit.experiments.configs.names",
    "list_policies": "jaxbandit.experiments.configs.names",
    "list_rewards": "jaxbandit.experiments.configs.names",
    "load": "jaxbandit.engine.stepping",
    "parameter": "jaxbandit.core.component",
    "policy": "jaxbandit.policies.make_policy",
    "save": "jaxbandit.engine.stepping",
    "simulate": "jaxbandit.experiments.simulate",
    "struct": "jaxbandit.core.struct",
    "unregister": "jaxbandit.experiments.configs.names",
}


def __getattr__(name: str) -> object:
    """Import a lazy name. An unknown name raises an AttributeError that suggests the nearest one."""
    if name in _LAZY_MODULES:
        return importlib.import_module(_LAZY_MODULES[name])
    if name in _LAZY_NAMES:
        return getattr(importlib.import_module(_LAZY_NAMES[name]), name)
    if name == "__version__":
        return importlib.import_module("jaxbandit.core.provenance").version()
    import difflib

    near = difflib.get_close_matches(name, __all__, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near and not name.startswith("_") else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}", name=name)


def __dir__() -> list[str]:
    return list(__all__)
