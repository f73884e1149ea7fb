"""Policies that guarantee each arm a fraction of the rounds."""
