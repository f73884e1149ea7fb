"""The problem: means, rewards, delays, and what fairness asks."""
