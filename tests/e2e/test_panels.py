"""Skills with live diagnostics, the inspector, settings."""

import json
import re
import shutil
from pathlib import Path

from playwright.async_api import expect

from tests.e2e.conftest import write_skill
from tests.e2e.parley_page import ParleyPage
from tests.support.openai_script import Tokens, calls, text
from tests.support.openai_server import OpenAIServer


async def test_a_saved_hook_is_in_force_and_a_broken_one_is_explained(
    page: ParleyPage, model: OpenAIServer, skills: Path
) -> None:
    hooks = skills / "calm" / "hooks"
    before = {file: file.read_text() for file in (hooks / "tone.md", hooks / "hooks.json")}
    panel = await page.open_panel("Skills")
    try:
        broken = json.loads(before[hooks / "hooks.json"])
        broken["hooks"][0]["timing"] = "sometimes"
        (hooks / "hooks.json").write_text(json.dumps(broken))
        await expect(panel.locator(".diagnostic.line-error")).to_contain_text("$.hooks[0].timing")
        await expect(panel.locator(".diagnostic.line-error")).to_contain_text("hooks.json")
        await expect(page.tab.locator(".badge")).to_be_visible()
        model.say("One.")
        await page.ask_and_wait("First")
        assert "The text of calm/tone." in model.requests[0].contents, "the last good version stays"

        (hooks / "hooks.json").write_text(before[hooks / "hooks.json"])
        await expect(panel.locator(".diagnostic")).to_have_count(0)
        await page.clear()
        told = page.count("skills")
        (hooks / "tone.md").write_text("A new tone.")
        while "A new tone." not in model.requests[-1].contents:  # a file may be read before all is written
            await page.until(lambda: page.count("skills") > told)  # noqa: B023  # awaited here
            told = page.count("skills")
            model.say("Two.")
            await page.ask_and_wait(f"Now {told} times")
    finally:
        for file, content in before.items():
            file.write_text(content)


async def test_a_skill_that_is_off_by_default_is_switched_on_in_the_panel(
    page: ParleyPage, model: OpenAIServer, skills: Path
) -> None:
    for answer in ("One.", "Two."):
        model.say(answer)
    panel = await page.open_panel("Skills")
    try:
        write_skill(skills, "asleep", "Yawns.\ndefault: off", {"yawn": ("after_user_input", False)})
        switch = panel.get_by_role("switch", name="asleep")
        await expect(switch).not_to_be_checked()
        await page.ask_and_wait("First")
        await switch.press("Space")
        await expect(switch).to_be_checked()
        await page.ask_and_wait("Second")
    finally:
        shutil.rmtree(skills / "asleep")

    assert ["The text of asleep/yawn." in request.contents for request in model.requests] == [False, True]


async def test_after_a_save_the_tests_of_a_skill_run_and_the_panel_says_which_fail(
    page: ParleyPage, skills: Path
) -> None:
    tests = skills / "calm" / "tests"
    panel = await page.open_panel("Skills")
    try:
        tests.mkdir()
        right = "  - {name: is read, user: hello, expect: {reads: [{contains: The text of calm/tone.}]}}\n"
        wrong = "  - {name: is not read, user: hello, expect: {reads: [{lacks: The text of calm/tone.}]}}\n"
        (tests / "a.yaml").write_text(f"tests:\n{right}{wrong}")
        failing = panel.get_by_text("1 of 2 tests fails")
        await expect(failing).to_be_visible()
        await failing.click()
        await expect(panel.locator(".tests")).to_contain_text("is not read")
        await expect(panel.locator(".tests pre")).to_contain_text("The text of calm/tone.")

        (tests / "a.yaml").write_text(f"tests:\n{right}")
        await expect(panel.get_by_text("1 test passed.")).to_be_visible()
    finally:
        shutil.rmtree(tests)


async def test_a_switch_narrows_the_skills_of_the_next_turn_and_survives_a_reload(
    page: ParleyPage, model: OpenAIServer
) -> None:
    panel = await page.open_panel("Skills")
    await panel.get_by_role("switch", name="calm").uncheck()
    await page.tab.reload()
    panel = await page.open_panel("Skills")
    await expect(panel.get_by_role("switch", name="calm")).not_to_be_checked()
    await expect(panel.get_by_role("switch", name="clock")).to_be_checked()

    model.say("Hi.")
    await page.ask_and_wait("Hello")

    assert "The text of calm/tone." not in model.requests[0].contents
    await expect(page.hooks).to_have_count(0)


async def test_the_inspector_shows_what_each_call_read_and_what_did_not_fire(
    page: ParleyPage, model: OpenAIServer
) -> None:
    model.say("Hi.")
    await page.ask_and_wait("Hello")
    panel = await page.open_panel("Inspector")

    call = panel.locator(".call")
    await expect(call).to_have_count(1)
    await expect(call).to_contain_text("Planning")
    hooks = call.locator(".is-hook")
    await expect(hooks).to_have_count(2)
    await expect(hooks.first).to_contain_text(re.compile(r"calm / tone.*after_user_input.*persistent"))
    await expect(hooks.nth(1)).to_contain_text(re.compile(r"clock / plan.*before_planning"))
    await expect(panel.locator(".not-fired")).to_contain_text("clock / zone")
    await hooks.first.locator("summary").click()
    await expect(hooks.first.locator("pre")).to_have_text("The text of calm/tone.")
    read = await call.locator(".read-message").count()
    assert read == len(model.requests[0].messages)


async def test_both_panels_say_what_hooks_cost_and_which_of_them_costs_the_cache(
    page: ParleyPage, model: OpenAIServer, skills: Path
) -> None:
    """In round 1, `dear/now` stands before `dear/first`, which stays when it leaves."""
    panel = await page.open_panel("Skills")
    try:
        hooks = {"first": ("before_first_agent", False), "now": ("before_each_agent", False)}
        write_skill(skills, "dear", "Costs the cache.", hooks)
        dear = panel.locator(".skill", has_text="Costs the cache.")
        await expect(dear).to_be_visible()
        model.queue(text("<need_tool>"), calls(("current_time", {})), text("Noon."))
        await page.ask_and_wait("What time is it?")
        model.queue(text("Yes.", usage=Tokens(prompt=600, cached=321)))
        await page.ask_and_wait("Really?")

        await dear.locator("summary").first.click()
        await expect(dear).to_contain_text("2 hooks, ≈ 26 tokens in this conversation")
        now = dear.locator(".hooks li", has_text="now")
        await expect(now).to_contain_text("≈ 12 tokens in 2 calls")
        await expect(now).to_contain_text("costs the cache ≈ 7 tokens in 1 of 3 calls")
        await expect(now).to_contain_text("Last fired 1 turn ago. Not in the last turn: not reached: no agent loop")
        await now.get_by_text("Text", exact=True).click()
        await expect(now.locator("pre")).to_have_text("The text of dear/now.")
        await expect(panel.locator(".hooks li", has_text="tone")).to_contain_text("Fired in the last turn.")

        panel = await page.open_panel("Inspector")
        costs = panel.locator(".hook-costs")
        await costs.locator("summary").click()
        await expect(costs.locator("li").first).to_contain_text("calm / tone")
        await expect(costs.locator("li", has_text="costs the cache")).to_contain_text(re.compile("^dear / now"))
        last = panel.locator(".call-cost").first
        await expect(last).to_contain_text(
            re.compile(r"the call before: \d+ % \(≈ \d+ tokens\), up to dear / first\. ")
        )
        await expect(last).to_contain_text("took 321 tokens from its cache")
        await panel.locator(".trace-title", has_text="What time is it?").click()
        lost = panel.locator(".call-cost", has_text="Without it, ≈ 7 more tokens would be the same.")
        await expect(lost).to_contain_text("up to dear / now.")
    finally:
        shutil.rmtree(skills / "dear", ignore_errors=True)


async def test_without_tools_the_model_gets_none(page: ParleyPage, model: OpenAIServer) -> None:
    panel = await page.open_panel("Settings")
    await panel.get_by_role("switch", name=re.compile("Tools")).uncheck()
    model.say("Hi.")

    await page.ask_and_wait("Hello")

    assert len(model.requests) == 1
    assert not any("need_tool" in str(content) for content in model.requests[0].contents)


async def test_a_button_in_the_header_stays_where_it_was_pressed_and_the_menu_opens_right_below_its_own(
    page: ParleyPage,
) -> None:
    for name in ("Skills", "More"):
        await page.button(name).hover()
        before = await page.button(name).bounding_box()
        await page.button(name).click()
        assert await page.button(name).bounding_box() == before

    button = await page.button("More").bounding_box()
    menu = await page.tab.locator(".menu").bounding_box()
    assert button
    assert menu
    assert menu["y"] == button["y"] + button["height"]
    assert menu["x"] + menu["width"] == button["x"] + button["width"]


async def test_a_panel_can_be_widened_and_the_next_one_is_as_wide(page: ParleyPage) -> None:
    panel = await page.open_panel("Inspector")
    width = "element => element.getBoundingClientRect().width"
    narrow = await panel.evaluate(width)
    await page.button("Widen").click()
    await expect(page.button("Widen")).to_have_attribute("aria-pressed", "true")
    wide = await panel.evaluate(width)
    assert wide > 1.5 * narrow

    panel = await page.open_panel("Skills")
    assert await panel.evaluate(width) == wide


async def test_the_page_is_read_in_the_language_that_is_chosen(page: ParleyPage) -> None:
    await page.open_panel("Settings")
    await page.tab.locator("[data-name=pageLanguage]").select_option("zh-CN")
    await expect(page.tab.locator("#input")).to_have_attribute("placeholder", "输入消息")
    await expect(page.tab.locator("html")).to_have_attribute("lang", "zh-CN")

    await page.choose("设置")
    await page.tab.locator("[data-name=pageLanguage]").select_option("en")
    await expect(page.tab.locator("#input")).to_have_attribute("placeholder", "Write a message")


async def test_a_panel_in_a_tab_of_its_own_follows_the_page_and_goes_with_it(
    page: ParleyPage, model: OpenAIServer, tmp_path: Path
) -> None:
    model.queue(text("Hi."), text("Bye."))
    await page.ask_and_wait("Hello")
    await page.open_panel("Inspector")
    async with page.context.expect_page() as opened:
        await page.button("Open in a tab").click()
    inspector = await opened.value
    await expect(page.tab.get_by_role("complementary")).to_have_count(0)
    await expect(inspector.locator(".trace")).to_have_count(1)
    await expect(inspector).to_have_title("Inspector · Parley")
    await inspector.screenshot(path=tmp_path / "tab.png")

    await page.ask_and_wait("Goodbye")
    await expect(inspector.locator(".trace")).to_have_count(2)
    await inspector.reload()
    await expect(inspector.locator(".trace")).to_have_count(2)
    await page.tab.get_by_role("button", name="What the model read").first.click()
    await expect(inspector.locator(".trace")).to_have_count(1)
    await expect(page.tab.get_by_role("complementary")).to_have_count(0)
    await inspector.get_by_role("button", name="Show all turns").click()
    await expect(inspector.locator(".trace")).to_have_count(2)

    await page.open_panel("Skills")
    async with page.context.expect_page() as opened:
        await page.button("Open in a tab").click()
    skills = await opened.value
    await skills.get_by_role("switch", name="calm").uncheck()
    panel = await page.open_panel("Skills")
    await expect(panel.get_by_role("switch", name="calm")).not_to_be_checked()

    async with inspector.expect_event("close"), skills.expect_event("close"):
        await page.tab.reload()


async def test_a_panel_s_address_alone_leads_to_the_page(page: ParleyPage) -> None:
    await page.tab.goto(f"{page.url}/panel.html")

    await expect(page.input).to_be_visible()
