"""The installed version, and the devices that JAX runs on."""

from __future__ import annotations

from importlib import metadata


def version() -> str:
    """The installed version of jaxbandit."""
    return metadata.version("jaxbandit")


def device_name() -> str:
    """The number and kind of the devices that JAX runs on, including those of other processes."""
    import jax  # here: the version is asked for without JAX

    devices = jax.devices()
    return f"{len(devices)} x {devices[0].device_kind} ({devices[0].platform})"
