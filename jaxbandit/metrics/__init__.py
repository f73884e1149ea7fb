"""What is measured, and how it is summed exactly."""
