"""`python -m benchmarks.tuning`: the benchmark of `random_problems`."""

import sys

from benchmarks.tuning.random_problems import main

if __name__ == "__main__":
    sys.exit(main())
