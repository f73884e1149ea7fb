"""Policies that owe each arm a fraction of the rounds."""
