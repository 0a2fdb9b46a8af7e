"""In-process hooks: their own copies, their own limits, and nothing of theirs gets out."""

import asyncio
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from server import config
from server.approval.asking import Answer, Question
from server.errors import ConfigError
from server.hooks.builtin_hooks import MAX_THREADS, AskHumanApprover, BuiltinHook, build_builtins
from server.hooks.stages import (
    ApproverVerdict,
    Deny,
    HookCallFailed,
    LlmAnswer,
    LlmCall,
    Stage,
    StageContext,
    StageValue,
)
from server.tools.tool_calls import ToolInvocation
from tests.hooks.fakes import FACTS, FakeHuman, pipeline_of
from tests.support.client import client
from tests.support.openai_script import calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ServerProcess, endpoint

AT = StageContext(facts=FACTS)
LONG_S, SHORT_S = 60.0, 0.02
ASK = ToolInvocation(name="echo", arguments={"list": [1]})


def builtin(hook: object) -> BuiltinHook:
    return BuiltinHook("own", hook)


class Spoiler:
    async def before_tool(self, call: ToolInvocation, at: StageContext) -> None:
        call.arguments["list"].append(2)


async def test_a_hook_that_writes_into_what_it_was_given_changes_nothing() -> None:
    assert await builtin(Spoiler()).ask("before_tool", ASK, AT, LONG_S) is None
    assert ASK.arguments == {"list": [1]}


def test_a_hook_is_asked_at_the_stages_whose_methods_it_has() -> None:
    assert builtin(Spoiler()).stages == {"before_tool"}
    assert builtin(Spoiler()).kinds == frozenset()


class Broken:
    async def before_tool(self, call: ToolInvocation, at: StageContext) -> None:
        raise ValueError("secret detail")

    async def after_llm(self, answer: LlmAnswer, at: StageContext) -> None:
        await asyncio.Event().wait()

    async def before_llm(self, call: LlmCall, at: StageContext) -> None:
        raise asyncio.CancelledError  # of something that it waited for and that another has cancelled


async def test_what_a_hook_raises_stays_inside() -> None:
    with pytest.raises(HookCallFailed, match="ValueError") as caught:
        await builtin(Broken()).ask("before_tool", ASK, AT, LONG_S)

    assert caught.value.kind == "failed"
    assert "secret detail" not in str(caught.value)


async def test_a_cancellation_of_the_hook_s_own_does_not_end_the_turn() -> None:
    with pytest.raises(HookCallFailed, match="CancelledError"):
        await builtin(Broken()).ask("before_llm", LlmCall(model="m", messages=[]), AT, LONG_S)


class Raising:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def before_tool(self, call: ToolInvocation, at: StageContext) -> None:
        raise self.error

    async def approve_tool(self, call: ToolInvocation, at: StageContext) -> None:
        raise self.error


@pytest.mark.parametrize("stage", ["before_tool", "approve_tool"])
@pytest.mark.parametrize("error", [StopIteration(), GeneratorExit(), BaseException(), SystemExit()], ids=repr)
async def test_no_exception_of_a_hook_ends_or_delays_the_turn(stage: Stage, error: BaseException) -> None:
    with pytest.raises(HookCallFailed) as caught:
        await builtin(Raising(error)).ask(stage, ASK, AT, LONG_S)

    assert caught.value.kind == "failed"


async def test_a_hook_that_takes_too_long_is_left() -> None:
    with pytest.raises(HookCallFailed) as caught:
        await builtin(Broken()).ask("after_llm", LlmAnswer(model="m", content=""), AT, SHORT_S)

    assert caught.value.kind == "timed_out"


async def test_cancelling_a_hook_is_no_failure_of_it() -> None:
    asking = asyncio.create_task(builtin(Broken()).ask("after_llm", LlmAnswer(model="m", content=""), AT, LONG_S))
    await asyncio.sleep(0)

    asking.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asking


class Polite:
    async def approve_tool(self, call: ToolInvocation, at: StageContext) -> ApproverVerdict:
        assert at.ask is not None
        answer = await at.ask.ask(Question(tool=call.name, arguments={}, message="", origin="polite"))
        return ApproverVerdict(approved=answer.approved)


class SlowHuman(FakeHuman):
    took_ms = 0.0

    async def ask(self, question: Question) -> Answer:
        loop = asyncio.get_running_loop()
        began_s = time.perf_counter()
        done = loop.create_future()
        loop.call_later(0.06, done.set_result, None)
        await done
        self.took_ms += (time.perf_counter() - began_s) * 1000
        return await super().ask(question)


async def test_the_time_that_a_human_takes_is_not_the_hook_s() -> None:
    at = replace(AT, ask=SlowHuman([Answer(approved=True, by="user")]))

    assert await builtin(Polite()).ask("approve_tool", ASK, at, SHORT_S) == ApproverVerdict(approved=True)


class Threaded:
    def before_tool(self, call: ToolInvocation, at: StageContext) -> ToolInvocation | None:
        asyncio.get_running_loop()  # raises in a thread
        return call


class Odd:
    """Returns what no stage takes."""

    async def before_llm(self, call: LlmCall, at: StageContext) -> object:
        return {"model": "other"}

    async def before_tool(self, call: ToolInvocation, at: StageContext) -> object:
        return ApproverVerdict(approved=True)

    async def approve_tool(self, call: ToolInvocation, at: StageContext) -> object:
        raise SystemExit


async def test_a_method_that_is_no_coroutine_runs_in_a_thread() -> None:
    with pytest.raises(HookCallFailed, match="RuntimeError"):
        await builtin(Threaded()).ask("before_tool", ASK, AT, LONG_S)


@pytest.mark.parametrize(
    ("stage", "value", "problem"),
    [
        ("before_llm", LlmCall(model="m", messages=[]), "TypeError"),
        ("before_tool", ASK, "TypeError"),
        ("approve_tool", ASK, "SystemExit"),
    ],
)
async def test_an_answer_that_the_stage_does_not_take_is_a_failure(
    stage: Stage, value: StageValue, problem: str
) -> None:
    with pytest.raises(HookCallFailed, match=f"{stage} failed: {problem}"):
        await builtin(Odd()).ask(stage, value, AT, LONG_S)


class Approver:
    def __init__(self, verdict: object) -> None:
        self.verdict = verdict

    async def approve_tool(self, call: ToolInvocation, at: StageContext) -> object:
        return self.verdict


@pytest.mark.parametrize("verdict", [None, ASK, True, ApproverVerdict(approved="no")], ids=repr)  # type: ignore[arg-type]  # the hook's error
async def test_a_verdict_that_is_none_is_a_failure_that_is_logged(
    verdict: object, caplog: pytest.LogCaptureFixture
) -> None:
    denied = await pipeline_of(builtin(Approver(verdict))).approve_tool(ASK)

    assert isinstance(denied, Deny)
    assert 'tool approval hook "own" failed' in denied.reason
    assert "approve_tool returned" in caplog.text


# --- methods that block


class Stuck:
    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.late_s = 0.0

    def before_tool(self, call: ToolInvocation, at: StageContext) -> None:
        self.go_on.wait()

    async def after_llm(self, answer: LlmAnswer, at: StageContext) -> None:
        while asyncio.get_running_loop().time() < self.late_s:
            pass


@pytest.fixture
def stuck() -> Iterator[Stuck]:
    hook = Stuck()
    yield hook
    hook.go_on.set()


async def test_plain_methods_that_never_return_leave_the_threads_of_others_free(stuck: Stuck) -> None:
    own = builtin(stuck)
    for _ in range(MAX_THREADS):
        with pytest.raises(HookCallFailed, match="timed out"):
            await own.ask("before_tool", ASK, AT, SHORT_S)

    with pytest.raises(HookCallFailed):
        await own.ask("before_tool", ASK, AT, LONG_S)
    why = "8 calls past their time limit still run; restart the server"
    assert own.health().last_error == f'hook "own" before_tool failed: {why}'
    threads = hook_threads()
    assert await asyncio.to_thread(threading.current_thread) not in threads
    stuck.go_on.set()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    assert await own.ask("before_tool", ASK, AT, LONG_S) is None


def hook_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "hook own"]


async def test_more_calls_than_threads_wait_for_one_another(stuck: Stuck) -> None:
    own = builtin(stuck)
    asking = [asyncio.create_task(own.ask("before_tool", ASK, AT, LONG_S)) for _ in range(3 * MAX_THREADS)]
    await asyncio.sleep(0)
    assert len(hook_threads()) == MAX_THREADS

    stuck.go_on.set()

    assert await asyncio.gather(*asking) == [None] * len(asking)


async def test_a_server_with_a_stuck_hook_ends_when_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "stuck.py").write_text(STUCK)
    hook = {"enabled": True, "import": "stuck:Stuck", "timeout_ms": 100}
    settings = {"hooks": {"builtins": {"stuck": hook}}, "agent": {"planning": False}}
    async with OpenAIServer() as model:
        environ = {**endpoint(model.url), "PYTHONPATH": str(tmp_path)}
        async with ServerProcess(tmp_path, environ=environ, settings=settings) as server:
            async with client(server.ws_url) as connected:
                model.queue(calls(("current_time", {})), text("done"))
                await connected.turn("hi")
            assert 'hook "stuck" before_tool timed out' in server.log()
            assert await asyncio.to_thread(server.stop) == 0


STUCK = """
import threading

class Stuck:
    def __init__(self, config): ...
    def before_tool(self, call, at):
        threading.Event().wait()
"""


async def test_a_coroutine_that_blocks_the_server_past_its_limit_is_reported(stuck: Stuck) -> None:
    own = builtin(stuck)
    stuck.late_s = asyncio.get_running_loop().time() + 2 * SHORT_S

    await own.ask("after_llm", LlmAnswer(model="m", content=""), AT, SHORT_S)
    assert "must not block" in next(iter(own.health().warnings))

    await own.ask("after_llm", LlmAnswer(model="m", content=""), AT, LONG_S)
    assert list(own.health().warnings.values()) == [1]


# --- health


class Moody(Polite):
    async def before_tool(self, call: ToolInvocation, at: StageContext) -> None:
        if call.name == "bad":
            raise ValueError


async def test_its_health_counts_calls_and_names_the_last_failure() -> None:
    own = builtin(Moody())
    assert own.health().p99_ms is None

    await own.ask("before_tool", ASK, AT, LONG_S)
    with pytest.raises(HookCallFailed):
        await own.ask("before_tool", replace(ASK, name="bad"), AT, LONG_S)

    health = own.health()
    assert (health.name, health.stages) == ("own", ["before_tool", "approve_tool"])
    assert (health.calls, health.failures) == (2, 1)
    assert health.last_error == 'hook "own" before_tool failed: ValueError'
    assert health.p50_ms is not None


async def test_its_durations_are_without_the_time_that_a_human_takes() -> None:
    own, human = builtin(Moody()), SlowHuman([Answer(approved=True, by="user")])
    began_s = time.perf_counter()

    await own.ask("approve_tool", ASK, replace(AT, ask=human), LONG_S)

    all_ms, took_ms = (time.perf_counter() - began_s) * 1000, own.health().p99_ms
    assert took_ms is not None
    assert took_ms <= all_ms - human.took_ms + 0.01


# --- hooks.builtins


def hooks(name: str = "ask_human", **entry: object) -> config.HooksSettings:
    return config.HooksSettings(builtins={name: config.BuiltinHookSettings(enabled=True, **entry)})  # type: ignore[arg-type]  # any entry


def test_a_builtin_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match=r'builtin hook "nope" is not registered; there are: ask_human'):
        build_builtins(hooks("nope"))


OWN = """
class Own:
    is_guard = True
    def __init__(self, config):
        self.config = config
    async def before_tool(self, call, at):
        raise ValueError(self.config)

def nothing(config):
    return object()

def choosy(config):
    raise KeyError("tools")
"""


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_hooks").mkdir()
    (tmp_path / "own_hooks" / "guards.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)


def imported(source: str, **more: object) -> config.HooksSettings:
    return msgspec.convert({"builtins": {"mine": {"enabled": True, "import": source, **more}}}, config.HooksSettings)


@pytest.mark.usefixtures("own_module")
def test_a_hook_of_the_operator_s_own_is_imported_and_has_limits_as_any_other() -> None:
    [hook] = build_builtins(imported("own_hooks.guards:Own", timeout_ms=70))

    assert hook.stages == {"before_tool"}
    assert (hook.name, hook.is_guard, hook.timeout_ms) == ("mine", True, 70)
    assert hook.health().stages == ["before_tool"]


@pytest.mark.usefixtures("own_module")
@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("own_hooks.guards:Missing", "AttributeError"),
        ("own_hooks.missing:Own", "ModuleNotFoundError"),
        ("own_hooks.guards", 'ValueError: it must have the form "module:factory"'),
        (":Own", "ValueError"),
        ("own_hooks.guards:nothing", "TypeError: it has none of the methods before_llm"),
        ("own_hooks.guards:choosy", "KeyError: 'tools'"),
    ],
)
def test_one_that_cannot_be_built_is_named_with_the_reason(source: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=f'import: {source}: build builtin hook "mine": {problem}'):
        build_builtins(imported(source))


def test_one_that_is_off_is_not_looked_at() -> None:
    settings = config.HooksSettings(builtins={"nope": config.BuiltinHookSettings()})

    assert build_builtins(settings) == ()


def test_none_is_built_where_hooks_are_off() -> None:
    settings = config.HooksSettings(enabled=False, builtins={"nope": config.BuiltinHookSettings(enabled=True)})

    assert build_builtins(settings) == ()


def test_settings_that_it_does_not_understand_are_named_with_their_place() -> None:
    with pytest.raises(ConfigError, match=r"hooks\.builtins\.ask_human\.config: .*tool_names"):
        build_builtins(hooks(config={"tool_names": ["x"]}))


def test_its_place_in_the_order_is_configured() -> None:
    [hook] = build_builtins(hooks(priority=7))

    assert hook.order == (0, 7, b"ask_human")
    assert hook.stages == {"approve_tool"}


async def approve(human: FakeHuman | None, call: ToolInvocation, **settings: object) -> ApproverVerdict:
    at = StageContext(facts=FACTS, ask=human)
    return await AskHumanApprover(settings).approve_tool(call, at)


@pytest.mark.parametrize(
    ("name", "permission", "settings", "is_asked"),
    [
        ("read_file", "READ", {}, False),
        ("write_file", "WRITE", {}, True),
        ("unknown", "EXTERNAL", {}, True),
        ("read_file", "READ", {"tools": ["read_*"]}, True),
        ("Read_file", "READ", {"tools": ["read_*"]}, False),
        ("write_file", "WRITE", {"permissions": ["EXTERNAL"]}, False),
        ("write_file", "WRITE", {"permissions": [], "tools": ["write_file"]}, True),
    ],
)
async def test_the_human_is_asked_about_certain_tools_only(
    name: str, permission: str, settings: dict[str, object], is_asked: bool
) -> None:
    human = FakeHuman([Answer(approved=False, by="user")])
    call = ToolInvocation(name=name, arguments={}, permission=permission)  # type: ignore[arg-type]  # one of three

    verdict = await approve(human, call, **settings)

    assert len(human.questions) == is_asked
    assert verdict.approved is not is_asked


async def test_the_question_shows_what_may_be_seen_and_is_keyed_by_what_would_run() -> None:
    human = FakeHuman([Answer(approved=True, by="user", arguments={"key": "edited"})])
    real, shown = {"key": "sk-1", "pass": "a;rm"}, {"key": "[REDACTED]", "pass": "[REDACTED]"}
    call = ToolInvocation(name="send", arguments=real, shown=shown)

    verdict = await approve(human, call, message="Really {tool}?", timeout_s=9.0)

    [question] = human.questions
    assert (question.message, question.timeout_s, question.origin) == ("Really send?", 9.0, "ask_human")
    assert question.arguments == {"key": "[REDACTED]", "pass": "a;rm"}, "what a shell reads is not hidden"
    assert question.real_arguments == real
    assert verdict == ApproverVerdict(approved=True, arguments={"key": "edited"})


async def test_each_way_of_not_approving_has_its_own_words() -> None:
    texts = set()
    for by in ("user", "timeout", "cancelled", "disconnect"):
        verdict = await approve(FakeHuman([Answer(approved=False, by=by)]), ToolInvocation(name="send", arguments={}))
        assert not verdict.approved
        texts.add(verdict.reason)

    assert len(texts) == 4


async def test_where_nobody_can_be_asked_the_answer_is_no() -> None:
    assert not (await approve(None, ToolInvocation(name="send", arguments={}))).approved
