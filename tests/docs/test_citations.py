"""`jb.cite`: every policy and metric names its source, and what was run is cited by well-formed BibTeX."""

import re

import pytest

import jaxbandit as jb
from jaxbandit.experiments.output.bibliography import ENTRIES
from jaxbandit.experiments.output.citations import source_of
from jaxbandit.papers import PAPERS

NO_PAPER = {"uniform-random"}
NEEDED = {
    "article": {"title", "author", "journal", "year"},
    "inproceedings": {"title", "author", "booktitle", "year"},
    "misc": {"title", "author", "year"},
    "unpublished": {"title", "author", "note"},
    "software": {"title", "author", "version", "url"},
}


def built_in(names):
    """Without the classes that other tests define."""
    classes = {name: jb.policies.ChancePolicy.registry.get(name) for name in names}
    return [
        name for name, cls in classes.items() if cls is None or "jaxbandit" in getattr(cls, "policy", cls).__module__
    ]


NAMES = built_in([*jb.list_policies(), *jb.list_metrics()])


def entries(text):
    """The entries of a BibTeX text: key -> (type, fields)."""
    found = {}
    for kind, key, body in re.findall(r"^@(\w+)\{(\w+),\n(.*?)^\}$", text, re.DOTALL | re.MULTILINE):
        fields = dict(re.findall(r"^  (\w+) = \{(.*?)\},$", body, re.DOTALL | re.MULTILINE))
        assert all(value.count("{") == value.count("}") for value in fields.values()), key
        assert key not in found
        found[key] = kind, fields
    assert len(found) == text.count("@")
    return found


@pytest.mark.parametrize("name", NAMES)
def test_its_source_is_in_the_bibliography(name):
    if name in NO_PAPER:
        assert source_of(name) not in ENTRIES
    else:
        assert source_of(name) in ENTRIES


def test_every_entry_is_needed_and_complete():
    assert {source_of(name) for name in NAMES} >= set(ENTRIES)
    found = entries("\n".join(ENTRIES.values()))
    assert len(found) == len(ENTRIES)
    for kind, fields in found.values():
        assert fields.keys() >= NEEDED[kind]


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_the_five_papers_are_cited_as_their_reports_name_them(paper):
    ((_, fields),) = entries(ENTRIES[f"{paper.name} paper"]).values()
    assert fields["title"].lower() == paper.title.lower()
    assert paper.year is None or fields["year"] == str(paper.year)
    families = [re.sub(r"[{}]", "", author).split(",")[0] for author in fields["author"].split(" and ")]
    assert families == (re.split(", | & ", paper.authors) if paper.year else ["Anonymous authors"])


def test_results_are_cited_with_bases_metrics_and_aliases():
    problem = jb.Problem([0.9, 0.5], fractions=0.1)
    policies = ["fucb", "mp-ts-d", {"kind": "min-probability", "base": "kl-ucb"}]
    results = jb.simulate(problem, policies, horizon=20, seeds=4, metrics=["unfairness", "price_of_fairness"])
    text = jb.cite(results)
    assert list(entries(text)) == [
        "jaxbandit",
        "patil2019guarantees",
        "auer2002finite",
        "komiyama2015plays",
        "chen2020contextual",
        "garivier2011klucb",
        "anonymous_penalties",
        "bertsimas2011price",
    ]
    assert "% fucb\n@misc{patil2019" in text
    assert "% ucb1\n@article{auer" in text
    own = entries(jb.cite(results.sel(policy="mp-ts-d").drop_vars(["unfairness", "price_of_fairness"])))
    assert list(own) == ["jaxbandit", "komiyama2015plays"]
    assert own["jaxbandit"][1].keys() >= NEEDED["software"]
    assert own["jaxbandit"][1]["version"] == jb.__version__


def test_names_classes_tables_and_objects_are_cited():
    given = ["thompson", jb.indices.UCB1, {"kind": "fair-learn", "base": "moss"}, jb.policy("lfg"), "c_regret"]
    assert list(entries(jb.cite(given)))[1:] == [
        "agrawal2012thompson",
        "auer2002finite",
        "patil2019guarantees",
        "audibert2009minimax",
        "li2019sleeping",
        "jin2026exposure",
    ]
    assert jb.cite("f-ts").count("% f-ts\n") == 1


def test_a_policy_of_ones_own_is_cited_by_its_source():
    class Mine(jb.policies.UCBLP):
        source = "Someone 2030, sec. 2"

    class Other(jb.policies.UCBLP):
        source = ""

    text = jb.cite([jb.policy(Mine), jb.policy(Other)])
    assert "% source: Someone 2030, sec. 2\n" in text
    assert "% Mine\n" in text
    assert "Other" not in text


def test_what_is_unknown_is_refused():
    with pytest.raises(jb.InputError, match=r"results = 'ucb11': .*did you mean 'ucb1'"):
        jb.cite("ucb11")
    with pytest.raises(jb.InputError, match="results = 3"):
        jb.cite(3)
