"""The summary table, read back."""

import itertools

import numpy as np
import pytest
from made_up import MEANS, by_relevance, grid, made_up
from scipy import stats

from jaxbandit.experiments import statistics, summary

GRID = ["ucb1", *grid("lfg", eta=[0.1, 1, 10, 100, 1000])]
CASES = {
    "one instance": made_up(["ucb1", "hard-threshold-ucb"]),
    "many instances": made_up(GRID, [MEANS, [0.2, 0.3, 0.4, 0.8]]),
    "one seed": made_up(GRID, seeds=1),
    "no fractions": made_up(["ucb1"], fractions=None),
}


@pytest.fixture(params=CASES)
def results(request):
    return CASES[request.param]


def means(results, metric):
    """Mean and standard error over seeds and instances, from every run."""
    runs = results[f"{metric}_final"].values
    n, j = runs.shape[2], runs.shape[1]
    error = np.sqrt((runs.var(axis=2, ddof=1) / n).sum(axis=1)) / j if n > 1 else np.zeros(len(runs))
    return runs.mean(axis=(1, 2)), error


def cells(results):
    """The rows of the table by label, each as texts by column."""
    head, rule, *rows, note = summary.table(results).splitlines()
    edges = np.cumsum([0, *(len(dashes) + 2 for dashes in rule.split("  "))])
    columns = [slice(a, b - 2) for a, b in itertools.pairwise(edges)]
    names = [head[column].strip() for column in columns]
    assert all(len(row.rstrip()) <= len(rule) for row in rows)
    return {
        row[columns[0]].strip(): {n: row[c].strip() for n, c in zip(names, columns, strict=True)} for row in rows
    }, note


def test_the_table_has_a_line_per_policy_and_a_column_per_metric(results):
    rows, note = cells(results)
    assert list(rows) == results.policy.values.tolist()
    recorded = by_relevance(results)
    joint = "r-regret ≈ c-regret" if "≈" in recorded.get("r_regret", "") else "r-regret"
    names = {name: name.replace("_", " ") for name in recorded}
    names |= {name: words for name, words in (("r_regret", joint), ("c_regret", "c-regret")) if name in names}
    columns = ["policy", *names.values()]
    ever = "max_deficit" in recorded
    several = results.sizes["seed"] > 1
    assert note.startswith(f"at T = 120: mean{' ± 95 % confidence' * several} over ")
    assert note.endswith("; max deficit ever is the largest of all runs") == ever
    for i, row in enumerate(rows.values()):
        assert list(row) == columns + ["max deficit ever"] * ever
        if ever:
            assert float(row["max deficit ever"]) == pytest.approx(
                results.max_deficit_ever[i].max().item(), abs=0.005001
            )
        for name in recorded:
            average, error = (x[i] for x in means(results, name))
            text = row[names[name]]
            assert ("±" in text) == (results.sizes["seed"] > 1)
            mean, *half = (float(part) for part in text.split("±"))
            if half:
                shown_half = half[0]
                width = stats.t.ppf(0.975, results.sizes["instance"] * (results.sizes["seed"] - 1)) * error
                assert shown_half == pytest.approx(width, rel=0.051)  # two digits
                assert mean == pytest.approx(average, abs=0.051 * width + 0.005001 * (error == 0))
            else:
                assert mean == pytest.approx(average, rel=1e-3, abs=1e-12)


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (1234.5678, 12.345, "1235 ± 12"),
        (1234.5678, 123.4, "1235 ± 123"),
        (1.23456, 0.0123, "1.235 ± 0.012"),
        (-0.5, 3.21, "-0.5 ± 3.2"),
        (2.0, 0.0, "2.00 ± 0"),
        (1234.5678, 0.0, "1234.57 ± 0"),
        (0.0029999, 0.0, "0.00300 ± 0"),
        (-0.195, 0.0, "-0.195 ± 0"),
        (0.0, 0.0, "0 ± 0"),
        (3.21e-9, 0.0, "3.21e-09 ± 0"),
        (3.21e-9, 1.23e-10, "3.21e-09 ± 1.2e-10"),
        (0.0, 1.23e-10, "0 ± 1.2e-10"),
        (0.0029999, 0.0000012, "0.0029999 ± 1.2e-06"),
        (1234.5678, float("nan"), "1235"),
    ],
)
def test_a_number_is_rounded_to_the_digits_of_its_error(mean, half, text):
    assert statistics.with_error(mean, half) == text
