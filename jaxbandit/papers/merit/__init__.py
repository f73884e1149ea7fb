"""The paper `merit`."""
