"""Policies that weigh an arm's opportunities against a transfer cost (opportunities paper)."""
