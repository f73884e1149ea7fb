"""Checks of a policy: whether a class keeps the rules that the engine, a simulator and an agent rely on."""
