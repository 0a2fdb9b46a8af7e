"""The one way by which a tool is run: stages, order, limits, cancellation."""

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from server.config import ToolsSettings as Settings
from server.errors import ToolError
from server.llm.language_model import ToolCall, ToolSpec
from server.tools.executor import ToolExecutor
from server.tools.registry import Run, Tool, ToolRegistry
from server.tools.tool_calls import ToolAnswer, ToolOutcome
from server.tools.tool_run import MAX_ERROR_BYTES, cut_to
from tests.support.waiting import settle

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


def executor_for(run: Run, *, timeout_s: float = 5, max_result_bytes: int = 65_536) -> ToolExecutor:
    """With one tool, `count`."""
    tool = Tool(spec=ToolSpec(name="count", description="counts", parameters=SCHEMA), run=run)
    return ToolExecutor(ToolRegistry([tool]), Settings(timeout_s=timeout_s, max_result_bytes=max_result_bytes))


async def answer(arguments: dict[str, Any]) -> str:
    return f"n is {arguments['n']}"


def call(n: Any, call_id: str = "c1", name: str = "count") -> ToolCall:
    return ToolCall(call_id, name, json.dumps({"n": n}))


async def batch(executor: ToolExecutor, *calls: ToolCall) -> list[ToolOutcome]:
    return [outcome async for outcome in executor.run_batch(calls)]


# --- the stages ---------------------------------------------------------------------------------------------------


async def test_a_call_that_fits_gets_the_tool_s_answer() -> None:
    outcome = await executor_for(answer).run(call(5, "x"))

    assert (outcome.id, outcome.name, outcome.content, outcome.is_error) == ("x", "count", "n is 5", False)
    assert outcome.duration_ms >= 0


@pytest.mark.parametrize(
    ("name", "arguments", "content"),
    [
        ("count", '{"n": ', "the arguments are not JSON (Input data was truncated); call again with a JSON object"),
        ("other", "{}", "there is no tool other; there are: count"),
        ("count", "", "the arguments do not fit count: 'n' is a required property"),
        ("count", "[]", "the arguments do not fit count: [] is not of type 'object'"),
        ("count", '{"n": "five"}', "the arguments do not fit count: n: 'five' is not of type 'integer'"),
        (
            "count",
            '{"n": 1, "m": 2}',
            "the arguments do not fit count: Additional properties are not allowed ('m' was unexpected)",
        ),
    ],
)
async def test_a_call_that_cannot_run_gets_a_text_that_helps_to_mend_it(
    name: str, arguments: str, content: str
) -> None:
    outcome = await executor_for(answer).run(ToolCall("c1", name, arguments))

    assert (outcome.id, outcome.name, outcome.content, outcome.is_error) == ("c1", name, content, True)


async def test_arguments_that_are_no_json_are_told_before_a_tool_that_is_not_there() -> None:
    outcome = await executor_for(answer).run(ToolCall("c1", "other", "{"))

    assert outcome.content.startswith("the arguments are not JSON")


async def test_what_a_tool_refuses_is_the_model_s_to_read() -> None:
    async def refuse(arguments: dict[str, Any]) -> str:
        raise ToolError("not on a Sunday")

    outcome = await executor_for(refuse).run(call(1))

    assert (outcome.content, outcome.is_error) == ("not on a Sunday", True)


async def test_a_tool_that_crashes_tells_the_model_its_kind_of_error_and_the_log_the_rest(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def crash(arguments: dict[str, Any]) -> str:
        raise ValueError("/home/somebody/private")

    outcome = await executor_for(crash).run(call(1))

    assert (outcome.content, outcome.is_error, outcome.error_type) == ("count failed: ValueError", True, "ValueError")
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage() == "tool count failed"
    assert record.exc_info


async def test_a_cancellation_of_the_tool_s_own_is_its_failure_and_not_the_end_of_the_turn() -> None:
    async def leak(arguments: dict[str, Any]) -> str:
        waited_for = asyncio.get_running_loop().create_future()
        waited_for.cancel()
        await waited_for
        return ""

    [outcome] = [outcome async for outcome in executor_for(leak).run_batch([call(1)])]

    assert (outcome.content, outcome.ending) == ("count failed: CancelledError", "failed")


async def test_the_type_of_a_failure_is_that_of_its_cause() -> None:
    async def read(arguments: dict[str, Any]) -> str:
        try:
            return Path("/no/such/file").read_text()
        except OSError as error:
            raise ToolError("there is no such file") from error

    async def refuse(arguments: dict[str, Any]) -> str:
        raise ToolError("not on a Sunday")

    outcomes = [await executor_for(run).run(call(1)) for run in (read, refuse)]
    assert [outcome.error_type for outcome in outcomes] == ["FileNotFoundError", "ToolError"]


async def test_a_tool_that_takes_too_long_is_stopped() -> None:
    stopped = asyncio.Event()

    async def wait(arguments: dict[str, Any]) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        raise AssertionError

    outcome = await executor_for(wait, timeout_s=0.01).run(call(1))

    assert (outcome.content, outcome.is_error) == ("count took longer than 0.01 s and was stopped", True)
    assert outcome.error_type == "TimeoutError"
    assert stopped.is_set()


async def test_a_tool_may_have_a_time_limit_of_its_own() -> None:
    async def hang(arguments: dict[str, Any]) -> str:
        await asyncio.Event().wait()
        return ""

    tool = Tool(spec=ToolSpec(name="count", description="", parameters=SCHEMA), run=hang, timeout_s=0.02)
    outcome = await ToolExecutor(ToolRegistry([tool]), Settings(timeout_s=3600)).run(call(1))

    assert outcome.content == "count took longer than 0.02 s and was stopped"


async def test_a_tool_may_answer_with_an_error_and_with_files_where_there_is_a_store() -> None:
    async def draw(arguments: dict[str, Any]) -> ToolAnswer:
        return ToolAnswer(for_llm="half done", is_error=True, media=("data:,x",))

    outcome = await executor_for(draw).run(call(1))

    assert outcome.content == "half done\n(attachment not available: this server stores no media)"
    assert outcome.is_error
    assert outcome.media == ()


async def test_a_time_limit_inside_the_tool_is_not_the_executor_s() -> None:
    async def give_up(arguments: dict[str, Any]) -> str:
        raise TimeoutError

    outcome = await executor_for(give_up).run(call(1))

    assert outcome.content == "count failed: TimeoutError"


async def test_a_long_answer_is_cut_to_size() -> None:
    async def flood(arguments: dict[str, Any]) -> str:
        return "line\n" * 1000

    outcome = await executor_for(flood, max_result_bytes=256).run(call(1))

    assert outcome.content == "line\n" * 51 + "(truncated, 949 lines left)"
    assert not outcome.is_error


async def test_a_long_refusal_is_cut_to_size() -> None:
    executor = executor_for(answer)

    for misuse in (call("x" * 100_000), call(1, name="y" * 100_000), ToolCall("c1", "count", "{" + "z" * 100_000)):
        outcome = await executor.run(misuse)

        assert outcome.is_error
        assert len(outcome.content) < MAX_ERROR_BYTES + 100


async def test_arguments_nested_deeply_do_no_harm() -> None:
    for depth in (100, 500, 900, 100_000):
        nested = "[" * depth + "]" * depth

        outcome = await executor_for(answer).run(ToolCall("c1", "count", f'{{"n": {nested}}}'))

        assert outcome.is_error


async def test_half_a_surrogate_pair_in_an_answer_can_be_sent() -> None:
    async def odd(arguments: dict[str, Any]) -> str:
        return "bad\udcff.txt"

    outcome = await executor_for(odd).run(call(1))

    assert outcome.content == "bad?.txt"


# --- batches ------------------------------------------------------------------------------------------------------


class Gates:
    """A tool whose calls end when their gate is opened."""

    def __init__(self, count: int) -> None:
        self.gates = [asyncio.Event() for _ in range(count)]
        self.started: list[int] = []
        self.ended: list[int] = []
        self.cancelled: list[int] = []

    async def run(self, arguments: dict[str, Any]) -> str:
        number = arguments["n"]
        self.started.append(number)
        try:
            await self.gates[number].wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)  # unwinding may take its time
            self.cancelled.append(number)
            raise
        self.ended.append(number)
        return f"{number}"


async def test_outcomes_come_in_call_order_whatever_finished_first() -> None:
    tool = Gates(3)
    running = asyncio.create_task(batch(executor_for(tool.run), *(call(n, f"c{n}") for n in range(3))))
    for number in (2, 0, 1):
        await settle()
        tool.gates[number].set()

    outcomes = await running

    assert tool.ended == [2, 0, 1]
    assert [(outcome.id, outcome.content) for outcome in outcomes] == [("c0", "0"), ("c1", "1"), ("c2", "2")]


async def test_an_outcome_is_yielded_as_soon_as_those_before_it_are() -> None:
    tool = Gates(2)
    outcomes = executor_for(tool.run).run_batch([call(0), call(1, "c2")])
    tool.gates[0].set()

    first = await anext(outcomes)

    assert first.content == "0"
    assert tool.started == [0, 1]
    assert tool.ended == [0]
    await outcomes.aclose()


async def test_eight_calls_run_at_once_and_the_next_when_one_has_ended() -> None:
    tool = Gates(10)
    running = asyncio.create_task(batch(executor_for(tool.run), *(call(n, f"c{n}") for n in range(10))))
    await settle()
    assert tool.started == list(range(8))

    tool.gates[5].set()
    await settle()
    assert tool.started == list(range(9))

    for gate in tool.gates:
        gate.set()
    assert [outcome.content for outcome in await running] == [str(n) for n in range(10)]


async def test_of_more_than_32_calls_the_rest_is_refused() -> None:
    outcomes = await batch(executor_for(answer), *(call(n, f"c{n}") for n in range(34)))

    assert [outcome.id for outcome in outcomes] == [f"c{n}" for n in range(34)]
    assert [outcome.is_error for outcome in outcomes] == [False] * 32 + [True] * 2
    assert outcomes[33] == ToolOutcome(
        id="c33",
        name="count",
        content="not run: at most 32 calls are accepted at once",
        is_error=True,
        ending="skipped",
    )


async def test_one_call_that_fails_spoils_no_other() -> None:
    outcomes = await batch(executor_for(answer), call(1), call("x"), call(1, name="other"), call(2))

    assert [outcome.is_error for outcome in outcomes] == [False, True, True, False]


async def test_no_calls_give_no_outcomes() -> None:
    assert await batch(executor_for(answer)) == []


async def test_closing_a_batch_stops_what_still_runs_and_waits_for_it() -> None:
    tool = Gates(12)
    tool.gates[0].set()
    outcomes = executor_for(tool.run).run_batch([call(n, f"c{n}") for n in range(12)])
    await anext(outcomes)

    await outcomes.aclose()

    assert sorted(tool.cancelled) == sorted(set(tool.started) - {0})
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_cancelling_a_batch_stops_its_tools_and_is_not_swallowed() -> None:
    tool = Gates(3)
    running = asyncio.create_task(batch(executor_for(tool.run), *(call(n, f"c{n}") for n in range(3))))
    await settle()

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert sorted(tool.cancelled) == [0, 1, 2]
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_every_task_of_a_batch_has_the_name_of_its_call() -> None:
    tool = Gates(1)
    running = asyncio.create_task(batch(executor_for(tool.run), call(0, "c7")))
    await settle()

    assert "tool count c7" in {task.get_name() for task in asyncio.all_tasks()}
    tool.gates[0].set()
    await running


# --- cut_to -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "max_bytes", "cut"),
    [
        ("", 0, ""),
        ("one\ntwo", 7, "one\ntwo"),
        ("one\ntwo", 6, "one\n(truncated, 1 lines left)"),
        ("one\ntwo\n", 7, "one\n(truncated, 1 lines left)"),
        ("one\ntwo\nthree", 5, "one\n(truncated, 2 lines left)"),
        ("one\ntwo\nthree", 8, "one\ntwo\n(truncated, 1 lines left)"),
        ("\n\n\nx", 2, "\n\n(truncated, 2 lines left)"),
        ("abcdef", 3, "abc\n(truncated, 1 lines left)"),
        ("abcdef\ng\n", 3, "abc\n(truncated, 2 lines left)"),
        ("语语", 5, "语\n(truncated, 1 lines left)"),
        ("语语", 6, "语语"),
        ("\ud800", 1, "?"),
        ("one\ntwo\n(truncated, 5 lines left)", 6, "one\n(truncated, 6 lines left)"),
        (
            "one\ntwo\nthree\n(truncated, 5 lines left; go on with offset 24)",
            8,
            "one\ntwo\n(truncated, 6 lines left; go on with offset 23)",
        ),
    ],
)
def test_a_text_is_cut_behind_a_whole_line_and_says_how_many_are_missing(text: str, max_bytes: int, cut: str) -> None:
    assert cut_to(text, max_bytes) == cut
