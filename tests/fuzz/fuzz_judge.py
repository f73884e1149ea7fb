"""An oracle of a dataset: its numbers by the definitions of the metrics, computed anew from the config and the pulls.

Fractions and other decimals are exact here. Nothing of the program is asked for, but what a policy is called.

Tolerances, relative to the largest term of a sum (`scale`):

- EXACT, 1e-12: sums of at most 12 products in float64 err by some 30 roundings of 1.1e-16; 1e-12 leaves a factor 300.
- CHANCES, 4e-6: chances are float32 numbers, each off by some tens of roundings of 6e-8; their regrets are summed.
- `fuzz_bounds.DRAWN`, 2e-5: sums of drawn rewards are float32 sums of up to 300 terms, off by at most 300 * 6e-8.
- ROUNDED, 2e-7: `max_deficit_ever`, and steps of the regrets of chances, are float32: one or two roundings of 6e-8.

And absolute: QUANTUM, 1e-12, as means over runs are sums of multiples of 2^-40 (9.1e-13), so that sums of runs do not
depend on their order. Of metrics so small nothing can be told.
"""

from fractions import Fraction

import numpy as np
from fuzz_bounds import Case, chosen_by_index, opportunity_optimum, reward_sum_faults, stated_chances

EXACT, CHANCES, QUANTUM, ROUNDED = 1e-12, 4e-6, 1e-12, 2e-7
METRICS = {  # the keys of the problem that each needs
    "regret": (),
    "penalized_regret": ("fractions", "penalties"),
    "r_regret": ("fractions",),
    "c_regret": ("fractions",),
    "reward_regret": ("merit",),
    "fairness_regret": ("merit",),
    "utility": ("opportunity", "penalties"),
    "utility_regret": ("opportunity", "penalties"),
    "unfairness": ("fractions",),
    "max_deficit": ("fractions",),
}
RISING = ("regret", "reward_regret", "fairness_regret")


def judge(config, results):
    """The faults of a dataset, as sentences; none where it is right.

    Args:
        config: the tables that were simulated.
        results: the dataset.
    """
    case = Case(config, results)
    faults = presence(case) + numbers(case) + mean_pulls(case) + facts(case)
    for place in range(len(config["policies"])):
        one = case.of(place)
        for check in (pulls, counted, proportional, transfer, invariants, phases):
            faults += [f"policy {place} ({one.kind}): {fault}" for fault in check(one)]
    return faults


def presence(case):
    """Metrics are there exactly when the problem has what they need, or the config names them."""
    faults = []
    for name, needs in METRICS.items():
        defined = all(need in case.problem for need in needs)
        asked = case.simulation.get("metrics")
        expected = defined if asked is None else name in asked
        for variable in (name, f"{name}_stderr", f"{name}_final"):
            if (variable in case.results) != expected:
                faults.append(f"{variable} is {'missing' if expected else 'there'}")
    if ("max_deficit_ever" in case.results) != ("max_deficit" in case.results):
        faults.append("max_deficit_ever is there without max_deficit, or the reverse")
    return faults


def numbers(case):
    """Everything is finite; means and standard errors are those of the final values; rounds are as asked."""
    faults, results = [], case.results
    for name, variable in results.data_vars.items():
        alone = case.S == 1 and str(name).endswith("_stderr")  # one run has no standard error
        if variable.dtype.kind == "f" and not alone and not np.all(np.isfinite(variable.values)):
            faults.append(f"{name} is not finite")
    rounds = results["round"].values
    if np.any(np.diff(rounds) <= 0) or rounds[0] < 1 or rounds[-1] != case.T:
        faults.append(f"recorded rounds {rounds}")
    asked = case.simulation["record"]
    if (asked == "all" and len(rounds) != case.T) or (isinstance(asked, list) and set(rounds) != {*asked, case.T}):
        faults.append(f"recorded rounds {rounds} where {asked} were asked for")
    for name in [str(name).removesuffix("_final") for name in results.data_vars if str(name).endswith("_final")]:
        final, stderr = results[f"{name}_final"].values, results[f"{name}_stderr"].values
        mean = results[name].values
        size = np.abs(final).max(axis=-1)
        off = np.abs(mean[..., -1] - final.mean(axis=-1))
        if np.any(off > EXACT * size + QUANTUM):
            faults.append(f"{name} at T is not the mean over {name}_final (off by {off.max():.3g})")
        if case.S == 1:
            if not np.all(np.isnan(stderr)):
                faults.append(f"{name}_stderr of one run is {stderr}")
            continue
        with np.errstate(invalid="ignore"):  # infinity is found above
            own = final.std(axis=-1, ddof=1) / case.S**0.5
        off = np.abs(stderr[..., -1] - own)
        if np.any(off > 1e-9 * own + EXACT * size + QUANTUM):
            faults.append(f"{name}_stderr at T is {stderr[..., -1]}, of {name}_final {own}")
        agree = np.all(final == final[..., :1], axis=-1)
        if np.any(stderr[..., -1][agree] != 0):
            faults.append(f"{name}_stderr is above 0 where all runs agree: {stderr[..., -1]}")
        differ = np.ptp(final, axis=-1) > 1e-12 * size + 2 * QUANTUM
        if np.any(stderr[..., -1][differ] <= 0) or np.any(stderr < 0):
            faults.append(f"{name}_stderr is not above 0 where runs differ: {stderr[..., -1]}")
    return faults


def mean_pulls(case):
    """The mean selections: at T those of the pulls, and in every round no fewer than before and at most L t in all."""
    results = case.results
    if "pulls_mean" not in results:
        return [] if case.simulation.get("pulls_mean") is False else ["pulls_mean is missing"]
    mean, error, pulls = (results[name].values for name in ("pulls_mean", "pulls_mean_stderr", "pulls"))
    faults, rounds = [], results["round"].values
    if np.any(np.abs(mean[..., -1] - pulls.mean(axis=2)) > EXACT * case.T):
        faults.append("pulls_mean at T is not the mean of pulls")
    own = pulls.std(axis=2, ddof=1) / case.S**0.5 if case.S > 1 else np.full(mean.shape[:-1], np.nan)
    if not np.allclose(error[..., -1], own, rtol=1e-9, atol=EXACT * case.T, equal_nan=True):
        faults.append("pulls_mean_stderr at T is not that of pulls")
    rising = np.diff(mean, axis=-1, prepend=0)
    if np.any(rising < 0) or np.any(rising > np.diff(rounds, prepend=0)):
        faults.append("pulls_mean falls, or rises by more than the rounds")
    return faults


def facts(case):
    """What the dataset repeats of the problem."""
    faults = []
    for name, own in case.facts().items():
        if own is not None and name in case.results:
            held = np.broadcast_to(case.results[name].values, own.shape)
            if not np.allclose(held, own, rtol=1e-9, atol=1e-12):
                faults.append(f"{name} is {held}, not {own}")
    return faults


def pulls(one):
    """Counts of plays: whole, L a round, an arm at most once a round, none of an arm that is never there."""
    N, T, L = one.N, one.T, one.L
    faults = []
    if one.results.pulls.dtype.kind not in "iu":
        faults.append(f"pulls are {one.results.pulls.dtype}")
    if np.any(N < 0) or np.any(N > T):
        faults.append("pulls outside 0..T")
    if (one.awake is None and np.any(N.sum(axis=-1) != L * T)) or np.any(N.sum(axis=-1) > L * T):
        faults.append(f"pulls do not sum to L T = {L * T}: {N.sum(axis=-1)}")
    if one.awake is not None:
        if np.any(np.where(one.awake[:, None] == 0, N, 0)):
            faults.append("an arm that is never available was played")
        certain = np.minimum((one.awake == 1).sum(axis=-1), L)[:, None] * T  # always there, so they fill the slots
        most = np.minimum((one.awake > 0).sum(axis=-1), L)[:, None] * T
        if np.any(N.sum(axis=-1) < certain) or np.any(N.sum(axis=-1) > most):
            faults.append(f"{N.sum(axis=-1)} plays where there are from {certain} to {most}")
    return faults


def expected(one):
    """Metrics that follow from the pulls at T: by name, values [J, S] and the scale of their terms [J, 1]."""
    mu, N, T, L = one.mu[:, None], one.N, one.T, one.L
    best = np.sort(one.mu, axis=1)[:, ::-1]
    top = best[:, :L].sum(axis=1)[:, None]
    largest = np.abs(one.mu).max(axis=1)[:, None] * L * T * one.K
    made = {"regret": (T * top - (mu * N).sum(axis=-1), largest)}  # guarantees paper, eq. 2
    if one.tau is None:
        return made
    owed = one.owed(T)[:, None]  # tau_k T, worked out in exact fractions
    gap = best[:, :1, None] - mu
    short = np.maximum(owed - N, 0)
    made["r_regret"] = ((gap * (N - owed)).sum(axis=-1), 2 * largest)  # guarantees paper, eq. 3
    made["unfairness"] = (short.sum(axis=-1), T * one.K)  # penalties paper, App. A
    made["max_deficit"] = ((owed - N).max(axis=-1), T)  # plays paper, sec. 5
    order = np.argsort(-one.mu, axis=1, kind="stable")
    mu_s = np.take_along_axis(one.mu, order, 1)[:, None]
    N_s = np.take_along_axis(N, np.broadcast_to(order[:, None], N.shape), 2)
    floors = np.take_along_axis(one.floors(T), order, 1)[:, None]
    last = mu_s[..., L - 1 : L]
    upper = ((mu_s - last) * (T - N_s))[..., :L].sum(axis=-1)
    made["c_regret"] = (
        upper + ((last - mu_s) * (N_s - floors))[..., L:].sum(axis=-1),
        2 * largest,
    )  # plays paper, eq. 7
    if one.price is not None:
        A = one.price[:, None]
        terms = gap * N + A * short - np.minimum(gap, A) * owed  # penalties paper, eq. 10
        scale = largest + (one.price.max(axis=1) * T * one.K)[:, None]
        made["penalized_regret"] = (terms.sum(axis=-1), scale)
    return made


def counted(one):
    """Metrics of counts alone, and their curves."""
    faults = []
    for name, (value, scale) in expected(one).items():
        faults += one.differs(name, value, value, EXACT * scale)
    t, mu = one.rounds, np.sort(one.mu, axis=1)[:, ::-1]
    spread = (mu[:, : one.L].sum(axis=1) - mu[:, one.K - one.L :].sum(axis=1))[:, None] * t
    room = EXACT * (np.abs(one.mu).max() + 1) * one.K * one.T
    full = one.awake is None or mu.min() >= 0  # with fewer plays than L and negative means it may fall
    for name in RISING:
        curve, slack = one.curve(name), room * 10 if name == "regret" else ROUNDED * one.T * one.L
        if curve is not None and (name != "regret" or full) and np.any(np.diff(curve, axis=-1) < -slack):
            faults.append(f"{name} falls: {curve}")
    regret, penalized, unfair, worst = map(one.curve, ("regret", "penalized_regret", "unfairness", "max_deficit"))
    above = one.awake is None and regret is not None and np.any(regret > spread + room)
    if regret is not None and full and (above or np.any(regret < -room)):
        faults.append(f"regret outside 0..{spread}: {regret}")
    if penalized is not None and np.any(penalized < -room * (1 + one.price.max())):
        faults.append(f"penalized_regret below 0: {penalized}")
    if unfair is not None:
        owed = np.stack([one.owed(int(x)).sum(axis=1) for x in t], axis=1)
        if np.any(unfair < -room) or np.any(unfair > owed + room):
            faults.append(f"unfairness outside 0..{owed}: {unfair}")
        if worst is not None and np.any(unfair < worst - room):
            faults.append("unfairness below max_deficit")
    if worst is not None:
        faults += ever(one, worst)
    return faults


def ever(one, curve):
    """The largest deficit over all rounds, beside the last one and the recorded ones."""
    most, final = one.values("max_deficit_ever"), one.values("max_deficit_final")
    if most is None or final is None:
        return []
    faults, room = [], ROUNDED * (1 + one.tau_float.max() * one.T)
    if np.any(most < final):
        faults.append("max_deficit_ever below max_deficit_final")
    if np.any(most.mean(axis=-1)[:, None] < curve - room):
        faults.append("the mean of max_deficit_ever lies below a recorded mean")
    # N_k(t) >= N_k(T) - (T - t): the deficit of arm k is largest if all its plays came last, or in round 1 of T plays.
    tau = one.tau_float[:, None]
    late = np.maximum(tau * (one.T - one.N), tau - (one.N >= one.T)).max(axis=-1)
    if np.any(most > late + room):
        faults.append("max_deficit_ever above what the pulls at T allow")
    if one.S == 1 and len(one.rounds) == one.T and np.any(np.abs(most[:, 0] - curve.max(axis=-1)) > room):
        faults.append(f"max_deficit_ever {most} of one run is not the largest of its curve {curve.max(axis=-1)}")
    return faults


def proportional(one):
    """The two regrets of the merit paper (eq. 5, 6): exact where chances follow from the pulls, else between bounds.

    For a policy of another paper that draws at random with probabilities that it knows, p_k(t) may be these
    probabilities or the 0/1 selection: both are accepted.
    """
    if one.shares is None:
        return []
    readings = [selections(one)] if chosen_by_index(one.table) else [stated(one, q) for q in stated_chances(one)]
    if not chosen_by_index(one.table):
        readings = [*readings, selections(one)] if readings else [anything(one)]
    room = CHANCES * one.T * one.L * max(1.0, np.abs(one.mu).max())
    found = []
    for reward, unfair in readings:
        found.append(one.differs("reward_regret", *reward, room) + one.differs("fairness_regret", *unfair, room))
    return min(found, key=len)


def anything(one):
    """Bounds of both regrets, whatever the chances: [J, S] each."""
    target = (one.shares * one.mu).sum(axis=1)
    least = np.sort(one.mu, axis=1)[:, : one.L]
    worst = target - (least if one.awake is None else np.minimum(least, 0)).sum(axis=1)
    zero = np.zeros(one.N.shape[:2])
    high = np.maximum(worst, 0)[:, None] * one.T + zero
    return (zero, high), (zero, zero + 2.0 * one.L * one.T)


def selections(one):
    """Both regrets where p_k(t) is the 0/1 selection; with several plays the first is exact if one arm is left out."""
    p, mu, N, T = one.shares[:, None], one.mu[:, None], one.N, one.T
    target = (p * mu).sum(axis=-1)
    (_, high), _ = anything(one)
    low = np.maximum(T * target - (mu * N).sum(axis=-1), 0)  # a sum of maxima is at least the maximum of the sum
    if one.L == 1:
        idle = T - N.sum(axis=-1)
        low = high = (N * np.maximum(target[..., None] - mu, 0)).sum(axis=-1) + idle * np.maximum(target, 0)
    elif one.K - one.L == 1 and one.awake is None:
        without = target[..., None] - (mu.sum(axis=-1, keepdims=True) - mu)
        low = high = ((T - N) * np.maximum(without, 0)).sum(axis=-1)
    unfair = (N * (1 - p) + (T - N) * p).sum(axis=-1)
    return (low, high), (unfair, unfair)


def stated(one, q):
    """Both regrets of a policy whose chances are q, [J, K], in every round."""
    zero = np.zeros(one.N.shape[:2])
    reward = zero + one.T * np.maximum(((one.shares - q) * one.mu).sum(axis=1), 0)[:, None]
    unfair = zero + one.T * np.abs(one.shares - q).sum(axis=1)[:, None]
    return (reward, reward), (unfair, unfair)


def transfer(one):
    """Utility and its regret (opportunities paper, eq. 1-2, Lemma 1)."""
    if one.owed_by_merit is None or one.price is None:
        return []
    N, T, A, mu = one.N, one.T, one.price[:, None], one.mu[:, None]
    cost = (A * np.maximum(T * one.owed_by_merit[:, None] - N, 0)).sum(axis=-1)
    scale = ((np.abs(one.mu).max(axis=1) + one.price.max(axis=1)) * T * one.K)[:, None]
    earned = (mu * N).sum(axis=-1)
    low, high = opportunity_optimum(one)
    room = EXACT * scale
    faults = one.differs("utility_regret", low[:, None] - (earned - cost), high[:, None] - (earned - cost), room)
    utility = one.values("utility_final")
    return faults if utility is None else faults + reward_sum_faults(one, utility + cost, earned, room)


def invariants(one):
    """N_k(t) > tau_k t - 1 in every round: fair-mmab with its own J, and fucb with equal fractions."""
    most = one.values("max_deficit_ever")
    if most is None or one.awake is not None:
        return []
    table, tau = one.table, one.tau
    if one.kind == "fair-mmab":
        holds = "J" not in table and all(x < Fraction(one.L, one.K) for row in tau for x in row)
    else:
        fucb = one.kind == "fucb" or (one.kind == "fair-learn" and table.get("base", "ucb1") == "ucb1")
        equal = all(len(set(row)) == 1 and row[0] < Fraction(1, one.K) for row in tau)
        holds = fucb and not table.get("alpha") and one.L == 1 and equal
    # tau t - N is a multiple of 1 / denominator, so that below 1 means at most 1 - 1 / denominator.
    finest = max(x.denominator for row in tau for x in row)
    most_allowed = 1 - 1 / finest + 1e-9 if finest < 10**6 else 1 + 1e-9
    return [f"N_k(t) > tau_k t - 1 broken: {most.max()}"] if holds and most.max() > most_allowed else []


def phases(one):
    """Rounds of phases: whole, and T in all."""
    names = one.phases
    if not names:
        return []
    if "phase_rounds" not in one.results:
        return ["phase_rounds is missing"]
    spent = one.results.phase_rounds.isel(policy=one.place)
    spent = spent.isel(phase=slice(len(names))).transpose(..., "phase").values
    wrong = np.any(spent < 0) or np.any(spent.sum(axis=-1) != one.T)
    return [f"phase_rounds do not sum to T = {one.T}: {spent.sum(axis=-1)}"] if wrong else []


def judge_prefix(results, shorter, policies):
    """A run is a function of (key, instance, seed): the curves at round t are those of a simulation that ends at t.

    Args:
        results: a dataset of T rounds.
        shorter: that of the same config with horizon t, one of the rounds recorded of `results`.
        policies: the places of those that do not know the horizon.
    """
    t, faults = int(shorter["round"].values[-1]), []
    for name in [str(name) for name in shorter.data_vars if f"{name}_final" in shorter]:
        for suffix in ("", "_stderr"):
            ours = results[name + suffix].sel(round=t).values[policies]
            own = shorter[name + suffix].sel(round=t).values[policies]
            size = np.abs(shorter[f"{name}_final"].values[policies]).max(axis=-1)
            if np.any(np.abs(ours - own) > EXACT * size + QUANTUM):
                faults.append(f"{name}{suffix} of round {t} is {ours}, at horizon {t} {own}")
    return faults
