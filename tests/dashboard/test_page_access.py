"""The page for readers with other needs and screens: axe-core, phone width, dark colours."""

import pytest

pytestmark = pytest.mark.browser

VIEWS = ["curves", "arms", "tradeoffs", "grid", "table", "about"]


def serious(page):
    """The serious and critical violations that axe-core finds."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [(one["id"], one["nodes"][0]["html"][:200]) for one in found if one["impact"] in ("serious", "critical")]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(opened, file, theme):
    for view in VIEWS:
        page = opened.go(file, view=view, theme=theme)
        if view in ("curves", "tradeoffs"):
            page.locator("details summary").first.click()
            page.locator(".chart").first.focus()
            page.keyboard.press("ArrowRight")
            page.keyboard.press("Enter")
        assert serious(page) == [], view


def test_axe_finds_nothing_serious_in_phases(opened, instances_file):
    assert serious(opened.go(instances_file, view="phases")) == []


@pytest.mark.parametrize("width", [360, 768])
def test_no_view_is_wider_than_the_screen(opened, file, large_file, width):
    page = opened.page
    page.set_viewport_size({"width": width, "height": 740})
    for one in (file, large_file):
        for view in VIEWS:
            opened.go(one, view=view)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, view


def test_dark_colours_follow_the_system(opened, file):
    page = opened.page
    page.emulate_media(color_scheme="dark")
    opened.go(file)
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.emulate_media(color_scheme="light")
    page.wait_for_function("document.documentElement.dataset.theme === 'light'")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)" != dark


def test_every_chart_has_a_table_and_a_name(opened, file):
    for view in ("curves", "arms", "tradeoffs", "grid"):
        page = opened.go(file, view=view, metric="all")
        figures = page.locator("figure").all()
        assert figures
        for figure in figures:
            assert figure.locator("details.data").count() == 1
            assert figure.locator(".chart").get_attribute("aria-label").startswith("Chart: ")
