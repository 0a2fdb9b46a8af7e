"""Picking the model of a running server: over REST, with turns under way, and what of it outlives the server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from server import config
from server.app import App
from server.llm.language_model import Finished, Message, TextDelta
from server.models.model_choice import EmbeddedChoice, load_choice
from server.models.model_host import MAX_REPLACED, ModelEvents, ModelHost, PickRefused, create_model
from server.models.model_routes import PATH
from skills_engine import Signer, SkillsLibrary
from tests.support.client import client
from tests.support.openai_script import Answer, Gate, HangBeforeHeaders, HttpError, calls, text
from tests.support.openai_server import OpenAIServer, Request
from tests.support.parley import Parley
from tests.support.scripted_model import ScriptedModel, say

TOKEN = "anna-token-of-more-than-enough-length-0123"


class ClosableModel(ScriptedModel):
    """What answers before anything is picked."""

    is_closed = False

    async def aclose(self) -> None:
        self.is_closed = True


@asynccontextmanager
async def serving(
    folder: Path,
    *,
    model: ScriptedModel | None = None,
    llm: config.LlmSettings | None = None,
    environ: dict[str, str] | None = None,
    security: config.SecuritySettings | None = None,
) -> AsyncIterator[Parley]:
    """Serve with this model in the place of the embedded one; None: with the one that was picked before."""
    llm = llm or config.LlmSettings(discover="off")
    silent = config.SpeechProviderSettings(provider="none")
    settings = config.Config(
        listen=config.ListenSettings(port=0),
        agent=config.AgentSettings(planning=False),
        speech=config.SpeechSettings(stt=silent, tts=silent),
        llm=llm,
        security=security or config.SecuritySettings(),
    )
    choice = load_choice(folder)
    app = App(
        settings,
        environ or {},
        data_dir=folder,
        model=model or create_model(llm, environ or {}, choice),
        choice=choice,
        signer=Signer([b"k" * 32]),
        skills=SkillsLibrary(folder, reload="off"),
    )
    lines: list[str] = []
    async with app.running(lines.append):
        yield Parley(lines[0].removeprefix("listening on "), app, lines)


def answering(words: str, *, knows_tools: bool = True) -> OpenAIServer:
    """A server of two models that calls every tool it is given, or refuses requests with tools."""

    def respond(request: Request) -> Answer:
        if request.tool_names and request.messages[-1]["role"] == "user" and "Use the tool" in request.contents[-1]:
            refusal = HttpError(status=400, body={"error": {"message": "does not support tools"}})
            return calls((request.tool_names[0], {})) if knows_tools else refusal
        return text(words)

    return OpenAIServer(respond=respond, models=[{"id": "big"}, {"id": "small"}])


async def ask(server: Parley, method: str = "GET", body: Any = None, token: str | None = None) -> tuple[int, Any]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with (
        ClientSession(headers=headers) as http,
        http.request(method, f"{server.url}{PATH}", json=body) as answer,
    ):
        return answer.status, await answer.json()


def endpoint(model: OpenAIServer, name: str = "big", **more: Any) -> dict[str, Any]:
    return {"kind": "endpoint", "base_url": model.url, "model": name, **more}


def reply_of(frames: list[dict[str, Any]]) -> str:
    return "".join(frame["delta"] for frame in frames if frame["type"] == "text")


@pytest.mark.parametrize(
    ("path", "key", "answer"),
    [
        ("/v1", "sk-typed", (200, ["big", "small"])),
        ("/v1", "sk-wrong", (422, "provider_auth")),
        ("/none", "sk-typed", (422, "provider_protocol")),
    ],
)
async def test_an_endpoint_lists_its_models_before_one_is_picked_or_says_why_not(
    tmp_path: Path, path: str, key: str, answer: tuple[int, Any]
) -> None:
    async with serving(tmp_path, model=ClosableModel()) as server, answering("Hi.") as other, ClientSession() as http:
        other.api_key = "sk-typed"
        address = {"base_url": other.url.removesuffix("/v1") + path, "api_key": key}

        async with http.post(f"{server.url}{PATH}/names", json=address) as listed:
            body = await listed.json()

    assert (listed.status, body["names"] if listed.status == 200 else body["error"]["code"]) == answer


async def test_a_found_model_is_told_at_the_start_and_listed_and_not_used_unasked(tmp_path: Path) -> None:
    async with answering("Hello.") as found:
        llm = config.LlmSettings(discover_urls=[found.url])
        async with (
            serving(tmp_path, model=ScriptedModel([say("Small.")]), llm=llm) as server,
            client(server.ws_url) as me,
        ):
            assert reply_of(await me.turn()) == "Small."
            status, picker = await ask(server)
            assert len([line for line in server.lines if line.startswith("found: ")]) == 1
    assert (status, picker["decided_by"]) == (200, None)
    listed = [(option["kind"], option["name"], option["is_current"]) for option in picker["options"]]
    assert listed[0] == ("embedded", "SmolLM2-135M-Instruct", True)
    assert listed[-2:] == [("endpoint", "big", False), ("endpoint", "small", False)]
    assert found.requests == []


async def test_model_files_are_listed_and_one_that_cannot_be_loaded_is_not_picked(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "qwen3.gguf").write_bytes(b"no model")
    async with serving(tmp_path, model=ScriptedModel()) as server:
        _, picker = await ask(server)
        assert [(option["kind"], option["name"]) for option in picker["options"]][1:] == [("file", "qwen3.gguf")]
        status, answer = await ask(server, "PUT", {"kind": "file", "name": "qwen3.gguf"})
        assert (status, answer["error"]["code"]) == (422, "provider_unreachable")
        assert (await ask(server, "PUT", {"kind": "file", "name": "../secret"}))[0] == 400


async def test_a_model_that_is_picked_answers_everybody_and_after_a_restart(tmp_path: Path) -> None:
    before = ClosableModel()
    async with answering("I am the big one.") as big:
        async with serving(tmp_path, model=before) as server, client(server.ws_url) as me:
            status, picker = await ask(server, "PUT", endpoint(big, api_key="sk-secret"))

            assert status == 200, picker
            assert await me.until("model") == {
                "type": "model",
                "name": "big",
                "host": big.url.removeprefix("http://").removesuffix("/v1"),
                "location": "local",
                "languages": [],
            }
            assert reply_of(await me.turn()) == "I am the big one."
            [option] = [option for option in picker["options"] if option["is_current"]]
            assert (option["name"], option["has_key"], option["measured"]["calls_tools"]) == ("big", True, True)
            assert option["measured"]["first_token_ms"] > 0
            assert before.is_closed
            assert "sk-secret" not in str([picker, await ask(server)])
        assert (tmp_path / "model.json").stat().st_mode & 0o777 == 0o600
        async with serving(tmp_path) as server, client(server.ws_url) as me:
            assert reply_of(await me.turn()) == "I am the big one."
            assert big.requests[-1].headers["Authorization"] == "Bearer sk-secret"


async def test_a_picked_model_whose_server_is_gone_is_not_shown_as_answering(tmp_path: Path) -> None:
    async with serving(tmp_path, model=ScriptedModel()) as server:
        async with answering("Hello.") as big:
            _, picker = await ask(server, "PUT", endpoint(big))
            assert picker["problem"] == ""
        _, picker = await ask(server)

    assert picker["problem"] == f"no answer from {big.url.removeprefix('http://').removesuffix('/v1')}: is it running?"


async def test_another_model_of_the_same_address_is_picked_with_the_key_that_is_kept(tmp_path: Path) -> None:
    async with (
        answering("Hello.", knows_tools=False) as model,
        answering("Hi.") as other,
        serving(tmp_path, model=ScriptedModel()) as server,
    ):
        await ask(server, "PUT", endpoint(model, api_key="sk-secret"))
        status, picker = await ask(server, "PUT", endpoint(model, "small"))
        assert (status, picker["options"][-1]["measured"]["calls_tools"]) == (200, False)
        assert model.requests[-1].headers["Authorization"] == "Bearer sk-secret"

        await ask(server, "PUT", endpoint(other))
        assert "Authorization" not in other.requests[-1].headers


async def test_a_running_turn_keeps_its_model_which_is_closed_after_it(tmp_path: Path) -> None:
    gate = asyncio.Event()
    before = ClosableModel([[TextDelta("Once "), gate, TextDelta("upon a time."), Finished("stop")]])
    async with answering("New.") as model, serving(tmp_path, model=before) as server, client(server.ws_url) as me:
        await me.chat()
        await me.until("text")
        assert (await ask(server, "PUT", endpoint(model)))[0] == 200
        assert not before.is_closed

        gate.set()
        assert (await me.until("turn_end"))["reason"] == "completed"
        assert reply_of(me.frames) == "Once upon a time."
        assert reply_of(await me.turn()) == "New."
        assert before.is_closed


async def test_a_model_that_fails_its_test_changes_nothing(tmp_path: Path) -> None:
    before = ClosableModel([say("Still me.")])
    async with (
        OpenAIServer(respond=lambda _: HttpError(status=401, body={"error": {"message": "bad key"}})) as refusing,
        serving(tmp_path, model=before) as server,
        client(server.ws_url) as me,
    ):
        status, answer = await ask(server, "PUT", endpoint(refusing, api_key="sk-secret"))
        assert (status, answer["error"]["code"]) == (422, "provider_auth")
        assert "sk-secret" not in str(answer)
        nowhere = {"kind": "endpoint", "base_url": "http://127.0.0.1:1/v1", "model": "m"}
        assert (await ask(server, "PUT", nowhere))[1]["error"]["code"] == "provider_unreachable"

        assert reply_of(await me.turn()) == "Still me."
        assert not before.is_closed
    assert load_choice(tmp_path) is None


@pytest.mark.parametrize(
    ("llm", "environ", "decided_by"),
    [
        ({"base_url": "http://127.0.0.1:1/v1"}, {}, "llm.base_url"),
        ({}, {"OPENAI_API_KEY": "sk-secret"}, "OPENAI_API_KEY"),
    ],
)
async def test_where_something_else_decides_the_picker_only_shows(
    tmp_path: Path, llm: dict[str, Any], environ: dict[str, str], decided_by: str
) -> None:
    llm_settings = config.LlmSettings(discover_urls=["http://127.0.0.1:1"], **llm)
    async with serving(tmp_path, model=ScriptedModel(), llm=llm_settings, environ=environ) as server:
        status, picker = await ask(server)
        assert (status, picker["decided_by"], picker["options"]) == (200, decided_by, [])
        assert picker["model"]["name"] == "scripted"
        status, answer = await ask(server, "PUT", {"kind": "embedded"})
        assert (status, answer["error"]["code"]) == (409, "model_fixed")
        assert decided_by in answer["error"]["message"]


async def test_users_who_are_no_operators_neither_see_nor_pick(tmp_path: Path) -> None:
    security = config.SecuritySettings(tokens=[config.UserToken(user="anna", token=config.Secret(TOKEN))])
    async with serving(tmp_path, model=ScriptedModel(), security=security) as server:
        for method in ("GET", "PUT"):
            status, answer = await ask(server, method, {"kind": "embedded"}, TOKEN)
            assert (status, answer["error"]["code"]) == (403, "operators_only")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"kind": "elsewhere"}, "$.kind"),
        ({"kind": "endpoint", "base_url": "nowhere", "model": "m"}, None),
        ({"kind": "endpoint", "base_url": "http://a/v1", "model": ""}, "$.model"),
        ({"kind": "endpoint", "base_url": "http://a/v1", "model": "m", "api_key": "two\nlines"}, "$.api_key"),
        ({"kind": "endpoint", "base_url": "http://anna:secret@a/v1", "model": "m"}, None),
        ([], None),
    ],
)
async def test_a_wrong_choice_is_refused_with_its_place(tmp_path: Path, body: Any, path: str | None) -> None:
    async with serving(tmp_path, model=ScriptedModel()) as server:
        status, answer = await ask(server, "PUT", body)

    assert (status, answer["error"]["code"], answer["error"].get("path")) == (400, "model_invalid", path)
    assert "secret" not in str(answer)


async def test_a_choice_that_is_nested_too_deep_is_refused(tmp_path: Path) -> None:
    deep = b'{"more": %s%s, "kind": "embedded"}' % (b"[" * 7000, b"]" * 7000)
    async with serving(tmp_path, model=ScriptedModel()) as server, ClientSession() as http:
        sent = http.put(f"{server.url}{PATH}", data=deep, headers={"Content-Type": "application/json"})
        async with sent as answer:
            error = (await answer.json())["error"]

    assert (answer.status, error["code"]) == (400, "model_invalid")
    assert "recursion depth" in error["message"]


async def test_replicas_share_no_choice_so_none_is_picked(tmp_path: Path) -> None:
    unused = ModelEvents(on_state=print, on_info=print, warm_up=_nothing, use=lambda _: asyncio.Event())
    model, llm = ScriptedModel(), config.LlmSettings()
    host = ModelHost(llm, {}, tmp_path, model=model, choice=None, is_replica=True, events=unused)

    with pytest.raises(PickRefused, match=r"storage\.url decides"):
        await host.pick(EmbeddedChoice())


async def _nothing(_model: object) -> list[Message]:
    return []


async def test_one_model_is_tested_at_a_time(tmp_path: Path) -> None:
    gate = Gate()
    async with (
        OpenAIServer(respond=lambda _: text(gate, "Hello.")) as slow,
        answering("Hi.") as other,
        serving(tmp_path, model=ScriptedModel()) as server,
    ):
        first = asyncio.create_task(ask(server, "PUT", endpoint(slow)))
        await slow.request(0)
        status, answer = await ask(server, "PUT", endpoint(other))
        assert (status, answer["error"]["code"]) == (409, "model_busy")

        gate.open()
        assert (await first)[0] == 200


async def test_a_stop_ends_the_test_of_a_model_and_nothing_is_picked(tmp_path: Path) -> None:
    async with OpenAIServer(respond=lambda _: HangBeforeHeaders()) as slow:
        async with serving(tmp_path, model=ScriptedModel()) as server:
            pick = asyncio.create_task(ask(server, "PUT", endpoint(slow)))
            request = await slow.request(0)
        await asyncio.gather(pick, return_exceptions=True)

        await request.ended.wait()
        assert request.closed_early
    assert load_choice(tmp_path) is None


async def test_few_models_are_kept_for_turns_that_still_run(tmp_path: Path) -> None:
    names = [f"m{number}" for number in range(MAX_REPLACED + 1)]

    def respond(request: Request) -> Answer:
        return HangBeforeHeaders() if "hi" in request.contents else text("Hello.")

    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(OpenAIServer(respond=respond))
        server = await stack.enter_async_context(serving(tmp_path, model=ScriptedModel()))
        await ask(server, "PUT", endpoint(model, names[0]))
        users = []
        for name in names[1:]:
            users.append(await stack.enter_async_context(client(server.ws_url)))
            seen = len(model.requests)
            await users[-1].chat()
            await model.request(seen)
            assert (await ask(server, "PUT", endpoint(model, name)))[0] == 200
        status, answer = await ask(server, "PUT", endpoint(model, names[0]))
        assert (status, answer["error"]["code"]) == (409, "model_busy")

        await users[0].send("interrupt")
        await users[0].until("turn_end")
        assert (await ask(server, "PUT", endpoint(model, names[0])))[0] == 200


async def test_a_pick_is_in_the_audit_log_without_its_key(tmp_path: Path) -> None:
    async with answering("Hello.") as model, serving(tmp_path, model=ScriptedModel()) as server:
        await ask(server, "PUT", endpoint(model, api_key="sk-secret"))
        await server.app.storage.audit.flush()
        async with ClientSession() as http, http.get(f"{server.url}/api/audit?phase=model") as answer:
            [record] = (await answer.json())["entries"]
    entry = record["entry"]
    assert entry["outcome"] == "picked"
    assert entry["details"] == endpoint(model)
