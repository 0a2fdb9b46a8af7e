"""What the browser's database is asked to write, and what becomes of a page whose database goes from under it."""

from collections.abc import Callable

from playwright.async_api import expect

from tests.e2e.parley_page import ParleyPage
from tests.support.openai_script import Gate, Json, text
from tests.support.openai_server import OpenAIServer

# Counts what is put, by the name of its store.
COUNT = """
window.puts = {};
const put = IDBObjectStore.prototype.put;
IDBObjectStore.prototype.put = function (...values) {
  window.puts[this.name] = (window.puts[this.name] ?? 0) + 1;
  return put.apply(this, values);
};
"""

DELETE = """() => new Promise((resolve, reject) => {
  const request = indexedDB.deleteDatabase("parley");
  request.onsuccess = () => resolve();
  request.onerror = request.onblocked = () => reject(new Error("not deleted"));
})"""

# A database as the page before this one left it, in the middle of a reply.
SECOND_VERSION = """() => new Promise((resolve) => {
  const request = indexedDB.open("parley", 2);
  request.onupgradeneeded = () => {
    const store = request.result.createObjectStore("conversations", { keyPath: "id" });
    store.createIndex("summaries", ["updatedAt", "shownTitle", "id"]);
    request.result.createObjectStore("images", { keyPath: ["conversation", "id"] });
    store.put({
      id: "old", title: "", shownTitle: "Old", createdAt: 1, updatedAt: 1,
      conversationHistory: [{ role: "user", content: "Question?", _turn: "t", _answer: "pending" }],
      historySegments: [{ kind: "sentence", text: "Half an answer." }],
    });
  };
  request.onsuccess = () => resolve(request.result.close());
})"""


async def said(page: ParleyPage) -> list[str]:
    return [line for line in await page.texts() if not line.startswith("system")]


async def test_a_sentence_does_not_write_the_history_again(
    new_page: Callable[[], ParleyPage], model: OpenAIServer
) -> None:
    page = new_page()
    await page.context.add_init_script(COUNT)
    await page.open()
    gates = [Gate() for _ in range(8)]
    model.queue(text(*(part for n, gate in enumerate(gates) for part in (f"Sentence {n} is here. ", gate))))

    await page.ask("Go")
    for n, gate in enumerate(gates):
        await expect(page.replies).to_contain_text(f"Sentence {n} is here.")
        gate.open()
    await page.idle()
    await page.stored()
    puts: Json = await page.tab.evaluate("puts")

    assert puts["conversations"] == 2, "the question and the whole answer"
    assert puts["running"] >= 4
    assert (await page.texts())[-1].startswith("assistant: Sentence 0 is here. Sentence 1 is here.")


async def test_a_reload_keeps_what_was_reached_of_the_running_turn(page: ParleyPage, model: OpenAIServer) -> None:
    gate = Gate()
    model.queue(text("The first is heard. And a second. ", gate))
    await page.ask("Go")
    await expect(page.replies).to_contain_text("The first is heard.")

    await page.tab.reload()

    await expect(page.replies).to_contain_text("The first is heard.")
    assert (await page.history())[0]["_answer"] == "lost"


async def test_a_page_goes_on_storing_after_the_data_of_its_site_was_cleared(
    page: ParleyPage, model: OpenAIServer
) -> None:
    model.queue(text("The first answer."), text("The second answer."), text("Another."))
    await page.ask_and_wait("One")
    await page.stored()
    other = await page.context.new_page()
    await other.goto(f"{page.url}/favicon.svg")

    await other.evaluate(DELETE)
    await page.ask_and_wait("Two")

    assert await said(page) == [
        "user: One",
        "assistant: The first answer.",
        "user: Two",
        "assistant: The second answer.",
    ]
    await other.evaluate(DELETE)
    await page.tab.keyboard.press("Control+k")
    await expect(page.tab.locator(".empty")).to_be_visible()
    await page.ask_and_wait("Three")
    assert await said(page) == ["user: Three", "assistant: Another."]


async def test_what_the_version_before_stored_is_read(new_page: Callable[[], ParleyPage]) -> None:
    page = new_page()
    other = await page.context.new_page()
    await other.goto(f"{page.url}/favicon.svg")
    await other.evaluate(SECOND_VERSION)

    await page.open()  # the newest in the list

    await expect(page.replies).to_have_text("Half an answer.")
    await expect(page.tab.locator(".turn-end")).to_contain_text("Not answered")
