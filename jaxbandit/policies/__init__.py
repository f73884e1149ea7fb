"""Fairness rules and the papers' policies. One file an algorithm; a new one adds its line here."""

from jaxbandit.policies.delayed.cucb_d import CUCBD as CUCBD
from jaxbandit.policies.delayed.opse import OPSE as OPSE
from jaxbandit.policies.guarantees.eta_fucb import EtaFUCB as EtaFUCB
from jaxbandit.policies.guarantees.fair_learn import FairLearn as FairLearn
from jaxbandit.policies.guarantees.fair_mmab import FairMMAB as FairMMAB
from jaxbandit.policies.guarantees.fair_random import FairRandom as FairRandom
from jaxbandit.policies.guarantees.lfg import LFG as LFG
from jaxbandit.policies.guarantees.naive import Naive as Naive
from jaxbandit.policies.guarantees.t_fucb import TFUCB as TFUCB
from jaxbandit.policies.guarantees.ucb_lp import UCBLP as UCBLP
from jaxbandit.policies.guarantees.ucb_pllp import UCBPLLP as UCBPLLP
from jaxbandit.policies.merit.fcts_d import FCTSD as FCTSD
from jaxbandit.policies.merit.fcucb_d import FCUCBD as FCUCBD
from jaxbandit.policies.merit.fgreedy_d import FGreedyD as FGreedyD
from jaxbandit.policies.merit.op_fcts_d import OPFCTSD as OPFCTSD
from jaxbandit.policies.merit.op_fcucb_d import OPFCUCBD as OPFCUCBD
from jaxbandit.policies.opportunity.constant_opportunity import ConstantOpportunity as ConstantOpportunity
from jaxbandit.policies.opportunity.fairness_aware_etc import FairnessAwareETC as FairnessAwareETC
from jaxbandit.policies.opportunity.self_regulated import SelfRegulated as SelfRegulated
from jaxbandit.policies.penalties.hard_threshold import HardThreshold as HardThreshold
from jaxbandit.policies.penalties.soft_threshold import SoftThreshold as SoftThreshold
