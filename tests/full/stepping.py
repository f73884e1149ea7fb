"""Every policy with every delay, one and three plays: simulators, agents and traces against the engine.

    python tests/full/stepping.py

Takes some fifteen minutes on an idle core. Prints the cases that differ, and their number; exits with 1 if there are
any.
"""

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / folder) for folder in ("support", "references", "engine", "engine/stepping")]

import test_agent  # noqa: E402
import test_runs_and_traces  # noqa: E402
import test_simulator  # noqa: E402
from stepping import every_case  # noqa: E402


def main() -> int:
    checks = (
        test_simulator.test_runs_are_those_of_the_engine,
        test_agent.test_an_agent_selects_what_the_simulation_selects,
        test_runs_and_traces.test_every_trace_is_what_happened,
    )
    differ = 0
    for case in every_case():
        for check in checks:
            try:
                check(*case)
            except AssertionError as error:
                differ += 1
                print(*case, check.__name__, str(error).splitlines()[:3], flush=True)
    print(f"{len(every_case())} cases, {differ} differ")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
