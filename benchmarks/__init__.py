"""Benchmarks, in the folders of the package; run them from the repository: `python -m benchmarks.engine.scaling`."""
