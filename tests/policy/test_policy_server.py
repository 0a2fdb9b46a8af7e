"""The tool policy over a whole server: each line of seed 003 §8, and what it says between the lines."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from server import config
from server.llm.language_model import ToolSpec
from server.tools.registry import Tool
from server.tools.tool_calls import ToolAnswer
from tests.hooks.serving import Scene, entry, only, scripted, serving
from tests.support.client import Frame, kinds
from tests.support.openai_script import calls, text
from tests.support.policy_document import SEED

SECRET = "ghp_" + "NlJBNclzN0yvGBZ4RbZ61O1ZkWhGOzArM568"
PASSWORD = "Regenschirm#88"
RM = calls(("shell", {"command": "rm -rf /srv"}))


class Tools:
    """Three tools: one that runs commands, one that tells secrets, one that fails."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def all(self) -> list[Tool]:
        def tool(name: str, run: Any, key: str) -> Tool:
            schema = {"type": "object", "properties": {key: {"type": "string"}}, "required": [key]}
            return Tool(spec=ToolSpec(name=name, description=name, parameters=schema), run=run, permission="WRITE")

        return [tool("shell", self.shell, "command"), tool("leak", self.leak, "who"), tool("boom", self.boom, "what")]

    async def shell(self, arguments: dict[str, Any]) -> str:
        self.ran.append(arguments["command"])
        return "done"

    async def leak(self, arguments: dict[str, Any]) -> ToolAnswer:
        self.ran.append(arguments["who"])
        found = {"token": SECRET, "password": PASSWORD, "rows": 3}
        return ToolAnswer(for_llm=json.dumps(found), for_user=f"Your password: {PASSWORD}")

    async def boom(self, arguments: dict[str, Any]) -> str:
        raise RuntimeError(f"cannot open postgres://app:{PASSWORD}@db/{arguments['what']}")


@asynccontextmanager
async def guarded(
    folder: Path, document: dict[str, Any] | None = SEED, *, processes: dict[str, Any] | None = None, **hooks: Any
) -> AsyncIterator[tuple[Scene, Tools]]:
    """A server whose local user has this policy."""
    tools = Tools()
    async with serving(folder, processes or {}, **hooks) as scene:
        scene.server.app.tools.put("test", tools.all())
        if document is not None:
            await configure(scene, document)
        yield scene, tools


async def configure(scene: Scene, document: dict[str, Any], scope: str = "user") -> None:
    url = f"{scene.server.url}/api/hooks/config?scope={scope}"
    async with ClientSession() as http:
        async with http.get(url) as shown:
            tag = shown.headers["ETag"]
        async with http.post(url, json=document, headers={"If-Match": tag}) as saved:
            assert saved.status == 200, await saved.text()
            assert (await saved.json())["status"] == "ok"


async def audited(scene: Scene) -> list[dict[str, Any]]:
    """Calls in the audit log, the oldest first."""
    await scene.server.app.storage.audit.flush()
    async with ClientSession() as http, http.get(f"{scene.server.url}/api/audit?limit=100") as answer:
        records = (await answer.json())["entries"]
    return [record["entry"] for record in reversed(records) if record["entry"]["phase"] != "policy"]


async def answered(scene: Scene, script: Any, **answer: Any) -> tuple[Frame, list[Frame]]:
    """A turn in which a human is asked and gives this answer."""
    scene.model.queue(script, text("Well."))
    await scene.client.chat("go")
    request = await scene.client.until("approval_request")
    await scene.client.send("approval", id=request["id"], **answer)
    frames: list[Frame] = []
    while not frames or frames[-1]["type"] != "turn_end":
        frames.append(await scene.client.receive())
    return request, frames


def tool_messages(scene: Scene) -> str:
    """What the model was told of its calls."""
    return json.dumps([message for message in scene.model.requests[-1].messages if message["role"] == "tool"])


async def test_a_dangerous_call_is_stopped_unless_a_human_says_yes(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (scene, tools):
        request, refused = await answered(scene, RM, approved=False)
        assert tools.ran == []
        assert (request["tool"], request["arguments"], request["origin"]) == (
            "shell",
            {"command": "rm -rf /srv"},
            "dangerous_confirmation",
        )
        assert "deletes files" in request["message"]
        assert request["call_id"] == only(refused, "tool_result")["id"]
        assert "refused" in only(refused, "tool_result")["content"]
        assert "refused" in tool_messages(scene)

        _, approved = await answered(scene, RM, approved=True)
        assert tools.ran == ["rm -rf /srv"]
        assert only(approved, "tool_result")["content"] == "done"
        log = await audited(scene)

    assert [(e["phase"], e["outcome"], e.get("approval")) for e in log] == [
        ("pre_tool_use", "called", None),
        ("pre_tool_use", "denied", "user"),
        ("pre_tool_use", "called", None),
        ("pre_tool_use", "approved", "user"),
        ("post_tool_use", "ran", None),
    ]


async def test_a_connection_that_is_lost_during_a_question_leaves_its_outcome_in_the_audit_log(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (scene, tools):
        scene.model.queue(RM)
        await scene.client.chat("go")
        await scene.client.until("approval_request")
        await scene.client.socket.close()
        log = await audited(scene)
        for _ in range(100):
            if len(log) < 2:
                await asyncio.sleep(0.05)
                log = await audited(scene)

    assert tools.ran == []
    assert [(e["phase"], e["outcome"], e.get("approval")) for e in log] == [
        ("pre_tool_use", "called", None),
        ("pre_tool_use", "denied", "disconnect"),
    ]
    assert log[1]["message"] == "No client that may approve this call was connected, so it was not made."


async def test_a_secret_is_redacted_on_every_path(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What the tool told, and what the model itself had put into the call's arguments."""
    seen = tmp_path / "seen.jsonl"
    watcher = entry("watcher", str(seen), observe=["*"])
    script = calls(("leak", {"who": f"root with password: {PASSWORD}"}))
    with caplog.at_level(logging.DEBUG, logger="server"):
        async with guarded(tmp_path, processes={"watcher": watcher}) as (scene, tools):
            await scene.client.send("configure", trace=True)
            frames = await scene.turn(script, text("Done."))
            log = await audited(scene)
            sent = tool_messages(scene)

    result = only(frames, "tool_result")
    assert tools.ran == [f"root with password: {PASSWORD}"]  # the tool itself gets what it was called with
    assert json.loads(result["content"]) == {"token": "[REDACTED]", "password": "[REDACTED]", "rows": 3}
    assert result["for_user"] == "Your password: [REDACTED]"
    assert only(frames, "tool_call")["arguments"] == {"who": "root with password: [REDACTED]"}
    assert log[-1]["details"] == {"redacted": {"named": 3}}
    events = seen.read_text()
    assert "exec_end" in events
    assert "trace" in kinds(frames)
    traces = json.dumps([frame for frame in frames if frame["type"] == "trace"])
    for path, told in {
        "model": sent,
        "frames": json.dumps([frame for frame in frames if frame["type"] != "trace"]),
        "trace": traces,
        "audit": json.dumps(log),
        "events": events,
        "log": caplog.text,
    }.items():
        assert SECRET not in told, path
        assert PASSWORD not in told, path


async def test_the_log_tells_of_a_tool_that_fails_without_the_secrets_of_the_exception(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="server"):
        async with guarded(tmp_path) as (scene, _):
            frames = await scene.turn(calls(("boom", {"what": f"shop?password={PASSWORD}"})), text("Sorry."))
            log = await audited(scene)

    assert [(e["phase"], e["outcome"]) for e in log] == [("pre_tool_use", "called"), ("tool_error", "failed")]
    assert [e.get("error_type") for e in log] == [None, "RuntimeError"]
    assert "RuntimeError" in log[-1]["result"]
    assert PASSWORD not in json.dumps([frames, log])
    told = next(message for message in caplog.messages if message.startswith("tool boom failed"))
    assert "RuntimeError: cannot open postgres://app:[REDACTED]@db/shop" in told
    assert PASSWORD not in caplog.text


@pytest.mark.parametrize("who", ["schema", "hook", "human"])
async def test_a_refusal_quotes_no_secret_anywhere_though_no_scan_is_configured(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, who: str
) -> None:
    seen, quote = tmp_path / "seen.jsonl", f"password={PASSWORD}"
    hooks = {"watcher": entry("watcher", str(seen), observe=["*"])}
    if who == "hook":
        hooks["guard"] = scripted({"before_tool": {"action": "deny_tool", "reason": f"no {quote} here"}})
    audit = {"type": "audit_log"}
    document = {"pre_tool_use": [audit, {"type": "dangerous_confirmation"}], "tool_skip": [audit]}
    command = f"rm -rf /srv --{quote}"
    script = calls(("shell", {"command": [command] if who == "schema" else command}))
    with caplog.at_level(logging.DEBUG, logger="server"):
        async with guarded(tmp_path, document, processes=hooks) as (scene, tools):
            await scene.client.send("configure", trace=True)
            if who == "human":
                _, frames = await answered(scene, script, approved=False, reason=f"not with {quote}")
            else:
                frames = await scene.turn(script, text("Done."))
            log = await audited(scene)
            sent = tool_messages(scene)

    assert tools.ran == []
    assert "[REDACTED]" in only(frames, "tool_result")["content"]
    assert PASSWORD not in json.dumps([frames, log, sent]) + seen.read_text() + caplog.text


async def test_a_change_counts_from_the_next_turn_on_and_after_a_restart(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (scene, tools):
        scene.model.queue(RM, text("Well."))
        await scene.client.chat("go")
        request = await scene.client.until("approval_request")
        await configure(scene, {"pre_tool_use": [], "post_tool_use": [], "tool_error": []})
        await scene.client.send("approval", id=request["id"], approved=False)
        await scene.client.until("turn_end")
        assert tools.ran == []

        await scene.turn(RM, text("Gone."))
    assert tools.ran == ["rm -rf /srv"]

    async with guarded(tmp_path, {"pre_tool_use": [{"type": "dangerous_confirmation"}]}):
        pass
    async with guarded(tmp_path, None) as (scene, tools):
        await answered(scene, RM, approved=False)
    assert tools.ran == [], "it is in force after a restart"


async def test_a_secret_at_the_edge_of_what_is_kept_leaves_no_half(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (scene, _):
        limit = config.ToolsSettings().max_result_bytes

        async def long(_arguments: dict[str, Any]) -> str:
            return "x" * (limit - 10) + " " + SECRET + " and more"

        spec = ToolSpec(name="long", description="", parameters={"type": "object"})
        scene.server.app.tools.put("long", [Tool(spec=spec, run=long)])
        frames = await scene.turn(calls(("long", {})), text("Long."))

    assert "ghp_" not in only(frames, "tool_result")["content"]
