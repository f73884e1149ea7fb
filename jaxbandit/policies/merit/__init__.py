"""Policies that select arms in proportion to their merit."""
