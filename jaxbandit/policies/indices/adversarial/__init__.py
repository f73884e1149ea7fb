"""Policies for rewards of an adversary: they draw an arm, with chances that importance-weighted losses decide."""
