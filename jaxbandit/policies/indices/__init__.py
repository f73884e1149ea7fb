"""Index policies: the estimated worth of each arm. One file per algorithm; a new one adds its line here."""

from jaxbandit.policies.indices.epsilon_greedy import EpsilonGreedy
from jaxbandit.policies.indices.explore_then_commit import ExploreThenCommit
from jaxbandit.policies.indices.kl_ucb import KLUCB
from jaxbandit.policies.indices.moss import MOSS
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
    "EpsilonGreedy",
    "ExploreThenCommit",
    "SuccessiveElimination",
    "Thompson",
    "UniformRandom",
]


def __dir__() -> list[str]:
    return list(__all__)
