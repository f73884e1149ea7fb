"""The theorems of the five papers as functions, a file a paper; `jaxbandit.bounds` has them all."""
