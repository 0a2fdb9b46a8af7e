"""The policy page as a person meets it, and the server's side of it as other programs do."""

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


def stage(tab: Page, name: str) -> Locator:
    return tab.locator(".stage", has=tab.get_by_text(name, exact=True))


def handlers(tab: Page, name: str) -> Locator:
    return stage(tab, name).locator("[data-handler]")


async def types(tab: Page, name: str) -> list[str]:
    fields = stage(tab, name).locator("select[data-name=type]")
    return [str(value) for value in await fields.evaluate_all("fields => fields.map(field => field.value)")]


async def add(tab: Page, name: str, kind: str) -> Locator:
    """Returns the new handler."""
    button = stage(tab, name).get_by_role("button", name="Add a rule")
    await expect(button).to_be_visible()  # the policy is read
    before = await handlers(tab, name).count()
    await button.click()
    await expect(handlers(tab, name)).to_have_count(before + 1)
    await handlers(tab, name).last.locator("select").select_option(kind)
    return handlers(tab, name).last


async def save(tab: Page) -> None:
    await tab.get_by_role("button", name="Save", exact=True).click()
    await expect(tab.get_by_role("status")).to_contain_text("Saved: version")
