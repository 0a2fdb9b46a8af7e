"""The question whether a tool may run, as a person meets it in a real browser."""

import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Locator, expect

from tests.e2e.cutting_proxy import CuttingProxy
from tests.e2e.parley_page import ParleyPage
from tests.support.openai_script import calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import Parley, parley

ZONE = {"timezone": "Asia/Tokyo"}
ESCAPE = "box.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true}))"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def asking(tmp_path_factory: pytest.TempPathFactory, lasting_model: OpenAIServer) -> AsyncIterator[Parley]:
    approver = {"enabled": True, "config": {"tools": ["current_time"], "message": "May {tool} run now?"}}
    settings = {
        "agent": {"planning": False},
        "hooks": {"builtins": {"ask_human": approver}, "approval": {"timeout_s": 120}},
    }
    folder = tmp_path_factory.mktemp("asking")
    async with parley(folder, lasting_model.url, settings) as server:
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def page(new_page: Callable[[str], ParleyPage], asking: Parley) -> ParleyPage:
    page = new_page(asking.url)
    await page.open()
    return page


async def ask_for_the_time(page: ParleyPage, model: OpenAIServer) -> None:
    model.queue(calls(("current_time", ZONE)), text("Done."))
    await page.ask("What time is it in Tokyo?")
    await expect(page.tab.get_by_role("alertdialog", name="Allow current_time?")).to_be_visible()
    await expect(page.tab.locator(".approval [inert]")).to_have_count(0)


def last_result(model: OpenAIServer) -> str:
    return str(next(m["content"] for m in reversed(model.requests[-1].messages) if m["role"] == "tool"))


async def test_on_a_phone_the_question_fits_and_long_arguments_can_be_read_beside_the_buttons(
    page: ParleyPage, model: OpenAIServer
) -> None:
    await page.tab.set_viewport_size({"width": 320, "height": 640})
    await ask_for_the_time(page, model)

    too_wide = """box => [...box.querySelectorAll("*")]
      .filter((element) => element.getBoundingClientRect().right > box.getBoundingClientRect().right)
      .map((element) => element.outerHTML)"""
    assert await page.tab.get_by_role("alertdialog").evaluate(too_wide) == []
    await page.button("Don't allow").click()
    await page.idle()

    await page.tab.set_viewport_size({"width": 360, "height": 520})
    model.queue(calls(("current_time", {"timezone": "Asia/Tokyo " * 100})), text("Done."))
    await page.ask("What time is it in Tokyo?")

    values = arguments(page)
    await expect(values).to_be_visible()
    lines = "box => box.clientHeight / parseFloat(getComputedStyle(box).lineHeight)"
    assert await values.evaluate(lines) > 4
    await expect(page.button("Allow")).to_be_in_viewport(ratio=1)
    await expect(page.button("Don't allow")).to_be_in_viewport(ratio=1)
    await page.button("Don't allow").click()
    await page.idle()


async def test_a_tool_runs_when_it_was_allowed_with_the_keyboard_alone(page: ParleyPage, model: OpenAIServer) -> None:
    await ask_for_the_time(page, model)
    await expect(page.tab.get_by_role("alertdialog")).to_be_focused()  # and none of its buttons
    await expect(page.tab).to_have_title("Allow current_time? – Parley")  # which other tabs show
    await page.tab.keyboard.press("Enter")
    await expect(page.tab.get_by_role("alertdialog")).to_be_visible()

    await page.button("Allow").focus()
    await page.tab.keyboard.press("Enter")
    await page.idle()

    await expect(page.tab.get_by_role("alertdialog")).to_have_count(0)
    await expect(page.input).to_be_focused()  # the user can go on writing
    await expect(page.tab).to_have_title(re.compile("What time is it"))
    assert "Tokyo" in last_result(model)


async def test_escape_ends_a_composition_then_leaves_the_editor_and_only_then_says_no(
    page: ParleyPage, model: OpenAIServer
) -> None:
    await ask_for_the_time(page, model)
    escape = "new KeyboardEvent('keydown', {key: 'Escape', isComposing: true, bubbles: true})"
    await page.tab.get_by_label("If you don't allow it, why?").evaluate(f"field => field.dispatchEvent({escape})")
    await expect(arguments(page).get_by_role("row")).to_have_text("timezoneAsia/Tokyo")
    await page.button("Edit…").click()
    editor = page.tab.get_by_label("Arguments of current_time, as JSON")
    await expect(editor).to_be_focused()
    await editor.fill("{")

    await page.tab.keyboard.press("Escape")
    await expect(editor).to_have_count(0)
    await expect(page.tab.get_by_role("alertdialog")).to_be_focused()
    assert page.count("approval_resolved") == 0
    await page.tab.keyboard.press("Escape")
    await page.idle()

    assert "Tokyo" not in last_result(model)
    await expect(page.replies).to_contain_text("Done.")
    await expect(page.tab.locator(".tool-state")).to_have_text("you said no")


# what was meant for the question before

GAPS_MS = (60, 120, 200, 300, 450)


async def ask_twice(page: ParleyPage, model: OpenAIServer) -> None:
    """Two questions of one reply: the second takes the place of the first as soon as that is answered."""
    model.queue(calls(("current_time", ZONE), ("current_time", {"timezone": "Europe/Rome"})), text("Done."))
    await page.ask("What time is it in Tokyo and in Rome?")
    await expect(page.tab.locator(".approval [inert]")).to_have_count(0)
    await expect(arguments(page)).to_contain_text("Tokyo")


def arguments(page: ParleyPage) -> Locator:
    return page.tab.locator(".approval-arguments")


async def deny_second(page: ParleyPage) -> None:
    await expect(arguments(page)).to_contain_text("Rome")
    await page.button("Don't allow").click()
    await page.idle()
    answers = [frame["approved"] for frame in page.frames if frame["type"] == "approval_resolved"]
    assert answers[-2:] == [True, False]


@pytest.mark.slow
async def test_a_double_click_answers_one_question(page: ParleyPage, model: OpenAIServer) -> None:
    mouse = page.tab.mouse
    for gap_ms in GAPS_MS:
        await ask_twice(page, model)
        await page.button("Allow").hover()
        for pause_ms in (gap_ms, 0):
            await mouse.down()
            await mouse.up()
            await page.tab.wait_for_timeout(pause_ms)
        await deny_second(page)


async def test_the_buttons_of_a_new_question_are_not_under_the_pointer(page: ParleyPage, model: OpenAIServer) -> None:
    for width, height in ((1280, 800), (320, 640)):
        await page.tab.set_viewport_size({"width": width, "height": height})
        await ask_twice(page, model)
        box = await page.button("Allow").bounding_box()
        assert box is not None
        await page.button("Allow").click()
        await expect(arguments(page)).to_contain_text("Rome")

        place = f"{box['x'] + box['width'] / 2}, {box['y'] + box['height'] / 2}"
        buttons = "document.querySelectorAll('.approval-actions button')"
        is_under = f"([x, y]) => [...{buttons}].some((b) => {{ const r = b.getBoundingClientRect(); "
        is_under += "return x > r.left && x < r.right && y > r.top && y < r.bottom; })"
        assert await page.tab.evaluate(f"({is_under})([{place}])") is False
        await deny_second(page)


@pytest.mark.parametrize(
    "act",
    ["box.querySelector('[data-action=allow]').click()", ESCAPE],
    ids=["a click", "a key"],
)
async def test_a_new_question_takes_no_input_at_first(page: ParleyPage, model: OpenAIServer, act: str) -> None:
    await page.tab.evaluate(f"""() => {{
      let seen = null, from = 0;
      const answer = () => {{
        const box = document.getElementById("approval");
        if (box && seen !== box.dataset.approval) [seen, from] = [box.dataset.approval, performance.now()];
        if (box && performance.now() - from < 500) {act};
        requestAnimationFrame(answer);
      }};
      answer();
    }}""")
    await ask_twice(page, model)
    await page.button("Allow").click()
    await deny_second(page)


async def test_edited_arguments_run_once_they_are_json(page: ParleyPage, model: OpenAIServer) -> None:
    await ask_for_the_time(page, model)
    await page.button("Edit…").click()
    editor = page.tab.get_by_label("Arguments of current_time, as JSON")
    await expect(editor).to_be_focused()
    await editor.fill("{")
    await page.button("Allow as edited").click()
    await expect(page.tab.get_by_role("alert")).to_contain_text("not valid JSON")
    await expect(editor).to_be_focused()

    await editor.fill('{"timezone": "Europe/Rome"}')
    await page.button("Allow as edited").click()
    await page.idle()

    assert "Rome" in last_result(model)


async def test_another_window_of_the_same_user_may_answer(
    page: ParleyPage, new_page: Callable[[str], ParleyPage], asking: Parley, model: OpenAIServer
) -> None:
    other = new_page(asking.url)
    await other.open("#elsewhere")
    await ask_for_the_time(page, model)
    dialog = other.tab.get_by_role("alertdialog")
    await expect(dialog).to_contain_text("another of your windows")

    await other.button("Allow").click()
    await page.idle()

    await expect(dialog).to_have_count(0)
    await expect(page.tab.locator(".turn")).to_contain_text("answered from another device or tab: allowed")


async def test_what_is_remembered_for_the_conversation_is_not_asked_again(
    page: ParleyPage, model: OpenAIServer
) -> None:
    await ask_for_the_time(page, model)
    await page.tab.get_by_label("If you allow it, for how long?").select_option("in this conversation")
    await page.button("Allow").click()
    await page.idle()

    model.queue(calls(("current_time", ZONE)), text("Again."))
    await page.ask_and_wait("And now?")

    await expect(page.tab.locator(".turn").last).to_contain_text("remember")
    assert "Tokyo" in last_result(model)


async def test_a_tool_that_is_always_allowed_is_not_asked_about_again(
    tmp_path: Path, new_page: Callable[[str], ParleyPage], model: OpenAIServer
) -> None:
    approver = {"enabled": True, "config": {"tools": ["current_time"]}}
    settings = {"agent": {"planning": False}, "hooks": {"builtins": {"ask_human": approver}}}
    async with parley(tmp_path, model.url, settings) as server:  # that remembers, and goes
        page = new_page(server.url)
        await page.open()
        await ask_for_the_time(page, model)
        await page.button("Always for this tool").click()
        await page.idle()

        model.queue(calls(("current_time", {"timezone": "Europe/Rome"})), text("Done again."))
        await page.ask_and_wait("And in Rome?")

        assert "Rome" in last_result(model)
        answers = [frame["by"] for frame in page.frames if frame["type"] == "approval_resolved"]
        assert answers == ["user", "remembered"]


async def test_stopping_the_turn_takes_the_question_away(page: ParleyPage, model: OpenAIServer) -> None:
    await ask_for_the_time(page, model)
    await page.button("Stop the reply").click()

    await page.idle()
    await expect(page.tab.get_by_role("alertdialog")).to_have_count(0)


async def test_silence_means_no_and_the_turn_says_so(
    tmp_path: Path, new_page: Callable[[str], ParleyPage], model: OpenAIServer
) -> None:
    approver = {"enabled": True, "config": {"tools": ["current_time"], "timeout_s": 0.5}}
    settings = {"agent": {"planning": False}, "hooks": {"builtins": {"ask_human": approver}}}
    async with parley(tmp_path, model.url, settings) as server:
        page = new_page(server.url)
        await page.open()
        model.queue(calls(("current_time", ZONE)), text("Done."))
        await page.ask_and_wait("What time is it in Tokyo?")

        assert page.count("approval_request") == 1
        await expect(page.tab.get_by_role("alertdialog")).to_have_count(0)
        await expect(page.tab.locator(".turn")).to_contain_text(
            "current_time did not run: there was no answer in time."
        )
        assert "Tokyo" not in last_result(model)


async def test_a_lost_connection_takes_the_question_away_and_says_what_became_of_it(
    new_page: Callable[[str], ParleyPage], asking: Parley, model: OpenAIServer
) -> None:
    async with CuttingProxy(asking.url) as proxy:
        page = new_page(proxy.url)
        await page.open()
        await ask_for_the_time(page, model)
        proxy.cut()

        await expect(page.tab.get_by_role("alertdialog")).to_have_count(0)
        await expect(page.tab.locator(".turn")).to_contain_text("did not run: the connection was lost")
        await page.reconnect()
        await expect(page.button("Retry")).to_be_enabled()
        await expect(page.tab.get_by_role("alertdialog")).to_have_count(0)
        await page.tab.close()
