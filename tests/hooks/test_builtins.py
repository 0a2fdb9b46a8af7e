"""`hooks.builtins`, and the one that asks a human."""

import pytest

from server import config
from server.approval.asking import Answer
from server.errors import ConfigError
from server.hooks.builtin_hooks import AskHumanApprover, build_builtins
from server.hooks.stages import ApproverVerdict, StageContext
from server.tool_calls import ToolInvocation
from tests.hooks.fakes import FACTS, FakeHuman


def hooks(name: str = "ask_human", **entry: object) -> config.HooksSettings:
    return config.HooksSettings(builtins={name: config.BuiltinHookSettings(enabled=True, **entry)})  # type: ignore[arg-type]  # any entry


def test_a_builtin_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match=r'builtin hook "nope" is not registered; there are: ask_human'):
        build_builtins(hooks("nope"))


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
    return await AskHumanApprover.from_config(settings or None).approve_tool(call, at)


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
    call = ToolInvocation(name="send", arguments={"key": "sk-1"}, shown={"key": "…"})

    verdict = await approve(human, call, message="Really {tool}?", timeout_s=9.0)

    [question] = human.questions
    assert (question.message, question.timeout_s, question.origin) == ("Really send?", 9.0, "ask_human")
    assert (question.arguments, question.real_arguments) == ({"key": "…"}, {"key": "sk-1"})
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
