"""Small configs that together hold every key, kind and parameter."""

WHOLE = [
    """
[simulation]
horizon = 60
seeds = 2
key = 7
record = [1, 10, 60]
metrics = ["regret", "unfairness", "penalized_regret", "max_deficit"]
block = 4

[problem]
means = [[0.9, 0.5, 0.1], [0.2, 0.3, 0.4]]
plays = 1
reward = { kind = "gaussian", sd = [0.1, 0.2, 0.3] }
availability = [1.0, 0.9, 1.0]
fractions = [[0.1, 0.2, 0.3], [0.0, 0.25, 0.5]]
penalties = { gap_fraction = 0.5 }
delay = { kind = "geometric", p = 0.3 }

[[policies]]
kind = "fair-learn"
label = "FUCB"
base = "thompson"
alpha = [0.0, 5.0]

[[policies]]
kind = "lfg"
eta = { scale = 1.0, horizon_power = 0.5 }
exploration = 1.5

[[policies]]
kind = "hard-threshold-ucb"
penalties = [[0.1, 0.2, 0.3]]

[[policies]]
kind = "naive"
eps = 0.2

[tuning]
policy = "lfg"
parameters = { eta = 1.0 }
objective = { kind = "budget", most = 5.0 }
steps = 3
""",
    """
[simulation]
horizon = 50
seeds = 3
record = "all"

[problem]
means = { random = "uniform", arms = 4, instances = 3, low = 0.1, high = 0.9 }
plays = 2
reward = { kind = "beta", concentration = 2.0 }
fractions = 0.3
penalties = 0.45
merit = { kind = "power", scale = 1.5, exponent = 2.0 }
delay = { kind = "pareto", alpha = [0.5, 1.0, 2.0, 0.1] }

[[policies]]
kind = "fcucb-d"

[[policies]]
kind = "fcts-d"
merit = { kind = "power", scale = 0.5, exponent = 4.0 }

[[policies]]
kind = "fair-mmab"
base = "kl-ucb"
log_offset = 1.0
a = 3.0

[[policies]]
kind = "ucb-pllp"
alpha = 0.9
eps = [0.1, 0.2]

[tuning]
policy = "ucb-pllp (eps=0.1)"
parameters = ["alpha", "eps"]
estimator = "score"
objective = "regret"
""",
    """
[simulation]
horizon = 64
seeds = 2
record = 5
until = "regret_stderr<1000.0"

[grid]
problem.penalties = [0.4, [0.4, 0.5, 0.6]]
problem.delay.zero.p = [0.25, 0.5]

[problem]
means = [0.2, 0.5, 0.8]
reward = "bernoulli"
penalties = [0.4, 0.5, 0.6]
opportunity = { kind = "softmax", c = 1.0 }
delay = { kind = "reward-dependent", one = { kind = "fixed", d = [1, 2, 3] }, zero = { kind = "packet-loss", p = 0.5 } }

[[policies]]
kind = "self-regulated"
black_box = "moss"
alpha = 0.5
beta = 0.25

[[policies]]
kind = "fairness-aware-etc"
rounds_per_arm = 5.0

[[policies]]
kind = "explore-then-commit"
rounds_per_arm = 3

[[policies]]
kind = "ucb-v"
b = 1.0
""",
    """
[simulation]
horizon = 40
seeds = 4

[problem]
means = { conversions = "log.tsv", arms = 3 }
merit = "power"
opportunity = { kind = "constant", gamma = 0.2 }
penalties = 0.4
delay = { kind = "empirical", table = "log.tsv", click_rate = 0.05 }

[[policies]]
kind = "constant-opportunity"

[[policies]]
kind = "opse"

[[policies]]
kind = "epsilon-greedy"
eps = 0.1
""",
    """
[simulation]
horizon = 30
seeds = 2

[problem]
means = [0.2, 0.5, 0.8]
reward = { kind = "uniform", width = 0.2 }
fractions = 0.1
penalties = 0.2
opportunity = { kind = "piecewise-linear", scale = 1.0, eps = 0.2 }
delay = { kind = "empirical", table = [[1, 2], [3], [5, 8]], clicks = [[20000, 1], [7], [9, 9]], click_rate = 0.5 }

[[policies]]
kind = "soft-threshold-ucb"

[[policies]]
kind = "t-fucb"

[[policies]]
kind = "eta-fucb"
base = "successive-elimination"
eta = 2.0
""",
]

TUNED = """
[simulation]
horizon = 36
seeds = 4

[problem]
means = [0.9, 0.5, 0.3]
fractions = 0.2
penalties = 0.3
merit = "power"

[[policies]]
kind = "hard-threshold-ucb"
label = "HT"

[[policies]]
kind = "lfg"
eta = [1.0, 2.0]

[[policies]]
kind = "fcts-d"
label = "FCTS-D"

[tuning]
policy = "HT"
parameters = { penalties = 0.3, exploration = 2.0 }
objective = { kind = "budget", metric = "regret", limited = "unfairness", most = 5.0 }
estimator = "relaxed"
horizon = 20
seeds = 16
steps = 4
temperature = 0.1
width = 0.5
learning_rate = 0.1
final_seeds = 32
"""
