"""Fairness rules and the papers' policies. One file an algorithm; a new one adds its line here."""

from .constant_opportunity import ConstantOpportunity as ConstantOpportunity
from .cucb_d import CUCBD as CUCBD
from .eta_fucb import EtaFUCB as EtaFUCB
from .fair_learn import FairLearn as FairLearn
from .fair_mmab import FairMMAB as FairMMAB
from .fair_random import FairRandom as FairRandom
from .fairness_aware_etc import FairnessAwareETC as FairnessAwareETC
from .fcts_d import FCTSD as FCTSD
from .fcucb_d import FCUCBD as FCUCBD
from .fgreedy_d import FGreedyD as FGreedyD
from .hard_threshold import HardThreshold as HardThreshold
from .lfg import LFG as LFG
from .naive import Naive as Naive
from .op_fcts_d import OPFCTSD as OPFCTSD
from .op_fcucb_d import OPFCUCBD as OPFCUCBD
from .opse import OPSE as OPSE
from .self_regulated import SelfRegulated as SelfRegulated
from .soft_threshold import SoftThreshold as SoftThreshold
from .t_fucb import TFUCB as TFUCB
from .ucb_lp import UCBLP as UCBLP
from .ucb_pllp import UCBPLLP as UCBPLLP
