"""Fetching a recommended model over REST: begun by an operator only, one at a time, stopped and continued."""

import asyncio
from collections.abc import AsyncIterator, Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import ClientSession

from server import config
from server.models.model_fetcher import FetchableModel, FetchBusy, ModelFetcher
from server.models.model_files import ModelFileError, ModelFolder, RecommendedModel, suggest_model
from tests.gateway.test_picking_models import TOKEN, serving
from tests.support.file_server import Fault, FileServer, file_server
from tests.support.gguf_files import header
from tests.support.parley import Parley
from tests.support.scripted_model import ScriptedModel
from tests.support.waiting import LIMIT_S, until

BODY = header() + b"\0" * 1_000_000
NAME = "Qwen3-0.6B-Q8_0.gguf"
STATED = 639_446_688


@pytest_asyncio.fixture
async def files() -> AsyncIterator[FileServer]:
    async with file_server(BODY) as server:
        yield server


def mirror(files: FileServer) -> dict[str, str]:
    return {"HF_ENDPOINT": files.url.partition("/org")[0]}


async def ask(
    server: Parley, method: str, path: str = "/download", body: Any = None, **headers: str
) -> tuple[int, Any]:
    url = f"{server.url}/api/models{path}"
    async with ClientSession(headers=headers) as http, http.request(method, url, json=body) as answer:
        return answer.status, await answer.json()


async def shown(server: Parley) -> dict[str, Any]:
    _, answer = await ask(server, "GET", "")
    [model] = [model for model in answer["models"] if model["name"] == NAME]
    return dict(model)


async def until_shown(server: Parley, is_so: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    async with asyncio.timeout(LIMIT_S):
        while not is_so(model := await shown(server)):  # noqa: ASYNC110  # a page asks again and again, too
            await asyncio.sleep(0.01)
    return model


async def test_a_download_is_begun_shown_stopped_and_continued(tmp_path: Path, files: FileServer) -> None:
    files.always = Fault(length=STATED, is_silent=True)
    async with serving(tmp_path, model=ScriptedModel(), environ=mirror(files)) as server:
        absent = await shown(server)
        assert (absent["state"], absent["licence"], absent["parameters"]) == ("absent", "Apache-2.0", "0.6 B")
        assert files.requests == [], "nothing begins by itself"

        assert (await ask(server, "POST", body={"name": NAME}))[0] == 200
        model = await until_shown(server, lambda model: model["done_bytes"] >= len(BODY))
        assert (model["state"], model["total_bytes"]) == ("downloading", STATED)
        status, answer = await ask(server, "POST", body={"name": "Qwen3-8B-Q4_K_M"})
        assert (status, answer["error"]["code"]) == (409, "download_busy")

        assert (await ask(server, "DELETE"))[0] == 200
        stopped = await shown(server)
        assert (stopped["state"], stopped["done_bytes"]) == ("partial", len(BODY))

        await ask(server, "POST", body={"name": NAME})
        await until(lambda: len(files.requests) == 2)
        assert files.requests[1]["range"] == f"bytes={len(BODY)}-"
        await server.app.storage.audit.flush()
    assert [path.name for path in (tmp_path / "models").glob("*.gguf")] == []


async def test_what_cannot_be_fetched_is_shown_with_the_reason(tmp_path: Path, files: FileServer) -> None:
    async with serving(tmp_path, model=ScriptedModel(), environ=mirror(files)) as server:
        await ask(server, "POST", body={"name": NAME})
        failed = await until_shown(server, lambda model: model["state"] == "failed")

    assert f"has a file of {len(BODY)} bytes, not of {STATED}: it is another file" in failed["error"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"name": "https://elsewhere.example/model.gguf"}, 422, "model_file"),
        ({"name": 5}, 400, "model_invalid"),
        ({"url": "x"}, 400, "model_invalid"),
    ],
)
async def test_only_recommended_models_are_fetched_over_rest(
    tmp_path: Path, body: dict[str, Any], status: int, code: str
) -> None:
    async with serving(tmp_path, model=ScriptedModel()) as server:
        found, answer = await ask(server, "POST", body=body)

    assert (found, answer["error"]["code"]) == (status, code)


async def test_a_setting_that_decides_the_model_forbids_it(tmp_path: Path, files: FileServer) -> None:
    environ = {**mirror(files), "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    async with serving(tmp_path, model=ScriptedModel(), environ=environ) as server:
        status, answer = await ask(server, "POST", body={"name": NAME})

    assert (status, answer["error"]["code"]) == (409, "model_fixed")
    assert files.requests == []


async def test_only_operators_fetch(tmp_path: Path) -> None:
    security = config.SecuritySettings(tokens=[config.UserToken(user="anna", token=config.Secret(TOKEN))])
    async with serving(tmp_path, model=ScriptedModel(), security=security) as server:
        for method, path in (("GET", ""), ("POST", "/download"), ("DELETE", "/download")):
            status, answer = await ask(server, method, path, {"name": NAME}, Authorization=f"Bearer {TOKEN}")
            assert (status, answer["error"]["code"]) == (403, "operators_only")


def fetcher_of(folder: Path, files: FileServer, body: bytes) -> ModelFetcher:
    """Return a fetcher of one model, whose file the table expects to be `body`."""
    model = RecommendedModel(
        path="a/model.gguf",
        size_bytes=len(body),
        sha256=sha256(body).hexdigest(),
        licence="MIT",
        parameters="1 B",
    )
    return ModelFetcher(ModelFolder(folder), mirror(files), table=[model])


async def until_fetcher(fetcher: ModelFetcher, is_so: Callable[[FetchableModel], bool]) -> FetchableModel:
    async with asyncio.timeout(LIMIT_S):
        while not is_so(model := (await fetcher.models())[0]):  # noqa: ASYNC110  # as above
            await asyncio.sleep(0.01)
    return model


async def test_a_file_of_the_right_size_that_is_another_one_is_not_kept(tmp_path: Path, files: FileServer) -> None:
    fetcher = fetcher_of(tmp_path, files, bytes(len(BODY)))
    fetcher.start("model")
    model = await until_fetcher(fetcher, lambda model: model.state == "failed")

    assert "not the one given; it was deleted" in str(model.error)
    assert [*tmp_path.glob("model.gguf*")] == []


async def test_why_a_download_tries_again_is_shown_while_it_runs(tmp_path: Path, files: FileServer) -> None:
    files.always = Fault(cut_after=0)
    fetcher = fetcher_of(tmp_path, files, BODY)
    fetcher.start("model")
    model = await until_fetcher(fetcher, lambda model: model.error is not None)

    assert (model.state, model.done_bytes) == ("downloading", 0)
    assert "trying again" in str(model.error)
    await fetcher.stop()


@pytest.mark.parametrize(
    ("free_gb", "name"),
    [(3, None), (5, "Qwen3-0.6B-Q8_0.gguf"), (13, "granite-4.0-micro-Q4_K_M.gguf"), (40, "Qwen3-8B-Q4_K_M.gguf")],
)
def test_the_largest_model_that_fits_the_memory_is_suggested(free_gb: float, name: str | None) -> None:
    assert suggest_model(int(free_gb * 1e9)) == name


async def test_a_whole_download_ends_complete(tmp_path: Path, files: FileServer) -> None:
    fetcher = fetcher_of(tmp_path, files, BODY)
    fetcher.start("model")
    with pytest.raises(FetchBusy, match=r"model\.gguf is being downloaded; stop it first"):
        fetcher.start("model")
    await until((tmp_path / "model.gguf.sha256").exists)

    assert (await fetcher.models())[0] == FetchableModel(
        name="model.gguf",
        parameters="1 B",
        licence="MIT",
        url=f"{mirror(files)['HF_ENDPOINT']}/a/model.gguf",
        state="complete",
        done_bytes=len(BODY),
        total_bytes=len(BODY),
    )
    with pytest.raises(ModelFileError, match="only a recommended model"):
        fetcher.start("../model")
    await fetcher.stop()
