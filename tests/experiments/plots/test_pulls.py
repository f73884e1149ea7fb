"""`jb.plots.pulls`: ticks and marks are in sight; dollar signs in labels."""

import pytest

import jaxbandit as jb
from jaxbandit.experiments.plots.arms import _ticks
from jaxbandit.experiments.plots.style import caption


@pytest.mark.parametrize("ends", [(20.3, 70), (172, 1260), (0, 28000), (0.7, 1.4e6), (0, 1.4), (0, 14), (650, 980)])
def test_an_axis_has_two_to_ten_round_numbers(ends):
    ticks = _ticks(*ends)
    assert 2 <= len(ticks) <= 10
    assert ticks == sorted(set(ticks))
    assert ends[0] <= ticks[0] < ticks[-1] <= ends[1]


def test_the_marks_are_within_the_axis():
    """The guaranteed plays are far below all plays."""
    axis = jb.plots.pulls(
        jb.simulate(jb.Problem([0.9, 0.88, 0.86], fractions=0.05), "ucb1", horizon=900, seeds=8)
    ).axes[0]
    low, high = axis.get_ylim()
    assert low < 45
    assert high > 810
    assert {line.get_label() for line in axis.collections} >= {"guaranteed, τT", "optimal"}


def test_there_is_no_optimum_where_arms_sleep():
    problem = jb.Problem([0.9, 0.5], fractions=0.1, availability=[0.5, 1.0])
    axis = jb.plots.pulls(jb.simulate(problem, "ucb1", horizon=100, seeds=8, metrics=["regret"])).axes[0]
    labels = {line.get_label() for line in axis.collections}
    assert "guaranteed, τT" in labels
    assert "optimal" not in labels


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("budget $5 or $10", r"budget \$5 or \$10"),
        ("$5", r"\$5"),
        ("$5 and $x$", r"\$5 and \$x\$"),
        (r"$\eta = 3$", r"$\eta = 3$"),
        (r"a $T$ and $\tau_k$", r"a $T$ and $\tau_k$"),
    ],
)
def test_dollar_signs_are_kept_unless_they_enclose_mathematics(label, shown):
    assert caption(label) == shown
