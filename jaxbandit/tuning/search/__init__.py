"""The search for the best parameters of a policy, by simulations of the policy itself."""
