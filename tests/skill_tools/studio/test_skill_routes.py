"""skill_tools/studio/skill_routes.py, skill_tools/studio/skill_files.py and edit_history.py"""

import asyncio
import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from skill_tools.authoring.scaffold import new_skill, schema_text
from skill_tools.studio.skill_files import MAX_TEXT_BYTES
from tests.gateway.rest.conftest import Client, Reply
from tests.support.openai_server import OpenAIServer
from tests.support.parley import Parley, parley

CALM = "/api/skills/calm"
HINT = f"{CALM}/file?path=hooks/hint.md"
PAGE = f"{CALM}/file?path=SKILL.md"
NEW = {"If-None-Match": "*"}


def put(client: Client, path: str, text: str, **headers: str) -> Any:
    return client.ask("PUT", path, json={"text": text}, headers=headers)


def names(reply: Reply) -> list[str]:
    return [file["path"] for file in reply.body["files"]]


@pytest.fixture
async def calm(operator: Client, tmp_path: Path) -> Path:
    made = await operator.post("/api/skills", {"name": "calm", "text": "Be calm."})
    assert made.status == 200, made.body
    return tmp_path / "skills" / "calm"


async def test_a_new_skill_is_listed_with_its_files_and_can_be_read(operator: Client, calm: Path) -> None:
    listed = await operator.get("/api/skills")
    shown = await operator.get(CALM)
    read = await operator.get(HINT)

    assert listed.body == {"is_on": True, "skills": [{"name": "calm", "is_writable": True}]}
    assert names(shown) == ["SKILL.md", "hooks/hint.md", "hooks/hooks.json", "tests/hint.yaml"]
    assert shown.body["diagnostics"] == []
    assert read.body["path"] == "hooks/hint.md"
    assert (read.body["text"], read.tag) == ("Be calm.\n", f'"{read.body["etag"]}"')
    again = await operator.post("/api/skills", {"name": "calm"})
    assert (again.status, again.code) == (409, "skill_exists")
    wrong = await operator.post("/api/skills", {"name": "../out"})
    assert (wrong.status, wrong.code) == (400, "skill_invalid")


async def test_a_skill_that_has_not_changed_is_not_sent_again(operator: Client, calm: Path) -> None:
    shown = await operator.get(CALM)
    same = await operator.get(CALM, **{"If-None-Match": shown.tag})
    (calm / "hooks" / "new.md").write_text("New.")
    changed = await operator.get(CALM, **{"If-None-Match": shown.tag})

    assert (same.status, same.tag) == (304, shown.tag)
    assert (changed.status, "hooks/new.md" in str(changed.body["files"])) == (200, True)


async def test_a_write_replaces_the_file_whole_and_brings_the_diagnostics(operator: Client, calm: Path) -> None:
    read = await operator.get(HINT)
    saved = await put(operator, HINT, "Breathe.\n", **{"If-Match": read.tag})

    assert (saved.status, saved.body["skill"]["diagnostics"]) == (200, [])
    assert (calm / "hooks" / "hint.md").read_text() == "Breathe.\n"
    assert sorted(path.name for path in (calm / "hooks").iterdir()) == ["hint.md", "hooks.json"]
    hooks = await operator.get(f"{CALM}/file?path=hooks/hooks.json")
    broken = await put(operator, f"{CALM}/file?path=hooks/hooks.json", '{"hooks": [}', **{"If-Match": hooks.tag})
    [found] = broken.body["skill"]["diagnostics"]
    assert (found["severity"], found["file"]) == ("error", "hooks/hooks.json")
    assert "line 1" in found["message"]


async def test_who_has_read_an_older_text_is_refused_and_told_what_is_there(operator: Client, calm: Path) -> None:
    read = await operator.get(HINT)
    first = await put(operator, HINT, "Mine.", **{"If-Match": read.tag})
    second = await put(operator, HINT, "Yours.", **{"If-Match": read.tag})
    there = await put(operator, HINT, "New.", **NEW)

    assert (second.status, second.code, second.tag) == (412, "version_stale", first.tag)
    assert second.body["error"]["current"] == "Mine."
    assert there.status == 412
    assert (calm / "hooks" / "hint.md").read_text() == "Mine."
    blind = await put(operator, HINT, "Yours.")
    message = "send If-Match with the ETag of what you have read, so that nothing is lost"
    assert (blind.status, blind.body["error"]) == (428, {"code": "version_missing", "message": message})
    assert (await put(operator, HINT, "Yours.", **{"If-Match": "W/" + first.tag})).status == 412
    again = await put(operator, HINT, "Ours.", **{"If-Match": f'"old", {first.tag}'})
    assert (again.status, again.body["path"]) == (200, "hooks/hint.md")
    assert (await put(operator, HINT, "Any.", **{"If-Match": "*"})).status == 200
    absent = await put(operator, f"{CALM}/file?path=hooks/none.md", "x", **{"If-Match": "*"})
    assert (absent.status, "ETag" in absent.headers) == (412, False)


async def test_of_many_who_write_at_once_one_wins(operator: Client, calm: Path) -> None:
    read = await operator.get(HINT)
    answers = await asyncio.gather(*(put(operator, HINT, f"{n}", **{"If-Match": read.tag}) for n in range(6)))

    assert sorted(answer.status for answer in answers) == [200, *[412] * 5]


@pytest.mark.parametrize(
    "path",
    [
        "../calm/SKILL.md",
        "/etc/passwd",
        "hooks/../../out.md",
        "hooks//x.md",
        "hooks/.hidden.md",
        "hooks/a\\b.md",
        "hooks/a%00.md",
        "hooks",
        "scripts/run.py",
        "x.md",
        "hooks/linked/x.md",
        "hooks/link.md",
        "tests/" + "a/" * 9 + "x",
    ],
)
async def test_nothing_but_the_skills_own_texts_can_be_written(
    operator: Client, calm: Path, tmp_path: Path, path: str
) -> None:
    (tmp_path / "outside").mkdir()
    (calm / "hooks" / "linked").symlink_to(tmp_path / "outside")
    (calm / "hooks" / "link.md").symlink_to(tmp_path / "outside" / "x.md")

    refused = await put(operator, f"{CALM}/file?path={path}", "x", **NEW)

    assert (refused.status, refused.code) == (400, "path_invalid"), refused.body
    assert list((tmp_path / "outside").iterdir()) == []
    assert not (tmp_path / "out.md").exists()


async def test_other_files_are_listed_and_read_but_nothing_outside(
    operator: Client, calm: Path, tmp_path: Path
) -> None:
    (calm / "scripts").mkdir()
    (calm / "scripts" / "run.py").write_text("print()")
    (calm / "references").mkdir()
    (calm / "references" / "photo.png").write_bytes(b"\x89PNG\xff")
    (calm / "references" / os.fsdecode(b"\xff.md")).write_text("a name that is not UTF-8")
    (tmp_path / "secret").write_text("secret")
    (calm / "references" / "leak.md").symlink_to(tmp_path / "secret")
    (calm / "tests" / "hint.yaml").unlink()
    (calm / "tests").rmdir()
    (calm / "tests").symlink_to(tmp_path)

    tags = {file["path"]: file["etag"] for file in (await operator.get(CALM)).body["files"]}
    assert (tags["scripts/run.py"], tags["references/photo.png"], tags["references/leak.md"]) == (None, None, None)
    assert not any(path.startswith("tests/") for path in tags)
    assert (await operator.get(f"{CALM}/file?path=scripts/run.py")).body["text"] == "print()"
    for path in ("references/leak.md", "references/photo.png"):
        assert (await operator.get(f"{CALM}/file?path={path}")).status == 422
    assert (await operator.get(f"{CALM}/file?path=hooks/none.md")).status == 404
    assert (await operator.get(f"{CALM}/file?path=../../secret")).status == 400
    for skill in ("..", "%2e%2e", "none", ".git"):
        assert (await operator.get(f"/api/skills/{skill}/zip")).status == 404


async def test_sizes_are_bounded(operator: Client, calm: Path) -> None:
    large = await put(operator, HINT, "x" * (MAX_TEXT_BYTES + 1), **{"If-Match": "*"})

    assert (large.status, large.code) == (413, "file_too_large")


async def test_a_file_is_renamed_and_deleted_and_both_are_undone_and_redone(operator: Client, calm: Path) -> None:
    read = await operator.get(HINT)
    moved = await operator.ask(
        "POST", f"{CALM}/file/name?path=hooks/hint.md", json={"path": "hooks/calm.md"}, headers={"If-Match": read.tag}
    )
    assert names(Reply(200, moved.body["skill"], {})) == [
        "SKILL.md",
        "hooks/calm.md",
        "hooks/hooks.json",
        "tests/hint.yaml",
    ]
    assert (moved.body["path"], moved.body["etag"]) == ("hooks/calm.md", moved.tag.strip('"'))
    taken = await operator.ask(
        "POST", f"{CALM}/file/name?path=hooks/calm.md", json={"path": "SKILL.md"}, headers={"If-Match": moved.tag}
    )
    assert (taken.status, taken.code) == (409, "file_exists")
    gone = await operator.ask("DELETE", f"{CALM}/file?path=hooks/calm.md", headers={"If-Match": moved.tag})
    assert names(gone) == ["SKILL.md", "hooks/hooks.json", "tests/hint.yaml"]
    assert [edit["action"] for edit in gone.body["undo"]] == ["rename", "delete"]

    back = await operator.post(f"{CALM}/undo", {}, tag=gone.tag)
    assert names(back) == ["SKILL.md", "hooks/calm.md", "hooks/hooks.json", "tests/hint.yaml"]
    back = await operator.post(f"{CALM}/undo", {}, tag=back.tag)
    assert names(back) == ["SKILL.md", "hooks/hint.md", "hooks/hooks.json", "tests/hint.yaml"]
    assert (calm / "hooks" / "hint.md").read_text() == "Be calm.\n"
    again = await operator.post(f"{CALM}/redo", {}, tag=back.tag)
    assert names(again) == ["SKILL.md", "hooks/calm.md", "hooks/hooks.json", "tests/hint.yaml"]
    assert (await operator.post(f"{CALM}/undo", {}, tag=back.tag)).status == 412


async def test_the_last_twenty_edits_can_be_undone(operator: Client, calm: Path) -> None:
    for number in range(23):
        await put(operator, HINT, f"Version {number}.", **{"If-Match": "*"})
    undone = [await operator.post(f"{CALM}/undo", {}, tag="*") for _ in range(20)]
    more = await operator.post(f"{CALM}/undo", {}, tag="*")

    assert {reply.status for reply in undone} == {200}
    assert (more.status, more.code) == (409, "nothing_to_undo")
    assert (calm / "hooks" / "hint.md").read_text() == "Version 2."
    assert len(undone[-1].body["redo"]) == 20


async def test_a_change_made_elsewhere_meanwhile_is_not_lost_by_an_undo(operator: Client, calm: Path) -> None:
    saved = await put(operator, HINT, "Mine.", **{"If-Match": "*"})
    (calm / "hooks" / "hint.md").write_text("An editor's.")

    stale = await operator.post(f"{CALM}/undo", {}, tag=f'"{saved.body["skill"]["etag"]}"')
    assert (stale.status, stale.code) == (412, "version_stale")
    await operator.post(f"{CALM}/undo", {}, tag="*")
    assert (calm / "hooks" / "hint.md").read_text() == "Be calm.\n"
    await operator.post(f"{CALM}/redo", {}, tag="*")
    assert (calm / "hooks" / "hint.md").read_text() == "An editor's."


async def test_a_skill_is_renamed_with_its_page_and_its_past_and_deleted_into_the_bin(
    operator: Client, calm: Path, tmp_path: Path
) -> None:
    await put(operator, HINT, "Changed.", **{"If-Match": "*"})
    shown = await operator.get(CALM)
    wrong = await operator.post(f"{CALM}/name", {"name": "Not Good"}, tag=shown.tag)
    shared = await operator.post(f"{CALM}/name", {"name": "shared"}, tag=shown.tag)
    renamed = await operator.post(f"{CALM}/name", {"name": "serene"}, tag=shown.tag)

    assert (shared.status, shared.code) == (400, "name_invalid")
    assert (wrong.status, wrong.code) == (400, "name_invalid")
    assert (renamed.status, renamed.body["diagnostics"]) == (200, [])
    assert "name: serene\n" in (tmp_path / "skills" / "serene" / "SKILL.md").read_text()
    undone = await operator.post("/api/skills/serene/undo", {}, tag=renamed.tag)
    assert (tmp_path / "skills" / "serene" / "hooks" / "hint.md").read_text() == "Be calm.\n"

    stale = await operator.ask("DELETE", "/api/skills/serene", headers={"If-Match": renamed.tag})
    gone = await operator.ask("DELETE", "/api/skills/serene", headers={"If-Match": undone.tag})
    assert (stale.status, gone.status, gone.body) == (412, 200, {"status": "ok"})
    assert list((tmp_path / "skills").iterdir()) == []
    [binned] = (tmp_path / "data" / "skill_bin").iterdir()
    assert (binned / "hooks" / "hint.md").read_text() == "Be calm.\n"
    assert (await operator.get("/api/skills/serene")).status == 404


async def test_a_skill_is_not_renamed_while_skills_lock_cannot_be_read(operator: Client, calm: Path) -> None:
    (calm.parent / "skills.lock").write_text("{broken")
    renamed = await operator.post(f"{CALM}/name", {"name": "serene"}, tag="*")

    assert (renamed.status, renamed.code) == (409, "lock_invalid")


async def test_what_is_no_name_for_a_new_skill_is_refused(operator: Client, calm: Path) -> None:
    refused = await operator.post("/api/skills", {"name": "Not Good"})

    assert (refused.status, refused.code) == (400, "skill_invalid")


async def test_a_skill_is_downloaded_as_a_zip(server: Parley, operator: Client, calm: Path) -> None:

    async with ClientSession() as http, http.get(f"{server.url}{CALM}/zip") as answer:
        data = await answer.read()

    assert answer.headers["Content-Disposition"] == 'attachment; filename="calm.zip"'
    assert (answer.content_type, answer.headers["Cache-Control"]) == ("application/zip", "no-store")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.namelist() == [
            "calm/SKILL.md",
            "calm/hooks/hint.md",
            "calm/hooks/hooks.json",
            "calm/tests/hint.yaml",
        ]


async def test_a_download_has_a_plain_name_and_one_that_cannot_be_made_says_why(
    server: Parley, operator: Client, calm: Path
) -> None:
    odd = calm.rename(calm.with_name("x-1_2.ö (3)"))
    async with ClientSession() as http, http.get(f"{server.url}/api/skills/{odd.name}/zip") as zipped:
        assert zipped.headers["Content-Disposition"] == 'attachment; filename="x-1_2.___3_.zip"'

    os.mkfifo(odd / "pipe")
    refused = await operator.get(f"/api/skills/{odd.name}/zip")
    assert (refused.status, refused.code) == (422, "skill_not_packed")
    assert refused.body["error"]["message"] == "pipe is neither a file nor a folder: put a file there"


async def test_the_schema_of_hooks_is_that_of_the_files(operator: Client) -> None:
    assert (await operator.get("/api/hooks/schema")).body == {"schema": json.loads(schema_text())}


async def test_only_operators_see_and_change_skills(anna: Client, operator: Client, calm: Path) -> None:
    for reply in (
        await anna.get("/api/skills"),
        await anna.get(HINT),
        await put(anna, HINT, "x", **{"If-Match": "*"}),
        await anna.post("/api/skills", {"name": "hers"}),
        await anna.ask("DELETE", CALM, headers={"If-Match": "*"}),
    ):
        assert (reply.status, reply.code) == (403, "operators_only")


async def test_a_form_of_another_site_changes_nothing(operator: Client, calm: Path) -> None:
    form = {"If-Match": "*", "Content-Type": "text/plain"}
    sent = await operator.ask("PUT", HINT, data='{"text": "x"}', headers=form)
    foreign = await put(operator, HINT, "x", **{"If-Match": "*", "Origin": "https://evil.example"})

    assert (sent.status, foreign.status, foreign.code) == (415, 403, "foreign_request")
    assert (calm / "hooks" / "hint.md").read_text() == "Be calm.\n"


async def test_every_change_is_in_the_audit_log(server: Parley, operator: Client, calm: Path) -> None:
    await put(operator, HINT, "ö", **{"If-Match": "*"})
    await operator.post(f"{CALM}/undo", {}, tag="*")
    await operator.post(f"{CALM}/redo", {}, tag="*")
    await put(operator, HINT, "x", **{"If-Match": '"old"'})
    await operator.post(f"{CALM}/file/name?path=hooks/hint.md", {"path": "hooks/new.md"}, tag="*")
    await operator.ask("DELETE", f"{CALM}/file?path=hooks/new.md", headers={"If-Match": "*"})
    await operator.post(f"{CALM}/name", {"name": "serene"}, tag="*")
    await operator.ask("DELETE", "/api/skills/serene", headers={"If-Match": "*"})

    await server.app.storage.audit.flush()
    entries = [row["entry"] for row in (await operator.get("/api/audit?phase=skill")).body["entries"]]
    assert [(entry["message"], entry["outcome"], entry["details"]) for entry in reversed(entries)] == [
        ("skill calm created", "created", {"skill": "calm"}),
        ("skill calm hooks/hint.md written", "written", {"skill": "calm", "path": "hooks/hint.md", "bytes": 2}),
        ("skill calm undone", "undone", {"skill": "calm"}),
        ("skill calm redone", "redone", {"skill": "calm"}),
        (
            "skill calm hooks/hint.md renamed",
            "renamed",
            {"skill": "calm", "path": "hooks/hint.md", "to": "hooks/new.md"},
        ),
        ("skill calm hooks/new.md deleted", "deleted", {"skill": "calm", "path": "hooks/new.md"}),
        ("skill calm renamed", "renamed", {"skill": "calm", "to": "serene"}),
        ("skill serene deleted", "deleted", {"skill": "serene"}),
    ]
    assert entries[0]["user"] == "local"


async def test_skills_of_further_folders_are_read_and_never_written(tmp_path: Path, model: OpenAIServer) -> None:
    new_skill("own", tmp_path / "skills")
    new_skill("foreign", tmp_path / "more")
    new_skill("own", tmp_path / "more", text="Hidden by the first.")
    new_skill("outside", tmp_path / "elsewhere")
    (tmp_path / "skills" / "outside").symlink_to(tmp_path / "elsewhere" / "outside")
    (tmp_path / "skills" / "linked").symlink_to(tmp_path / "more" / "foreign")
    async with parley(tmp_path, model.url, {"skills": {"dirs": [str(tmp_path / "more")]}}) as server:
        operator = Client(server)
        listed = await operator.get("/api/skills")
        answers = [
            await put(operator, f"/api/skills/{name}/file?path=SKILL.md", "x", **{"If-Match": "*"})
            for name in ("foreign", "linked", "outside")
        ]
        deleted = await operator.ask("DELETE", "/api/skills/linked", headers={"If-Match": "*"})
        read = await operator.get("/api/skills/own/file?path=hooks/hint.md")

    assert {skill["name"]: skill["is_writable"] for skill in listed.body["skills"]} == {
        "own": True,
        "foreign": False,
        "linked": False,
    }
    assert [answer.code for answer in (*answers, deleted)] == [
        "skill_read_only",
        "skill_read_only",
        "skill_unknown",
        "skill_read_only",
    ]
    assert "Hidden" not in read.body["text"]
    assert (tmp_path / "more" / "foreign" / "SKILL.md").read_text() != "x"


async def test_where_editing_is_off_skills_are_read_and_not_changed(tmp_path: Path, model: OpenAIServer) -> None:
    (tmp_path / "skills" / "calm").mkdir(parents=True)
    (tmp_path / "skills" / "calm" / "SKILL.md").write_text("---\nname: calm\ndescription: Calm.\n---\nBe calm.\n")
    async with parley(tmp_path, model.url, {"skills": {"edit": False}}) as server:
        operator = Client(server)
        shown = await operator.get(CALM)
        refused = await put(operator, PAGE, "x", **{"If-Match": "*"})
        made = await operator.post("/api/skills", {"name": "other"})

    assert (shown.status, shown.body["is_writable"]) == (200, False)
    assert [(reply.status, reply.code) for reply in (refused, made)] == [(403, "editing_off")] * 2


async def test_what_the_file_system_refuses_is_said(operator: Client, calm: Path) -> None:
    (calm / "references").write_text("a file where a folder belongs")
    refused = await put(operator, f"{CALM}/file?path=references/calm.md", "x", **NEW)

    assert (refused.status, refused.code) == (422, "file_system")
    assert (await operator.get(CALM)).body["undo"] == []


async def test_a_parameter_that_is_missing_is_named_in_the_message(operator: Client, calm: Path) -> None:
    answer = await operator.get(f"/api/skills/{calm.name}/file")

    assert answer.body["error"] == {"code": "query_invalid", "message": "Object missing required field `path`"}
