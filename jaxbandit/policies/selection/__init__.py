"""Arms from scores or from chances."""
