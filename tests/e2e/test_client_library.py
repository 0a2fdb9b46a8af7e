"""The client library, frontend/sdk, in pages of another origin; examples/clients."""

import asyncio
import json
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Page, expect
from websockets.asyncio.client import connect

from tests.e2e.conftest import EXPECTED_ERRORS
from tests.e2e.cutting_proxy import CuttingProxy
from tests.e2e.foreign_pages import ForeignPages, foreign_pages
from tests.support.openai_script import Answer, Gate, calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ROOT, ServerProcess, endpoint

pytestmark = pytest.mark.slow
EXAMPLES = ROOT / "examples" / "clients"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def pages() -> AsyncIterator[ForeignPages]:
    async with foreign_pages() as pages:
        yield pages


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def allowing_server(
    tmp_path_factory: pytest.TempPathFactory, lasting_model: OpenAIServer, skills: Path, pages: ForeignPages
) -> AsyncIterator[ServerProcess]:
    """A server that lets the other origin in."""
    folder = tmp_path_factory.mktemp("allowing")
    own = shutil.copytree(skills, folder / "skills")
    write_counter(own / "counter")
    settings = {"skills": {"dir": str(own)}, "agent": {"planning": False}, "security": {"origins": [pages.origin]}}
    async with ServerProcess(folder, environ=endpoint(lasting_model.url), settings=settings) as process:
        pages.server_url = process.url
        yield process


def write_counter(folder: Path) -> None:
    """Write a skill that counts the turns of users of the pro plan."""
    asked = {"timing": "after_user_input", "when": {"context": {"plan": "pro"}}}
    shown = {"name": "show", "file": "show.md", "role": "system", "persistent": False, "vars": True}
    entries = [{"name": "count", "set": {"turns": {"add": 1}}, **asked}, {**shown, **asked}]
    (folder / "hooks").mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: counter\ndescription: Counts.\n---\nIt counts.\n")
    (folder / "hooks" / "show.md").write_text("Turn {{var.turns}} of a {{context.plan}} user.")
    (folder / "hooks" / "hooks.json").write_text(json.dumps({"variables": {"turns": 0}, "hooks": entries}))


@pytest_asyncio.fixture(loop_scope="session")
async def tab(context: BrowserContext, allowing_server: ServerProcess) -> AsyncIterator[Page]:
    tab = await context.new_page()
    complaints: list[str] = []
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    yield tab
    assert [line for line in complaints if not EXPECTED_ERRORS.search(line)] == []


async def test_the_sixty_line_page_talks_and_keeps_its_history(
    tab: Page, pages: ForeignPages, model: OpenAIServer
) -> None:
    source = (EXAMPLES / "page.html").read_text("utf-8")
    assert len(source.splitlines()) <= 70
    model.queue(text("It is ", "noon. "), text("Again noon."))
    await tab.goto(pages.add("page.html", source))
    await expect(tab.get_by_role("status")).to_have_text("idle")

    lines = tab.locator("#log p")
    said = ["What time is it?", "It is noon. ", "And now?", "Again noon."]
    for index in (0, 2):
        await tab.get_by_label("Message").fill(said[index])
        await tab.get_by_label("Message").press("Enter")
        await expect(lines).to_have_text(said[: index + 2])

    assert model.requests[-1].contents.count("The text of calm/tone.") == 2, (
        "the first turn's comes back with the second"
    )
    await tab.reload()
    await expect(lines).to_have_text(said)


CONVERSE = """async ([url, question]) => {
  const { Parley, browserStore } = await import(`${url}/sdk/parley.js`);
  const parley = new Parley({ conversation: "anna", store: browserStore(), configure: { context: { plan: "pro" } } });
  const frames = [];
  parley.on("frame", (frame) => frames.push(frame));
  await parley.send(question);
  parley.close();
  return [frames.findLast(({ type }) => type === "turn_end").state, localStorage.length];
}"""


async def test_a_conversation_moves_from_local_storage_to_the_database_with_what_hooks_remember(
    tab: Page, pages: ForeignPages, model: OpenAIServer
) -> None:
    await tab.goto(pages.add("empty.html", "<!doctype html><title>Empty</title>"))
    old = {
        "id": "anna",
        "historySegments": [],
        "conversationHistory": [{"role": "user", "content": "Old?", "_turn": "t"}],
    }
    await tab.evaluate("(old) => localStorage.setItem('parley.conversation.anna', JSON.stringify(old))", old)

    model.queue(text("One."))
    state, left = await tab.evaluate(CONVERSE, [pages.server_url, "First?"])
    assert (bool(state), left) == (True, 0)
    assert model.requests[-1].contents[1] == "Old?"
    assert "Turn 1 of a pro user." in model.requests[-1].contents
    await tab.reload()
    model.queue(text("Two."))
    await tab.evaluate(CONVERSE, [pages.server_url, "Second?"])

    assert "First?" in model.requests[-1].contents
    assert "Turn 2 of a pro user." in model.requests[-1].contents


async def test_a_connection_that_breaks_in_a_reply_comes_back_and_the_question_can_be_asked_again(
    tab: Page, pages: ForeignPages, allowing_server: ServerProcess, model: OpenAIServer
) -> None:
    gate = Gate()
    model.queue(text("One. ", gate, "Two."), text("One. Two."))
    await tab.goto(pages.add("empty.html", "<!doctype html><title>Empty</title>"))
    async with CuttingProxy(allowing_server.url) as proxy:
        await tab.evaluate(
            """async (url) => {
              const { Parley } = await import(`${url}/sdk/parley.js`);
              window.parley = new Parley({ configure: { skills: [] } });
              window.phases = [];
              parley.on("state", ({ connection }) => phases.at(-1) === connection || phases.push(connection));
              parley.on("text", ({ text }) => (document.title = text));
              window.first = parley.send("Count to two.");
            }""",
            proxy.url,
        )
        await expect(tab).to_have_title("One. ")
        proxy.cut()
        first = await tab.evaluate("first")
        again = await tab.evaluate("parley.retry()")
        phases, history = await tab.evaluate("[phases, parley.history.map(({ content }) => content)]")
        gate.open()
        await tab.goto("about:blank")  # lets the proxy's connections go

    assert (first["reason"], first["text"]) == ("lost", "One.")
    assert (again["reason"], again["text"]) == ("completed", "One. Two.")
    assert phases[:3] + phases[-1:] == ["connecting", "online", "waiting", "online"]
    assert history == ["Count to two.", "One. ", "Count to two.", "One. Two."]


async def test_a_tool_of_the_page_is_run_by_the_page(tab: Page, pages: ForeignPages, model: OpenAIServer) -> None:
    model.queue(calls(("find_seat", {"row": 7})), text("7C is free."))
    await tab.goto(pages.add("empty.html", "<!doctype html><title>Empty</title>"))

    found = await tab.evaluate(
        """async (url) => {
          const { Parley } = await import(`${url}/sdk/parley.js`);
          const asked = [];
          const run = (args) => (asked.push(args), { seat: "7C" });
          const parameters = { type: "object", properties: { row: { type: "integer" } } };
          const parley = new Parley({ tools: [{ name: "find_seat", description: "Find a free seat.", parameters, run }] });
          const shown = [];
          parley.on("tool", ({ name, result }) => shown.push([name, result?.content ?? null]));
          const { reason, text } = await parley.send("Is there a seat in row 7?");
          parley.close();
          return { asked, shown, reason, text };
        }""",
        pages.server_url,
    )

    assert found == {
        "asked": [{"row": 7}],
        "shown": [["find_seat", None], ["find_seat", '{"seat":"7C"}']],
        "reason": "completed",
        "text": "7C is free.",
    }


SNIPPETS = re.findall(
    r"^```(js|html)\n(.*?)^```", (ROOT / "docs" / "clients.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
)
SCRIPTS = [snippet for kind, snippet in SNIPPETS if kind == "js"]
DOCUMENTS = [snippet for kind, snippet in SNIPPETS if kind == "html"]


@pytest.mark.parametrize(
    ("snippet", "replies", "lines"),
    [
        (SCRIPTS[0], [text("Paris.")], ["Paris."]),
        (SCRIPTS[1], [text("Hi. ", "Bye.")], ["Hi. Bye. (marked: nothing)"]),
        (SCRIPTS[2], [text("Hi.")], ["user system assistant"]),
        (SCRIPTS[3], [calls(("find_seat", {"row": 7})), text("Yes, 7C.")], ["find_seat …", "find_seat 7C is free."]),
    ],
    ids=["send", "mark", "store", "tools"],
)
async def test_the_scripts_of_clients_md_do_what_they_say(
    tab: Page, pages: ForeignPages, model: OpenAIServer, snippet: str, replies: list[Answer], lines: list[str]
) -> None:
    assert len(SCRIPTS) == 4, "all of them are run"
    model.queue(*replies)
    printed: list[str] = []
    tab.on("console", lambda message: printed.append(message.text) if message.type == "log" else None)

    await tab.goto(
        pages.add("script.html", f"<!doctype html><script type=module>{snippet}\ndocument.title = 'over'</script>")
    )
    await expect(tab).to_have_title("over")

    assert printed == lines


@pytest.mark.parametrize(("document", "label"), list(zip(DOCUMENTS, ("Talk", "Ask the shop"), strict=True)))
async def test_the_documents_of_clients_md_have_a_button_that_connects(
    tab: Page, pages: ForeignPages, document: str, label: str
) -> None:
    pages.add("parley-token", "a-token")
    await tab.goto(pages.add("document.html", document))

    await tab.get_by_role("button", name=label, exact=True).click()

    await expect(tab.get_by_role("status")).to_contain_text(
        "microphone"
    )  # there is none here: asked for once connected


async def test_the_frames_of_clients_md_are_those_of_a_minimal_client(
    allowing_server: ServerProcess, model: OpenAIServer
) -> None:
    model.queue(text("Hi."))
    [frames] = re.findall(
        r"^```\n(← .*?)^```", (ROOT / "docs" / "clients.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    seen: list[str] = []
    async with connect(allowing_server.ws_url) as socket:
        for line in frames.splitlines():
            if line.startswith("→ "):
                await socket.send(line[2:])
                continue
            wanted = re.findall(r'"type":"(\w+)"', line)[0]
            async with asyncio.timeout(30):
                while (kind := json.loads(await socket.recv())["type"]) != wanted:
                    assert kind not in {"error", "turn_end"}, seen
            seen.append(wanted)

    assert seen == ["ready", "turn_start", "hook", "sentence", "turn_end"]
