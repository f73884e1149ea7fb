"""The parts of a round beside the policy: rewards, their delays, what arrives, and running sums."""
