"""Control of the XLA compiler: the same bits for blocks of any shape, and one kernel per call on CPU."""
