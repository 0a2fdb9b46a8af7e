"""Text that would be markup elsewhere stays text: in a reply, a hook, a tool result, a skill's name, a title."""

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.async_api import expect

from tests.e2e.conftest import write_skill
from tests.e2e.parley_page import ParleyPage
from tests.hooks.serving import scripted
from tests.support.openai_script import calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.parley import parley

HOSTILE = '<img src=x onerror="window.pwned=1"><script>window.pwned=2</script><b>&amp;"\''
LINKS = "[here](javascript:window.pwned=3) [there](data:text/html,<script>1</script>) <a href='javascript:1'>x</a>"


@pytest.fixture
def hostile_skills(tmp_path: Path) -> Path:
    folder = tmp_path / "skills"
    write_skill(folder, "calm", HOSTILE.replace('"', "'").replace(": ", " "), {"tone": ("after_user_input", True)})
    (folder / "calm" / "hooks" / "tone.md").write_text(HOSTILE)
    (folder / "calm" / "notes.md").write_text(HOSTILE)
    broken = folder / "<b>bold<b>"
    (broken / "hooks").mkdir(parents=True)
    (broken / "SKILL.md").write_text(
        f"---\nname: {json.dumps(HOSTILE)}\ndescription: {json.dumps(HOSTILE)}\n---\n{HOSTILE}"
    )
    (broken / "hooks" / "hooks.json").write_text(json.dumps({"hooks": [{"name": HOSTILE, HOSTILE: 1}]}))
    return folder


async def test_hostile_html_stays_text_everywhere(
    new_page: Callable[[str], ParleyPage], model: OpenAIServer, hostile_skills: Path, tmp_path: Path
) -> None:
    model.queue(
        text("<need_tool> Let me look."),
        calls(("read_file", {"path": "calm/notes.md", "<img src=x onerror=window.pwned=4>": HOSTILE})),
        calls(("read_file", {"path": "calm/notes.md"})),
        text(f"{HOSTILE}\n\n```<img src=x>\n{HOSTILE}\n```\n\n{LINKS}"),
    )
    async with parley(tmp_path, model.url, {"skills": {"dir": str(hostile_skills)}}) as server:
        page = new_page(server.url)
        await page.open()
        await page.ask_and_wait(HOSTILE)
        for details in await page.tab.locator("main details").all():
            await details.evaluate("details => { details.open = true }")

        await expect(page.tab.locator(".said-by-user")).to_contain_text(HOSTILE)
        await expect(page.replies).to_contain_text(HOSTILE)
        await expect(page.hooks).to_contain_text(HOSTILE)
        await expect(page.tab.locator(".tool").last).to_contain_text(HOSTILE)
        await expect(page.tab.locator(".title")).to_have_value(re.compile("^<img src=x"))
        await expect(page.tab.locator(".conversation")).to_contain_text("<img src=x")
        for panel in ("Skills", "Inspector"):
            await expect(await page.open_panel(panel)).to_contain_text("<")
            for details in await page.tab.locator("aside details").all():
                await details.evaluate("details => { details.open = true }")
            assert await page.tab.locator("img, #page script, #page b, iframe, object").count() == 0
        links = await page.tab.locator("main a:not(.skip)").evaluate_all("links => links.map(link => link.href)")
        assert links == []
        assert await page.tab.evaluate("window.pwned") is None
        await page.tab.close()


async def test_hostile_words_and_files_of_hooks_stay_text_and_downloads(
    new_page: Callable[[str], ParleyPage], model: OpenAIServer, tmp_path: Path
) -> None:
    drawing = b"<svg xmlns='http://www.w3.org/2000/svg' onload='window.pwned=1'><script>window.pwned=2</script></svg>"
    page_of_its_own = HOSTILE.encode()
    media = [
        f"data:{kind};name={quote(HOSTILE)};base64,{base64.b64encode(data).decode()}"
        for kind, data in (("image/svg+xml", drawing), ("text/html", page_of_its_own), ("image/png", page_of_its_own))
    ]
    answer = {"action": "respond", "result": {"for_llm": HOSTILE, "for_user": f"{HOSTILE} {LINKS}", "media": media}}
    asking = {"enabled": True, "config": {"tools": ["*"], "message": f"{HOSTILE} {{tool}}"}}
    settings = {
        "agent": {"planning": False},
        "hooks": {"processes": {"painter": scripted({"before_tool": answer})}, "builtins": {"ask_human": asking}},
    }
    model.queue(calls(("current_time", {"timezone": HOSTILE})), text("Done."))
    async with parley(tmp_path, model.url, settings) as server:
        page = new_page(server.url)
        await page.open()
        await page.ask("Draw")
        dialog = page.tab.get_by_role("alertdialog")
        await expect(dialog).to_contain_text(HOSTILE)
        await page.button("Allow").click()
        await page.idle()

        await expect(page.replies).to_contain_text(HOSTILE)
        await expect(page.tab.locator("a.media-file")).to_have_count(len(media))
        panel = await page.open_panel("Inspector")
        for details in await panel.locator("details").all():
            await details.evaluate("details => { details.open = true }")
        await expect(panel).to_contain_text("painter")
        assert await page.tab.locator("#page :is(img, script, b, iframe, object, svg script)").count() == 0
        for link in await page.tab.locator("a.media-file").all():
            async with page.tab.expect_download():
                await link.click()
        assert await page.tab.evaluate("window.pwned") is None
        await page.tab.close()


async def test_the_policy_of_the_page_refuses_scripts_that_are_not_ours(page: ParleyPage) -> None:
    page.expected_complaints = ("Content Security Policy",)

    await page.tab.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "window.pwned = 1";
          document.body.append(script);
          const holder = document.createElement("div");
          holder.innerHTML = "<img src=x onerror='window.pwned = 2'>";
          document.body.append(holder);
        }"""
    )

    assert await page.tab.evaluate("window.pwned") is None
