"""Turns that the server refuses: why is said, and what can be done about it is one button away."""

from collections.abc import Callable
from pathlib import Path

from playwright.async_api import expect

from tests.e2e.parley_page import ParleyPage
from tests.support.openai_script import Gate, text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import parley
from tests.support.ports import lasting_port
from tests.support.server_process import ServerProcess, endpoint

TONE = "The text of calm/tone."


async def test_hooks_that_do_not_verify_can_be_left_out(
    new_page: Callable[[str], ParleyPage], model: OpenAIServer, skills: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the first secret of this server, long enough\n")
    secret.chmod(0o600)
    settings = {
        "skills": {"dir": str(skills)},
        "security": {"client_system_messages": "reject", "secret_file": str(secret)},
    }
    for answer in ("One.", "Two.", "Three."):
        model.say(answer)
    process = ServerProcess(
        tmp_path, environ=endpoint(model.url), settings=settings, arguments=("--port", str(lasting_port()))
    )
    async with process as first:
        page = new_page(first.url)
        await page.open()
        await page.ask_and_wait("First")
        await page.ask_and_wait("Second")

    secret.write_text("another secret, so nothing signed before verifies\n")
    async with process:  # again
        await page.reconnect()
        await page.ask_and_wait("Third")
        await expect(page.tab.get_by_role("alert")).to_contain_text("cannot verify a message")
        assert len(model.requests) == 2, "nothing is left out without asking"

        await page.button("Send without it").click()
        await expect(page.replies.last).to_contain_text("Three.")
        await page.idle()

        assert model.requests[2].contents.count(TONE) == 1, "the two old copies stay out, the new one comes"
        assert [message.get("_unverified") for message in await page.history() if message["content"] == TONE] == [
            True,
            True,
            None,
        ]
        await page.close()


async def test_a_busy_server_is_tried_again_by_hand(
    new_page: Callable[[str], ParleyPage], model: OpenAIServer, tmp_path: Path
) -> None:
    gate = Gate()
    model.queue(text("A long ", gate, "reply."), text("Now you."))
    settings = {"limits": {"turns": 1}}
    async with parley(tmp_path, model.url, settings) as server:
        first, second = new_page(server.url), new_page(server.url)
        await first.open()
        await first.ask("Take your time")
        await expect(first.replies).to_contain_text("A long")
        await second.open("#another")
        await second.ask_and_wait("Me too")
        await expect(second.tab.locator("[data-code=too_many_turns]")).to_contain_text("busy")
        await expect(second.input).to_be_empty()

        gate.open()
        await first.idle()
        await second.button("Retry").click()

        await expect(second.replies.last).to_contain_text("Now you.")
        await second.idle()
        await second.close()
        await first.close()
