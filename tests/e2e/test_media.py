"""Files that hooks give and pictures that the user attaches, in a real browser; and turns that a hook takes back."""

import base64
import struct
import zlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import expect

from tests.e2e.parley_page import ParleyPage
from tests.hooks.serving import scripted
from tests.support.openai_script import Json, calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import Parley, parley

CALL = calls(("current_time", {"timezone": "Asia/Tokyo"}))
SECRET = b"Taken at home"

# An event as the browser makes it of the user's hand, with the picture as its only file.
GIVE = """({ kind, name, bytes }) => {
  const data = new DataTransfer();
  data.items.add(new File([Uint8Array.from(bytes)], name, { type: "image/png" }));
  const init = { bubbles: true, cancelable: true };
  const event = kind === "paste" ? new ClipboardEvent(kind, { ...init, clipboardData: data })
    : new DragEvent(kind, { ...init, dataTransfer: data });
  document.querySelector("#input").dispatchEvent(event);
}"""


def png(width: int, height: int) -> bytes:
    """Red, and with a note of the camera's in it."""
    rows = (b"\0" + b"\xff\0\0" * width) * height
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"tEXt", b"Comment\0" + SECRET),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    ]
    packed = (struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


def url_of(data: bytes, name: str, kind: str = "image/png") -> str:
    return f"data:{kind};name={name};base64,{base64.b64encode(data).decode()}"


def pictures(*messages: Json) -> list[bytes]:
    parts = [part for message in messages if isinstance(message["content"], list) for part in message["content"]]
    return [base64.b64decode(p["image_url"]["url"].partition(",")[2]) for p in parts if p["type"] == "image_url"]


def size_of(data: bytes) -> tuple[int, ...]:
    return struct.unpack(">II", data[16:24])


async def pick(page: ParleyPage, name: str, data: bytes) -> None:
    async with page.tab.expect_file_chooser() as chooser:
        await page.button("Attach a file").click()
    await (await chooser.value).set_files({"name": name, "mimeType": "image/png", "buffer": data})
    await expect(page.button(f"Remove {name}")).to_be_visible()


async def test_an_attached_picture_reaches_the_model_without_what_the_camera_wrote_and_is_kept_with_its_conversation(
    page: ParleyPage, model: OpenAIServer
) -> None:
    model.say("A cat.")
    await pick(page, "cat.png", png(3136, 100))

    await page.ask_and_wait("What is this?")

    [sent] = pictures(*model.requests[0].messages)
    assert size_of(sent) == (1568, 50)
    assert SECRET not in sent
    await expect(page.tab.get_by_role("list", name="Attached pictures")).to_have_count(0)
    picture = page.tab.locator(".said-by-user").get_by_role("img", name="cat.png")
    await expect(picture).to_be_visible()

    await page.choose("Delete")
    await expect(picture).to_have_count(0)
    await page.button("Undo").click()
    await page.tab.reload()
    await expect(picture).to_be_visible()


async def test_pictures_survive_a_reload_and_the_last_two_are_sent_again(page: ParleyPage, model: OpenAIServer) -> None:
    for name in ("one", "two", "three"):
        model.say("I see.")
        await pick(page, f"{name}.png", png(8, 8))
        await page.ask_and_wait(name)
    await page.tab.reload()
    for name in ("one", "two", "three"):
        picture = page.tab.get_by_role("img", name=f"{name}.png")
        await expect(picture).to_be_visible()
        assert await picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 8
    assert "base64" not in str(await page.stored()), "histories are written with every sentence, pictures once"

    model.say("All of them.")
    await page.ask_and_wait("And together?")

    users = [message for message in page.chats[-1]["messages"] if message["role"] == "user"]
    assert [len(pictures(message)) for message in users] == [0, 1, 1, 0]
    assert users[0]["content"] == "one\n\n[image]"


async def test_pictures_can_be_pasted_dropped_and_taken_back_and_what_is_none_is_refused_in_words(
    page: ParleyPage, model: OpenAIServer
) -> None:
    await expect(page.send).to_be_enabled()
    await page.input.fill("My words")
    async with page.tab.expect_file_chooser() as chooser:
        await page.button("Attach a file").click()
    await (await chooser.value).set_files({"name": "a.png", "mimeType": "image/png", "buffer": b"no picture"})
    await expect(page.line("cannot read a.png as a picture")).to_be_visible()
    await expect(page.input).to_have_value("My words")
    await expect(page.send).to_be_enabled()

    for kind in ("paste", "drop"):
        await page.tab.evaluate(GIVE, {"kind": kind, "name": f"{kind}.png", "bytes": list(png(4, 4))})
        await expect(page.button(f"Remove {kind}.png")).to_be_visible()
    await page.button("Remove paste.png").press("Enter")
    await expect(page.input).to_be_focused()

    model.say("I see.")
    await page.ask("Look")
    await expect(page.replies).to_contain_text("I see.")

    assert len(pictures(*model.requests[0].messages)) == 1


Hooked = Callable[[Any], AbstractAsyncContextManager[Parley]]


@pytest.fixture
def hooked(tmp_path: Path, model: OpenAIServer) -> Hooked:
    """A server with one hook, that answers `before_tool` so."""

    def serve(answer: Any) -> AbstractAsyncContextManager[Parley]:
        processes = {"painter": scripted({"before_tool": answer})}
        settings = {"agent": {"planning": False}, "hooks": {"processes": processes, "respond_policy": "any"}}
        return parley(tmp_path, model.url, settings)

    return serve


def giving(*urls: str, **result: Any) -> dict[str, Any]:
    return {"action": "respond", "result": {"for_llm": "Drawn.", "media": list(urls), **result}}


async def test_files_of_a_hook_are_shown_in_their_place_and_after_a_reload(
    hooked: Hooked, new_page: Callable[[str], ParleyPage], model: OpenAIServer
) -> None:
    answer = giving(
        url_of(png(6, 6), "dot.png"), url_of(b"a,b\n", "table.csv", "text/csv"), for_user="Here is a **dot**."
    )
    async with hooked(answer) as server:
        page = new_page(server.url)
        await page.open()
        model.queue(CALL, text("Nice."))
        await page.ask_and_wait("Draw a dot")
        await expect(page.replies).to_contain_text("Here is a dot.")
        picture = page.tab.get_by_role("img", name="Picture: dot.png")
        for _ in range(2):
            await expect(picture).to_be_visible()
            assert await picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 6
            await expect(page.tab.get_by_role("link", name="table.csv (4 bytes)")).to_be_visible()
            await page.tab.reload()

        async with page.tab.expect_download() as download:
            await page.tab.get_by_role("link", name="Download dot.png").click()
        assert (await download.value).suggested_filename == "dot.png"
        model.say("Bye.")
        await page.ask_and_wait("Thanks")
        assert "/media/" not in str(page.chats[-1])

        await page.tab.route("**/media/**", lambda route: route.fulfill(status=404, body="gone"))
        await page.tab.reload()
        await expect(page.replies.first).to_contain_text("dot.png is gone")
        await expect(picture).to_be_hidden()


async def test_a_turn_that_a_hook_takes_back_leaves_only_its_text_and_pictures_in_the_field(
    hooked: Hooked, new_page: Callable[[str], ParleyPage], model: OpenAIServer
) -> None:
    async with hooked({"action": "hard_abort", "reason": "Not here."}) as server:
        page = new_page(server.url)
        await page.open()
        await expect(page.send).to_be_enabled()
        await pick(page, "cat.png", png(4, 4))
        model.queue(CALL)
        await page.ask("Do it")
        await page.idle()

        await expect(page.line("Not here.")).to_be_visible()
        await expect(page.turns).to_have_count(0)
        await expect(page.input).to_have_value("Do it")
        await expect(page.button("Remove cat.png")).to_be_visible()
        assert await page.history() == []


async def test_a_turn_that_a_hook_ends_says_why(
    hooked: Hooked, new_page: Callable[[str], ParleyPage], model: OpenAIServer
) -> None:
    async with hooked({"action": "abort_turn", "reason": "Enough for today."}) as server:
        page = new_page(server.url)
        await page.open()
        model.queue(CALL)
        await page.ask_and_wait("Do it")

        await expect(page.tab.locator(".turn-end")).to_contain_text("Enough for today.")
        assert (await page.texts())[0] == "user: Do it"
