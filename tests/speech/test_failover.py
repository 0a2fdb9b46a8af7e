"""Speech servers that are away: asked again, and stood in for by others of the list."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from server.config import Secret, SpeechProviderSettings
from server.errors import SpeechBusy, SpeechTimeout, SpeechUnavailable
from server.openai_client import Refused, Unreachable
from server.speech.providers import AGAIN_S, PASSED_OVER_S, EndpointProvider, SpeechEndpointClient, speech_endpoints
from server.speech.stt import recognizer_of
from server.speech.tts import SpeechRequest, synthesizer_of
from tests.support.speech_server import speech_server
from tests.support.virtual_loop import VirtualLoop
from tests.support.waiting import until

SOUND = b"\1\2" * 8000


class Servers(EndpointProvider):
    """Answers with the name of the server that has answered; `failures` has what others do instead."""

    def __init__(self, *names: str, timeout_s: float = 20) -> None:
        settings = SpeechProviderSettings(provider="openai", base_url=[f"http://{name}/v1" for name in names])
        super().__init__(speech_endpoints("speech.stt", settings, {}, model="m"), timeout_s=timeout_s)
        self.failures: dict[str, Exception] = {}
        self.hung: set[str] = set()
        self.asked: list[str] = []

    async def ask(self, *, again_s: float = 0) -> str:
        async def ask_one(server: SpeechEndpointClient) -> str:
            name = server.endpoint.host
            self.asked.append(name)
            if name in self.hung:
                await asyncio.Event().wait()
            if name in self.failures:
                raise self.failures[name]
            return name

        self.asked.clear()
        return await self._ask(ask_one, again_s=again_s)


def on_a_virtual_loop(test: Callable[[asyncio.AbstractEventLoop], Awaitable[None]]) -> None:
    async def run() -> None:
        await test(asyncio.get_running_loop())

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(run())


def test_the_first_server_is_asked_first_and_after_a_failure_last_for_a_while() -> None:
    async def test(_loop: asyncio.AbstractEventLoop) -> None:
        servers = Servers("one", "two")
        servers.failures["one"] = Unreachable("refused")
        assert await servers.ask() == "two"
        assert servers.asked == ["one", "two"]
        assert await servers.ask() == "two"
        assert servers.asked == ["two"]

        servers.failures = {"two": Refused(503, {}, b"")}
        assert await servers.ask() == "one"
        assert servers.asked == ["two", "one"]
        await asyncio.sleep(PASSED_OVER_S)
        assert await servers.ask() == "one"
        assert servers.asked == ["one"]

    on_a_virtual_loop(test)


def test_servers_that_are_all_away_are_asked_again_for_3_s() -> None:
    async def test(loop: asyncio.AbstractEventLoop) -> None:
        servers = Servers("one", "two")
        servers.failures = {"one": Unreachable("refused"), "two": Refused(502, {}, b"")}
        with pytest.raises(SpeechUnavailable, match="two failed"):
            await servers.ask(again_s=AGAIN_S)
        assert loop.time() == pytest.approx(3)
        assert servers.asked == ["one", "two"] * 4

        asking = asyncio.create_task(servers.ask(again_s=AGAIN_S))
        await asyncio.sleep(2.6)
        servers.failures.clear()
        assert await asking == "one"

    on_a_virtual_loop(test)


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (400, {}),
        (401, {}),
        (404, {}),
        (429, {}),
        (500, {}),
        (400, {"Retry-After": "1"}),
        (404, {"retry-after-ms": "9"}),
    ],
)
def test_a_server_that_refuses_is_not_away(status: int, headers: dict[str, str]) -> None:
    async def test(loop: asyncio.AbstractEventLoop) -> None:
        servers = Servers("one", "two")
        servers.failures["one"] = Refused(status, headers, b"")
        with pytest.raises(Exception, match="one"):
            await servers.ask(again_s=AGAIN_S)
        assert (loop.time(), servers.asked) == (0, ["one"])

    on_a_virtual_loop(test)


@pytest.mark.parametrize(("status", "again_s"), [(429, AGAIN_S), (503, AGAIN_S), (429, 0)])
def test_a_server_that_says_when_is_asked_again_then_and_no_earlier(status: int, again_s: float) -> None:
    async def test(loop: asyncio.AbstractEventLoop) -> None:
        servers = Servers("one")
        servers.failures["one"] = Refused(status, {"Retry-After": "2"}, b"")
        asking = asyncio.create_task(servers.ask(again_s=again_s))
        await asyncio.sleep(1.9)
        servers.failures.clear()
        assert await asking == "one"
        assert loop.time() == pytest.approx(2)
        assert servers.asked == ["one", "one"]

    on_a_virtual_loop(test)


def test_a_server_that_wants_to_be_left_alone_for_long_is_not_asked_again_and_others_are() -> None:
    async def test(loop: asyncio.AbstractEventLoop) -> None:
        servers = Servers("one", "two")
        servers.failures = {"one": Refused(429, {"Retry-After": "20"}, b""), "two": Refused(503, {}, b"")}
        asking = asyncio.create_task(servers.ask(again_s=AGAIN_S))
        await asyncio.sleep(1.1)
        del servers.failures["two"]
        assert await asking == "two"
        assert servers.asked == ["one", "two", "two", "two"]

    on_a_virtual_loop(test)


def test_a_server_that_says_when_comes_last_until_then() -> None:
    async def test(_loop: asyncio.AbstractEventLoop) -> None:
        servers = Servers("one", "two")
        servers.failures["one"] = Refused(503, {"Retry-After": "4"}, b"")
        assert await servers.ask() == "two"
        servers.failures.clear()
        assert await servers.ask() == "two"
        await asyncio.sleep(4)
        assert await servers.ask() == "one"

    on_a_virtual_loop(test)


def test_a_server_that_wants_to_be_left_alone_for_too_long_is_overloaded() -> None:
    async def test(loop: asyncio.AbstractEventLoop) -> None:
        servers = Servers("one")
        servers.failures["one"] = Refused(503, {"Retry-After": "4"}, b"")
        with pytest.raises(SpeechBusy, match="one is overloaded"):
            await servers.ask(again_s=AGAIN_S)
        assert (loop.time(), servers.asked) == (0, ["one"])

        with pytest.raises(SpeechBusy, match="one is overloaded and wants no request for another 4 s"):
            await servers.ask(again_s=AGAIN_S)
        servers.failures.clear()
        await asyncio.sleep(1)
        assert await servers.ask() == "one"
        assert (loop.time(), servers.asked) == (4, ["one"])

    on_a_virtual_loop(test)


def test_a_retry_after_of_0_is_no_reason_to_hurry() -> None:
    async def test(loop: asyncio.AbstractEventLoop) -> None:
        servers = Servers("one")
        servers.failures["one"] = Refused(429, {"Retry-After": "0"}, b"")
        with pytest.raises(SpeechBusy):
            await servers.ask(again_s=AGAIN_S)
        assert (loop.time(), servers.asked) == (3, ["one"] * 4)

    on_a_virtual_loop(test)


def test_asking_again_takes_no_longer_than_one_request_may_and_can_be_cancelled() -> None:
    async def test(loop: asyncio.AbstractEventLoop) -> None:
        servers = Servers("one", timeout_s=1)
        servers.failures["one"] = Unreachable("refused")
        with pytest.raises(SpeechUnavailable, match="no answer from one"):
            await servers.ask(again_s=AGAIN_S)
        assert loop.time() == 1

        asking = asyncio.create_task(servers.ask(again_s=AGAIN_S))
        await asyncio.sleep(0.1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert servers.asked == ["one"]

    on_a_virtual_loop(test)


def test_a_server_that_hangs_is_given_up_after_3_s_and_then_left_alone_for_a_while() -> None:
    async def test(loop: asyncio.AbstractEventLoop) -> None:
        servers = Servers("one", "two")
        servers.hung.add("one")
        assert await servers.ask() == "two"
        assert loop.time() == 3
        assert await servers.ask() == "two"
        assert (loop.time(), servers.asked) == (3, ["two"])

    on_a_virtual_loop(test)


def test_the_last_server_that_is_left_has_all_the_time_there_is() -> None:
    async def test(loop: asyncio.AbstractEventLoop) -> None:
        servers = Servers("one", "two")
        servers.hung |= {"one", "two"}
        with pytest.raises(SpeechTimeout, match="two did not answer in time"):
            await servers.ask(again_s=AGAIN_S)
        assert (loop.time(), servers.asked) == (20, ["one", "two"])

    on_a_virtual_loop(test)


@pytest.mark.slow
async def test_no_utterance_is_lost_while_the_speech_server_restarts() -> None:
    async with speech_server(text="Hello.", status=503) as server:
        made = recognizer_of(server.provider(), {})
        recognition = asyncio.create_task(made.recognize(SOUND))
        await until(lambda: bool(server.requests))
        server.status = 200
        assert await recognition == "Hello."
        await made.aclose()


async def test_a_second_server_hears_and_speaks_while_the_first_is_away() -> None:
    async with speech_server() as gone:
        pass
    async with speech_server(text="Hello.") as server:
        settings = SpeechProviderSettings(
            provider="openai", base_url=[gone.base_url, server.base_url], api_key=Secret("sk-secret")
        )
        ears, voice = recognizer_of(settings, {}), synthesizer_of(settings, {})
        assert await ears.recognize(SOUND) == "Hello."
        assert [chunk async for chunk in voice.synthesize(SpeechRequest("Hello."))]
        assert ears.status.name == f"whisper-1 at {gone.base_url[7:-3]}, {server.base_url[7:-3]}"
        await ears.aclose()
        await voice.aclose()


async def test_an_utterance_and_a_sentence_wait_for_a_server_that_is_rate_limiting() -> None:
    async with speech_server(text="Hello.") as server:
        ears, voice = recognizer_of(server.provider(), {}), synthesizer_of(server.provider(), {})
        server.refusals = ["0"]
        assert await ears.recognize(SOUND) == "Hello."
        server.refusals = ["0"]
        assert [chunk async for chunk in voice.synthesize(SpeechRequest("Hello."))]
        assert len(server.requests) == 4
        await ears.aclose()
        await voice.aclose()


async def test_a_second_server_hears_and_speaks_while_the_first_one_hangs() -> None:
    async with speech_server(stalls_after=0) as hung, speech_server(text="Hello.") as server:
        settings = SpeechProviderSettings(
            provider="openai", base_url=[hung.base_url, server.base_url], api_key=Secret("sk-secret"), first_byte_s=0.05
        )
        ears, voice = recognizer_of(settings, {}), synthesizer_of(settings, {})
        assert await ears.recognize(SOUND) == "Hello."
        assert [chunk async for chunk in voice.synthesize(SpeechRequest("Hello."))]
        assert [len(each.requests) for each in (hung, server)] == [2, 2]
        await ears.aclose()
        await voice.aclose()
