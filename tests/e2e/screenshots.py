"""`python -m tests.e2e.screenshots [FOLDER]`: the pictures in docs/, taken from the running page.

Real server, real page, real tools, the example skills; only the model is scripted.
"""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, async_playwright, expect

from tests.e2e.conftest import FLAGS, executable
from tests.e2e.film import MODEL, picture_talking
from tests.e2e.parley_page import ParleyPage
from tests.support.openai_script import Answer, calls, text
from tests.support.openai_server import OpenAIServer, Request
from tests.support.server_process import ROOT, ServerProcess, endpoint
from tests.support.speech_server import speech_server

DESK = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 780}


def hook(*command: str, **more: Any) -> dict[str, Any]:
    """One of the examples, as an entry of the configuration."""
    return {"enabled": True, "command": list(command), "dir": str(ROOT / "examples" / "hooks"), **more}


QUESTION = "Which skills are here, and what time is it in Tokyo?"
ACKNOWLEDGEMENT = "<need_tool> Let me look at the clock and the skills folder."
ANSWER = (
    "**{time}** And here is what I found:\n\n"
    "- `SKILL.md` says what the skill is for;\n"
    "- `hooks.json` says *what* the model reads, and *when*.\n\n"
    "```json\n"
    '{{ "name": "tone", "file": "tone.md", "timing": "after_user_input" }}\n'
    "```\n\n"
    "Edit one, save it, and ask me again: the next answer will differ."
)

HOOKS = {
    "processes": {
        "weather": hook("python3", "weather.py", intercept=["before_llm", "before_tool"]),
        "guard": hook("python3", "guard.py", intercept=["before_tool"], on_error="closed"),
        "office_hours": hook("sh", "office_hours.sh", intercept=["approve_tool"], env={"OPENS": "0", "CLOSES": "24"}),
    },
    "builtins": {"ask_human": {"enabled": True, "config": {"tools": ["current_time"]}}},
}


def respond(request: Request) -> Answer:
    """Plan, call two tools, answer with what the first one said."""
    results = [message["content"] for message in request.messages if message["role"] == "tool"]
    if not request.tool_names:
        return text(ACKNOWLEDGEMENT)
    if not results:
        return calls(("current_time", {"timezone": "Asia/Tokyo"}), ("read_file", {"path": f"{first_skill()}/SKILL.md"}))
    return text(ANSWER.format(time=results[0].splitlines()[0]))


def first_skill() -> str:
    return next(path.name for path in sorted((ROOT / "skills").iterdir()) if (path / "SKILL.md").exists())


async def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        async with OpenAIServer(respond=respond) as model, async_playwright() as playwright:
            settings = {"skills": {"dir": str(ROOT / "skills")}}
            async with speaking(Path(scratch), model.url, settings) as server:
                browser = await playwright.chromium.launch(executable_path=executable(), args=list(FLAGS))
                await draw_icons(browser, ROOT / "frontend" / "icons")
                await picture_desk(browser, server.url, folder)
                await picture_phone(browser, server.url, folder)
                await picture_studio(browser, server.url, folder)
                await picture_policy(browser, server.url, folder)
            hooked = ServerProcess(Path(scratch), environ=endpoint(model.url), settings={**settings, "hooks": HOOKS})
            async with hooked:
                await picture_hooks(browser, hooked.url, folder)
            await browser.close()
        await picture_talking(folder, Path(scratch))


@asynccontextmanager
async def speaking(folder: Path, model_url: str, settings: dict[str, Any]) -> AsyncIterator[ServerProcess]:
    """A server whose engines are there at once."""
    async with speech_server(text=QUESTION, pieces=[bytes(48_000)]) as speech:
        engine = {"provider": "openai", "base_url": speech.base_url, "api_key": "scripted", "model": "scripted"}
        kinds = [(kind, key, value) for kind in ("STT", "TTS") for key, value in engine.items()]
        environ = {f"PARLEY_SPEECH__{kind}__{key.upper()}": value for kind, key, value in kinds}
        environ = {**endpoint(model_url), **environ, "PARLEY_LLM__MODEL": MODEL}
        async with ServerProcess(folder, environ=environ, settings=settings) as server:
            yield server


async def opened(browser: Browser, url: str, *, size: dict[str, int], is_dark: bool) -> ParleyPage:
    context = await browser.new_context(
        viewport={"width": size["width"], "height": size["height"]},
        color_scheme="dark" if is_dark else "light",
        device_scale_factor=2,
        reduced_motion="reduce",
    )
    page = ParleyPage(context, url)
    await page.open()
    return page


async def talk(page: ParleyPage) -> None:
    await page.ask_and_wait(QUESTION)
    await expect(page.replies.last).to_contain_text("the next answer will differ")


async def take(page: ParleyPage, file: Path) -> None:
    await page.tab.mouse.move(0, 0)
    await page.tab.screenshot(path=file)
    print(file)


ICONS = {"icon-192": (192, 22), "icon-512": (512, 22), "maskable-512": (512, 0), "apple-touch-icon": (180, 0)}
"""Name → size, and how round its corners are, in percent; what is not round is cut by the system."""


async def draw_icons(browser: Browser, folder: Path) -> None:
    """The page's own icon, white on its colour, as the pictures that an installed page needs."""
    drawn = (ROOT / "frontend" / "favicon.svg").read_text()
    drawn = drawn.replace("#3f5bd9", "#white").replace('"#fff"', '"#3f5bd9"').replace("#white", "#fff")
    for name, (size, percent) in ICONS.items():
        page = await browser.new_page(viewport={"width": size, "height": size})
        style = f"height:100vh;display:grid;place-items:center;background:#3f5bd9;border-radius:{percent}%"
        shape = drawn.replace("<svg", "<svg width=68% height=68%", 1)
        await page.set_content(f'<body style="margin:0"><div style="{style}">{shape}</div></body>')
        await page.screenshot(path=folder / f"{name}.png", omit_background=True)
        await page.close()


async def picture_desk(browser: Browser, url: str, folder: Path) -> None:
    page = await opened(browser, url, size=DESK, is_dark=False)
    await take(page, folder / "screenshot-empty.png")
    await talk(page)
    await page.open_panel("Inspector")
    await take(page, folder / "screenshot-inspector.png")
    await page.open_panel("Skills")
    await take(page, folder / "screenshot-skills.png")
    await page.context.close()

    page = await opened(browser, url, size=DESK, is_dark=True)
    await talk(page)
    await take(page, folder / "screenshot-dark.png")
    await page.context.close()


async def picture_hooks(browser: Browser, url: str, folder: Path) -> None:
    page = await opened(browser, url, size=DESK, is_dark=False)
    await page.ask(QUESTION)
    await expect(page.tab.get_by_role("alertdialog")).to_be_visible()
    await take(page, folder / "screenshot-approval.png")
    await page.button("Allow").click()
    await page.idle()
    panel = await page.open_panel("Process hooks")
    await expect(panel).to_contain_text("All gates are armed")
    await take(page, folder / "screenshot-hooks.png")
    await page.context.close()


async def picture_policy(browser: Browser, url: str, folder: Path) -> None:
    page = await opened(browser, url, size=DESK, is_dark=False)
    await page.tab.goto(f"{url}/policy.html#/policy")
    for name in ("Keep an audit log", "Ask before dangerous calls", "Hide secrets"):
        await page.tab.get_by_role("switch", name=name).check()
    await expect(page.tab.get_by_role("textbox", name="Policy document")).to_contain_text("dangerous_confirmation")
    await take(page, folder / "screenshot-policy.png")
    await page.context.close()


async def picture_studio(browser: Browser, url: str, folder: Path) -> None:
    page = await opened(browser, url, size=DESK, is_dark=False)
    await page.tab.goto(f"{url}/studio.html#/careful-reader")
    await page.tab.get_by_label("The user says").fill("What does the contract say about notice?")
    await page.tab.get_by_label("Tools that the model calls").fill("read_file")
    await page.button("hooks/hooks.json").click()
    await expect(page.tab.get_by_role("textbox", name="Text of hooks/hooks.json")).to_be_focused()
    await expect(page.tab.get_by_text("round 2")).to_be_visible()
    await take(page, folder / "screenshot-studio.png")
    await page.context.close()


async def picture_phone(browser: Browser, url: str, folder: Path) -> None:
    page = await opened(browser, url, size=PHONE, is_dark=False)
    await talk(page)
    await take(page, folder / "screenshot-phone.png")
    await page.context.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs"))
