"""Whether every policy gives the same bits under every reward for any size of blocks and any number of devices.

    python tests/full/same_bits.py            # blocks of 16, 32, 48 and all runs; 20 seeds; 8 CPU devices
    python tests/full/same_bits.py --policies fcts-d lfg

Every variable of every dataset is compared, merit metrics and utility among them, without delay and with one. It takes
some 45 minutes on one core, since each shape of blocks compiles a program per policy and reward. It exits with 1 where
something differs.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time

import jax

import jaxbandit as jb
from jaxbandit.policies.base import Policy

BLOCKS = 16, 32, 48
FEW = 20  # seeds of a simulation whose runs are to be among those of the others
REWARDS = ("bernoulli", {"kind": "gaussian", "sd": 0.3}, "beta", "uniform", "constant")
MEANS = [[0.9, 0.8, 0.7, 0.3, 0.2], [0.1, 0.5, 0.5, 0.4, 0.2], [0.31, 0.11, 0.77, 0.9, 0.65]]
WORLD = {
    "means": MEANS,
    "fractions": 0.05,
    "penalties": 0.3,
    "merit": {"kind": "power", "scale": 2.0, "exponent": 4.0},
    "opportunity": {"kind": "softmax", "c": 1.5},
}
LATE = {"kind": "geometric", "p": 0.3}


def worlds(reward):
    """The problems of a policy: one play; the same with a constant fairness function; two late plays, sleeping arms."""
    yield {**WORLD, "reward": reward}
    yield {**WORLD, "reward": reward, "opportunity": "uniform"}
    if reward in ("bernoulli", "beta"):
        yield {**WORLD, "reward": reward, "plays": 2, "delay": LATE, "availability": 0.8}


def simulated(world, policy, block, seeds=96):
    """The dataset; None where the policy refuses the problem."""
    try:
        return jb.simulate(world, policy, horizon=150, seeds=seeds, key=11, record=4, block=block)
    except jb.InputError:
        return None


def bits(data, seeds=None):
    """The digest of the bits of every variable; with `seeds`, of the first ones of those that have an entry per run."""
    if data is None:
        return None
    if seeds is not None:
        data = data.isel(seed=slice(seeds))
        data = data[[name for name in data.data_vars if "seed" in data[name].dims]]
    return {name: hashlib.sha256(data[name].values.tobytes()).hexdigest() for name in data.data_vars}


def cases(policies):
    """Each policy with each problem, by a name."""
    for policy in policies:
        for number, reward in enumerate(REWARDS):
            for place, world in enumerate(worlds(reward)):
                constant = policy == "constant-opportunity"  # which needs the second problem, and others need not
                if place == 2 or place == int(constant):
                    yield f"{policy}, reward {number}, problem {place}", policy, world
        jax.clear_caches()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policies", nargs="+", default=list(Policy.registry))
    parser.add_argument("--digests", action="store_true", help="print those of whole blocks, for another process")
    parsed = parser.parse_args()
    if parsed.digests:
        print(
            json.dumps({name: bits(simulated(world, policy, None)) for name, policy, world in cases(parsed.policies)})
        )
        return 0
    begun, whole, wrong = time.time(), {}, 0
    for name, policy, world in cases(parsed.policies):
        data = simulated(world, policy, None)
        whole[name] = bits(data)
        if data is None:
            continue
        pairs = {f"blocks of {block}": (whole[name], bits(simulated(world, policy, block))) for block in BLOCKS}
        if "delay" not in world:
            pairs[f"{FEW} seeds"] = bits(data, FEW), bits(simulated(world, policy, None, FEW), FEW)
        differ = {way: [v for v in one if one[v] != other[v]] for way, (one, other) in pairs.items() if one != other}
        wrong += bool(differ)
        print(f"{time.time() - begun:6.0f} s  {name}: {differ or 'same'}", flush=True)
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
    command = [sys.executable, __file__, "--digests", "--policies", *parsed.policies]
    done = subprocess.run(
        command, env={**os.environ, "XLA_FLAGS": flags}, stdout=subprocess.PIPE, text=True, check=True
    )
    spread = json.loads(done.stdout)
    for name, digests in whole.items():
        if digests != spread[name]:
            wrong += 1
            print(f"8 devices, {name}: {[v for v in digests if digests[v] != spread[name][v]]}", flush=True)
    compared = [digests for digests in whole.values() if digests is not None]
    arrays = sum(map(len, compared))
    print(f"{len(compared)} simulations of {len(parsed.policies)} policies, {arrays} arrays: {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
