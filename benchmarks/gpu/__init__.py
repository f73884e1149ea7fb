"""Measurements on a GPU, in steps that each write their results as they go."""
