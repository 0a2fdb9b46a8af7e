"""Every state of every page, judged by axe-core: light and dark, at a desk and on a phone, in both languages."""

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, ViewportSize, async_playwright, expect

from tests.e2e.conftest import FLAGS, LIMIT_MS, executable
from tests.e2e.parley_page import ParleyPage
from tests.e2e.policy.policy_page import AUDIT, store
from tests.e2e.spoken import WavMicrophone
from tests.support.openai_script import Gate, calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ServerProcess

AXE: Final = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
DESK: Final[ViewportSize] = {"width": 1280, "height": 800}
PHONE: Final[ViewportSize] = {"width": 390, "height": 780}
TOKEN: Final = "annas-token-0123456789"
RUN: Final = """async () => (await axe.run(document, {
    resultTypes: ["violations"],
    rules: { "label-content-name-mismatch": { enabled: true } },
  })).violations
  .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).slice(0, 3).join(" | ")}`)"""
REPLY: Final = "## Sky\n\nIt is *blue*.\n\n#### Why\n\n- air `scatters`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\nlet x = 1;\n```"
HOOK: Final = {"name": "axe", "text": "Softly.", "timing": "after_user_input", "role": "system", "persistent": False}
TESTS: Final = [{"name": f"test {n}", "user": "Hi", "expect": {"reads": [{"contains": "softly"}]}} for n in range(3)]

pytestmark = pytest.mark.skipif(not AXE.exists(), reason="no axe-core: run scripts/setup.sh test")


@pytest.fixture(scope="module")
def server(talking_server: ServerProcess) -> ServerProcess:
    return talking_server


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def quiet_chromium(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Browser]:
    """Its microphone is on, and hears nothing."""
    microphone = WavMicrophone(tmp_path_factory.mktemp("microphone") / "silence.wav")
    async with async_playwright() as playwright:
        flags = [*FLAGS, *microphone.flags]
        browser = await playwright.chromium.launch(executable_path=executable(), headless=True, args=flags)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def context(quiet_chromium: Browser, request: pytest.FixtureRequest) -> AsyncIterator[BrowserContext]:
    scheme, size, locale = request.param
    context = await quiet_chromium.new_context(
        viewport=size,
        locale=locale,
        color_scheme=scheme,
        permissions=["microphone"],
        is_mobile=size == PHONE,
        has_touch=size == PHONE,
        reduced_motion="reduce",
    )
    context.set_default_timeout(LIMIT_MS)
    await context.add_init_script(AXE.read_text("utf-8"))
    yield context
    await context.close()


class Judge:
    """Collects what axe finds in each state, and keeps a picture of it where SHOTS names a folder."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.found: dict[str, list[str]] = {}

    async def look(self, tab: Page, state: str) -> None:
        await tab.mouse.move(0, 0)
        violations: list[str] = await tab.evaluate(RUN)
        if violations:
            self.found[state] = violations
        if folder := os.environ.get("SHOTS"):
            await tab.screenshot(path=Path(folder) / f"{self._name}-{state}.png")


async def click(tab: Page, action: str) -> None:
    await tab.locator(f"[data-action={action}]:visible").first.click()


async def panel(tab: Page, name: str) -> None:
    opener = tab.locator(f"[data-action=panel][data-panel={name}]").first
    if not await opener.is_visible():
        await tab.locator("button[popovertarget=menu]").first.click()
    await opener.click()
    await expect(tab.locator("#panel")).to_be_visible()


Look = Callable[[Page, str], Awaitable[None]]


async def conversation(page: ParleyPage, model: OpenAIServer, look: Look) -> None:
    tab = page.tab
    await expect(tab.locator(".talk-button")).to_be_enabled()
    await look(tab, "empty")
    model.queue(calls(("current_time", {})), text(REPLY), text("Half ", Gate()))
    await tab.locator("#input").fill("What time is it?")
    await tab.locator("#input").press("Enter")
    await expect(tab.get_by_role("alertdialog")).to_be_visible()
    await expect(tab.locator(".approval [inert]")).to_have_count(0)  # it takes no input, and is pale, for 0.6 s
    await look(tab, "approval")
    await click(tab, "allow")
    await expect(tab.locator(".markdown h3").last).to_be_visible()
    await expect(tab.locator("[data-action=stop]")).to_have_count(0)
    await look(tab, "reply")
    for name in ("skills", "inspector", "settings", "hooks"):
        await panel(tab, name)
        await tab.evaluate("document.querySelectorAll('#panel details').forEach((folded) => (folded.open = true))")
        if name == "inspector":
            await expect(tab.locator(".trace-list")).to_have_count(3)  # variables, context, hooks that did not fire
            await tab.locator(".trace-list").first.scroll_into_view_if_needed()
        await look(tab, name)
        await tab.locator("#panel [data-action=panel]").click()
    await click(tab, "models")
    await expect(tab.get_by_role("dialog")).to_be_visible()
    await look(tab, "models")
    await tab.keyboard.press("Escape")
    if await tab.locator("[data-action=open-sidebar]").is_visible():
        await click(tab, "open-sidebar")
        await look(tab, "list")
        await tab.keyboard.press("Escape")
    await tab.locator("#input").fill("More?")
    await tab.locator("#input").press("Enter")
    await expect(tab.locator("[data-action=stop]")).to_be_visible()
    await look(tab, "running")
    await click(tab, "stop")
    await look(tab, "stopped")


async def talk(tab: Page, look: Look) -> None:
    await click(tab, "microphone")
    await expect(tab.locator(".talk")).to_be_visible()
    await look(tab, "talk")
    await click(tab, "talk-mode")
    await expect(tab.locator(".talk-hold")).to_be_visible()
    await look(tab, "talk-held")
    if await tab.locator("[data-action=fold-talk]").is_visible():
        await click(tab, "fold-talk")
        await look(tab, "talk-held-folded")


LOOKS: Final = pytest.mark.parametrize(
    "context",
    [
        pytest.param(("light", DESK, "en"), id="desk-light-en"),
        pytest.param(("dark", PHONE, "zh-CN"), id="phone-dark-zh"),
        pytest.param(("dark", DESK, "zh-CN"), id="desk-dark-zh"),
        pytest.param(("light", PHONE, "en"), id="phone-light-en"),
    ],
    indirect=True,
)


@LOOKS
async def test_axe_finds_nothing_in_any_state_of_the_pages(
    page: ParleyPage, server: ServerProcess, model: OpenAIServer, request: pytest.FixtureRequest
) -> None:
    judge = Judge(request.node.callspec.id)
    page.expected_complaints = ("Applying inline style violates",)  # axe tries to

    await conversation(page, model, judge.look)
    await talk(page.tab, judge.look)
    await store(server, {"tool_skip": [AUDIT]})  # which the audit log then shows
    for path in ("sessions.html", "offline.html", "policy.html#/policy", "policy.html#/audit", "studio.html"):
        await page.tab.goto(f"{page.url}/{path}", wait_until="networkidle")
        if path.endswith("audit"):
            await expect(page.tab.locator("[data-action=toggle_entry]").first).to_be_visible()
        await judge.look(page.tab, path.replace("/", "-").replace(".html#", ""))
    model.say("I cannot.")
    model.say(json.dumps({"hooks": [HOOK], "tests": TESTS}))
    await page.tab.locator("#wish").fill("Speak softly at night.")
    await page.tab.locator("[data-action=describe]").click()
    await page.tab.locator("#draft").wait_for()
    await page.tab.locator("[data-action=next_turn]").click()
    await page.tab.locator(".studio-turn > summary").click()
    for form in ("hook", "add"):
        await page.tab.locator(f"[data-form={form}][aria-expanded]").click()
        await judge.look(page.tab, f"studio-{form}")

    assert judge.found == {}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def guarded(
    tmp_path_factory: pytest.TempPathFactory, lasting_model: OpenAIServer
) -> AsyncIterator[ServerProcess]:
    """A server that asks for a token, and for which no setting decides the model."""
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "data").mkdir()
    choice = {"kind": "endpoint", "base_url": lasting_model.url, "model": "scripted"}
    (folder / "data" / "model.json").write_text(json.dumps(choice))
    users = [{"user": "anna", "token": TOKEN, "operator": True}]
    security = {"trust_loopback": False, "tokens": users}
    async with ServerProcess(folder, settings={"security": security, "llm": {"discover": "off"}}) as server:
        yield server


@LOOKS
async def test_axe_finds_nothing_at_the_login_and_in_the_picker(
    new_page: Callable[[str], ParleyPage], guarded: ServerProcess, model: OpenAIServer, request: pytest.FixtureRequest
) -> None:
    judge, page = Judge(request.node.callspec.id), new_page(guarded.url)
    page.expected_complaints = ("Applying inline style violates", "401", "422")
    await page.open(arrives=False)
    tab = page.tab
    await tab.locator("#token").fill("wrong-token-0123456789")
    await tab.locator("[type=submit]").click()
    await expect(tab.get_by_role("alert")).to_be_visible()
    await judge.look(tab, "login")
    await tab.locator("#token").fill(TOKEN)
    await tab.locator("[type=submit]").click()
    await click(tab, "models")
    await tab.locator("[name=base_url]").wait_for(state="attached")
    await tab.evaluate("document.querySelectorAll('#models details').forEach((folded) => (folded.open = true))")
    await tab.locator("[name=base_url]").fill("http://127.0.0.1:1/v1")
    await click(tab, "list-models")
    await expect(tab.get_by_role("alert")).to_be_visible()
    await judge.look(tab, "picker-problem")
    await tab.locator("[name=base_url]").fill(model.url)
    await click(tab, "list-models")
    await expect(tab.locator("#listed-models option")).to_have_count(len(model.models))
    await judge.look(tab, "picker-listed")

    assert judge.found == {}
