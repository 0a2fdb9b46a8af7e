"""Skills that speak first, in a browser (L1-49)."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.e2e.conftest import write_skill
from tests.e2e.parley_page import ParleyPage
from tests.support.openai_script import Gate, Json, text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ServerProcess, endpoint

GREETING = {"name": "greet", "file": "welcome.md", "on": "connect"}
SILENCE = {"name": "still-there", "file": "welcome.md", "on": "idle", "after_s": 1, "max": 1}


def write_triggers(skills: Path, *triggers: Json) -> None:
    (skills / "host" / "hooks" / "hooks.json").write_text(json.dumps({"hooks": [], "triggers": triggers}))


@pytest.mark.rule("L1-49")
async def test_a_skill_greets_and_breaks_a_silence_unless_somebody_types_or_does_not_want_it(
    tmp_path: Path, model: OpenAIServer, new_page: Callable[[str], ParleyPage]
) -> None:
    skills = tmp_path / "skills"
    write_skill(skills, "host", "Greets.", {"welcome": ("after_user_input", False)})
    write_triggers(skills, GREETING)
    settings = {"skills": {"dir": str(skills)}, "agent": {"planning": False}}
    async with ServerProcess(tmp_path, environ=endpoint(model.url), settings=settings) as server:
        model.say("Good morning.")
        model.say("Still there?")
        page = new_page(server.url)
        await page.open()
        await expect(page.replies).to_have_text(["Good morning."])
        await page.idle()
        write_triggers(skills, GREETING, SILENCE)  # only now: of two nudges, the later one counts
        await expect(page.replies).to_have_text(["Good morning.", "Still there?"])
        assert await page.texts() == ["assistant: Good morning.", "assistant: Still there?"]
        assert page.count("nudge") == 2

        gate = Gate()
        model.queue(text("I ", gate, "am."))
        await page.ask("Are you?")
        await gate.reached.wait()
        await page.input.fill("I am wri")  # before the silence begins
        gate.open()
        await page.until(lambda: page.count("nudge") == 3)
        await page.input.fill("")
        await expect(page.replies).to_have_count(3)

        await page.open_panel("Settings")
        await page.tab.get_by_role("switch", name="Skills may speak first").uncheck()
        await page.tab.reload()
        await expect(page.replies).to_have_count(3)
        assert page.count("nudge") == 3
        await page.close()
