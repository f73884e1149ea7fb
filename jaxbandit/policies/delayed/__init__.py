"""Policies made for delayed feedback."""
