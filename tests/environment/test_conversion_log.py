"""Conversion logs: both formats, every error, and delays in page visits against Python's fractions."""

import dataclasses
import math
import os
import tracemalloc
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxbandit as jb
from jaxbandit.core.errors import InputError
from jaxbandit.environment.conversion_log import ConversionLog, page_visits, read_log

WEEK = 604_800
KEY = "problem.delay.table"


def short(title, seconds=60, clicks=7, sale=1):
    """A line of the extract."""
    return f"{sale}\t{seconds}\t{clicks}\tID\t{title}"


def full(title, seconds=60, clicks=7, sale=1):
    """A line of the full log."""
    front = [sale, 12.5, seconds, 1598925284, clicks, 0.0, -1, "PHONE", "AUDIENCE", -1, "BRAND"]
    return "\t".join(map(str, [*front, *range(7), "COUNTRY", "ID", title, "PARTNER", "USER"]))


@pytest.fixture
def log(tmp_path):
    """Writes lines to a file and gives its path."""

    def write(*lines, end="\n", last="\n"):
        path = tmp_path / "log.tsv"
        path.write_bytes((end.join(lines) + last).encode())
        return path

    return write


def refused(path, *parts, **arguments):
    """Reading is refused with the key, the path and the parts in the message."""
    with pytest.raises(InputError) as caught:
        read_log(path, **arguments)
    assert caught.value.key == KEY
    assert caught.value.held == str(path)
    for part in parts:
        assert part in str(caught.value)


def test_the_extract(log):
    found = read_log(log(short("b c", 5, 1), short("a", 6, 2), short("b c", 7, 3), short("b c", 8, 0)))
    assert found.products == ("b c", "a")
    assert [part.tolist() for part in found.seconds] == [[5, 7, 8], [6]]
    assert [part.tolist() for part in found.clicks] == [[1, 3, 0], [2]]
    assert all(part.dtype == np.int64 for part in (*found.seconds, *found.clicks, *found.delays(), found.counts))
    assert found.counts.tolist() == [3, 1]


def test_every_line_of_the_full_log_is_a_click_and_only_sales_convert(log):
    lines = [full("a", 1), full("a", 2), full("b", -1, 9, sale=0), full("b", 3, 4), full("b", -5, -5, sale=0)]
    found = read_log(str(log(*lines)))
    assert found.products == ("b", "a")
    assert [part.tolist() for part in found.seconds] == [[3], [1, 2]]
    assert [part.tolist() for part in found.clicks] == [[4], [7, 7]]


@pytest.mark.parametrize("line", [short, full])
def test_arms_are_ordered_by_lines_and_ties_by_first_appearance(log, line):
    path = log(*map(line, ["d", "z", "a", "m", "a", "m", "z", "q", "a"]))
    assert read_log(path).products == ("a", "z", "m", "d", "q")
    for arms in (1, 2, np.int64(4)):
        assert read_log(path, arms).products == ("a", "z", "m", "d", "q")[:arms]
    tied = read_log(log(*(line(f"{k * 7 % 30}", k) for k in range(90))))  # enough for a sort that is not stable to show
    assert tied.products == tuple(f"{k * 7 % 30}" for k in range(30))
    assert [part.tolist() for part in tied.seconds] == [[k, k + 30, k + 60] for k in range(30)]


@pytest.mark.parametrize("line", [short, full])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "\n", "\r\n", "\n\n", "\r\n \r\n"])
@pytest.mark.parametrize("first", ["", "\ufeff"])
@pytest.mark.parametrize("header", [False, True])
def test_line_ends_and_what_stands_before_the_first_line(log, line, end, last, first, header):
    lines = [line("title", "time_delay_for_conversion", "nb", "Sale")] * header + [line("é b", 5), line("c\u2028", 6)]
    found = read_log(log(first + lines[0], *lines[1:], end=end, last=last))
    assert found.products == ("é b", "c\u2028")
    assert [part.tolist() for part in found.seconds] == [[5], [6]]


def test_names_of_columns_in_other_places_are_refused(log):
    names = "Sale\ttime_delay_for_conversion\tnb_clicks_1week\tproduct_id\tproduct_title"
    assert read_log(log(names, short("a"))).products == ("a",)
    words = "line 1 names product_title in column 4; it must be in column 5"
    refused(log(names.replace("product_id\tproduct_title", "product_title\tproduct_id"), short("a")), words)
    words = "line 1 names time_delay_for_conversion in column 3; it must be in column 2"
    refused(log("SALE\tnb_clicks_1week\tTime_Delay_For_Conversion\tid\tname", short("a")), words)
    assert read_log(log("Sale\tseconds\tclicks\tid\tname", short("a"))).products == ("a",)


def test_lines_without_a_product_belong_to_no_arm(log):
    assert read_log(log(full("-1"), full("-1"), full("a"))).products == ("a",)
    refused(log(full("-1")), "no line with a product")


@pytest.mark.parametrize("line", [short, full])
@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"sale": 2}, "'2' as Sale, which is 0 or 1"),
        ({"sale": ""}, "'' as Sale"),
        ({"seconds": "3.5"}, "'3.5' as time_delay_for_conversion, which is not a whole number"),
        ({"seconds": "1_0"}, "'1_0' as time_delay_for_conversion, which is not a whole number"),
        ({"seconds": "٣"}, "'٣' as time_delay_for_conversion, which is not a whole number"),
        ({"seconds": "9" * 19}, "as time_delay_for_conversion, which is not a whole number"),
        ({"seconds": "x", "sale": 0}, "'x' as time_delay_for_conversion, which is not a whole number"),
        ({"clicks": ""}, "'' as nb_clicks_1week, which is not a whole number"),
        ({"clicks": "many" * 99}, "nb_clicks_1week, which is not a whole number"),
        ({"seconds": -2}, "a conversion, has -2 as time_delay_for_conversion, which is negative"),
        ({"clicks": -7}, "a conversion, has -7 as nb_clicks_1week, which is negative"),
        ({"title": "  "}, "has an empty product title"),
    ],
)
def test_a_wrong_value_is_named_with_its_line(log, line, bad, says):
    refused(log(line("a"), line("a", sale=0), line(**{"title": "a", **bad})), "line 3", says)


def test_wrong_lines_are_named(log):
    refused(log(short("a"), full("a")), "line 2 has 23 column(s) where the first has 5")
    refused(log(full("a"), full("a"), "1\t2"), "line 3 has 2 column(s) where the first has 23")
    refused(log("1,60,7,ID,a"), "line 1 has 1 column(s) between tabs, not 5 or 23")
    refused(log(short("a\tb")), "line 1 has 6 column(s)")
    refused(log(short("a"), "", "", short("a")), "line 2 is blank")
    refused(log("", short("a")), "line 1 is blank")
    refused(log(short("a"), short("b" * (1 << 20))), "line 2 has 1048576 bytes or more")
    path = log(short("a"), short("b"))
    path.write_bytes(path.read_bytes() + short("é").encode("latin-1"))
    refused(path, "line 3 is not UTF-8 at byte 11")


@pytest.mark.parametrize("content", ["", "\n", "\r\n\r\n"])
def test_an_empty_file(log, content):
    refused(log(last=content), "it is empty")


def test_a_file_that_cannot_be_read(tmp_path):
    refused(tmp_path / "none.tsv", "none.tsv': cannot be read: no such file or directory")
    refused("none.tsv", f"none.tsv': cannot be read: no such file or directory in {os.getcwd()}, the working directory")
    refused(tmp_path, "is a directory")
    refused("log\0.tsv", "null byte")
    if os.path.exists("/proc/self/mem"):
        refused("/proc/self/mem", "input/output error")
    for held, shown in ((0, "= 0"), (1.5, "= 1.5"), (None, "is missing")):  # open() would take 0 for standard input
        with pytest.raises(InputError, match=f"{KEY} {shown}: must be"):
            read_log(held)


@pytest.mark.parametrize("arms", [0, -1, 1.0, True, "2"])
def test_arms_is_a_whole_number(log, arms):
    with pytest.raises(InputError, match=rf"{KEY}.arms = {arms!r}: must be a whole number >= 1"):
        read_log(log(short("a")), arms)


def test_more_arms_than_products(log):
    with pytest.raises(InputError, match=r"other\.arms = 3: must be at most 2, the number of products in"):
        read_log(log(short("a"), short("b")), 3, "other")


def test_an_arm_without_conversions(log):
    title = " ".join(["0123456789ABCDEF"] * 9)
    path = log(full("a"), full("a"), full(title, sale=0), full("c"))
    refused(path, "product '012345678", "CDEF' (arm 1) has no conversion in its 1 line(s)")
    assert read_log(path, 1).products == ("a",)


def test_conversions_without_a_delay_count_but_are_not_drawn_from(log):
    path = log(short("a"), short("a", -1), short("a", 70, 0), short("a", 9, -1), short("b", 5, -1))
    kept = read_log(path, 1)
    assert kept.counts.tolist() == [4]
    assert kept.seconds[0].tolist() == [60, -1, 70, 9]
    assert kept.delays()[0].tolist() == [60 * 7 * 20 // WEEK, 0]
    refused(path, "product 'b' (arm 1) has no conversion with a known delay")


def test_means_are_the_counts_scaled(log):
    found = read_log(log(*map(short, "aaaaabbbc")))
    assert found.means.tolist() == [1.0, 0.5, 0.0]
    assert found.means.dtype == np.float64
    for equal in ("ab", "a"):
        with pytest.raises(InputError, match=r"problem\.means = \[1.*counts of conversions that are not all equal"):
            _ = read_log(log(*map(short, equal))).means


def test_errors_of_problems_name_the_log(log):
    path = str(log(short("a"), short("b")))
    words = r"must be a conversion log of 3 products or more, one per arm \(at most 2, the number of products in"
    with pytest.raises(InputError, match=rf"problem\.delay\.table = '{path}': {words}"):
        jb.simulate(jb.Problem([0.1, 0.2, 0.3], delay={"kind": "empirical", "table": path}), "ucb1", horizon=9, seeds=1)
    words = r"must be a log with counts of conversions that are not all equal, .*; they are \[1, 1\]"
    with pytest.raises(InputError, match=rf"problem\.means\.conversions = '{path}': {words}"):
        jb.Problem({"conversions": path})


def test_the_log_is_frozen_and_delays_take_a_click_rate():
    made = ConversionLog(("a", "b"), (np.array([WEEK]), np.array([1, WEEK - 1])), (np.array([3]), np.array([0, 1])))
    assert [part.tolist() for part in made.delays()] == [[60], [0, 19]]
    assert [part.tolist() for part in made.delays(1)] == [[3], [0, 0]]
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.products = ()


whole = st.one_of(st.integers(0, 3_000_000), st.integers(0, 10**18 - 1))
rates = st.one_of(st.just(0.05), st.floats(1e-6, 1), st.decimals("0.001", 1, places=3), st.fractions("1/999", 1))


@given(st.lists(st.tuples(whole, whole), max_size=5), rates)
@settings(deadline=None, max_examples=200)
def test_visits_are_exact(pairs, rate):
    seconds, clicks = np.array(pairs, np.int64).reshape(-1, 2).T
    written = Fraction(str(rate)) if isinstance(rate, float) else Fraction(rate)
    exact = [0 if n == 0 else math.floor(s / (WEEK / (Fraction(n) / written))) for s, n in pairs]
    if max(exact, default=0) >= 2**63:
        with pytest.raises(InputError, match=r"below 2\*\*63 page visits"):
            page_visits(seconds, clicks, rate, "rate")
    else:
        made = page_visits(seconds, clicks, rate, "rate")
        assert made.dtype == np.int64
        assert made.tolist() == exact


def test_visits_where_floats_fall_short():
    clicks = np.arange(1, 2000)
    made = page_visits(np.full(1999, WEEK), clicks, 0.07, "rate")
    assert made.tolist() == [n * 100 // 7 for n in range(1, 2000)]
    assert np.any(made > np.floor(WEEK / (WEEK / (clicks / 0.07))))


@pytest.mark.parametrize("rate", [0, -0.1, 1.01, float("nan"), float("inf"), Decimal("Infinity"), "0.05", None, True])
def test_a_click_rate_lies_between_0_and_1(rate):
    with pytest.raises(InputError, match=r"rate (= .*|is missing): must be a number > 0 and <= 1"):
        page_visits(np.array([1]), np.array([1]), rate, "rate")


@pytest.mark.parametrize("bad", [np.array([-1]), np.array([1.0])])
def test_visits_are_of_integers_from_0(bad):
    for name, pair in (("seconds", (bad, np.array([1]))), ("clicks", (np.array([1]), bad))):
        with pytest.raises(InputError, match=f"{name} = array.*: must be an array of integers >= 0"):
            page_visits(*pair, 0.05, "rate")


@pytest.mark.slow
def test_reading_does_not_hold_the_text(tmp_path):
    path = tmp_path / "large.tsv"
    lines = [full(f"product {k} " + "F" * 500, 3, sale=sale) for k in range(50) for sale in (0, 1)]
    with path.open("w") as file:
        file.writelines("\n".join(lines) + "\n" for _ in range(300))
    assert path.stat().st_size > 18_000_000
    tracemalloc.start()
    found = read_log(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.counts.tolist() == [300] * 50
    assert peak < 3_000_000  # 15,000 conversions at 32 bytes, sorted
