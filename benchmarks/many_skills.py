"""300 skills of 10 conditional hooks each: reading and checking them, deciding in a turn, and what each client is sent."""

import gc
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from websockets.asyncio.client import connect

from benchmarks.figures import Figure, figure
from benchmarks.processes import parley, running
from skill_tools import command
from skills_engine import TIMINGS, CallFacts, HookFacts, HookInfo, HookManager, load_snapshot
from skills_engine.turn_sequence import TurnSequence

SKILLS = 300
HOOKS = 10
"""Hooks of each skill, of all timings."""
FURTHER_TIMINGS = ("after_user_input",) * 3 + ("after_tool_call", "after_user_input")
TOPICS = ("refund", "invoice", "password", "delivery", "weather", "recipe", "holiday", "résumé", "Straße", "предмет")
QUESTION = "I would like to have my money back for order 4711, please: the refund has not come yet. "
RESULT = json.dumps({"order": 4711, "state": "lost", "notes": ["the parcel never came", "asked twice"] * 5})
"""What a tool answers, of some 200 bytes."""


async def measure(*, is_quick: bool) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        skills = Path(folder)
        for number in range(SKILLS):
            _save_skill(skills / f"skill-{number:03}", number)
        few = 3 if is_quick else 10
        loads = [_cpu_ms(lambda: load_snapshot(skills)) for _ in range(few)]
        lints = [_cpu_ms(lambda: _lint(skills)) for _ in range(few)]
        hooks = load_snapshot(skills).hooks(None)
        gc.freeze()  # as the server does once it has started: a full collection is no cost of the hooks
        turns = [_cpu_ms(lambda: _play(hooks)) for _ in range(few * 3)]
        frames = await _frame_kb(skills)
    of = f"{SKILLS} skills of {HOOKS} conditional hooks"
    return [
        figure(f"deciding a turn of three rounds, {of}", "ms CPU", turns, goal_p50=20),
        figure(f"loading {of}", "ms CPU", loads, goal_p50=1000),
        figure(f"`lint` of {of}", "ms CPU", lints, goal_p50=1500),
        *(figure(f"`{kind}` frame, {of}", "KB", [size], goal_p50=60) for kind, size in frames.items()),
    ]


def _cpu_ms(run: Callable[[], object]) -> float:
    started_ns = time.process_time_ns()
    run()
    return (time.process_time_ns() - started_ns) / 1e6


def _lint(skills: Path) -> None:
    with redirect_stdout(StringIO()):
        command.main(["lint", str(skills)], _no_model)


def _no_model(*_: Any, **__: Any) -> Any:
    raise NotImplementedError


def _play(hooks: list[HookInfo]) -> None:
    """Decide as a turn of the server does: with planning, then three rounds, of which two call a tool."""
    facts = HookFacts(user_messages=("Hello", QUESTION), tools=frozenset({"shop__order"}), language="en")
    sequence = TurnSequence(HookManager([], hooks, max_persistent=64, facts=facts))
    calls = [CallFacts(name="shop__order", arguments={"id": 4711}, result=RESULT)]
    _search(sequence.searches("after_user_input"))
    sequence.start()
    _search(sequence.searches("before_planning"))
    sequence.begin_planning("Do you need tools?")
    sequence.end_planning()
    for number in range(3):
        _search(sequence.searches("before_each_agent", *(["before_first_agent"] if number == 0 else [])))
        sequence.begin_round("Go on.")
        if number < 2:
            _search(sequence.searches("after_tool_call", calls=calls))
            sequence.end_batch(calls)
        sequence.end_round()
    sequence.end_loop()
    assert sequence.state is not None


def _search(searches: Iterator[Callable[[], object]]) -> None:
    for run in searches:
        run()


async def _frame_kb(skills: Path) -> dict[str, float]:
    """Return the sizes of the two frames that list the skills, to an operator who may see texts."""
    async with (
        running("-m", "benchmarks.model_server", "1", "0") as teller,
        parley(teller.url, skills_dir=skills) as server,
        connect(server.url.replace("http", "ws", 1) + "/ws", compression=None, max_size=None) as socket,
    ):
        sizes: dict[str, float] = {}
        _save_skill(skills / "skill-000", SKILLS)
        while len(sizes) < 2:
            text = await socket.recv()
            if (kind := json.loads(text)["type"]) in ("ready", "skills"):
                sizes[kind] = len(text) / 1000
    return sizes


def _save_skill(folder: Path, number: int) -> None:
    (folder / "hooks").mkdir(parents=True, exist_ok=True)
    description = f"Helps with {TOPICS[number % len(TOPICS)]} in the way of department {number}."
    (folder / "SKILL.md").write_text(f"---\nname: {folder.name}\ndescription: {description}\n---\n\nBody.\n")
    entries = [_entry(number, index) for index in range(HOOKS)]
    (folder / "hooks" / "hooks.json").write_text(json.dumps({"hooks": entries}))
    for entry in entries:
        (folder / "hooks" / entry["file"]).write_text(f"Mind rule {entry['name']} of department {number}.\n")


def _entry(number: int, index: int) -> dict[str, Any]:
    """Return one of ten hooks: six stand in the user's message, the others in the loop; most do not fire."""
    timing = (*TIMINGS, *FURTHER_TIMINGS)[index]
    patterns = [
        *(f"{topic} {number}-{index}" for topic in (*TOPICS, *TOPICS)[index : index + 4]),
        f"/{TOPICS[number % len(TOPICS)]}s? (no\\.|number) ?{number}[0-9]+/i",
        f"/\\bdepartment-{number}-{index}\\b|\\b(ask|call) (the )?department {number}\\b/i",
    ]
    when: dict[str, Any] = {"user_text": patterns, "channel": "text"}
    if timing == "after_tool_call":
        when = {"tool": ["shop__*"], "tool_result": patterns, "not": {"user_text": ["later"]}}
    elif index == 5:
        when = {"any": [{"user_text": patterns, "scan_turns": 5}, {"language": ["fr"]}], "turn": {"min": 2}}
    memories: dict[int, Any] = {6: {"cooldown": 3}, 7: {"once": "conversation"}, 8: {"group": f"tone-{number % 3}"}}
    if number % 50 == 0 and index < 2:
        when = {"user_text": ["refund"], "channel": "text"}
    hook = {"name": f"hook-{index}", "file": f"hook-{index}.md", "timing": timing, "role": "system"}
    return {**hook, "persistent": False, "when": when, **memories.get(index, {})}
