"""A browser, results, and their pages in files. Tests of pages in a browser are slow tests."""

from pathlib import Path

import pytest

import jaxbandit as jb

HORIZON, SEEDS = 400, 12


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.slow)


class Opened:
    """A page in the browser, with the errors and the requests that it made.

    Attributes:
        page: Playwright's page.
        errors: texts of errors and warnings in the console, and of exceptions.
        requests: the addresses that it asked for.
    """

    def __init__(self, browser, **options):
        self.context = browser.new_context(accept_downloads=True, **options)
        self.page = self.context.new_page()
        self.errors, self.requests = [], []
        self.page.on(
            "console", lambda message: message.type in ("error", "warning") and self.errors.append(message.text)
        )
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def go(self, file: Path, **state):
        """Open a file at a view."""
        words = "&".join(f"{name}={value}" for name, value in state.items())
        self.page.goto("about:blank")
        self.page.goto(f"{file.as_uri()}#{words}" if words else file.as_uri())
        self.page.wait_for_selector("body[data-ready]")
        return self.page

    def table(self, name):
        """The data behind the chart whose heading begins with a text: columns and rows of texts."""
        figure = self.page.locator("figure").filter(has=self.page.locator("h2", has_text=name)).first
        if figure.locator("details").get_attribute("open") is None:
            figure.locator("summary").click()
        figure.locator("details table").wait_for()
        return figure.locator("details table").evaluate(ROWS)

    def saved(self, button):
        """The text of the file that a button saves."""
        with self.page.expect_download() as download:
            self.page.get_by_role("button", name=button, exact=True).first.click()
        return Path(download.value.path()).read_text("utf-8")


ROWS = "table => [...table.rows].map(row => [...row.cells].map(cell => cell.textContent))"


@pytest.fixture
def opened(browser):
    """A page on a wide screen, which must close without an error and ask for nothing but files."""
    made = Opened(browser, viewport={"width": 1280, "height": 900})
    yield made
    made.context.close()
    assert made.errors == []
    assert [url for url in made.requests if not url.startswith(("file:", "about:", "blob:", "data:"))] == []


@pytest.fixture(scope="session")
def results():
    """Policies of several kinds and a grid of six points, on one instance with guarantees, penalties and delays."""
    problem = jb.Problem([0.5, 0.9, 0.3, 0.7], fractions=[0.1, 0.05, 0.2, 0.1], penalties=0.3)
    lfg = {"kind": "lfg", "eta": [1.0, 10.0, 100.0], "exploration": [0.5, 2.0]}
    policies = ["hard-threshold-ucb", {"kind": "fair-learn", "label": "FUCB"}, lfg, "ucb1"]
    return jb.simulate(problem, policies, horizon=HORIZON, seeds=SEEDS, key=5)


@pytest.fixture(scope="session")
def instances():
    """Policies with phases on three instances."""
    problem = {"means": [[0.8, 0.3, 0.5], [0.2, 0.9, 0.4], [0.6, 0.5, 0.4]], "penalties": 0.5, "opportunity": "softmax"}
    return jb.simulate(problem, ["self-regulated", "fairness-aware-etc", "ucb1"], horizon=HORIZON, seeds=SEEDS, key=6)


@pytest.fixture(scope="session")
def large():
    """A grid of 10,000 made-up points over three parameters."""
    from made_up import grid, made_up

    etas, rates = [2.0**i for i in range(25)], [0.05 * (i + 1) for i in range(20)]
    return made_up(["ucb1", *grid("lfg", eta=etas, exploration=rates, width=[float(i) for i in range(20)])], rounds=60)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="session")
def file(results, folder):
    return jb.dashboard(results, title="Four policies").save(folder / "results.html")


@pytest.fixture(scope="session")
def instances_file(instances, folder):
    return jb.dashboard(instances).save(folder / "instances.html")


@pytest.fixture(scope="session")
def large_file(large, folder):
    return jb.dashboard(large).save(folder / "large.html")
