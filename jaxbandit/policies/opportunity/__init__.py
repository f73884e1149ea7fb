"""Policies that weigh opportunities against a transfer cost."""
