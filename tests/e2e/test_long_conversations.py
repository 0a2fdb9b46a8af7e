"""Conversations and replies that are longer than the screen: their end is followed, and what is read stays where it is."""

import asyncio

from playwright.async_api import Locator, expect

from tests.e2e.parley_page import ParleyPage
from tests.support.openai_script import Finish, Gate, Reasoning, Stream, Text, text
from tests.support.openai_server import OpenAIServer

SEED = """async (turns) => {
  const request = indexedDB.open("parley");
  const db = await new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
  const history = Array.from({ length: turns }, (_, n) => [
    { role: "user", content: `Question ${n}`, _turn: `t${n}` },
    { role: "assistant", content: `Answer ${n}.\\n\\n${"A line of it.\\n\\n".repeat(n % 7)}`, _turn: `t${n}` },
  ]).flat();
  const transaction = db.transaction("conversations", "readwrite");
  transaction.objectStore("conversations").put({
    id: "long", title: "Long", shownTitle: "Long", createdAt: 1, updatedAt: 1, conversationHistory: history,
  });
  await new Promise((resolve) => (transaction.oncomplete = resolve));
  db.close();
}"""

GAP = """() => {
  const scroll = document.getElementById("scroll");
  return Math.round(scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight);
}"""


async def at_end(page: ParleyPage) -> None:
    await page.tab.wait_for_function(f"({GAP})() <= 1")


async def at_rest(read: Locator) -> float:
    """Return its place from the top, once that no longer moves: what stands around it gets its height when it is drawn."""
    place = None
    while (box := await read.bounding_box()) is None or box["y"] != place:
        place = None if box is None else box["y"]
        await asyncio.sleep(0.2)
    return place


async def open_long(page: ParleyPage) -> None:
    await page.tab.evaluate(SEED, 200)
    await page.tab.reload()
    await page.tab.evaluate("location.hash = 'long'")
    await expect(page.turns).to_have_count(200)


async def test_a_long_conversation_opens_at_its_end_which_a_reply_and_a_growing_field_leave_in_sight(
    page: ParleyPage, model: OpenAIServer
) -> None:
    await open_long(page)
    await at_end(page)
    gate = Gate()
    model.queue(text("\n\n".join(f"Paragraph {n}." for n in range(40)), gate, "\n\nThe last one."))

    await page.ask("Go")
    await expect(page.replies.last).to_contain_text("Paragraph 39.")
    await at_end(page)
    gate.open()
    await page.idle()

    await expect(page.replies.last).to_contain_text("The last one.")
    await at_end(page)
    await page.input.fill("\n".join(["A line"] * 8))
    await at_end(page)


async def test_who_reads_further_up_is_left_there_while_a_reply_comes(page: ParleyPage, model: OpenAIServer) -> None:
    await open_long(page)
    await at_end(page)
    gate = Gate()
    model.queue(text("The first one.", gate, "\n\n".join(f"Paragraph {n}." for n in range(40))))
    await page.ask("Go")
    await expect(page.replies.last).to_contain_text("The first one.")

    await page.tab.locator("#scroll").evaluate("(scroll) => (scroll.scrollTop = 3000)")
    read = page.tab.get_by_text("Question 60", exact=True)
    await read.scroll_into_view_if_needed()
    before = await at_rest(read)
    gate.open()
    await page.idle()

    after = await at_rest(read)
    assert abs(after - before) <= 2


async def test_what_is_opened_while_a_reply_comes_stays_in_sight(page: ParleyPage, model: OpenAIServer) -> None:
    gate = Gate()
    thoughts = Reasoning("\n".join(f"Thought {n}." for n in range(60)))
    model.queue(Stream(steps=[thoughts, Text("It begins. "), gate, Text("And it ends."), Finish("stop")]))
    await page.ask("Go")
    await expect(page.replies).to_contain_text("It begins.")

    opener = page.tab.locator(".reasoning summary")
    await opener.click()
    await expect(page.tab.locator(".reasoning-body")).to_be_visible()
    gate.open()
    await page.idle()

    await expect(page.replies).to_contain_text("And it ends.")
    await expect(opener).to_be_in_viewport()
