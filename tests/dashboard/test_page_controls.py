"""Every control does something, can be reached by Tab, and leaves no error; links keep the view."""

import xml.etree.ElementTree as ET

import pytest

import jaxbandit as jb

pytestmark = pytest.mark.browser

VIEWS = ["curves", "arms", "tradeoffs", "grid", "table", "about"]
# The elements of the page that a user can act on, and the one that has the focus.
NAME = "one => one.id || one.outerHTML.slice(0, 160)"
ACTIVE = f"""() => [...document.querySelectorAll("a[href], button, select, input, summary, [tabindex]")]
  .filter(one => !one.disabled && one.checkVisibility({{ contentVisibilityAuto: true }})).map({NAME})"""
FOCUSED = f"() => document.activeElement === document.body ? null : ({NAME})(document.activeElement)"
SHOWN = """() => [...document.querySelectorAll("#charts canvas")].map(one => one.toDataURL()).join()
  + [...document.querySelectorAll("#charts svg, #charts table")]
    .map(one => one.innerHTML.replace(/area-\\d+/g, "")).join()"""


def charts(page):
    """What the charts show: pixels of canvases and the markup of drawings and tables."""
    return page.evaluate(SHOWN)


@pytest.mark.parametrize("view", ["curves", "arms", "tradeoffs", "grid"])
def test_every_choice_changes_the_charts(opened, file, view):
    page = opened.go(file, view=view)
    for select in page.locator("#controls select").all():
        name = select.get_attribute("id")
        values = select.locator("option").evaluate_all("options => options.map(option => option.value)")
        pictures = set()
        for value in values:
            page.select_option(f"#{name}", value)
            page.wait_for_timeout(40)
            pictures.add(charts(page))
        assert len(pictures) >= min(2, len(values)), name
        page.select_option(f"#{name}", values[0])
    for box in page.locator("#controls input[type=checkbox]:enabled").all():
        before = charts(page)
        name = box.get_attribute("id")
        page.locator(f"#{name}").click()
        page.wait_for_timeout(40)
        if not (view == "tradeoffs" and name == "choice-logx"):  # all unfairness may be 0 there
            assert charts(page) != before, name


def test_policies_and_instances_are_switched_on_and_off(opened, instances_file):
    page = opened.go(instances_file, view="curves")
    header = lambda: opened.table("")[0]  # noqa: E731
    assert len(header()) == 1 + 2 * 3
    page.get_by_label("ucb1", exact=True).uncheck()
    assert len(header()) == 1 + 2 * 2
    page.get_by_label("all instances").click()
    assert len(header()) == 1 + 2 * 2 * 4
    page.get_by_label("no instances").click()
    assert page.get_by_text("The curves of the chosen instances are not in this page").count() == 1
    page.get_by_label("no policies").click()
    assert page.get_by_text("No policy is chosen.").count() == 1
    page.get_by_label("all policies").click()
    page.get_by_label("mean over 3 instances", exact=True).check()
    assert len(header()) == 1 + 2 * 3


def test_the_page_says_how_many_policies_are_shown(opened, file, folder):
    from made_up import grid, made_up

    several = made_up([*grid("lfg", eta=[float(i) for i in range(20)]), *grid("fair-learn", alpha=list(range(15)))])
    page = opened.go(jb.dashboard(several).save(folder / "several.html"), view="curves")
    assert page.locator("#shown-count").inner_text() == "6 of 35 policies shown"
    assert page.locator("#body .switches input:checked").count() == 6
    opened.go(folder / "several.html", view="tradeoffs")
    assert len(opened.table("")) == 1 + 35
    page.get_by_label("no policies").click()
    assert page.locator("#shown-count").inner_text() == "0 of 35 policies shown"
    opened.go(file, view="curves")
    assert page.locator("#shown-count").count() == 0
    assert page.locator("#body .switches input:checked").count() == 9


def test_tab_reaches_every_control(opened, file):
    for view in VIEWS:
        page = opened.go(file, view=view)
        expected = set(page.evaluate(ACTIVE))
        reached = set()
        for _ in range(4 * len(expected)):
            page.keyboard.press("Tab")
            reached.add(page.evaluate(FOCUSED))
        assert expected <= reached, (view, expected - reached)
        assert len(expected) > 15


def test_a_control_keeps_the_focus(opened, file):
    page = opened.go(file, view="curves")
    for name in ("choice-band", "choice-logrounds", "policies-1"):
        page.focus(f"#{name}")
        page.keyboard.press("Space")
        assert page.evaluate("document.activeElement.id") == name


def test_a_link_keeps_the_view(opened, file):
    page = opened.go(file, view="grid")
    page.select_option("#choice-gridmetric", "unfairness")
    page.get_by_label("ucb1", exact=True).uncheck()
    page.select_option("#choice-theme", "dark")
    link, before = page.url, charts(page)
    assert "#" in link
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector("body[data-ready]")
    assert charts(page) == before
    assert page.input_value("#choice-gridmetric") == "unfairness"
    assert not page.get_by_label("ucb1", exact=True).is_checked()
    page.evaluate("location.hash = '#view=table&filter=FUCB'")  # as a link in another page would
    page.locator("#results").wait_for()
    assert page.locator("#results tbody tr").count() == 1
    page.go_back()


@pytest.mark.parametrize(
    "hash",
    [
        "view=nothing",
        "metric=<script>",
        "hide=99",
        "hide=a.b",
        "view=grid&gridx=7&fixed=9.9.9",
        "instances=5",
        "%%%",
        "page=99&view=table",
    ],
)
def test_a_damaged_link_shows_a_page(opened, file, hash):
    page = opened.page
    page.goto(f"{file.as_uri()}#{hash}")
    page.wait_for_selector("body[data-ready]")
    assert page.locator("#charts figure, #charts table").count() > 0


def test_saved_figures_are_drawings_with_their_labels(opened, file, results):
    for view, name in (
        ("curves", "penalized_regret"),
        ("arms", "selections"),
        ("tradeoffs", "trade-off"),
        ("grid", "grid"),
    ):
        opened.go(file, view=view)
        root = ET.fromstring(opened.saved(f"Save SVG: {name}"))
        texts = [one.text for one in root.iter() if one.tag.endswith("text")]
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert sum(1 for one in root.iter() if one.tag.rpartition("}")[2] in ("path", "circle", "rect")) > 5
        if view != "grid":
            assert {"ucb1", "hard-threshold-ucb"} <= set(texts)


def test_copying_says_so(opened, file):
    page = opened.go(file, view="curves")
    page.click("#copy-link")
    page.get_by_text("copied", exact=True).wait_for()


def test_two_pages_in_a_notebook(opened, results, instances, folder):
    """Two frames beside each other: each shows its own results, and neither touches the address of the notebook."""
    frames = [
        jb.dashboard(one, title=title, height=500)._repr_html_() for one, title in ((results, "A"), (instances, "B"))
    ]
    notebook = folder / "notebook.html"
    notebook.write_text("<!doctype html><html lang='en'><title>n</title><body>" + "".join(frames), "utf-8")
    page = opened.page
    page.goto(notebook.as_uri())
    for place, title in enumerate(("A", "B")):
        frame = page.frame_locator("iframe").nth(place)
        frame.locator("body[data-ready]").wait_for()
        assert frame.locator("h1").inner_text() == title
        frame.locator("#view-table").click()
        frame.locator("#results").wait_for()
        assert frame.locator("#copy-link").count() == 0
    assert page.url == notebook.as_uri()


def test_headings_name_the_instances_that_are_shown(opened, instances_file):
    heading = lambda page: page.locator("#charts h2").first.inner_text()  # noqa: E731
    for view in ("curves", "arms", "tradeoffs"):
        assert heading(opened.go(instances_file, view=view)).endswith("mean over 3 instances × 12 runs")
    for view in ("curves", "tradeoffs"):
        page = opened.go(instances_file, view=view, instances=2)
        assert heading(page).endswith("mean over 12 runs of instance 1")
    page = opened.go(instances_file, view="arms", armseries=3)
    assert heading(page).endswith("mean over 12 runs of instance 2")
    page = opened.go(instances_file, view="table", instances="0.1")
    status = page.locator("[role=status]").inner_text()
    assert status.endswith("over 3 instances × 12 runs; 12 runs of instance 0")


def test_policies_of_one_kind_have_marks_and_dashes_of_their_own(opened, folder):
    tables = [{"kind": "lfg", "eta": eta, "label": f"eta {eta}"} for eta in (1.0, 10.0, 100.0)]
    results = jb.simulate(jb.Problem([0.9, 0.5], fractions=0.1), tables, horizon=100, seeds=8, ties="random")
    page = opened.go(jb.dashboard(results).save(folder / "alike.html"), view="tradeoffs")
    marks = page.locator("#charts svg > path").evaluate_all("paths => paths.map(path => path.getAttribute('d').length)")
    assert len(marks) == len(set(marks)) == 3  # of the legend
    dashes = page.locator("#body .swatch line").evaluate_all(
        "lines => lines.map(one => one.getAttribute('stroke-dasharray'))"
    )
    assert len(set(dashes)) == 3


def test_points_without_a_place_on_a_logarithmic_axis_are_counted(opened, folder):
    results = jb.simulate(jb.Problem([0.9, 0.5], fractions=0.3), ["fair-learn", "ucb1"], horizon=100, seeds=8)
    page = opened.go(jb.dashboard(results).save(folder / "zero.html"), view="tradeoffs", x="unfairness", y="regret")
    hint = page.get_by_text("no place on a logarithmic axis")
    assert hint.count() == 0
    page.get_by_label("logarithmic across").check()
    assert hint.inner_text() == "1 point has a value at or below 0, which has no place on a logarithmic axis."


def test_what_rounding_leaves_of_zeros_has_no_place_on_a_logarithmic_axis(opened, folder):
    results = jb.simulate(jb.Problem([0.9, 0.5], fractions=0.3), ["fair-learn", "ucb1"], horizon=100, seeds=8)
    rounded = results.assign(regret=results.regret.copy(data=results.regret.values))
    rounded.regret[0, 0, 20:23] = [1.4e-14, 0.0, 2.8e-14]
    page = opened.go(jb.dashboard(rounded).save(folder / "rounded.html"), view="curves", metric="regret", logvalues=1)
    zeros = int((results.regret.values <= 0).sum()) + 3 - int((results.regret.values[0, 0, 20:23] <= 0).sum())
    assert page.get_by_text(f"{zeros} values at or below 0 have no place on a logarithmic axis").count() == 1
    texts = [
        text.text for text in ET.fromstring(opened.saved("Save SVG: regret")).iter("{http://www.w3.org/2000/svg}text")
    ]
    assert not [text for text in texts if text and text.startswith("1e-1")]


def test_lines_of_arms_have_a_legend(opened, file):
    page = opened.go(file, view="arms")
    assert page.locator("#charts .legend li").count() >= 4
