"""Text that would be markup elsewhere stays text: in a reply, a hook, a tool result, a skill's name, a title."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.e2e.conftest import write_skill
from tests.e2e.parley_page import ParleyPage
from tests.support.openai_script import calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ServerProcess, endpoint

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
    process = ServerProcess(tmp_path, environ=endpoint(model.url), settings={"skills": {"dir": str(hostile_skills)}})
    async with process as server:
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


async def test_the_policy_of_the_page_refuses_scripts_that_are_not_ours(page: ParleyPage) -> None:
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
    page.complaints.clear()  # the browser has said so
