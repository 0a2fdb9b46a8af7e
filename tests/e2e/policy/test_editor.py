"""The policy editor, as operators and users meet it in a real browser."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.async_api import Route, expect

from tests.e2e.parley_page import ParleyPage
from tests.e2e.policy.policy_page import AUDIT, ZONE, Opened, editor, save, store, stored, write, written
from tests.support.openai_script import calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ROOT, ServerProcess, endpoint

SCAN = {"type": "security_scan"}
OFF = {"tool_skip": {"enabled": False}}
ANNA = "annas-token-0123456789"
OLGA = "olgas-token-0123456789"
GROUND = "getComputedStyle(document.body).backgroundColor"
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


async def test_a_policy_that_is_saved_stops_the_next_dangerous_call(
    opened: Opened, new_page: Callable[[str], ParleyPage], governed: ServerProcess, model: OpenAIServer
) -> None:
    tab = await opened("policy")
    await write(tab, {"pre_tool_use": [{"type": "dangerous_confirmation", "config": {"always": ["current_time"]}}]})
    await save(tab)

    page = new_page(governed.url)
    await page.open()
    model.queue(calls(("current_time", ZONE)), text("Done."))
    await page.ask("What time is it?")
    await expect(page.tab.get_by_role("alertdialog", name="Allow current_time?")).to_be_visible()
    await page.button("Don't allow").click()
    await page.idle()
    result = next(m["content"] for m in reversed(model.requests[-1].messages) if m["role"] == "tool")
    assert "Tokyo" not in str(result)


async def test_three_switches_write_what_is_recommended_by_keyboard_and_can_be_undone(
    opened: Opened, governed: ServerProcess
) -> None:
    tab = await opened("policy")
    for name in ("Keep an audit log", "Ask before dangerous calls", "Hide secrets"):
        switch = tab.get_by_role("switch", name=name)
        await switch.press("Space")
        await expect(switch).to_be_checked()
        await expect(switch).to_be_focused()
    await editor(tab).focus()
    await tab.keyboard.press("ControlOrMeta+z")
    await expect(tab.get_by_role("switch", name="Hide secrets")).not_to_be_checked()
    await tab.keyboard.press("ControlOrMeta+y")
    await tab.keyboard.press("ControlOrMeta+s")
    await expect(tab.get_by_role("status")).to_contain_text("Saved: version")

    in_force = {name: [one["type"] for one in stage["handlers"]] for name, stage in (await stored(governed)).items()}
    assert in_force == {
        "pre_tool_use": ["audit_log", "dangerous_confirmation"],
        "post_tool_use": ["security_scan", "audit_log"],
        "tool_error": ["audit_log"],
        "tool_skip": ["audit_log"],
    }


async def test_a_handler_is_written_with_the_suggestions_of_its_kind(opened: Opened, governed: ServerProcess) -> None:
    tab = await opened("policy")
    await write(tab, "{}")
    await tab.keyboard.press("ArrowLeft")
    selected = tab.get_by_role("listbox").get_by_role("option", selected=True)

    async def suggested(typed: str, label: str) -> None:
        await tab.keyboard.type(typed)
        await expect(selected).to_contain_text(label)
        await tab.keyboard.press("Enter")

    await suggested('"post', "post_tool_use")
    await suggested('"ty', "type")
    await suggested("scan", "security_scan")
    await suggested(', "conf', "config")
    await suggested('"arg', "arguments")
    await suggested("de", "deny")
    assert await written(tab) == {"post_tool_use": [{"type": "security_scan", "config": {"arguments": "deny"}}]}
    await tab.keyboard.press("Escape")
    await expect(tab.get_by_role("button", name="Save", exact=True)).to_be_focused()
    await save(tab)
    assert (await stored(governed))["post_tool_use"]["handlers"][0]["config"] == {"arguments": "deny"}


async def test_a_mistake_is_marked_at_its_line_while_it_is_written(opened: Opened) -> None:
    tab = await opened("policy")
    await write(tab, '{"tool_skip": [')
    await expect(tab.locator("#problems")).to_contain_text("not valid JSON")
    await expect(tab.get_by_role("button", name="Save", exact=True)).to_be_disabled()
    await write(tab, '{"pre_tool_use": [\n{"type": "dangerous_confirmation",\n "config": {"patterns": ["re:("]}}]}')

    await expect(tab.locator("#problems")).to_contain_text(
        "$.pre_tool_use[0].config not accepted by the server: `re:(` is not a valid"
    )
    await expect(editor(tab)).to_have_attribute("aria-invalid", "true")
    await expect(tab.locator(".cm-lintRange-error")).to_have_text('"config": {"patterns": ["re:("]}}]}')
    await tab.get_by_role("button", name="Line 3").click()
    await expect(editor(tab)).to_be_focused()
    await tab.keyboard.type('"config": {}}]}')
    await expect(tab.locator("#problems")).to_be_hidden()
    await save(tab)


async def test_without_codemirror_it_is_a_text_field_with_the_server_s_problems(
    opened: Opened, governed: ServerProcess
) -> None:
    tab = await opened("policy")
    await tab.route("**/vendor/codemirror/*", lambda route: route.fulfill(status=404))
    await tab.reload()
    await tab.get_by_role("switch", name="Hide secrets").check()
    field = editor(tab)
    assert await field.evaluate("(field) => [field.localName, JSON.parse(field.value)]") == [
        "textarea",
        {"post_tool_use": [{"type": "security_scan"}]},
    ]
    await field.fill('{"tool_skip": [\n{"type": "nothing"}]}')
    await expect(tab.locator("#problems")).to_contain_text("There is no handler `nothing`")
    await tab.get_by_role("button", name="Line 2").click()
    await tab.keyboard.type('{"type": "audit_log"}]}')
    await save(tab)
    assert (await stored(governed))["tool_skip"]["handlers"][0]["type"] == "audit_log"


async def test_operators_choose_whom_a_policy_applies_to(opened: Opened, governed: ServerProcess) -> None:
    tab = await opened("policy")
    await tab.get_by_label("Applies to").select_option("everyone")
    await write(tab, OFF)
    await save(tab)
    await tab.get_by_label("Applies to").select_option("only me")
    await tab.get_by_text("In force now").click()
    await expect(tab.locator(".in-force pre")).to_contain_text('"enabled": false')

    assert await stored(governed) == {}
    assert (await stored(governed, "operator"))["tool_skip"]["enabled"] is False


async def test_a_save_whose_answer_was_lost_is_tried_again(opened: Opened, governed: ServerProcess) -> None:
    tab = await opened("policy")
    await write(tab, OFF)

    async def lose_the_answer(route: Route) -> None:
        if route.request.method == "POST":
            await route.fetch()
            await route.abort()
        else:
            await route.continue_()

    await tab.route("**/api/hooks/config*", lose_the_answer)
    await tab.get_by_role("button", name="Save", exact=True).click()
    await expect(tab.get_by_role("alert").filter(has_text="cannot be reached")).to_be_visible()
    await tab.unroute("**/api/hooks/config*")
    await tab.get_by_role("button", name="Try again").press("Enter")

    await expect(tab.get_by_role("status")).to_have_text("Already saved. Applies from the next turn.")
    await expect(tab.get_by_role("heading", name="Tool policy")).to_be_focused()  # the button is gone
    assert (await stored(governed))["tool_skip"]["enabled"] is False


async def test_what_was_changed_elsewhere_is_compared_and_not_overwritten(
    opened: Opened, governed: ServerProcess
) -> None:
    await store(governed, {"tool_error": [AUDIT]})
    tab = await opened("policy")
    await write(tab, {"tool_error": [AUDIT, {"type": "security_scan"}]})
    await store(governed, {"tool_error": [AUDIT], "tool_skip": [AUDIT]})
    await tab.get_by_role("button", name="Save", exact=True).click()

    await expect(tab.get_by_text("changed elsewhere since you loaded it")).to_be_visible()
    assert "tool_skip" in await stored(governed)
    await expect(tab.locator(".diff-added").filter(has_text="security_scan")).to_be_visible()
    await expect(tab.locator(".diff-removed").filter(has_text="tool_skip")).to_be_visible()
    await tab.get_by_role("button", name="Keep mine").click()
    await save(tab)

    assert list(await stored(governed)) == ["tool_error"]


async def test_the_readme_s_yaml_is_pasted_or_picked_as_a_file(
    opened: Opened, governed: ServerProcess, tmp_path: Path
) -> None:
    readme = (ROOT / "README.md").read_text("utf-8").split("## What tools may do")[1]
    yaml = readme.split("```yaml\n")[1].split("```")[0]
    tab = await opened("policy")
    await write(tab, "hooks: {tool_skip: [{type: audit}]}")
    await tab.get_by_role("button", name="Read YAML").click()
    await expect(tab.locator("#problems")).to_contain_text("there is no handler `audit`", ignore_case=True)
    await write(tab, yaml)
    await tab.get_by_role("button", name="Read YAML").click()
    await expect(tab.get_by_role("button", name="Save", exact=True)).to_be_focused()
    assert [one["type"] for one in (await written(tab))["pre_tool_use"]] == ["audit_log", "dangerous_confirmation"]

    await write(tab, "{}")
    file = tmp_path / "parley.yaml"
    file.write_text(yaml)
    await tab.get_by_label("From a file").set_input_files(file)
    await expect(tab.get_by_role("button", name="Save", exact=True)).to_be_focused()
    await save(tab)
    assert [one["type"] for one in (await stored(governed))["post_tool_use"]["handlers"]] == [
        "security_scan",
        "audit_log",
    ]


async def test_the_page_is_in_the_language_of_the_main_page(opened: Opened, tmp_path: Path) -> None:
    tab = await opened("policy")
    await tab.evaluate("localStorage.setItem('parley.settings', JSON.stringify({pageLanguage: 'zh-CN'}))")
    await tab.reload()

    await expect(tab.get_by_role("heading", name="工具策略")).to_be_visible()
    await expect(tab).to_have_title("工具策略 · Parley")
    await expect(tab.locator("html")).to_have_attribute("lang", "zh-CN")
    await tab.screenshot(path=tmp_path / "zh.png")
    for name in ("审计日志", "已记住的批准"):
        await tab.get_by_role("link", name=name).click()
        await expect(tab.get_by_role("heading", name=name)).to_be_visible()
    await expect(tab.get_by_text("没有。工具询问")).to_be_visible()


async def test_a_user_sees_what_the_operator_has_locked_and_only_operators_may_lock(
    opened: Opened, tmp_path: Path, model: OpenAIServer
) -> None:
    people = [{"user": "anna", "token": ANNA}, {"user": "olga", "token": OLGA, "operator": True}]
    hooks = {"pre_tool_use": [{**AUDIT, "locked": True}]}
    settings = {"security": {"trust_loopback": False, "tokens": people}, "hooks": hooks}
    folder = tmp_path / "people"
    folder.mkdir()
    async with ServerProcess(folder, environ=endpoint(model.url), settings=settings) as server:
        tab = await opened("policy", server.url)
        await tab.get_by_label("Access token").fill(OLGA)
        await tab.get_by_role("button", name="Log in").click()
        await expect(tab).to_have_url(f"{server.url}/policy.html#/policy")
        await tab.get_by_label("Applies to").select_option("everyone")
        await write(tab, {"tool_skip": [{**AUDIT, "locked": True}], "post_tool_use": [{**SCAN, "locked": True}]})
        await save(tab)
        await tab.context.clear_cookies()

        await tab.goto(f"{server.url}/policy.html#/policy")
        await tab.reload()
        await tab.get_by_label("Access token").fill(ANNA)
        await tab.get_by_role("button", name="Log in").click()
        locked = tab.get_by_role("switch", name="Hide secrets")
        await expect(locked).to_be_checked()
        await expect(locked).to_be_disabled()
        await expect(tab.get_by_text("Locked by the operator")).to_be_visible()
        await expect(tab.get_by_role("switch", name="Keep an audit log")).not_to_be_checked()
        await tab.get_by_text("In force now").click()
        await expect(tab.locator(".in-force")).to_contain_text("What is locked always stays")
        await expect(tab.get_by_text("Applies to")).to_have_count(0)
        await write(tab, {"tool_error": [{**AUDIT, "locked": True}]})
        await expect(tab.locator("#problems")).to_contain_text("$.tool_error[0].locked")
        await write(tab, OFF)
        await save(tab)
        await expect(locked).to_be_checked()

        # the session ends meanwhile
        await write(tab, {"tool_error": [AUDIT]})
        await tab.context.clear_cookies()
        await tab.get_by_role("button", name="Save", exact=True).click()
        await expect(tab.get_by_role("alert").filter(has_text="no longer logged in")).to_be_visible()
        async with tab.context.expect_page() as opening:
            await tab.get_by_role("link", name="Log in").click()
        login = await opening.value
        await login.get_by_label("Access token").fill(ANNA)
        await login.get_by_role("button", name="Log in").click()
        await expect(login.locator(".model")).to_be_visible()
        await login.close()
        await save(tab)


async def test_leaving_with_changes_asks_first(opened: Opened) -> None:
    tab = await opened("policy")
    await write(tab, OFF)
    async with tab.expect_event("dialog") as asked:
        await tab.evaluate("setTimeout(() => location.reload())")
    dialog = await asked.value
    assert dialog.type == "beforeunload"
    await dialog.dismiss()
    await expect(tab.get_by_text("Unsaved changes.")).to_be_visible()
    await tab.get_by_role("link", name="Audit log").click()
    await tab.get_by_role("link", name="Tool policy").click()
    await expect(tab.get_by_text("Unsaved changes.")).to_be_visible()

    async with tab.expect_event("dialog") as asked:
        await tab.evaluate("setTimeout(() => document.querySelector('[data-action=choose_scope]').click())")
    dialog = await asked.value
    assert dialog.message == "Discard your unsaved changes?"
    await dialog.dismiss()
    await tab.get_by_label("Applies to").select_option("everyone")  # without a listener, the answer is no
    await expect(tab.get_by_label("Applies to")).to_have_value("user")
    await write(tab, {})
    await expect(tab.get_by_role("button", name="Save", exact=True)).to_be_disabled()


async def test_a_server_that_is_away_is_said_and_tried_again(opened: Opened, governed: ServerProcess) -> None:
    tab = await opened("policy")
    await write(tab, OFF)
    await tab.context.set_offline(True)
    await tab.get_by_role("button", name="Save", exact=True).click()
    await expect(tab.get_by_role("alert").filter(has_text="cannot be reached")).to_be_visible()
    await tab.get_by_role("link", name="Audit log").click()
    await expect(tab.get_by_role("heading", name="Audit log")).to_be_visible()
    await expect(tab.get_by_role("alert").filter(has_text="cannot be reached")).to_be_visible()

    await tab.context.set_offline(False)
    await tab.get_by_role("button", name="Try again").click()
    await expect(tab.get_by_role("alert")).to_have_count(0)
    await tab.get_by_role("link", name="Tool policy").click()
    await save(tab)
    assert (await stored(governed))["tool_skip"]["enabled"] is False


@pytest.mark.parametrize("view", ["policy", "audit", "approvals"])
async def test_each_view_can_be_used_on_a_phone_and_in_the_dark(
    opened: Opened, governed: ServerProcess, view: str
) -> None:
    long = {"type": "audit_log", "filter": {"tools": ["a" * 200], "arguments": {"b" * 100: "c" * 100}}}
    await store(governed, {"pre_tool_use": [{**long, "locked": True}]}, scope="operator")
    await store(governed, {"tool_skip": [long]})
    tab = await opened(view)
    await expect(tab.get_by_role("heading", level=2)).to_be_visible()
    light = await tab.evaluate(GROUND)
    await tab.emulate_media(color_scheme="dark")
    assert await tab.evaluate(GROUND) != light
    await tab.set_viewport_size({"width": 320, "height": 640})
    if view == "policy":
        await expect(editor(tab)).to_contain_text("a" * 200)
    if view == "audit":
        await expect(tab.get_by_role("table")).to_be_visible()
        await tab.get_by_role("button", name=re.compile("^More: ")).first.click()

    assert await tab.evaluate(OVERFLOW) == 0


async def test_the_settings_lead_to_the_policy_in_another_tab(page: ParleyPage) -> None:
    panel = await page.open_panel("Settings")
    async with page.context.expect_page() as opening:
        await panel.get_by_role("link", name=re.compile("Tool policy")).click()

    await expect((await opening.value).get_by_role("heading", name="Tool policy")).to_be_visible()
