"""Whole simulations of large grids, from the config to the dataset."""
