"""Slopes by the estimator "perturbation" against central differences of the policy itself, on other random numbers.

    python tests/full/tuning_estimators.py --seeds 1000000

Some six minutes on two cores with a million runs per point. Prints a table: each slope by both, with standard errors,
and their difference in standard errors; exits with 1 if one is above 4.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import numpy as np
from finite_differences import CASES, central_differences, estimated


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1_000_000, help="runs per point")
    parser.add_argument("--spread", type=float, default=0.1, help="the size of the perturbations")
    parser.add_argument("--key", type=int, default=1, help="of the estimator; the differences take the next one")
    given = parser.parse_args()
    worst = 0.0
    print(f"{'case':16} {'at':>18} {'arm':>3} {'differences':>22} {'perturbation':>22} {'apart':>6} {'seconds':>8}")
    for name, case in CASES.items():
        for value in case.values:
            begun = time.perf_counter()
            expected = central_differences(case, value, given.spread, given.seeds, given.key + 1)
            found = estimated(case, value, given.spread, given.seeds, given.key)
            seconds = time.perf_counter() - begun
            rows = zip(*(np.atleast_1d(part) for part in (*expected, *found)), strict=True)
            for arm, (slope, error, own, own_error) in enumerate(rows):
                apart = (own - slope) / max(np.hypot(error, own_error), 1e-30) if own != slope else 0.0
                worst = max(worst, abs(apart))
                numbers = f"{slope:11.5f} ± {error:8.5f} {own:11.5f} ± {own_error:8.5f} {apart:6.2f} {seconds:8.1f}"
                print(f"{name:16} {value!s:>18} {arm:3} {numbers}", flush=True)
    print(f"largest difference: {worst:.2f} standard errors")
    return int(worst > 4)


if __name__ == "__main__":
    sys.exit(main())
