"""`jb.save` and `jb.load`: a state goes on where it was, and a file of something else is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb


def played(agent, state, rounds, rng):
    """The arms that the agent selects in some rounds, and its state after them."""
    selected = []
    for _ in range(rounds):
        state, arms, _ = agent.select(state)
        selected += arms.tolist()
        state = agent.observe(state, arms, rng.integers(0, 2, len(arms)))
    return selected, state


@pytest.mark.parametrize(
    "kind", ["lfg", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("thompson", "fairx-ts"))]
)
def test_an_agent_goes_on_where_it_was_saved(kind, tmp_path):
    def made():
        return jb.Agent(kind, 4, fractions=0.1, merit="power")

    _, state = played(made(), made().init(5), 20, np.random.default_rng(0))
    jb.save(state, tmp_path / "new" / "agent.npz")
    again = jb.load(tmp_path / "new" / "agent.npz", like=made().init(0))
    jax.tree.map(lambda one, other: np.testing.assert_array_equal(one, other, strict=True), state, again)
    rng, same = np.random.default_rng(1), np.random.default_rng(1)
    assert played(made(), again, 20, rng)[0] == played(made(), state, 20, same)[0]


def test_any_tree_of_arrays_is_kept(tmp_path):
    tree = {"a": [jnp.arange(3), np.float64(0.1)], "key": jax.random.key(3), "flags": (True, jnp.zeros((0, 2)))}
    jb.save(tree, tmp_path / "tree.npz")
    again = jb.load(str(tmp_path / "tree.npz"), like=tree)
    assert jax.tree.structure(again) == jax.tree.structure(tree)
    assert again["a"][0].tolist() == [0, 1, 2]
    assert jax.random.key_data(again["key"]).tolist() == [0, 3]
    with np.load(tmp_path / "tree.npz", allow_pickle=False) as file:
        assert sorted(file.files) == ["['a'][0]", "['a'][1]", "['flags'][0]", "['flags'][1]", "['key']"]


def test_a_file_of_another_state_is_refused(tmp_path):
    path = tmp_path / "state.npz"
    jb.save({"counts": jnp.zeros((4, 1), jnp.int32)}, path)
    with pytest.raises(jb.InputError, match=r"'counts'.* is int32 of shape \(5, 1\); the file has .* \(4, 1\)$"):
        jb.load(path, like={"counts": jnp.zeros((5, 1), jnp.int32)})
    with pytest.raises(jb.InputError, match=r"which has no ..'counts'..$"):
        jb.load(path, like={})
    with pytest.raises(jb.InputError, match=r"it lacks ..'squares'..$"):
        jb.load(path, like={"counts": jnp.zeros((4, 1), jnp.int32), "squares": jnp.zeros(4)})


def test_a_file_of_another_agent_is_refused_and_told_apart(tmp_path):
    path, agent = tmp_path / "agent.npz", jb.Agent("lfg", 4, fractions=0.1)
    jb.save({"mine": [agent.init(0)]}, path)
    for other, words in [
        (jb.Agent("lfg", 4, fractions=np.full(4, 0.1)), None),
        (jb.Agent("lfg", 4, fractions=0.2), r"fractions is \[0.1, .*\], not \[0.2, "),
        (jb.Agent({"kind": "lfg", "eta": 3}, 4, fractions=0.1), r"policy\.eta is 1\.0, not 3(\.0)?$"),
        (jb.Agent("lfg", 4, fractions=0.1, ties="random"), "ties is 'lowest', not 'random'$"),
        (jb.Agent("lfg", 4, fractions=0.1, horizon=100), "horizon is None, not 100$"),
        (jb.Agent("lfg", 5, fractions=0.1), "arms is 4, not 5"),
    ]:
        if words is None:
            jb.load(path, like={"mine": [other.init(1)]})
            other.select(agent.init(0))
            continue
        with pytest.raises(jb.InputError, match=f"^path = .*: must be a file of the agent of `like`; in it .*{words}"):
            jb.load(path, like={"mine": [other.init(1)]})
        with pytest.raises(jb.InputError, match=f"^state = .*must be the state of this agent; of its agent, .*{words}"):
            other.select(agent.init(0))
        with pytest.raises(jb.InputError, match=r"^state = "):
            other.observe(agent.init(0), [0], [1])
    with pytest.raises(jb.InputError, match=r"^state = 'tuple': must be a state of this agent; `select` returns"):
        agent.observe(agent.select(agent.init(0)), [0], [1])


def test_a_file_without_the_agent_is_loaded_with_a_warning(tmp_path):
    path, agent = tmp_path / "agent.npz", jb.Agent("ucb1", 3)
    state, _, _ = agent.select(agent.init(0))
    jb.save(state, path)
    with np.load(path) as file:
        np.savez(path, **{name: file[name] for name in file.files if name != ".agent"})
    with pytest.warns(match="the file does not say whose state it is"):
        assert jb.load(path, like=agent.init(0)).pulls.tolist() == [1, 0, 0]


@pytest.mark.parametrize("content", [None, b"", b"PK\3\4", b"not a state"])
def test_a_file_that_cannot_be_read_is_refused(content, tmp_path):
    path = tmp_path / "state.npz"
    words = "no such file"
    if content is not None:
        path.write_bytes(content)
        words = r"not a file of `jb\.save`"
    with pytest.raises(jb.InputError, match=rf"^cannot read .*state.npz: {words}"):
        jb.load(path, like=jnp.zeros(3))


def test_nothing_that_can_be_executed_is_read_or_written(tmp_path):
    with pytest.raises(jb.InputError, match=r"^state = .*: must be a pytree of arrays of numbers; \['a'\] is not one$"):
        jb.save({"a": print}, tmp_path / "state.npz")
    np.savez(tmp_path / "state.npz", **{"['a']": np.array([print], object)})
    with pytest.raises(jb.InputError, match=r"not a file of `jb\.save`"):
        jb.load(tmp_path / "state.npz", like={"a": jnp.zeros(1)})


def test_a_file_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(jb.WriteError, match="cannot be written"):
        jb.save(jnp.zeros(3), tmp_path / "file" / "state.npz")


def test_numbers_of_python_and_numpy_keep_their_types_and_bits(tmp_path):
    state = {"count": 2**40, "rate": 0.1, "names": np.array([2**40, 7]), "one": np.float64(0.1)}
    jb.save(state, tmp_path / "state.npz")
    read = jb.load(tmp_path / "state.npz", like=state)
    assert (read["count"], read["rate"], read["one"]) == (2**40, 0.1, 0.1)
    assert {name: type(part) for name, part in read.items()} == {name: type(part) for name, part in state.items()}
    assert read["names"].tolist() == [2**40, 7]


def test_other_files_and_paths_are_refused(tmp_path):
    np.save(tmp_path / "array.npy", np.ones(3))
    with pytest.raises(jb.InputError, match=r"array\.npy"):
        jb.load(tmp_path / "array.npy", like=np.ones(3))
    for call in (lambda: jb.load(None, like=1), lambda: jb.save(1, None)):
        with pytest.raises(jb.InputError, match=r"^path is missing: must be the path of a file$"):
            call()
    for path in ("", ".", "/", "a\0b"):
        for call in (lambda path=path: jb.load(path, like=1), lambda path=path: jb.save(1, path)):
            with pytest.raises(jb.InputError, match="it has no name, or a null character"):
                call()
