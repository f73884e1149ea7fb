"""Simulates the cases of test_sharding.py on the devices there are, and writes a file of results for each."""

import sys
from pathlib import Path
from unittest import mock

import jax

import jaxbandit as jb
from jaxbandit.engine import rollout
from jaxbandit.engine.batch import recorder, sharding
from jaxbandit.experiments import dataset

FAIR = {"means": [0.9, 0.8, 0.7, 0.4], "fractions": [0.1, 0.05, 0.2, 0.15], "penalties": 0.4}
ROWS = {"means": {"random": "uniform", "arms": 4, "instances": 11}, "fractions": 0.1, "penalties": 0.4}
LATE = {**FAIR, "delay": {"kind": "geometric", "p": 0.1}}
TRANSFER = {"means": FAIR["means"], "penalties": 0.3, "opportunity": "softmax"}
MERIT = {"means": FAIR["means"], "plays": 2, "merit": {"kind": "power", "scale": 1.0, "exponent": 2.0}}
SLEEPING = {**TRANSFER, "reward": "beta", "availability": 0.8}
DRAWN = {**MERIT, "delay": {"kind": "pareto", "alpha": 0.6}}
EVERY = {**FAIR, "merit": MERIT["merit"], "opportunity": "softmax", "reward": "beta"}
GRID = {"kind": "hard-threshold-ucb", "penalties": [0.1, 0.3, 0.5], "exploration": [0.5, 1.0, 2.0]}
# A row and many seeds: lanes are split; many rows: cells are; few seeds: a run a cell. Some sizes fill no whole vector.
CASES = {
    "lanes": (FAIR, "fair-learn", {"seeds": 37}),
    "cells": (ROWS, GRID, {"seeds": 21}),
    "flat": (FAIR, GRID, {"seeds": 3}),
    "parts": (ROWS, "lfg", {"seeds": 50, "block": 100}),
    "thompson": (LATE, "f-ts", {"seeds": 29}),
    "late": (LATE, "ucb1", {"seeds": 5}),
    "traced": (LATE, "ucb1", {"seeds": 21, "trace": True, "runs": ["unfairness"]}),
    "phases": (TRANSFER, "self-regulated", {"seeds": 18}),
    "sums": (MERIT, ["fcucb-d", "fgreedy-d"], {"seeds": 17}),
    "draws": (DRAWN, ["fcts-d", "op-fcts-d"], {"seeds": 96}),
    "fair exposure": ({**MERIT, "plays": 1}, "fairx-ts", {"seeds": 96}),
    "drawn rewards": (SLEEPING, ["ucb1", "successive-elimination"], {"seeds": 96}),
    "families": (
        EVERY,
        ["kl-ucb", "ucb-pllp", "opse"],
        {"seeds": 96},
    ),
}
SENDING = ("all-reduce", "all-gather", "all-to-all", "collective-permute", "reduce-scatter", "collective-broadcast")


def simulate(case, **more):
    problem, policies, setting = CASES[case]
    return jb.simulate(problem, policies, horizon=130, record=9, **{**setting, **more})


def sent(case, module, name, made, put):
    """What a program of a case sends from device to device: words of its HLO text.

    The program is `made`; `put(it)` is what stands for it in a module, under a name.
    """
    texts = []

    def lowered(*arguments):
        texts.append(made.lower(*arguments).compile().as_text())
        return made(*arguments)

    with mock.patch.object(module, name, put(lowered)):
        simulate(case)
    assert texts
    assert f"num_partitions={jax.local_device_count()}" in texts[0]
    return [word for word in SENDING if word in texts[0]]


if __name__ == "__main__":
    folder, count, names = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    assert jax.local_device_count() == count
    for name in names:
        dataset.write(simulate(name), folder / f"{name}.nc")
    programs = (rollout.compiled() if count == 1 else sharding.compiled())._cache_size()
    policies = [CASES[name][1] for name in names]
    assert programs == sum(len(one) if isinstance(one, list) else 1 for one in policies)
    for name in names[:1]:
        assert not sent(name, sharding, "compiled", sharding.compiled(), lambda program: lambda: program)
        assert not sent(name, recorder, "_records_at", recorder._compiled.compiled, lambda program: program)
