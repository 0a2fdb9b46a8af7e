"""server/gateway/rest/policy_routes.py"""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.gateway.rest.conftest import Client
from tests.support.openai_server import OpenAIServer
from tests.support.parley import Parley, parley
from tests.support.policy_document import SEED

CONFIG = "/api/hooks/config"
AUDIT = {"type": "audit_log"}
CONFIRM = {"type": "dangerous_confirmation", "filter": {"permissions": ["WRITE", "EXTERNAL"]}}


def types(document: dict[str, Any], stage: str = "pre_tool_use") -> list[str]:
    return [handler["type"] for handler in document[stage]["handlers"]]


async def test_the_seeds_document_is_stored_shown_and_kept_over_a_restart(tmp_path: Path, model: OpenAIServer) -> None:
    async with parley(tmp_path, model.url) as server:
        client = Client(server)
        empty = await client.get(CONFIG)
        assert (empty.status, empty.body) == (200, {})

        saved = await client.post(CONFIG, SEED, tag=empty.tag)
        assert (saved.status, saved.body) == (200, {"status": "ok", "version": 1})

    async with parley(tmp_path, model.url) as server:
        shown = await Client(server).get(CONFIG)
        assert shown.tag == saved.tag
        assert shown.headers["Cache-Control"] == "no-store"
        assert {stage: types(shown.body, stage) for stage in shown.body} == {
            "pre_tool_use": ["audit_log", "dangerous_confirmation"],
            "post_tool_use": ["security_scan", "audit_log"],
            "tool_error": ["audit_log"],
        }
        again = await Client(server).post(CONFIG, shown.body, tag=shown.tag)
        assert again.body == {"status": "ok", "version": 2}


async def test_a_change_without_a_version_or_with_an_old_one_changes_nothing(operator: Client) -> None:
    read = await operator.get(CONFIG)
    missing = await operator.post(CONFIG, {"tool_skip": [AUDIT]})
    assert (missing.status, missing.code) == (428, "version_missing")

    first = await operator.post(CONFIG, {"tool_skip": [AUDIT]}, tag=read.tag)
    stale = await operator.post(CONFIG, {"tool_skip": []}, tag=read.tag)
    assert (first.status, stale.status, stale.code) == (200, 412, "version_stale")
    assert stale.headers["ETag"] == first.tag
    for tag in ("W/" + first.tag, first.tag.strip('"'), '"', "", "nonsense"):
        assert (await operator.post(CONFIG, {}, tag=tag)).status == 412
    assert (await operator.post(CONFIG, {}, tag=f'"other", {first.tag}')).body["version"] == 2
    assert (await operator.post(CONFIG, {}, tag="*")).body["version"] == 3


async def test_of_many_who_change_at_once_one_wins(operator: Client) -> None:
    read = await operator.get(CONFIG)
    answers = await asyncio.gather(*(operator.post(CONFIG, {"tool_skip": [AUDIT]}, tag=read.tag) for _ in range(8)))

    assert sorted(answer.status for answer in answers) == [200, *[412] * 7]


async def test_each_user_has_an_own_document_over_the_operators(operator: Client, anna: Client, bert: Client) -> None:
    locked = {**AUDIT, "locked": True}
    await operator.post(CONFIG + "?scope=operator", {"pre_tool_use": [CONFIRM, locked]}, tag='"o0"')

    mine = await anna.get(CONFIG)
    assert types(mine.body) == ["dangerous_confirmation", "audit_log"]
    saved = await anna.post(CONFIG, {"pre_tool_use": [{"type": "security_scan"}]}, tag=mine.tag)
    assert saved.status == 200
    assert types((await anna.get(CONFIG)).body) == ["audit_log", "security_scan"]
    assert types((await bert.get(CONFIG)).body) == ["dangerous_confirmation", "audit_log"]
    assert (await anna.get(CONFIG + "?scope=user")).body["pre_tool_use"]["handlers"][0]["type"] == "security_scan"

    back = await anna.post(CONFIG, (await anna.get(CONFIG)).body, tag=saved.tag)  # the locked one included
    assert back.status == 200
    assert types((await anna.get(CONFIG + "?scope=user")).body) == ["security_scan"]
    await anna.post(CONFIG, {"pre_tool_use": {"enabled": False}}, tag="*")
    assert types((await anna.get(CONFIG)).body) == ["audit_log"]


async def test_the_operators_document_is_for_operators(operator: Client, anna: Client) -> None:
    scope = CONFIG + "?scope=operator"
    for refused in (await anna.get(scope), await anna.post(scope, {}, tag="*")):
        assert (refused.status, refused.code) == (403, "operators_only")
    locked = await anna.post(CONFIG, {"pre_tool_use": [{**AUDIT, "locked": True}]}, tag="*")
    assert (locked.status, locked.body["error"]["path"]) == (400, "$.pre_tool_use[0].locked")

    assert (await operator.get(scope)).tag == '"o0"'
    assert (await operator.post(scope, {"pre_tool_use": [{**AUDIT, "locked": True}]}, tag='"o0"')).tag == '"o1"'


async def test_whoever_is_known_by_an_address_alone_keeps_nothing(tmp_path: Path, model: OpenAIServer) -> None:
    settings = {"security": {"auth": "none", "trust_loopback": False}}
    async with parley(tmp_path, model.url, settings) as server:
        client = Client(server)
        assert (await client.get(CONFIG)).status == 200
        refused = await client.post(CONFIG, {}, tag="*")
        assert (refused.status, refused.code) == (403, "anonymous")
        assert "`security.tokens`" in refused.body["error"]["message"]
        for path in ("/api/audit", "/api/audit/export"):
            refused = await client.get(path)
            assert (refused.status, refused.code) == (403, "anonymous")
        assert (await client.get("/api/approvals")).body == {"approvals": []}


@pytest.mark.parametrize(
    ("body", "path", "words"),
    [
        ("", "$", "not a JSON document"),
        ("[]", "$", "Expected `object`"),
        ('{"enabled": false}', "$.enabled", "parley.yaml only"),
        ('{"defaults": {}}', "$.defaults", "parley.yaml only"),
        ('{"builtins": {}}', "$.builtins", "parley.yaml only"),
        ('{"hooks": {"processes": {"x": {"command": ["sh"]}}}}', "$.hooks.processes", "parley.yaml only"),
        ('{"pre_tool_use": [{"type": "audit_lag"}]}', "$.pre_tool_use[0].type", "known: audit_log"),
        ('{"hooks": {"tool_skip": {"handlers": [{"type": "x"}]}}}', "$.hooks.tool_skip.handlers[0].type", "known:"),
        ('{"tool_skip": [{"type": "security_scan"}]}', "$.tool_skip[0].type", "does not work at tool_skip"),
        ('{"tool_skip": [{"type": "audit_log", "colour": 1}]}', "$.tool_skip[0].colour", "unknown key"),
        ("[" * 50_000, "$", "not a JSON document"),
    ],
)
async def test_a_mistake_is_answered_with_its_place_and_stores_nothing(
    operator: Client, body: str, path: str, words: str
) -> None:
    headers = {"Content-Type": "application/json", "If-Match": "*"}
    answer = await operator.ask("POST", CONFIG, data=body, headers=headers)

    assert (answer.status, answer.code, answer.body["error"]["path"]) == (400, "policy_invalid", path)
    assert words in answer.body["error"]["message"]
    assert (await operator.get(CONFIG + "?scope=user")).tag == '"u0"'


async def test_what_is_no_json_or_too_much_is_refused(operator: Client) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = await operator.ask("POST", CONFIG, data=b"{}", headers={"Content-Type": kind, "If-Match": "*"})
        assert (answer.status, answer.code) == (415, "body_not_json")
    many = json.dumps({"pre_tool_use": [{"type": "audit_log", "config": {"x": "y" * 70_000}}]})
    headers = {"Content-Type": "application/json", "If-Match": "*"}
    answer = await operator.ask("POST", CONFIG, data=many, headers=headers)
    assert (answer.status, answer.code) == (413, "body_too_large")
    answer = await operator.ask("POST", CONFIG + "?scope=all", data="{}", headers=headers)
    assert (answer.status, answer.body["error"]["path"]) == (400, "scope")


async def test_a_foreign_page_cannot_change_anything(operator: Client) -> None:
    headers = {"Content-Type": "application/json", "If-Match": "*", "Origin": "https://evil.example"}
    answer = await operator.ask("POST", CONFIG, data="{}", headers=headers)

    assert (answer.status, answer.code) == (403, "foreign_request")


async def test_the_handlers_that_come_along_are_listed(anna: Client) -> None:
    answer = await anna.get("/api/hooks/available")

    kinds = {name: type(value) for name, value in answer.body.items()}
    assert kinds == {"builtin": list, "custom": list, "schema": dict}
    names = [handler["name"] for handler in answer.body["builtin"]]
    assert names == ["audit_log", "dangerous_confirmation", "security_scan"]
    assert all(set(handler) == {"name", "description", "stages", "settings"} for handler in answer.body["builtin"])


async def test_a_handler_is_listed_with_the_settings_that_it_knows(anna: Client) -> None:
    for handler in (await anna.get("/api/hooks/available")).body["builtin"]:
        refused = await anna.post(
            CONFIG, {"pre_tool_use": [{"type": handler["name"], "config": {"colour": 1}}]}, tag="*"
        )

        known = ", ".join(handler["settings"])
        assert refused.body["error"]["message"] == f"unknown key; known: {known}"


async def test_a_handler_is_listed_with_the_stages_at_which_a_document_may_name_it(anna: Client) -> None:
    available = (await anna.get("/api/hooks/available")).body["builtin"]

    for handler in available:
        for stage in ("pre_tool_use", "post_tool_use", "tool_error", "tool_skip"):
            answer = await anna.post(CONFIG, {stage: [{"type": handler["name"]}]}, tag="*")
            assert (answer.status == 200) == (stage in handler["stages"]), (handler["name"], stage)


async def test_the_schema_takes_what_the_server_takes(anna: Client) -> None:
    schema = Draft202012Validator((await anna.get("/api/hooks/available")).body["schema"])
    scan, audit = {"type": "security_scan", "config": {"arguments": "deny"}}, {"type": "audit_log"}
    fine = [{"post_tool_use": [scan, audit]}, {"tool_skip": {"enabled": False, "handlers": [audit]}}, {}]
    wrong = [
        {"tool_skip": [{"type": "dangerous_confirmation"}]},
        {"post_tool_use": [{**audit, "config": {"arguments": "deny"}}]},
        {"post_tool_use": [{"typ": "audit_log"}]},
    ]

    for document in fine + wrong:
        stored = await anna.post(CONFIG, document, tag="*")
        assert (stored.status == 200) == schema.is_valid(document) == (document in fine), document


async def test_a_change_of_the_policy_is_in_the_audit_log(server: Parley, operator: Client) -> None:
    await operator.post(CONFIG, SEED, tag="*")
    await server.app.storage.audit.flush()

    page = await operator.get("/api/audit?phase=policy")
    [record] = page.body["entries"]
    assert record["entry"]["user"] == "local"
    assert record["entry"]["details"]["scope"] == "user"
    assert record["entry"]["details"]["stages"]["tool_error"] == ["audit_log"]


README = """
hooks:
  pre_tool_use:  {handlers: [{type: audit_log}, {type: dangerous_confirmation}]}
  post_tool_use: {handlers: [{type: security_scan}, {type: audit_log}]}
"""


async def test_yaml_is_read_as_the_document_that_it_means_and_not_stored(anna: Client) -> None:
    before = (await anna.get(CONFIG)).body
    read = await anna.post("/api/hooks/document", {"text": README})

    assert read.status == 200
    assert {stage: types(read.body, stage) for stage in read.body} == {
        "pre_tool_use": ["audit_log", "dangerous_confirmation"],
        "post_tool_use": ["security_scan", "audit_log"],
    }
    assert (await anna.get(CONFIG)).body == before
    assert (await anna.post("/api/hooks/document", {"text": ""})).body == {}


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        ("hooks: {", "$", "line 2: "),
        ("\u0081\u0005\u000fV", "$", "control characters are not allowed"),
        ("a: &x [1]\nb: [*x, *x]", "$", "line 1: anchors, aliases and tags (& * !) are not allowed"),
        ("tool_skip: []\ntool_skip: []", "$", "occurs here a second time"),
        ("[" * 5000, "$", "nested more than 16 deep"),
        ("x: !!python/object/apply:os.system [ls]", "$", "tags (& * !) are not allowed"),
        ("x" * 8193, "$.text", "8192"),
        ("? {a: 1}\n: 2", "$", "a key must be a text"),
        ("hooks: {processes: {}}", "$.hooks.processes", "is set in parley.yaml only"),
        ("pre_tool_use: [{type: nothing}]", "$.pre_tool_use[0].type", "there is no handler `nothing`"),
        ("pre_tool_use: [{type: audit_log, locked: true}]", "$.pre_tool_use[0].locked", "only the operator"),
    ],
)
async def test_yaml_that_cannot_be_read_says_what_is_wrong_and_where(
    anna: Client, text: str, path: str, words: str
) -> None:
    refused = await anna.post("/api/hooks/document", {"text": text})

    assert refused.status == 400
    assert refused.body["error"]["path"] == path
    assert words in refused.body["error"]["message"]
