"""The site: it builds without a warning, its links lead somewhere, and browsers show its pages."""

import dataclasses
import html.parser
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import jaxbandit as jb

pytestmark = [pytest.mark.slow, pytest.mark.browser]

DOCS = Path(__file__).parents[2] / "docs"
SHOWN = [
    "index",
    "start/five-minutes",
    "concepts/metrics",
    "choose",
    "howto/own-classes",
    "howto/command-line",
    "papers/merit",
    "gallery/notebooks/penalties",
    "reference/simulate",
    "reference/generated/policies",
]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("sphinx", reason="needs the extra `docs`")
    out = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", str(DOCS), str(out)]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    return out


class Page(html.parser.HTMLParser):
    """The targets of a page's links and images, and the anchors that it has."""

    def __init__(self, file):
        super().__init__()
        self.targets, self.anchors = [], set()
        self.feed(file.read_text())

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        self.targets += [given[name] for name in ("href", "src") if given.get(name)]


def test_links_within_the_site_lead_somewhere(site):
    pages = {file: Page(file) for file in site.rglob("*.html")}
    assert len(pages) > 40
    broken = []
    for file, page in pages.items():
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc or target.startswith("data:"):
                continue
            led = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            led = led / "index.html" if led.is_dir() else led
            if not led.exists() or (parts.fragment and led in pages and parts.fragment not in pages[led].anchors):
                broken.append((file.relative_to(site).as_posix(), target))
    assert broken == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_browsers_show_the_pages(site, browser, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    errors, asked = [], []
    page.on("console", lambda message: message.type in ("error", "warning") and errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    for name in SHOWN:
        page.goto((site / f"{name}.html").as_uri())
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        missing = page.evaluate("[...document.images].filter(image => !image.naturalWidth).map(image => image.src)")
        assert (name, wide, missing, errors) == (name, 0, [], [])
    assert [address for address in asked if not address.startswith(("file:", "data:"))] == []
    context.close()


def test_the_reference_shows_what_a_policy_sees(site):
    anchors = Page(site / "reference" / "extend.html").anchors
    view = [name for name in dir(jb.RoundView) if not name.startswith("_")]
    view += [field.name for field in dataclasses.fields(jb.RoundView)]
    assert {"upper", "best", "mean", "variance", "pulls"} <= set(view)
    assert {f"jaxbandit.RoundView.{name}" for name in view} <= anchors
    assert {"jaxbandit.environment.world.World", "jaxbandit.policies.round_view.GroupView"} <= anchors
