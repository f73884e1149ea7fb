"""Programs of many small loops, compiled with the options that suit them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax

from jaxbandit.core.xla import compat


def jit(function: Callable[..., Any], **options: Any) -> Any:
    """`jax.jit(function, **options)`. To be called once JAX knows its devices."""
    return jax.jit(function, compiler_options=compat.small_options(), **options)


class SmallProgram:
    """A function that is compiled. Where another function is traced, the results are constants of it.

    Args:
        function: the function.
        options: those of `jax.jit`.
    """

    def __init__(self, function: Callable[..., Any], **options: Any):
        self._function, self._options = function, options

    @functools.cached_property
    def compiled(self) -> Any:
        """`jit` of the function, made at the first call, once JAX knows its devices."""
        return jit(self._function, **self._options)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        with jax.core.eval_context():  # the options of a program within another one are refused
            return self.compiled(*arguments, **keywords)
