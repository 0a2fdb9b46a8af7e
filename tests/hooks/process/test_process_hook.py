"""server/hooks/process/process_hook.py over real processes: handshake, calls, lives, ends."""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from hook_tools.replay import read_recording
from server.hooks.process.hook_process import HookLimits
from server.hooks.stages import ApproverVerdict, HookCallFailed, StageContext
from server.subprocesses.supervisor import BackoffPolicy
from server.tools.tool_calls import ToolInvocation
from tests.hooks.fakes import FACTS
from tests.hooks.stage import ENVIRON, LIMITS, Stage, leftovers, on_stage, settings
from tests.support.waiting import is_alive

ONE_LIFE = replace(LIMITS, backoff=BackoffPolicy(first_wait_s=600, longest_wait_s=600))
"""A hook that ends stays down."""

IMPATIENT = HookLimits(
    hello_s=0.05, gate_test_s=0.05, gate_quiet_s=0.01, eof_s=0.2, end_s=0.4, backoff=ONE_LIFE.backoff
)


QUIET_S = 0.2
"""Long enough for a test call that should not come."""


def scripted(**script: str) -> dict[str, Any]:
    return {"script": "scripted", "arguments": [f"hook.{method}={what}" for method, what in script.items()]}


async def fails(stage: Stage, *, limit_s: float = 20, **params: Any) -> HookCallFailed:
    with pytest.raises(HookCallFailed) as caught:
        await stage.call(limit_s=limit_s, **params)
    return caught.value


# handshake


async def test_hello_is_the_first_call_and_tells_name_version_and_modes() -> None:
    script = (
        "import sys, json; line = sys.stdin.readline(); m = json.loads(line);"
        "print(json.dumps({'id': m['id'], 'result': {}}), flush=True);"
        "m2 = json.loads(sys.stdin.readline()); print(json.dumps({'id': m2['id'], 'result': m}), flush=True);"
        "sys.stdin.read()"
    )
    hook = settings("", command=[sys.executable, "-c", script], intercept=["after_llm", "before_tool"], observe=["*"])
    async with on_stage(hook) as stage:
        assert await stage.call() == {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "hook.hello",
            "params": {"name": "x", "version": 1, "modes": ["observe", "llm", "tool"]},
        }


@pytest.mark.parametrize(
    "hello",
    [
        '{"ok": true, "name": "other", "protocol_version": 7}',
        '{"ok": false}',
        "null",
        'raw {"id":$ID}',
        '{"action": "continue"}',
        'raw starting up …|{"jsonrpc":"2.0","id":$ID,"result":{}}',
    ],
)
async def test_any_object_or_none_accepts_the_handshake(hello: str) -> None:
    async with on_stage(settings("scripted", f"hook.hello={hello}")) as stage:
        assert stage.hook.state == "up"


@pytest.mark.parametrize(
    ("hello", "why"),
    [
        ("true", 'decode process hook "x" hook.hello result: expected an object, got bool'),
        ("[]", 'decode process hook "x" hook.hello result: expected an object, got list'),
        ('"x"', 'decode process hook "x" hook.hello result: expected an object, got str'),
        ('raw {"id":$ID,"error":{"code":1,"message":"not today"}}', 'process hook "x" hook.hello failed: not today'),
        ("exit 0", 'process hook "x" hook.hello failed: process exited'),
        ("exit 3", 'process hook "x" hook.hello failed: exit status 3'),
        ("kill", 'process hook "x" hook.hello failed: signal: killed'),
    ],
)
async def test_a_failed_handshake_leaves_the_hook_down_and_says_why(hello: str, why: str) -> None:
    async with on_stage(settings("scripted", f"hook.hello={hello}"), limits=ONE_LIFE) as stage:
        assert stage.hook.state == "down"
        assert stage.hook.health().last_error == f'start process hook "x": {why}'
        error = await fails(stage)

    assert (error.kind, str(error)) == ("down", f'process hook "x" is down: start process hook "x": {why}')
    assert leftovers() == []


async def test_a_hook_that_never_answers_hello_is_given_up() -> None:
    async with on_stage(settings("scripted", "hook.hello=silence"), limits=IMPATIENT) as stage:
        assert stage.hook.health().last_error.endswith('process hook "x" hook.hello failed: no reply within 50 ms')

    assert leftovers() == []


async def test_a_command_that_is_not_there_leaves_the_hook_down() -> None:
    async with on_stage(settings("", command=["/no/such/command"]), limits=ONE_LIFE) as stage:
        error = stage.hook.health().last_error

    assert error.startswith('start process hook "x": [Errno 2] No such file or directory')


async def test_a_folder_that_is_not_there_is_named() -> None:
    async with on_stage(settings("", dir=Path("/no/such/folder")), limits=ONE_LIFE) as stage:
        error = stage.hook.health().last_error

    assert error == "start process hook \"x\": [Errno 2] No such file or directory: '/no/such/folder'"


# spawn


async def test_it_runs_in_its_folder_with_its_environment_and_none_of_ours(tmp_path: Path) -> None:
    (tmp_path / "hook").write_text(
        f"#!{sys.executable}\nimport json, os, sys\nfor line in sys.stdin:\n"
        "    answer = {'cwd': os.getcwd(), 'env': dict(os.environ), 'session': os.getsid(0) == os.getpid()}\n"
        "    print(json.dumps({'id': json.loads(line)['id'], 'result': answer}), flush=True)\n"
    )
    (tmp_path / "hook").chmod(0o755)
    hook = settings("", command=["./hook"], dir=tmp_path, env={"MODE": "strict"})
    async with on_stage(hook, environ={**ENVIRON, "OPENAI_API_KEY": "sk-secret"}) as stage:
        answer = await stage.call()

    assert (answer["cwd"], answer["session"]) == (str(tmp_path.resolve()), True)
    assert answer["env"]["MODE"] == "strict"
    assert answer["env"]["PATH"] == ENVIRON["PATH"]
    assert "OPENAI_API_KEY" not in answer["env"]


async def test_no_shell_reads_the_command() -> None:
    script = "import sys, json; print(json.dumps({'id': 1, 'result': {}}), flush=True); sys.stdin.readline();"
    script += "sys.stdin.readline(); print(json.dumps({'id': 2, 'result': {'arguments': sys.argv[1:]}}), flush=True)"
    async with on_stage(settings("", command=[sys.executable, "-c", script, "$HOME; *", "a b"])) as stage:
        assert await stage.call() == {"arguments": ["$HOME; *", "a b"]}


# calls


async def test_replies_are_matched_by_id_whatever_their_order() -> None:
    script = (
        "import sys, json\nlines = iter(sys.stdin)\n"
        "say = lambda m, r: print(json.dumps({'id': m['id'], 'result': r}), flush=True)\n"
        "say(json.loads(next(lines)), {})\nfirst, second = json.loads(next(lines)), json.loads(next(lines))\n"
        "say(second, second['params'])\nsay(first, first['params'])\nnext(lines, None)"
    )
    async with on_stage(settings("", command=[sys.executable, "-c", script])) as stage:
        assert list(await asyncio.gather(stage.call(n=1), stage.call(n=2))) == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize(
    ("reply", "kind", "why"),
    [
        ('raw {"id":$ID,"error":{"code":-32601,"message":"method not found"}}', "failed", "failed: method not found"),
        ('raw {"id":$ID,"result":{},"error":{"message":"no"}}', "failed", "hook.before_tool failed: no"),
        ("[1]", "failed", "result: expected an object, got list"),
        ('raw {"id":$ID,"result":{\'a\':1}}', "failed", "its reply was not valid JSON"),
        ('raw {"id":$ID,"error":"boom"}', "failed", "its reply was not JSON-RPC"),
        ("silence", "timed_out", 'process hook "x" hook.before_tool failed: no reply within 50 ms'),
        ('raw {"id":"$ID","result":{}}', "timed_out", "no reply within 50 ms"),
        ('raw {"id":99,"result":{}}', "timed_out", "no reply within 50 ms"),
        ('raw {"id":$ID,"method":"ask","params":{}}', "timed_out", "no reply within 50 ms"),
        ("exit 0", "down", 'process hook "x" hook.before_tool failed: process exited'),
        ("exit 2", "down", 'process hook "x" hook.before_tool failed: exit status 2'),
        ("kill", "down", 'process hook "x" hook.before_tool failed: signal: killed'),
    ],
)
async def test_how_a_call_fails_is_told_apart(reply: str, kind: str, why: str) -> None:
    async with on_stage(settings("scripted", f"hook.before_tool={reply}")) as stage:
        error = await fails(stage, limit_s=0.05 if kind == "timed_out" else 20)
        health = stage.hook.health()

    assert error.kind == kind
    assert why in str(error)
    assert (health.calls, health.failures) == (1, 1)


@pytest.mark.parametrize("id_", ['"$ID"', "$ID.0"])
async def test_an_id_that_comes_back_in_another_form_is_named(id_: str) -> None:
    async with on_stage(settings("scripted", f'hook.before_tool=raw {{"id":{id_},"result":{{}}}}')) as stage:
        await fails(stage, limit_s=0.05)
        health = stage.hook.health()

    assert health.ignored == {"odd_id": 1}
    assert [text for text in health.warnings if "it answered with the `id` in another form" in text]


@pytest.mark.parametrize("reply", ["null", "{}", 'raw {"id":$ID}', 'raw debug|{"a":|{"id":$ID,"result":null}'])
async def test_a_missing_result_is_an_empty_one_and_noise_before_it_does_no_harm(reply: str) -> None:
    async with on_stage(settings("scripted", f"hook.before_tool={reply}")) as stage:
        assert await stage.call() == {}


async def test_a_call_that_is_cancelled_is_given_up_and_its_late_reply_dropped() -> None:
    async with on_stage(settings("faulty")) as stage:
        call = asyncio.create_task(stage.call(fault="slow reader"))
        await asyncio.sleep(0)
        call.cancel()
        assert await stage.call() == {}

        assert stage.hook.health().ignored == {"late": 1}


async def test_all_calls_under_way_fail_when_the_process_dies() -> None:
    async with on_stage(settings("faulty")) as stage:
        calls = [stage.call(fault="silence"), stage.call(fault="silence"), stage.call(fault="kill -9")]
        errors = await asyncio.gather(*calls, return_exceptions=True)

    assert [getattr(error, "kind", error) for error in errors] == ["down"] * 3


async def test_the_last_words_on_stderr_say_why_it_died(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        async with on_stage(settings("faulty"), limits=ONE_LIFE) as stage:
            await fails(stage, fault="exit")
            await stage.until(lambda hook: hook.state == "down")

            assert stage.hook.health().last_error == 'process hook "x" ended: exit status 3: Oops: no more'
    assert 'process hook "x" stderr: Oops: no more' in caplog.messages


async def test_a_reply_written_just_before_the_exit_counts() -> None:
    script = (
        "import sys, json\nfor line in sys.stdin:\n    m = json.loads(line)\n"
        "    sys.stdout.write(json.dumps({'id': m['id'], 'result': {'last': True}}) + '\\n'); sys.stdout.flush()\n"
        "    if m['id'] == 2: sys.exit(0)"
    )
    async with on_stage(settings("", command=[sys.executable, "-c", script]), limits=ONE_LIFE) as stage:
        assert await stage.call() == {"last": True}


async def test_what_cannot_be_sent_fails_alone() -> None:
    async with on_stage(settings("echo")) as stage:
        assert (await fails(stage, x=object())).kind == "failed"
        assert (await fails(stage, x="a" * (17 << 20))).kind == "failed"

        assert (await stage.call(x=1))["params"] == {"x": 1}


async def test_a_megabyte_goes_there_and_back() -> None:
    text = "é€😀\n" * 100_000
    async with on_stage(settings("echo")) as stage:
        assert (await stage.call(text=text))["params"] == {"text": text}


# events


async def test_notifications_arrive_in_order_and_are_not_answered() -> None:
    script = (
        "import sys, json\nseen = []\nfor line in sys.stdin:\n    m = json.loads(line)\n"
        "    if 'id' not in m: seen.append(m['params']['n'])\n"
        "    else: print(json.dumps({'id': m['id'], 'result': {'seen': seen}}), flush=True)"
    )
    async with on_stage(settings("", command=[sys.executable, "-c", script], observe=["*"])) as stage:
        for number in range(100):
            stage.hook.notify("hook.runtime_event", {"n": number})

        assert await stage.call() == {"seen": list(range(100))}
        health = stage.hook.health()
        assert (health.events, health.dropped_events) == (100, 0)


async def test_events_for_a_hook_that_does_not_read_are_dropped_and_counted() -> None:
    async with on_stage(settings("scripted", "hook.before_tool=hang")) as stage:
        await fails(stage, limit_s=0.01)
        for _ in range(500):
            stage.hook.notify("hook.runtime_event", {"text": "x" * 10_000})

        assert 150 < stage.hook.health().dropped_events < 500


async def test_events_for_a_hook_that_is_down_are_counted_as_dropped() -> None:
    async with on_stage(settings("", command=["/no/such/command"]), limits=ONE_LIFE) as stage:
        stage.hook.notify("hook.runtime_event", {})

        health = stage.hook.health()
        assert (health.events, health.dropped_events) == (1, 1)


# faults


async def test_a_hook_that_does_not_read_fails_calls_at_once_beyond_its_backlog() -> None:
    async with on_stage(settings("scripted", "hook.before_tool=hang")) as stage:
        await fails(stage, limit_s=0.01)
        waiting = [asyncio.create_task(stage.call(text="x" * (4 << 20))) for _ in range(3)]
        await asyncio.sleep(0)

        error = await fails(stage, limit_s=600, text="x" * (6 << 20))

        assert (error.kind, str(error)) == (
            "timed_out",
            'process hook "x" hook.before_tool failed: it does not read its input',
        )
        for call in waiting:
            call.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert (await fails(stage, limit_s=0.01, text="x" * (6 << 20))).kind == "timed_out"  # there is room again


@pytest.mark.parametrize("fault", ["garbage", "slow reader", "flood"])
async def test_a_fault_costs_at_most_its_own_call(fault: str) -> None:
    async with on_stage(settings("faulty")) as stage:
        assert await stage.call(fault=fault) == {}
        assert await stage.call() == {}
        assert stage.hook.health().restarts == 0


async def test_a_20_mib_line_costs_its_call_and_not_the_channel() -> None:
    async with on_stage(settings("faulty")) as stage:
        error = await fails(stage, fault="20 MiB line")

        assert (error.kind, await stage.call()) == ("failed", {})
        assert stage.hook.health().ignored == {"overlong": 1}


async def test_an_endless_flood_does_not_hold_the_event_loop() -> None:
    async with on_stage(settings("faulty")) as stage:
        loop = asyncio.get_running_loop()
        before = psutil.Process().memory_info().rss
        flood = asyncio.create_task(fails(stage, limit_s=0.3, fault="flood for ever"))
        turns = 0
        while not flood.done() or turns < 100:  # the flood goes on when the call is given up
            await asyncio.sleep(0)
            turns += 1

        assert flood.result().kind == "timed_out"
        assert psutil.Process().memory_info().rss - before < 32 << 20
        assert loop.is_running()
    assert leftovers() == []


@pytest.mark.parametrize("fault", ["close stdout", "close stdin"])
async def test_a_hook_that_closes_its_streams_cannot_be_asked(fault: str) -> None:
    async with on_stage(settings("faulty")) as stage:
        error = await fails(stage, limit_s=20 if fault == "close stdout" else 1, fault=fault)
        assert error.kind == ("down" if fault == "close stdout" else "timed_out")
        if fault == "close stdin":
            assert (await fails(stage, limit_s=600)).kind == "down"


@pytest.mark.parametrize("fault", ["kill -9", "exit"])
async def test_a_hook_that_dies_is_started_again(fault: str) -> None:
    async with on_stage(settings("faulty")) as stage:
        await fails(stage, fault=fault)
        await stage.until(lambda hook: hook.health().restarts == 1 and hook.state == "up")

        assert await stage.call() == {}


async def test_calls_between_two_lives_fail_at_once() -> None:
    async with on_stage(settings("faulty"), limits=ONE_LIFE) as stage:
        await fails(stage, fault="kill -9")
        await stage.until(lambda hook: hook.health().retry_in_s is not None)
        await fails(stage, limit_s=600)
        error = await fails(stage, limit_s=600)
        health = stage.hook.health()

    assert (error.kind, str(error)) == ("down", 'process hook "x" is down: process hook "x" ended: signal: killed')
    assert (health.last_error, health.failures) == ('process hook "x" ended: signal: killed', 3)
    assert health.retry_in_s is not None


async def test_ids_begin_at_1_again_after_a_restart() -> None:
    async with on_stage(settings("faulty")) as stage:
        for _ in range(3):
            await stage.call()
        await fails(stage, fault="kill -9")
        await stage.until(lambda hook: hook.health().restarts == 1 and hook.state == "up")

        assert await stage.call() == {}
        assert stage.hook.health().ignored == {}


async def test_a_hook_that_dies_at_every_start_is_tried_again_until_the_breaker_opens() -> None:
    limits = HookLimits(backoff=BackoffPolicy(first_wait_s=0.001, longest_wait_s=0.001, max_quick=3, open_s=600))
    async with on_stage(settings("scripted", "hook.hello=exit 1"), limits=limits) as stage:
        await stage.until(lambda hook: (hook.health().retry_in_s or 0) > 500)

        assert stage.hook.health().restarts == 3


# the end


async def test_it_is_asked_to_end_by_the_end_of_its_input() -> None:
    async with on_stage(settings("echo")) as stage:
        pid = stage.hook.health().pid or 0
        assert is_alive(pid)

    assert leftovers() == []
    assert stage.hook.state == "closed"
    assert str(await fails(stage)) == 'process hook "x" is closed'


@pytest.mark.parametrize("deaf_to", ["", "SIGTERM"])
async def test_one_that_ignores_the_end_of_its_input_is_terminated_then_killed(deaf_to: str, tmp_path: Path) -> None:
    script = (
        "import sys, json, signal, time, pathlib\n"
        f"out = pathlib.Path({str(tmp_path / 'said')!r})\n"
        f"signal.signal(signal.SIGTERM, lambda *_: (out.write_text('TERM'), {'None' if deaf_to else 'sys.exit(0)'}))\n"
        "m = json.loads(sys.stdin.readline()); print(json.dumps({'id': m['id'], 'result': {}}), flush=True)\n"
        "while True: time.sleep(0.01)"
    )
    limits = replace(LIMITS, end_s=2 if deaf_to else 20)
    async with on_stage(settings("", command=[sys.executable, "-c", script]), limits=limits) as stage:
        assert stage.hook.state == "up"

    assert (tmp_path / "said").read_text() == "TERM"
    assert leftovers() == []


async def test_calls_under_way_fail_when_the_hook_is_closed() -> None:
    async with on_stage(settings("faulty")) as stage:
        call = asyncio.create_task(fails(stage, fault="silence"))
        await asyncio.sleep(0)
        await stage.hook.aclose()

        assert (await call).kind == "down"


async def test_closing_a_hook_that_is_just_starting_leaves_no_process() -> None:
    stage = Stage(settings("echo"))
    stage.hook.start()
    await asyncio.sleep(0)

    await stage.hook.aclose()

    assert leftovers() == []


# gates


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ('{"approved": true}', None),
        ('{"Approved": false}', None),
        ('{"allow": true}', '"approved" is missing, which means no'),
        ('{"approved": "yes"}', "approved"),
        ("silence", "no reply within 50 ms"),
        ("exit 1", "exit status 1"),
    ],
)
async def test_an_approver_is_armed_if_it_answers_its_canary_call_as_one(reply: str, reason: str | None) -> None:
    limits = replace(ONE_LIFE, gate_test_s=0.05 if reply == "silence" else 10)
    script = ['hook.hello={"canary": true}', f"hook.approve_tool={reply}"]
    async with on_stage(settings("scripted", *script, intercept=["approve_tool"]), limits=limits) as stage:
        if reply.startswith("exit"):
            await stage.until(lambda hook: hook.state == "down")
            assert stage.hook.health().armed is not True
        else:
            assert await stage.armed() is (reason is None)
            assert (reason or "") in stage.hook.health().armed_reason


async def test_a_closed_guard_is_a_gate_at_each_of_its_stages_and_an_open_one_is_none() -> None:
    replies = ['hook.before_tool={"action":"continue"}', 'hook.after_tool={"action":"redact"}']
    stages = ["before_tool", "after_tool"]
    async with on_stage(settings("scripted", *replies, intercept=stages, on_error="closed")) as stage:
        assert await stage.armed() is False
        assert stage.hook.health().armed_reason.startswith('after_tool: unsupported action "redact"')
    async with on_stage(settings("scripted", *replies, intercept=stages)) as stage:
        await asyncio.sleep(QUIET_S)
        assert (stage.hook.health().armed, stage.hook.health().calls) == (None, 0)


async def approves(stage: Stage) -> bool:
    """Ask a real question."""
    call = ToolInvocation(name="count", arguments={})
    verdict = await stage.hook.ask("approve_tool", call, StageContext(facts=FACTS), 20)
    return isinstance(verdict, ApproverVerdict) and verdict.approved


async def test_an_approver_gets_no_canary_before_it_has_answered_a_question(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    hook = settings("scripted", 'hook.approve_tool={"approved": true}', intercept=["approve_tool"], record=path)
    async with on_stage(hook) as stage:
        await asyncio.sleep(QUIET_S)
        assert stage.hook.health().armed is None

        assert await approves(stage)
        assert stage.hook.health().armed is True
        psutil.Process(stage.hook.health().pid).kill()
        await stage.until(lambda hook: hook.health().restarts == 1)
        assert await stage.armed()

    first, second = read_recording(path)
    assert [call.params.get("tool") for call in first.exchanges] == [None, "count"]
    assert [call.params.get("tool") for call in second.exchanges] == [None, "parley_canary"]


@pytest.mark.parametrize("more", [{"on_error": "closed"}, {"intercept": ["approve_tool"]}], ids=["guard", "approver"])
async def test_without_canary_no_hook_is_tested(more: dict[str, Any]) -> None:
    async with on_stage(settings("scripted", 'hook.hello={"canary": true}', canary=False, **more)) as stage:
        await asyncio.sleep(QUIET_S)

        assert (stage.hook.health().armed, stage.hook.health().calls) == (None, 0)


async def test_a_canary_waits_until_no_turn_uses_the_hook() -> None:
    stage = Stage(settings("scripted", 'hook.before_tool={"action":"continue"}', on_error="closed"))
    stage.hook.leases = 1
    stage.hook.start()
    try:
        await stage.hook.settled.wait()
        await stage.call()
        await asyncio.sleep(QUIET_S)
        assert (stage.hook.health().armed, stage.hook.health().calls) == (None, 1)

        stage.hook.leases = 0
        assert await stage.armed()
    finally:
        await stage.hook.aclose()


async def test_its_traffic_is_recorded_life_by_life_where_that_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    hook = settings("scripted", "hook.before_tool=exit 3", record=path)
    async with on_stage(hook) as stage:
        await fails(stage)
        await stage.until(lambda hook: hook.health().restarts == 1 and hook.state == "up")
        assert f"{path} records everything it is sent, including what users say" in stage.hook.health().warnings

    first, second = read_recording(path)
    assert [(call.method, call.reply is not None) for call in first.exchanges] == [
        ("hook.hello", True),
        ("hook.before_tool", False),
    ]
    assert [call.method for call in second.exchanges] == ["hook.hello"]


async def test_a_recording_that_cannot_be_costs_nothing_but_itself(tmp_path: Path) -> None:
    hook = settings("scripted", "hook.before_tool={}", record=tmp_path / "not" / "there")
    async with on_stage(hook) as stage:
        assert await stage.call() == {}
        [warning] = stage.hook.health().warnings

    assert warning.startswith("its traffic is not recorded: ")
