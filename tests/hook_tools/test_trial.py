"""hook_tools/trial.py: hooks with a fault each, and the words that name it."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from hook_tools.trial import Plan, Step, Trial
from server import config
from tests.hooks.serving import CHILDREN

HELLO = 'import sys, json\nfor line in sys.stdin:\n    m = json.loads(line); i = m.get("id")\n'


def plan(*command: str, intercept: str = "before_tool", **more: Any) -> Plan:
    wait_s, is_chosen = more.pop("wait_s", 10.0), more.pop("is_chosen", True)
    hook = config.ProcessHookSettings(command=list(command), intercept=intercept.split(), **more)
    return Plan(name="tried", hook=hook, wait_s=wait_s, is_chosen=is_chosen)


def scripted(*answers: str, **more: Any) -> Plan:
    return plan(sys.executable, str(CHILDREN / "scripted.py"), *answers, **more)


def code(body: str, **more: Any) -> Plan:
    """A hook whose loop has this body; `m` is the message, `i` its id."""
    text = HELLO + "".join(f"    {line}\n" for line in body.splitlines())
    return plan(sys.executable, "-c", text, **more)


async def tried(what: Plan) -> Trial:
    trial = Trial(what, os.environ, show=lambda _: None)
    await trial.run()
    return trial


def texts(trial: Trial) -> str:
    return "\n".join(finding.text for step in trial.steps for finding in step.findings)


async def test_a_hook_without_faults_has_none() -> None:
    shown = list[Step]()
    weather = plan(sys.executable, str(CHILDREN / "weather.py"), intercept="before_llm before_tool", observe=["*"])
    trial = Trial(weather, os.environ, show=shown.append)
    await trial.run()

    assert texts(trial) == ""
    assert shown == trial.steps
    titles = [step.title for step in trial.steps]
    assert titles[:2] == ["hook.hello", "10 events as hook.runtime_event"]
    assert "hook.before_tool: its own tool get_weather" in titles
    assert titles[-2:] == ["8 calls at once", "end of input"]
    assert set(trial.summary()) == {"before_llm", "before_tool"}


async def test_a_hook_that_knows_only_the_events_of_old_gets_a_hint(tmp_path: Path) -> None:
    old = tmp_path / "old.py"
    old.write_text(
        HELLO
        + '    if m["method"] == "hook.event": print(m["params"]["Kind"], file=sys.stderr)\n'
        + '    if i: print(json.dumps({"jsonrpc": "2.0", "id": i, "result": {}}), flush=True)\n'
    )
    trial = await tried(plan(sys.executable, str(old), observe=["tool_exec_start"]))

    assert (trial.problems, trial.hints) == (0, 1)
    assert "event_method: hook.event" in texts(trial)


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (scripted('hook.before_tool=raw debug|{"jsonrpc":"2.0","id":$ID,"result":{}}'), "not a reply: ‘debug’"),
        (scripted('hook.before_tool=raw {"jsonrpc":"2.0","id":"$ID","result":{}}', timeout_ms=300), "a string"),
        (scripted("hook.before_tool=silence", timeout_ms=300), "no reply to hook.before_tool within 0.3 s"),
        (scripted("hook.before_tool=silence", wait_s=0.3), "within 0.3 s; the server would wait 5 s"),
        (scripted("hook.before_tool=[]"), "the result must be an object"),
        (scripted("hook.before_tool=exit 3"), "is gone: exit status 3"),
        (scripted("hook.before_tool=kill"), "is gone: signal: killed"),
        (scripted("hook.hello=exit 0"), "ended before it answered hook.hello"),
        (scripted("hook.hello=[]"), "the result must be an object, such as {}"),
        (plan(sys.executable, "-c", "import this_is_not_there"), "No module named 'this_is_not_there'"),
        (plan("/not/there"), "No such file or directory: '/not/there'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_fault_is_named(what: Plan, words: str) -> None:
    trial = await tried(what)

    assert words in texts(trial)
    assert trial.problems


async def test_a_hook_that_does_not_flush_is_told_to() -> None:
    body = (
        'out = open(1, "w", closefd=False) if i == 1 else out\n'
        'if i: print(json.dumps({"jsonrpc": "2.0", "id": i, "result": {}}), file=out, flush=i == 1)'
    )
    trial = await tried(code(body, timeout_ms=300))

    assert "came only now: flush standard output after each" in texts(trial)


async def test_a_hook_that_reads_to_the_end_of_its_input_is_told_to_read_lines() -> None:
    text = (
        "import sys, json\n"
        "for line in sys.stdin.read().splitlines():\n"
        '    print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {}}))\n'
    )
    trial = await tried(plan(sys.executable, "-c", text, wait_s=0.3, is_chosen=False))

    assert "no reply to hook.hello within 0.3 s; the server would wait 5 s\n" in texts(trial)
    assert "read standard input line by line, not to its end, and flush standard output" in texts(trial)


@pytest.mark.parametrize(("mode", "cure"), [(0o644, "chmod +x"), (0o755, "#!/bin/sh")])
async def test_a_script_that_cannot_be_run_is_told_how(tmp_path: Path, mode: int, cure: str) -> None:
    script = tmp_path / "hook.sh"
    script.write_text("cat\n")
    script.chmod(mode)
    trial = await tried(plan(str(script)))

    assert cure in texts(trial)
    assert f"sh {script}" in texts(trial)


async def test_a_hook_that_does_not_end_with_its_input_is_named() -> None:
    text = HELLO + '    print(json.dumps({"jsonrpc": "2.0", "id": i, "result": {}}))\nimport time; time.sleep(60)'
    trial = await tried(plan(sys.executable, "-c", text))

    assert "does not end when its standard input does" in texts(trial)


async def test_a_hook_that_ends_badly_shows_its_last_words() -> None:
    text = HELLO + '    print(json.dumps({"jsonrpc": "2.0", "id": i, "result": {}}))\nsys.exit("not saved")'
    trial = await tried(plan(sys.executable, "-c", text))

    assert "ended with exit status 1; its last words: not saved" in texts(trial)


async def test_an_answer_to_an_event_is_a_hint() -> None:
    trial = await tried(code('print(json.dumps({"jsonrpc": "2.0", "id": i, "result": {}}))', observe=["turn_end"]))

    assert "answered a notification" in texts(trial)
    assert (trial.problems, trial.hints) == (0, 1)


async def test_a_stage_that_nobody_asked_for_may_be_refused() -> None:
    body = (
        'known = m["method"] in ("hook.hello", "hook.before_tool")\n'
        'reply = {"result": {}} if known else {"error": {"code": -32601, "message": "method not found"}}\n'
        'print(json.dumps({"jsonrpc": "2.0", "id": i, **reply}))'
    )
    unchosen = await tried(code(body, intercept="before_tool after_tool", is_chosen=False))
    chosen = await tried(code(body, intercept="before_tool after_tool"))

    assert (unchosen.problems, unchosen.hints) == (0, 1)
    assert "leave it out of “intercept”" in texts(unchosen)
    assert chosen.problems == 1


async def test_a_remark_is_shown_once_but_marks_each_step() -> None:
    trial = await tried(scripted('hook.approve_tool={"allow": true}', intercept="approve_tool"))

    steps = [step for step in trial.steps if step.title.startswith("hook.approve_tool")]
    assert [len(step.findings) for step in steps] == [2, 0, 0, 0]
    assert all(step.has_problem for step in steps)


async def test_a_cancelled_trial_leaves_no_process(tmp_path: Path) -> None:
    number = tmp_path / "pid"
    text = f"import os, time; open({str(number)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    started = asyncio.Event()
    trial = Trial(plan(sys.executable, "-c", text), os.environ, show=lambda _: None, on_line=lambda *_: started.set())
    running = asyncio.create_task(trial.run())
    await started.wait()
    running.cancel()
    await asyncio.wait([running])

    if number.exists():
        with pytest.raises(ProcessLookupError):
            os.kill(int(number.read_text()), 0)


async def test_a_slow_hook_is_not_taken_for_one_that_does_not_flush() -> None:
    body = (
        "import time\n"
        'time.sleep(0.4 if m["method"] == "hook.before_tool" else 0)\n'
        'print(json.dumps({"jsonrpc": "2.0", "id": i, "result": {}}), flush=True)'
    )
    trial = await tried(code(body, timeout_ms=200))

    assert "no reply to hook.before_tool within 0.2 s" in texts(trial)
    assert "answered a call after its time was up" in texts(trial)
