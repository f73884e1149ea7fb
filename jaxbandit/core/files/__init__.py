"""Atomic writes, names and checksums of files, and output streams."""
