"""Files of states: arrays by name, and nothing that can be executed."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.core.errors import InputError, UnreadableError, warn
from jaxbandit.core.files.atomic_write import write_atomically
from jaxbandit.core.input_values import is_key
from jaxbandit.engine.stepping.agent import AgentState
from jaxbandit.engine.stepping.state_owner import differences

Tree = TypeVar("Tree")


def save(state: object, path: str | os.PathLike[str]) -> None:
    """Save the arrays of a state, of an `Agent` or of a `Simulator`, or of any pytree of arrays.

    The file is NumPy's `.npz`. Under its name there is always a complete file, the old one or the new one.

    Args:
        state: a pytree of arrays.
        path: the file; its folder is created if it does not exist.

    Raises:
        InputError: `state` holds something that is not an array or a number, or `path` is not the path of a file.
        WriteError: the file cannot be written. The file that was there before is unchanged.

    Example:
        >>> agent = jb.Agent("ucb1", arms=3)
        >>> state, arms, _ = agent.select(agent.init(key=0))
        >>> jb.save(state, "agent.npz")
    """
    content = io.BytesIO()
    leaves = {name: _as_numpy(name, leaf) for name, leaf in _named_leaves(state)}
    agents = {name: np.frombuffer(agent.encode(), np.uint8) for name, agent in _agents(state).items()}
    np.savez(content, allow_pickle=False, **leaves, **agents)
    write_atomically(_checked_path(path), content.getbuffer(), sync=True)


def load(path: str | os.PathLike[str], like: Tree) -> Tree:
    """Load a state that `save` saved.

    Names, shapes and dtypes are compared with `like`, and for the states of agents the policy, its parameters and the
    requirements.

    Args:
        path: the file.
        like: a state of the same structure, as `agent.init(0)`: its arrays have the names, shapes and dtypes to expect.

    Returns:
        The state, of the structure of `like`.

    Raises:
        InputError: the file cannot be read, or it holds another state: the error names the first array that differs,
            or the arguments in which the agents differ.

    Example:
        >>> agent = jb.Agent("ucb1", arms=3)
        >>> state, arms, _ = agent.select(agent.init(key=0))
        >>> jb.save(state, "agent.npz")
        >>> jb.load("agent.npz", like=agent.init(key=0)).pulls.tolist()
        [1, 0, 0]
    """
    held = _read(_checked_path(path))
    for name, agent in _agents(like).items():
        if name not in held:
            warn(f"{path}: the file does not say whose state it is: only names, shapes and dtypes are compared")
        elif (other := held.pop(name).tobytes().decode()) != agent:
            raise InputError("path", str(path), f"a file of the agent of `like`; in it {differences(other, agent)}")
    expected = _named_leaves(like)
    known = [name for name, _ in expected]
    for name in held:
        if name not in known:
            raise InputError("path", str(path), f"a file of the same state as `like`, which has no {name!r}")
    leaves = [_checked(str(path), name, leaf, held.get(name)) for name, leaf in expected]
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def _checked_path(path: object) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise InputError("path", path, "the path of a file")
    if not Path(path).name or "\0" in os.fspath(path):
        raise InputError("path", os.fspath(path), "the path of a file: it has no name, or a null character")
    return Path(path)


def _read(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise UnreadableError("path", str(path), "no such file") from None
    except Exception as error:  # damaged files make NumPy and zipfile raise many kinds
        raise UnreadableError("path", str(path), f"not a file of `jb.save` ({error})") from None


def _named_leaves(tree: object) -> list[tuple[str, Any]]:
    """The leaves of a pytree with the names that the file gives them."""
    return [(jax.tree_util.keystr(place) or "state", leaf) for place, leaf in jax.tree_util.tree_leaves_with_path(tree)]


def _agents(tree: object) -> dict[str, str]:
    """The agents that the states of agents in a pytree belong to, by the names that the file gives them."""
    nodes = jax.tree_util.tree_leaves_with_path(tree, is_leaf=lambda node: isinstance(node, AgentState))
    return {f"{jax.tree_util.keystr(place)}.agent": node.agent for place, node in nodes if isinstance(node, AgentState)}


def _as_numpy(name: str, leaf: Any) -> np.ndarray:
    array = np.asarray(jax.random.key_data(leaf) if is_key(leaf) else leaf)
    if array.dtype.kind not in "biufc":
        raise InputError("state", leaf, f"a pytree of arrays of numbers; {name} is not one")
    return array


def _checked(path: str, name: str, like: Any, held: np.ndarray | None) -> Any:
    """An array of the file, of the shape, dtype and type of its counterpart."""
    expected = _as_numpy(name, like)
    if held is None:
        raise InputError("path", path, f"a file of the same state as `like`: it lacks {name!r}")
    if (held.shape, held.dtype) != (expected.shape, expected.dtype):
        words = f"{expected.dtype} of shape {expected.shape}; the file has {held.dtype} of shape {held.shape}"
        raise InputError("path", path, f"a file of the same state as `like`, where {name!r} is {words}")
    if not isinstance(like, jax.Array):  # of NumPy or Python, which may have more bits than JAX keeps
        return held if isinstance(like, np.ndarray) else held[()] if isinstance(like, np.generic) else held.item()
    return (
        jax.random.wrap_key_data(jnp.asarray(held), impl=jax.random.key_impl(like))
        if is_key(like)
        else jnp.asarray(held)
    )
