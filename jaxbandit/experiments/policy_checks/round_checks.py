"""Checks of the rounds: the number of selected arms, late rewards, sleeping arms, and chances."""

from __future__ import annotations

import contextlib

import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.experiments.policy_checks import cases
from jaxbandit.experiments.policy_checks.cases import LATE, LOST, SLEEPING, ZERO, Case, Rounds
from jaxbandit.experiments.policy_checks.subject import (
    DoesNotHoldError,
    NotApplicableError,
    Subject,
    arms_in_words,
    engine_rounds,
    planned,
)
from jaxbandit.policies.base import Policy

_TOLERANCE = 1e-4  # of sums of chances
_DEVIATIONS = 6.0  # standard deviations between chances and selections


def numbers(subject: Subject) -> None:
    """Nothing is NaN."""
    _check_defined(subject.plain.rounds, slice(None), "guard divisions (`now.samples` is at least 1) and logarithms")


def arms(subject: Subject) -> None:
    """One arm is selected per round."""
    _check_counts(subject.plain.rounds, slice(None), 1)


def sleeping_arms(subject: Subject) -> None:
    """Only available arms are selected; a policy that needs all arms is checked without sleeping arms."""
    _check_defined(subject.varied.rounds, [SLEEPING], "some arms were never available so far")
    _check_counts(subject.varied.rounds, [SLEEPING], 1)


def two_arms(subject: Subject) -> None:
    """Two arms, of which one is available, or none."""
    found = Case.of(subject.policy, cases.two_arms(subject.table, not subject.policy.needs_all_arms)).rounds
    _check_defined(found, slice(None), "there are two arms only, and at times one or none is available")
    _check_counts(found, slice(None), 1)


def several_plays(subject: Subject) -> None:
    """Two of the arms are selected per round."""
    if not subject.policy.many_plays:
        raise NotApplicableError("the policy selects one arm per round (`many_plays` is False)")
    try:
        found = subject.several_plays.rounds
    except InputError as error:
        if error.key == "problem.plays":
            raise NotApplicableError(f"the policy refuses several plays ({error})") from None
        raise DoesNotHoldError(
            f"with 2 plays: {error}; set `many_plays = False` in a class that selects one arm per round"
        ) from error
    _check_defined(found, [ZERO, SLEEPING], "there are 2 plays")
    _check_counts(found, [ZERO, SLEEPING], 2)


def zero_delay(subject: Subject) -> None:
    """A delay of zero rounds changes nothing."""
    late, now = subject.varied.rounds.selected[:, :, [ZERO]], subject.plain.rounds.selected
    if (late != now).any():
        t, _, seed = np.argwhere((late != now).any(axis=1))[0]
        raise DoesNotHoldError(
            f"in round {t + 1} the policy selected {arms_in_words(late[t, :, 0, seed])} where every delay was 0, and "
            f"{arms_in_words(now[t, :, 0, seed])} without a delay model: use `now` only, not `world.delay`"
        )


def ties(subject: Subject) -> None:
    """In round 1, where all arms are alike, each is selected as often as another if ties are broken at random."""
    if any(part.own_order for part in subject.policy.nested_policies()):
        raise NotApplicableError("equal arms are played in an order of the policy's own (`own_order` is True)")
    problem, runs = cases.equal_arms(subject.table), 256
    times = engine_rounds(planned(subject.policy, problem, horizon=1, runs=runs, ties="random"))[0, :, 0].sum(axis=1)
    spread = np.sqrt(runs * (problem.arms - 1)) / problem.arms
    if np.abs(times - runs / problem.arms).max() > _DEVIATIONS * spread:
        raise DoesNotHoldError(
            f"with `ties='random'` {arms_in_words(times == times.max())} of {problem.arms} equal arms was selected in "
            f"round 1 of {times.max()} of {runs} runs: select with `now.best(score)`, which breaks ties, or set "
            "`own_order = True` in the class if equal arms are meant to be played in its own order"
        )


def late_rewards(subject: Subject) -> None:
    """Late and lost rewards do no harm."""
    what = (
        "rewards arrive late, so that an arm with `now.pulls` > 0 can have `now.received` = 0; divide by `now.samples`"
    )
    _check_defined(subject.varied.rounds, [LATE, LOST], what)
    _check_counts(subject.varied.rounds, [LATE, LOST], 1)


def chances(subject: Subject) -> None:
    """The probabilities of `choose` are those of its selections."""
    if not any(type(part).choose is not Policy.choose for part in subject.policy.nested_policies()):
        raise NotApplicableError("the policy does not define `choose`")
    varied = subject.varied.rounds
    parts: list[tuple[str, Rounds, int, int]] = [
        ("", subject.plain.rounds, 0, 1),
        ("where arms sleep, ", varied, SLEEPING, 1),
        ("where rewards arrive late, ", varied, LATE, 1),
    ]
    if subject.policy.many_plays:
        with contextlib.suppress(InputError):  # of which the check of several plays tells
            parts.append(("with 2 plays, ", subject.several_plays.rounds, SLEEPING, 2))
    for where, found, instance, plays in parts:
        try:
            _check_chances(found, instance, plays)
        except DoesNotHoldError as error:
            raise DoesNotHoldError(f"{where}{error}") from None


def _check_chances(found: Rounds, instance: int, plays: int) -> None:
    chance, selected = found.chances[:, :, instance], found.selected[:, :, instance]
    available = found.available[:, :, instance]
    if (wrong := (chance < -_TOLERANCE) | (chance > 1 + _TOLERANCE)).any():
        t, arm, seed = np.argwhere(wrong)[0]
        raise DoesNotHoldError(
            f"in round {t + 1} the chance of arm {arm} was {chance[t, arm, seed]:.4g}: chances lie between 0 and 1"
        )
    total, expected = chance.sum(axis=1), np.minimum(available.sum(axis=1), plays)
    if (wrong := np.abs(total - expected) > _TOLERANCE).any():
        t, seed = np.argwhere(wrong)[0]
        raise DoesNotHoldError(
            f"in round {t + 1} the chances summed to {total[t, seed]:.4g}, not to the number of selected arms, "
            f"{expected[t, seed]}: return for each arm the probability with which it is selected"
        )
    variance = (chance * (1 - chance)).clip(0).sum(axis=(0, 2))
    gap = (selected - chance).sum(axis=(0, 2))
    far = np.abs(gap) > _DEVIATIONS * np.sqrt(variance) + 1  # sums of martingale differences
    if far.any() or (selected & (chance < _TOLERANCE**2)).any():
        arm = int(np.argmax(np.abs(gap) / np.sqrt(variance + 1)))
        raise DoesNotHoldError(
            f"arm {arm} was selected {selected[:, arm].sum()} times in {selected[:, arm].size} rounds, but its chances "
            f"summed to {chance[:, arm].sum():.1f}: return the probabilities with which the arms are selected"
        )
    if not found.agrees[:, instance].all():
        t = int(np.argwhere(~found.agrees[:, instance])[0][0])
        raise DoesNotHoldError(
            f"in round {t + 1} `select` and `choose` selected different arms: define one of them, the other follows"
        )


def _check_defined(found: Rounds, instances: slice | list[int], what: str) -> None:
    """No index, chance or number of the state is NaN."""
    undefined = found.undefined[:, :, instances]
    if undefined.any():
        t, kind, _, seed = np.argwhere(undefined)[0]
        name = ("an index or a score", "a chance", "a number of the state")[kind]
        raise DoesNotHoldError(f"{name} was NaN in round {t + 1} of run {seed}: {what}")


def _check_counts(found: Rounds, instances: slice | list[int], plays: int) -> None:
    """L available arms are selected, or all available arms where they are fewer."""
    selected, available = (part[:, :, instances] for part in (found.selected, found.available))
    count, expected = selected.sum(axis=1), np.minimum(available.sum(axis=1), plays)
    if (count != expected).any():
        t, instance, seed = np.argwhere(count != expected)[0]
        here = arms_in_words(available[t, :, instance, seed])
        raise DoesNotHoldError(
            f"in round {t + 1} of run {seed} the policy selected {count[t, instance, seed]} of the available arms "
            f"({here} available): select {expected[t, instance, seed]}, and never an arm where `now.available` is False"
        )
