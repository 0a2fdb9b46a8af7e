"""A web server that lets visitors talk: it gives each a key of ten minutes, and keeps its own token to itself.

    PARLEY_TOKEN=… python examples/clients/key_server.py http://localhost:8765 8080

Standard library only. The page, realtime.html, opens /v1/realtime of the server with that key. A visitor is known by
a cookie here; ask who it is where that matters. With the key, the visitor is the user `maker/NAME` of the server: with
the policy, skills and limits of the user whose token this is, but a name of its own in the audit log.
"""

import json
import os
import secrets
import sys
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import Request, urlopen

SERVER = sys.argv[1] if len(sys.argv) > 1 else "http://localhost:8765"
PORT = int(sys.argv[2]) if len(sys.argv) > 2 else 8080
PAGE = Path(__file__).with_name("realtime.html")
WANTED = {
    "expires_after": {"anchor": "created_at", "seconds": 600},
    "session": {
        "type": "realtime",
        "instructions": "You help visitors of our shop. Be brief.",
        "audio": {"input": {"transcription": {}, "turn_detection": {"type": "server_vad"}}},
    },
}


def new_key(visitor: str) -> str:
    """Raises OSError if the server refuses or is not there."""
    wanted = {"user": visitor, **WANTED}
    headers = {"Content-Type": "application/json"}
    if token := os.environ.get("PARLEY_TOKEN"):
        headers["Authorization"] = f"Bearer {token}"
    request = Request(f"{SERVER}/v1/realtime/client_secrets", json.dumps(wanted).encode(), headers)  # noqa: S310  ours
    with urlopen(request, timeout=10) as answer:  # noqa: S310  the address is ours
        key: str = json.load(answer)["value"]
    return key


class Visitor(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/":
            self.answer(200, "text/html; charset=utf-8", PAGE.read_bytes())
        else:
            self.answer(404, "text/plain", b"not here")

    def do_POST(self) -> None:
        if self.path != "/key":
            return self.answer(404, "text/plain", b"not here")
        known = SimpleCookie(self.headers["Cookie"]).get("visitor")
        visitor = known.value if known else f"visitor-{secrets.token_hex(8)}"
        try:
            given = {"key": new_key(visitor), "url": SERVER.replace("http", "ws", 1) + "/v1/realtime"}
        except OSError as error:
            print(f"no key: {error}", flush=True)
            return self.answer(502, "text/plain", b"the voice server gives no key")
        return self.answer(200, "application/json", json.dumps(given).encode(), visitor)

    def answer(self, status: int, content_type: str, body: bytes, visitor: str | None = None) -> None:
        self.send_response(status)
        if visitor is not None:
            self.send_header("Set-Cookie", f"visitor={visitor}; HttpOnly; SameSite=Strict; Path=/")
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    web = ThreadingHTTPServer(("127.0.0.1", PORT), Visitor)
    print(f"listening on http://127.0.0.1:{web.server_address[1]}", flush=True)
    web.serve_forever()
