"""server/gateway/rest/rest_api.py, operation.py and openapi.py"""

import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from server.gateway.rest.rest_api import build_document
from tests.gateway.rest.conftest import Client
from tests.skills_engine.folders import entry, make_skill, write_hooks_json
from tests.support.client import client
from tests.support.openai_server import OpenAIServer
from tests.support.parley import Parley, parley


def schema_of(document: dict[str, Any], path: str, method: str, status: int) -> Draft202012Validator:
    schema = document["paths"][path][method]["responses"][str(status)]["content"]["application/json"]["schema"]
    return Draft202012Validator({**schema, "components": document["components"]})


async def test_what_is_answered_is_what_the_document_says(operator: Client) -> None:
    document = (await operator.get("/openapi.json")).body
    assert document["openapi"] == "3.1.0"
    await operator.post("/api/hooks/config", {"pre_tool_use": [{"type": "audit_log"}]}, tag="*")

    await operator.post("/api/skills", {"name": "calm"})
    for path, operations in document["paths"].items():
        others = (
            "/api/audit/export",
            "/api/skills/{skill}/zip",
            "/api/hooks/skills/{skill}",
        )  # streams, and what is read later
        if "get" in operations and path not in others:
            place = path.replace("{skill}", "calm")
            answer = await operator.get(f"{place}?path=SKILL.md" if place.endswith("/file") else place)
            assert answer.status == 200, path
            schema_of(document, path, "get", 200).validate(answer.body)
    refused = await operator.get("/api/audit?limit=0")
    schema_of(document, "/api/audit", "get", 400).validate(refused.body)
    parameters = {parameter["name"]: parameter for parameter in document["paths"]["/api/audit"]["get"]["parameters"]}
    assert parameters["since"]["schema"] == {"type": "string", "format": "date-time"}
    assert parameters["limit"]["schema"] == {"type": "integer", "minimum": 1, "maximum": 500, "default": 100}


async def test_the_document_promises_no_version_of_a_skill_that_is_deleted(operator: Client) -> None:
    document = (await operator.get("/openapi.json")).body

    deleting, renaming = (document["paths"][f"/api/skills/{{skill}}{end}"] for end in ("", "/name"))
    assert "headers" not in deleting["delete"]["responses"]["200"]
    assert "ETag" in renaming["post"]["responses"]["200"]["headers"]


async def test_every_operation_is_documented_with_its_refusals(server: Parley, operator: Client) -> None:
    document = (await operator.get("/openapi.json")).body

    assert {(path, method) for path, methods in document["paths"].items() for method in methods} == {
        ("/api/hooks/config", "get"),
        ("/api/hooks/config", "post"),
        ("/api/hooks/document", "post"),
        ("/api/hooks/available", "get"),
        ("/api/hooks/processes", "get"),
        ("/api/hooks/skills/{skill}", "get"),
        ("/api/audit", "get"),
        ("/api/audit/export", "get"),
        ("/api/audit/verification", "get"),
        ("/api/approvals", "get"),
        ("/api/approvals/{id}", "delete"),
        ("/api/model", "get"),
        ("/api/model", "put"),
        ("/api/model/names", "post"),
        ("/api/models", "get"),
        ("/api/models/download", "delete"),
        ("/api/models/download", "post"),
        ("/api/sessions", "get"),
        ("/v1/models", "get"),
        ("/v1/realtime/client_secrets", "post"),
        ("/openai/v1/realtime/client_secrets", "post"),
        ("/v1/realtime/sessions", "post"),
        ("/api/sessions/{id}", "delete"),
        ("/api/hooks/schema", "get"),
        ("/api/skills", "get"),
        ("/api/skills", "post"),
        ("/api/skills/{skill}", "get"),
        ("/api/skills/{skill}", "delete"),
        ("/api/skills/{skill}/name", "post"),
        ("/api/skills/{skill}/undo", "post"),
        ("/api/skills/{skill}/redo", "post"),
        ("/api/skills/{skill}/zip", "get"),
        ("/api/skills/{skill}/preview", "post"),
        ("/api/skills/{skill}/try", "post"),
        ("/api/skills/{skill}/describe", "post"),
        ("/api/skill_arrivals", "post"),
        ("/api/skill_bin", "get"),
        ("/api/skill_bin", "post"),
        ("/api/skills/{skill}/file", "get"),
        ("/api/skills/{skill}/file", "put"),
        ("/api/skills/{skill}/file", "delete"),
        ("/api/skills/{skill}/file/name", "post"),
        ("/openapi.json", "get"),
    }
    save = document["paths"]["/api/hooks/config"]["post"]
    assert {"200", "400", "401", "403", "412", "413", "415", "428", "503"} <= set(save["responses"])
    assert build_document([])["paths"] == {}
    page = (Path(__file__).parents[3] / "docs" / "rest.md").read_text("utf-8")
    for path, methods in document["paths"].items():
        assert all(f"`{method.upper()} {path}`" in page for method in methods), path
    for operation in (operation for methods in document["paths"].values() for operation in methods.values()):
        assert all(status in page for status in operation["responses"] if status != "200")


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/nothing", 404, "not_found"),
        ("GET", "/api/", 404, "not_found"),
        ("PUT", "/api/hooks/config", 405, "method_not_allowed"),
        ("GET", "/api/approvals/x", 405, "method_not_allowed"),
        ("GET", "/api/login", 405, "method_not_allowed"),
        ("DELETE", "/api/approvals/%00", 404, "approval_unknown"),
        ("DELETE", "/api/approvals/" + "x" * 500, 404, "approval_unknown"),
        ("GET", "/api/hooks/processes?x=1", 400, "query_invalid"),
    ],
)
async def test_every_refusal_has_one_shape(operator: Client, method: str, path: str, status: int, code: str) -> None:
    answer = await operator.ask(method, path)

    assert (answer.status, answer.code) == (status, code)
    assert set(answer.body["error"]) <= {"code", "message", "path"}
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/api/hooks/config?scope=all", "Invalid enum value 'all'; one of operator, user"),
        ("/api/audit/export?format=xml", "Invalid enum value 'xml'; one of csv, jsonl"),
        ("/api/audit?limit=501", "Expected `int` <= 500"),
    ],
)
async def test_a_wrong_parameter_is_told_with_what_could_stand_there(operator: Client, path: str, message: str) -> None:
    error = (await operator.get(path)).body["error"]

    assert error["message"] == message
    assert error["path"] == path.partition("?")[2].partition("=")[0]


async def test_nobody_gets_in_without_login(server: Parley) -> None:
    stranger = Client(server)
    for path in ("/api/hooks/config", "/api/audit", "/api/approvals", "/openapi.json", "/api/nothing"):
        answer = await stranger.get(path, **{"X-Forwarded-For": "1.2.3.4"})
        assert (answer.status, answer.code) == (401, "not_authenticated")


async def test_the_health_of_process_hooks_is_for_operators(operator: Client, anna: Client) -> None:
    assert (await operator.get("/api/hooks/processes")).body == {"processes": [], "builtins": []}
    refused = await anna.get("/api/hooks/processes")
    assert (refused.status, refused.code) == (403, "operators_only")


async def test_the_metrics_tell_how_the_storage_fares(operator: Client) -> None:
    text = (await operator.get("/metrics")).body

    assert "parley_storage_up 1.0" in text
    assert "parley_audit_queued 0.0" in text
    assert "parley_audit_lost 0.0" in text


async def test_a_hook_that_is_down_shows_in_its_health(tmp_path: Path, model: OpenAIServer) -> None:
    hook = {"enabled": True, "command": [sys.executable, "-c", "raise SystemExit(3)"], "observe": ["*"]}
    async with parley(tmp_path, model.url, {"hooks": {"processes": {"gone": hook}}}) as server:
        client = Client(server)
        answer = await client.get("/api/hooks/processes")

        [health] = answer.body["processes"]
        assert (health["name"], health["state"] in ("starting", "down")) == ("gone", True)
        document = (await client.get("/openapi.json")).body
        schema_of(document, "/api/hooks/processes", "get", 200).validate(answer.body)


async def test_a_builtin_hook_shows_in_the_health_of_the_hooks(tmp_path: Path, model: OpenAIServer) -> None:
    async with parley(tmp_path, model.url, {"hooks": {"builtins": {"ask_human": {"enabled": True}}}}) as server:
        client = Client(server)
        answer = await client.get("/api/hooks/processes")

        [health] = answer.body["builtins"]
        assert (health["name"], health["stages"], health["calls"]) == ("ask_human", ["approve_tool"], 0)
        document = (await client.get("/openapi.json")).body
        schema_of(document, "/api/hooks/processes", "get", 200).validate(answer.body)


async def test_hooks_that_a_frame_has_no_room_for_are_listed_by_skill(tmp_path: Path, model: OpenAIServer) -> None:
    for name, count in (("many", 200), ("one", 1)):
        skill = make_skill(tmp_path / "skills", name)
        write_hooks_json(skill, {"hooks": [entry(f"h{number}", file="a.md") for number in range(count)]})
        (skill / "hooks" / "a.md").write_text("Be kind.")
    async with parley(tmp_path, model.url, {"skills": {"dir": str(tmp_path / "skills")}}) as server:
        async with client(server.ws_url, greeted=False) as user:
            ready = await user.receive()
        document = (await Client(server).get("/openapi.json")).body
        listed = await Client(server).get("/api/hooks/skills/one")
        unknown = await Client(server).get("/api/hooks/skills/none")

    assert [(item["name"], item["hooks"], item["hooks_omitted"]) for item in ready["skills"]] == [
        ("many", [], 200),
        ("one", [], 1),
    ]
    assert [(hook["name"], hook["text"]) for hook in listed.body["hooks"]] == [("h0", "Be kind.")]
    schema_of(document, "/api/hooks/skills/{skill}", "get", 200).validate(listed.body)
    assert (unknown.status, unknown.code) == (404, "skill_unknown")
