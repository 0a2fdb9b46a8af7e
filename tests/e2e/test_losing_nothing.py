"""A reload in mid turn and a socket cut anywhere lose no user message and nothing that was shown."""

import random
import re
from collections.abc import Callable

import pytest
from playwright.async_api import expect

from tests.e2e.cutting_proxy import CuttingProxy
from tests.e2e.parley_page import ParleyPage
from tests.model.profile import rounds
from tests.support.openai_script import Stream, calls, text
from tests.support.openai_server import OpenAIServer, Request
from tests.support.server_process import ServerProcess

POINTS = rounds(200, few=4)
SEED = 20261121

# Keeps, in this tab and across its reloads, every text of a reply that once stood there, and every hook.
WATCH = """
const key = "shown";
const shown = new Set(JSON.parse(sessionStorage.getItem(key) ?? "[]"));
const watch = () => {
  for (const reply of document.querySelectorAll(".reply")) {
    const copy = reply.cloneNode(true);
    for (const other of copy.querySelectorAll("details, .waiting")) other.remove();
    const text = copy.textContent.replace(/\\s+/g, " ").trim();
    if (text) shown.add(text);
  }
  for (const asked of document.querySelectorAll(".said-by-user p")) shown.add(asked.textContent);
  sessionStorage.setItem(key, JSON.stringify([...shown]));
};
document.addEventListener("DOMContentLoaded", () =>
  new MutationObserver(watch).observe(document.body, { subtree: true, childList: true, characterData: true }),
);
"""


def squeezed(value: str) -> str:
    return re.sub(r"\s+", " ", value).strip()


class Answers:
    """Every turn: an acknowledgement, a tool, an answer of several sentences, each with a number of its own."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, request: Request) -> Stream:
        last = request.messages[-1]
        self.count += 1
        if not request.tool_names:
            return text("<need_tool> ", f"Let me see {self.count}. ")
        if last["role"] != "tool" and not any(message["role"] == "tool" for message in request.messages):
            return calls(("current_time", {}))
        return text(*(f"Sentence {self.count}-{n} is here. " for n in range(6)))


@pytest.fixture
def answering(model: OpenAIServer) -> OpenAIServer:
    model.respond = Answers()
    return model


async def shown(page: ParleyPage) -> list[str]:
    found: list[str] = await page.tab.evaluate("JSON.parse(sessionStorage.getItem('shown') ?? '[]')")
    return found


async def assert_nothing_lost(page: ParleyPage, asked: list[str]) -> None:
    """What is stored holds what was asked and what was shown; what is shown is what is stored."""
    history = await page.history()
    users = [message["content"] for message in history if message["role"] == "user"]
    assert [line for line in asked if line not in users] == []
    whole = squeezed("".join(message["content"] for message in history if message["role"] == "assistant"))
    spoken = {squeezed(line) for line in await shown(page)} - set(asked)
    assert [line for line in spoken if line.replace(" ", "") not in whole.replace(" ", "")] == []


@pytest.mark.soak
@pytest.mark.slow
async def test_a_reload_in_mid_turn_loses_nothing(new_page: Callable[[], ParleyPage], answering: OpenAIServer) -> None:
    dice = random.Random(SEED)
    page = new_page()
    await page.context.add_init_script(WATCH)
    await page.open()
    asked = []

    for number in range(POINTS):
        asked.append(f"question {number}")
        last, ended = page.received + dice.randint(0, 40), page.count("turn_end")
        await page.ask(asked[-1])
        await page.until(lambda: page.received >= last or page.count("turn_end") > ended)  # noqa: B023  # awaited here
        await page.tab.reload()
        await expect(page.send).to_be_enabled()
        await assert_nothing_lost(page, asked)

    await page.ask_and_wait("the last question")
    await assert_nothing_lost(page, [*asked, "the last question"])


@pytest.mark.soak
@pytest.mark.slow
async def test_a_socket_cut_anywhere_loses_nothing_and_retry_answers(
    new_page: Callable[[str], ParleyPage], server: ServerProcess, answering: OpenAIServer
) -> None:
    dice = random.Random(SEED)
    async with CuttingProxy(server.url) as proxy:
        page = new_page(proxy.url)
        await page.context.add_init_script(WATCH)
        await page.open()
        asked = []

        for number in range(POINTS):
            asked.append(f"question {number}")
            await expect(page.send).to_be_enabled()
            proxy.cut_after(dice.randint(1, 6000))
            cuts = proxy.cuts
            await page.ask(asked[-1])
            await expect(page.tab.locator(".said-by-user").last).to_have_text(re.compile(re.escape(asked[-1])))
            await page.idle()
            if proxy.cuts == cuts:
                proxy.cut()
            await page.reconnect()
            await assert_nothing_lost(page, asked)

        if await page.button("Retry").count():
            await page.button("Retry").click()
        else:
            await page.ask("the last question")
        await expect(page.replies.last).to_contain_text(re.compile(r"-5 is here\."))
        await page.idle()
        await expect(page.button("Retry")).to_have_count(0)
        await page.tab.close()


async def test_a_lost_connection_marks_the_message_and_never_resends_it(
    new_page: Callable[[str], ParleyPage], server: ServerProcess, model: OpenAIServer
) -> None:
    async with CuttingProxy(server.url) as proxy:
        page = new_page(proxy.url)
        await page.open()
        model.say("Never heard.")
        proxy.cut_after(1)

        await page.ask("Hello")
        await expect(page.tab.locator(".turn-end")).to_contain_text("Not answered: the connection was lost.")
        await page.reconnect()
        count = len(model.requests)
        await expect(page.button("Retry")).to_be_enabled()
        assert len(page.chats) == 1

        model.clear()
        model.say("Answered.")
        await page.button("Retry").click()
        await expect(page.replies.last).to_contain_text("Answered.")
        assert len(page.chats) == 2
        assert count <= 1
        await page.tab.close()
