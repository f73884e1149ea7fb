"""Metrics of bandit runs, how their means are summed exactly, optimal allocations, and the papers' bounds."""
