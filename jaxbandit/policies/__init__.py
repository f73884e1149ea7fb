"""Fairness rules and the papers' policies. There is one file per algorithm; a new one adds its line here."""

from jaxbandit.policies.base import ChancePolicy
from jaxbandit.policies.delayed.cucb_d import CUCBD
from jaxbandit.policies.delayed.opse import OPSE
from jaxbandit.policies.guarantees.eta_fucb import EtaFUCB
from jaxbandit.policies.guarantees.fair_learn import FairLearn
from jaxbandit.policies.guarantees.fair_mmab import FairMMAB
from jaxbandit.policies.guarantees.fair_random import FairRandom
from jaxbandit.policies.guarantees.lfg import LFG
from jaxbandit.policies.guarantees.min_probability import MinProbability
from jaxbandit.policies.guarantees.naive import Naive
from jaxbandit.policies.guarantees.t_fucb import TFUCB
from jaxbandit.policies.guarantees.ucb_lp import UCBLP
from jaxbandit.policies.guarantees.ucb_pllp import UCBPLLP
from jaxbandit.policies.merit.calibrated_thompson import CalibratedThompson
from jaxbandit.policies.merit.fair_bandits import FairBandits
from jaxbandit.policies.merit.fcts_d import FCTSD
from jaxbandit.policies.merit.fcucb_d import FCUCBD
from jaxbandit.policies.merit.fgreedy_d import FGreedyD
from jaxbandit.policies.merit.op_fcts_d import OPFCTSD
from jaxbandit.policies.merit.op_fcucb_d import OPFCUCBD
from jaxbandit.policies.opportunity.constant_opportunity import ConstantOpportunity
from jaxbandit.policies.opportunity.fairness_aware_etc import FairnessAwareETC
from jaxbandit.policies.opportunity.self_regulated import SelfRegulated
from jaxbandit.policies.penalties.hard_threshold import HardThreshold
from jaxbandit.policies.penalties.soft_threshold import SoftThreshold

__all__ = [
    "CUCBD",
    "FCTSD",
    "FCUCBD",
    "LFG",
    "OPFCTSD",
    "OPFCUCBD",
    "OPSE",
    "TFUCB",
    "UCBLP",
    "UCBPLLP",
    "CalibratedThompson",
    "ChancePolicy",
    "ConstantOpportunity",
    "EtaFUCB",
    "FGreedyD",
    "FairBandits",
    "FairLearn",
    "FairMMAB",
    "FairRandom",
    "FairnessAwareETC",
    "HardThreshold",
    "MinProbability",
    "Naive",
    "SelfRegulated",
    "SoftThreshold",
]


def __dir__() -> list[str]:
    return list(__all__)
