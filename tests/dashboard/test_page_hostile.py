"""Hostile labels and titles run no code and break no layout; a large page loads quickly."""

import statistics

import pytest
from made_up import grid, made_up

import jaxbandit as jb

pytestmark = pytest.mark.browser

HOSTILE = [
    "<script>window.hacked = 1</script>",
    "</script><script>window.hacked = 1</script>",
    "\"><img src=x onerror='window.hacked = 1'>",
    "`${window.hacked = 1}`",
    "'; $(touch hacked); '",
    "x" * 10_000,
    "long words " * 900,
    "\u202e\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "line\nbreak\ttab\u2028separator",
    "]]><!-- --> &lt;b&gt; \\u003c",
    "__proto__",
    "constructor",
]
VIEWS = ["curves", "arms", "tradeoffs", "grid", "table", "about"]


@pytest.fixture(scope="module")
def hostile_file(folder):
    labels = ["ucb1", *HOSTILE]
    results = made_up([*HOSTILE, *grid("lfg", family=HOSTILE[0] + "g", eta=[1.0, 2.0], exploration=[1.0, 2.0])])
    assert set(labels) - {"ucb1"} <= set(results.policy.values.tolist())
    return jb.dashboard(results, title=HOSTILE[1] + HOSTILE[2]).save(folder / "hostile.html")


@pytest.mark.parametrize("width", [1280, 360])
def test_labels_are_text(opened, hostile_file, width):
    page = opened.page
    page.set_viewport_size({"width": width, "height": 800})
    for view in VIEWS:
        opened.go(hostile_file, view=view)
        page.wait_for_timeout(60)
        assert page.evaluate("window.hacked") is None, view
        assert page.locator("img, script[src], iframe").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view
        for select in page.locator("#controls select").all():
            assert select.bounding_box()["width"] <= width
    opened.go(hostile_file, view="curves")
    assert page.title() == (HOSTILE[1] + HOSTILE[2])
    table = opened.table("")
    assert HOSTILE[0] in table[0]
    assert HOSTILE[7] in table[0]
    page.locator(".chart").first.focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    assert page.locator("#point h2").inner_text() == HOSTILE[0]
    assert page.evaluate("window.hacked") is None


def test_tips_of_long_labels_stay_on_the_screen(opened, hostile_file):
    page = opened.go(hostile_file, view="tradeoffs")
    chart = page.locator(".chart")
    chart.focus()
    for _ in HOSTILE:
        page.keyboard.press("ArrowRight")
        box = page.locator("#tip").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 1280
        assert box["height"] < 700


def test_labels_in_a_notebook_frame(opened, hostile_file, folder):
    results = made_up(HOSTILE)
    notebook = folder / "hostile-notebook.html"
    notebook.write_text(f"<!doctype html><html><body>{jb.dashboard(results, title=HOSTILE[2])._repr_html_()}", "utf-8")
    page = opened.page
    page.goto(notebook.as_uri())
    frame = page.frame_locator("iframe").first
    frame.locator("body[data-ready]").wait_for()
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0


def test_a_large_page_loads_as_quickly_as_an_inert_one(opened, large_file, folder):
    """From the navigation to the drawn view: 1 s, or 3 times a page of the same size without scripts."""
    inert = folder / "inert.html"
    size = large_file.stat().st_size
    head = '<!doctype html><html><body data-ready="1"><script type="text/plain">'
    inert.write_text(head + "A" * (size - len(head)))
    page, seconds = opened.page, {"page": [], "inert": []}
    script = "performance.now() / 1000"
    for _ in range(5):
        for name, file in (("page", large_file), ("inert", inert)):
            page.goto("about:blank")
            page.goto(file.as_uri(), wait_until="commit")
            page.wait_for_selector("body[data-ready]", state="attached")
            seconds[name].append(page.evaluate(script))
    ours, other = (statistics.median(seconds[name]) for name in ("page", "inert"))
    print(f"page of {size / 1e6:.2f} MB: {ours:.2f} s, inert page: {other:.2f} s")
    assert ours <= max(1.0, 3 * other)
