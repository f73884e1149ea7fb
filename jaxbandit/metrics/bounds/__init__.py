"""The theorems of the five papers as functions, one file per paper, and the table of what each of them bounds."""
