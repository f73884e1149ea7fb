"""Tuning by gradients, against searches."""
