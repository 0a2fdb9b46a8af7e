"""The studio: a skill edited, read live, saved, undone and tried on its page, by keyboard too."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Locator, Page, expect

from skill_tools.authoring.scaffold import new_skill
from skill_tools.sharing.bundle import pack_skill
from tests.e2e.conftest import EXPECTED_ERRORS, write_skill
from tests.e2e.parley_page import ParleyPage
from tests.support.openai_script import Answer, Gate, text
from tests.support.openai_server import OpenAIServer, Request
from tests.support.server_process import ServerProcess, endpoint

NIGHT = json.dumps(
    {
        "hooks": [
            {
                "name": "night",
                "text": "Speak softly.",
                "timing": "after_user_input",
                "role": "system",
                "persistent": False,
                "when": {"time": {"from": "22:00", "to": "06:00"}},
            }
        ],
        "tests": [
            {"name": "at night", "user": "Hi", "time": "23:00", "expect": {"reads": [{"contains": "softly"}]}},
            {"name": "early", "user": "Hi", "time": "05:00", "expect": {"reads": [{"contains": "softly"}]}},
            {"name": "not at noon", "user": "Hi", "time": "12:00", "expect": {"silent": ["night"]}},
        ],
    }
)
TEST = "tests:\n  - name: is calm\n    user: Hi\n    expect: {reads: [{contains: calm}]}\n"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def lasting_workshop(
    tmp_path_factory: pytest.TempPathFactory, lasting_model: OpenAIServer
) -> AsyncIterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("workshop")
    (folder / "skills").mkdir()
    settings = {"skills": {"dir": str(folder / "skills")}}
    async with ServerProcess(folder, environ=endpoint(lasting_model.url), settings=settings) as server:
        yield server


@pytest.fixture
def calm(lasting_workshop: ServerProcess) -> Path:
    """The skill as each test finds it; its past goes on."""
    skills = lasting_workshop.folder / "skills"
    write_skill(skills, "calm", "Keeps calm.", {"tone": ("after_user_input", False)})
    (skills / "calm" / "tests").mkdir(exist_ok=True)
    (skills / "calm" / "tests" / "tone.yaml").write_text(TEST)
    (skills / "calm" / "hooks" / "tone.md").write_text("Be calm.")
    return skills / "calm"


@pytest_asyncio.fixture(loop_scope="session")
async def tab(context: BrowserContext, lasting_workshop: ServerProcess, calm: Path) -> AsyncIterator[Page]:
    complaints: list[str] = []
    tab = await context.new_page()
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    await tab.goto(f"{lasting_workshop.url}/studio.html#/calm")
    await expect(editor(tab, "SKILL.md")).to_be_visible()
    yield tab
    assert [line for line in complaints if not EXPECTED_ERRORS.search(line)] == []


def editor(tab: Page, path: str) -> Locator:
    return tab.get_by_role("textbox", name=f"Text of {path}")


async def has_text(tab: Page, text: str) -> None:
    """Wait until the editor holds the text, with the line ends and blanks that its elements do not show."""
    await expect(tab.locator("code-editor")).to_have_js_property("value", text)


async def write(tab: Page, marked: str) -> None:
    """Put in the text; the cursor stands where it has a bar."""
    await tab.keyboard.press("ControlOrMeta+a")
    await tab.keyboard.insert_text(marked.replace("|", ""))
    for _ in marked.partition("|")[2]:
        await tab.keyboard.press("ArrowLeft")


async def open_file(tab: Page, path: str) -> None:
    await tab.get_by_role("list", name="Files").get_by_role("button", name=path).click()
    await expect(editor(tab, path)).to_be_focused()
    await expect(tab.locator(".cm-focused, textarea:focus")).to_be_visible()  # from then on CodeMirror hears every key


async def test_the_panel_of_skills_leads_to_the_studio(page: ParleyPage) -> None:
    panel = await page.open_panel("Skills")

    await expect(panel.get_by_role("link", name="Skill studio")).to_have_attribute("href", "/studio.html")


async def test_what_the_model_reads_and_the_tests_follow_every_edit_and_a_save_is_undone(tab: Page, calm: Path) -> None:
    reading = tab.get_by_role("region", name="What the model reads")
    tests = tab.get_by_role("region", name="Tests")
    await expect(reading).to_contain_text("Be calm.")
    await expect(tests).to_contain_text("1 test: all pass")
    await open_file(tab, "hooks/tone.md")

    await tab.keyboard.press("ControlOrMeta+a")
    await tab.keyboard.type("Be loud.")
    await expect(reading).to_contain_text("Be loud.")
    await expect(tests).to_contain_text("1 of 1 test fail")
    assert (calm / "hooks" / "tone.md").read_text() == "Be calm."

    await tab.keyboard.press("ControlOrMeta+s")
    await expect(tab.get_by_role("log")).to_contain_text("hooks/tone.md is saved.")
    assert (calm / "hooks" / "tone.md").read_text() == "Be loud."
    await tab.get_by_role("button", name="Undo last save").click()
    await has_text(tab, "Be calm.")
    assert (calm / "hooks" / "tone.md").read_text() == "Be calm."
    await expect(tests).to_contain_text("1 test: all pass")


async def test_a_mistake_is_marked_in_its_line_and_the_button_leads_there(tab: Page, calm: Path) -> None:
    await open_file(tab, "hooks/hooks.json")
    hook = {"name": "tone", "file": "tone.md", "timing": "sometimes", "role": "system", "persistent": False}
    await write(tab, json.dumps({"hooks": [hook]}, indent=2))

    problems = tab.get_by_role("region", name="Problems")
    await expect(problems).to_contain_text("1 error")
    await expect(editor(tab, "hooks/hooks.json")).to_have_attribute("aria-invalid", "true")
    await expect(tab.locator(".cm-lintRange-error")).to_have_text('"timing": "sometimes",')
    await problems.get_by_role("button", name="Go to line 6 of hooks/hooks.json").click()
    await expect(editor(tab, "hooks/hooks.json")).to_be_focused()
    await tab.keyboard.type("!")
    assert '"file": "tone.md",\n!\n' in await tab.locator("code-editor").evaluate("(editor) => editor.value")


async def test_a_hook_is_written_with_suggestions_brackets_and_indents_that_are_not_typed(
    tab: Page, calm: Path
) -> None:
    await open_file(tab, "hooks/hooks.json")
    await write(tab, "{|}")
    options = tab.get_by_role("listbox").get_by_role("option")

    async def suggested(typed: str, *, by: str = "Enter") -> None:
        await tab.keyboard.type(typed)
        await expect(options.and_(tab.get_by_role("option", selected=True))).to_be_visible()
        await tab.keyboard.press(by)

    await tab.keyboard.press("Enter")
    await suggested('"trig')
    await suggested('"on')
    await expect(options).to_have_count(2)
    await suggested("id", by="Tab")
    await suggested(', "when')
    await suggested('"user_t')
    await tab.keyboard.type('say \\"more"]}, ')
    await suggested('"after_s')
    await tab.keyboard.type("5")
    trigger = r'{"on": "idle", "when": {"user_text": ["say \"more"]}, "after_s": 5}'
    await has_text(tab, f'{{\n  "triggers": [{trigger}]\n}}')
    await tab.keyboard.press("ControlOrMeta+z")
    assert "5}" not in await tab.locator("code-editor").evaluate("(editor) => editor.value")


async def test_escape_closes_the_suggestions_and_then_leaves_the_editor(tab: Page, calm: Path) -> None:
    await open_file(tab, "hooks/hooks.json")
    await write(tab, "{|}")
    await tab.keyboard.press("Control+Space")
    await expect(tab.get_by_role("listbox")).to_be_visible()

    await tab.keyboard.press("Escape")
    await expect(tab.get_by_role("listbox")).to_have_count(0)
    await expect(editor(tab, "hooks/hooks.json")).to_be_focused()
    await tab.keyboard.press("Escape")
    await expect(tab.get_by_role("button", name="Save", exact=True)).to_be_focused()


async def test_without_codemirror_it_is_a_text_field_that_marks_and_saves(tab: Page, calm: Path) -> None:
    await tab.route("**/vendor/codemirror/*", lambda route: route.fulfill(status=404))
    await tab.reload()
    await open_file(tab, "hooks/hooks.json")
    field = editor(tab, "hooks/hooks.json")
    assert await field.evaluate("(field) => field.localName") == "textarea"
    await field.fill('{\n"hooks": 1\n}')

    await expect(field).to_have_attribute("aria-invalid", "true")
    await tab.get_by_role("button", name="Go to line 2 of hooks/hooks.json").click()
    await tab.keyboard.type('"hooks": []')
    await expect(field).to_have_attribute("aria-invalid", "false")
    await tab.keyboard.press("ControlOrMeta+s")
    await expect(tab.get_by_role("log")).to_contain_text("hooks/hooks.json is saved.")
    assert (calm / "hooks" / "hooks.json").read_text() == '{\n"hooks": []\n}'


async def test_what_somebody_else_has_written_is_not_overwritten_unseen(tab: Page, calm: Path) -> None:
    await open_file(tab, "hooks/tone.md")
    await write(tab, "Mine.")
    (calm / "hooks" / "tone.md").write_text("Theirs.")

    await tab.keyboard.press("ControlOrMeta+s")
    conflict = tab.get_by_role("region", name="hooks/tone.md was changed elsewhere")
    await expect(conflict).to_be_focused()
    await expect(conflict).to_contain_text("Theirs.")
    assert (calm / "hooks" / "tone.md").read_text() == "Theirs."
    await conflict.get_by_role("button", name="Save mine over it").click()
    await expect(tab.get_by_role("log")).to_contain_text("hooks/tone.md is saved.")
    assert (calm / "hooks" / "tone.md").read_text() == "Mine."


async def test_skills_and_files_are_made_renamed_and_deleted(tab: Page, calm: Path) -> None:
    tab.on("dialog", lambda dialog: dialog.accept())
    await tab.get_by_role("button", name="New skill").click()
    await tab.get_by_label("Name of the skill").fill("loud")
    await tab.keyboard.press("Enter")
    await expect(tab.get_by_role("combobox", name="Skill", exact=True)).to_have_value("loud")

    await tab.get_by_role("button", name="New file").click()
    await tab.get_by_label("Path of the file").fill("references/more.md")
    await tab.keyboard.press("Enter")
    await expect(editor(tab, "references/more.md")).to_be_focused()
    await tab.keyboard.type("More.")
    await tab.keyboard.press("ControlOrMeta+s")
    await expect(tab.get_by_role("log")).to_contain_text("references/more.md is saved.")
    assert (calm.parent / "loud" / "references" / "more.md").read_text() == "More."

    await tab.get_by_role("button", name="Rename", exact=True).click()
    await tab.get_by_label("Path of the file").fill("references/less.md")
    await tab.keyboard.press("Enter")
    await expect(editor(tab, "references/less.md")).to_be_focused()
    await has_text(tab, "More.")
    await tab.get_by_role("button", name="Delete", exact=True).click()
    await expect(tab.get_by_role("button", name="references/less.md")).to_have_count(0)

    async with tab.expect_download() as download:
        await tab.get_by_role("button", name="Download as zip").click()
    assert (await download.value).suggested_filename == "loud.zip"
    await tab.get_by_role("button", name="Delete skill").click()
    await expect(tab.get_by_role("combobox", name="Skill", exact=True)).to_have_value("calm")
    assert not (calm.parent / "loud").exists()


async def test_both_versions_answer_side_by_side(tab: Page, calm: Path, model: OpenAIServer) -> None:
    def respond(request: Request) -> Answer:
        return text("LOUD!") if "Be loud." in str(request.contents) else text("Softly.")

    model.respond = respond
    await open_file(tab, "hooks/tone.md")
    await write(tab, "Be loud.")
    await expect(tab.get_by_role("button", name="Ask the model")).to_be_disabled()
    await tab.get_by_label("The user says").fill("Who are you?")
    await tab.get_by_role("button", name="Ask the model").click()

    await expect(tab.get_by_role("article", name="Saved")).to_contain_text("Softly.")
    await expect(tab.get_by_role("article", name="Edited")).to_contain_text("LOUD!")
    await expect(tab.get_by_role("log")).to_contain_text("Both versions have answered.")
    assert all("Who are you?" in request.contents for request in model.requests)


@pytest.mark.parametrize("way", ["another page", "another skill", "closing"])
async def test_who_leaves_ends_both_turns(
    context: BrowserContext, tab: Page, calm: Path, model: OpenAIServer, way: str
) -> None:
    write_skill(calm.parent, "other", "Is another one.", {"tone": ("after_user_input", False)})
    gate = Gate()
    model.respond = lambda _: text("Well, ", gate, "yes.")
    await tab.reload()
    await open_file(tab, "hooks/tone.md")
    await tab.get_by_label("The user says").fill("Who are you?")
    await tab.get_by_role("button", name="Ask the model").click()
    turns = [await model.request(number) for number in (0, 1)]
    await expect(tab.get_by_role("article", name="Saved")).to_contain_text("Well,")

    if way == "another page":
        await tab.get_by_role("link", name="Parley").click()
        await expect(tab).to_have_title("Parley")
    elif way == "another skill":
        await tab.locator('[data-field="open_skill"]').select_option("other")
    else:
        await tab.close()

    async with asyncio.timeout(10):
        await asyncio.gather(*(turn.ended.wait() for turn in turns))
    assert all(turn.closed_early for turn in turns)
    shutil.rmtree(calm.parent / "other")


async def test_a_file_that_is_open_follows_the_disk_when_the_window_is_looked_at(tab: Page, calm: Path) -> None:
    await open_file(tab, "hooks/tone.md")
    (calm / "hooks" / "tone.md").write_text("Theirs.")

    await tab.evaluate("dispatchEvent(new Event('focus'))")
    await has_text(tab, "Theirs.")
    await expect(editor(tab, "hooks/tone.md")).to_be_focused()


async def test_a_file_with_line_ends_of_windows_is_edited_where_the_cursor_stands(tab: Page, calm: Path) -> None:
    (calm / "hooks" / "tone.md").write_bytes(b"One.\r\nTwo.")
    await tab.reload()
    reading = tab.get_by_role("region", name="What the model reads")
    await expect(reading).to_contain_text("Two.")
    await open_file(tab, "hooks/tone.md")
    await tab.keyboard.press("ControlOrMeta+End")
    await tab.get_by_label("The user says").fill("Hi")
    await expect(reading.get_by_text("Hi", exact=True).first).to_be_visible()

    await editor(tab, "hooks/tone.md").focus()
    await tab.keyboard.type(" More")
    await expect(reading).to_contain_text("Two. More")
    await tab.keyboard.type("!")
    await has_text(tab, "One.\nTwo. More!")


async def test_whoever_makes_a_skill_by_keyboard_goes_on_in_its_editor(tab: Page, calm: Path) -> None:
    await tab.get_by_role("button", name="New skill").click()
    await tab.keyboard.type("loud")
    await tab.keyboard.press("Enter")
    await expect(editor(tab, "SKILL.md")).to_contain_text("name: loud")
    await expect(editor(tab, "SKILL.md")).to_be_focused()

    await tab.get_by_role("button", name="New file").click()
    await tab.keyboard.press("ControlOrMeta+a")
    await tab.keyboard.type("more.md")
    await tab.keyboard.press("Enter")
    await expect(tab.get_by_role("alert")).to_contain_text("For a hook, name it hooks/more.md.")
    shutil.rmtree(calm.parent / "loud")


async def test_a_condition_that_says_no_is_named_for_the_turn_as_it_is_set(tab: Page, calm: Path) -> None:
    await open_file(tab, "hooks/hooks.json")
    hook = {"name": "tone", "file": "tone.md", "timing": "after_user_input", "role": "system", "persistent": False}
    document = {"hooks": [{**hook, "when": {"not": {"channel": "text"}}}]}
    await write(tab, json.dumps(document))

    reading = tab.get_by_role("region", name="What the model reads")
    await expect(reading).to_contain_text("Its condition does not hold: when.not.channel")
    await reading.get_by_text("More about the turn").click()
    await reading.get_by_label("Began by").select_option("voice")
    await expect(reading).to_contain_text("Be calm.")


@pytest.mark.parametrize("width", [1440, 390])
async def test_nothing_is_wider_than_the_window(tab: Page, calm: Path, width: int) -> None:
    (calm / "hooks" / "tone.md").write_text("A very long line without an end, " * 40 + "x" * 500)
    await tab.set_viewport_size({"width": width, "height": 800})
    await open_file(tab, "hooks/tone.md")

    assert await tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


async def test_the_preview_goes_on_from_the_conversation_with_what_hooks_remember_and_the_skills_that_are_on(
    context: BrowserContext, lasting_workshop: ServerProcess, calm: Path, model: OpenAIServer
) -> None:
    hook = {"name": "tone", "file": "tone.md", "timing": "after_user_input", "role": "system", "persistent": False}
    (calm / "hooks" / "hooks.json").write_text(json.dumps({"hooks": [{**hook, "once": "conversation"}]}))
    write_skill(calm.parent, "asleep", "Yawns.\ndefault: off", {"yawn": ("after_user_input", False)})
    for answer in ("One.", "Two."):
        model.say(answer)
    chat = ParleyPage(context, lasting_workshop.url)
    await chat.open()
    panel = await chat.open_panel("Skills")
    await panel.get_by_role("switch", name="asleep").press("Space")
    await chat.ask_and_wait("First")
    await chat.ask_and_wait("Second")
    assert ["Be calm." in request.contents for request in model.requests] == [True, False]

    tab = await context.new_page()
    await tab.goto(f"{lasting_workshop.url}/studio.html#/calm")
    reading = tab.get_by_role("region", name="What the model reads")
    await expect(reading.get_by_label("The user says")).to_have_value("Second")
    await expect(reading).to_contain_text("The text of asleep/yawn.")
    await expect(reading).to_contain_text("once a conversation: it has fired already")
    await expect(reading).not_to_contain_text("Be calm.")
    await reading.get_by_label("After the last conversation").uncheck()
    await expect(reading).to_contain_text("Be calm.")
    shutil.rmtree(calm.parent / "asleep")


async def test_what_is_broken_shows_the_version_that_stays_in_use_and_says_so(tab: Page, calm: Path) -> None:
    reading = tab.get_by_role("region", name="What the model reads")
    await expect(reading).to_contain_text("Be calm.")
    await open_file(tab, "hooks/hooks.json")
    before = await tab.locator("code-editor").evaluate("(editor) => editor.value")
    await write(tab, '{"hooks": [')

    await expect(reading).to_contain_text("this shows the last working version")
    await expect(reading).to_contain_text("Be calm.")
    await tab.keyboard.press("ControlOrMeta+s")
    await expect(tab.get_by_role("log")).to_contain_text("the last working version stays in use")
    await tab.reload()
    await expect(reading).to_contain_text("this shows the last working version")
    await expect(reading).to_contain_text("Be calm.")
    await open_file(tab, "hooks/hooks.json")
    await write(tab, before)
    await expect(reading).not_to_contain_text("last working version")


@pytest.fixture
def quiz(calm: Path) -> Path:
    """A skill that counts, answers to a name once and knows the plan."""
    hook = {"timing": "after_user_input", "role": "user", "persistent": False, "vars": True}
    document = {
        "variables": {"score": 0, "done": False},
        "hooks": [
            {
                "name": "right",
                "timing": "after_user_input",
                "when": {"user_text": ["paris"]},
                "set": {"score": {"add": 1}},
            },
            {**hook, "name": "score", "file": "score.md"},
            {**hook, "name": "once", "file": "once.md", "when": {"context": {"plan": "pro"}}, "once": "conversation"},
        ],
    }
    (calm / "hooks" / "hooks.json").write_text(json.dumps(document))
    (calm / "hooks" / "score.md").write_text("The score is {{var.score}}.")
    (calm / "hooks" / "once.md").write_text("Thank them.")
    write_skill(calm.parent, "other", "Is another one.", {"mood": ("after_user_input", False)})
    return calm


async def test_a_conversation_of_several_turns_is_played_with_its_variables_and_context(tab: Page, quiz: Path) -> None:
    await tab.reload()
    reading = tab.get_by_role("region", name="What the model reads")
    question = reading.get_by_label("The user says", exact=True)
    await question.fill("Paris")
    await expect(reading).to_contain_text("The score is 1.")
    await expect(reading).to_contain_text("score = 1 by calm / right")
    await reading.get_by_text("More about the turn").click()
    await reading.get_by_label("Context").fill("plan=pro; timezone=Asia/Tokyo")
    await expect(reading.get_by_text("calm / once")).to_be_visible()

    await reading.get_by_role("button", name="Go on with another turn").press("Enter")
    await expect(question).to_be_focused()
    await tab.keyboard.type("Paris!")
    await expect(reading).to_contain_text("The score is 2.")
    await expect(reading).to_contain_text("once a conversation: it has fired already")
    await reading.locator("summary", has_text="Turn 1").press("Enter")
    await reading.get_by_label("The user says in turn 1").fill("Rome")
    await expect(reading).not_to_contain_text("The score is 2.")

    score = reading.get_by_role("spinbutton", name="score")
    await expect(score).to_have_value("0")
    await score.fill("41")
    await expect(reading).to_contain_text("The score is 42.")
    await reading.get_by_role("button", name="Back to the start values").click()
    await expect(reading).to_contain_text("The score is 1.")
    own = reading.locator(".read-message", has_text="The score is 1.").last
    await expect(own).to_contain_text("this skill")
    await expect(own).to_contain_text("≈ 5 tokens")
    await expect(reading).to_contain_text("The text of other/mood.")
    await reading.get_by_label("Only this skill").check()
    await expect(reading).not_to_contain_text("The text of other/mood.")
    await reading.get_by_role("button", name="Remove turn 1").click()
    await expect(reading.get_by_text("Turn 1", exact=True)).to_have_count(0)
    shutil.rmtree(quiz.parent / "other")


async def test_a_wish_becomes_a_draft_whose_difference_is_shown_and_that_is_saved_only_when_it_is_taken(
    tab: Page, calm: Path, model: OpenAIServer
) -> None:
    before = {path.name: path.read_text() for path in calm.rglob("*") if path.is_file()}
    model.say("Of course! I would speak softly.")
    model.say(NIGHT)
    await tab.get_by_label("Your wish, in a sentence").focus()
    await tab.keyboard.type("Speak softly at night.")
    await tab.keyboard.press("Tab")
    await tab.keyboard.press("Enter")

    describe = tab.get_by_role("region", name="Describe a hook")
    await expect(describe).to_contain_text("Draft 1: 1 problem, 0 of 0 tests pass")
    await expect(describe).to_contain_text("Draft 2: no problems, 3 of 3 tests pass")
    difference = tab.get_by_role("region", name="Difference that the draft makes")
    await expect(difference).to_be_focused()
    await expect(difference).to_contain_text('}, {"name": "night", "file": "night.md"')
    await expect(difference).to_contain_text("+ Speak softly.")
    assert {path.name: path.read_text() for path in calm.rglob("*") if path.is_file()} == before

    await difference.get_by_role("button", name="Take into the editor").press("Enter")
    await expect(editor(tab, "hooks/hooks.json")).to_be_focused()
    await expect(tab.get_by_role("region", name="Tests", exact=True)).to_contain_text("4 tests: all pass")
    assert {path.name: path.read_text() for path in calm.rglob("*") if path.is_file()} == before
    await tab.get_by_role("button", name="Save all 3").press("Enter")
    await expect(tab.get_by_role("log")).to_contain_text("hooks/hooks.json is saved.")
    assert (calm / "hooks" / "night.md").read_text() == "Speak softly.\n"
    assert [one["name"] for one in json.loads((calm / "hooks" / "hooks.json").read_text())["hooks"]] == [
        "tone",
        "night",
    ]


async def test_a_draft_is_cancelled_and_one_that_fails_says_why(tab: Page, calm: Path, model: OpenAIServer) -> None:
    gate = Gate()
    model.respond = lambda _: text("{", gate, "}")
    describe = tab.get_by_role("region", name="Describe a hook")
    await describe.get_by_label("Your wish, in a sentence").fill("Speak softly at night.")
    await describe.get_by_role("button", name="Write a draft").click()
    request = await model.request(0)
    await expect(describe).to_contain_text("Draft 1 is being written…")
    await describe.get_by_role("button", name="Stop").click()
    async with asyncio.timeout(10):
        await request.ended.wait()
    assert request.closed_early

    model.respond = lambda _: text("I cannot.")
    await describe.get_by_role("button", name="Write a draft").click()
    await expect(tab.get_by_role("alert")).to_contain_text("none of 3 drafts can be used")
    await expect(describe.get_by_role("button", name="Write a draft")).to_be_enabled()


async def test_a_file_that_changes_on_disk_appears_and_an_edit_of_it_is_asked_about(tab: Page, calm: Path) -> None:
    await open_file(tab, "hooks/tone.md")
    (calm / "hooks" / "tone.md").write_text("Theirs.")
    await has_text(tab, "Theirs.")
    (calm / "hooks" / "new.md").write_text("New.")
    await expect(tab.get_by_role("list", name="Files").get_by_role("button", name="hooks/new.md")).to_be_visible()

    await write(tab, "Mine.")
    (calm / "hooks" / "tone.md").write_text("Theirs again.")
    conflict = tab.get_by_role("region", name="hooks/tone.md was changed elsewhere")
    await expect(conflict).to_contain_text("− Theirs again.")
    await has_text(tab, "Mine.")
    await expect(editor(tab, "hooks/tone.md")).to_be_focused()
    await conflict.get_by_role("button", name="Take theirs").click()
    await has_text(tab, "Theirs again.")
    (calm / "hooks" / "new.md").unlink()


async def test_a_hook_is_added_by_a_form_by_keyboard_and_the_rest_of_the_file_stays(tab: Page, calm: Path) -> None:
    path = calm / "hooks" / "hooks.json"
    before = json.dumps(json.loads(path.read_text()), indent=4)
    path.write_text(before)
    await tab.reload()
    await tab.get_by_role("button", name="New hook").press("Enter")
    await expect(tab.get_by_label("Name of the hook")).to_be_focused()
    await tab.keyboard.type("refund")
    await tab.keyboard.press("Tab")
    await tab.keyboard.type("Ask for the order number.")
    await tab.get_by_role("button", name="Add a condition").press("Enter")
    await expect(tab.get_by_label("Condition 1", exact=True).get_by_role("combobox")).to_be_focused()
    await tab.keyboard.press("Tab")
    await tab.keyboard.type("refund, money back")
    await tab.get_by_role("button", name="Add a condition").press("Enter")
    second = tab.get_by_role("group", name="Condition 2")
    await second.get_by_role("combobox").select_option("channel")
    await second.get_by_label("Value").fill("voice")
    await second.get_by_label("not").press("Space")
    await tab.get_by_role("button", name="Write it into hooks.json").press("Enter")

    await expect(editor(tab, "hooks/hooks.json")).to_be_focused()
    value = await tab.locator("code-editor").evaluate("(editor) => editor.value")
    [_, added] = json.loads(value)["hooks"]
    assert added["when"] == {"user_text": ["refund", "money back"], "not": {"channel": "voice"}}
    assert value.startswith(before.rstrip().removesuffix("}").rstrip().removesuffix("]").rstrip())
    assert path.read_text() == before
    reading = tab.get_by_role("region", name="What the model reads")
    await reading.get_by_label("The user says").fill("I want a refund")
    await expect(reading).to_contain_text("Ask for the order number.")


async def test_a_skill_comes_in_as_a_zip_once_it_was_looked_at_and_comes_back_from_the_bin(
    tab: Page, calm: Path, tmp_path: Path
) -> None:
    tab.on("dialog", lambda dialog: dialog.accept())
    packed = tmp_path / "pirate.zip"
    packed.write_bytes(pack_skill(new_skill("pirate", tmp_path / "elsewhere", text="Talk like a pirate.")))
    await tab.get_by_role("button", name="Add a skill").press("Enter")
    await tab.get_by_label("A zip, or a lorebook").set_input_files(packed)
    arrivals = tab.get_by_role("region", name="What comes in")
    await expect(arrivals).to_be_focused()
    await expect(arrivals).to_contain_text("Talk like a pirate.")
    assert not (calm.parent / "pirate").exists()
    await arrivals.get_by_role("button", name="Add pirate").press("Enter")
    await expect(tab.get_by_role("combobox", name="Skill", exact=True)).to_have_value("pirate")
    assert (calm.parent / "pirate" / "SKILL.md").exists()

    await tab.get_by_role("button", name="Delete skill").click()
    await expect(tab.get_by_role("combobox", name="Skill", exact=True)).to_have_value("calm")
    await tab.get_by_role("button", name="Add a skill").press("Enter")
    await tab.get_by_role("button", name="Give back pirate").first.press("Enter")
    await expect(tab.get_by_role("log")).to_contain_text("pirate is back.")
    await expect(tab.get_by_role("combobox", name="Skill", exact=True)).to_have_value("pirate")
    shutil.rmtree(calm.parent / "pirate")

    await tab.get_by_role("button", name="Add a skill").press("Enter")
    await tab.get_by_label("Or the address of a git repository").fill("/etc")
    await tab.keyboard.press("Enter")
    await expect(tab.get_by_role("alert")).to_contain_text("expected a file, or a git URL")
