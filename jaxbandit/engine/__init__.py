"""Rounds, and whole simulations of them."""
