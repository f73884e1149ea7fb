"""The paper `penalties`."""
