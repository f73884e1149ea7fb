"""A small config, as tables and as TOML, and its changes."""

import copy

from jaxbandit.experiments.configs import config

TOML = """
[simulation]
horizon = 400
seeds = 3

[problem]
means = [0.5, 0.9, 0.1]
fractions = 0.1
penalties = 0.2

[[policies]]
kind = "lfg"
eta = 2.0

[[policies]]
kind = "ucb1"
"""
TABLES = {
    "simulation": {"horizon": 400, "seeds": 3},
    "problem": {"means": [0.5, 0.9, 0.1], "fractions": 0.1, "penalties": 0.2},
    "policies": [{"kind": "lfg", "eta": 2.0}, {"kind": "ucb1"}],
}
TWO_INSTANCES = [[0.9, 0.5, 0.1], [0.2, 0.3, 0.4]]
DROP = object()  # the value of a key that is removed


def changed(changes):
    """The small config with some keys set (dotted, as in `--set`, but to any value) or dropped."""
    made = copy.deepcopy(TABLES)
    for dotted, value in changes.items():
        *path, last = dotted.split(".")
        place = made
        for part in path:
            place = place[part]
        if value is DROP:
            del place[last]
        else:
            place[last] = copy.deepcopy(value)
    return made


def make_plan(**changes):
    """The plan of the small config with some keys set; `__` stands for a dot."""
    return config.make_plan(changed({name.replace("__", "."): value for name, value in changes.items()}))
