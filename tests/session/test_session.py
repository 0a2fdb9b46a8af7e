"""server/session/session.py: one client's frames, and at most one turn alive."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from server import config
from server.accounts.principal import Principal
from server.agent.chunks import LLMChunk
from server.metrics import Metrics
from server.session.outbox import Outbox, OutboxLimits
from server.session.session import Session
from server.session.turn_limits import TurnGate
from server.session.turns import MAX_REMEMBERED_IDS
from skills_engine import Diagnostic, HookInfo, Skill, SkillsSnapshot, load_snapshot
from skills_engine.diagnostics import FailedTest, SkillTestReport
from tests.session.fakes import FakeAgent, Frame, Pause, SessionHarness, call, kinds, say
from tests.session.speech_fakes import FakeSynthesizer, speech
from tests.skills_engine.folders import entry, make_skill


def skill(name: str, *hooks: str) -> Skill:
    infos = tuple(
        HookInfo(h, f"{h}.md", "after_user_input", "system", persistent=False, content=h, skill=name) for h in hooks
    )
    return Skill(name, f"about {name}", Path(name), name, hooks=infos)


THREE = SkillsSnapshot((skill("a", "a1"), skill("b", "b1", "b2"), skill("c")), (), 1)


# greeting


async def test_ready_comes_first_and_tells_all_that_a_client_needs() -> None:
    async with SessionHarness(FakeAgent(), snapshot=THREE) as harness:
        harness.session.greet()
        [ready] = await harness.flushed()

    assert ready["type"] == "ready"
    assert ready["protocol"] == "parley.v1"
    assert ready["session_id"] == harness.session.id
    assert ready["model"] == {"name": "fake", "host": "nowhere", "location": "local", "languages": []}
    assert [(s["name"], s["enabled"], len(s["hooks"])) for s in ready["skills"]] == [
        ("a", True, 1),
        ("b", True, 2),
        ("c", True, 0),
    ]
    assert ready["skills"][0]["hooks"] == [
        {
            "name": "a1",
            "timing": "after_user_input",
            "role": "system",
            "persistent": False,
            "tool_filter": None,
            "text": "a1",
        }
    ]
    assert ready["limits"] == {
        "max_message_bytes": 4194304,
        "max_messages": 2000,
        "max_binary_bytes": 65536,
        "max_frames_per_s": 200,
        "max_hook_frames_per_turn": 64,
        "max_turn_s": 300,
    }
    assert {part: ready["speech"][part]["state"] for part in ("stt", "tts", "vad")} == dict.fromkeys(
        ("stt", "tts", "vad"), "missing"
    )


async def test_diagnostics_follow_ready() -> None:
    wrong = Diagnostic("error", "a", "hooks/hooks.json", "$.hooks[0].role", "expected system or user")
    async with SessionHarness(FakeAgent(), snapshot=SkillsSnapshot(THREE.skills, (wrong,), 1)) as harness:
        harness.session.greet()
        frames = await harness.flushed()

    assert kinds(frames) == ["ready", "skills"]
    assert frames[1]["diagnostics"] == [
        {
            "severity": "error",
            "skill": "a",
            "file": "hooks/hooks.json",
            "path": "$.hooks[0].role",
            "message": "expected system or user",
        }
    ]


async def test_what_came_of_the_tests_of_skills_stands_beside_them() -> None:
    wrong = Diagnostic("error", "b", "tests/a.yaml", "$.tests[0].usr", "unknown key")
    failure = FailedTest("stays brief", "tests/a.yaml", 3, "details")
    tests = {
        "a": SkillTestReport(count=3, failed=1, failures=(failure,)),
        "b": SkillTestReport(diagnostics=(wrong,)),
    }
    async with SessionHarness(FakeAgent(), snapshot=THREE, skill_tests=tests) as harness:
        harness.session.greet()
        ready, skills = await harness.flushed()

    counts = {"count": 3, "failed": 1, "not_run": 0}
    failures = [{"name": "stays brief", "file": "tests/a.yaml", "line": 3, "details": "details"}]
    assert ready["skills"] == skills["skills"]
    assert [item.get("tests") for item in ready["skills"]] == [{**counts, "failures": failures}, None, None]
    assert [one["path"] for one in skills["diagnostics"]] == ["$.tests[0].usr"]


async def test_only_operators_see_what_failing_tests_quote() -> None:
    failure = FailedTest("stays brief", "tests/a.yaml", 3, "what the model read")
    tests = {"a": SkillTestReport(count=3, failed=1, failures=(failure,))}
    principal = Principal("1.2.3.4", is_local=False, user_id="anna", is_operator=False, is_logged_in=True)
    async with SessionHarness(FakeAgent(), snapshot=THREE, skill_tests=tests, principal=principal) as harness:
        harness.session.greet()
        [ready] = await harness.flushed()

    assert ready["skills"][0]["tests"] == {"count": 3, "failed": 1, "not_run": 0, "failures": []}


async def test_only_who_may_see_traces_sees_texts_of_hooks() -> None:
    principal = Principal("1.2.3.4", is_local=False, user_id="anna", is_operator=False, is_logged_in=True)
    async with SessionHarness(FakeAgent(), snapshot=THREE, principal=principal) as harness:
        harness.session.greet()
        harness.session.send_skills(THREE)
        ready, skills = await harness.flushed()

    assert ready["skills"] == skills["skills"]
    assert [set(hook) for item in ready["skills"] for hook in item["hooks"]] == [
        {"name", "timing", "role", "persistent", "tool_filter"}
    ] * 3


async def test_a_hook_shows_the_tools_that_it_follows_however_they_are_named(tmp_path: Path) -> None:
    entries = [
        entry("old", timing="after_tool_call", tool_filter=["b", "a"]),
        entry("new", timing="after_tool_call", when={"tool": ["b", "a"], "tool_status": ["error"]}),
        entry("all", timing="after_tool_call", when={"not": {"tool": ["a"]}}),
    ]
    make_skill(tmp_path, "a", *entries)
    async with SessionHarness(FakeAgent(), snapshot=load_snapshot(tmp_path)) as harness:
        harness.session.greet()
        [ready] = await harness.flushed()

    assert [hook["tool_filter"] for hook in ready["skills"][0]["hooks"]] == [["a", "b"], ["a", "b"], None]


@pytest.mark.parametrize(("hooks", "chars"), [(1, 2000), (200, 1000)])
async def test_long_texts_of_hooks_are_cut_and_the_more_hooks_the_shorter(hooks: int, chars: int) -> None:
    names = ["x" * 3000 + str(number) for number in range(hooks)]
    async with SessionHarness(FakeAgent(), snapshot=SkillsSnapshot((skill("a", *names),), (), 1)) as harness:
        harness.session.greet()
        [ready] = await harness.flushed()

    assert {hook["text"] for hook in ready["skills"][0]["hooks"]} == {"x" * chars + "…"}


async def test_a_skills_frame_tells_what_the_clients_selection_leaves_on() -> None:
    async with SessionHarness(FakeAgent(), snapshot=THREE) as harness:
        harness.send("configure", skills=["b", "unknown"])
        harness.session.send_skills(THREE)
        [frame] = await harness.flushed()

    assert [(s["name"], s["enabled"]) for s in frame["skills"]] == [("a", False), ("b", True), ("c", False)]


async def turns_skills(harness: SessionHarness) -> list[list[str]]:
    """Return the skills that a turn has by default, and those where its client names one that is on and one that is off."""
    harness.chat(id="t1")
    await harness.until("turn_end")
    harness.chat(id="t2", skills=["asleep", "a", "unknown"])
    await harness.until("turn_end", 2)
    return [frame["skills"] for frame in harness.frames if frame["type"] == "turn_start"]


WITH_ONE_OFF = SkillsSnapshot(
    (skill("a"), skill("b")), (), 1, offered=(replace(skill("asleep", "yawn"), on_by_default=False),)
)


async def test_a_skill_that_is_off_by_default_is_on_for_a_client_that_names_it() -> None:
    async with SessionHarness(FakeAgent([say("1."), say("2.")]), snapshot=WITH_ONE_OFF) as harness:
        harness.session.greet()
        [ready] = await harness.flushed()
        found = await turns_skills(harness)

    shown = [(item["name"], item["enabled"], item.get("default")) for item in ready["skills"]]
    assert shown == [("a", True, None), ("b", True, None), ("asleep", False, "off")]
    assert found == [["a", "b"], ["asleep", "a"]]


@pytest.mark.parametrize(
    ("policy", "principal"),
    [("auto", Principal("10.0.0.1", is_local=False)), ("deny", Principal("::1", is_local=True))],
)
async def test_a_client_that_may_not_instruct_can_switch_no_skill_on(policy: Any, principal: Principal) -> None:
    security = config.SecuritySettings(client_instructions=policy)
    agent = FakeAgent([say("1."), say("2.")])
    async with SessionHarness(agent, snapshot=WITH_ONE_OFF, security=security, principal=principal) as harness:
        harness.session.greet()
        harness.session.send_skills(WITH_ONE_OFF)
        frames = await harness.flushed()
        found = await turns_skills(harness)

    assert [[item["name"] for item in frame["skills"]] for frame in frames] == [["a", "b"]] * 2
    assert found == [["a", "b"], ["a"]]


# frames


@pytest.mark.parametrize(
    ("data", "code", "path"),
    [
        (b"{", "frame_malformed", "$"),
        (b"\xff\xfe", "frame_malformed", "$"),
        (b'{"type":"nonsense"}', "frame_type_unknown", "$.type"),
        (b'{"type":"chat","messages":[{"role":"king","content":"x"}]}', "frame_invalid", "$.messages[0].role"),
        (b'{"type":"interrupt","turn_id":"not an id!"}', "frame_invalid", "$.turn_id"),
    ],
)
async def test_a_wrong_frame_gets_one_error_with_its_path(data: bytes, code: str, path: str) -> None:
    async with SessionHarness(FakeAgent()) as harness:
        harness.session.receive_text(data)
        [error] = await harness.flushed()

    assert (error["type"], error["code"], error["path"]) == ("error", code, path)
    assert "turn_id" not in error


async def test_a_ping_is_answered_at_once_with_its_t() -> None:
    async with SessionHarness(FakeAgent()) as harness:
        harness.send("ping", t=17.5)
        harness.send("ping")
        await harness.until("pong", 2)

    assert harness.frames == [{"type": "pong", "t": 17.5}, {"type": "pong", "t": None}]


async def test_history_and_playback_are_taken_in_silence() -> None:
    async with SessionHarness(FakeAgent()) as harness:
        harness.send("history", utterance="u1", messages=[])
        harness.send("playback", turn_id="t1", index=0, ms=120, state="started")

        assert await harness.flushed() == []


async def test_an_approval_that_nobody_asked_for_is_a_notice() -> None:
    async with SessionHarness(FakeAgent()) as harness:
        harness.send("approval", id="x", approved=True)
        [frame] = await harness.flushed()

    assert (frame["type"], frame["code"]) == ("notice", "approval_unknown")


# speech where it is switched off


async def test_sound_is_refused_once_and_wrong_sound_each_time() -> None:
    async with SessionHarness(FakeAgent(), limits=config.LimitsSettings(max_binary_bytes=8)) as harness:
        for data in (b"\0\0", b"\0\0", b"\0", b"\0\0\0", b"\0" * 10, b"\0\0"):
            harness.session.receive_binary(data)
        frames = await harness.flushed()

    assert [(frame["code"], frame.get("path")) for frame in frames] == [
        ("speech_unavailable", None),
        ("audio_misaligned", "$"),
        ("audio_misaligned", "$"),
        ("message_too_large", "$"),
    ]


async def test_frames_that_begin_or_end_speech_are_a_notice_while_the_server_listens_and_nobody_speaks() -> None:
    async with SessionHarness(FakeAgent()) as harness:
        for type_ in ("speech_start", "speech_end", "speech_cancel"):
            harness.send(type_)
        frames = await harness.flushed()

    assert [f["type"] for f in frames] == ["notice"] * 3
    assert [f["code"] for f in frames] == ["not_push_to_talk", "no_utterance", "no_utterance"]


async def test_speech_start_ends_the_turn_and_says_that_there_is_no_ear() -> None:
    pause = Pause()
    async with SessionHarness(FakeAgent([[LLMChunk(text="On and on"), pause]])) as harness:
        harness.send("configure", turn_detection="push_to_talk")
        harness.chat()
        await pause.reached.wait()
        harness.send("speech_start")
        harness.send("speech_end")
        frames = await harness.flushed()

    assert kinds(frames) == ["turn_start", "text", "turn_end", "error"]
    assert frames[-2]["reason"] == "interrupted"
    assert frames[-1]["code"] == "speech_unavailable"


# turns


async def test_an_interrupt_ends_the_turn_at_once_and_closes_the_models_stream() -> None:
    pause = Pause()
    agent = FakeAgent([[call("1"), LLMChunk(text="On and on"), pause, LLMChunk(text="never said")]])
    async with SessionHarness(agent) as harness:
        harness.chat(id="t1")
        await pause.reached.wait()

        harness.send("interrupt")
        assert harness.session.is_idle, "before anything could unwind"
        frames = await harness.flushed()
        await harness.session.aclose()

    assert kinds(frames) == ["turn_start", "tool_call", "text", "tool_result", "turn_end"]
    assert frames[-1]["reason"] == "interrupted"
    assert agent.asked[0].is_closed
    assert harness.ended == ["over"]


async def test_an_interrupt_for_another_turn_is_ignored() -> None:
    pause = Pause()
    async with SessionHarness(FakeAgent([[pause, LLMChunk(text="Done.")]])) as harness:
        harness.send("interrupt")
        harness.chat(id="t2")
        await pause.reached.wait()
        harness.send("interrupt", turn_id="t1")
        pause.resume.set()

        assert (await harness.until("turn_end"))["reason"] == "completed"
        harness.send("interrupt", turn_id="t2")
        assert (await harness.flushed())[-1]["type"] == "turn_end"


async def test_a_chat_ends_the_running_turn_before_its_own_starts() -> None:
    pause = Pause()
    async with SessionHarness(FakeAgent([[LLMChunk(text="One"), pause], say("Two.")])) as harness:
        harness.chat(id="t1")
        await pause.reached.wait()
        harness.chat(id="t2")
        await harness.until("turn_end", 2)

    assert [(f["type"], f["turn_id"]) for f in harness.frames if f["type"].startswith("turn_")] == [
        ("turn_start", "t1"),
        ("turn_end", "t1"),
        ("turn_start", "t2"),
        ("turn_end", "t2"),
    ]
    last_of_first = max(i for i, f in enumerate(harness.frames) if f["turn_id"] == "t1")
    assert harness.frames[last_of_first]["type"] == "turn_end"


async def test_many_chats_at_once_leave_one_end_for_each_start() -> None:
    async with SessionHarness(FakeAgent([say("Hi.")])) as harness:
        for number in range(50):
            harness.chat(id=f"t{number}")
        await harness.until("turn_end", 50)

    order = [(f["type"], f["turn_id"]) for f in harness.frames if f["type"].startswith("turn_")]
    assert order == [(kind, f"t{number}") for number in range(50) for kind in ("turn_start", "turn_end")]
    assert [f["reason"] for f in harness.frames if f["type"] == "turn_end"] == ["interrupted"] * 49 + ["completed"]


async def test_an_id_is_used_once_and_the_running_turn_goes_on() -> None:
    pause = Pause()
    async with SessionHarness(FakeAgent([[pause, LLMChunk(text="Done.")]])) as harness:
        harness.chat(id="t1")
        await pause.reached.wait()
        harness.chat(id="t1")
        error = await harness.until("error")
        pause.resume.set()
        end = await harness.until("turn_end")

    assert (error["code"], error["path"]) == ("turn_id_reused", "$.id")
    assert "turn_id" not in error
    assert end["reason"] == "completed"


async def test_only_so_many_ids_are_remembered() -> None:
    async with SessionHarness(FakeAgent([say("Hi.")])) as harness:
        for number in range(MAX_REMEMBERED_IDS + 1):
            harness.chat(id=f"t{number}")
        harness.chat(id="t1")
        assert (await harness.until("error"))["code"] == "turn_id_reused"
        harness.chat(id="t0")
        await harness.until("turn_end", MAX_REMEMBERED_IDS + 2)


async def test_without_an_id_the_server_makes_one() -> None:
    async with SessionHarness(FakeAgent([say("Hi.")])) as harness:
        harness.chat()
        harness.chat()
        await harness.until("turn_end", 2)

    first, second = (f["turn_id"] for f in harness.frames if f["type"] == "turn_start")
    assert first != second


async def test_closing_ends_the_turn_and_waits_until_it_has_unwound() -> None:
    pause = Pause()
    agent = FakeAgent([[pause]])
    async with SessionHarness(agent) as harness:
        harness.chat()
        await pause.reached.wait()
        await harness.session.aclose()

        assert agent.asked[0].is_closed
        assert harness.gate._running == 0


async def test_a_turn_whose_start_finds_the_client_too_slow_never_runs() -> None:
    agent = FakeAgent([say("Hi.")])
    harness = SessionHarness(agent)

    def give_up() -> None:
        session.interrupt()

    outbox = Outbox(harness.socket, harness.metrics, OutboxLimits(full_frames=1), on_slow=give_up)
    session = Session(harness.services, outbox, principal=Principal("127.0.0.1", is_local=True))
    for _ in range(2):  # nobody empties it
        session.receive_text(b'{"type":"ping"}')
    session.receive_text(b'{"type":"chat","messages":[{"role":"user","content":"hi"}]}')
    await session.aclose()

    assert agent.asked == []
    assert [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("turn")] == []


async def test_a_turn_whose_end_finds_the_client_too_slow_ends_once() -> None:
    pause = Pause()
    harness = SessionHarness(FakeAgent([[call("1"), call("2"), pause]]))

    def give_up() -> None:
        session.interrupt()

    outbox = Outbox(harness.socket, harness.metrics, OutboxLimits(full_frames=2), on_slow=give_up)
    over: list[str] = []
    session = Session(
        harness.services,
        outbox,
        principal=Principal("127.0.0.1", is_local=True),
        on_turn_over=lambda: over.append("over"),
    )
    session.receive_text(b'{"type":"chat","messages":[{"role":"user","content":"hi"}]}')
    await pause.reached.wait()
    session.receive_text(b'{"type":"ping"}')  # the last that has room
    session.interrupt()
    await session.aclose()

    assert over == ["over"]
    assert harness.gate._running == 0


async def test_a_turn_whose_task_is_cancelled_from_outside_ends_all_the_same() -> None:
    pause = Pause()
    async with SessionHarness(FakeAgent([[pause]])) as harness:
        harness.chat(id="t1")
        await pause.reached.wait()
        [task] = [task for task in asyncio.all_tasks() if task.get_name() == "turn t1"]
        task.cancel()

        assert (await harness.until("turn_end"))["reason"] == "interrupted"


# what a turn is given


@pytest.mark.rule("L1-31")
async def test_a_turn_keeps_the_skills_it_started_with() -> None:
    loaded = asyncio.Event()
    agent = FakeAgent([say("Hi.")])
    async with SessionHarness(agent, snapshot=THREE, model_ready=loaded) as harness:
        harness.chat()
        await asyncio.sleep(0)
        harness.snapshot = SkillsSnapshot((skill("new", "n1"),), (), 2)
        loaded.set()
        await harness.until("turn_end")

    assert [hook.name for hook in agent.asked[0].hooks] == ["a1", "b1", "b2"]
    assert harness.frames[0]["skills"] == ["a", "b", "c"]
    assert "a: about a" in agent.asked[0].options.catalog


@pytest.mark.parametrize(
    ("configured", "per_turn", "effective"),
    [
        ({}, {}, ["a", "b", "c"]),
        ({"skills": ["c", "a"]}, {}, ["c", "a"]),
        ({"skills": ["a"]}, {"skills": ["b", "b", "unknown"]}, ["b"]),
        ({"skills": ["a"]}, {"skills": None}, ["a", "b", "c"]),
        ({"skills": []}, {}, []),
        ({"skills": ["a", "../b"]}, {}, ["a"]),
    ],
)
async def test_a_clients_list_of_skills_only_narrows(configured: Frame, per_turn: Frame, effective: list[str]) -> None:
    agent = FakeAgent([say("Hi.")])
    async with SessionHarness(agent, snapshot=THREE) as harness:
        harness.send("configure", **configured)
        harness.chat(**per_turn)
        await harness.until("turn_end")

    assert harness.frames[0]["skills"] == effective
    assert [hook.skill for hook in agent.asked[0].hooks] == [
        hook.skill for name in effective for s in THREE.skills if s.name == name for hook in s.hooks
    ]


async def test_configure_lasts_and_fields_left_out_keep_their_value() -> None:
    agent = FakeAgent([say("Hi.")])
    async with SessionHarness(agent) as harness:
        harness.send("configure", language="de", enable_tools=False)
        harness.send("configure", voice=False)
        harness.chat()
        await harness.until("turn_end")
        harness.chat(enable_tools=True)
        await harness.until("turn_end", 2)
        harness.send("configure", language=None)
        harness.chat()
        await harness.until("turn_end", 3)

    assert [(a.options.settings.enable_tools, a.options.settings.language) for a in agent.asked] == [
        (False, "de"),
        (True, "de"),
        (False, None),
    ]


async def test_a_turn_s_limit_of_tokens_stands_in_for_that_of_the_connection_and_null_takes_it_away() -> None:
    agent = FakeAgent([say("Hi.")])
    async with SessionHarness(agent) as harness:
        harness.send("configure", max_tokens=200)
        harness.send("configure", max_tokens=0)
        harness.chat()
        await harness.until("turn_end")
        for count, limit in enumerate([50, None], start=2):
            harness.chat(max_tokens=limit)
            await harness.until("turn_end", count)
        harness.chat()
        await harness.until("turn_end", 4)
        harness.send("configure", max_tokens=None)
        harness.chat()
        await harness.until("turn_end", 5)

    assert [asked.options.settings.max_tokens for asked in agent.asked] == [200, 50, None, 200, None]
    assert [frame["path"] for frame in harness.frames if frame["type"] == "error"] == ["$.max_tokens"]


async def test_the_client_chooses_speaker_and_speed_among_what_ready_lists() -> None:
    synthesizer = FakeSynthesizer()
    async with SessionHarness(FakeAgent([say("Hello.")]), speech=speech(synthesizer=synthesizer)) as harness:
        harness.session.greet()
        voices = (await harness.until("ready"))["speech"]["voices"]
        chosen = [{}, {"speaker": voices[1], "speed": 1.5}, {"speaker": None}, {"speed": 2.1}, {"speaker": ""}]
        for count, fields in enumerate(chosen, start=1):
            harness.send("configure", **fields)
            harness.chat()
            await harness.until("turn_end", count)

    assert synthesizer.spoken_as == [(None, 1.0), ("ben", 1.5), (None, 1.5), (None, 1.5), (None, 1.5)]
    refused = [frame["path"] for frame in harness.frames if frame["type"] == "error"]
    assert refused == ["$.speed", "$.speaker"]


@pytest.mark.parametrize(
    ("allowed", "is_local", "traces"),
    [("auto", True, True), ("auto", False, False), (True, False, True), (False, True, False)],
)
async def test_the_trace_is_for_those_who_may_see_it(allowed: bool | str, is_local: bool, traces: bool) -> None:
    agent = FakeAgent([say("Hi.")])
    security = config.SecuritySettings(trace=allowed)  # type: ignore[arg-type]  # a table of the three values
    async with SessionHarness(agent, security=security, is_local=is_local) as harness:
        harness.send("configure", trace=True)
        harness.chat()
        await harness.until("turn_end")

    assert agent.asked[0].options.settings.trace is traces
    assert [f["code"] for f in harness.frames if f["type"] == "notice"] == ([] if traces else ["trace_not_allowed"])


async def test_an_operator_may_see_the_trace_from_anywhere() -> None:
    agent = FakeAgent([say("Hi.")])
    principal = Principal("1.2.3.4", is_local=False, user_id="anna", is_operator=True, is_logged_in=True)
    async with SessionHarness(agent, principal=principal) as harness:
        harness.send("configure", trace=True)
        harness.chat()
        await harness.until("turn_end")

    assert agent.asked[0].options.settings.trace


async def test_an_operator_may_try_other_texts_of_hooks_for_a_turn() -> None:
    agent = FakeAgent([say("Hi.")])
    async with SessionHarness(agent, snapshot=THREE) as harness:
        harness.chat(hook_texts={"a/a1": None, "b/b2": "Other words."})
        await harness.until("turn_end")
        harness.chat()
        await harness.until("turn_end", 2)

    tried, usual = agent.asked
    assert [(hook.name, hook.content) for hook in tried.hooks] == [("b1", "b1"), ("b2", "Other words.")]
    assert [hook.content for hook in usual.hooks] == ["a1", "b1", "b2"]


@pytest.mark.parametrize(
    ("is_operator", "texts", "message"),
    [
        (False, {"a/a1": "x"}, "other texts of hooks are for operators"),
        (True, {"a/zz": "x"}, "no skill here has a hook a/zz; name it as skill/hook"),
    ],
)
async def test_other_texts_of_hooks_are_refused_before_a_turn_begins(
    is_operator: bool, texts: dict[str, str], message: str
) -> None:
    principal = Principal("1.2.3.4", is_local=False, user_id="anna", is_operator=is_operator, is_logged_in=True)
    async with SessionHarness(FakeAgent([say("Hi.")]), snapshot=THREE, principal=principal) as harness:
        harness.chat(hook_texts=texts)
        [error] = await harness.flushed()

    assert (error["code"], error["path"], error["message"]) == ("frame_invalid", "$.hook_texts", message)


async def test_another_text_of_a_persistent_hook_may_not_hold_words_of_the_client() -> None:
    keep = HookInfo("keep", "k.md", "after_user_input", "system", True, "Text.", "quiz", vars=True)
    snapshot = SkillsSnapshot((Skill("quiz", "", Path(), "quiz", hooks=(keep,)),))
    async with SessionHarness(FakeAgent([say("Hi.")]), snapshot=snapshot) as harness:
        harness.chat(hook_texts={"quiz/keep": "Plan {{context.plan}}."}, context={"plan": "a stranger's"})
        [error] = await harness.flushed()

    assert (error["code"], error["path"]) == ("frame_invalid", "$.hook_texts")
    assert "{{context.plan}}" in error["message"]


# the limit over all connections, and draining


async def test_too_many_turns_are_refused_with_a_time_to_come_again() -> None:
    metrics = Metrics()
    gate = TurnGate(1, metrics)
    pause = Pause()
    async with (
        SessionHarness(FakeAgent([[pause]]), gate=gate) as first,
        SessionHarness(FakeAgent([say("Hi.")]), gate=gate) as second,
    ):
        first.chat()
        second.chat(id="t1")
        error = await second.until("error")
        first.send("interrupt")
        second.chat(id="t1")

        assert (await second.until("turn_end"))["reason"] == "completed"
    assert error["code"] == "too_many_turns"
    assert error["retry_after_ms"] > 0
    assert "turn_id" not in error


async def test_a_client_may_replace_its_own_turn_when_no_other_place_is_left() -> None:
    pause = Pause()
    async with SessionHarness(FakeAgent([[pause], say("Hi.")]), limits=config.LimitsSettings(turns=1)) as harness:
        harness.chat()
        await pause.reached.wait()
        harness.chat()

        assert (await harness.until("turn_end", 2))["reason"] == "completed"


async def test_while_draining_new_turns_are_refused() -> None:
    pause = Pause()
    async with SessionHarness(FakeAgent([[pause]])) as harness:
        harness.chat(id="t1")
        await pause.reached.wait()
        harness.gate.is_draining = True
        harness.chat(id="t2")
        frames = await harness.flushed()

    assert kinds(frames) == ["turn_start", "error", "turn_end"]
    assert frames[1]["code"] == "turn_refused_draining"


async def test_metrics_count_turns_errors_and_hooks() -> None:
    async with SessionHarness(FakeAgent([say("Hi.")])) as harness:
        harness.chat()
        await harness.until("turn_end")
        harness.session.receive_text(b"{")
        await harness.flushed()

    text = harness.metrics.render().decode()
    assert 'parley_turns_total{reason="completed"} 1.0' in text
    assert 'parley_errors_total{code="frame_malformed"} 1.0' in text
    assert 'parley_frames_in_total{type="chat"} 1.0' in text
    assert "parley_turns_running 0.0" in text
    assert "parley_first_token_seconds_count 1.0" in text
