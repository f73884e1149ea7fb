"""The experiments of the penalties paper."""

from __future__ import annotations

from jaxbandit.papers.experiment import Config, Experiment, Sizes, experiment, grid_values

OWN = "hard-threshold-ucb"
RIVALS = ("fair-learn", "lfg")
TAUS = ("0.2", "0.4", "0.8")  # tau of experiment C
REWARDS = ("gaussian", "beta", "bernoulli")
ROWS = ((5, "0.2"), (5, "0.5"), (20, "0.2"), (20, "0.5"))  # K and tau of experiment E
SETTINGS = (1, 2)  # of experiment D
TIMES_E = (2_500, 10_000, 40_000)  # horizons of experiment E, which the paper does not state; the last with K = 5 alone
FIGURE_E = 10_000  # the horizon that the figure shows
FAIR_TIMES = (5_000, 20_000, 80_000, 320_000)  # horizons at which hard and soft thresholds are compared
SOFT = "soft-threshold-ucb"
LONG = 10**6  # rounds of A and B repeated: with so many rounds UCB's bonuses are small beside the gaps


def name_a_b(critical: bool, long: bool = False) -> str:
    """The name of experiment B (critical arms) or A (non-critical arms), or of its repetition over `LONG` rounds."""
    return f"penalties-figure-1-{'' if critical else 'non'}critical{'-long' * long}"


def name_c(arms: int, tau: str) -> str:
    """The name of experiment C with K arms and a tau."""
    return f"penalties-figure-2-k{arms}-tau{tau}"


def name_d(setting: int) -> str:
    """The name of experiment D in a setting."""
    return f"penalties-figure-3-setting-{setting}"


def name_e(arms: int, tau: str, reward: str, horizon: int = FIGURE_E) -> str:
    """The name of experiment E with K arms, a tau, a reward and a horizon."""
    return f"penalties-figure-4-k{arms}-tau{tau}-{reward}" + ("" if horizon == FIGURE_E else f"-{horizon}")


def name_fair(horizon: int) -> str:
    """The name of the experiment in which every arm is worth less than its penalty."""
    return f"penalties-all-critical-{horizon}"


PANELS_C = {name_c(arms, tau): f"K = {arms}, τ = {tau}" for arms in (5, 20) for tau in TAUS}
PANELS_E = {name_e(k, tau, reward): f"K = {k}, τ = {tau}, {reward}" for k, tau in ROWS for reward in REWARDS}


def experiments(sizes: Sizes) -> list[Experiment]:
    """The experiments A to E; A and B also over `LONG` rounds."""
    made = []
    for critical in (False, True):
        file = f"penalties/figure-1-{'' if critical else 'non'}critical"
        made.append(experiment(file, sizes, name_a_b(critical), quick={"simulation.seeds": 100}))
        changes: dict[str, float] = {"simulation.horizon": LONG, "simulation.seeds": 100}
        if critical:
            changes["problem.fractions"] = 0.001
        quick = {"simulation.horizon": 200_000}
        made.append(experiment(file, sizes, name_a_b(critical, long=True), changes=changes, quick=quick))
    few = {"problem.means.instances": 10}
    for arms in (5, 20):
        file = f"penalties/figure-2-k{arms}"
        for tau, fractions in zip(TAUS, grid_values(file, "problem.fractions"), strict=True):
            point = {"problem.fractions": fractions}
            made.append(experiment(file, sizes, name_c(arms, tau), point=point, quick=few))
    grids = [experiment(f"penalties/figure-3-setting-{setting}", sizes, name_d(setting)) for setting in SETTINGS]
    for horizon in FAIR_TIMES[:-1] if sizes.quick else FAIR_TIMES:
        changes = {"simulation.horizon": horizon}
        made.append(experiment("penalties/soft-threshold", sizes, name_fair(horizon), changes=changes))
    for arms, tau in ROWS[:2] if sizes.quick else ROWS:
        for reward in REWARDS:
            grids += [_trade_off(sizes, arms, tau, reward, horizon) for horizon in _times_e(sizes, arms)]
    return made + ([_every_other_scale(one) for one in grids] if sizes.quick else grids)


def _times_e(sizes: Sizes, arms: int) -> tuple[int, ...]:
    if sizes.quick:
        return (FIGURE_E,)
    return TIMES_E if arms == 5 else TIMES_E[:-1]


def _trade_off(sizes: Sizes, arms: int, tau: str, reward: str, horizon: int) -> Experiment:
    """Experiment E at a horizon, to which alpha of fair-learn and eta of lfg are proportional."""
    file, point = f"penalties/figure-4-k{arms}-tau{tau}", {"problem.reward": reward}
    quick = {"problem.means.instances": 10, "simulation.seeds": 4}
    made = experiment(file, sizes, name_e(arms, tau, reward, horizon), point=point, quick=quick)
    if horizon == FIGURE_E:
        return made
    part = horizon / FIGURE_E
    policies = [
        {key: [part * one for one in value] if key in ("alpha", "eta") else value for key, value in table.items()}
        for table in made.config["policies"]
    ]
    simulation = {**made.config["simulation"], "horizon": horizon}
    return Experiment(made.name, {**made.config, "simulation": simulation, "policies": policies})


def own_scales(config: Config) -> list[float]:
    """The scales s of experiment E: the penalty rates of hard-threshold UCB."""
    return list(config["policies"][0]["penalties"])


def _every_other_scale(one: Experiment) -> Experiment:
    """The experiment with every other scale s; s = 1, the last, stays."""
    policies: list[dict[str, object]] = [
        {key: value[::-2][::-1] if isinstance(value, list) else value for key, value in table.items()}
        for table in one.config["policies"]
    ]
    return Experiment(one.name, {**one.config, "policies": policies})
