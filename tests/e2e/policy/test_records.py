"""The audit log and the remembered approvals, as users meet them in a real browser."""

import csv
import json
import re
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path

import pytest_asyncio
from playwright.async_api import expect

from tests.e2e.parley_page import ParleyPage
from tests.e2e.policy.conftest import SETTINGS
from tests.e2e.policy.policy_page import AUDIT, ZONE, Opened, audited, store
from tests.support.openai_script import calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ServerProcess, endpoint

HOSTILE = '<img src=x onerror="window.pwned=1"><script>window.pwned=2</script><b>&amp;"\''


@pytest_asyncio.fixture(loop_scope="session")
async def fresh(tmp_path: Path, model: OpenAIServer) -> AsyncIterator[ServerProcess]:
    """With an audit log of its own."""
    async with ServerProcess(tmp_path, environ=endpoint(model.url), settings=SETTINGS) as server:
        yield server


async def fill_audit(server: ServerProcess, page: ParleyPage, model: OpenAIServer) -> None:
    await store(server, {"pre_tool_use": [AUDIT], "post_tool_use": [AUDIT], "tool_error": [AUDIT]})
    model.queue(calls(("current_time", {"timezone": HOSTILE})), calls(("current_time", ZONE)), text("Done."))
    await page.ask_and_wait("What time is it?")
    await audited(server, 4)


async def test_the_audit_log_is_filtered_opened_and_exported(
    opened: Opened,
    new_page: Callable[[str], ParleyPage],
    fresh: ServerProcess,
    model: OpenAIServer,
    tmp_path: Path,
) -> None:
    page = new_page(fresh.url)
    await page.open()
    await fill_audit(fresh, page, model)
    tab = await opened("audit", fresh.url)
    rows = tab.locator("tr:has(> td[data-label])")
    await expect(rows.filter(has_text="policy")).to_have_count(1)

    await tab.get_by_label("Tool", exact=True).fill("current_*")
    await tab.get_by_role("combobox", name="Event").select_option("post_tool_use")
    await tab.get_by_label("Text", exact=True).fill("tokyo")
    await tab.keyboard.press("Enter")
    await expect(rows).to_have_count(1)
    await expect(tab.get_by_role("log")).to_contain_text("1 entry, newest first.")
    await expect(tab.get_by_role("columnheader", name="Time")).to_have_attribute("aria-sort", "descending")
    await rows.get_by_role("button", name="More: post_tool_use current_time").click()
    await expect(tab.locator(".details")).to_contain_text("Asia/Tokyo")
    await expect(tab.locator(".details")).to_contain_text(re.compile("hash[0-9a-f]{64}"))

    for name, suffix in (("JSON Lines", "jsonl"), ("CSV", "csv")):
        async with tab.expect_download() as download:
            await tab.get_by_role("button", name=f"Export as {name}").click()
        file = tmp_path / suffix
        await (await download.value).save_as(file)
        assert (await download.value).suggested_filename.endswith(suffix)
        read = file.read_text()
        tools = (
            [json.loads(line)["entry"]["tool"] for line in read.splitlines()]
            if suffix == "jsonl"
            else [row["tool"] for row in csv.DictReader(read.splitlines())]
        )
        assert tools == ["current_time"]

    await tab.get_by_role("button", name="Clear").click()
    await expect(tab.get_by_label("Tool", exact=True)).to_have_value("")
    await expect(rows.filter(has_text="policy")).to_have_count(1)
    for button in await rows.get_by_role("button").all():
        await button.click()
    await expect(tab.locator(".details", has_text=HOSTILE).first).to_be_visible()
    assert await tab.locator("img, #policy script, #policy b").count() == 0
    assert await tab.evaluate("window.pwned") is None


async def test_the_filter_of_the_audit_log_stands_in_the_address(opened: Opened, fresh: ServerProcess) -> None:
    await store(fresh, {"tool_skip": [AUDIT]})
    tab = await opened("audit", fresh.url)
    rows = tab.locator("tr:has(> td[data-label])")
    await expect(rows).to_have_count(1)

    await tab.get_by_label("Tool", exact=True).fill("send")
    await tab.get_by_role("combobox", name="Event").select_option("approval")
    await tab.get_by_label("From", exact=True).fill("2026-11-22T10:00")
    await tab.keyboard.press("Enter")
    await expect(rows).to_have_count(0)
    await tab.reload()
    await expect(tab.get_by_text("No entries match. Clear a filter")).to_be_visible()
    await expect(tab.get_by_label("Tool", exact=True)).to_have_value("send")
    await expect(tab.get_by_role("combobox", name="Event")).to_have_value("approval")
    await expect(tab.get_by_label("From", exact=True)).to_have_value("2026-11-22T10:00")

    await tab.go_back()
    await expect(rows).to_have_count(1)
    await expect(tab.get_by_label("Tool", exact=True)).to_have_value("")
    await tab.go_forward()
    await expect(rows).to_have_count(0)
    await tab.get_by_role("link", name="Audit log").click()
    await expect(rows).to_have_count(1)
    await expect(tab.get_by_label("Tool", exact=True)).to_have_value("")


async def test_an_operator_sees_whether_the_log_is_what_was_written(opened: Opened, fresh: ServerProcess) -> None:
    await store(fresh, *[{"tool_skip": [AUDIT]}] * 3)
    tab = await opened("audit", fresh.url)
    section = tab.get_by_role("region", name="Verification")
    await section.get_by_role("button", name="Verify integrity").click()
    await expect(section).to_contain_text("3 entries of 1 day: unchanged.")

    with closing(sqlite3.connect(fresh.folder / "data" / "parley.db")) as database, database:
        database.execute("UPDATE parley_audit SET body = replace(body, 'version 2', 'version 9')")
    await section.get_by_role("button", name="Verify integrity").click()

    await expect(section).to_contain_text("changed in 1 place.")
    await expect(section.get_by_role("listitem").first).to_contain_text("2")


async def test_older_entries_come_a_page_at_a_time(opened: Opened, fresh: ServerProcess) -> None:
    await store(fresh, *[{"tool_skip": [AUDIT]}] * 55)
    tab = await opened("audit", fresh.url)
    rows = tab.locator("tr:has(> td[data-label])")
    await expect(rows).to_have_count(50)
    await tab.get_by_role("button", name="Show older entries").click()

    await expect(rows).to_have_count(55)
    await expect(tab.get_by_role("button", name="Show older entries")).to_have_count(0)
    await expect(rows.nth(50).get_by_role("button")).to_be_focused()


async def test_a_remembered_approval_is_revoked_and_the_call_is_asked_about_again(
    opened: Opened, new_page: Callable[[str], ParleyPage], governed: ServerProcess, model: OpenAIServer
) -> None:
    confirm = {"type": "dangerous_confirmation", "config": {"always": ["current_time"]}}
    await store(governed, {"pre_tool_use": [confirm]})
    page = new_page(governed.url)
    await page.open()
    model.queue(calls(("current_time", ZONE)), text("Done."))
    await page.ask("What time is it?")
    await page.tab.get_by_label("If you allow it, for how long?").select_option("always")
    await page.button("Allow").click()
    await page.idle()
    tab = await opened("approvals")
    entry = tab.locator(".remembered")
    await expect(entry).to_contain_text("Asia/Tokyo")

    revoke = entry.get_by_role("button", name="Revoke current_time")
    await revoke.click()  # without a listener, the question is answered with no
    await expect(revoke).to_be_focused()
    tab.once("dialog", lambda dialog: dialog.accept())
    await tab.keyboard.press("Enter")
    await expect(entry).to_have_count(0)
    await expect(tab.get_by_role("log")).to_contain_text("You will be asked about current_time again.")

    model.queue(calls(("current_time", ZONE)), text("Done."))
    await page.ask("And now?")
    await expect(page.tab.get_by_role("alertdialog", name="Allow current_time?")).to_be_visible()
    await expect(page.tab.locator(".approval [inert]")).to_have_count(0)
    await page.tab.keyboard.press("Escape")
    await page.idle()
