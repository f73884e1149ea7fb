"""Conversion logs: clicks on real products, which of them end in a purchase, and after what time.

Two formats can be read: the Criteo Sponsored Search Conversion Log, which has 23 columns and one click per line, and
the extract of it that the merit paper uses (Fig. 3), which has 5 columns: Sale, time_delay_for_conversion,
nb_clicks_1week, product_id, product_title. Both are UTF-8 text, separated by tabs; -1 marks a missing value. A first
line with the names of the columns may be there. An arm is a product title.
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
_PLACES = {5: (0, 1, 2, 4), 23: (0, 2, 4, 20)}  # columns of Sale, _NAMES and product_title, by the number of columns
_NAMES = ("time_delay_for_conversion", "nb_clicks_1week")
_HEADER = ("sale", *_NAMES, "product_title")  # of the columns at `_PLACES`
_LONGEST_LINE = 1 << 20  # bytes; a file with longer lines is not a log, and could fill the memory
_WHOLE_NUMBER = re.compile("-?[0-9]{1,18}")  # fits into int64; unlike int(), without spaces and underscores


@dataclass(frozen=True, eq=False)
class ConversionLog:
    """The conversions of K products, sorted by the number of their lines in the log, largest first.

    Attributes:
        products: K product titles.
        seconds: K int64 arrays: the seconds from click to purchase of each conversion, in file order; -1 if missing.
        clicks: K int64 arrays: nb_clicks_1week of each conversion; -1 if missing.
    """

    products: tuple[str, ...]
    seconds: tuple[np.ndarray, ...]
    clicks: tuple[np.ndarray, ...]

    @property
    def counts(self) -> np.ndarray:
        """The number of conversions of each product, int64 `[K]`."""
        return np.array([len(part) for part in self.seconds], np.int64)

    @property
    def means(self) -> np.ndarray:
        """The counts, scaled to [0, 1] by their minimum and maximum, float64 `[K]`.

        Raises:
            InputError: all counts are equal.
        """
        above_least = self.counts - self.counts.min()
        if not above_least.any():
            raise InputError(
                "problem.means",
                self.counts.tolist(),
                "counts of conversions that are not all equal, so that they can be scaled to [0, 1]",
            )
        return above_least / above_least.max()

    def delays(self, click_rate: Any = 0.05, key: str = "problem.delay.click_rate") -> tuple[np.ndarray, ...]:
        """The known delays in page visits, K int64 arrays; arguments and errors as for `page_visits`."""
        pairs = zip(self.seconds, self.clicks, strict=True)
        known = ((seconds, clicks, (seconds >= 0) & (clicks >= 0)) for seconds, clicks in pairs)
        return tuple(page_visits(seconds[rows], clicks[rows], click_rate, key) for seconds, clicks, rows in known)


def page_visits(seconds: np.ndarray, clicks: np.ndarray, click_rate: Any, key: str) -> np.ndarray:
    """Delays in page visits: floor(seconds / (604800 / (clicks / click_rate))), or 0 without clicks; computed exactly.

    Args:
        seconds: the times from click to purchase, integers >= 0, `[n]`.
        clicks: the clicks on the product per week, integers >= 0, `[n]`; its page has clicks / click_rate visits.
        click_rate: the share of page visits that end in a click, in (0, 1], exactly as written (0.05 is 1/20).
        key: the config key of `click_rate`, for errors.

    Returns:
        The delays, int64 `[n]`.

    Raises:
        InputError: an argument is out of range, or a delay does not fit into int64.
    """
    for name, part in (("seconds", seconds), ("clicks", clicks)):
        if part.dtype.kind not in "iu" or np.any(part < 0):
            raise InputError(name, part, "an array of integers >= 0")
    scale = 1 / (_WEEK * exact_click_rate(click_rate, key))
    largest = int(seconds.max(initial=0)) * int(clicks.max(initial=0)) * scale.numerator
    dtype = np.int64 if max(largest, scale.denominator) < 1 << 63 else object  # Python's integers do not overflow
    exact = seconds.astype(dtype) * clicks.astype(dtype) * scale.numerator // scale.denominator
    if exact.max(initial=0) >= 1 << 63:
        raise InputError(key, click_rate, "a rate at which every delay stays below 2**63 page visits")
    return exact.astype(np.int64)


def exact_click_rate(click_rate: Any, key: str) -> Fraction:
    """The share of page visits that end in a click, as an exact ratio.

    Raises:
        InputError: not a number in (0, 1]; the error names `key`.
    """
    try:
        rate = exact_fraction(click_rate, key)
    except (ValueError, OverflowError):  # not a number; an infinite Decimal overflows
        rate = Fraction(0)
    if not 0 < rate <= 1:
        raise InputError(key, click_rate, "a number > 0 and <= 1")
    return rate


def read_log(path: str | os.PathLike[str], arms: int | None = None, key: str = "problem.delay.table") -> ConversionLog:
    """Read a conversion log, line by line. It takes memory for the product titles and 32 bytes per conversion.

    Every line is a click. A click with Sale = 1 is a conversion, also if its delay is missing. Lines without a product
    title (-1) are ignored. The number of columns of the first line determines the format. A first line with the names
    of the columns, the first of them "Sale", is skipped; those of the columns that are read must be in their places.

    Args:
        path: the file.
        arms: K, the number of products to keep, those with the most lines; products with equally many lines are sorted
            by first appearance. None keeps all products.
        key: the config key of the path, for errors.

    Raises:
        InputError: the file cannot be read, a line is invalid (the error has its number), there are fewer products than
            `arms`, or a kept product has no conversion with a known delay.
    """
    path = os.fspath(path) if isinstance(path, os.PathLike) else path
    if arms is not None and (isinstance(arms, bool) or not isinstance(arms, numbers.Integral) or arms < 1):
        raise InputError(f"{key}.arms", arms, "a whole number >= 1")
    index: dict[str, int] = {}  # of the products, by title, in order of first appearance
    lines = array("q")  # the number of lines of each product
    conversions = array("q")  # rows of product index, seconds, clicks and line number
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
    table = table[np.argsort(table[:, 0], kind="stable")]  # sorted by product, then in file order
    bounds = np.searchsorted(table[:, 0], np.arange(len(index) + 1))
    titles, kept = list(index), np.argsort(-np.asarray(lines), kind="stable")[:arms]
    rows = [table[bounds[product] : bounds[product + 1], 1:] for product in kept]
    for k, (product, found) in enumerate(zip(kept, rows, strict=True)):
        missing = found[:, :2] < 0
        if missing.any(axis=1).all():  # also if there are no rows
            what = f"no conversion{' with a known delay' if len(found) else ''} in its {lines[product]} line(s)"
            raise _invalid(key, path, f"product {reprlib.repr(titles[product])} (arm {k}) has {what}")
    seconds_of, clicks_of = (tuple(found[:, column].copy() for found in rows) for column in (0, 1))
    return ConversionLog(tuple(titles[product] for product in kept), seconds_of, clicks_of)


def log_of_arms(path: str | os.PathLike[str], arms: int, key: str) -> ConversionLog:
    """`read_log` for a problem of K arms: where the log has fewer products, the error names the log."""
    try:
        return read_log(path, arms, key)
    except InputError as error:
        if error.key != f"{key}.arms":
            raise
        words = f"a conversion log of {arms} products or more, one per arm ({error.allowed})"
        raise InputError(key, str(path), words) from None


def _lines(path: str, key: str) -> Iterator[tuple[int, str, str, str, str]]:
    """The valid lines that have a product title: line number, Sale, seconds, clicks, title."""
    columns = blank = products = 0
    for number, raw in _raw(path, key):
        if len(raw) == _LONGEST_LINE:  # only a part of the line was read
            raise _invalid(key, path, f"line {number} has {_LONGEST_LINE} bytes or more")
        try:
            fields = raw.decode().rstrip("\r\n").split("\t")
        except UnicodeDecodeError as error:
            raise _invalid(key, path, f"line {number} is not UTF-8 at byte {error.start + 1}") from None
        if len(fields) == 1 and not fields[0].strip():
            blank = blank or number
            continue
        if blank:  # blank lines are allowed at the end only
            raise _invalid(key, path, f"line {blank} is blank")
        if not columns:
            columns = len(fields)
            if columns not in _PLACES:
                raise _invalid(key, path, f"line {number} has {columns} column(s) between tabs, not 5 or 23")
            pick = itemgetter(*_PLACES[columns])
            fields[0] = fields[0].removeprefix("\ufeff")  # the byte order mark that Windows writes
            if fields[0].strip().lower() == "sale":
                _check_header(path, key, number, fields)
                continue
        if len(fields) != columns:
            raise _invalid(key, path, f"line {number} has {len(fields)} column(s) where the first has {columns}")
        sale, seconds, clicks, title = pick(fields)
        if sale not in ("0", "1"):
            raise _invalid(key, path, f"line {number} has {reprlib.repr(sale)} as Sale, which is 0 or 1")
        for name, value in zip(_NAMES, (seconds, clicks), strict=True):
            if not _WHOLE_NUMBER.fullmatch(value):
                raise _invalid(
                    key, path, f"line {number} has {reprlib.repr(value)} as {name}, which is not a whole number"
                )
            if sale == "1" and int(value) < -1:
                raise _invalid(key, path, f"line {number}, a conversion, has {value} as {name}, which is negative")
        if not title.strip():
            raise _invalid(key, path, f"line {number} has an empty product title")
        if title != "-1":
            products = 1
            yield number, sale, seconds, clicks, title
    if not products:
        raise _invalid(key, path, "it has no line with a product" if columns else "it is empty")


def _check_header(path: str, key: str, number: int, fields: list[str]) -> None:
    """Refuse names of columns in other places than those that are read.

    Raises:
        InputError: naming the first of them.
    """
    names = [field.strip().lower() for field in fields]
    for name, place in zip(_HEADER, _PLACES[len(fields)], strict=True):
        if name in names and names[place] != name:
            found, wanted = names.index(name) + 1, place + 1
            raise _invalid(key, path, f"line {number} names {name} in column {found}; it must be in column {wanted}")


def _raw(path: str, key: str) -> Iterator[tuple[int, bytes]]:
    """The lines of the file with their numbers, from 1; of long lines the first `_LONGEST_LINE` bytes."""
    try:
        name = os.fspath(path)
    except TypeError:  # such as a number, which open() would take for a file descriptor
        raise InputError(key, path, "the path of a conversion log") from None
    try:
        kind = stat.S_IFMT(os.stat(name).st_mode)
        if kind not in (stat.S_IFREG, stat.S_IFDIR):  # reading a pipe could block for ever
            raise _invalid(key, path, "it is a device or a pipe, not a file")
        with open(name, "rb") as file:
            yield from enumerate(iter(partial(file.readline, _LONGEST_LINE), b""), 1)
    except InputError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a null byte in the path
        reason = str(getattr(error, "strerror", None) or error).lower()
        if isinstance(error, FileNotFoundError) and not os.path.isabs(name):
            reason += f" in {os.getcwd()}, the working directory"
        raise InputError(key, path, f"cannot be read: {reason}") from None


def _invalid(key: str, path: str, what: str) -> InputError:
    """The error for a file that is not a conversion log; `what` says why."""
    return InputError(key, path, f"a conversion log; {what}")
