"""A small HTTP service that chooses which offer to show, and learns from conversions that come hours later.

    python docs/examples/offers.py offers.npz --port 8000
    curl -X POST localhost:8000/show                        # {"ticket": 1, "offer": 0}
    curl -X POST localhost:8000/convert -d '{"ticket": 1}'  # the visitor of ticket 1 has bought
    curl -X POST localhost:8000/expire -d '{"ticket": 1}'   # or never will

Each offer is guaranteed a tenth of the visitors; otherwise the policy shows what sells. The file keeps the agent and
the tickets that are still open. It is written before the service answers, so a service that is killed and started
again goes on selection by selection.
"""

import argparse
import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np

import jaxbandit as jb

OFFERS = 4
OPEN = 10_000  # tickets that are kept; older ones can no longer convert
AGENT = jb.Agent({"kind": "fair-learn", "base": "thompson"}, arms=OFFERS, fractions=0.1)


class Offers:
    """The agent's state, and the offer of each open ticket (-1 once it is closed)."""

    def __init__(self, path: Path):
        self.path = path
        self.kept = {"agent": AGENT.init(key=0), "offers": np.full(OPEN, -1, np.int32)}
        if path.exists():
            self.kept = jb.load(path, like=self.kept)

    def show(self) -> dict[str, int]:
        """Choose an offer for the next visitor."""
        state, (offer,), _ = AGENT.select(self.kept["agent"])
        ticket = int(state.t)
        self._keep(state, ticket, int(offer))
        return {"ticket": ticket, "offer": int(offer)}

    def close(self, ticket: int, reward: float) -> dict[str, bool]:
        """Learn the reward of a ticket, once."""
        now = int(self.kept["agent"].t)
        offer = int(self.kept["offers"][ticket % OPEN]) if now - OPEN < ticket <= now else -1
        if offer >= 0:
            self._keep(AGENT.observe(self.kept["agent"], offer, reward), ticket, -1)
        return {"counted": offer >= 0}

    def _keep(self, state: object, ticket: int, offer: int) -> None:
        offers = np.array(self.kept["offers"])
        offers[ticket % OPEN] = offer
        self.kept = {"agent": state, "offers": offers}
        jb.save(self.kept, self.path)


def serve(path: Path, port: int) -> None:
    """Answer requests until the process ends."""
    offers = Offers(path)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            actions = {
                "/show": lambda: offers.show(),
                "/convert": lambda: offers.close(json.loads(body)["ticket"], 1.0),
                "/expire": lambda: offers.close(json.loads(body)["ticket"], 0.0),
            }
            action = actions.get(self.path)
            answer = json.dumps(action() if action else {"error": f"one of {', '.join(actions)}"}).encode()
            self.send_response(200 if action else 404)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Print nothing per request."""

    with HTTPServer(("127.0.0.1", port), Handler) as server:
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, help="the file that keeps the service's state")
    parser.add_argument("--port", type=int, default=8000, help="0 for any free port")
    given = parser.parse_args()
    serve(given.path, given.port)
