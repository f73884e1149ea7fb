"""What to tell users beside an error: what to do about a fault in their code; and warnings about their problem."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from jaxbandit.core.component import has_user_code
from jaxbandit.core.errors import ReturnedError
from jaxbandit.engine.settings import SimulationSettings
from jaxbandit.environment.problem import Problem
from jaxbandit.metrics.metric import METRICS, is_users
from jaxbandit.policies.base import Policy


def helped_by_order(policies: Iterable[Policy], problems: Iterable[Problem], way_out: str) -> str:
    """A warning where ties go to the better arm because of the order in which arms are listed; else empty.

    Args:
        policies, problems: pairs of a policy and the problem that it is simulated on.
        way_out: what to do about it.
    """
    for policy, problem in zip(policies, problems, strict=True):
        means = problem.means
        if policy.equal_at_first and np.all(np.diff(means, axis=0) <= 0) and np.any(means[0] > means[-1]):
            return (
                "the arms are listed from the best to the worst, and ties go to the lowest arm: this helps "
                f"{policy.name}, whose indices are equal for many arms at first; {way_out}"
            )
    return ""


def about_metric(error: Exception, settings: SimulationSettings, names: Sequence[str]) -> Exception:
    """The error; if it is about a user's metric that is computed by default, it says how to do without the metric."""
    text = "\n".join([str(error), *getattr(error, "__notes__", [])])
    named = {*(settings.metrics or []), *settings.runs}
    mine = [name for name in names if name not in named and is_users(METRICS[name])]
    own = [name for name in mine if f"metric {name!r}" in text or f": {name} at round " in text]
    if not own:
        return error
    words = (
        f"it is computed by default, as all metrics: metrics=[...] leaves it out, and jb.unregister('metrics', "
        f"{own[0]!r}) removes it"
    )
    return _with_words(error, words)


def about_policy(error: Exception, policy: Policy) -> Exception:
    """The error about selected arms or an index; for a user's policy it says what finds the cause."""
    if not has_user_code(policy):
        return error
    words = "jb.check_policy finds the round and the cause"
    if isinstance(error, ReturnedError):
        words = f"an arm that is not in `now.available` does not count; {words}"
    return _with_words(error, words)


def _with_words(error: Exception, words: str) -> Exception:
    if isinstance(error, ReturnedError):
        return error.with_words(words)
    if isinstance(error, FloatingPointError):
        return FloatingPointError(f"{error}; {words}")
    error.add_note(words[0].upper() + words[1:] + ".")
    return error
