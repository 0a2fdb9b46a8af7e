"""server/gateway/routes.py, auth_middleware of server/gateway/http.py"""

import re
from pathlib import Path

from aiohttp import ClientSession

from server.gateway.routes import Access
from tests.support.openai_server import OpenAIServer
from tests.support.parley import parley

ANNA = "annas-token-0123456789"
STRANGER = {"Via": "1.1 somewhere"}
TABLE = {
    Access.PROBE: "/healthz /readyz",
    Access.EVERYONE: "/login /api/login /api/logout /{path}",  # files of LOGIN_FILES and sdk/
    Access.FILE: "/media/{id} /{path}",
    Access.LOGGED_IN: (
        "/stages /api/session /api/hooks/config /api/hooks/document /api/hooks/available /api/hooks/schema /api/audit "
        "/api/audit/export /api/approvals /api/approvals/{id} /api/sessions /api/sessions/{id} /api/{rest} "
        "/v1/realtime/client_secrets /openai/v1/realtime/client_secrets /v1/realtime/sessions /v1/models /openapi.json"
    ),
    Access.SOCKET: "/ws",
    Access.KEY: "/v1/realtime /openai/v1/realtime",
    Access.OPERATOR: (
        "/metrics /api/audit/verification /api/hooks/processes /api/model /api/model/names /api/models /api/models/download /api/skills "
        "/api/skills/{skill} /api/skills/{skill}/name /api/skills/{skill}/undo /api/skills/{skill}/redo "
        "/api/skills/{skill}/zip /api/skills/{skill}/file /api/skills/{skill}/file/name /api/skills/{skill}/preview "
        "/api/skills/{skill}/try /api/skills/{skill}/describe /api/skill_arrivals /api/skill_bin"
    ),
}


async def test_each_route_says_who_may_use_it(tmp_path: Path, model: OpenAIServer) -> None:
    async with parley(tmp_path, model.url) as server:
        paths: dict[Access, set[str]] = {access: set() for access in Access}
        for _method, path, access in server.app.http.routes.table:
            paths[access].add(re.sub(r"{(\w+):.*}", r"{\1}", path))  # without the pattern

    assert paths == {access: set(text.split()) for access, text in TABLE.items()}


async def test_a_route_refuses_all_whom_it_does_not_name(tmp_path: Path, model: OpenAIServer) -> None:
    tokens = [{"user": "anna", "token": ANNA}]
    async with (
        parley(tmp_path, model.url, {"security": {"tokens": tokens}}) as server,
        ClientSession(server.url) as http,
    ):
        for method, path, access in server.app.http.routes.table:
            if access in (Access.PROBE, Access.EVERYONE, Access.SOCKET):
                continue
            asked = ("POST" if method == "*" else method, re.sub(r"\{.*\}", "0" * 32, path))
            async with http.request(*asked, headers=STRANGER) as refused:
                assert refused.status == 401, asked
            if access is Access.OPERATOR:
                async with http.request(*asked, headers={"Authorization": f"Bearer {ANNA}"}) as refused:
                    assert refused.status == 403, asked
