"""server/gateway/http_server.py"""

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
