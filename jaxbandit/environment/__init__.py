"""The environment: problems with their means, rewards and delays, and the fairness requirements."""
