"""`jb.check_policy`: every built-in policy holds, and each check finds the fault that is planted for it."""

import doctest
import re
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest
from faulty_policies import CLASSES, PLANTED, Branching, Counting, Faulty
from sweeps import partly_fast

import jaxbandit as jb
from jaxbandit.experiments.policy_checks import check, report, run_checks
from jaxbandit.experiments.policy_checks.cases import PROBLEM
from jaxbandit.experiments.policy_checks.subject import DoesNotHoldError, Subject

SLOW_POLICIES = ["lfg", "self-regulated"]  # of two kinds
FAULTS = [(name, Faulty(PLANTED.index(name))) for name in PLANTED]
FAULTS += [(name, kind) for name, kinds in CLASSES.items() for kind in kinds]
# Found by a fast test without the checks before them
ALONE = ["sleeping arms", "two arms", "zero delay", "simulate", "compilations", "Simulator", "vmap", "Agent"]
SENTENCES = {  # what a report says of the fault
    "prepare": r"^ValueError \(at line \d+ of faulty_policies.py, in prepare: `raise V.*no table|^TypeError: .*; give"
    r"|^the class Misspelt has a method `udpate`, which is not called: the method is `update`$",
    "jit": r"^TracerBoolConversionError \(at line \d+ of faulty_policies.py, in select: `if now.t > 10:`\): .*`jnp"
    r"|^`init` returned the state of shape \[3\] for the shape \[4, 7, 5\]: the last axes"
    r"|^policy 'Keyed': init returned a key of `jax.random`; expected a state of numbers: .* `now.random`",
    "scan": r"^policy '.*': update returned .*; return arrays|^`init` returned the state of shape \[7, 5, 4\]",
    "pure": r"^a method changed (`Counting.calls`|the generator of `np.random`): ",
    "dtypes": r"^in float64 \(`jax_enable_x64` is True\): policy 'Half': update returned float64",
    "numbers": r"^a chance was NaN in round 5 of run 0: guard|^an index or a score was NaN in round 1 of run 0: guard",
    "arms": r"^in round 9 of run 0 the policy selected 0 of the available arms \(arms 0, 1, 2, 3 available\): select 1",
    "sleeping arms": r"^in round \d of run \d+ the policy selected 0 of the available arms .* where `now.available` is",
    "two arms": r"^in round \d of run \d+ the policy selected 0 of the available arms",
    "several plays": r"^with 2 plays: policy 'OneOfSeveral': select returned int32 .* set `many_plays = False`",
    "ties": r"^with `ties='random'` arm 0 of 4 equal arms was selected in round 1 of 256 of 256 .*`now.best\(score",
    "chances": r"^arm \d was selected \d+ times in 1024 rounds, but its chances summed to 256.0: return",
    "zero delay": r"^in round \d the policy selected arm \d where every delay was 0, and arm \d without a delay model",
    "late rewards": r"^a chance was NaN in round \d+ of run \d+: rewards arrive late",
    "batch": r"^in round \d, run 0 of instance 0: beside other runs arm \d, and alone arm \d: reduce over axis 0 only",
    "simulate": r"^`jb.simulate\(..., keep=...\)` raised: policies = 'CallingBack': .* without callbacks to Python",
    "compilations": r"^another value of the horizon compiled the policy again",
    "Simulator": r"^in round \d, run 0 of instance 0: `jb.Simulator` selected arm \d, and `jb.simulate` arm \d: a run",
    "vmap": r"^in round \d a run under `jax.vmap` selected arm \d, and alone arm \d: a function",
    "Agent": r"^in round \d, `jb.Agent` selected arm \d, and the simulation arm \d, with the same rewards: use",
}


def slow(*case):
    return pytest.param(*case, marks=pytest.mark.slow)


@pytest.mark.parametrize("kind", [slow(kind) for kind in SLOW_POLICIES])
def test_built_in_policies_hold(kind):
    """`tests/full/check_policies.py` checks all policies."""
    found = jb.check_policy(kind)
    assert found.ok, found
    assert [result.name for result in found.results] == list(check.CHECKS)
    one_play = not jb.policy(kind).many_plays
    in_turn = ["ties"] if jb.policy(kind).own_order else []
    expected = [*(["several plays"] if one_play else []), *in_turn, *([] if kind.endswith(MERIT) else ["chances"])]
    assert [result.name for result in found.results if result.holds is None] == expected


MERIT = ("fcts-d", "fcucb-d", "fgreedy-d")  # and the optimistic-pessimistic ones, which end with these


@pytest.mark.slow
def test_a_policy_without_fault_holds():
    found = jb.check_policy(Faulty)
    assert found.ok, found
    assert [result.name for result in found.results if result.holds is None] == ["several plays"]


def test_every_check_has_a_planted_fault():
    assert {name for name, _ in FAULTS} == set(check.CHECKS) == set(SENTENCES)


@pytest.mark.parametrize(
    ("name", "policy", "every"),
    [slow(*fault, False) if fault[0] in ALONE or place % 6 else (*fault, False) for place, fault in enumerate(FAULTS)]
    + [slow(*fault, True) for fault in FAULTS[::6]],
)
def test_a_planted_fault_fails_its_check_and_no_other(name, policy, every):
    Counting.calls.clear()
    found = jb.check_policy(policy, None if every else [name])
    assert found.failed == [name], found
    assert not found.ok
    assert re.search(SENTENCES[name], found[name].sentence), found[name].sentence
    later = [result for result in found.results if result.sentence.startswith("not checked: needs")]
    assert all(result.holds is None for result in later)
    Counting.calls.clear()


@pytest.mark.parametrize("name", partly_fast(ALONE, list(ALONE)[:3]))
def test_a_check_finds_its_fault_alone(name):
    """Without the checks that it needs, which take other programs."""
    ((_, policy),) = [fault for fault in FAULTS if fault[0] == name]
    held = {other: report.CheckResult(other, True, "") for other in check.CHECKS[name].needs}
    found = check._result(name, Subject(policy, PROBLEM), held)
    assert found.holds is False
    assert re.search(SENTENCES[name], found.sentence), found.sentence


def test_a_second_check_of_compilations_finds_the_same():
    (policy,) = CLASSES["compilations"]
    for _ in range(2):
        with pytest.raises(DoesNotHoldError, match=SENTENCES["compilations"]):
            run_checks.compilations(Subject(policy, PROBLEM))


@pytest.mark.slow
@pytest.mark.parametrize("axis", [1, -1])
def test_an_index_that_depends_on_other_runs_is_found(axis):
    """Along either axis of the runs, of which the last one has length 1 where runs are few."""

    class Centred(jb.Index):
        def value(self, state, now):
            return now.mean - now.mean.mean(axis=axis, keepdims=True) + 1 / (1 + now.pulls)

    found = jb.check_policy(Centred, ["batch"], show=False)
    assert found.failed == ["batch"]
    assert "reduce over axis 0 only" in found["batch"].sentence


def test_an_array_that_a_cache_keeps_is_found():
    kept = {}

    class Keeping(jb.Policy):
        def select(self, state, now):
            weights = kept.setdefault("weights", jnp.ones(now.pulls.shape) * now.mean)
            return jnp.argmax(jnp.where(now.available, weights, -1.0), axis=0)

    found = jb.check_policy(Keeping, ["pure"])
    assert found.failed == ["pure"]
    assert "the first one kept an array in an attribute, a global variable or a cache" in found["pure"].sentence


def test_the_report_is_printed_as_a_table(capsys):
    found = jb.check_policy(Branching)
    assert capsys.readouterr().out == f"{found}\n"
    assert repr(found) == "<report on policy 'Branching': 1 of 20 checks does not hold>"
    assert repr(jb.check_policy(Branching, ["prepare"], show=False)).endswith("every check holds>")
    assert capsys.readouterr().out == ""
    lines = str(found).splitlines()
    assert lines[0] == "policy 'Branching': 1 of 20 checks does not hold"
    assert lines[1].split(maxsplit=2)[:2] == ["prepare", "holds"]
    assert lines[2].startswith("jit            does not hold   TracerBoolConversionError (at line ")
    assert lines[-1] == "Agent          not applicable  not checked: needs 'Simulator'"
    assert max(map(len, lines)) <= 120


@pytest.mark.parametrize(
    ("arguments", "keywords", "words"),
    [
        ((3,), {}, r"^policy = 3: must be a `Policy` class, a `Policy`, a table or a name$"),
        ((dict,), {}, r"^policy = <class 'dict'>: must be a `Policy` class"),
        ((jb.Index,), {}, r"^policy = <class .*Index'>: must be a subclass of `jb.Policy`, `jb.Index` or `jb.Rule`$"),
        (("ucb2",), {}, r"^policy\.kind = 'ucb2': must be one of .*did you mean 'ucb1'"),
        (("ucb1",), {"checks": ["jot"]}, r"^checks = 'jot': must be one of .*did you mean 'jit'"),
        (("ucb1",), {"checks": "jit"}, r"^checks = 'jit': must be a list of names of checks: prepare, jit"),
        (("ucb1",), {"plays": 2}, r"^unknown key plays; valid keys: .*means"),
        (("ucb1",), {"means": [0.5, 0.4]}, r"^means = \[0.5, 0.4\]: must be at least 3 numbers, one per arm$"),
        (("ucb1",), {"fractions": 2.0}, r"^problem\.fractions = 2.0: "),
    ],
)
def test_what_is_no_policy_is_refused(arguments, keywords, words):
    with pytest.raises(jb.InputError, match=words):
        jb.check_policy(*arguments, **keywords)


def test_a_policy_gets_the_problem_that_it_needs():
    found = jb.check_policy("kl-ucb", ["prepare"], reward="gaussian")
    assert found.failed == ["prepare"]
    assert "must give rewards in [0, 1] with kl-ucb" in found["prepare"].sentence
    assert jb.check_policy("kl-ucb", ["prepare"], reward="beta", means=[0.5, 0.4, 0.3]).ok


@pytest.mark.parametrize("module", [check, report])
def test_examples_give_what_they_show(module):
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, extraglobs={"jb": jb}):
        with jax.numpy_dtype_promotion("standard"):  # as users have it
            assert doctest.DocTestRunner(verbose=False).run(test).failed == 0, test.name


class OfOnePlay(jb.Policy, name="chances-of-one-play"):
    """A uniform draw of L arms, which states the chances of one play."""

    def choose(self, state, now):
        score = now.random.uniform(len(now.pulls))
        count = now.available.sum(axis=0, keepdims=True).astype(score.dtype)
        return now.best(score), jnp.where(now.available, 1.0 / jnp.maximum(count, 1.0), 0.0)


class OnTime(jb.Policy, name="chances-on-time"):
    """The same for one play, which states that arm 0 is certain while a reward is on its way."""

    many_plays = False

    def choose(self, state, now):
        mask, chance = OfOnePlay.choose(self, state, now)
        late = jnp.any(now.received < now.pulls, axis=0, keepdims=True)
        first = jnp.cumsum(jnp.ones_like(now.pulls), axis=0) == 1
        return mask, jnp.where(late, first.astype(chance.dtype), chance)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (OfOnePlay, r"^with 2 plays, in round 1 the chances summed to 1, not to the number of selected arms, 2"),
        (OnTime, r"^where rewards arrive late, arm \d was selected \d+ times in \d+ rounds, but its chances"),
    ],
)
def test_chances_are_those_of_several_plays_and_of_late_rewards(policy, words):
    found = jb.check_policy(policy, checks=["chances"])
    (result,) = [result for result in found.results if result.holds is False]
    assert result.name == "chances"
    assert re.search(words, result.sentence)


@pytest.mark.slow
def test_a_kernel_that_rounds_otherwise_is_told(monkeypatch):
    """As on a GPU, where indices that are equal up to rounding may be selected in another order."""

    def simulate(*arguments, gpu_kernel, **options):
        results = given(*arguments, gpu_kernel=gpu_kernel, **options)
        if gpu_kernel is None:
            results.pulls.values[0, 0, 1] = results.pulls.values[0, 0, 1, ::-1]
        return results

    given = run_checks.public.simulate
    monkeypatch.setattr(run_checks.public, "simulate", simulate)
    monkeypatch.setattr(run_checks, "gpu_kernel", SimpleNamespace(works=lambda wanted: wanted is None))
    report = jb.check_policy("ucb1", checks=["simulate"], show=False)
    assert report.ok
    assert re.search(r"it selects otherwise in 1 of \d+ runs, as it may", report["simulate"].sentence)


def test_a_method_of_a_like_name_that_is_called_is_no_fault():
    class Updated(jb.Policy):
        """`updates` is a helper."""

        def select(self, state, now):
            return now.best(self.updates(now))

        def updates(self, now):
            return -now.pulls

    assert jb.check_policy(Updated, ["prepare"]).ok
