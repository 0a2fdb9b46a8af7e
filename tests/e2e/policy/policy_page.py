"""The policy page as a person meets it, and the server's side of it as other programs do."""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from aiohttp import ClientSession
from playwright.async_api import Locator, Page, expect

from tests.support.openai_script import Json
from tests.support.server_process import ServerProcess

AUDIT: Final[Json] = {"type": "audit_log"}
ZONE: Final = {"timezone": "Asia/Tokyo"}

Opened = Callable[..., Awaitable[Page]]
"""Opens a view; of another server than the tests', if a url is given."""


async def store(server: ServerProcess, *documents: Json, scope: str = "user") -> None:
    """One after the other, as another program would."""
    async with ClientSession(server.url, headers={"If-Match": "*"}) as http:
        for document in documents:
            async with http.post("/api/hooks/config", params={"scope": scope}, json=document) as answer:
                assert answer.status == 200, await answer.text()


async def stored(server: ServerProcess, scope: str = "user") -> Any:
    async with ClientSession(server.url) as http, http.get("/api/hooks/config", params={"scope": scope}) as answer:
        return await answer.json()


async def forget(server: ServerProcess) -> None:
    """No document and no remembered approval is left."""
    for scope in ("user", "operator"):
        await store(server, {}, scope=scope)
    async with ClientSession(server.url) as http:
        async with http.get("/api/approvals") as answer:
            remembered = (await answer.json())["approvals"]
        for approval in remembered:
            async with http.delete(f"/api/approvals/{approval['id']}", json={}) as gone:
                assert gone.status == 200, await gone.text()


async def audited(server: ServerProcess, count: int) -> Sequence[Json]:
    """What the audit log holds of tool calls, once it is so much: it is written beside the turn."""
    while True:
        async with ClientSession(server.url) as http, http.get("/api/audit") as answer:
            entries = [entry for entry in (await answer.json())["entries"] if entry["entry"].get("tool")]
        if len(entries) >= count:
            return entries


def editor(tab: Page) -> Locator:
    return tab.get_by_role("textbox", name="Policy document")


async def write(tab: Page, document: Json | str) -> None:
    """Put the text into the editor, once the policy is read."""
    await editor(tab).focus()
    await expect(tab.locator(".cm-focused, textarea:focus")).to_be_visible()
    await tab.keyboard.press("ControlOrMeta+a")
    await tab.keyboard.insert_text(document if isinstance(document, str) else json.dumps(document))


async def written(tab: Page) -> Any:
    """Return the document that stands in the editor."""
    return json.loads(await tab.locator("code-editor").evaluate("(editor) => editor.value"))


async def save(tab: Page) -> None:
    await tab.get_by_role("button", name="Save", exact=True).click()
    await expect(tab.get_by_role("status")).to_contain_text("Saved: version")
