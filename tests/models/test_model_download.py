"""Downloads of models from a server that breaks off, lies, changes its mind or is slow."""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from server.models.model_download import MAX_FAILURES, ModelDownload, Progress
from server.models.model_files import RECOMMENDED, ModelFileError, ModelFolder, find_model, name_of_url
from tests.support.file_server import Fault, FileServer, file_server
from tests.support.gguf_files import entry, header
from tests.support.waiting import until

pytestmark = pytest.mark.asyncio

BODY = header() + bytes(range(256)) * 12_000  # 3 MB
HASH = hashlib.sha256(BODY).hexdigest()
OTHER = header() + bytes(reversed(range(256))) * 12_000


@pytest_asyncio.fixture
async def files() -> AsyncIterator[FileServer]:
    async with file_server(BODY) as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> ModelFolder:
    return ModelFolder(tmp_path / "models")


def download(folder: ModelFolder, files: FileServer, **more: Any) -> ModelDownload:
    return ModelDownload(folder, files.url, pause_s=0, **more)


async def cancelled_at(size: int, folder: ModelFolder, files: FileServer) -> None:
    files.faults = [Fault(cut_after=size, is_silent=True)]
    seen: list[Progress] = []
    task = asyncio.create_task(download(folder, files, on_progress=seen.append).run())
    await until(lambda: bool(seen) and seen[-1].done_bytes == size)
    task.cancel()
    await asyncio.wait([task])


def left(folder: ModelFolder) -> list[str]:
    return sorted(path.name for path in folder.folder.iterdir())


async def test_a_whole_file_is_checked_put_in_place_and_pinned(folder: ModelFolder, files: FileServer) -> None:
    seen: list[Progress] = []
    sha256 = await download(folder, files, on_progress=seen.append, size_bytes=len(BODY)).run()

    assert sha256 == HASH == folder.pin("model")
    assert folder.existing("model").read_bytes() == BODY
    assert left(folder) == ["model.gguf", "model.gguf.sha256"]
    assert (folder.folder / "model.gguf.sha256").read_text() == f"{HASH}  model.gguf\n"
    assert {progress.total_bytes for progress in seen} == {len(BODY)}
    amounts = [progress.done_bytes for progress in seen if progress.stage == "downloading"]
    assert amounts == sorted(amounts)
    assert seen[-1] == Progress(stage="checking", done_bytes=len(BODY), total_bytes=len(BODY))


async def test_what_breaks_off_is_continued(folder: ModelFolder, files: FileServer) -> None:
    files.pause_s, files.faults = 0.001, [Fault(cut_after=1_000_000), Fault(cut_after=900_000)]

    assert await download(folder, files).run() == HASH
    first, second, third = files.requests
    assert ("range" in first, second["if-range"], third["if-range"]) == (False, '"v1"', '"v1"')
    starts = [int(request["range"].removeprefix("bytes=").removesuffix("-")) for request in (second, third)]
    assert 500_000 < starts[0] <= 1_000_000 < starts[1] <= 1_900_000


async def test_a_server_that_is_busy_for_long_is_left_alone(folder: ModelFolder, files: FileServer) -> None:
    busy = Fault(status="429 Too Many Requests", headers=("Retry-After: 300",))
    files.faults = [Fault(cut_after=2_000_000), busy]

    with pytest.raises(ModelFileError, match=r"\(HTTP 429, to be asked again in 300 s\); what has come is kept"):
        await download(folder, files).run()
    assert len(files.requests) == 2
    assert await download(folder, files).run() == HASH
    assert "range" in files.requests[2]


async def test_a_download_that_was_cancelled_is_continued_by_the_next(folder: ModelFolder, files: FileServer) -> None:
    await cancelled_at(2_000_000, folder, files)

    [part] = folder.files()
    assert (part.name, part.size_bytes, part.total_bytes, part.is_complete) == (
        "model.gguf",
        2_000_000,
        len(BODY),
        False,
    )
    assert await download(folder, files).run() == HASH
    assert files.requests[1]["range"] == "bytes=2000000-"


async def test_a_file_that_has_changed_meanwhile_begins_anew(folder: ModelFolder, files: FileServer) -> None:
    await cancelled_at(2_000_000, folder, files)
    files.body, files.tag = OTHER, '"v2"'

    assert await download(folder, files).run() == hashlib.sha256(OTHER).hexdigest()


@pytest.mark.parametrize("tag", ["", 'W/"v1"'])
async def test_without_a_sign_of_the_version_nothing_is_appended(
    folder: ModelFolder, files: FileServer, tag: str
) -> None:
    files.tag, files.faults = tag, [Fault(cut_after=2_000_000)]

    assert await download(folder, files).run() == HASH
    assert ["range" in request for request in files.requests] == [False, False]


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status="206 Partial Content", headers=("Content-Range: bytes 7-99/3072123",)),
        Fault(status="206 Partial Content"),
        Fault(status="416 Range Not Satisfiable"),
        Fault(status="503 Service Unavailable"),
        Fault(ignores_range=True),
    ],
)
async def test_a_wrong_part_is_not_taken(folder: ModelFolder, files: FileServer, fault: Fault) -> None:
    files.faults = [Fault(cut_after=1_500_000), fault]

    assert await download(folder, files).run() == HASH


async def test_more_than_was_announced_is_refused(folder: ModelFolder, files: FileServer) -> None:
    await cancelled_at(1_500_000, folder, files)
    place = f"Content-Range: bytes 1500000-{len(BODY) - 1}/{len(BODY)}"
    files.faults = [Fault(status="206 Partial Content", headers=(place,), body=BODY + BODY, ignores_range=True)]

    with pytest.raises(ModelFileError, match=f"sent more than the {len(BODY)} bytes it had announced"):
        await download(folder, files).run()
    assert await download(folder, files).run() == HASH


async def test_a_file_of_another_size_than_the_recommended_one_is_not_fetched(
    folder: ModelFolder, files: FileServer
) -> None:
    with pytest.raises(ModelFileError, match=f"has a file of {len(BODY)} bytes, not of {len(BODY) + 1}"):
        await download(folder, files, size_bytes=len(BODY) + 1).run()
    assert folder.files() == []


async def test_a_server_that_cannot_be_reached_is_told_at_once_and_nothing_is_said_to_be_kept(
    folder: ModelFolder, files: FileServer
) -> None:
    files.always = Fault(cut_after=0)
    seen: list[Progress] = []

    with pytest.raises(ModelFileError, match=rf"failed {MAX_FAILURES} times in a row \(.+\); nothing has come"):
        await download(folder, files, on_progress=seen.append).run()

    assert len(seen) == MAX_FAILURES - 1
    assert seen[0].done_bytes == 0
    assert "trying again" in seen[0].trouble


async def test_a_server_that_never_sends_all_is_given_up_and_what_came_is_kept(
    folder: ModelFolder, files: FileServer
) -> None:
    files.always = Fault(cut_after=0)
    files.pause_s, files.faults = 0.001, [Fault(cut_after=2_000_000)]

    with pytest.raises(ModelFileError, match=rf"failed {MAX_FAILURES} times in a row \(.+\); what has come is kept"):
        await download(folder, files).run()
    assert len(files.requests) == 1 + MAX_FAILURES
    [part] = folder.files()
    assert 1_500_000 < part.size_bytes <= 2_000_000


async def test_a_silent_server_is_given_up(folder: ModelFolder, files: FileServer) -> None:
    files.always = Fault(cut_after=0, is_silent=True)

    with pytest.raises(ModelFileError, match="sent nothing for too long"):
        await download(folder, files, stall_s=0.05).run()
    assert len(files.requests) == MAX_FAILURES


async def test_a_slow_server_is_waited_for(folder: ModelFolder, files: FileServer) -> None:
    files.pause_s = 0.01

    assert await download(folder, files, stall_s=20).run() == HASH
    assert len(files.requests) == 1


async def test_a_wrong_hash_leaves_nothing(folder: ModelFolder, files: FileServer) -> None:
    with pytest.raises(ModelFileError, match=f"the SHA-256 of model.gguf is {HASH}, not the one given; it was deleted"):
        await download(folder, files, sha256="0" * 64).run()

    assert left(folder) == []


async def test_the_first_download_pins_the_hash_of_later_ones(folder: ModelFolder, files: FileServer) -> None:
    await download(folder, files).run()
    folder.remove("model")
    files.body, changed = OTHER, hashlib.sha256(OTHER).hexdigest()

    with pytest.raises(ModelFileError, match=f"another file than the first time .*`get` with --sha256 {changed}"):
        await download(folder, files).run()
    assert left(folder) == ["model.gguf.sha256"]
    assert await download(folder, files, sha256=changed).run() == changed == folder.pin("model")


async def test_a_file_that_is_there_is_never_overwritten(folder: ModelFolder, files: FileServer) -> None:
    folder.folder.mkdir()
    (folder.folder / "model.gguf").write_text("mine")

    with pytest.raises(ModelFileError, match=r"model\.gguf is there already and is never overwritten; remove it first"):
        await download(folder, files).run()
    assert files.requests == []
    assert (folder.folder / "model.gguf").read_text() == "mine"


async def test_a_file_that_appears_meanwhile_is_not_overwritten_either(folder: ModelFolder, files: FileServer) -> None:
    def put(_: Progress) -> None:
        (folder.folder / "model.gguf").write_text("mine")

    with pytest.raises(ModelFileError, match="never overwritten"):
        await download(folder, files, on_progress=put).run()
    assert (folder.folder / "model.gguf").read_text() == "mine"


async def test_one_file_is_downloaded_once_at_a_time(folder: ModelFolder, files: FileServer) -> None:
    files.faults = [Fault(cut_after=100_000, is_silent=True)]
    first = asyncio.create_task(download(folder, files).run())
    await until(lambda: bool(files.requests))

    with pytest.raises(ModelFileError, match="is being downloaded already"):
        await download(folder, files).run()
    first.cancel()
    await asyncio.wait([first])


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault(status="404 Not Found"), "answered HTTP 404: check the address"),
        (Fault(status="401 Unauthorized"), "answered HTTP 401: it wants a login"),
        (Fault(length=None), "does not say how large the file is"),
        (Fault(headers=("Content-Encoding: gzip",)), "does not say how large the file is"),
        (Fault(body=b"<!doctype html>" + b" " * 3_000_000), "sent no GGUF file, perhaps a page; check the address"),
        (
            Fault(body=header({"general.architecture": "clip"}) + b" " * 3_000_000),
            r"cannot be used and was deleted: model.gguf.part holds no language model \(clip\)",
        ),
        (Fault(body=header()[:60] + entry("x", 1) + b" " * 3_000_000), "cannot be used and was deleted"),
    ],
)
async def test_what_is_no_model_is_refused_and_not_kept(
    folder: ModelFolder, files: FileServer, fault: Fault, message: str
) -> None:
    files.always = fault

    with pytest.raises(ModelFileError, match=message):
        await download(folder, files).run()
    assert folder.files() == []
    assert len(files.requests) == 1


async def test_what_does_not_fit_the_disk_is_not_begun(folder: ModelFolder, files: FileServer) -> None:
    files.always = Fault(length=10**17)

    with pytest.raises(
        ModelFileError, match=r"needs 100000000\.00 GB more, and the disk has .* left; delete something"
    ):
        await download(folder, files).run()


@pytest.mark.parametrize(
    "url",
    [
        "qwen",
        "ftp://host/model.gguf",
        "https://anna:secret@host/model.gguf",
        "https://host/model.bin",
        "https://host/",
        "https://host/..%2F..%2Fmodel.gguf",
        "https://host/.gguf",
        "https://host/model-00001-of-00003.gguf",
        "http://[1/model.gguf",
    ],
)
async def test_an_address_must_name_one_gguf_file(folder: ModelFolder, url: str) -> None:
    with pytest.raises(ModelFileError):
        ModelDownload(folder, url)


@pytest.mark.parametrize("name", ["../secret", "a/b", "", ".hidden", "x\n"])
async def test_names_do_not_leave_the_folder(folder: ModelFolder, name: str) -> None:
    with pytest.raises(ModelFileError, match="not the name of a model"):
        folder.remove(name)


async def test_the_recommended_models_have_names_of_their_own_and_addresses_of_files() -> None:
    assert len({model.name for model in RECOMMENDED}) == len(RECOMMENDED) <= 6
    for model in RECOMMENDED:
        assert re.fullmatch(r"https://huggingface\.co/[\w.-]+/[\w.-]+/resolve/main/[\w.-]+", model.url({}))
        assert name_of_url(model.url({})) == model.name
        assert find_model(model.name) is find_model(model.name.upper().removesuffix(".GGUF")) is model
    assert RECOMMENDED[0].url({"HF_ENDPOINT": "https://mirror.example/"}).startswith("https://mirror.example/Qwen/")
