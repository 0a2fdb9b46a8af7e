"""server/gateway/http.py"""

import socket
import ssl
import subprocess
from pathlib import Path

from tests.support.client import client
from tests.support.openai_script import text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import parley


async def test_it_speaks_tls(tmp_path: Path, model: OpenAIServer) -> None:
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"],
        check=True,
        capture_output=True,
    )  # fmt: skip
    model.queue(text("Hello."))
    files = {"cert": str(tmp_path / "cert.pem"), "key": str(tmp_path / "key.pem")}
    settings = {"agent": {"planning": False}, "listen": {"tls": files}}
    trust = ssl.create_default_context(cafile=tmp_path / "cert.pem")
    trust.check_hostname = False
    async with parley(tmp_path, model.url, settings) as server:
        assert server.url.startswith("https://")
        async with client(server.ws_url, ssl=trust) as me:
            assert (await me.turn())[-1]["reason"] == "completed"


async def test_localhost_is_one_port_under_both_protocols(tmp_path: Path, model: OpenAIServer) -> None:
    async with parley(tmp_path, model.url, {"listen": {"host": "localhost"}}) as server:
        port = server.url.removeprefix("http://localhost:")
        async with client(f"ws://127.0.0.1:{port}/ws"):
            pass
        if has_ipv6():
            async with client(f"ws://[::1]:{port}/ws"):
                pass


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False
