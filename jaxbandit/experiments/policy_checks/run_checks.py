"""Checks of whole runs: in batches, in `simulate`, in a `Simulator` and in an `Agent`, and how often they compile."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.core.xla import gpu_kernel
from jaxbandit.core.xla.tiling import LANES
from jaxbandit.engine.plan import Plan
from jaxbandit.engine.stepping.agent import Agent
from jaxbandit.experiments import simulate as public
from jaxbandit.experiments.policy_checks.cases import HORIZON
from jaxbandit.experiments.policy_checks.subject import (
    RUNS,
    SETTINGS,
    DoesNotHoldError,
    NotApplicableError,
    Subject,
    arms_in_words,
    engine_program,
    engine_rounds,
    planned,
)
from jaxbandit.policies.base import Policy


def batch(subject: Subject) -> None:
    """A run does not depend on the runs beside it: those of the same axis, and those of the last axis."""
    words = ": reduce over axis 0 only, the arms, and take random numbers from `now.random` only"
    for run in subject_runs(subject):
        alone = engine_rounds(subject.plan, run)[:, :, 0, 0]
        together = subject.engine_batch[:, :, run[0], run[1]]
        _compare(together, alone, run, "run {run}: beside other runs {one}, and alone {other}" + words)
    # Few runs lie along one axis, and the last one has length 1; from `LANES` runs on, seeds are the last axis
    wide = engine_rounds(planned(subject.policy, subject.instances, runs=LANES))
    for run in subject_runs(subject):
        few, many = (rounds[:, :, run[0], run[1]] for rounds in (subject.engine_batch, wide))
        seeds = f"run {{run}}: beside {RUNS} seeds {{one}}, and beside {LANES} seeds {{other}}"
        _compare(few, many, run, seeds + words)


def simulator(subject: Subject) -> None:
    """A simulator's runs are those of the engine."""
    for run in subject.single_runs:
        words = (
            "run {run}: `jb.Simulator` selected {one}, and `jb.simulate` {other}: a run of a simulator has arrays "
            "[K, 1], a simulation [K, n, m]; do not depend on the number of axes (axis 0 is the arms)"
        )
        _compare(subject.arms_of_run(run), subject.engine_batch[:, :, run[0], run[1]], run, words)


def simulate(subject: Subject) -> str | None:
    """`simulate` runs the policy and keeps its progress; returns what a GPU's kernel does otherwise, if anything."""
    expected = subject.engine_batch.sum(axis=0)
    if (_pulls(subject, gpu_kernel=False) != expected).any():
        words = "two simulations with the same key selected different arms: call nothing outside of JAX"
        raise DoesNotHoldError(words)
    if not gpu_kernel.works(None):
        return None
    differing = int((_pulls(subject) != expected).any(axis=0).sum())
    if not differing:
        return None
    return (
        "`jb.simulate` plays the policy, and can keep its progress; as one kernel of the GPU it selects otherwise in "
        f"{differing} of {expected[0].size} runs, as it may where indices are equal up to rounding (see "
        "`gpu_kernel=False`)"
    )


def _pulls(subject: Subject, gpu_kernel: bool | None = None) -> np.ndarray:
    """N_k(T) by `simulate`, `[K, J, RUNS]`.

    Raises:
        DoesNotHoldError: `simulate` refused the policy.
    """
    with tempfile.TemporaryDirectory() as folder:
        given = {"horizon": HORIZON, "seeds": RUNS, "keep": Path(folder) / "kept", "gpu_kernel": gpu_kernel, **SETTINGS}
        try:
            results = public.simulate(subject.instances, subject.policy, **given)
        except InputError as error:
            raise DoesNotHoldError(f"`jb.simulate(..., keep=...)` raised: {error}") from error
    pulls: np.ndarray = results.pulls.values[0].transpose(2, 0, 1)
    return pulls


def compilations(subject: Subject) -> None:
    """Other numbers do not compile another program."""
    program = engine_program(subject.plan)
    for what, changed in _changes(subject, program):
        if _program(changed) not in (None, program):
            raise DoesNotHoldError(
                f"another value of {what} compiled the policy again: numbers that do not set shapes are parameters "
                "without `static=True`, and `prepare` does not turn them into Python values"
            )


def agent(subject: Subject) -> None:
    """An agent that is told the rewards of a run selects the arms of this run."""
    problem, run = subject.instances, (0, 0)
    if not problem.reward.zero_one:
        raise NotApplicableError("sums of rewards that are not 0 or 1 are rounded in another way by `jb.Agent`")
    given = {name: subject.table.get(name) for name in ("fractions", "penalties", "merit", "opportunity", "reward")}
    made = Agent(
        subject.policy,
        problem.arms,
        horizon=HORIZON,
        **{name: value for name, value in given.items() if value is not None},
    )
    info, state, selected = subject.single_runs[run], made.init(0), []
    for rewards in info.rewards:
        state, arms, _ = made.select(state)
        state = made.observe(state, arms, rewards)
        selected.append((np.asarray(arms)[:, None] == np.arange(problem.arms)).any(axis=0))
    words = (
        "`jb.Agent` selected {one}, and the simulation {other}, with the same rewards: use only what is known in the "
        "real world, so neither `world.means` nor `world.delay`"
    )
    _compare(np.array(selected), subject.arms_of_run(run), run, words)


def subject_runs(subject: Subject) -> list[tuple[int, int]]:
    """The first and the last run, and one between them: instance and seed."""
    return [(0, 0), (1, 1), (subject.instances.instances - 1, RUNS - 1)]


def _changes(subject: Subject, program: Hashable) -> Iterator[tuple[str, Callable[[], Plan]]]:
    """What is another number in some simulations, and what plans them; without numbers that change no program at once.

    Args:
        program: that of the subject's own plan.
    """
    policy, problem = subject.policy, subject.instances
    changes: dict[str, dict[str, Any]] = {
        "the means": {"problem": problem.replace(means=(problem.means.T * 0.5 + 0.1).tolist())},
        "the horizon": {"horizon": HORIZON + 16},
        "the key": {"key": 1},
        "the number of seeds": {"runs": RUNS + 1},
    }

    def plan(*changed: str) -> Plan:
        arguments: dict[str, Any] = {"problem": problem}
        for what in changed:
            arguments |= changes[what]
        return planned(policy, **arguments)

    if _program(lambda: plan(*changes)) != program:
        for what in changes:
            yield what, functools.partial(plan, what)
    for name, other in _other_parameters(policy):
        yield f"the parameter `{name}`", functools.partial(planned, other, problem)


def _program(changed: Callable[[], Plan]) -> Hashable | None:
    """The program of a plan; None where the policy does not take the other number."""
    try:
        return engine_program(changed())
    except InputError:
        return None


def _other_parameters(policy: Policy) -> Iterator[tuple[str, Policy]]:
    """The policy with another value of each parameter that is a number, and of those of the policies inside it."""
    for name, value in policy.numbers().items():
        if isinstance(value, Policy):
            for inner, changed in _other_parameters(value):
                yield inner, policy.replace(**{name: changed})
        elif type(value) in (int, float):
            for other in (0.5 * value, value + 0.25, value - 0.25):
                changed = policy.replace(**{name: other})
                if other != value and _is_valid(changed):
                    yield name, changed
                    break


def _is_valid(policy: Policy) -> bool:
    try:
        policy.check("policies")
    except InputError:
        return False
    return True


def _compare(one: np.ndarray, other: np.ndarray, run: tuple[int, int], words: str) -> None:
    """Masks `[T, K]` are equal; else an error with `words`, in which `{run}`, `{one}` and `{other}` are filled in."""
    differ = (one != other).any(axis=1)
    if differ.any():
        t = int(np.argmax(differ))
        found = {"one": arms_in_words(one[t]), "other": arms_in_words(other[t])}
        raise DoesNotHoldError(f"in round {t + 1}, " + words.format(run=f"{run[1]} of instance {run[0]}", **found))
