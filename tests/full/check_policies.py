"""`jb.check_policy` on every built-in policy.

    python tests/full/check_policies.py

Takes some five minutes. Prints the report of each policy in which a check does not hold; exits with 1 if there is one.
"""

import sys

import jaxbandit as jb
from jaxbandit.policies.base import Alias, Policy


def main() -> int:
    kinds = [kind for kind, entry in Policy.registry.items() if not isinstance(entry, Alias)]
    reports = [jb.check_policy(kind, show=False) for kind in kinds]
    faulty = [report for report in reports if not report.ok]
    print(*faulty, f"{len(kinds)} policies, {len(faulty)} with a check that does not hold", sep="\n")
    return int(bool(faulty))


if __name__ == "__main__":
    sys.exit(main())
