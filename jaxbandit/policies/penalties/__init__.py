"""Policies of the penalties paper: each round that an arm lacks to its quota costs the arm's penalty rate."""
