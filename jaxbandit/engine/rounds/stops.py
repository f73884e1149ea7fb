"""What the program of the rounds returns of the stops: rounds after which something is recorded, or means change."""

from __future__ import annotations

from typing import Any, Protocol

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit.core.struct import struct


@struct
class AtStops:
    """What is known of all runs at some stops.

    Attributes:
        counts: N_k at each stop, int32 `[R, K, *runs]`.
        sums: the running sums there, by name, float `[R, *runs]`.
    """

    counts: Array
    sums: dict[str, Array]


class Recording(Protocol):
    """What is computed at stops instead, such as `jaxbandit.engine.batch.recording.Recording`, a pytree."""

    @property
    def stops(self) -> Array:
        """The number of stops, int32; those after them are not played."""

    @property
    def x64(self) -> bool:
        """Whether 64-bit types are enabled in the rounds."""

    def prepared(self) -> Recording:
        """The recording with what all tiles of a block share; the other methods are called on it."""

    def empty(self, shape: tuple[int, ...]) -> Any:
        """The result before the first stop, for counts of `shape`."""

    def at_stop(self, place: Array, state: Any, result: Any) -> Any:
        """The result with the stop at a place among all stops."""

    def without_lanes(self, count: Array) -> Recording:
        """The recording in which the first lanes do not count."""


def nothing_at_stops(recording: Recording | None, stops: Array, state: Any) -> Any:
    """What `play_on` returns of its stops, before it has come to any."""
    if recording is not None:
        return recording.empty(state.pulls.shape)
    values = {name: total.value for name, total in state.sums.items()}
    sums = jax.tree.map(lambda value: jnp.zeros((len(stops), *value.shape[1:]), value.dtype), values)
    return AtStops(jnp.zeros((len(stops), *state.pulls.shape), state.pulls.dtype), sums)
