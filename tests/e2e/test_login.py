"""Logging in as a person does, in a real browser; the server takes nobody for local."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import ClientSession, DummyCookieJar, web
from aiohttp.test_utils import TestServer
from playwright.async_api import BrowserContext, Error, Page, expect

from tests.e2e.parley_page import ParleyPage
from tests.support.client import client
from tests.support.openai_script import Gate, text
from tests.support.openai_server import OpenAIServer
from tests.support.ports import lasting_port
from tests.support.server_process import ServerProcess, endpoint

ANNA = "annas-token-0123456789"
EVE = "eves-token-0123456789"
USERS = [{"user": "anna", "token": ANNA}, {"user": "eve", "token": EVE}]
SETTINGS = {"security": {"trust_loopback": False, "tokens": USERS}}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def guarded(
    tmp_path_factory: pytest.TempPathFactory, lasting_model: OpenAIServer
) -> AsyncIterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("guarded")
    async with ServerProcess(folder, environ=endpoint(lasting_model.url), settings=SETTINGS) as server:
        yield server


async def log_in(tab: Page, token: str = ANNA) -> None:
    await expect(tab.get_by_role("heading", name="Parley")).to_be_visible()
    await tab.get_by_label("Access token").fill(token)
    await tab.get_by_role("button", name="Log in").click()


async def expect_logged_in(page: ParleyPage) -> None:
    await page.button("More").click()
    await expect(page.button("Log out anna")).to_be_visible()


async def test_one_logs_in_once_comes_back_to_the_conversation_and_finds_it_after_logging_out(
    new_page: Callable[[str], ParleyPage], guarded: ServerProcess, model: OpenAIServer
) -> None:
    model.say("Hello Anna.")
    page = new_page(guarded.url)
    await page.open("#talk1", arrives=False)
    await expect(page.tab).to_have_url(f"{guarded.url}/login#talk1")
    await expect(page.tab.get_by_label("Access token")).to_be_focused()  # nothing needs to be clicked first

    await log_in(page.tab, "wrong-token-0123456789")
    await expect(page.tab.get_by_role("alert")).to_have_text("This access token is wrong.")
    await log_in(page.tab)

    await expect(page.tab).to_have_url(f"{guarded.url}/#talk1")
    await page.ask_and_wait("Hello")
    await expect_logged_in(page)
    assert await page.tab.evaluate("document.cookie") == "", "no script can read it"
    await page.tab.reload()
    await expect(page.replies).to_contain_text("Hello Anna.")
    assert ANNA not in await page.tab.content()
    assert ANNA not in guarded.log()

    # a link from another site
    elsewhere = guarded.url.replace("127.0.0.1", "localhost")
    await page.tab.goto(f"{elsewhere}/login")
    await page.tab.evaluate(f"location.assign('{guarded.url}/#talk1')")
    await expect(page.replies).to_contain_text("Hello Anna.")

    await page.choose("Log out anna")
    await expect(page.tab.get_by_label("Access token")).to_be_visible()
    await page.tab.goto(guarded.url)
    await expect(page.tab.get_by_label("Access token")).to_be_visible()
    await log_in(page.tab)
    await expect(page.replies).to_contain_text("Hello Anna.")


async def test_sessions_are_listed_and_one_of_another_browser_is_revoked(
    new_page: Callable[[str], ParleyPage], guarded: ServerProcess, context: BrowserContext
) -> None:
    assert context.browser is not None
    elsewhere = await context.browser.new_context(user_agent="Firefox (Android)")
    lost = await elsewhere.new_page()
    await lost.goto(guarded.url)
    await log_in(lost)
    await expect(lost.locator(".model")).to_be_visible()
    page = new_page(guarded.url)
    await page.open(arrives=False)
    await log_in(page.tab)
    await page.open_panel("Settings")
    async with context.expect_page() as opening:
        await page.tab.get_by_role("link", name="Sessions").click()
    tab = await opening.value

    ours = tab.get_by_role("listitem").filter(has_text="This browser")
    await expect(ours).to_contain_text("anna · Chrome on Linux · 127.0.0.1")
    theirs = tab.get_by_role("listitem").filter(has_text="Firefox on Android")
    await theirs.get_by_role("button", name="Revoke anna, Firefox on Android").click()

    await expect(tab.get_by_role("status")).to_have_text("Revoked. That browser must log in again.")
    await expect(theirs).to_have_count(0)
    await expect(ours).to_be_visible()
    await expect(lost.get_by_label("Access token")).to_be_visible()
    await expect(page.tab.locator(".model")).to_be_visible()
    await elsewhere.close()


async def test_logging_out_in_one_tab_logs_the_others_out(
    new_page: Callable[[str], ParleyPage], guarded: ServerProcess
) -> None:
    first, second = new_page(guarded.url), new_page(guarded.url)
    await first.open(arrives=False)
    await log_in(first.tab)
    await expect(first.tab.locator(".model")).to_be_visible()
    await second.open("#another")

    await second.choose("Log out anna")

    for page in (first, second):
        await expect(page.tab.get_by_label("Access token")).to_be_visible()


async def test_who_is_not_logged_in_any_more_is_asked_again_and_loses_nothing(
    new_page: Callable[[str], ParleyPage], context: BrowserContext, tmp_path: Path, model: OpenAIServer
) -> None:
    model.queue(text("I was saying ", Gate()))
    settings = {**SETTINGS, "listen": {"drain_s": 0}}
    process = ServerProcess(
        tmp_path, environ=endpoint(model.url), settings=settings, arguments=("--port", str(lasting_port()))
    )
    async with process as server:
        page = new_page(server.url)
        await page.open(arrives=False)
        await log_in(page.tab)
        await page.ask("Tell me")
        await expect(page.replies).to_contain_text("I was saying")
    await context.clear_cookies()
    async with process:  # again
        with suppress(Error):  # the page may have come back, and gone to the login, by itself
            await page.tab.evaluate("dispatchEvent(new Event('online'))")
        await expect(page.tab.get_by_label("Access token")).to_be_visible()
        await log_in(page.tab)

        await expect(page.tab.locator(".said-by-user")).to_contain_text("Tell me")
        await expect(page.button("Retry")).to_be_visible()


@asynccontextmanager
async def another_port(planted: str) -> AsyncIterator[tuple[str, list[str]]]:
    """Serves, beside Parley, a page that plants a cookie where the path says so; the cookies that it was sent."""
    sent: list[str] = []

    async def show(request: web.Request) -> web.Response:
        sent.append(request.cookies.get("parley", ""))
        answer = web.Response(text="<title>Another</title>", content_type="text/html")
        if request.path == "/plant":
            answer.set_cookie("parley", planted, path="/", httponly=True, samesite="Strict")
        return answer

    app = web.Application()
    app.router.add_get("/{path:.*}", show)
    async with TestServer(app, host="127.0.0.1") as server:
        yield str(server.make_url("/")), sent


async def test_another_port_neither_uses_nor_plants_the_session(
    new_page: Callable[[str], ParleyPage], guarded: ServerProcess
) -> None:
    page = new_page(guarded.url)
    await page.open(arrives=False)
    await log_in(page.tab)
    await expect_logged_in(page)
    async with ClientSession(guarded.url) as http:
        async with http.post("/api/login", json={"token": EVE}) as answer:
            planted = answer.cookies["parley"].value
        async with another_port(planted) as (url, sent):
            other = await page.tab.context.new_page()
            await other.goto(url)
            assert sent[0].startswith("v1."), "browsers send it to every port"
            assert await other.evaluate("localStorage.length") == 0
            read = {"Cookie": f"parley={sent[0]}"}
            async with ClientSession(guarded.url, cookie_jar=DummyCookieJar()) as thief:
                for path in ("/api/session", "/api/audit/export", "/stages"):
                    async with thief.get(path, headers=read) as answer:
                        assert answer.status == 401
                async with client(guarded.ws_url, additional_headers=read, greeted=False) as stolen:
                    assert await stolen.closed() == 4401
            await page.tab.reload()
            await expect_logged_in(page)

            await other.goto(f"{url}plant")
            await page.tab.reload()
            await expect(page.tab.get_by_label("Access token")).to_be_visible()
            await other.goto(url)
            assert sent[-1] == planted, "nobody has become Eve"
    await log_in(page.tab)
    await expect_logged_in(page)


async def test_a_browser_that_stores_nothing_is_told_so(
    new_page: Callable[[str], ParleyPage], guarded: ServerProcess
) -> None:
    page = new_page(guarded.url)
    await page.open(arrives=False)
    await page.tab.evaluate("void (Storage.prototype.setItem = () => { throw new Error('full'); })")

    await log_in(page.tab)

    await expect(page.tab.get_by_role("alert")).to_contain_text("Allow site data")


async def test_the_login_page_can_be_used_on_a_phone_and_in_the_dark(
    new_page: Callable[[str], ParleyPage], guarded: ServerProcess
) -> None:
    page = new_page(guarded.url)
    await page.open(arrives=False)
    ground = "getComputedStyle(document.body).backgroundColor"
    light = await page.tab.evaluate(ground)
    await page.tab.emulate_media(color_scheme="dark")
    assert await page.tab.evaluate(ground) != light
    await page.tab.set_viewport_size({"width": 320, "height": 640})
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert await page.tab.evaluate(overflow) == 0

    await expect(page.tab.get_by_label("Access token")).to_be_focused()
    await page.tab.keyboard.type(ANNA)
    await page.tab.keyboard.press("Enter")

    await expect_logged_in(page)
    assert await page.tab.evaluate(overflow) == 0
