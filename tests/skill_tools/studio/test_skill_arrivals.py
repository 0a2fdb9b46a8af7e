"""skill_tools/studio/skill_arrivals.py, and the bin: skills that come in, and that come back."""

import asyncio
import io
import json
import shutil
import zipfile
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from skill_tools.authoring.scaffold import new_skill
from skill_tools.sharing.bundle import pack_skill
from tests.gateway.rest.conftest import TOKENS, Client
from tests.support.openai_server import OpenAIServer
from tests.support.parley import Parley, parley
from tests.support.waiting import LIMIT_S

ARRIVALS = "/api/skill_arrivals"
BIN = "/api/skill_bin"


@pytest.fixture
def calm(tmp_path: Path) -> Path:
    """To be named before the server, which reads the skills when it starts."""
    return new_skill("calm", tmp_path / "skills", text="Be calm.")


@pytest.fixture
def pirate(tmp_path: Path) -> dict[str, str]:
    folder = new_skill("pirate", tmp_path / "elsewhere", text="Talk like a pirate.")
    (folder / ".hidden").write_text("x")
    return {"source": "pirate.zip", "data": b64encode(pack_skill(folder)).decode()}


async def test_a_zip_is_shown_first_and_added_as_it_was_shown(
    calm: Path, operator: Client, server: Parley, pirate: dict[str, str]
) -> None:
    shown = await operator.post(ARRIVALS, pirate)
    assert (shown.status, shown.body["names"], shown.body["is_added"]) == (200, ["pirate"], False), shown.body
    for part in ("hooks/hint.md", "hint: after_user_input", "| Talk like a pirate.", "tests: 1, failed: 0"):
        assert part in shown.body["text"]
    assert not (calm.parent / "pirate").exists()

    stale = await operator.post(ARRIVALS, {**pirate, "digest": "0"})
    assert (stale.status, stale.code) == (412, "version_stale")
    added = await operator.post(ARRIVALS, {**pirate, "digest": shown.body["digest"]})
    assert added.body["is_added"] is True
    assert (calm.parent / "pirate" / "hooks" / "hint.md").read_text() == "Talk like a pirate.\n"
    again = await operator.post(ARRIVALS, pirate)
    assert (again.status, again.code) == (400, "source_invalid")
    assert "exists already" in again.body["error"]["message"]
    await server.app.storage.audit.flush()
    [row] = (await operator.get("/api/audit?phase=skill")).body["entries"]
    assert (row["entry"]["outcome"], row["entry"]["details"]) == ("added", {"skill": "pirate", "source": "pirate.zip"})


async def test_a_lorebook_becomes_a_skill_and_what_differs_is_told(calm: Path, operator: Client) -> None:
    book = {
        "entries": {"0": {"key": ["dragon"], "content": "Dragons sleep.", "probability": 50, "useProbability": True}}
    }
    body = {"source": "My World.json", "data": b64encode(json.dumps(book).encode()).decode()}
    shown = await operator.post(ARRIVALS, body)
    assert shown.body["names"] == ["my-world"], shown.body
    assert "| Dragons sleep." in shown.body["text"]
    await operator.post(ARRIVALS, {**body, "digest": shown.body["digest"]})
    assert "dragon" in (calm.parent / "my-world" / "hooks" / "hooks.json").read_text()


BAD: list[tuple[dict[str, Any], str]] = [
    ({"source": "/etc"}, "expected a file, or a git URL"),
    ({"source": "../skills/calm"}, "expected a file, or a git URL"),
    ({"source": "file:///etc"}, "expected a file, or a git URL"),
    ({"source": "http://example.org/x.git"}, "expected a file, or a git URL"),
    ({"source": "x.zip", "data": "no base64!"}, "base64"),
    ({"source": "x.zip", "data": b64encode(b"PK\x03\x04 but no zip").decode()}, "x.zip"),
    ({"source": "x.json", "data": b64encode(b"[1]").decode()}, "no lorebook"),
]


@pytest.mark.parametrize(("body", "message"), BAD)
async def test_what_is_no_skill_is_refused(calm: Path, operator: Client, body: dict[str, Any], message: str) -> None:
    refused = await operator.post(ARRIVALS, body)

    assert (refused.status, refused.code) == (400, "source_invalid")
    assert message in refused.body["error"]["message"]
    assert "/tmp" not in refused.body["error"]["message"]
    assert [path.name for path in calm.parent.iterdir() if not path.name.startswith(".")] == ["calm"]


def zipped(name: str, *further: str) -> str:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(f"{name}/SKILL.md", f"---\nname: {name}\ndescription: A skill.\n---\nx\n")
        for path in further:
            archive.writestr(f"{name}/{path}", "x")
    return b64encode(packed.getvalue()).decode()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (zipped("shared"), "'shared' is no name for a skill"),
        (zipped("new", "scripts/a\u202egpj.py"), "'scripts/a\\u202egpj.py' is no name that a file of a skill may have"),
        (zipped("calm"), "calm exists already"),
    ],
)
async def test_a_name_that_no_skill_may_have_is_refused_without_a_path_of_the_server(
    calm: Path, operator: Client, data: str, message: str
) -> None:
    refused = await operator.post(ARRIVALS, {"source": "x.zip", "data": data})

    assert (refused.status, refused.code) == (400, "source_invalid")
    assert refused.body["error"]["message"].startswith(message)
    assert str(calm.parent) not in refused.body["error"]["message"]


async def test_a_source_that_hangs_stops_only_its_user_and_ends_when_the_client_leaves(
    tmp_path: Path, model: OpenAIServer, pirate: dict[str, str]
) -> None:
    asked, gone = asyncio.Event(), asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        while await reader.read(4096):
            pass
        gone.set()
        writer.close()

    tokens = [{"user": user, "token": token, "operator": True} for user, token in TOKENS.items()]
    async with (
        await asyncio.start_server(hang, "127.0.0.1", 0) as silent,
        parley(tmp_path, model.url, {"security": {"tokens": tokens}}) as server,
    ):
        port = silent.sockets[0].getsockname()[1]
        source = {"source": f"https://127.0.0.1:{port}/x.git"}
        anna, bert = Client(server, "anna"), Client(server, "bert")
        hanging = asyncio.create_task(anna.post(ARRIVALS, source))
        await asyncio.wait_for(asked.wait(), LIMIT_S)
        second, other = await anna.post(ARRIVALS, pirate), await bert.post(ARRIVALS, pirate)
        hanging.cancel()
        await asyncio.wait_for(gone.wait(), LIMIT_S / 2)  # git alone would give up after LIMIT_S

    assert (second.status, second.code, second.headers["Retry-After"]) == (429, "arrivals_busy", "5")
    assert (other.status, other.body["names"]) == (200, ["pirate"])


async def test_the_bin_gives_a_deleted_skill_back(calm: Path, operator: Client) -> None:
    before = {path.relative_to(calm): path.read_text() for path in calm.rglob("*") if path.is_file()}
    await operator.ask("DELETE", "/api/skills/calm", headers={"If-Match": "*"})
    [binned] = (await operator.get(BIN)).body["skills"]
    assert binned["name"] == "calm"
    assert not calm.exists()

    back = await operator.post(BIN, {"entry": binned["entry"]})
    assert (back.status, back.body["name"]) == (200, "calm"), back.body
    assert {path.relative_to(calm): path.read_text() for path in calm.rglob("*") if path.is_file()} == before
    assert (await operator.get(BIN)).body["skills"] == []
    gone = await operator.post(BIN, {"entry": "../../skills/calm"})
    assert (gone.status, gone.code) == (404, "skill_unknown")


async def test_a_skill_that_is_there_is_not_replaced_from_the_bin(calm: Path, operator: Client) -> None:
    shutil.copytree(calm, calm.parent / "kept")
    await operator.ask("DELETE", "/api/skills/calm", headers={"If-Match": "*"})
    (calm.parent / "kept").rename(calm)
    [binned] = (await operator.get(BIN)).body["skills"]
    refused = await operator.post(BIN, {"entry": binned["entry"]})

    assert (refused.status, refused.code) == (409, "skill_exists")
    assert len((await operator.get(BIN)).body["skills"]) == 1


async def test_only_operators_add_and_restore(calm: Path, anna: Client) -> None:
    assert (await anna.post(ARRIVALS, {"source": "x"})).status == 403
    assert (await anna.get(BIN)).status == 403
