"""Whether a change of names and places leaves every result as it was, bit for bit.

    python tests/full/unchanged.py record DIR        # simulate with the jaxbandit that is imported, and save in DIR
    python tests/full/unchanged.py compare OLD NEW   # what two such folders differ in

Record before the change (with PYTHONPATH, from a checkout of the commit before) and after it, on one machine, then
compare. Recording takes some ten minutes on an idle core. The simulations are small, and cover every policy, index,
reward, delay, metric, merit and fairness function; several plays, sleeping arms, grids, `until`, a kill, float64, two
devices, the command line and tuning. Of every variable and coordinate the dimensions, dtype, shape and bytes are
compared. Where attributes differ, the config among them, this is told and nothing more; times are not looked at. Both
commands exit with 1 where something fails or differs. Only names that stay are used, as those of configs and commands.
"""

import argparse
import collections
import os
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax
import xarray as xr

import jaxbandit as jb

INDICES = "uniform-random epsilon-greedy explore-then-commit kl-ucb moss successive-elimination thompson ucb1 ucb-v"
RULES = "fair-learn lfg hard-threshold-ucb soft-threshold-ucb eta-fucb t-fucb fair-mmab ucb-lp ucb-pllp"
OTHERS = "cucb-d mp-ts-d fucb f-ts fair-random fairness-aware-etc naive opse self-regulated constant-opportunity"
FAIR_SHARES = "fcts-d fairx-ts fcucb-d fairx-ucb fgreedy-d op-fcts-d op-fcucb-d"
LOSSES = "regret penalized_regret r_regret c_regret reward_regret fairness_regret utility_regret unfairness max_deficit"
INDICES, RULES, OTHERS, FAIR_SHARES, LOSSES = map(str.split, (INDICES, RULES, OTHERS, FAIR_SHARES, LOSSES))
APART = {  # the parts that need a process of their own: its environment, and which simulations
    "float64": ({"JAX_ENABLE_X64": "1"}, """policy-fcucb-d policy-thompson policy-self-regulated policy-kl-ucb until
        reward-1-beta delay-6-pareto opportunity-5-softmax plays-3-merit grid-both merit-2-power sleeping-5"""),
    "two-devices": ({"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}, """policy-fcts-d policy-lfg grid-both
        random-instances until blocks plays-6-rules delay-11-empirical""")}  # fmt: skip
OWN = {**os.environ, "PYTHONPATH": str(Path(jb.__file__).parents[1])}  # for other processes
ABOUT = "presence", "dimensions", "dtype", "shape", "role", "bytes"  # what is compared of an array, in this order


def of(kind, **parameters):
    return {"kind": kind, **parameters}


# fmt: off
SETTING = {"horizon": 100, "seeds": 16, "key": 7, "record": 6}
WORLD = {"means": [[0.9, 0.8, 0.7, 0.3], [0.1, 0.5, 0.5, 0.45]], "fractions": [0.1, 0.05, "1/6", 0.2], "penalties": 0.3,
         "merit": of("power", scale=2.0, exponent=4.0), "opportunity": of("softmax", c=1.5)}
LATE = of("geometric", p=0.2)
MANY = {"means": [0.35, 0.62, 0.5, 0.81, 0.12, 0.44, 0.91, 0.3], "merit": of("power", scale=0.3, exponent=2.5),
        "fractions": [0.07, 0.29, 0.1, 0.1, 0.07, 0.36, 0.0, 0.21]}
LOG = "".join(f"1\t{seconds}\t{clicks}\tID\t{product}\n" for product, seconds, clicks in [
    ("a", 1500, 1200), ("a", 600, 1200), ("b", 15000, 900), ("a", 90, 40), ("c", 7, 1), ("b", 80000, 700)])
KINDS = {  # of the tables of a problem
    "reward": [of("bernoulli"), of("beta"), of("beta", concentration=7.5), of("constant"), of("uniform"),
               of("uniform", width=0.2), of("gaussian", sd=0.3), of("gaussian", sd=[0.1, 0.2, 0.3, 0.0])],
    "delay": [of("none"), of("fixed", d=7), of("fixed", d=[0, 3, 200, 11]), LATE, of("geometric", p=[0.1, 0.5, 1, 0.9]),
              of("pareto", alpha=0.8), of("pareto", alpha=[0.3, 1.0, 2.0, 0.5]), of("packet-loss", p=0.6),
              of("packet-loss", p=[0.2, 1.0, 0.7, 0.5]), of("reward-dependent", one=LATE, zero=of("fixed", d=12)),
              of("empirical", table=[0, 2, 2, 30, 400]), of("empirical", table=[[0, 0, 40, 7], [3], [1, 500], [0, 9]]),
              of("empirical", table=[1500, 600, 90], clicks=[900, 1200, 40], click_rate=0.1)],
    "merit": [of("power", scale=3.5, exponent=exponent) for exponent in (1.0, 2.0, 2.5, 8.0)],
    "opportunity": [of("zero"), of("uniform"), of("constant", gamma=0.1), of("linear"), of("power", c=2.5),
                    of("softmax", c=-0.7), of("piecewise-linear", scale=2.0, eps=0.2)]}
SHOWN_BY = {"reward": ["f-ts", "ucb-v"], "delay": ["op-fcts-d", "op-fcucb-d", "ucb-v"], "merit": ["fcucb-d", "fcts-d"],
           "opportunity": ["self-regulated", of("self-regulated", alpha=0.9, beta=0.4), "fairness-aware-etc"]}
PARAMETERS = {
    "indices": [of("ucb1", exploration=0.5, log_offset=1, label="one"), of("kl-ucb", a=3, log_offset=1),
                of("epsilon-greedy", eps=0.3), of("explore-then-commit", rounds_per_arm=5), of("thompson", sd=0.4),
                of("successive-elimination", exploration=0.25), of("ucb-v", exploration=0.5, c=0.3, b=1.0)],
    "rules": [of("fair-learn", alpha={"scale": 0.5, "horizon_power": 0.5}, base="ucb1", exploration=0.5),
              of("eta-fucb", eta=0.3), of("lfg", eta=5.0), of("ucb-pllp", alpha=0.5, eps=0.2137), of("naive", eps=0.3),
              of("opse", exploration=0.5), of("soft-threshold-ucb", penalties=0.7),
              of("fgreedy-d", eps=0.5, decay=0.5, merit=of("power", scale=1.0, exponent=2.0))],
    "phases": [of("fairness-aware-etc", rounds_per_arm=9, penalties=0.1),
               *(of(kind, black_box="kl-ucb", a=1.0) for kind in ("self-regulated", "constant-opportunity"))]}
CONFIG = """
simulation = { horizon = 3000, seeds = 512, record = 20, key = 5, block = 16 }
policies = [{ kind = "fair-learn", label = "mine", base = "thompson", alpha = [0.0, 5.0] }, { kind = "lfg" }]
problem = { means = [0.9, 0.8, 0.1], fractions = 0.1, penalties = { gap_fraction = 0.5 }, reward = { kind = "beta" } }
"""
TUNING = '[tuning]\npolicy = "lfg"\nparameters = ["eta"]\nobjective = "regret"\nsteps = 3\nseeds = 16\n'
TUNING += "final_seeds = 64\nhorizon = 60\n"
# fmt: on


def cases():
    """Simulations by name: the problem, the policies, and what is not as in `SETTING`."""
    level = {**WORLD, "opportunity": of("constant", gamma=0.1)}
    for kind in [*INDICES, *RULES, *OTHERS, *FAIR_SHARES]:
        yield f"policy-{kind}", level if kind == "constant-opportunity" else WORLD, kind, {}
    for place, base in enumerate(INDICES):
        yield f"base-{base}", WORLD, [of(RULES[(place + step) % len(RULES)], base=base) for step in (0, 4)], {}
    for name, policies in PARAMETERS.items():
        yield f"parameters-{name}", {**level, "reward": "uniform"}, policies, {"horizon": 200}
    for name, kinds in KINDS.items():
        for place, one in enumerate(kinds):
            yield f"{name}-{place}-{one['kind']}", {**WORLD, name: one}, SHOWN_BY[name], {"horizon": 200}
    logged = {"means": {"conversions": "log.tsv"}, "delay": of("empirical", table="log.tsv", click_rate=0.05)}
    yield "conversion-log", logged, ["cucb-d", "ucb-v"], {}
    late = {**WORLD, "reward": "beta", "delay": of("pareto", alpha=0.8)}
    yield "delay-policies", late, ["opse", "fucb", "thompson", "self-regulated", "cucb-d", "fcucb-d"], {}
    for metric in [*LOSSES, "utility", "max_deficit_ever"]:
        yield f"metric-{metric}", WORLD, ["thompson", "lfg"], {"metrics": [metric]}
    sleepy = {**MANY, "availability": [0.9, 0.3, 0.7, 0.5, 1.0, 0.6, 0.8, 0.2]}
    rules = ["fair-mmab", "ucb-lp", "ucb-pllp", "lfg", "fair-learn", "cucb-d", "kl-ucb"]
    for plays in (3, 6):  # up to 4 plays arms are chosen one by one, beyond by a search
        yield f"plays-{plays}-rules", {**MANY, "plays": plays}, rules, {}
        yield f"plays-{plays}-merit", {**MANY, "plays": plays, "delay": LATE}, FAIR_SHARES, {}
        yield f"plays-{plays}-sleeping", {**sleepy, "plays": plays}, [*rules[:4], "mp-ts-d", "fcucb-d"], {}
    for place in (0, 5, 10, 15):
        awake = {**WORLD, "availability": 0.8 if place else [0.9, 0.3, 1.0, 0.5]}
        yield f"sleeping-{place}", awake, [*INDICES, *RULES, "naive", "fair-random"][place : place + 5], {}
    yield "ties", {**WORLD, "means": [0.5] * 4, "reward": "constant"}, ["ucb1", "fucb", "moss"], {"record": "all"}
    noisy = {**WORLD, "reward": of("gaussian", sd=0.3)}
    grid = {"problem": {"penalties": [0.1, 0.4], "reward.sd": [0.1, 0.3]}}
    several = of("lfg", eta=[1.0, 10.0], exploration=[0.5, 1.0, 2.0])
    yield "grid-problem", noisy, ["hard-threshold-ucb", "thompson"], {"grid": grid}
    yield "grid-policy", WORLD, [several, "fucb", of("eta-fucb", base=["ucb1", "kl-ucb"], eta=[0.1, 1.0])], {}
    yield "grid-both", noisy, [several, "fair-random"], {"grid": grid}
    drawn = {"random": "uniform", "arms": 5, "instances": 6, "low": 0.2, "high": 0.9}
    world = {"means": drawn, "fractions": 0.05, "penalties": {"gap_fraction": 0.5}}
    yield "random-instances", world, ["fucb", "ucb-lp"], {}
    yield "large-key", world, "hard-threshold-ucb", {"key": 2**63 + 5}
    rows = {"fractions": [[0.1, 0, 0, 0.5], ["1/3", 0.2, "1/7", 0]], "penalties": [[1, 0, 2, 0.5], [0, 0, 0, 3]]}
    yield "rows-per-instance", {**WORLD, **rows}, ["hard-threshold-ucb", "fucb", "t-fucb"], {}
    yield "until", WORLD, ["ucb1", "fucb"], {"until": "regret_stderr<0.2"}
    yield "record-all", WORLD, ["ucb1", "fcts-d"], {"record": "all"}
    yield "record-list", WORLD, ["thompson", "fucb"], {"record": [1, 10, 11, 64]}
    yield "blocks", WORLD, ["thompson", "ucb-v"], {"block": 5, "seeds": 33}
    yield "keep", {**WORLD, "delay": LATE}, ["fucb", "fcts-d"], {"block": 4, "keep": "kept"}
    yield "one-seed", WORLD, "thompson", {"seeds": 1, "horizon": 1}
    yield "labels", jb.Problem(**WORLD), {"mine": "ucb1", "other": of("fucb", alpha=2.0)}, {}


def run(*words, blocks=None):
    """The command line; with `blocks`, it is killed once so many are kept in the folder that is the last word."""
    process = subprocess.Popen([sys.executable, "-m", "jaxbandit", *words], env=OWN, stdout=subprocess.DEVNULL)
    while blocks and process.poll() is None:
        if len(list(Path(words[-1], "unfinished").glob("*.block"))) >= blocks:
            process.kill()
        time.sleep(0.002)
    if process.wait() != (-9 if blocks else 0):
        raise RuntimeError(f"`jaxbandit {' '.join(words)}` gave {process.returncode}")


def by_command(way, text, blocks=None):
    """The dataset that a config gives on the command line; with `blocks`, of a run that is killed and gone on with."""
    Path(f"{way}.toml").write_text(text)
    run(way, f"{way}.toml", "--out", way, blocks=blocks)
    if blocks:
        run("resume", way)
    return xr.load_dataset(Path(way, "tuning.nc" if way == "tune" else "results.nc"))


def tuned(policy, parameters, objective, estimator="perturbation", **changes):
    """A tuning's trajectory, what it chose, and what the chosen policy does."""
    setting = {
        "objective": objective,
        "horizon": 60,
        "seeds": 16,
        "steps": 3,
        "final_seeds": 64,
        "estimator": estimator,
    }
    made = jb.tuning.tune({**WORLD, **changes}, policy, parameters, **setting)
    chosen = {f"chosen {name}": (("arm",)[: value.ndim], value) for name, value in made.values.items()}
    pulls = jb.simulate({**WORLD, **changes}, made.policy, **SETTING).pulls
    return made.trajectory.assign(chosen).assign({"chosen step": made.step, "pulls": pulls})


def simulations(part):
    """What a part is made of: a function for each dataset, by name."""
    for name, problem, policies, changes in cases():
        if not part or name in APART[part][1].split():
            yield name, lambda p=problem, q=policies, c=changes: jb.simulate(p, q, **{**SETTING, **c})
    if not part:
        yield "command-resume", lambda: by_command("run", CONFIG + "[grid]\nproblem.fractions = [0.1, 0.2]\n", blocks=4)
        yield "command-tune", lambda: by_command("tune", CONFIG + TUNING)
        hard, budget = "hard-threshold-ucb", of("budget", most=5.0)
        yield "tuning-penalties", lambda: tuned(hard, ["penalties"], "penalized_reward")
        yield "tuning-metric", lambda: tuned("lfg", ["eta"], "unfairness")
        yield "tuning-budget", lambda: tuned(hard, {"penalties": [0.1, 0.2, 0.3, 0.4]}, budget)
        yield "tuning-relaxed", lambda: tuned(hard, ["penalties"], budget, "relaxed")
        yield "tuning-score", lambda: tuned("eta-fucb", ["eta"], budget, "score", delay=LATE)


def record(folder, part):
    """Simulate a part and save each dataset; how many failed."""
    begun, failed = time.time(), 0
    print(f"record {part}: {jb.__file__}, JAX {jax.__version__}, {jax.devices()}, float64: {jax.config.jax_enable_x64}")
    for name, make in simulations(part):
        path = folder / f"{part}-{name}.pickle".removeprefix("-")
        path.unlink(missing_ok=True)
        try:
            data = make()
        except Exception as error:
            failed += 1
            print(f"{path.stem} FAILED: {error!r}", flush=True)
            continue
        arrays, words = {}, {key: str(value) for key, value in data.attrs.items() if "second" not in key}
        for key, one in data.variables.items():
            values = one.values.astype(str) if one.dtype == object else one.values
            dtype = f"{one.dtype} {values.dtype}"
            arrays[key] = True, one.dims, dtype, values.shape, key in data.coords, values.tobytes()
            words |= {f"{key}, {word}": str(value) for word, value in one.attrs.items()}
        path.write_bytes(pickle.dumps((arrays, words)))
        print(f"{time.time() - begun:5.0f} s  {path.stem}: {len(arrays)} arrays", flush=True)
    return failed


def compare(*folders):
    """Print what differs; how many simulations do, or 1 where there are none."""
    old, new = ({path.stem: pickle.loads(path.read_bytes()) for path in folder.glob("*.pickle")} for folder in folders)
    wrong, arrays, told = 0, 0, collections.Counter()
    for name in sorted({*old, *new}):
        (one, about), (other, now) = old.get(name, ({}, {})), new.get(name, ({}, {}))
        pairs = {key: zip(ABOUT, one.get(key, ABOUT), other.get(key, ABOUT), strict=True) for key in one | other}
        differ = {key: next((word for word, a, b in pair if a != b), None) for key, pair in pairs.items()}
        differ = {key: word for key, word in differ.items() if word}
        arrays, wrong = arrays + len(one | other), wrong + bool(differ)
        print(f"{name}: {len(one | other)} arrays, {f'{len(differ)} DIFFER, in {differ}' if differ else 'the same'}")
        for key in sorted(about | now) if one and other else ():
            was, has = (words.get(key, "").splitlines() for words in (about, now))
            told.update(f"{key}: {'-' if line in was else '+'} {line}" for line in {*was} ^ {*has})
    for line, times in told.items():
        print(f"attributes, {times} times: {line}")
    print(f"{len(old | new)} simulations, {arrays} arrays: {wrong} simulations differ")
    return wrong if old else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["record", "compare"])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--part", default="", choices=["", *APART], help="record this one, in a process that suits it")
    parsed = parser.parse_args()
    if parsed.command == "compare":
        return min(compare(*parsed.folders), 1)
    folder, begun = parsed.folders[0].resolve(), time.time()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        Path("log.tsv").write_text(LOG)
        failed = record(folder, parsed.part)
        for part, (own, _) in {} if parsed.part else APART.items():
            words = [sys.executable, __file__, "record", folder, "--part", part]
            failed += subprocess.run(words, env={**OWN, **own}).returncode
    print(f"{len(list(folder.glob('*')))} simulations in {folder}, {time.time() - begun:.0f} s, {failed} failed")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
