"""server/policy/document.py"""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from server import config
from server.config import PolicyFilter, PolicyHandler, PolicyStage
from server.config_file import load_config
from server.errors import PolicyError
from server.policy.document import (
    NO_POLICY,
    HandlerSpec,
    PolicyDocument,
    check_document,
    document_of_config,
    lay_over,
    place_as_written,
    read_document,
    to_json,
)
from tests.support.policy_document import SEED

AUDIT = PolicyHandler(type="audit_log")
CONFIRM = PolicyHandler(type="dangerous_confirmation", filter=PolicyFilter(permissions=["WRITE", "EXTERNAL"]))
SCAN = PolicyHandler(type="security_scan")
LOCKED = PolicyHandler(type="audit_log", locked=True)
LOCKED_TOO = PolicyHandler(type="dangerous_confirmation", locked=True)

SEED_DOCUMENT = PolicyDocument(
    pre_tool_use=PolicyStage(handlers=[AUDIT, CONFIRM]),
    post_tool_use=PolicyStage(handlers=[SCAN, AUDIT]),
    tool_error=PolicyStage(handlers=[AUDIT]),
)


class Limit(config.Section, frozen=True, kw_only=True):
    limit: int = 1


KINDS = {
    "audit_log": HandlerSpec(name="audit_log", description="Writes it down."),
    "security_scan": HandlerSpec(name="security_scan", description="Redacts.", stages=("post_tool_use",)),
    "limited": HandlerSpec(name="limited", description="Has a setting.", settings=Limit),
    "free": HandlerSpec(name="free", description="Reads its own settings.", settings=None),
}


def pre(*handlers: PolicyHandler, enabled: bool = True) -> PolicyDocument:
    return PolicyDocument(pre_tool_use=PolicyStage(enabled=enabled, handlers=list(handlers)))


def test_the_seeds_document_is_read_wrapped_bare_and_with_plain_lists() -> None:
    bare = SEED["hooks"]
    lists = {name: stage["handlers"] for name, stage in bare.items()}

    for tree in (SEED, bare, lists, {"hooks": lists}):
        assert read_document(json.dumps(tree)) == SEED_DOCUMENT


def test_parley_yaml_takes_both_forms(tmp_path: Path) -> None:
    hooks = config.HooksSettings(pre_tool_use=[AUDIT], post_tool_use=PolicyStage(enabled=False))
    assert document_of_config(hooks) == PolicyDocument(
        pre_tool_use=PolicyStage(handlers=[AUDIT]), post_tool_use=PolicyStage(enabled=False)
    )
    assert document_of_config(config.HooksSettings()) == PolicyDocument()

    file = tmp_path / "parley.yaml"
    file.write_text("hooks: {pre_tool_use: [], tool_skip: []}")
    assert document_of_config(load_config(file, {}).hooks) == PolicyDocument()


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        ("", "$", "not a JSON document"),
        ("[]", "$", "Expected `object`, got `array`"),
        ("[" * 100_000, "$", "not a JSON document"),
        ("\ud800".encode("utf-8", "surrogatepass"), "$", "not a JSON document"),
        ('{"enabled": false}', "$.enabled", "parley.yaml only"),
        ('{"hooks": {}, "version": 1}', "$.version", "outside `hooks`"),
        ('{"tool_skip": {"handlers": [{"type": "a", "locked": 1}]}}', "$.tool_skip.handlers[0].locked", "`bool`"),
        ('{"pre_tool_use": [{"type": "a", "filter": {"tool": "x"}}]}', "$.pre_tool_use[0].filter.tool", "unknown key"),
        (
            '{"pre_tool_use": [{"type": "a", "filter": {"permissions": ["read"]}}]}',
            "$.pre_tool_use[0].filter.permissions[0]",
            "'read'; one of EXTERNAL, READ, WRITE",
        ),
        ('{"tool_skips": []}', "$.tool_skips", "known: post_tool_use, pre_tool_use, tool_error, tool_skip"),
    ],
)
def test_a_mistake_is_named_with_its_path(text: str | bytes, path: str, words: str) -> None:
    with pytest.raises(PolicyError) as caught:
        read_document(text)

    assert caught.value.path == path
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("document", "path", "words"),
    [
        (pre(AUDIT, PolicyHandler(type="audit")), "$.pre_tool_use.handlers[1].type", "known: audit_log, free, limited"),
        (pre(SCAN), "$.pre_tool_use.handlers[0].type", "only at post_tool_use"),
        (pre(LOCKED), "$.pre_tool_use.handlers[0].locked", "only the operator"),
        (
            pre(PolicyHandler(type="limited", config={"limit": "x"})),
            "$.pre_tool_use.handlers[0].config.limit",
            "Expected `int`",
        ),
        (
            pre(PolicyHandler(type="limited", config={"a": 1})),
            "$.pre_tool_use.handlers[0].config.a",
            "unknown key; known: limit",
        ),
    ],
)
def test_a_handler_that_cannot_stand_there_is_refused(document: PolicyDocument, path: str, words: str) -> None:
    with pytest.raises(PolicyError) as caught:
        check_document(document, KINDS, may_lock=False)

    assert caught.value.path == path
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("tree", "path"),
    [
        ({"pre_tool_use": [LOCKED, "x"]}, "$.pre_tool_use[1].type"),
        ({"pre_tool_use": {"handlers": [LOCKED, "x"]}}, "$.pre_tool_use.handlers[1].type"),
        ({"hooks": {"pre_tool_use": ["x"]}}, "$.hooks.pre_tool_use[0].type"),
    ],
)
def test_the_place_of_a_mistake_is_that_in_what_was_sent(tree: dict[str, Any], path: str) -> None:
    raw = msgspec.json.encode(tree).replace(b'"x"', b'{"type": "x"}')

    with pytest.raises(PolicyError) as caught:
        check_document(read_document(raw), KINDS, may_lock=False, below=pre(LOCKED))

    written = msgspec.json.decode(raw)
    assert place_as_written(caught.value.path, written) == path
    assert place_as_written("$.tool_skip", written) == "$.tool_skip"


@pytest.mark.parametrize(
    ("yaml", "stored", "user", "expected"),
    [
        (PolicyDocument(), None, None, None),
        (pre(AUDIT), None, None, [AUDIT]),
        (pre(AUDIT), PolicyDocument(), PolicyDocument(), [AUDIT]),
        (pre(AUDIT), pre(CONFIRM), None, [CONFIRM]),
        (pre(AUDIT), pre(CONFIRM), pre(), []),
        (pre(AUDIT), None, pre(CONFIRM, enabled=False), [CONFIRM]),
        (pre(AUDIT), None, pre(CONFIRM), [CONFIRM]),
        (pre(LOCKED), None, pre(), [LOCKED]),
        (pre(LOCKED), None, pre(enabled=False), [LOCKED]),
        (pre(CONFIRM, LOCKED), None, pre(AUDIT), [LOCKED, AUDIT]),
        (pre(LOCKED), None, pre(AUDIT, LOCKED), [LOCKED, AUDIT]),
        (pre(LOCKED), pre(LOCKED_TOO), pre(AUDIT), [LOCKED, LOCKED_TOO, AUDIT]),
        (pre(LOCKED), pre(LOCKED_TOO, LOCKED), None, [LOCKED, LOCKED_TOO]),
        (pre(LOCKED, enabled=False), None, pre(AUDIT), [AUDIT]),
    ],
)
def test_each_document_goes_over_the_one_below(
    yaml: PolicyDocument,
    stored: PolicyDocument | None,
    user: PolicyDocument | None,
    expected: list[PolicyHandler] | None,
) -> None:
    stage = lay_over(lay_over(yaml, stored or NO_POLICY), user or NO_POLICY).pre_tool_use

    assert (None if stage is None else stage.handlers) == expected


def test_a_stored_document_reads_back_as_it_was() -> None:
    for document in (SEED_DOCUMENT, pre(LOCKED, CONFIRM, enabled=False), PolicyDocument()):
        assert read_document(to_json(document)) == document
