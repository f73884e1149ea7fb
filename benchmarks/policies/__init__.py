"""Each policy: against Numba loops of the same work, against other libraries, with many arms."""
