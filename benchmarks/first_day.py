"""How useful the embedded model is on a newcomer's first day: the share of useful replies to ordinary sentences.

The conversations run through a real server with the shipped skills. Why replies of the shaping half were not useful
is printed; of the half that is kept back only totals are, for whoever reads a line of it has spent it as a measure.
"""

import asyncio
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from benchmarks.figures import Figure
from benchmarks.processes import ROOT, parley
from skills_engine import load_snapshot
from tests.corpora.first_day.judge import Sentence, judge, load, plain

SKILLS = load_snapshot(ROOT / "skills")
"""The skills that are on unless the operator says otherwise."""
CORPUS = ROOT / "tests" / "corpora" / "first_day"
HALVES = {"shaping": None, "kept_back": 0.7}
"""The files, and the share of useful replies that each has to reach; None: measured only."""
QUICK_CONVERSATIONS = 5
TURN_LIMIT_S = 120.0
_EMBEDDED = {"OPENAI_BASE_URL": "", "OPENAI_API_KEY": "", "OPENAI_MODEL": ""}
_READING_TOOLS = {"read_file", "search_text"}
_STOP = re.compile(r"(?<=[.!?])\s+")


@dataclass
class Score:
    replies: int = 0
    useful: int = 0
    repeated: int = 0
    """Replies that are the one before, word for word."""
    echoed: int = 0
    """Replies that hold a sentence of a hook."""


@dataclass
class Reply:
    text: str = ""
    tools: list[str] = field(default_factory=list)
    hooks: list[dict[str, Any]] = field(default_factory=list)


async def measure(*, is_quick: bool) -> list[Figure]:
    figures: list[Figure] = []
    async with parley("", environ=_EMBEDDED) as server:
        for half, goal in HALVES.items():
            conversations = list(load(CORPUS / f"{half}.toml").values())
            if is_quick:
                conversations = conversations[:QUICK_CONVERSATIONS]
            score = await run(server.url, conversations, is_shown=half == "shaping")
            figures += [
                _figure(f"useful replies, {half}", score.useful, score.replies, at_least=goal),
                _figure(f"replies equal to the one before, {half}", score.repeated, score.replies, at_most=0),
                _figure(f"replies with a hook's sentence, {half}", score.echoed, score.replies, at_most=0),
            ]
    return figures


async def run(url: str, conversations: Sequence[Sequence[Sentence]], *, is_shown: bool) -> Score:
    """Hold the conversations one after the other; `is_shown`: print each reply that is not useful, and why."""
    score = Score()
    hooks = hook_sentences()
    skills = [skill.name for skill in SKILLS.skills]
    for sentences in conversations:
        async with connect(url.replace("http", "ws", 1) + "/ws", max_size=None) as socket:
            await socket.recv()  # ready
            messages: list[dict[str, Any]] = []
            replies: list[str] = []
            for sentence in sentences:
                messages.append({"role": "user", "content": sentence.say})
                reply = await _turn(socket, messages)
                messages += [*reply.hooks, {"role": "assistant", "content": reply.text}]
                now = datetime.now().astimezone()
                reasons = judge(sentence, reply.text, replies, now, tools=reply.tools, skills=skills)
                score.replies += 1
                score.useful += not reasons
                score.repeated += bool(replies) and plain(reply.text) == plain(replies[-1])
                is_quotation = bool(_READING_TOOLS & {*reply.tools})
                score.echoed += not is_quotation and any(hook in plain(reply.text) for hook in hooks)
                replies.append(reply.text)
                if is_shown and reasons:
                    print(f"  {sentence.say!r} → {reply.text!r}: {'; '.join(reasons)}", file=sys.stderr)
    return score


def hook_sentences() -> list[str]:
    """Return the sentences of the shipped skills' hooks, as the judge compares texts."""
    return [plain(sentence) for hook in SKILLS.hooks(None) for sentence in _STOP.split(hook.content)]


async def _turn(socket: ClientConnection, messages: Sequence[dict[str, Any]]) -> Reply:
    await socket.send(json.dumps({"type": "chat", "messages": messages}))
    reply = Reply()
    async with asyncio.timeout(TURN_LIMIT_S):
        async for message in socket:
            frame = json.loads(message)
            match frame["type"]:
                case "text":
                    reply.text += frame["delta"]
                case "tool_call":
                    reply.tools.append(frame["name"])
                case "hook":
                    keys = {"name": "_hook", "skill": "_skill", "sig": "_sig"}
                    reply.hooks.append({keys.get(k, k): frame[k] for k in ("role", "content", *keys)})
                case "turn_end" if frame["reason"] == "completed":
                    return reply
                case "turn_end":
                    raise RuntimeError(f"the turn ended otherwise than measured: {message!r}")
    raise RuntimeError("the connection ended in the middle of a turn")


def _figure(name: str, part: int, whole: int, *, at_least: float | None = None, at_most: int | None = None) -> Figure:
    share = part / whole
    is_met = share >= at_least if at_least is not None else part <= at_most if at_most is not None else None
    goal = f"≥ {at_least:g}" if at_least is not None else f"≤ {at_most}" if at_most is not None else ""
    return Figure(
        name=f"{name} {part}/{whole}",
        unit="",
        count=whole,
        p50=share,
        p95=share,
        largest=share,
        goal=goal,
        is_met=is_met,
    )
