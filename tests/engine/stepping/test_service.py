"""The example of a service: killed and started again, it goes on selection by selection."""

import importlib.util
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "docs" / "examples" / "offers.py"


@contextmanager
def service(path) -> Iterator[str]:
    """The address of a service, which is killed at the end."""
    process = subprocess.Popen(
        [sys.executable, str(EXAMPLE), str(path), "--port", "0"], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def ask(address, action, **body):
    request = urllib.request.Request(f"{address}/{action}", data=json.dumps(body).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


@pytest.mark.slow
def test_a_service_that_is_killed_goes_on_where_it_was(tmp_path):
    spec = importlib.util.spec_from_file_location("offers", EXAMPLE)
    offers = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(offers)
    uninterrupted = offers.Offers(tmp_path / "uninterrupted.npz")
    rng, waiting, started = np.random.default_rng(0), [], 0
    while started < 3:
        with service(tmp_path / "killed.npz") as address:
            for _ in range(rng.integers(5, 15)):
                shown = ask(address, "show")
                assert shown == uninterrupted.show()
                waiting.append(shown["ticket"])
                while waiting and rng.random() < 0.4:  # late, in any order
                    ticket = waiting.pop(rng.integers(len(waiting)))
                    bought = rng.random() < 0.5
                    answer = ask(address, "convert" if bought else "expire", ticket=ticket)
                    assert answer == uninterrupted.close(ticket, float(bought)) == {"counted": True}
                    assert ask(address, "convert", ticket=ticket) == {"counted": False}
        started += 1
    assert ask_unknown_ticket(uninterrupted) == {"counted": False}


def ask_unknown_ticket(offers):
    return offers.close(10**6, 1.0)
