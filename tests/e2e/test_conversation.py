"""A conversation in Chromium: asked, streamed, kept, with what skills and tools bring."""

import re

from playwright.async_api import expect

from tests.e2e.parley_page import ParleyPage
from tests.support.openai_script import Gate, HttpError, calls, text
from tests.support.openai_server import OpenAIServer

TONE = "The text of calm/tone."


async def test_the_reply_streams_and_joins_the_history(page: ParleyPage, model: OpenAIServer) -> None:
    gate = Gate()
    model.queue(text("The sky is blue. ", "Light scat", gate, "ters."))

    await page.ask("Why is the sky blue?")
    await expect(page.replies).to_contain_text("The sky is blue. Light scat")
    gate.open()
    await page.idle()

    await expect(page.replies).to_contain_text("The sky is blue. Light scatters.")
    assert await page.texts() == [
        "user: Why is the sky blue?",
        f"system: {TONE}",
        "assistant: The sky is blue. Light scatters.",
    ]
    assert "_answer" not in (await page.history())[0]


async def test_a_persistent_hook_comes_back_with_every_turn_until_the_conversation_is_cleared(
    page: ParleyPage, model: OpenAIServer
) -> None:
    for answer in ("One.", "Two.", "Three.", "Four."):
        model.say(answer)

    await page.ask_and_wait("First")
    await page.ask_and_wait("Second")
    assert [request.contents.count(TONE) for request in model.requests] == [1, 2]

    panel = await page.open_panel("Skills")
    await panel.get_by_role("switch", name="calm").uncheck()
    await page.ask_and_wait("Third")
    await expect(page.hooks).to_have_count(2)
    assert model.requests[2].contents.count(TONE) == 2

    await page.clear()
    await page.ask_and_wait("Fourth")
    await expect(page.hooks).to_have_count(0)
    assert model.requests[3].contents.count(TONE) == 0
    assert not any(
        "_" in key for request in model.requests for message in request.messages for key in message if key[0] == "_"
    )


async def test_a_hook_stands_in_its_place_collapsed_and_opens(page: ParleyPage, model: OpenAIServer) -> None:
    model.say("Hello.")
    await page.ask_and_wait("Hi")

    await expect(page.hooks).to_contain_text("calm / tone")
    await expect(page.hooks).to_contain_text("after_user_input")
    await expect(page.tab.get_by_text(TONE)).to_be_hidden()
    await page.hooks.locator("summary").click()

    await expect(page.tab.get_by_text(TONE)).to_be_visible()


async def test_tool_activity_is_shown_and_not_kept(page: ParleyPage, model: OpenAIServer) -> None:
    model.queue(
        text("<need_tool> Let me read that."),
        calls(("read_file", {"path": "clock/SKILL.md"}), ("read_file", {"path": "nowhere.md"})),
        text("It knows about time."),
    )

    await page.ask_and_wait("What does clock do?")
    tools = page.tab.locator(".tool")

    await expect(tools).to_have_count(2)
    await expect(tools.first).to_contain_text("clock/SKILL.md")
    await expect(tools.nth(1)).to_have_class(re.compile("tool-failed"))
    await tools.first.locator("summary").click()
    await expect(tools.first).to_contain_text("The body of clock.")
    await expect(page.replies).to_contain_text(re.compile(r"Let me read that\..*It knows about time\.", re.DOTALL))
    history = await page.history()
    assert [message["role"] for message in history] == ["user", "system", "assistant"]
    assert not any("The body of clock." in message["content"] for message in history)


async def test_escape_stops_the_reply_and_keeps_what_was_shown(page: ParleyPage, model: OpenAIServer) -> None:
    model.queue(text("This was said. This was n", Gate()))
    await page.ask("Tell me")
    await expect(page.replies).to_contain_text("This was said. This was n")

    await page.tab.keyboard.press("Escape")
    await page.idle()
    await (await model.request(0)).ended.wait()

    assert model.requests[0].closed_early
    await expect(page.tab.locator(".turn-end")).to_contain_text("Stopped.")
    assert (await page.texts())[-1].strip() == "assistant: This was said. This was n"


async def test_asking_again_while_the_reply_runs_ends_it(page: ParleyPage, model: OpenAIServer) -> None:
    model.queue(text("First reply. And m", Gate()), text("Second reply."))
    await page.ask("One")
    await expect(page.replies).to_contain_text("First reply. And m")

    await page.input.fill("Two")
    await page.input.press("Enter")
    await expect(page.replies.nth(1)).to_contain_text("Second reply.")
    await page.idle()

    assert [line.strip() for line in await page.texts() if not line.startswith("system")] == [
        "user: One",
        "assistant: First reply. And m",
        "user: Two",
        "assistant: Second reply.",
    ]


async def test_a_model_that_fails_is_explained_and_may_be_tried_again(page: ParleyPage, model: OpenAIServer) -> None:
    model.queue(HttpError(status=401, body={"error": {"message": "bad key"}}), text("Now it works."))
    await page.ask_and_wait("Hello")
    await expect(page.tab.get_by_role("alert")).to_contain_text("refused the key")
    await expect(page.tab.locator(".turn-end")).to_contain_text("Not answered.")

    await page.button("Retry").click()
    await expect(page.replies.last).to_contain_text("Now it works.")
    await page.idle()

    assert [line for line in await page.texts() if line.startswith("user")] == ["user: Hello"]
    await expect(page.button("Retry")).to_have_count(0)


async def test_sentences_are_announced_and_deltas_are_not(page: ParleyPage, model: OpenAIServer) -> None:
    gate = Gate()
    model.queue(text("A **whole** sentence. Half of", gate, " one."))
    await page.ask("Hello")
    announcer = page.tab.locator("[aria-live=polite]")

    await expect(announcer).to_have_text("A whole sentence.")
    await expect(page.replies).to_contain_text("Half of")
    await expect(announcer).not_to_contain_text("Half of")
    gate.open()

    await expect(announcer).to_contain_text("Half of one.")


async def test_the_page_says_who_answers_before_the_first_turn(page: ParleyPage) -> None:
    await expect(page.tab.locator(".model")).to_contain_text("scripted")
    await expect(page.tab.locator(".model")).to_contain_text("local")
    await expect(page.tab.locator(".suggestion")).to_have_count(3)

    await page.tab.locator(".suggestion").first.click()

    await expect(page.input).not_to_be_empty()
    await expect(page.input).to_be_focused()
