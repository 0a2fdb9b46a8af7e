"""`make clients`: six stock clients of OpenAI's Realtime API against the real server, and a matrix of what works.

The model and the speech engines are scripted. `python -m tests.stock_clients [CLIENT…]`, for example `pipecat`;
scripts/clients.sh installs the clients first. Ends with 1 if a feature fails.
"""

import asyncio
import json
import os
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from server.speech.audio import SPEECH_RATE, samples_to_pcm16
from tests.support.openai_script import Answer, Pause, calls, text
from tests.support.openai_server import OpenAIServer, Request
from tests.support.server_process import ROOT, ServerProcess
from tests.support.speech_corpus import VOICES, spoken
from tests.support.speech_server import speech_server
from tests.support.talking_server import hearing, talking_server

HERE: Final = Path(__file__).parent
INSTALLED: Final = ROOT / ".cache" / "clients"
KEY: Final = "a-token-for-clients"
RATE: Final = 24_000
CLIENT_LIMIT_S: Final = 240
EXAMPLE_LIMIT_S: Final = 60
FEATURES: Final = (
    *("text_turn", "spoken_turn", "manual_commit", "client_tool", "interruption", "transcription"),
    *("image", "mcp_by_address", "example_in_docs"),
)
SIGNS: Final = {"works": "works", "refused": "refused", "fails": "FAILS", "not tried": "-"}


@dataclass(frozen=True)
class Client:
    name: str
    package: str
    script: str

    @property
    def is_node(self) -> bool:
        return self.script.endswith(".mjs")


CLIENTS: Final = (
    Client("openai-python", "openai", "with_openai.py"),
    Client("openai-agents-python", "openai-agents", "with_agents.py"),
    Client("pipecat", "pipecat-ai", "with_pipecat.py"),
    Client("livekit", "livekit-plugins-openai", "with_livekit.py"),
    Client("openai-node", "openai", "with_openai.mjs"),
    Client("openai-agents-js", "@openai/agents", "with_agents.mjs"),
)


def answer(request: Request) -> Answer:
    """What the model says, by what was asked last, so that the order of clients and features does not matter."""
    if any("image_url" in str(message.get("content")) for message in request.messages):
        return text("A picture.")
    replies = [str(message["content"]) for message in request.messages if message["role"] == "assistant"]
    for message in reversed(request.messages):
        said = str(message.get("content"))
        if message["role"] == "tool":
            return text(f"The weather: {said}")
        if "weather" in said and "get_weather" in request.tool_names:
            return calls(("get_weather", {"city": "Berlin"}))
        if "story" in said and message["role"] == "user":
            sentences = [(f"This is sentence number {number} of a story. ", Pause(0.5)) for number in range(1, 9)]
            return text(*(step for sentence in sentences for step in sentence))
        if "What time" in said or message["role"] == "assistant":
            break
    return text(f"I said: {replies}") if "This is" in str(replies) else text("It is ", "noon.")


@asynccontextmanager
async def servers(folder: Path) -> AsyncIterator[tuple[ServerProcess, ServerProcess]]:
    """One in plain HTTP and one over self-signed TLS; both want a token."""
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(OpenAIServer(respond=answer))
        speech = await stack.enter_async_context(
            speech_server(text="What time is it?", pieces=[bytes(2 * RATE)])  # each sentence is a second long
        )
        for name in ("plain", "tls"):
            (folder / name).mkdir()
        security = {"auth": "token", "tokens": [{"token": KEY, "user": "clients"}]}
        tls = {"tls": certificate(folder)}
        plain = talking_server(folder / "plain", model, speech, security=security)
        secured = talking_server(folder / "tls", model, speech, security=security, listen=tls)
        await asyncio.gather(*(stack.enter_async_context(process) for process in (plain, secured)))
        headers = {"Authorization": f"Bearer {KEY}"}
        await hearing(plain.ws_url, additional_headers=headers)
        trusted = ssl.create_default_context(cafile=folder / "cert.pem")
        await hearing(secured.ws_url, additional_headers=headers, ssl=trusted)
        yield plain, secured


def certificate(folder: Path) -> dict[str, str]:
    paths = {"cert": str(folder / "cert.pem"), "key": str(folder / "key.pem")}
    making = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    command = [*making.split(), *names, "-keyout", paths["key"], "-out", paths["cert"]]
    subprocess.run(command, check=True, capture_output=True)
    return paths


def question(file: Path) -> Path:
    """Write what the clients say: a question with silence around it, PCM16 at 24 kHz."""
    sound = spoken("What time is it now, please?", VOICES[0])
    places = np.arange(0, sound.size, SPEECH_RATE / RATE)
    at_24_khz = np.interp(places, np.arange(sound.size), sound).astype(np.float32)
    file.write_bytes(bytes(2 * RATE // 2) + samples_to_pcm16(at_24_khz) + bytes(2 * 2 * RATE))
    return file


async def run(
    tried: Client,
    url: str,
    folder: Path,
    *,
    python: Path = INSTALLED / "bin" / "python",
    logs: Path = INSTALLED,
) -> dict[str, dict[str, str]]:
    """Run one client's script; what it says of each feature. Then run its example in docs/realtime.md."""
    place = INSTALLED / "node" if tried.is_node else HERE / "python"
    program = ROOT / "scripts" / "node.sh" if tried.is_node else python
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PARLEY_URL": url,
        "PARLEY_KEY": KEY,
        "PARLEY_SPEECH": str(folder / "question.pcm"),
        "NODE_EXTRA_CA_CERTS": str(folder / "cert.pem"),
        "OPENAI_AGENTS_DISABLE_TRACING": "1",  # it would be sent to OpenAI
    }
    code, out, errors = await executed(program, place / tried.script, environ, limit_s=CLIENT_LIMIT_S)
    lines = [json.loads(line) for line in out.splitlines() if line.startswith('{"feature"')]
    missing = {"result": "not tried", "detail": ""}
    if code:
        missing = {"result": "fails", "detail": f"{tried.script} ended with {code}"}
    found = dict.fromkeys(FEATURES, missing) | {line["feature"]: line for line in lines}

    example = (INSTALLED / "node" if tried.is_node else folder) / f"documented-{tried.name}{Path(tried.script).suffix}"
    example.write_text(documented(tried.name, url), "utf-8")
    code, out, more = await executed(program, example, environ, limit_s=EXAMPLE_LIMIT_S)
    is_right = out.strip() == "It is noon."
    found["example_in_docs"] = {
        "result": "works" if is_right else "fails",
        "detail": out.strip() or f"ended with {code}",
    }
    (logs / f"{tried.name}.log").write_bytes(errors + more)
    return found


def documented(name: str, url: str) -> str:
    """Return a client's example in docs/realtime.md, for the server at `url`."""
    page = (ROOT / "docs" / "realtime.md").read_text("utf-8")
    code = page.partition(f"\n### {name}\n")[2].partition("\n```")[2].partition("\n```")[0].partition("\n")[2]
    return code.replace("localhost:8765", url.partition("://")[2]).replace("YOUR_KEY", KEY) + "\n"


async def executed(program: Path, script: Path, environ: dict[str, str], *, limit_s: float) -> tuple[int, str, bytes]:
    """Run it to its end, at most for `limit_s`; its exit code and what it wrote."""
    child = await asyncio.create_subprocess_exec(
        program, script, env=environ, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(limit_s):
            out, errors = await child.communicate()
    except TimeoutError:
        child.kill()
        out, errors = await child.communicate()
    assert child.returncode is not None
    return child.returncode, out.decode(), errors


async def main(names: Sequence[str]) -> int:
    started = time.monotonic()
    chosen = [tried for tried in CLIENTS if not names or tried.name in names]
    found: dict[str, dict[str, dict[str, str]]] = {}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        question(folder / "question.pcm")
        async with servers(folder) as (plain, secured):
            for tried in chosen:
                found[tried.name] = await run(tried, (secured if tried.is_node else plain).url, folder)
                for feature, line in found[tried.name].items():
                    print(f"{tried.name}: {feature}: {line['result']}: {line['detail']}", flush=True)
            for process in (plain, secured):
                (INSTALLED / f"server-{process.folder.name}.log").write_text(process.log(), "utf-8")
    print(f"\n| client | {' | '.join(feature.replace('_', ' ') for feature in FEATURES)} |")
    print("|---" * (len(FEATURES) + 1) + "|")
    for name, features in found.items():
        print(f"| {name} | {' | '.join(SIGNS[features[feature]['result']] for feature in FEATURES)} |")
    print(
        f"\n{time.monotonic() - started:.0f} s; what the clients and servers wrote is in {INSTALLED.relative_to(ROOT)}"
    )
    return any(line["result"] == "fails" for features in found.values() for line in features.values())


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
