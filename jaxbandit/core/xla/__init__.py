"""What XLA has to be told so that it computes the same bits for any shape, and one kernel per call on CPU."""
