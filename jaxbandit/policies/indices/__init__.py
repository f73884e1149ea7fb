"""Index policies: the estimated worth of each arm. One file per algorithm; a new one adds its line here."""

from jaxbandit.policies.indices.epsilon_greedy import EpsilonGreedy as EpsilonGreedy
from jaxbandit.policies.indices.explore_then_commit import ExploreThenCommit as ExploreThenCommit
from jaxbandit.policies.indices.kl_ucb import KLUCB as KLUCB
from jaxbandit.policies.indices.moss import MOSS as MOSS
from jaxbandit.policies.indices.successive_elimination import SuccessiveElimination as SuccessiveElimination
from jaxbandit.policies.indices.thompson import Thompson as Thompson
from jaxbandit.policies.indices.ucb1 import UCB1 as UCB1
from jaxbandit.policies.indices.ucb_v import UCBV as UCBV
from jaxbandit.policies.indices.uniform_random import UniformRandom as UniformRandom
