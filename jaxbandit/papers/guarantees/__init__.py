"""The paper `guarantees`."""
