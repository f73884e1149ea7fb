"""`check_policy`: runs all checks on a policy and reports which of them hold."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from jaxbandit.core.errors import InputError, unknown_key, unknown_name
from jaxbandit.core.input_values import boolean
from jaxbandit.environment.problem import Problem
from jaxbandit.experiments.policy_checks import code_checks, round_checks, run_checks
from jaxbandit.experiments.policy_checks.cases import PROBLEM
from jaxbandit.experiments.policy_checks.report import CheckResult, PolicyReport
from jaxbandit.experiments.policy_checks.subject import DoesNotHoldError, NotApplicableError, Subject
from jaxbandit.experiments.policy_checks.users_code import error_in_words
from jaxbandit.policies import make_policy
from jaxbandit.policies.base import Index, Policy, Rule


class Check(NamedTuple):
    """A check.

    Attributes:
        run: a function that returns if the check holds, and else raises what was seen. It may return a sentence.
        sentence: what holds, in words, where `run` returns None.
        needs: the checks that must hold before.
    """

    run: Callable[[Subject], str | None]
    sentence: str
    needs: tuple[str, ...]


CHECKS: dict[str, Check] = {
    "prepare": Check(code_checks.prepare, "the policy can be made and prepared for a problem and a horizon", ()),
    "jit": Check(
        code_checks.jit,
        "the methods can be compiled, and return the shapes and dtypes that are expected",
        ("prepare",),
    ),
    "scan": Check(
        code_checks.scan,
        "the state keeps its structure, shapes and dtypes from round to round, as `jax.lax.scan` requires",
        ("jit",),
    ),
    "pure": Check(code_checks.pure, "equal calls return equal results, and no Python object is changed", ("scan",)),
    "dtypes": Check(code_checks.dtypes, "the methods work in float32 and in float64", ("scan",)),
    "numbers": Check(round_checks.numbers, "no index, score, chance or state is NaN", ("pure",)),
    "arms": Check(round_checks.arms, "one arm is selected in every round", ("numbers",)),
    "sleeping arms": Check(
        round_checks.sleeping_arms, "only available arms are selected, and one where there is one", ("arms",)
    ),
    "two arms": Check(
        round_checks.two_arms, "the same with two arms, of which one or none may be available", ("sleeping arms",)
    ),
    "several plays": Check(round_checks.several_plays, "with two plays two arms are selected", ("sleeping arms",)),
    "ties": Check(round_checks.ties, "with `ties='random'` equal arms are selected equally often", ("arms",)),
    "chances": Check(
        round_checks.chances, "the chances of `choose` are the probabilities of its selections", ("sleeping arms",)
    ),
    "late rewards": Check(round_checks.late_rewards, "rewards may arrive late or never", ("arms",)),
    "batch": Check(run_checks.batch, "a run is the same alone and beside other runs", ("arms",)),
    "zero delay": Check(
        round_checks.zero_delay, "a delay of 0 rounds selects the arms that are selected without delay", ("batch",)
    ),
    "simulate": Check(
        run_checks.simulate, "`jb.simulate` plays the policy, and can keep its progress (`keep=`)", ("batch",)
    ),
    "compilations": Check(
        run_checks.compilations,
        "other means, horizons, keys, seeds and parameters do not compile the policy again",
        ("simulate",),
    ),
    "Simulator": Check(run_checks.simulator, "`jb.Simulator` selects the arms of `jb.simulate`", ("batch",)),
    "vmap": Check(code_checks.vmap, "a run of `jb.Simulator` is the same under `jax.vmap`", ("Simulator",)),
    "Agent": Check(
        run_checks.agent, "`jb.Agent` selects the same arms if it is told the same rewards", ("Simulator", "zero delay")
    ),
}


def check_policy(
    policy: Any, checks: Sequence[str] | None = None, *, show: bool = True, **problem: Any
) -> PolicyReport:
    """Check whether a policy keeps the rules that `jb.simulate`, `jb.Simulator` and `jb.Agent` rely on.

    The policy plays a few short runs on small problems: without delay, with late and lost rewards, with sleeping arms,
    with two arms and with two plays; alone, in batches, in float32 and in float64, under `jax.jit`, `jax.lax.scan` and
    `jax.vmap`. A simple policy takes about ten seconds, most of them for compilation. An error in a method of the
    policy is a result of the check, with the line of your code; it is not raised.

    The report has a row per check: its name, whether it holds, and a sentence. Where the check does not hold, the
    sentence says what was seen and what to do. A check is not applicable if the policy does not have what it is about
    (several plays, chances), or if another check, which it needs, does not hold.

    Args:
        policy: a `Policy` class, a `Policy`, a table (`{"kind": "mine", "bonus": 2.0}`) or a name.
        checks: the names of the checks to run; the checks that they need are run, too. Default: all.
        show: print the report. Default True.
        **problem: keys of `jb.Problem` that replace those of the problem of the checks, for a policy that needs others:
            `means` (at least three), `fractions`, `penalties`, `reward`, `merit` or `opportunity`. Each is a number or
            has one number per arm. Default: four arms with rewards of 0 and 1.

    Returns:
        The report, which prints as a table. `report.ok` is whether every check that applies holds.

    Raises:
        InputError: `policy` is not a policy, or an argument is invalid.

    Example:
        >>> class Optimist(jb.Index):
        ...     bonus: float = jb.parameter(1.0, low=0, doc="weight of the bonus")
        ...
        ...     def value(self, state, now):
        ...         return now.total / now.received + self.bonus
        >>> report = jb.check_policy(Optimist, checks=["late rewards"], show=False)
        >>> report.ok, report.failed
        (False, ['late rewards'])
        >>> print(report["late rewards"].sentence)  # doctest: +ELLIPSIS
        an index or a score was NaN in round 2 of run 0: rewards arrive late, so that an arm with `now.pulls` > 0 ...
    """
    shown = boolean(show, "show")
    _check_that_it_is_a_policy(policy)
    subject, names = Subject(policy, _table(problem)), _wanted(checks)
    results: dict[str, CheckResult] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            results[name] = _result(name, subject, results)
    report = PolicyReport(_name(subject), tuple(results.values()))
    if shown:
        print(report)
    return report


def _result(name: str, subject: Subject, results: Mapping[str, CheckResult]) -> CheckResult:
    check = CHECKS[name]
    missing = [other for other in check.needs if results[other].holds is not True]
    if missing:
        return CheckResult(name, None, f"not checked: needs {missing[0]!r}")
    try:
        sentence = check.run(subject)
    except NotApplicableError as error:
        return CheckResult(name, None, str(error))
    except DoesNotHoldError as error:
        return CheckResult(name, False, str(error))
    except Exception as error:
        return CheckResult(name, False, error_in_words(error))
    return CheckResult(name, True, sentence or check.sentence)


def _wanted(checks: Sequence[str] | None) -> list[str]:
    """The checks to run, in order: the given ones and those that they need."""
    if checks is None:
        return list(CHECKS)
    if isinstance(checks, str) or not isinstance(checks, Sequence):
        raise InputError("checks", checks, f"a list of names of checks: {', '.join(CHECKS)}")
    wanted: set[str] = set()
    for name in checks:
        if name not in CHECKS:
            raise unknown_name("checks", name, CHECKS)
        wanted |= _with_needs(name)
    return [name for name in CHECKS if name in wanted]


def _with_needs(name: str) -> set[str]:
    return {name}.union(*(_with_needs(other) for other in CHECKS[name].needs))


_KEYS = ("means", "reward", "fractions", "penalties", "merit", "opportunity")


def _table(problem: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of the problem of the checks.

    Raises:
        InputError: a key that the checks do not take, or a value that `jb.Problem` does not take.
    """
    for name, value in problem.items():
        if name not in _KEYS:
            raise unknown_key(name, value, [*_KEYS, "checks"])
    table = {**PROBLEM, **problem}
    if "means" in problem:
        means = table["means"] = [float(mean) for mean in Problem(table["means"]).means[:, 0]]
        if len(means) < 3:
            raise InputError("means", problem["means"], "at least 3 numbers, one per arm")
        spread = {"fractions": [0.5 / len(means)] * len(means), "penalties": [0.3] * len(means)}
        table.update({name: value for name, value in spread.items() if name not in problem})
    Problem(**table)
    return table


def _check_that_it_is_a_policy(given: object) -> None:
    if isinstance(given, Policy) or (inspect.isclass(given) and issubclass(given, Policy)):
        cls = given if inspect.isclass(given) else type(given)
        if cls not in (Policy, Index, Rule):
            return
        raise InputError("policy", given, "a subclass of `jb.Policy`, `jb.Index` or `jb.Rule`")
    if not isinstance(given, str | Mapping):
        raise InputError("policy", given, "a `Policy` class, a `Policy`, a table or a name")
    try:
        make_policy.policy(given)
    except InputError as error:
        raise error.with_key(error.key.replace("policies", "policy", 1)) from None


def _name(subject: Subject) -> str:
    given = subject.given
    if isinstance(given, str):
        return given
    return str(given["kind"] if isinstance(given, Mapping) else given.name)
