"""Made-up results: datasets as `simulate` returns them, without a simulation, for tests of tables and figures.

Pulls are drawn at random. Regret, r-regret, unfairness and the largest deficit follow from them; penalized regret and
c-regret are other numbers. Curves grow linearly up to the final values.
"""

import functools

import numpy as np
import xarray as xr

from jaxbandit.experiments.statistics import recorded_metrics
from jaxbandit.metrics.definitions import METRICS

T = 120
MEANS = [0.5, 0.9, 0.1, 0.7]
FRACTIONS = [0.1, 0.05, 0.2, 0.15]
ETA, EXPLORATION = [1.0, 10.0, 100.0], [0.5, 2.0]
RUNS, CURVE, ARMS = ("policy", "instance", "seed"), ("policy", "instance", "round"), ("instance", "arm")


def one(label, kind=None, family=None, **point):
    """A policy; `point` holds its parameters in a grid, `eta` for `policies.eta`."""
    point = {f"policies.{name}": value for name, value in point.items()}
    return {"label": label, "kind": kind or label, "family": family or label, "point": point}


def grid(kind, family=None, **lists):
    """The policies of a grid, the last list running fastest."""
    points = [{}]
    for name, values in lists.items():
        points = [{**point, name: value} for point in points for value in values]
    family = family or kind
    texts = [", ".join(f"{name}={value:g}" for name, value in point.items()) for point in points]
    return [one(f"{family} ({text})", kind, family, **point) for text, point in zip(texts, points, strict=True)]


def by_relevance(results):
    """The metrics of figures and summaries, with their labels: those that need most keys of the problem first.

    With one play, r-regret stands for c-regret, too.
    """
    names = sorted(recorded_metrics(results), key=lambda name: -len(METRICS[name].needs))
    labels = {name: METRICS[name].label for name in names}
    if results.attrs.get("plays") == 1 and {"r_regret", "c_regret"} <= set(names):
        gaps = (results.means.max("arm") - results.means).sum("arm")
        if (abs(results.r_regret_final - results.c_regret_final) <= gaps + 1e-6).all():
            del labels["c_regret"]
            labels["r_regret"] = "r-regret ≈ c-regret (reward)"
    return labels


def made_up(policies, means=MEANS, fractions=FRACTIONS, penalties=0.3, plays=1, seeds=6, metrics=None, rounds=12):
    """A dataset of results of these policies, names or dicts as `one` makes them."""
    policies = [one(policy) if isinstance(policy, str) else policy for policy in policies]
    means = np.atleast_2d(np.asarray(means, float))
    draw = np.random.default_rng(len(policies) + 7 * seeds)
    arms, runs = means.shape[1], (len(policies), len(means), seeds)
    weights = draw.dirichlet(np.full(arms, 2.0), runs[:2])  # of the arms, by policy and instance
    pulls = np.array([[draw.multinomial(T * plays, w, seeds) for w in row] for row in weights], np.int32)
    finals = _finals(draw, pulls, means, fractions, penalties, plays)
    finals = {name: values for name, values in finals.items() if metrics is None or name in metrics}
    recorded = np.unique(np.geomspace(1, T, rounds).astype(int)) if rounds > 1 else np.array([T])
    data = {"pulls": ((*RUNS, "arm"), pulls)}
    for name, values in finals.items():
        error = values.std(axis=2, ddof=1) / np.sqrt(seeds) if seeds > 1 else np.full(runs[:2], np.nan)
        data[name] = (CURVE, values.mean(axis=2)[..., None] * recorded / T)
        data[f"{name}_stderr"] = (CURVE, error[..., None] * recorded / T)
        data[f"{name}_final"] = (RUNS, values)
    if "max_deficit" in finals:
        data["max_deficit_ever"] = (RUNS, finals["max_deficit"] + draw.random(runs))
    data["means"] = (ARMS, means)
    for name, values in (("fractions", fractions), ("penalties", penalties if fractions is not None else None)):
        if values is not None:
            data[name] = (ARMS, np.broadcast_to(np.asarray(values, float), means.shape))
    coordinates = {
        "policy": [policy["label"] for policy in policies],
        "family": ("policy", [policy["family"] for policy in policies]),
        "kind": ("policy", [policy["kind"] for policy in policies]),
        **{name: np.arange(size) for name, size in zip(("instance", "seed", "arm"), (*runs[1:], arms), strict=True)},
        "round": recorded,
    }
    for key in dict.fromkeys(key for policy in policies for key in policy["point"]):
        coordinates[key] = ("policy", [policy["point"].get(key, np.nan) for policy in policies], {"key": key})
    return xr.Dataset(data, coordinates, {"plays": plays, "seeds": seeds})


def _finals(draw, pulls, means, fractions, penalties, plays):
    """Metrics at T by name, `[policy, instance, seed]`."""
    gaps = means.max(axis=1, keepdims=True) - means
    ideal = T * np.sort(means, axis=1)[:, -plays:].sum(axis=1)
    finals = {"regret": ideal[:, None] - (pulls * means[:, None]).sum(axis=3)}
    if fractions is None:
        return finals
    owed = T * np.asarray(fractions, float)
    missed = np.maximum(owed - pulls, 0.0).sum(axis=3)
    if penalties is not None:
        finals["penalized_regret"] = 40 + finals["regret"] + np.asarray(penalties, float).max() * missed
    finals["r_regret"] = (gaps[:, None] * (pulls - owed)).sum(axis=3)
    finals["c_regret"] = finals["r_regret"] + draw.random(missed.shape)
    finals["unfairness"] = missed
    finals["max_deficit"] = (owed - pulls).max(axis=3)
    return finals


def in_phases(seeds=4):
    """Results of ucb1 and of two policies with three phases and two, ranked by utility."""
    results = made_up(["ucb1", "self-regulated", "fairness-aware-etc"], [0.3, 0.8], None, seeds=seeds)
    names = np.array([["", "", ""], ["explore", "check", "exploit"], ["explore", "exploit", ""]])
    spent = np.random.default_rng(5).multinomial(T, [0.5, 0.3, 0.2], (3, 1, seeds)).astype(np.int32)
    spent[2, ..., 1] += spent[2, ..., 2]
    spent[np.broadcast_to((names == "")[:, None, None], spent.shape)] = -1
    utility = {f"utility{end}": results[f"regret{end}"] for end in ("", "_stderr", "_final")}
    phases = {"phase": [1, 2, 3], "phase_name": (("policy", "phase"), names)}
    return results.assign(phase_rounds=((*RUNS, "phase"), spent), **utility).assign_coords(phases)


@functools.cache
def grids_beside_ucb1():
    """lfg over two parameters and over one, and ucb1; out of order, as a selection may leave them."""
    policies = [*grid("lfg", eta=ETA, exploration=EXPLORATION), "ucb1", *grid("lfg", "short", eta=[5.0, 7.0])]
    two = made_up(policies, [MEANS, [0.2, 0.3, 0.4, 0.8]], seeds=20)
    return two.isel(policy=[3, 0, 6, 5, 2, 8, 1, 4, 7])


def crowd(results, sizes, spread=1.0):
    """Results of many copies of some policies, with metrics of their own and a parameter `policies.number`.

    Args:
        sizes: copies by label.
        spread: how far the metrics of the copies are apart.
    """
    labels = results.policy.values.tolist()
    places = [labels.index(label) for label, size in sizes.items() for _ in range(size)]
    copies = [i for size in sizes.values() for i in range(size)]
    made = results.isel(policy=places)
    names = [
        f"{label} ({i})" if sizes[label] > 1 else label for label, i in zip(made.policy.values, copies, strict=True)
    ]
    made = made.assign_coords(policy=names)
    draw = np.random.default_rng(1)
    for name in recorded_metrics(results):
        shift = made[name].isel(round=-1, instance=0, drop=True) * 0 + spread * draw.permutation(len(names))
        made[name] = made[name] + shift
        made[f"{name}_final"] = made[f"{name}_final"] + shift
    made = made.drop_vars(["policies.eta", "policies.exploration"], errors="ignore")
    return with_parameters(made, number=np.array(copies, float))


def with_parameters(results, **values):
    """The results with more parameters of grids: `number` for `policies.number`."""
    coordinates = {f"policies.{name}": np.array(held) for name, held in values.items()}
    return results.assign_coords({key: ("policy", held, {"key": key}) for key, held in coordinates.items()})


def without(results, metrics):
    """The results as if these metrics had not been asked for."""
    names = [suffixed for name in metrics for suffixed in (name, f"{name}_stderr", f"{name}_final")]
    return results.drop_vars([*names, *(["max_deficit_ever"] if "max_deficit" in metrics else [])])


def unranked(results):
    """The results without metrics."""
    return without(results, recorded_metrics(results))


def lfg(eta, exploration):
    """A label of the grid."""
    return f"lfg (eta={eta:g}, exploration={exploration:g})"


def runs(results, label, metric):
    """A metric of a policy's runs, `[instance, seed]`."""
    return results[f"{metric}_final"].sel(policy=label).values
