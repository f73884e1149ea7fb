"""The report of a reproduction opens the results behind each figure."""

import pytest

from jaxbandit import cli

pytestmark = pytest.mark.browser


def test_buttons_open_pages(opened, tmp_path):
    assert cli.main(["reproduce", "guarantees", "--quick", "--out", str(tmp_path)]) == 0
    page = opened.page
    page.goto((tmp_path / "report.html").as_uri())
    buttons = page.locator(".explore button")
    assert buttons.count() > 2
    assert page.locator("iframe").count() == 0
    for place in range(buttons.count()):
        button = buttons.nth(place)
        button.click()
        assert button.get_attribute("aria-expanded") == "true"
        frame = page.frame_locator("iframe").last
        frame.locator("body[data-ready]").wait_for()
        assert frame.locator("h1").inner_text() == button.inner_text()
        frame.get_by_role("button", name="About").click()
        assert f"guarantees/data/{button.inner_text()}.nc holds this config" in frame.locator("#charts").inner_text()
        button.click()
        assert page.locator(".explore iframe").count() == 0
