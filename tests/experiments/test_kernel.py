"""In a kernel of Jupyter: a bar of widgets, and an interruption that is told in a line."""

import os
import time

import pytest

pytestmark = pytest.mark.slow

LONG = """import jaxbandit as jb
problem = jb.Problem([0.9, 0.5])
jb.simulate(problem, "ucb1", horizon=10**6, seeds=10**5{more})"""


class Kernel:
    """A kernel, in which code is run."""

    def __init__(self, manager, client):
        self.manager, self.client = manager, client

    def start(self, code):
        """Begin to run a cell."""
        self.client.execute(code)

    def outputs(self, timeout=120):
        """The outputs of the cell: pairs of a kind and its content, up to the end of the cell."""
        made = []
        while True:
            message = self.client.get_iopub_msg(timeout=timeout)
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                return made
            if kind not in ("status", "execute_input"):
                made.append((kind, content))

    def run(self, code):
        self.start(code)
        return self.outputs()


@pytest.fixture(scope="module")
def kernel():
    manager_of = pytest.importorskip("jupyter_client.manager", reason="needs Jupyter")
    own = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}  # which a command may have set
    manager, client = manager_of.start_new_kernel(kernel_name="python3", env=own)
    made = Kernel(manager, client)
    yield made
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.mark.parametrize("keeps", [False, True])
def test_an_interruption_is_told_in_a_line(kernel, tmp_path, keeps):
    kernel.run("import jaxbandit as jb\njb.simulate(jb.Problem([0.9, 0.5]), 'ucb1', horizon=9, seeds=64)")
    kernel.start(LONG.format(more=f", keep={str(tmp_path)!r}, block=64" if keeps else ""))
    begun = time.monotonic()  # the program is compiled in less than 4 seconds
    while time.monotonic() < begun + 4 or (keeps and not list(tmp_path.rglob("*.block"))):
        time.sleep(0.1)
        assert time.monotonic() < begun + 60
    kernel.manager.interrupt_kernel()
    errors = [content for kind, content in kernel.outputs() if kind == "error"]
    assert [error["ename"] for error in errors] == ["Interrupted"]
    shown = "\n".join(errors[0]["traceback"])
    assert len(shown.splitlines()) == 1
    if keeps:
        assert str(tmp_path) in shown
    else:
        assert "nothing is kept; with keep=FOLDER the same call goes on" in shown


def test_the_bar_is_a_widget(kernel):
    pytest.importorskip("ipywidgets")
    code = """import jaxbandit as jb
jb.simulate(jb.Problem([0.9, 0.5]), ["ucb1", "moss"], horizon=100, seeds=10, progress=True).sizes["policy"]"""
    outputs = kernel.run(code)
    shown = [content["data"] for kind, content in outputs if kind == "display_data"]
    assert len(shown) == 1
    assert "application/vnd.jupyter.widget-view+json" in shown[0]
    assert not [content for kind, content in outputs if kind == "stream"]


FIGURES = """import jaxbandit as jb
results = jb.simulate(jb.Problem([0.9, 0.5]), ["ucb1", "moss"], horizon=99, seeds=5)"""


def pictures(outputs):
    return [content["data"] for _, content in outputs if "image/png" in content.get("data", {})]


def test_figures_are_shown_after_a_first_one_of_this_package(kernel):
    """It loads the backend, which Jupyter names in the environment; no figure was drawn before."""
    kernel.run(FIGURES)
    of_others = "import matplotlib.pyplot as plt\nplt.subplots();"
    for cell in ("jb.plots.curves(results);", "jb.plots.pulls(results);", of_others):
        assert len(pictures(kernel.run(cell))) == 1, cell


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("jb.plots.curves(results)", 1),
        ("figure = jb.plots.curves(results)", 1),
        ("import matplotlib.pyplot as plt\njb.plots.curves(results)\nplt.show()", 1),
        ("figure = jb.plots.curves(results)\nfigure", 1),
        ("jb.plots.curves(results)\njb.plots.pulls(results)", 2),
        ("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()", 1),  # figures of others are shown as before
    ],
)
def test_a_figure_is_shown_once(kernel, cell, expected):
    kernel.run(FIGURES)
    outputs = kernel.run(cell)
    assert len(pictures(outputs)) == expected, [kind for kind, _ in outputs]
    assert not [content for kind, content in outputs if kind in ("error", "stream")]
    again = kernel.run("1 + 1")  # nothing is left over for the next cell
    assert not pictures(again)


def test_many_figures_leave_no_warning(kernel):
    kernel.run(FIGURES)
    outputs = [one for _ in range(23) for one in kernel.run("jb.plots.pulls(results)")]
    assert not [content for kind, content in outputs if kind == "stream"]
    assert len(pictures(outputs)) == 23
