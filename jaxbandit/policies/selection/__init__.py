"""Selecting arms: the highest scores, draws in proportion to weights, and dependent rounding."""
