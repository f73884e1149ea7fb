"""The report of `check_policy`: one result per check, printed as a table."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

_WIDTH = 120  # characters of a printed line


@dataclass(frozen=True)
class CheckResult:
    """The result of one check.

    Attributes:
        name: the name of the check.
        holds: True or False; None where the check does not apply, or could not be made.
        sentence: what holds; or what was seen, and what to do; or why the check does not apply.
    """

    name: str
    holds: bool | None
    sentence: str

    @property
    def verdict(self) -> str:
        """The result in words: "holds", "does not hold" or "not applicable"."""
        return {True: "holds", False: "does not hold", None: "not applicable"}[self.holds]


@dataclass(frozen=True, repr=False)
class PolicyReport:
    """What `jb.check_policy` found; it prints as a table with one row per check.

    Attributes:
        policy: the name of the policy.
        results: a `CheckResult` per check: `name`, `holds` (True, False, or None where the check does not apply) and
            `sentence`. `report["vmap"]` is the result of one check.
        ok: whether every check that applies holds.
        failed: the names of the checks that do not hold.

    Example:
        >>> report = jb.check_policy("ucb1", checks=["jit"])
        policy 'ucb1': every check holds
        prepare  holds  the policy can be made and prepared for a problem and a horizon
        jit      holds  the methods can be compiled, and return the shapes and dtypes that are expected
        >>> report
        <report on policy 'ucb1': every check holds>
        >>> report.ok, report.failed, report["jit"].holds
        (True, [], True)
    """

    policy: str
    results: tuple[CheckResult, ...]

    @property
    def ok(self) -> bool:
        """Whether every check that applies holds."""
        return not self.failed

    @property
    def failed(self) -> list[str]:
        """The names of the checks that do not hold."""
        return [result.name for result in self.results if result.holds is False]

    def __getitem__(self, name: str) -> CheckResult:
        return next(result for result in self.results if result.name == name)

    def __repr__(self) -> str:
        return f"<report on {self._summary()}>"

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _summary(self) -> str:
        count = len(self.failed)
        summary = f"{count} of {len(self.results)} checks {'does' if count == 1 else 'do'} not hold"
        return f"policy {self.policy!r}: {summary if count else 'every check holds'}"

    def _lines(self) -> Iterator[str]:
        yield self._summary()
        names, verdicts = ([getattr(one, part) for one in self.results] for part in ("name", "verdict"))
        left = max(map(len, names)) + 2, max(map(len, verdicts)) + 2
        for result in self.results:
            first = result.name.ljust(left[0]) + result.verdict.ljust(left[1])
            yield from textwrap.wrap(
                result.sentence,
                _WIDTH,
                initial_indent=first,
                subsequent_indent=" " * len(first),
                break_long_words=False,
                break_on_hyphens=False,
            )
