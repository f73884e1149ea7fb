"""Datasets of several simulations, joined into one."""
