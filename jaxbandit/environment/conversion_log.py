"""Conversion logs: how often clicks on real products end in a purchase, and how long after (002, Fig. 3).

Read are the Criteo Sponsored Search Conversion Log, 23 columns, a click a line, and the extract of it that 002
used, 5 columns: Sale, time_delay_for_conversion, nb_clicks_1week, product_id, product_title. Both are UTF-8,
tab-separated and without a header, and -1 marks a missing value. An arm is a product title.
"""

from __future__ import annotations

import numbers
import os
import re
import reprlib
import stat
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from jaxbandit.core.errors import InputError
from jaxbandit.core.rationals import exact_fraction

_WEEK = 604_800  # seconds in the week over which nb_clicks_1week counts
_PLACES = {5: (0, 1, 2, 4), 23: (0, 2, 4, 20)}  # of Sale, _NAMES and product_title, by the number of columns
_NAMES = ("time_delay_for_conversion", "nb_clicks_1week")
_LONGEST = 1 << 20  # bytes of a line; what has longer ones is no log, and could fill the memory
_WHOLE = re.compile("-?[0-9]{1,18}")  # what int() takes, less spaces, underscores and what int64 cannot hold


@dataclass(frozen=True, eq=False)
class ConversionLog:
    """The conversions of K products, the product with the most lines in the log first.

    Attributes:
        products: K product titles.
        seconds: K arrays, int64: the seconds from click to purchase of each conversion, in file order; -1 missing.
        clicks: K arrays, int64: nb_clicks_1week of each conversion; -1 missing.
    """

    products: tuple[str, ...]
    seconds: tuple[np.ndarray, ...]
    clicks: tuple[np.ndarray, ...]

    @property
    def counts(self) -> np.ndarray:
        """How many conversions each product has, `[K]`, int64."""
        return np.array([len(part) for part in self.seconds], np.int64)

    @property
    def means(self) -> np.ndarray:
        """The counts min-max scaled to [0, 1], `[K]`, float64; an InputError where all are equal."""
        above = self.counts - self.counts.min()
        if not above.any():
            raise InputError(
                "problem.means",
                self.counts.tolist(),
                "counts of conversions that are not all equal, so that they can be scaled to [0, 1]",
            )
        return above / above.max()

    def delays(self, click_rate: Any = 0.05, key: str = "problem.delay.click_rate") -> tuple[np.ndarray, ...]:
        """The delays in page visits, K arrays, int64, missing ones left out; arguments and errors as in `visits`."""
        pairs = zip(self.seconds, self.clicks, strict=True)
        known = ((seconds, clicks, (seconds >= 0) & (clicks >= 0)) for seconds, clicks in pairs)
        return tuple(page_visits(seconds[rows], clicks[rows], click_rate, key) for seconds, clicks, rows in known)


def page_visits(seconds: np.ndarray, clicks: np.ndarray, click_rate: Any, key: str) -> np.ndarray:
    """Delays in page visits, `[n]` int64: floor(seconds / (604800 / (clicks / click_rate))), 0 without clicks; exact.

    Args:
        seconds: `[n]`, integers >= 0: from click to purchase.
        clicks: `[n]`, integers >= 0: on the product in a week, in which it is visited clicks / click_rate times.
        click_rate: the share of page visits that end in a click, the decimal that was written (0.05 is 1/20).
        key: the name to give in an error.

    Raises:
        InputError: click_rate is no number in (0, 1] or makes delays too large for int64; no integers >= 0.
    """
    for name, part in (("seconds", seconds), ("clicks", clicks)):
        if part.dtype.kind not in "iu" or np.any(part < 0):
            raise InputError(name, part, "an array of integers >= 0")
    scale = 1 / (_WEEK * exact_click_rate(click_rate, key))
    largest = int(seconds.max(initial=0)) * int(clicks.max(initial=0)) * scale.numerator
    word = np.int64 if max(largest, scale.denominator) < 1 << 63 else object  # else Python's own integers
    exact = seconds.astype(word) * clicks.astype(word) * scale.numerator // scale.denominator
    if exact.max(initial=0) >= 1 << 63:
        raise InputError(key, click_rate, "a rate at which every delay stays below 2**63 page visits")
    return exact.astype(np.int64)


def exact_click_rate(click_rate: Any, key: str) -> Fraction:
    """The share of page visits that end in a click, exactly.

    Raises:
        InputError: no number in (0, 1]; `key` is the name to give.
    """
    try:
        rate = exact_fraction(click_rate, key)
    except (ValueError, OverflowError):  # an infinite Decimal overflows
        rate = Fraction(0)
    if not 0 < rate <= 1:
        raise InputError(key, click_rate, "a number > 0 and <= 1")
    return rate


def read_log(path: str | os.PathLike[str], arms: int | None = None, key: str = "problem.delay.table") -> ConversionLog:
    """Read a conversion log, line by line: memory goes to the product titles and to 32 bytes a conversion.

    Every line is a click, and one with Sale = 1 a conversion; it counts even where its delay is missing. Lines whose
    product title is missing (-1) belong to no arm. The number of columns of the first line tells the format; a first
    line of column names is skipped.

    Args:
        path: the file.
        arms: how many products to keep, those with the most lines, ties by first appearance; None: all.
        key: the name to give in an error.

    Raises:
        InputError: a file that cannot be read, a line that is wrong (with its number), fewer products than `arms`,
            or a product kept that has no conversion with a known delay.
    """
    path = os.fspath(path) if isinstance(path, os.PathLike) else path
    if arms is not None and (isinstance(arms, bool) or not isinstance(arms, numbers.Integral) or arms < 1):
        raise InputError(f"{key}.arms", arms, "a whole number >= 1")
    index: dict[str, int] = {}  # of the products, in order of first appearance
    lines, conversions = array("q"), array("q")  # by product; rows of product, seconds, clicks, line number
    for number, sale, seconds, clicks, title in _lines(path, key):
        product = index.setdefault(title, len(index))
        if product == len(lines):
            lines.append(0)
        lines[product] += 1
        if sale == "1":
            conversions.extend((product, int(seconds), int(clicks), number))
    if arms is not None and arms > len(index):
        raise InputError(f"{key}.arms", arms, f"at most {len(index)}, the number of products in {path!r}")

    table = np.asarray(conversions, np.int64).reshape(-1, 4)
    table = table[np.argsort(table[:, 0], kind="stable")]  # by product, each in file order
    bounds = np.searchsorted(table[:, 0], np.arange(len(index) + 1))
    titles, kept = list(index), np.argsort(-np.asarray(lines), kind="stable")[:arms]
    rows = [table[bounds[product] : bounds[product + 1], 1:] for product in kept]
    for k, (product, mine) in enumerate(zip(kept, rows, strict=True)):
        missing = mine[:, :2] < 0
        if missing.any(axis=1).all():  # of no rows, too
            what = f"no conversion{' with a known delay' if len(mine) else ''} in its {lines[product]} line(s)"
            raise _fault(key, path, f"product {reprlib.repr(titles[product])} (arm {k}) has {what}")
    seconds_of, clicks_of = (tuple(mine[:, column].copy() for mine in rows) for column in (0, 1))
    return ConversionLog(tuple(titles[product] for product in kept), seconds_of, clicks_of)


def _lines(path: str, key: str) -> Iterator[tuple[int, str, str, str, str]]:
    """The lines that name a product, checked: line number, Sale, seconds, clicks, title."""
    columns = blank = products = 0
    for number, raw in _raw(path, key):
        if len(raw) == _LONGEST:  # a part of a line
            raise _fault(key, path, f"line {number} has {_LONGEST} bytes or more")
        try:
            fields = raw.decode().rstrip("\r\n").split("\t")
        except UnicodeDecodeError as error:
            raise _fault(key, path, f"line {number} is not UTF-8 at byte {error.start + 1}") from None
        if len(fields) == 1 and not fields[0].strip():
            blank = blank or number
            continue
        if blank:  # and more behind it
            raise _fault(key, path, f"line {blank} is blank")
        if not columns:
            columns = len(fields)
            if columns not in _PLACES:
                raise _fault(key, path, f"line {number} has {columns} column(s) between tabs, not 5 or 23")
            pick = itemgetter(*_PLACES[columns])
            fields[0] = fields[0].removeprefix("\ufeff")  # the mark that Windows puts before UTF-8
            if fields[0].lower() == "sale":
                continue
        if len(fields) != columns:
            raise _fault(key, path, f"line {number} has {len(fields)} column(s) where the first has {columns}")
        sale, seconds, clicks, title = pick(fields)
        if sale not in ("0", "1"):
            raise _fault(key, path, f"line {number} has {reprlib.repr(sale)} as Sale, which is 0 or 1")
        for name, value in zip(_NAMES, (seconds, clicks), strict=True):
            if not _WHOLE.fullmatch(value):
                raise _fault(key, path, f"line {number} has {reprlib.repr(value)} as {name}, no whole number")
            if sale == "1" and int(value) < -1:
                raise _fault(key, path, f"line {number}, a conversion, has {value} as {name}, which is negative")
        if not title.strip():
            raise _fault(key, path, f"line {number} has an empty product title")
        if title != "-1":
            products = 1
            yield number, sale, seconds, clicks, title
    if not products:
        raise _fault(key, path, "it has no line with a product" if columns else "it is empty")


def _raw(path: str, key: str) -> Iterator[tuple[int, bytes]]:
    """The lines as they are in the file, from number 1."""
    try:
        name = os.fspath(path)
    except TypeError:  # such as a number, which open() would take for a file descriptor
        raise InputError(key, path, "the path of a conversion log") from None
    try:
        kind = stat.S_IFMT(os.stat(name).st_mode)
        if kind not in (stat.S_IFREG, stat.S_IFDIR):  # reading a pipe could block for ever
            raise _fault(key, path, "it is a device or a pipe, not a file")
        with open(name, "rb") as file:
            yield from enumerate(iter(partial(file.readline, _LONGEST), b""), 1)
    except InputError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a null byte in the path
        reason = str(getattr(error, "strerror", None) or error)
        raise InputError(key, path, f"cannot be read: {reason.lower()}") from None


def _fault(key: str, path: str, what: str) -> InputError:
    return InputError(key, path, f"a conversion log, but {what}")
