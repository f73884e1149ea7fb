"""Tuning against searches, on random problems."""
