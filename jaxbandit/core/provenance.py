"""Which version this is, and what it runs on."""

from __future__ import annotations

from importlib import metadata

import jax


def version() -> str:
    """The installed version of jaxbandit."""
    return metadata.version("jaxbandit")


def device_name() -> str:
    """The kind and number of the devices JAX runs on, those of other processes among them."""
    devices = jax.devices()
    return f"{len(devices)} x {devices[0].device_kind} ({devices[0].platform})"
