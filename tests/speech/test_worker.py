"""A worker process with a fake engine: answers, cancellation, crashes, the end of the server."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from server.errors import SpeechBusy, SpeechTimeout, SpeechUnavailable
from server.speech.worker import DueIn, SpeechWorker, at_once
from server.speech.worker_child import MAX_PAYLOAD_BYTES, PREFIX, WireError, lengths, pack, parse
from server.speech.worker_process import Part
from tests.support.waiting import LIMIT_S, children_of, is_alive, settle, until

pytestmark = pytest.mark.slow  # nearly each starts a worker

FAKE = [sys.executable, "-m", "tests.support.fake_speech_engine"]


@asynccontextmanager
async def worker(*arguments: str, processes: int = 1, max_waiting: int = 64) -> AsyncIterator[SpeechWorker]:
    made = SpeechWorker("the fake", [*FAKE, *arguments], processes=processes, max_waiting=max_waiting)
    made.start()
    try:
        yield made
    finally:
        await made.aclose()


async def answer(
    made: SpeechWorker, payload: bytes = b"", *, timeout_s: float = LIMIT_S, due_in_s: DueIn = at_once, **request: Any
) -> list[Part]:
    async with aclosing(made.request(request, payload, timeout_s=timeout_s, due_in_s=due_in_s)) as parts:
        return [part async for part in parts]


def test_messages_survive_the_way_and_broken_ones_are_refused() -> None:
    message = pack({"op": "x", "text": "世界"}, b"\0\1\2")
    head, payload = lengths(message[: PREFIX.size])

    assert parse(message[PREFIX.size : PREFIX.size + head]) == {"op": "x", "text": "世界"}
    assert message[PREFIX.size + head :] == b"\0\1\2"
    assert payload == 3
    with pytest.raises(WireError):
        pack({}, bytes(MAX_PAYLOAD_BYTES + 1))
    with pytest.raises(WireError):
        lengths(b"\xff" * PREFIX.size)
    with pytest.raises(WireError):
        parse(b"[1]")


async def test_answers_come_in_parts_and_each_to_its_own_request() -> None:
    async with worker() as made:
        first, second = await asyncio.gather(answer(made, parts=3), answer(made, b"mine", parts=2, echo=True))

        assert [header["number"] for header, _ in first] == [0, 1, 2]
        assert [data for _, data in second] == [b"mine"] * 2
        assert made.status.state == "ready"
        assert made.facts["sample_rate"] == 22_050
        assert made.waiting == 0


async def test_large_sounds_pass_both_ways() -> None:
    sound = os.urandom(3_000_000)

    async with worker() as made:
        assert (await answer(made, sound, echo=True))[0][1] == sound


async def test_what_a_library_prints_is_no_message() -> None:
    async with worker() as made:
        assert len(await answer(made, do="print")) == 1
        assert len(await answer(made)) == 1


async def test_a_failing_request_is_an_error_and_the_next_one_works() -> None:
    async with worker() as made:
        with pytest.raises(SpeechUnavailable, match="cannot say that"):
            await answer(made, do="fail")

        assert len(await answer(made)) == 1
        assert made.restarts == 0


async def test_a_cancelled_request_is_not_worked_off() -> None:
    async with worker() as made:
        await answer(made)  # it is ready
        async with aclosing(made.request({"parts": 1000, "do": "wait"}, timeout_s=LIMIT_S)) as parts:
            await anext(parts)

        [(header, _)] = await answer(made)
        assert header["made"] < 1000


async def test_a_request_that_is_cancelled_while_it_waits_is_never_begun(tmp_path: Path) -> None:
    async with worker() as made:
        async with busy(made, tmp_path):
            waiting = [asyncio.create_task(answer(made, parts=100)) for _ in range(5)]
            await until(lambda: made.waiting == 5)
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            assert made.waiting == 0

        [(header, _)] = await answer(made)
        assert header["made"] == 1 + 1 + 1


async def test_a_killed_worker_fails_its_request_and_serves_the_next() -> None:
    async with worker() as made:
        async with aclosing(made.request({"parts": 1000, "do": "wait"}, timeout_s=LIMIT_S)) as parts:
            await anext(parts)
            [process] = children_of(os.getpid(), FAKE[-1])
            process.kill()
            with pytest.raises(SpeechUnavailable, match="crashed"):
                async for _ in parts:
                    pass

        assert len(await answer(made)) == 1
        assert made.restarts == 1


async def test_a_worker_that_hangs_is_a_timeout_and_is_started_again() -> None:
    async with worker() as made:
        await answer(made)
        with pytest.raises(SpeechTimeout, match="did not answer"):
            await answer(made, parts=2, do="hang", timeout_s=0.3)

        assert len(await answer(made)) == 1
        assert made.restarts == 1


async def test_an_engine_that_cannot_be_loaded_is_missing_with_its_reason_and_not_tried_again() -> None:
    async with worker("refuse") as made:
        with pytest.raises(SpeechUnavailable, match="no such engine"):
            await answer(made)

        assert made.status.state == "missing"
        await until(lambda: not children_of(os.getpid(), FAKE[-1]))
        assert made.restarts == 0
        with pytest.raises(SpeechUnavailable, match="no such engine"):
            await answer(made)


async def test_a_worker_that_dies_while_loading_is_started_again() -> None:
    async with worker("crash") as made:
        await until(lambda: made.restarts >= 1)

        assert made.status.state == "loading"


async def test_what_is_due_first_goes_first_and_the_oldest_of_those_that_are_due_together(tmp_path: Path) -> None:
    async with worker() as made:
        async with busy(made, tmp_path):
            dues = [3.0, 1.0, 2.0, 1.0]
            tasks = [asyncio.create_task(answer(made, due_in_s=partial(float, due))) for due in dues]
            await until(lambda: made.waiting == len(dues))

        begun = [header["made"] for [(header, _)] in await asyncio.gather(*tasks)]
        assert [begun.index(each) for each in sorted(begun)] == [1, 3, 2, 0]


async def test_when_it_is_due_is_asked_again_when_the_process_is_free(tmp_path: Path) -> None:
    async with worker() as made:
        async with busy(made, tmp_path):
            first_due = 1.0
            first = asyncio.create_task(answer(made, due_in_s=lambda: first_due))
            second = asyncio.create_task(answer(made, due_in_s=lambda: 2.0))
            await until(lambda: made.waiting == 2)
            first_due = 3.0

        [(a, _)], [(b, _)] = await asyncio.gather(first, second)
        assert a["made"] > b["made"]


async def test_at_the_limit_what_is_due_last_is_refused(tmp_path: Path) -> None:
    async with worker(max_waiting=2) as made:
        async with busy(made, tmp_path):
            soon, later = (asyncio.create_task(answer(made, due_in_s=partial(float, due))) for due in (1.0, 5.0))
            await until(lambda: made.waiting == 2)

            with pytest.raises(SpeechBusy, match="2 requests waiting"):
                await answer(made, due_in_s=lambda: 5.0)
            now = asyncio.create_task(answer(made))
            with pytest.raises(SpeechBusy):
                await later
        assert len(await now) == 1
        assert len(await soon) == 1


async def test_what_is_not_begun_in_time_is_a_timeout_and_the_process_goes_on(tmp_path: Path) -> None:
    async with worker() as made:
        async with busy(made, tmp_path):
            with pytest.raises(SpeechTimeout, match="busy"):
                await answer(made, timeout_s=0.2)

            assert made.waiting == 0
        assert made.restarts == 0


async def test_what_has_become_due_later_is_waited_for(tmp_path: Path) -> None:
    asked: list[float] = []

    def due_in_s() -> float:
        asked.append(60.0 if asked else 0.0)
        return asked[-1]

    async with worker() as made, busy(made, tmp_path):
        task = asyncio.create_task(answer(made, timeout_s=0.2, due_in_s=due_in_s))
        await until(lambda: len(asked) > 2)  # its first limit is over

        assert made.waiting == 1
        task.cancel()


async def test_of_two_processes_one_serves_while_the_other_is_at_work_or_has_died() -> None:
    async with (
        worker(processes=2) as made,
        aclosing(made.request({"parts": 2, "do": "hang"}, timeout_s=LIMIT_S)) as parts,
    ):
        [hanging, _] = await anext(parts)
        [(other, _)] = await answer(made)
        assert other["pid"] != hanging["pid"]

        os.kill(other["pid"], signal.SIGKILL)
        await until(lambda: made.restarts == 1)
        assert made.status.state == "ready"
        [(restarted, _)] = await answer(made)
        assert restarted["pid"] not in (hanging["pid"], other["pid"])


async def test_it_is_told_how_long_a_request_waited_and_how_late_it_was(tmp_path: Path) -> None:
    begun: list[tuple[float, float]] = []
    async with worker() as made:
        made.on_begin = lambda waited_s, late_s: begun.append((waited_s, late_s))
        async with busy(made, tmp_path):
            tasks = [asyncio.create_task(answer(made, due_in_s=partial(float, due))) for due in (60.0, -3.0)]
            await until(lambda: made.waiting == len(tasks))
        await asyncio.gather(*tasks)

    (_, _), (_, late_s), (waited_s, in_time_s) = begun[-3:]
    assert waited_s > 0
    assert (late_s, in_time_s) == (3.0, 0.0)


@asynccontextmanager
async def busy(made: SpeechWorker, folder: Path) -> AsyncIterator[None]:
    """Keep the process at work until the block ends."""
    await answer(made)
    release = folder / "release"
    running = asyncio.create_task(answer(made, until=str(release)))
    await settle()
    try:
        yield
    finally:
        release.touch()
        await running


async def test_changes_of_status_are_told() -> None:
    told: list[str] = []
    made = SpeechWorker("the fake", FAKE, on_change=lambda: told.append(made.status.state))
    made.start()
    await answer(made)
    await made.aclose()

    assert told == ["loading", "ready"]


async def test_closing_ends_the_process_and_fails_what_waits() -> None:
    made = SpeechWorker("the fake", FAKE)
    made.start()
    await answer(made)
    task = asyncio.create_task(answer(made, parts=1000, do="wait"))
    await asyncio.sleep(0)
    [process] = children_of(os.getpid(), FAKE[-1])

    await made.aclose()

    with pytest.raises(SpeechUnavailable):
        await task
    assert not process.is_running()


async def test_closing_kills_a_process_that_was_told_to_end_and_does_not(tmp_path: Path) -> None:
    told = tmp_path / "told"
    deaf = (
        "import os, pathlib, sys, time\n"
        "os.close(1)\n"  # to the server, the end of the process
        "sys.stdin.read()\n"
        f"pathlib.Path({str(told)!r}).touch()\n"
        "time.sleep(3600)\n"
    )
    made = SpeechWorker("the deaf one", [sys.executable, "-c", deaf])
    made.start()
    await until(told.exists)

    await made.aclose()

    assert not children_of(os.getpid(), str(told))


@pytest.mark.parametrize("passes", range(8))
async def test_closing_while_a_process_is_started_leaves_none(passes: int) -> None:
    made = SpeechWorker("the fake", FAKE)
    made.start()
    for _ in range(passes):
        await asyncio.sleep(0)

    await made.aclose()

    assert not children_of(os.getpid(), FAKE[-1])


async def test_a_worker_dies_with_its_server() -> None:
    script = (
        "import asyncio, os, psutil, sys\n"
        "from server.speech.worker import SpeechWorker\n"
        "async def main():\n"
        f"    made = SpeechWorker('the fake', {FAKE!r})\n"
        "    made.start()\n"
        "    async for _ in made.request({}, timeout_s=120): pass\n"
        "    print(psutil.Process().children()[0].pid, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())\n"
    )
    server = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE)
    out, _ = await server.communicate()
    pid = int(out)

    await until(lambda: not is_alive(pid))
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)  # ours, if an earlier test has made this process adopt orphans
