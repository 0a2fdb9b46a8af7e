"""Wishes of the cookbook on the page: each fires in one turn that is typed, and stays silent in the next."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import pytest
import pytest_asyncio
from playwright.async_api import Locator, expect

from tests.e2e.parley_page import ParleyPage
from tests.support.cookbook import hooks_in, write_cookbook
from tests.support.openai_script import Stream, calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ServerProcess, endpoint

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

TOKENS = {name: f"the-long-token-of-{name}" for name in ("ada", "bob")}
SEARCH = calls(("search_text", {"pattern": "language"}))
NO_FILE = calls(("read_file", {"path": "no/such/file.md"}))
TIME = calls(("current_time", {"timezone": "Asia/Tokyo"}))


@dataclass
class Typed:
    """One turn: what is typed, the model's calls before its answer, and what is set on the page before."""

    text: str
    script: tuple[Stream, ...] = ()
    language: str = ""
    off: str = ""
    """A skill that is switched off."""
    user: str = ""
    """Whoever logs in."""


@dataclass
class Wish:
    skill: str
    hook: str
    fires: Typed
    silent: Typed
    reason: str
    """What the inspector says of the turn in which the hook is silent."""
    instead: str = ""
    """The hook of the skill that fires in that turn."""


WISHES = [
    Wish("german-only", "formal-german", Typed("Hallo", language="de"), Typed("Salut", language="fr"), "when.language"),
    Wish("cite-sources", "cite", Typed("Search it", (SEARCH,)), Typed("And the time?", (TIME,)), "when.tool"),
    Wish("greet-once", "greet", Typed("Hello"), Typed("Hello again"), "once a conversation"),
    Wish("money-disclaimer", "no-advice", Typed("Shall I invest?"), Typed("And a loan?"), "cooldown"),
    Wish("brief-on-failure", "say-less", Typed("Read it", (NO_FILE,)), Typed("The time?", (TIME,)), "when.tool_status"),
    Wish("wrap-up", "finish", Typed("Look well", (SEARCH, SEARCH)), Typed("Just look", (SEARCH,)), "when.round"),
    Wish("todays-date", "today", Typed("Weekend?"), Typed("Sure?", off="todays-date"), "the skill is switched off"),
    Wish("two-wordings", "short", Typed("Why blue?"), Typed("Why?", off="two-wordings"), "the skill is switched off"),
    Wish("tone-for-ada", "friend", Typed("It is me"), Typed("It is Bob", user="bob"), "when.user", "polite"),
]


@pytest_asyncio.fixture(loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory, lasting_model: OpenAIServer) -> AsyncIterator[ServerProcess]:
    """Guarded, so that it knows who types, and without a skill."""
    folder = tmp_path_factory.mktemp("wishes")
    tokens = [{"user": name, "token": token} for name, token in TOKENS.items()]
    settings = {
        "agent": {"planning": False},
        "skills": {"dir": str(folder / "skills")},
        "security": {"trust_loopback": False, "tokens": tokens, "trace": True},
    }
    async with ServerProcess(folder, environ=endpoint(lasting_model.url), settings=settings) as server:
        yield server


async def log_in(page: ParleyPage, user: str) -> None:
    await page.tab.get_by_label("Access token").fill(TOKENS[user])
    await page.button("Log in").click()


async def play(page: ParleyPage, model: OpenAIServer, turn: Typed) -> Locator:
    """Set what the turn needs, type it, and return what the inspector shows of it."""
    if turn.user:
        await page.choose("Log out ada")
        await log_in(page, turn.user)
    if turn.language:
        await page.set("Language of the conversation", turn.language)
    if turn.off:
        panel = await page.open_panel("Skills")
        await panel.get_by_role("switch", name=turn.off).uncheck()
    model.queue(*turn.script, text("Yes."))
    await page.ask_and_wait(turn.text)
    panel = page.tab.get_by_role("complementary", name="Inspector")
    if not await panel.is_visible():
        await page.open_panel("Inspector")
    newest = panel.locator(".trace").first
    await expect(newest.locator(".trace-title")).to_have_text(turn.text)
    return newest


async def test_each_wish_of_the_cookbook_fires_and_stays_silent_in_turns_that_are_typed(
    new_page: Callable[[str], ParleyPage], server: ServerProcess, model: OpenAIServer
) -> None:
    page = new_page(server.url)
    await page.open(arrives=False)
    await log_in(page, "ada")
    panel = await page.open_panel("Skills")
    await expect(panel).to_contain_text("This server has no skills.")
    cookbook = write_cookbook(server.folder / "skills")
    await expect(panel.get_by_role("switch")).to_have_count(len(list(cookbook.iterdir())))

    for wish in WISHES:
        name = page.tab.get_by_text(f"{wish.skill} / {wish.hook}", exact=True)
        await page.button("New conversation").first.click()
        shown = await play(page, model, wish.fires)
        await expect(shown.locator(".call").last.locator(".is-hook", has=name)).to_have_count(1)
        assert hooks_in(model.requests[-1].messages, cookbook / wish.skill) == wish.hook, wish

        shown = await play(page, model, wish.silent)
        await expect(shown.locator(".not-fired li", has=name)).to_contain_text(wish.reason)
        assert hooks_in(model.requests[-1].messages, cookbook / wish.skill) == wish.instead, wish
