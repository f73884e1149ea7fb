"""Code that is independent of bandits: errors, components, exact numbers, random numbers, files, XLA."""
