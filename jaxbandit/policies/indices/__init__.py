"""Index policies: each computes a number per arm, its index, and plays the arms of highest index.

Notation: t is the round, T the horizon, K the number of arms, L the number of plays per round. Of arm k, N_k is the
number of times that it was selected, M_k the number of its rewards that have arrived (N_k without delay), S_k their sum
and m_k = S_k / M_k their mean. Where no reward has arrived, m_k is 0 and a division by M_k is a division by 1. Unless a
class says otherwise, an arm that was never selected has index +infinity.

There is one file per algorithm; a new one adds its line here.
"""

from jaxbandit.policies.indices.adversarial.exp3 import Exp3
from jaxbandit.policies.indices.adversarial.tsallis_inf import TsallisINF
from jaxbandit.policies.indices.epsilon_greedy import EpsilonGreedy
from jaxbandit.policies.indices.explore_then_commit import ExploreThenCommit
from jaxbandit.policies.indices.kl_ucb import KLUCB
from jaxbandit.policies.indices.moss import MOSS
from jaxbandit.policies.indices.nonstationary.discounted_thompson import DiscountedThompson
from jaxbandit.policies.indices.nonstationary.discounted_ucb import DiscountedUCB
from jaxbandit.policies.indices.nonstationary.sliding_window_ucb import SlidingWindowUCB
from jaxbandit.policies.indices.successive_elimination import SuccessiveElimination
from jaxbandit.policies.indices.thompson import Thompson
from jaxbandit.policies.indices.ucb1 import UCB1
from jaxbandit.policies.indices.ucb_v import UCBV
from jaxbandit.policies.indices.uniform_random import UniformRandom

__all__ = [
    "KLUCB",
    "MOSS",
    "UCB1",
    "UCBV",
    "DiscountedThompson",
    "DiscountedUCB",
    "EpsilonGreedy",
    "Exp3",
    "ExploreThenCommit",
    "SlidingWindowUCB",
    "SuccessiveElimination",
    "Thompson",
    "TsallisINF",
    "UniformRandom",
]


def __dir__() -> list[str]:
    return list(__all__)
