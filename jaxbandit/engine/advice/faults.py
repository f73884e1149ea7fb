"""What to tell users beside an error: what to do about a fault in their code."""

from __future__ import annotations

from collections.abc import Sequence

from jaxbandit.core.errors import ReturnedError
from jaxbandit.core.users_code.contracts import has_user_code
from jaxbandit.engine.settings import SimulationSettings
from jaxbandit.metrics.metric import METRICS, is_users
from jaxbandit.policies.base import Policy


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
