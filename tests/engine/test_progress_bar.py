"""The progress bar says what is under way from the first second."""

import pytest

import jaxbandit as jb
from jaxbandit.engine.host import progress_bar


class Bar:
    """A bar that keeps what it is told."""

    def __init__(self, **keywords):
        self.disable, self.n, self.total = keywords["disable"], 0, keywords["total"]
        self.words, self.format_dict = [keywords["postfix"]], {"elapsed": 1.0}

    def set_postfix_str(self, words, refresh=True):
        self.words.append(words)

    def refresh(self):
        pass

    def reset(self):
        self.n = 0

    def update(self, rounds):
        self.n += rounds

    def close(self):
        self.closed = True


@pytest.mark.parametrize("shown", [True, False])
def test_policies_are_counted_while_they_are_compiled(monkeypatch, shown):
    bars = []
    monkeypatch.setattr(progress_bar, "_new_bar", lambda **keywords: bars.append(Bar(**keywords)) or bars[-1])
    policies = ["ucb1", "moss", {"kind": "ucb-v", "c": [1.0, 2.0]}]
    jb.simulate(jb.Problem([0.9, 0.5, 0.1]), policies, horizon=20, seeds=3, progress=shown)
    (bar,) = bars
    assert bar.disable is not shown
    assert bar.words[0] == "compiling"
    counts = [word for word in bar.words if word.startswith("compiling (")]
    assert counts
    assert all(word.endswith(" of 4 policies)") for word in counts)
    assert "compiled" in bar.words
    assert bar.n == bar.total == 4 * 3 * 20
    assert bar.closed
