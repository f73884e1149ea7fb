"""JAX programs as the body of one Pallas kernel for GPUs: one run per thread, all other axes written out.

A kernel of Mosaic GPU computes with vectors of 128 runs and with single numbers, and has few operations on arrays.
`evaluate` therefore interprets a program operation by operation: an array `[K, 1, runs]` is K vectors of runs, and an
operation on it is K operations on vectors.
"""
