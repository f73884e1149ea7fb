"""Quotas of any round of a run, from a table of one period."""

from __future__ import annotations

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxbandit.core.errors import InputError
from jaxbandit.core.rationals import Quota, QuotaTable, rounded_down
from jaxbandit.core.struct import static, struct

_MOST_ENTRIES = 1 << 24  # of each of the table's three arrays: 192 MiB in all


@struct
class QuotaSchedule:
    """The quotas tau_k s of every s from 0 on.

    tau (s + p) is tau s plus the integer tau p, where p is a common denominator of the fractions: a table of p rows
    has all fractional parts.

    Attributes:
        table: the quotas of s = 0, ..., n - 1, arrays `[n, K, J or 1]`.
        per_period: tau_k n, int32 `[K, J or 1]`; zeros if the table has all rounds.
        period: n.
        short: whether n per_period fits int32, so that floors and ceilings can be computed.
    """

    table: Quota
    per_period: Array
    period: int = static(1)
    short: bool = static(False)

    def at(self, s: Array) -> Quota:
        """The quotas of s, arrays `[K, J or 1]`; s is an int32 scalar."""
        place = s % self.period
        row = jax.tree.map(lambda rows: lax.dynamic_index_in_dim(rows, place, keepdims=False), self.table)
        before = (s // self.period) * self.per_period
        if not self.short:
            return Quota(before + row.floor, row.fraction, row.fraction_rank)
        # Computed, because rows that differ from run to run are slow to read
        product, period = place * self.per_period, jnp.int32(self.period)
        floor, ceiling = lax.div(product, period), lax.div(product + (period - 1), period)
        return Quota(before + floor, row.fraction, row.fraction_rank, before + ceiling)

    def up_to(self, last: int) -> Quota:
        """The quotas of s = 0, ..., last, arrays `[last + 1, K, J or 1]`.

        Raises:
            InputError: the table would be too large.
        """
        entries = (last + 1) * self.per_period.size
        if entries > _MOST_ENTRIES:
            most = _MOST_ENTRIES // self.per_period.size - 1
            raise InputError("horizon", last, f"at most {most} rounds here; `jb.simulate` plays longer runs")
        every: Quota = jax.vmap(self.at)(jnp.arange(last + 1, dtype=jnp.int32))
        return dataclasses.replace(every, ceiling=None)  # rows that are read in turn need none


def quota_schedule(fractions: np.ndarray, horizon: int | None) -> QuotaSchedule:
    """The schedule of exact fractions `[K, J]`.

    Args:
        horizon: the largest s that is asked for; None for no largest one.

    Raises:
        InputError: the table would be too large.
    """
    period = math.lcm(*(fraction.denominator for fraction in fractions.ravel()))
    whole = horizon is not None and horizon < period
    rows = horizon + 1 if horizon is not None and whole else period
    if rows * fractions.size > _MOST_ENTRIES:
        words = f"a horizon or fractions whose table of quotas has at most {_MOST_ENTRIES // fractions.size} rows"
        raise InputError("problem.fractions", [str(one) for one in fractions.ravel()], f"{words} (it has {rows})")
    quota = QuotaTable(fractions, rows).rows(0, rows)
    per_period = np.zeros(fractions.shape) if whole else (fractions * period)
    fraction = rounded_down(quota.fraction, np.dtype(jnp.result_type(float)))
    table = Quota(*jax.device_put((quota.floor, fraction, quota.fraction_rank)))
    short = not whole and rows * (int(per_period.max()) + 1) < 2**31
    return QuotaSchedule(table, jax.device_put(per_period.astype(np.int32)), rows, short)
