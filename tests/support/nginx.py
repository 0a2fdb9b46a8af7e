"""nginx before servers of a test, with the site file that deploy/nginx/ publishes."""

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.support.ports import lasting_port

SITE: Final = Path(__file__).parent.parent.parent / "deploy/nginx/parley.conf"
_STOP_LIMIT_S: Final = 10

_MAIN: Final = """\
{user}worker_processes 2;
pid {folder}/nginx.pid;
daemon off;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""


def find_nginx() -> str | None:
    """The program: NGINX, PATH's, Debian's."""
    return os.environ.get("NGINX") or shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


class Nginx:
    """Runs between `with` and its end, before servers on these ports of this machine."""

    def __init__(self, program: str, folder: Path, ports: Sequence[int], *, site: str | None = None) -> None:
        self._program = program
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.port = lasting_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.ws_url = f"ws://127.0.0.1:{self.port}/ws"
        self._site = _adapt(site or SITE.read_text("utf-8"), ports, self.port)

    def __enter__(self) -> Self:
        """Returns when it takes connections; raises AssertionError with its log if it ends before."""
        self._folder.mkdir(exist_ok=True)
        (self._folder / "site.conf").write_text(self._site)
        user = "user root;\n" if os.getuid() == 0 else ""
        (self._folder / "nginx.conf").write_text(_MAIN.format(folder=self._folder, user=user))
        log = self._folder / "error.log"
        self._process = subprocess.Popen(
            [self._program, "-p", self._folder, "-c", self._folder / "nginx.conf", "-e", log],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                assert self._process.poll() is None, log.read_text()
            else:
                return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(_STOP_LIMIT_S)


def _adapt(site: str, ports: Sequence[int], port: int) -> str:
    """The site with its addresses replaced: the test's servers, and one port without TLS."""
    servers = re.findall(r"server 10\.0\.0\.\d+:8765(.*);", site)
    assert len(servers) == len(ports)
    listed = iter(ports)
    site = re.sub(r"server 10\.0\.0\.\d+:8765", lambda _: f"server 127.0.0.1:{next(listed)}", site)
    site, replaced = re.subn(r"listen 443 ssl;", f"listen 127.0.0.1:{port};", site)
    assert replaced == 1
    site = re.sub(r"(?m)^ *ssl_certificate.*\n", "", site)
    return re.sub(r"(?m)^ *listen 80;", f"    listen 127.0.0.1:{lasting_port()};", site)
