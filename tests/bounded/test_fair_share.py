"""server/bounded/fair_share.py"""

import asyncio
import threading

import pytest

from server.bounded.fair_share import FairShare, Share, ShareFull, turn_share
from tests.support.waiting import settle, until


class Scene:
    """Work of users that holds its place until it is let go."""

    def __init__(self, share: FairShare) -> None:
        self.share = share
        self.running: list[str] = []
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def begin(self, *names: str) -> None:
        """A name is a user's letter and a number."""
        for name in names:
            self._tasks[name] = asyncio.create_task(self._work(name))
        await settle()

    def cancel(self, name: str) -> None:
        self._tasks[name].cancel()

    async def end(self, name: str) -> None:
        self.cancel(name)
        await settle()

    async def _work(self, name: str) -> None:
        async with self.share.place(Share(name[0], name[1:-1])):
            self.running.append(name)
            try:
                await asyncio.Event().wait()
            finally:
                self.running.remove(name)


async def test_users_who_wait_get_places_in_turns_however_much_they_have() -> None:
    scene = Scene(FairShare(1, per_user=1))
    await scene.begin("a1", "a2", "a3", "a4", "b1", "b2", "c1")

    order = []
    while scene.running:
        order += scene.running
        await scene.end(scene.running[0])

    assert order == ["a1", "a2", "b1", "c1", "a3", "b2", "a4"]


async def test_work_that_is_refused_and_cancelled_at_once_gives_no_place_back() -> None:
    scene = Scene(FairShare(1, per_user=1, max_waiting=2))
    await scene.begin("ua1", "ua2", "ua3")

    task = asyncio.create_task(scene.begin("ub1"))  # takes the room of the key's latest work
    asyncio.get_running_loop().call_soon(asyncio.get_running_loop().call_soon, scene.cancel, "ua3")
    await task

    assert scene.running == ["ua1"]
    await scene.end("ua1")
    assert len(scene.running) == 1


async def test_one_user_leaves_places_to_others() -> None:
    scene = Scene(FairShare(3, per_user=2))
    await scene.begin("a1", "a2", "a3", "b1", "c1")
    assert scene.running == ["a1", "a2", "b1"]

    await scene.end("b1")
    assert scene.running == ["a1", "a2", "c1"]
    await scene.end("c1")
    assert scene.running == ["a1", "a2"], "the place stays free for others"
    await scene.end("a1")
    assert scene.running == ["a2", "a3"]


async def test_who_gives_up_leaves_the_queue() -> None:
    scene = Scene(FairShare(1, per_user=1))
    await scene.begin("a1", "b1", "c1")

    await scene.end("b1")
    await scene.end("a1")

    assert scene.running == ["c1"]


async def test_who_gives_up_as_the_place_comes_hands_it_on() -> None:
    share = FairShare(1, per_user=1)
    scene = Scene(share)
    await scene.begin("a1", "b1", "c1")

    scene._tasks["a1"].cancel()
    await asyncio.sleep(0)  # the place is b1's now, which has not run yet
    await scene.end("b1")

    assert scene.running == ["c1"]


async def test_more_than_may_wait_is_refused_at_once_and_others_are_not() -> None:
    share = FairShare(1, per_user=1, max_waiting=2)
    scene = Scene(share)
    await scene.begin("a1", "a2", "a3")

    with pytest.raises(ShareFull, match="try again in a moment"):
        async with share.place(Share("a")):
            pass
    await scene.begin("b1")
    await scene.end("a1")
    await scene.end("a2")
    assert scene.running == ["b1"]


async def test_work_in_a_thread_gets_its_arguments_and_its_error_comes_back() -> None:
    share = FairShare(1, per_user=1)

    assert await share.in_thread(int, "ff", base=16) == 255
    with pytest.raises(ValueError, match="zz"):
        await share.in_thread(int, "zz")


async def test_a_cancelled_thread_holds_its_place_until_it_has_finished() -> None:
    share = FairShare(1, per_user=1)
    may_end = threading.Event()
    stuck = asyncio.create_task(share.in_thread(may_end.wait))
    await settle()
    stuck.cancel()
    following = asyncio.create_task(share.in_thread(may_end.is_set))
    await settle()
    assert stuck.cancelled()

    may_end.set()

    assert await following


async def test_threads_are_shared_by_the_users_of_turns() -> None:
    share = FairShare(2, per_user=1, name="tool")
    may_end = threading.Event()

    def work(user: str) -> "asyncio.Task[bool]":
        turn_share.set(Share(user))
        return asyncio.create_task(share.in_thread(may_end.wait))

    greedy = [work("greedy") for _ in range(8)]
    await settle()
    turn_share.set(Share("bystander"))
    name = (await share.in_thread(threading.current_thread)).name
    may_end.set()
    await until(lambda: all(task.done() for task in greedy))

    assert name.startswith("tool")


async def test_keys_of_an_account_take_turns_and_get_no_more_places_than_it_has() -> None:
    share = FairShare(2, per_user=1)
    order: list[str] = []

    async def work(account: str, key: str) -> None:
        async with share.place(Share(account, key)):
            order.append(account + key)
            await asyncio.sleep(0)

    await asyncio.gather(*(work("a", key) for key in ("", "k", "k", "k", "l")), work("b", ""))

    assert order == ["a", "b", "ak", "al", "ak", "ak"]


async def test_a_key_with_much_waiting_work_loses_its_latest_for_one_with_little() -> None:
    share = FairShare(1, per_user=1, max_waiting=3)

    async def work(key: str) -> str:
        async with share.place(Share("a", key)):
            await asyncio.sleep(0)
        return key

    done = await asyncio.gather(*(work(key) for key in ("", "k", "k", "k", "k", "l")), return_exceptions=True)

    assert [result if isinstance(result, str) else type(result) for result in done] == [
        *("", "k", "k"),
        *(ShareFull, ShareFull, "l"),
    ]
