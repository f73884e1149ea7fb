"""Indices: what an arm looks worth. One file an algorithm; a new one adds its line here."""

from .epsilon_greedy import EpsilonGreedy as EpsilonGreedy
from .explore_then_commit import ExploreThenCommit as ExploreThenCommit
from .kl_ucb import KLUCB as KLUCB
from .moss import MOSS as MOSS
from .successive_elimination import SuccessiveElimination as SuccessiveElimination
from .thompson import Thompson as Thompson
from .ucb1 import UCB1 as UCB1
from .ucb_v import UCBV as UCBV
from .uniform_random import UniformRandom as UniformRandom
