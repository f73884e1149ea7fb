"""Rewriting of JAX programs before they are compiled, and the rules for it."""
