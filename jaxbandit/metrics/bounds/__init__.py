"""The theorems of the five papers as functions, and `bounds_for`, which finds those for a problem, policy and metric.

for bound in jb.bounds.bounds_for(problem, "fair-learn", "r_regret"):
    bound.value(problem, horizon, rounds)
"""

from jaxbandit.metrics.bounds.guarantees import fair_learn_deficit, fair_ucb_regret, fair_worst_case_regret, ucb1_regret
from jaxbandit.metrics.bounds.merit import (
    merit_constants,
    merit_fairness_regret,
    merit_reward_regret,
    op_fcts_d_regret,
    op_fcucb_d_fairness_regret,
    op_fcucb_d_reward_regret,
)
from jaxbandit.metrics.bounds.opportunities import (
    etc_utility_regret,
    self_regulated_utility_regret,
    utility_regret_lower_bound,
)
from jaxbandit.metrics.bounds.penalties import (
    hard_threshold_assumptions_hold,
    hard_threshold_critical_lower_bound,
    hard_threshold_deficits,
    hard_threshold_noncritical_lower_bound,
    hard_threshold_pulls,
    hard_threshold_regret,
    hard_threshold_worst_case_regret,
    penalized_regret_lower_bound,
)
from jaxbandit.metrics.bounds.plays import fair_mmab_deficit, fair_mmab_kl_ucb_regret, fair_mmab_ucb1_regret
from jaxbandit.metrics.bounds.table import BOUNDS, Bound, bounds_for

__all__ = [
    "BOUNDS",
    "Bound",
    "bounds_for",
    "etc_utility_regret",
    "fair_learn_deficit",
    "fair_mmab_deficit",
    "fair_mmab_kl_ucb_regret",
    "fair_mmab_ucb1_regret",
    "fair_ucb_regret",
    "fair_worst_case_regret",
    "hard_threshold_assumptions_hold",
    "hard_threshold_critical_lower_bound",
    "hard_threshold_deficits",
    "hard_threshold_noncritical_lower_bound",
    "hard_threshold_pulls",
    "hard_threshold_regret",
    "hard_threshold_worst_case_regret",
    "merit_constants",
    "merit_fairness_regret",
    "merit_reward_regret",
    "op_fcts_d_regret",
    "op_fcucb_d_fairness_regret",
    "op_fcucb_d_reward_regret",
    "penalized_regret_lower_bound",
    "self_regulated_utility_regret",
    "ucb1_regret",
    "utility_regret_lower_bound",
]


def __dir__() -> list[str]:
    return list(__all__)
