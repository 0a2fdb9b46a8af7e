"""server/gateway/rest/audit_routes.py, and the approvals of policy_routes.py"""

import asyncio
import csv
import io
import json
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from aiohttp import ClientError, ClientSession, web
from aiohttp.test_utils import TestServer
from yarl import URL

from server.accounts.principal import Principal
from server.approval.remembered import Approved, RememberedApprovals, keys_for
from server.gateway.rest.audit_routes import MAX_EXPORTS_PER_USER, AuditExportQuery, AuditRoutes
from server.gateway.rest.operation import ApiCall
from server.storage.audit_entry import AuditEntry
from server.storage.schema import audit
from server.toolguard.redaction.redact import redactor
from tests.gateway.rest.conftest import Client
from tests.support.audit_entries import write_entries
from tests.support.parley import Parley
from tests.support.waiting import until

OURS = redactor(None)

pytestmark = pytest.mark.slow  # each starts a server


async def fill(server: Parley, *entries: AuditEntry) -> None:
    await write_entries(server.app.storage.database, entries)


async def test_pages_follow_one_another(server: Parley, operator: Client) -> None:
    await fill(server, *(AuditEntry(phase="pre_tool_use", tool=f"t{i}", ts_us=i) for i in range(5)))

    seen: list[str] = []
    path = "/api/audit?limit=2"
    while True:
        page = (await operator.get(path)).body
        seen += [record["entry"]["tool"] for record in page["entries"]]
        if page["next"] is None:
            break
        path = f"/api/audit?limit=2&cursor={quote(page['next'])}"
    assert seen == ["t4", "t3", "t2", "t1", "t0"]
    assert page["entries"][0]["ts"] == "1970-01-01T00:00:00.000000Z"


async def test_users_see_their_own_entries_and_operators_everybodys(
    server: Parley, operator: Client, anna: Client
) -> None:
    by_user = {"anna": "a", "bert": "b", "anna/visitor": "v"}
    await fill(server, *(AuditEntry(phase="p", user=user, tool=tool) for user, tool in by_user.items()))

    async def tools(client: Client, query: str = "") -> list[str]:
        return [record["entry"]["tool"] for record in (await client.get("/api/audit" + query)).body["entries"]]

    assert sorted(await tools(anna)) == ["a", "v"], "her keys' are hers"
    assert sorted(await tools(anna, "?user=anna")) == ["a", "v"]
    assert await tools(anna, "?user=anna/visitor") == ["v"]
    assert sorted(await tools(operator)) == ["a", "b", "v"]
    assert await tools(operator, "?user=bert") == ["b"]
    refused = await anna.get("/api/audit?user=bert")
    assert (refused.status, refused.code) == (403, "operators_only")
    assert '"b"' not in (await anna.get("/api/audit/export")).body


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("limit=0", "limit"),
        ("limit=x", "limit"),
        ("limit=501", "limit"),
        ("cursor=x", "cursor"),
        ("since=yesterday", "since"),
        ("since=2026-11-22T10:00:00", "since"),
        ("since=2026-13-22T10:00:00Z", "since"),
        ("since=2026", "since"),
        ("since=1795341600.5", "since"),
        ("until=2026-11-22", "until"),
        ("until=", "until"),
        ("colour=red", "colour"),
        ("tool=a&tool=b", "tool"),
        ("text=" + "x" * 300, "text"),
    ],
)
async def test_a_wrong_parameter_is_named(operator: Client, query: str, path: str) -> None:
    answer = await operator.get("/api/audit?" + query)

    assert (answer.status, answer.code, answer.body["error"]["path"]) == (400, "query_invalid", path)


async def test_the_longest_filter_that_is_allowed_is_answered(operator: Client) -> None:
    names = ("user", "session", "turn", "tool", "phase", "outcome", "handler", "text")
    longest = "%F0%9D%84%9E" * 256  # twelve bytes for each character
    query = "&".join(f"{name}={longest}" for name in names)

    answer = await operator.get(f"/api/audit?{query}&limit=500&since=2026-11-22T10:00:00%2B01:00")
    assert (answer.status, answer.body["entries"]) == (200, [])


async def test_times_filter(server: Parley, operator: Client) -> None:
    await fill(server, *(AuditEntry(phase="p", tool=f"t{i}", ts_us=i * 1_000_000) for i in range(4)))

    page = await operator.get("/api/audit?since=1970-01-01T00:00:01Z&until=1970-01-01T01:00:03%2B01:00")
    assert [record["entry"]["tool"] for record in page.body["entries"]] == ["t2", "t1"]


async def test_an_export_as_csv_holds_no_formula_and_loses_nothing(server: Parley, operator: Client) -> None:
    hostile = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1", 'a"b,c\nd', "plain", "\0"]
    await fill(
        server, *(AuditEntry(phase="p", message=text, arguments={"t": text}, ts_us=i) for i, text in enumerate(hostile))
    )

    answer = await operator.get("/api/audit/export?format=csv")
    assert answer.headers["Content-Type"].startswith("text/csv")
    assert "attachment" in answer.headers["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.body, newline="")))
    for row, text in zip(rows, hostile, strict=True):
        assert row["message"].startswith("'") == (text in hostile[:8])
        assert row["message"].replace("'", "") == text
        assert json.loads(row["arguments"]) == {"t": text}
        assert not any(cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r", "＝")) for cell in row.values())


@pytest.mark.parametrize("separator", [";", "\t", ","])
async def test_an_export_as_csv_holds_no_formula_wherever_a_spreadsheet_splits_it(
    server: Parley, operator: Client, separator: str
) -> None:
    hostile = ["a;=1", "a; +1", 'a;"=1', "a\t@b", "a\n=1", "a\r\n-1", "a;＝1"]
    await fill(server, *(AuditEntry(phase="p", message=text, arguments={"t": text}) for text in hostile))

    answer = await operator.get("/api/audit/export?format=csv")
    cells = [cell for row in csv.reader(io.StringIO(answer.body, newline=""), delimiter=separator) for cell in row]
    assert [cell for cell in cells if cell.lstrip(" ").startswith(("=", "+", "-", "@", "＝"))] == []
    rows = csv.DictReader(io.StringIO(answer.body, newline=""))
    assert sorted(json.loads(row["arguments"])["t"] for row in rows) == sorted(hostile)


async def test_an_export_as_json_lines_is_the_whole_log_oldest_first(server: Parley, operator: Client) -> None:
    await fill(server, *(AuditEntry(phase="p", tool=f"t{i}", message="ü\ud800", ts_us=i) for i in range(1203)))

    answer = await operator.get("/api/audit/export?tool=t*")
    lines = [json.loads(line) for line in answer.body.splitlines()]
    assert [line["entry"]["tool"] for line in lines] == [f"t{i}" for i in range(1203)]
    assert {len(line["hash"]) for line in lines} == {64}


async def test_a_remembered_approval_is_listed_and_revoked_by_its_user(
    server: Parley, operator: Client, anna: Client, bert: Client
) -> None:
    approvals = RememberedApprovals(server.app.storage.approvals, OURS.redact, [b"key"])
    call = {"to": "bert@example.org", "key": "ghp_NlJBNclzN0yvGBZ4RbZ61O1ZkWhGOzArM568", "n": 1}
    await approvals.remember("anna", Approved(tool="send", remember_for="arguments", value=call, origin="ask_human"))
    assert await approvals.find("anna", keys_for("send", dict(reversed(call.items())), None))
    assert not await approvals.find("anna", keys_for("send", {**call, "n": 2}, None))
    assert not await approvals.find("bert", keys_for("send", call, None))

    [shown] = (await anna.get("/api/approvals")).body["approvals"]
    assert (shown["tool"], shown["origin"]) == ("send", "ask_human")
    assert json.loads(shown["shown"]) == {"to": "bert@example.org", "key": "[REDACTED]", "n": "1"}
    assert (await operator.get("/api/approvals")).body == {"approvals": []}
    for stranger in (bert, operator):
        refused = await stranger.delete(f"/api/approvals/{shown['id']}")
        assert (refused.status, refused.code) == (404, "approval_unknown")
    assert (await anna.delete(f"/api/approvals/{shown['id']}")).body == {"status": "ok"}
    assert not await approvals.find("anna", keys_for("send", call, None))
    assert (await anna.delete(f"/api/approvals/{shown['id']}")).status == 404


async def test_a_remembered_command_and_a_remembered_tool_are_listed_and_revoked(server: Parley, anna: Client) -> None:
    approvals = RememberedApprovals(server.app.storage.approvals, OURS.redact, [b"key"])
    await approvals.remember("anna", Approved(tool="shell", remember_for="command", value="git push"))
    await approvals.remember("anna", Approved(tool="lights", remember_for="tool"))

    listed = (await anna.get("/api/approvals")).body["approvals"]
    assert sorted((a["tool"], a["remember_for"], a["command_name"], a["shown"]) for a in listed) == [
        ("lights", "tool", None, ""),
        ("shell", "command", "git push", "git push"),
    ]
    for shown in listed:
        assert (await anna.delete(f"/api/approvals/{shown['id']}")).body == {"status": "ok"}
    assert not await approvals.find("anna", keys_for("shell", {}, "git push"))
    assert not await approvals.find("anna", keys_for("lights", {}, None))


async def test_an_operator_learns_whether_the_log_is_what_was_written(
    server: Parley, operator: Client, anna: Client
) -> None:
    path = "/api/audit/verification"
    await fill(server, *(AuditEntry(phase="p", tool=f"t{i}") for i in range(250)))

    good = (await operator.get(path)).body
    assert (good["is_whole"], good["problems"], good["pruned"]) == (True, [], [])
    assert [(day["entries"], day["is_closed"]) for day in good["days"]] == [(250, False)]
    edit = sa.update(audit).where(audit.c.number == 201).values(tool="other")
    await server.app.storage.database.write(lambda connection: connection.execute(edit))
    bad = (await operator.get(path)).body
    assert bad["is_whole"] is False
    assert ["entry 201: the column tool differs" in problem for problem in bad["problems"]] == [True]
    refused = await anna.get(path)
    assert (refused.status, refused.code) == (403, "operators_only")


async def test_the_log_is_verified_once_at_a_time(server: Parley, operator: Client) -> None:
    database, release = server.app.storage.database, threading.Event()
    busy = [asyncio.create_task(database.read(lambda _: release.wait(30))) for _ in range(4)]  # all its threads
    both = [asyncio.create_task(operator.get("/api/audit/verification")) for _ in range(2)]

    done, waiting = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    release.set()

    [refused] = done
    assert (refused.result().status, refused.result().code) == (429, "verification_busy")
    assert [(await verified).status for verified in waiting] == [200]
    assert (await operator.get("/api/audit/verification")).status == 200
    assert all(await asyncio.gather(*busy))


async def test_only_so_many_exports_run_at_once_and_one_that_is_left_makes_room(
    server: Parley, operator: Client, anna: Client, bert: Client
) -> None:
    long = {"text": "x" * 16_000}
    await fill(  # more than a socket holds
        server, *(AuditEntry(phase="p", user=user, arguments=long) for user in ("anna", "bert") for _ in range(1000))
    )
    url = f"{server.url}/api/audit/export"

    async with ClientSession() as http:
        running = [await http.get(url, headers=user.headers) for user in (anna, bert) for _ in range(2)]
        for client in (anna, bert, operator):
            busy = await client.get("/api/audit/export")
            assert (busy.status, busy.code, busy.headers["Retry-After"]) == (429, "exports_busy", "10")
            assert busy.body["error"]["message"].startswith("2 exports of yours, or 4 in all, are running")
        for answer in running:
            answer.close()
    assert await until_it_may(operator) == 200


async def test_one_user_cannot_take_every_export(server: Parley, operator: Client, anna: Client) -> None:
    await fill(server, *(AuditEntry(phase="p", user="anna", arguments={"text": "x" * 16_000}) for _ in range(1500)))
    url = f"{server.url}/api/audit/export"

    async with ClientSession() as http:
        running = [await http.get(url, headers=anna.headers) for _ in range(MAX_EXPORTS_PER_USER)]
        refused = await anna.get("/api/audit/export")
        assert (refused.status, refused.code) == (429, "exports_busy")
        assert (await operator.get("/api/audit/export?text=nothing")).status == 200
        running[0].close()
        assert await until_it_may(anna) == 200
        running[1].close()


@pytest.mark.slow
async def test_one_users_searches_hold_up_nobodys_policy_and_the_surplus_is_refused(
    server: Parley, anna: Client, bert: Client
) -> None:
    for _ in range(4):
        await fill(server, *(AuditEntry(phase="p", user="anna", arguments={"text": "x" * 16_000}) for _ in range(1800)))
    config = "/api/hooks/config"
    tag = (await bert.get(config)).tag

    searches = [asyncio.create_task(anna.get("/api/audit?text=nothing")) for _ in range(40)]
    await until(lambda: any(search.done() for search in searches))
    written = await bert.post(config, {}, tag=tag)
    read = await bert.get("/api/audit?text=nothing")
    ended = sum(search.done() for search in searches)
    answers = await asyncio.gather(*searches)

    assert (written.status, read.status) == (200, 200)
    assert ended < len(searches), "bert waits for none but the one under way"
    assert {answer.status for answer in answers} == {200, 429}
    busy = next(answer for answer in answers if answer.status == 429)
    assert (busy.code, busy.headers["Retry-After"]) == ("audit_busy", "10")


async def until_it_may(client: Client) -> int:
    async with asyncio.timeout(20):
        while (answer := await client.get("/api/audit/export?text=nothing")).status == 429:
            pass
    return answer.status


@asynccontextmanager
async def impatient_export(server: Parley, *, send_buffer: int = 1 << 20) -> AsyncIterator[tuple[URL, asyncio.Event]]:
    """An export whose reader has 10 ms for a piece, and what is set when it has ended."""
    routes = AuditRoutes(server.app.storage.database, keep_days=90, slowest_piece_s=0.01)
    export = next(operation for operation in routes.operations() if operation.answer is None)
    over = asyncio.Event()

    async def handle(request: web.Request) -> web.StreamResponse:
        principal = Principal("127.0.0.1", is_local=True, is_operator=True)
        assert request.transport is not None
        request.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
        try:
            answer = await export.handle(ApiCall(request, principal, AuditExportQuery()))
        finally:
            over.set()
        assert isinstance(answer, web.StreamResponse)
        return answer

    app = web.Application()
    app.router.add_get("/", handle)
    async with TestServer(app) as here:
        yield here.make_url("/"), over


async def test_who_does_not_read_an_export_gives_its_place_back(server: Parley) -> None:
    await fill(server, *(AuditEntry(phase="p", arguments={"text": "x" * 16_000}) for _ in range(1500)))

    async with impatient_export(server) as (url, over), ClientSession() as http:
        answer = await http.get(url)
        await asyncio.wait_for(over.wait(), 20)
        with pytest.raises(ClientError):
            await answer.read()


async def test_who_does_not_read_the_end_of_an_export_gives_its_place_back(server: Parley) -> None:
    """All of it was written and lies before the sockets, which hold little: only its end has to wait."""
    buffer = 4 << 10
    await fill(server, *(AuditEntry(phase="p", arguments={"text": "x" * 16_000}) for _ in range(6)))

    async with impatient_export(server, send_buffer=buffer) as (url, over):
        with socket.socket() as lazy:
            lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
            lazy.setblocking(False)
            await asyncio.get_running_loop().sock_connect(lazy, ("127.0.0.1", url.port))
            lazy.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await asyncio.wait_for(over.wait(), 20)
