"""Policies of the penalties paper: a missed round costs the arm's penalty rate."""
