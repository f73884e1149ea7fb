"""Metrics of counts as the library computes them: in float64, compiled."""

import dataclasses
import functools

import jax
import numpy as np

from jaxbandit.metrics import definitions


@functools.partial(jax.jit, static_argnames="names")
def _metrics_at(names, counts, truth):
    return definitions.compute_metrics(names, counts, truth)


def judge(names, counts, rounds, facts, quota=None, sums=None, p_mean=None, shared=None):
    """The metrics of counts `[R, K, C, S]` by name, float64 `[R, C, S]`. See `definitions.metric_inputs`.

    `shared` are their terms without counts, where they are known.
    """
    truth = definitions.metric_inputs(names, rounds, facts, quota, sums, p_mean=p_mean)
    truth = dataclasses.replace(truth, shared=shared or {})
    with jax.enable_x64(True):
        judged = _metrics_at(tuple(names), counts, truth)
    return {name: np.asarray(values) for name, values in judged.items()}
