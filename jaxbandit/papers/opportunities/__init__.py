"""The paper `opportunities`."""
