"""Relaxed runs: in each round every arm gets a share of the plays, so that a run has derivatives."""
