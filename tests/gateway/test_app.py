"""server/app.py: what is built and started around a model that takes its time, or fails."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession

from server import config
from server.app import App, describe
from server.errors import ConfigError, ProviderUnreachable
from server.llm.language_model import ModelInfo
from skills_engine import Signer, SkillsLibrary
from tests.support.client import client
from tests.support.parley import Parley
from tests.support.scripted_model import ScriptedModel, say


class SlowModel(ScriptedModel):
    """Its start waits for `loaded`, and fails while there are `failures`."""

    def __init__(self, *, failures: int = 0) -> None:
        super().__init__([say("Hello.")])
        self.loaded = asyncio.Event()
        self.failures = failures
        self.is_closed = False

    async def start(self) -> None:
        if self.failures:
            self.failures -= 1
            raise ProviderUnreachable("no memory left")
        await self.loaded.wait()

    async def aclose(self) -> None:
        self.is_closed = True


@asynccontextmanager
async def serving(folder: Path, model: ScriptedModel) -> AsyncIterator[Parley]:
    skills = SkillsLibrary(folder, reload="off")
    silent = config.SpeechProviderSettings(provider="none")
    settings = config.Config(
        listen=config.ListenSettings(port=0),
        agent=config.AgentSettings(planning=False),
        speech=config.SpeechSettings(stt=silent, tts=silent),
    )
    app = App(settings, {}, data_dir=folder, model=model, signer=Signer([b"k" * 32]), skills=skills)
    lines: list[str] = []
    async with app.running(lines.append):
        yield Parley(lines[0].removeprefix("listening on "), app, lines)


async def stage_of_model(server: Parley) -> tuple[int, str, str | None]:
    async with ClientSession() as http, http.get(f"{server.url}/readyz") as answer:
        body = await answer.json()
    [stage] = [stage for stage in body["stages"] if stage["name"] == "model"]
    return answer.status, stage["state"], stage["detail"]


async def test_a_chat_waits_for_a_model_that_is_still_loading(tmp_path: Path) -> None:
    model = SlowModel()
    async with serving(tmp_path, model) as server, client(server.ws_url) as me:
        await me.chat()
        await me.until("turn_start")
        assert await me.pong() == []
        assert await stage_of_model(server) == (503, "loading", None)

        model.loaded.set()
        assert (await me.until("turn_end"))["reason"] == "completed"
        assert await stage_of_model(server) == (200, "ready", "scripted")
    assert model.is_closed


async def test_a_model_that_cannot_start_says_why_and_turns_ask_it_all_the_same(tmp_path: Path) -> None:
    model = SlowModel(failures=1)
    async with serving(tmp_path, model) as server, client(server.ws_url) as me:
        assert (await me.turn())[-1]["reason"] == "completed"

        assert await stage_of_model(server) == (503, "failed", "no memory left")


class NamedLater(SlowModel):
    """An endpoint that tells its model's name once it is there."""

    @property
    def info(self) -> ModelInfo:
        return ModelInfo(name="qwen3" if self.loaded.is_set() else "not named", host="127.0.0.1:1", location="local")


async def test_whoever_came_before_the_model_had_its_name_is_told_of_it(tmp_path: Path) -> None:
    model = NamedLater()
    async with serving(tmp_path, model) as server, client(server.ws_url) as me:
        assert me.frames[0]["model"]["name"] == "not named"

        model.loaded.set()

        assert await me.until("model") == {
            "type": "model",
            "name": "qwen3",
            "host": "127.0.0.1:1",
            "location": "local",
            "languages": [],
        }
        async with client(server.ws_url) as other:
            assert other.frames[0]["model"]["name"] == "qwen3"


async def test_threads_give_way_to_the_event_loop_within_a_millisecond(tmp_path: Path) -> None:
    sys.setswitchinterval(0.005)  # the interpreter's own
    async with serving(tmp_path, SlowModel()):
        assert sys.getswitchinterval() <= 0.001


async def test_stopping_while_the_model_loads_leaves_nothing_behind(tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    model = SlowModel()
    async with serving(tmp_path, model) as server, client(server.ws_url) as me:
        await me.chat()
        await me.until("turn_start")

    assert model.is_closed
    left = [task for task in asyncio.all_tasks() - before if "RequestHandler" not in repr(task)]  # of idle sockets
    assert left == []


async def test_a_data_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    settings = config.Config(data=config.DataSettings(dir=tmp_path / "file" / "data"))

    with pytest.raises(ConfigError, match=r"data\.dir"):
        await App.build(settings, {})


async def test_data_stand_where_the_system_wants_them(tmp_path: Path) -> None:
    await App.build(config.Config(), {"XDG_DATA_HOME": str(tmp_path), "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"})

    assert (tmp_path / "parley").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "parley" / "secret").exists()


@pytest.mark.parametrize(
    ("info", "line"),
    [
        (
            ModelInfo(name="gpt", host="api.openai.com", location="cloud", key_source="OPENAI_API_KEY"),
            "model: gpt at api.openai.com (from OPENAI_API_KEY)",
        ),
        (
            ModelInfo(name="SmolLM2-135M-Instruct", host="this machine", location="local"),
            "model: SmolLM2-135M-Instruct at this machine (no key needed)",
        ),
        (ModelInfo(name="m", host="far.example", location="cloud"), "model: m at far.example (no key)"),
    ],
)
def test_the_line_about_the_model_tells_name_place_and_key(info: ModelInfo, line: str) -> None:
    assert describe(info) == line
