"""What configs are damaged from and with: whole ones, values of every kind, and what no machine has room for."""

import datetime

# Every key, kind and parameter of a config is in one of these, small enough to run.
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
constraint = { alpha = "reparametrisation" }
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
constraint = { penalties = "reparametrisation", exploration = "projection" }
common = true
check = 2
"""

CODE = "__import__('os').system('touch executed')"
LONG = "x" * 3000
# Names of things that are no conversion log, in the folder that `furnish` makes.
PATHS = [
    "log.tsv",
    "objects.npy",
    "pickled",
    ".",
    "/dev/zero",
    "fifo",
    "none.tsv",
    "",
    "a\0b",
    LONG,
    "/dev/stdin",
    CODE,
]
WORDS = [
    *("ucb1", "thompson", "kl-ucb", "fair-learn", "f-ts", "lfg", "naive", "power", "gaussian", "beta", "fixed", "none"),
    *("uniform", "all", "regret", "unfairness", "constant", "linear", "softmax", "zero", "score", "penalties"),
    *("", " ", "\n", "\0", "a\nb\r", "é☃", "$x^$", "\u202e", "0.5", "true", "nan", LONG, CODE, "!!python/object"),
]
NUMBERS = [
    *(0, 1, 2, 3, -1, 7, 10**5, 2**24, 2**31, 2**32, 2**53 + 1, 2**63, 2**64, 2**70, -(2**70), 10**29, 10**31, 10**400),
    *(0.0, -0.0, 0.5, 0.25, 1.0, 2.0, -0.5, 0.1, 1e-3, 1e-9, 1e-300, 5e-324, 1e29, 1e30, 1e31, 1e308, -1e308),
    *(float("nan"), float("inf"), float("-inf"), 0.1234567890123456789, 1.0000000000000002, 1e9, 1e-30),
]
DATES = [datetime.date(2024, 2, 29), datetime.time(1, 2, 3), datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)]
RAW = [  # numbers that only the text of a config can hold
    "0x" + "f" * 5000,
    "1" * 5000,
    "-" + "9" * 4301,
    "0." + "1234567890" * 40,
    "1e" + "9" * 40,
    "1e-99999",
    "[" * 300 + "]" * 300,
    "[" * 3000 + "]" * 3000,
    "{ a = " * 200 + "1" + " }" * 200,
    "{ kind = " * 3000,
    "0b" + "1" * 20000,
    "[" + "0.5, " * 2000 + "]",
    "{ " + ".".join("a" * 400) + " = 1 }",
    '"""' + "y\n" * 500 + '"""',
]
HOSTILE = {  # dotted keys and what no machine has room or time for
    "simulation.horizon": [10**9, 2**24 + 1, 10**12, 1e300, -(10**9)],
    "simulation.seeds": [10**12, 2**32, -1, 1e12],
    "simulation.record": [10**9, [10**9], [1.0, 2.0], [True], [-1], [float("nan")], "every", [[1]], 1e9, {"a": 1}, []],
    "simulation.block": [10**12, 2**70, 0, 1e9],
    "simulation.key": [2**64, -1, 2**70, "0", 1.0, [1]],
    "simulation.metrics": [["regret"] * 3000, [["regret"]], "regret", [], [{}], ["regret", 1], [LONG], {}],
    "problem.plays": [10**9, 0, 2**70, 1.0, -1],
    "problem.means": [
        {"random": "uniform", "arms": 10**9},
        {"random": "uniform", "arms": 3, "instances": 10**12},
        {"random": "uniform", "arms": 10**5, "instances": 10**5},
        {"random": "uniform", "arms": 2**70, "instances": 2**70},
        {"random": "uniform", "arms": 3, "low": [0.1] * 500},
        {"random": "uniform", "arms": 3, "low": 1e30, "high": 1e30},
        {"random": CODE, "arms": 3},
        {"conversions": {"random": "uniform"}},
        {"conversions": 0},
        {"conversions": ["log.tsv"]},
        {"conversions": "log.tsv", "arms": 10**12},
        [[0.5] * 50] * 60,
        [0.5] * 5000,
        [[]],
        [[[[0.5]]]],
        [10**400, 0.5],
    ],
    "problem.fractions": [
        1e-300,
        5e-324,
        [1e-300] * 3,
        [1e-17, 1 / 3, 0.3000000000000001],
        10**400,
        {},
        [[[0.1]]],
        1e-9,
    ],
    "problem.penalties": [1e30, 10**29, 1e-300, {"gap_fraction": 1e30}, {"gap_fraction": {}}, [[[]]]],
    "problem.availability": [0, 0.0, [0, 0, 0], 1e-300, -0.0, 2**70],
    "problem.reward": [
        {"kind": "gaussian", "sd": 2**70},
        {"kind": "gaussian", "sd": 1e30},
        {"kind": "gaussian", "sd": {"kind": "gaussian"}},
        {"kind": "uniform", "width": 10**29},
        {"kind": "beta", "concentration": 1e30},
        {"kind": "constant", "mean": 1},
        {"kind": ["gaussian"]},
        {"kind": "gaussian", "threshold": 1},
        {"kind": "bernoulli", "threshold": 1},
    ],
    "problem.delay": [
        {"kind": "fixed", "d": 10**12},
        {"kind": "fixed", "d": 2**70},
        {"kind": "fixed", "d": [2**70, 1, 1]},
        {"kind": "fixed", "d": 1e29},
        {"kind": "geometric", "p": 1e-300},
        {"kind": "geometric", "p": 5e-324},
        {"kind": "geometric", "p": [1, 1, 1]},
        {"kind": "pareto", "alpha": 1e-300},
        {"kind": "pareto", "alpha": 5e-324},
        {"kind": "pareto", "alpha": 1e30},
        {"kind": "packet-loss", "p": 0},
        {"kind": "empirical", "table": [0, 2**63, 5]},
        {"kind": "empirical", "table": [0, 2**70]},
        {"kind": "empirical", "table": [[1, [2]], [3], [4]]},
        {"kind": "empirical", "table": [1, [2]]},
        {"kind": "empirical", "table": [True, 1]},
        {"kind": "empirical", "table": ["1", "2"]},
        {"kind": "empirical", "table": [10**12] * 2000},
        {"kind": "empirical", "table": []},
        {"kind": "empirical", "table": [[]]},
        {"kind": "empirical", "table": [1, 2], "clicks": [1, 2], "click_rate": 1e-300},
        {"kind": "empirical", "table": [1, 2], "clicks": [1, 2], "click_rate": 10**400},
        {"kind": "empirical", "table": [10**18, 2], "clicks": [10**18, 2], "click_rate": 5e-324},
        {"kind": "empirical", "table": [1, 2], "click_rate": "often"},
        {"kind": "empirical", "table": {"kind": "empirical"}},
        {"kind": "empirical", "table": [1], "recorded": [1]},
        {"kind": "reward-dependent", "one": {"kind": "reward-dependent"}},
        {"kind": "reward-dependent", "one": 3, "zero": []},
        {"kind": "reward-dependent", "one": {"kind": "geometric", "p": 5e-324}},
        *({"kind": "empirical", "table": path} for path in PATHS),
    ],
    "problem.merit": [
        {"kind": "power", "exponent": 2**70},
        {"kind": "power", "exponent": 1e30},
        {"kind": "power", "scale": 2**70},
        {"kind": "power", "scale": 1e30, "exponent": 10**29},
        {"kind": "power", "scale": [1.0]},
        {"kind": "power", "exponent": {"kind": "power"}},
    ],
    "problem.opportunity": [
        {"kind": "softmax", "c": 2**70},
        {"kind": "softmax", "c": -1e30},
        {"kind": "power", "c": 2**70},
        {"kind": "power", "c": 5e-324},
        {"kind": "piecewise-linear", "scale": 2**70, "eps": 0},
        {"kind": "piecewise-linear", "scale": 1e30, "eps": 5e-324},
        {"kind": "constant", "gamma": 5e-324},
        {"kind": "constant", "gamma": [0.1]},
    ],
    "policies": [
        [{"kind": "lfg", "eta": {"scale": 1, "horizon_power": 1e9}}],
        [{"kind": "lfg", "eta": {"scale": 1, "horizon_power": -1e9}}],
        [{"kind": "lfg", "eta": {"scale": 0, "horizon_power": 10**9}}],
        [{"kind": "lfg", "eta": {"scale": 1e-300, "horizon_power": 100.5}}],
        [{"kind": "lfg", "eta": {"scale": 10**400, "horizon_power": 0.5}}],
        [{"kind": "lfg", "eta": {"scale": 1, "horizon_power": 2**70}}],
        [{"kind": "lfg", "eta": {"scale": 1, "horizon_power": 10**400}}],
        [{"kind": "fair-learn", "alpha": 1e30}],
        [{"kind": "fair-learn", "alpha": 2**31}],
        [{"kind": "fair-learn", "alpha": [5e-324, 2**40]}],
        [{"kind": "explore-then-commit", "rounds_per_arm": 1e30}],
        [{"kind": "fairness-aware-etc", "rounds_per_arm": 2**70, "penalties": 1}],
        [{"kind": "fairness-aware-etc", "lipschitz": 1e30, "penalties": 1}],
        [{"kind": "self-regulated", "alpha": 5e-324, "beta": 1e30, "penalties": 1}],
        [{"kind": "self-regulated", "lipschitz": [1, 2], "penalties": 1}],
        [{"kind": "self-regulated", "black_box": {"kind": "ucb1"}}],
        [{"kind": "ucb-pllp", "alpha": 1e30, "eps": 10**29}],
        [{"kind": "fcucb-d", "merit": {"kind": "power", "scale": 2**70}}],
        [{"kind": "fcucb-d", "merit": [{"kind": "power"}, "power"]}],
        [{"kind": "fcts-d", "merit": 3}],
        [{"kind": "ucb1", "label": label} for label in ("a", "b", "a" * 400)],
        [{"kind": "ucb1", "label": "same"}] * 40,
        [{"kind": "ucb1", "name": "x", "registry": {}, "__class__": 1, "self": 2}],
        [{"kind": "f-ts", "sd": 2**70, "base": "ucb1"}],
        [{"kind": "thompson", "sd": 2**70}],
        [{"kind": "hard-threshold-ucb", "penalties": [[[[1.0]]]]}],
        [[{"kind": "ucb1"}]],
        [{"kind": ["ucb1"]}],
        {"kind": "ucb1"},
    ],
}


TUNING = {
    "policy": ["HT", "lfg (eta=1)", "lfg", "FCTS-D", ["HT"], {"HT": 1}, 3, LONG, ""],
    "parameters": [
        *(
            ["penalties"],
            ["eta"],
            [],
            "penalties",
            [["penalties"]],
            [{}],
            [1],
            {},
            {"penalties": {}},
            {"penalties": []},
        ),
        *({"penalties": 10**400}, {"penalties": 2**70}, {"penalties": [0.1] * 3}, {"penalties": [[0.1] * 3]}, [LONG]),
        *({"penalties": "0.3"}, {"penalties": False}, ["merit.scale"], {"merit.scale": 1}, {"merit": {"scale": 1}}),
        *({"base": 1}, ["base"], ["merit"], ["base.exploration"], ["__class__"], ["penalties", "penalties"], [""]),
    ],
    "objective": [
        *("regret", "reward", "penalized_reward", "budget", "metric", "utility", "no", "", LONG, 3, [], {}, ["regret"]),
        *(
            {"kind": ["budget"]},
            {"kind": {}},
            {"kind": "metric", "metric": 3},
            {"kind": "metric", "metric": ["regret"]},
        ),
        *({"kind": "budget", "metric": 1.5}, {"kind": "budget", "limited": {}}, {"kind": "budget", "most": 2**70}),
        *({"kind": "budget", "most": "5"}, {"kind": "budget", "price": 1e30}, {"kind": "regret", "metric": "regret"}),
        *({"kind": "metric", "metric": "utility"}, {"kind": "budget", "label": "x", "maximised": True}),
    ],
    "estimator": ["score", "relaxed", ["score"], {}, 3, ""],
    "horizon": [10**9, 2**24, 0, -1, 2.0, True, "20"],
    "seeds": [10**12, 1, 0, 2**31, 4.0, False],
    "steps": [0, -1, 2.0, True, "4", [4]],
    "temperature": [0, 5e-324, 1e30, 2**70, [0.1], "0.1", True, float("nan")],
    "width": [0, -1, 1e31, [0.1], {}, 10**400],
    "learning_rate": [-1, 2**70, [0.1], "fast", float("inf"), True],
    "constraint": ["projection", "reparametrisation", "none", 3, [], {}, {"eta": "projection"}, {"penalties": []}],
    "common": [False, 1, "true", []],
    "check": [0, -1, 10**12, 1.5, True],
    "key": [1],
    "optimizer": ["adam", CODE],
    "progress": [True],
}
