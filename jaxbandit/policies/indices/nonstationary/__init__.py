"""Indices for mean rewards that change: older feedback counts less, or not at all."""
