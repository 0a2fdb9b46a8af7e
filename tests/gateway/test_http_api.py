"""server/gateway/http_api.py"""

import asyncio

from aiohttp import ClientSession

from tests.support.parley import Parley


async def model_loaded(server: Parley) -> None:
    """The line that names the model is printed when it is loaded."""
    async with asyncio.timeout(10):
        while len(server.lines) < 3:  # noqa: ASYNC110 - a line printed is no event
            await asyncio.sleep(0.01)


async def test_readyz_tells_the_stages_and_healthz_and_metrics_answer(server: Parley) -> None:
    async with ClientSession() as http:
        await model_loaded(server)
        async with http.get(f"{server.url}/readyz") as answer:
            assert (answer.status, await answer.json()) == (
                200,
                {
                    "ready": True,
                    "draining": False,
                    "stages": [
                        {"name": "skills", "state": "ready", "detail": None},
                        {"name": "model", "state": "ready", "detail": "scripted"},
                    ],
                },
            )
        async with http.get(f"{server.url}/healthz") as answer:
            assert (answer.status, await answer.text()) == (200, "ok\n")
        async with http.get(f"{server.url}/metrics") as answer:
            assert answer.status == 200
            assert "parley_connections 0.0" in await answer.text()
        async with http.get(f"{server.url}/metrics", headers={"X-Forwarded-For": "1.2.3.4"}) as answer:
            assert answer.status == 401


async def test_every_answer_carries_the_security_headers(server: Parley) -> None:
    async with ClientSession() as http:
        for path, headers in (("/", {}), ("/nothing", {}), ("/healthz", {}), ("/", {"Host": "evil.example"})):
            async with http.get(server.url + path, headers=headers) as answer:
                policy = answer.headers["Content-Security-Policy"]
                assert policy.startswith(
                    "default-src 'self'; connect-src 'self'; img-src 'self' blob: data:; worker-src 'self' blob:;"
                )
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
                assert answer.headers["Server"] == "parley"
        async with http.get(server.url, headers={"Host": "evil.example"}) as answer:
            assert answer.status == 403
        async with http.get(server.url, headers={"Via": "1.1 proxy"}) as answer:
            assert answer.status == 401
            assert "security.auth" in await answer.text()
