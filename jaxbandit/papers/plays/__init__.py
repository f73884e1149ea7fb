"""The paper `plays`."""
