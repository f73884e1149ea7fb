"""What knows of no bandits: errors, components, exact numbers, random numbers, files."""
