"""server/hooks/process/host.py: hooks side by side, exchanged under running turns, ended together."""

import asyncio
import logging
import sys
from dataclasses import replace

import pytest

from server.config import HooksSettings, ProcessHookSettings
from server.errors import ConfigError
from server.hooks.process.host import HookHost, Reloaded
from server.hooks.stages import HookCallFailed
from server.subprocesses.child_process import kill_all
from server.subprocesses.supervisor import BackoffPolicy
from tests.hooks.stage import ENVIRON, LIMITS, hosting, leased, leftovers, settings
from tests.support.waiting import LIMIT_S, is_alive, until

ONE_LIFE = replace(LIMITS, backoff=BackoffPolicy(first_wait_s=600, longest_wait_s=600))


def names(host: HookHost) -> list[str]:
    return [hook.name for hook in host.hooks]


async def pid_of(host: HookHost, name: str) -> int:
    [hook] = [hook for hook in host.hooks if hook.name == name]
    return int((await hook.request("x", {}, limit_s=20))["pid"])


def test_a_wrong_entry_keeps_the_host_from_being_built() -> None:
    with pytest.raises(ConfigError, match='configure process hook "x": no hook modes enabled'):
        HookHost(HooksSettings(processes={"x": settings("echo", intercept=[])}), ENVIRON)


async def test_hooks_are_listed_in_the_order_of_asking_and_one_that_fails_keeps_nobody_out() -> None:
    broken = settings("", command=["/no/such/command"], intercept=["approve_tool"])
    async with hosting(limits=ONE_LIFE, b=settings("echo"), a=settings("echo", priority=5), c=broken) as host:
        assert names(host) == ["b", "c", "a"]
        assert [health.state for health in host.health()] == ["up", "down", "up"]
        with pytest.raises(HookCallFailed) as caught:
            await host.hooks[1].request("hook.approve_tool", {}, limit_s=1)
    assert caught.value.kind == "down"
    assert leftovers() == []


async def test_without_hooks_nothing_runs() -> None:
    tasks = asyncio.all_tasks()
    async with hosting(x=settings("echo", enabled=False)) as host:
        assert (names(host), asyncio.all_tasks()) == ([], tasks)
        with leased(host) as hooks:
            assert list(hooks) == []


async def test_a_reload_restarts_only_what_changed() -> None:
    async with hosting(a=settings("echo"), b=settings("echo"), c=settings("echo")) as host:
        before = {name: await pid_of(host, name) for name in "abc"}
        wanted = {"a": settings("echo"), "b": settings("echo", priority=-1), "d": settings("echo")}

        done = await host.reload(HooksSettings(processes=wanted))

        assert done == Reloaded(started=["d"], restarted=["b"], stopped=["c"], unchanged=["a"])
        assert names(host) == ["b", "a", "d"]
        assert await pid_of(host, "a") == before["a"]
        assert await pid_of(host, "b") != before["b"]


async def test_a_turn_finishes_with_the_hooks_it_began_with() -> None:
    async with hosting(x=settings("echo")) as host:
        with leased(host) as first, leased(host) as second:
            assert first == second
            [old] = first
            await host.reload(HooksSettings(processes={"x": settings("echo", priority=1)}))
            pid = int((await old.request("x", {}, limit_s=20))["pid"])
            assert await pid_of(host, "x") != pid
            assert is_alive(pid)
        await until(lambda: not is_alive(pid))
        assert old.is_retired


async def test_an_old_hook_that_dies_under_its_last_turn_is_not_started_again() -> None:
    async with hosting(x=settings("faulty")) as host:
        with leased(host) as [old]:
            await host.reload(HooksSettings())
            with pytest.raises(HookCallFailed):
                await old.request("x", {"fault": "kill -9"}, limit_s=20)
            await until(lambda: old.state == "down")
            assert old.health().retry_in_s is None


async def test_a_reload_with_a_mistake_changes_nothing() -> None:
    async with hosting(x=settings("echo")) as host:
        before = host.hooks
        with pytest.raises(ConfigError):
            await host.reload(HooksSettings(processes={"x": settings("echo", transport="http")}))

        assert host.hooks is before


async def test_an_approver_that_cannot_start_takes_the_place_of_the_old_one_and_is_down() -> None:
    async with hosting(limits=ONE_LIFE, x=settings("echo", intercept=["approve_tool"])) as host:
        broken = settings("", command=["/no/such/command"], intercept=["approve_tool"])
        await host.reload(HooksSettings(processes={"x": broken}))

        assert [(health.state, health.armed) for health in host.health()] == [("down", None)]


async def test_the_old_hook_is_asked_until_the_new_one_has_settled() -> None:
    async with hosting(x=settings("echo", intercept=["approve_tool"])) as host:
        states = []
        reload = asyncio.create_task(
            host.reload(HooksSettings(processes={"x": settings("echo", intercept=["approve_tool"], priority=1)}))
        )
        while not reload.done():
            states += [hook.state for hook in host.hooks]
            await asyncio.sleep(0)

        assert set(states) == {"up"}
        assert [hook.settings.priority for hook in host.hooks] == [1]


async def test_two_reloads_come_one_after_the_other() -> None:
    async with hosting() as host:
        await asyncio.gather(
            host.reload(HooksSettings(processes={"x": settings("echo")})),
            host.reload(HooksSettings(processes={"y": settings("echo")})),
        )
        assert names(host) == ["y"]
    assert leftovers() == []


async def test_a_reload_that_is_given_up_leaves_nothing_of_the_new_hooks() -> None:
    async with hosting() as host:
        reload = asyncio.create_task(
            host.reload(HooksSettings(processes={"x": settings("", command=["sleep", "600"])}))
        )
        await until(lambda: bool(leftovers()))

        reload.cancel()
        await asyncio.wait([reload])

        assert leftovers() == []


async def test_who_waits_for_a_hook_that_a_reload_takes_away_waits_no_longer() -> None:
    host = HookHost(HooksSettings(processes={"x": settings("", command=["sleep", "600"])}), ENVIRON, limits=LIMITS)
    host.start()
    waiting = asyncio.create_task(host.settled())
    await until(lambda: bool(leftovers()))

    await host.reload(HooksSettings())
    await host.aclose()

    await asyncio.wait_for(waiting, LIMIT_S)


async def test_all_hooks_end_together_those_in_use_and_those_on_their_way_out_too() -> None:
    async with hosting(a=settings("echo"), b=settings("faulty")) as host:
        lease = leased(host)
        lease.__enter__()
        await host.reload(HooksSettings(processes={"b": settings("faulty", priority=1)}))
        [hook] = host.hooks
        pids = (await hook.request("x", {"fault": "50 grandchildren"}, limit_s=20))["pids"]
        assert all(map(is_alive, pids))
        await host.aclose()

        assert not any(map(is_alive, pids))
        assert leftovers() == []
        lease.__exit__(None, None, None)


async def test_a_hook_killed_with_its_grandchildren_around_leaves_none_of_them() -> None:
    async with hosting(x=settings("faulty")) as host:
        [hook] = host.hooks
        pids = (await hook.request("x", {"fault": "50 grandchildren"}, limit_s=20))["pids"]
        assert sum(map(is_alive, pids)) == 50
        with pytest.raises(HookCallFailed):
            await hook.request("x", {"fault": "kill -9"}, limit_s=20)
        await until(lambda: hook.health().restarts == 1 and hook.state == "up")

        assert not any(map(is_alive, pids))


async def test_killing_reaches_hooks_that_have_not_answered_yet() -> None:
    """At the start, and those that a reload brings."""
    mute = settings("", command=[sys.executable, "-c", "import time; time.sleep(600)"])
    patient = replace(ONE_LIFE, hello_s=600)
    host = HookHost(HooksSettings(processes={"x": mute}), ENVIRON, limits=patient)
    host.start()
    reloading = asyncio.create_task(host.reload(HooksSettings(processes={"x": mute, "y": mute})))
    try:
        await until(lambda: len(leftovers()) == 2)
        begun = leftovers()

        def are_killed() -> bool:
            kill_all()
            return not any(is_alive(process.pid) for process in begun)

        await until(are_killed)
    finally:
        reloading.cancel()
        await asyncio.gather(reloading, return_exceptions=True)
        await host.aclose()


async def test_a_change_of_state_is_told() -> None:
    told = []
    host = HookHost(
        HooksSettings(processes={"x": settings("echo")}), ENVIRON, limits=LIMITS, on_change=lambda: told.append(1)
    )
    host.start()
    await host.settled()
    ups = len(told)
    await host.aclose()

    assert (ups > 0, len(told) > ups) == (True, True)


async def test_starting_and_ending_are_logged_in_a_line_each(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    hook = ProcessHookSettings(enabled=True, command=["/no/such/command"], intercept=["before_tool"])
    async with hosting(limits=ONE_LIFE, good=settings("echo"), bad=hook):
        pass

    assert any(message.startswith('process hook "good" is up') for message in caplog.messages)
    [down] = [message for message in caplog.messages if '"bad"' in message]
    assert down.startswith('process hook "bad" is down: start process hook "bad": [Errno 2]')
    assert down.count("start process hook") == 1
