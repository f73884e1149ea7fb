"""A small problem that the tests of tuning share, so that they share its compiled programs."""

import jaxbandit as jb

HORIZON, SEEDS = 64, 64
SMALL = jb.Problem([0.9, 0.6, 0.3], fractions=0.2, penalties=0.3, reward={"kind": "gaussian", "sd": 0.1})
START = {"penalties": [0.6, 0.6, 0.6]}  # more than the gaps are worth
TOML = f"""
[simulation]
horizon = {HORIZON}
seeds = 16
record = 1
metrics = ["penalized_regret"]

[problem]
means = [0.9, 0.6, 0.3]
fractions = 0.2
penalties = 0.3
reward = {{ kind = "gaussian", sd = 0.1 }}

[[policies]]
kind = "hard-threshold-ucb"
label = "HT"

[[policies]]
kind = "uniform-random"

[tuning]
policy = "HT"
parameters = {{ penalties = [0.6, 0.6, 0.6] }}
steps = 2
seeds = {SEEDS}
final_seeds = 128
"""
