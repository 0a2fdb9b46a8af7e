"""The policy editor, as operators and users meet it in a real browser."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.async_api import Route, expect

from tests.e2e.parley_page import ParleyPage
from tests.e2e.policy.policy_page import AUDIT, ZONE, Opened, add, handlers, save, stage, store, stored, types
from tests.support.openai_script import calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ROOT, ServerProcess, endpoint

ANNA = "annas-token-0123456789"
OLGA = "olgas-token-0123456789"
GROUND = "getComputedStyle(document.body).backgroundColor"
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


async def test_a_policy_that_is_saved_stops_the_next_dangerous_call(
    opened: Opened, new_page: Callable[[str], ParleyPage], governed: ServerProcess, model: OpenAIServer
) -> None:
    tab = await opened("policy")
    await stage(tab, "pre_tool_use").locator("select").select_option("Own rules")
    handler = await add(tab, "pre_tool_use", "dangerous_confirmation")
    await handler.locator("summary").click()
    await handler.get_by_label("Settings").fill('{"always": ["current_time"]}')
    await save(tab)

    page = new_page(governed.url)
    await page.open()
    model.queue(calls(("current_time", ZONE)), text("Done."))
    await page.ask("What time is it?")
    await expect(page.tab.get_by_role("alertdialog", name="May current_time run?")).to_be_visible()
    await page.button("Don't allow").click()
    await page.idle()
    result = next(m["content"] for m in reversed(model.requests[-1].messages) if m["role"] == "tool")
    assert "Tokyo" not in str(result)


async def test_one_button_fills_in_what_is_recommended(opened: Opened, governed: ServerProcess) -> None:
    tab = await opened("policy")
    button = tab.get_by_role("button", name="Recommended: ask before dangerous calls, hide secrets, keep an audit log")
    await expect(stage(tab, "pre_tool_use").get_by_text("No rules.")).to_be_visible()
    await button.press("Enter")
    assert await types(tab, "pre_tool_use") == ["audit_log", "dangerous_confirmation"]
    await expect(tab.get_by_role("button", name="Save", exact=True)).to_be_focused()
    await tab.get_by_role("button", name="Undo").click()
    await expect(tab.get_by_text("Unsaved changes.")).to_have_count(0)
    await button.click()
    await save(tab)

    in_force = {name: [one["type"] for one in stage["handlers"]] for name, stage in (await stored(governed)).items()}
    assert in_force == {
        "pre_tool_use": ["audit_log", "dangerous_confirmation"],
        "post_tool_use": ["security_scan", "audit_log"],
        "tool_error": ["audit_log"],
        "tool_skip": ["audit_log"],
    }
    await expect(button).to_have_count(0)


async def test_operators_choose_whom_a_policy_applies_to(opened: Opened, governed: ServerProcess) -> None:
    tab = await opened("policy")
    await tab.get_by_label("Applies to").select_option("everyone")
    await stage(tab, "tool_skip").locator("select").select_option("Off")
    await save(tab)
    await tab.get_by_label("Applies to").select_option("only me")
    await expect(stage(tab, "tool_skip").locator("select").locator("option:checked")).to_have_text(
        "As set by the operator"
    )

    assert await stored(governed) == {}
    assert (await stored(governed, "operator"))["tool_skip"]["enabled"] is False


async def test_handlers_are_ordered_with_the_keyboard_alone(opened: Opened, governed: ServerProcess) -> None:
    await store(governed, {"post_tool_use": [AUDIT, {"type": "security_scan"}]})
    tab = await opened("policy")
    up = tab.get_by_role("button", name="Move up: security_scan")
    await up.focus()
    await tab.keyboard.press("Enter")
    assert await types(tab, "post_tool_use") == ["security_scan", "audit_log"]
    focused = await tab.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused == "Move down: security_scan", "up has no further use; the focus is not lost"
    await expect(tab.get_by_role("log")).to_contain_text("security_scan is number 1 of 2")

    await tab.keyboard.press("Control+s")
    await expect(tab.get_by_role("status")).to_contain_text("Saved: version")
    assert [handler["type"] for handler in (await stored(governed))["post_tool_use"]["handlers"]] == [
        "security_scan",
        "audit_log",
    ]


async def test_who_saves_while_typing_types_on(opened: Opened, governed: ServerProcess) -> None:
    scan = {"type": "security_scan"}
    await store(governed, {"tool_error": [scan, {**AUDIT, "filter": {"tools": ["read"]}}]})
    tab = await opened("policy")
    tools = handlers(tab, "tool_error").last.get_by_label("Tools")
    await tools.press("End")
    await tab.keyboard.type("_f")
    await tab.keyboard.press("Control+s")
    await expect(tab.get_by_role("status")).to_contain_text("Saved: version")
    await tab.keyboard.type("*")

    await expect(tools).to_have_value("read_f*")
    await expect(tab.get_by_text("Unsaved changes.")).to_be_visible()
    await tab.get_by_role("button", name="Save", exact=True).press("Enter")
    await expect(tab.get_by_role("status")).to_contain_text("Saved: version")
    await expect(tab.get_by_role("button", name="Save", exact=True)).to_be_focused()


async def test_a_save_whose_answer_was_lost_is_tried_again(opened: Opened, governed: ServerProcess) -> None:
    tab = await opened("policy")
    await stage(tab, "tool_skip").locator("select").select_option("Off")

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


async def test_filters_are_stored_as_they_are_filled_in(opened: Opened, governed: ServerProcess) -> None:
    tab = await opened("policy")
    await stage(tab, "tool_skip").locator("select").select_option("Own rules")
    handler = await add(tab, "tool_skip", "audit_log")
    await handler.locator("summary").click()
    await handler.get_by_label("Tools").fill("read_*\nre:^a{1,2}$")
    await handler.get_by_label("WRITE").check()
    await handler.get_by_role("button", name="Add an argument").click()
    await tab.keyboard.type("path")
    await handler.get_by_label("Pattern for path").fill("*.env")
    await save(tab)

    [kept] = (await stored(governed))["tool_skip"]["handlers"]
    assert kept["filter"] == {
        "tools": ["read_*", "re:^a{1,2}$"],
        "permissions": ["WRITE"],
        "arguments": {"path": "*.env"},
    }
    await tab.reload()
    await expect(handlers(tab, "tool_skip").get_by_label("Tools")).to_have_value("read_*\nre:^a{1,2}$")


async def test_what_the_server_refuses_is_said_at_its_field_and_nothing_is_lost(opened: Opened) -> None:
    tab = await opened("policy")
    await stage(tab, "pre_tool_use").locator("select").select_option("Own rules")
    handler = await add(tab, "pre_tool_use", "dangerous_confirmation")
    await handler.locator("summary").click()
    settings = handler.get_by_label("Settings")
    await settings.fill("{")
    await expect(handler.locator("p.problem")).to_contain_text("not valid JSON")
    await expect(tab.get_by_role("button", name="Save", exact=True)).to_be_disabled()
    await settings.fill('{"colour": 1}')
    await tab.get_by_role("button", name="Save", exact=True).click()
    await expect(handler.locator("p.problem")).to_contain_text("known: always, never, patterns, timeout_s")
    await settings.fill('{"patterns": ["re:("]}')
    await tab.get_by_role("button", name="Save", exact=True).click()

    await expect(handler.locator("p.problem")).to_contain_text("not a valid regular expression")
    await expect(settings).to_be_focused()
    await expect(settings).to_have_attribute("aria-invalid", "true")
    await expect(settings).to_have_accessible_description(re.compile("not a valid regular expression"))
    await expect(settings).to_have_value('{"patterns": ["re:("]}')
    await settings.fill("")
    await save(tab)


async def test_what_was_changed_elsewhere_is_compared_and_not_overwritten(
    opened: Opened, governed: ServerProcess
) -> None:
    await store(governed, {"tool_error": [AUDIT]})
    tab = await opened("policy")
    await add(tab, "tool_error", "security_scan")
    await store(governed, {"tool_error": [AUDIT], "tool_skip": [AUDIT]})
    await tab.get_by_role("button", name="Save", exact=True).click()

    await expect(tab.get_by_text("changed elsewhere since you loaded it")).to_be_visible()
    assert "tool_skip" in await stored(governed)
    assert await types(tab, "tool_error") == ["audit_log", "security_scan"], "the changes are kept"
    await expect(tab.locator(".difference")).to_have_count(2)
    await expect(tab.locator(".diff-added").filter(has_text="security_scan")).to_be_visible()
    await tab.get_by_role("button", name="Use the stored version of tool_skip").click()
    await tab.get_by_role("button", name="Keep mine").click()
    await save(tab)

    kept = await stored(governed)
    assert sorted(kept) == ["tool_error", "tool_skip"]
    assert len(kept["tool_error"]["handlers"]) == 2


async def test_the_document_can_be_written_as_json(opened: Opened, governed: ServerProcess) -> None:
    tab = await opened("policy")
    await tab.get_by_role("button", name="JSON or YAML", exact=True).click()
    field = tab.get_by_label("The policy document, as JSON")
    await field.fill('{"tool_skip": [')
    await expect(tab.locator("#problems")).to_contain_text("not valid JSON")
    await field.fill('{"tool_skip": [{"typ": "audit_log"}]}')
    await tab.get_by_role("button", name="Save", exact=True).click()
    await expect(tab.locator("#problems")).to_contain_text("$.tool_skip[0].typ")
    await field.fill('{"tool_skip": [{"type": "audit_log"}]}')
    await save(tab)

    assert (await stored(governed))["tool_skip"]["handlers"][0]["type"] == "audit_log"
    await tab.get_by_role("button", name="Form", exact=True).click()
    assert await types(tab, "tool_skip") == ["audit_log"]


async def test_the_readme_s_yaml_is_pasted_or_picked_as_a_file(
    opened: Opened, governed: ServerProcess, tmp_path: Path
) -> None:
    readme = (ROOT / "README.md").read_text("utf-8").split("## What tools may do")[1]
    yaml = readme.split("```yaml\n")[1].split("```")[0]
    tab = await opened("policy")
    await tab.get_by_role("button", name="JSON or YAML", exact=True).click()
    field = tab.get_by_label("The policy document, as JSON or YAML")
    await field.fill("hooks: {tool_skip: [{type: audit}]}")
    await tab.get_by_role("button", name="Read YAML").click()
    await expect(tab.locator("#problems")).to_contain_text("there is no handler `audit`", ignore_case=True)
    await tab.screenshot(path=tmp_path / "yaml.png")
    await field.fill(yaml)
    await tab.get_by_role("button", name="Read YAML").click()
    await expect(tab.get_by_role("button", name="Save", exact=True)).to_be_focused()
    assert await types(tab, "pre_tool_use") == ["audit_log", "dangerous_confirmation"]
    await tab.get_by_role("button", name="Undo").click()
    assert await types(tab, "pre_tool_use") == []

    file = tmp_path / "parley.yaml"
    file.write_text(yaml)
    await tab.get_by_role("button", name="JSON or YAML", exact=True).click()
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
        await expect(stage(tab, "pre_tool_use").locator(".sketch")).to_contain_text("Locked in parley.yaml")
        await stage(tab, "tool_skip").locator("select").select_option("Own rules")
        handler = await add(tab, "tool_skip", "audit_log")
        await handler.locator("summary").click()
        await handler.get_by_role("switch", name="Locked").check()
        await save(tab)
        await tab.context.clear_cookies()

        await tab.goto(f"{server.url}/policy.html#/policy")
        await tab.reload()
        await tab.get_by_label("Access token").fill(ANNA)
        await tab.get_by_role("button", name="Log in").click()
        for name in ("pre_tool_use", "tool_skip"):
            await expect(stage(tab, name).locator(".sketch")).to_contain_text("Locked by the operator")
        await expect(tab.get_by_text("Applies to")).to_have_count(0)
        await stage(tab, "tool_skip").locator("select").select_option("Off")
        await save(tab)
        await expect(stage(tab, "tool_skip").locator(".sketch")).to_contain_text("Locked by the operator")

        # the session ends meanwhile
        await stage(tab, "tool_error").locator("select").select_option("Own rules")
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
    await stage(tab, "pre_tool_use").locator("select").select_option("Off")
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
    await tab.get_by_role("button", name="Undo").click()
    await expect(tab.get_by_role("button", name="Save", exact=True)).to_be_disabled()


async def test_a_server_that_is_away_is_said_and_tried_again(opened: Opened, governed: ServerProcess) -> None:
    tab = await opened("policy")
    await stage(tab, "tool_skip").locator("select").select_option("Off")
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
        await expect(handlers(tab, "tool_skip").get_by_label("Tools")).to_be_visible()
    if view == "audit":
        await expect(tab.get_by_role("table")).to_be_visible()
        await tab.get_by_role("button", name=re.compile("Details")).first.click()

    assert await tab.evaluate(OVERFLOW) == 0


async def test_the_settings_lead_to_the_policy_in_another_tab(page: ParleyPage) -> None:
    panel = await page.open_panel("Settings")
    async with page.context.expect_page() as opening:
        await panel.get_by_role("link", name=re.compile("Tool policy")).click()

    await expect((await opening.value).get_by_role("heading", name="Tool policy")).to_be_visible()
