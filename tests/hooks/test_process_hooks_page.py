"""docs/process-hooks.md: the JSON that it shows is what the code sends, and what the code understands."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import ClientSession

from hook_tools.__main__ import OK, main
from hook_tools.reply_checks import check_reply
from hook_tools.sample_calls import ORDER, events, sample_calls
from server.hooks.hook_params import EventMethod
from server.hooks.stages import ALIAS_OF, STAGES, Stage, observed_kinds
from tests.hooks.serving import only, serving
from tests.support.openai_script import calls, text

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "process-hooks.md").read_text("utf-8")
COMMON = ("meta", "channel", "chat_id", "context")
SHOWN = {"after_llm": 1}  # of a stage's samples, the one that the page shows; else the first
OUTCOMES = {
    "before_llm": ["changes the tools (adds get_weather)"],
    "after_llm": ["changes content"],
    "before_tool": ["changes the arguments", "responds: Zürich: sunny, 15 °C", "denies: notes are private"],
    "approve_tool": ["approves", "refuses: the office is closed"],
    "after_tool": ["changes the result"],
}


def blocks(heading: str) -> list[Any]:
    """The JSON that stands under a heading."""
    section = re.split(r"(?m)^#{2,3} ", PAGE.split(f"\n{heading}\n")[1])[0]
    return [json.loads(text) for text in re.findall(r"(?s)```json\n(.*?)```", section)]


def test_what_every_call_holds_is_what_is_sent() -> None:
    params = sample_calls("before_llm")[0].params
    context = {key: value for key, value in params["context"].items() if key not in ("user_text", "origins")}

    assert blocks("## Methods") == [{key: params[key] for key in COMMON} | {"context": context}]


@pytest.mark.parametrize("stage", ORDER)
def test_what_a_method_is_sent_and_may_answer_is_so(stage: Stage) -> None:
    sample = sample_calls(stage)[SHOWN.get(stage, 0)]
    sent, *replies = blocks(f"### `hook.{stage}`")

    assert sent == {key: value for key, value in sample.params.items() if key not in COMMON}
    checks = [check_reply(sample, reply) for reply in replies]
    assert [check.outcome for check in checks] == OUTCOMES[stage]
    assert [check.findings for check in checks] == [[] for _ in replies]


@pytest.mark.parametrize(("number", "method"), [(0, "hook.runtime_event"), (1, "hook.event")])
def test_events_look_as_shown(number: int, method: EventMethod) -> None:
    shown = blocks("## Events")[number]
    [(_, sent)] = events(observed_kinds(["tool_exec_start"]), method)

    assert shown == {
        key: shown[key] if key in ("id", "time", "Time") else sent[key] for key in sent if key != "Context"
    }


def test_every_kind_that_is_sent_stands_in_the_table_with_its_fields() -> None:
    rows = dict(re.findall(r"(?m)^\| `(agent\.[\w.]+)` \| (.*) \|$", PAGE))
    sent = {kind: params["payload"] for kind, params in events(observed_kinds(["*"]), "hook.runtime_event")}
    emitted = set(re.findall(r'emit\(\s*"([\w.]+)"', "".join(p.read_text("utf-8") for p in ROOT.glob("server/*/*.py"))))

    assert rows.keys() == sent.keys() == emitted
    for kind, row in rows.items():
        assert set(re.findall(r"`([A-Z]\w+)`", row)) <= sent[kind].keys(), kind
        assert kind in ALIAS_OF


def test_the_hook_of_the_two_minutes_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "shout.py"
    script.write_text(PAGE.split("```python\n")[1].split("```")[0], "utf-8")

    status = main(["test", "--intercept", "after_tool", "--", sys.executable, str(script)], os.environ)
    assert (status, capsys.readouterr().out.splitlines()[-1]) == (OK, "no problems")


async def test_the_hook_in_the_server_s_process_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    section = PAGE.split("### A hook in the server's process")[1]
    settings, code = (section.split(f"```{kind}\n")[1].split("```")[0] for kind in ("yaml", "python"))
    (tmp_path / "shout.py").write_text(code, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    async with serving(tmp_path, {}, **msgspec.yaml.decode(settings)["hooks"]) as scene:
        frames = await scene.turn(calls(("current_time", {"timezone": "Asia/Tokyo"})), text("Noon."))
        async with ClientSession() as http, http.get(f"{scene.server.url}/api/hooks/processes") as answer:
            [health] = (await answer.json())["builtins"]

    assert "ASIA/TOKYO" in only(frames, "tool_result")["content"]
    assert [health[key] for key in ("name", "stages", "calls", "failures")] == ["shout", ["after_tool"], 1, 0]
    assert len(code.strip().splitlines()) <= 13


def test_every_stage_has_its_heading() -> None:
    assert all(f"### `hook.{stage}`" in PAGE for stage in STAGES)


def test_links_inside_the_page_lead_to_its_headings() -> None:
    headings = {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"(?m)^#+ (.*)$", PAGE)
    }

    assert set(re.findall(r"\]\(#([\w-]+)\)", PAGE)) <= headings
