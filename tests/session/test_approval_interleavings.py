"""Whatever clients do and whenever: a request is resolved once, before its turn ends, and never shown after it."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from server import config
from server.accounts.principal import Principal
from server.agent.chunks import LLMChunk
from tests.model.profile import examples
from tests.session.asking import AskStep, Client, question
from tests.session.fakes import Frame
from tests.session.speech_fakes import FakeRecognizer, FakeSynthesizer, hear, speech
from tests.session.test_order import check_turn, check_turns
from tests.support.approvals import memory_broker
from tests.support.virtual_loop import VirtualLoop

SAY = LLMChunk(text="Hm. ")
END = LLMChunk(reply_end=True)
QUESTIONS = st.builds(
    question,
    st.sampled_from(["read_file", "delete"]),
    permission=st.sampled_from(["READ", "WRITE"]),
    timeout_s=st.sampled_from([None, 2.0]),
)
STEPS = st.one_of(st.just(SAY), st.just(END), QUESTIONS, QUESTIONS, st.lists(QUESTIONS, min_size=2, max_size=3))
PLANS = st.lists(st.lists(STEPS, min_size=1, max_size=4), min_size=1, max_size=4)
WORDS = st.lists(st.sampled_from(["Yes.", "Yes.", "No.", "Tell me more.", ""]), min_size=1, max_size=4)
ACTIONS = st.lists(
    st.one_of(
        st.sampled_from(["chat", "interrupt", "cancel", "greet", "leave", "voice", "silence"]),
        st.sampled_from(["wait", "utter"]),
        st.tuples(
            st.sampled_from(["asking", "other", "stranger"]),
            st.booleans(),
            st.sampled_from(["no", "conversation", "always"]),
            st.booleans(),
        ),
        st.sampled_from([0.3, 3.0, 30.0]),
    ),
    min_size=3,
    max_size=25,
).map(lambda actions: ["greet", "chat", "wait", *actions])
Action = str | float | tuple[str, bool, str, bool]


@dataclass
class Room:
    """A user's two clients, of which one asks, and somebody else's."""

    asking: Client
    other: Client
    stranger: Client
    saw: list[Frame] = field(default_factory=list)
    """What the other client was sent while it was there."""

    async def do(self, action: Action) -> None:
        match action:
            case "chat":
                self.asking.chat()
            case "interrupt":
                self.asking.send("interrupt")
            case "cancel":
                for task in asyncio.all_tasks():
                    if task.get_name().startswith("turn "):
                        task.cancel()
            case "greet":
                if self.other.approvals._clients.get("local", []).count(self.other.session._approvals) == 0:
                    self.other.session.greet()
            case "leave":
                self.other.session.hang_up()
            case "voice" | "silence" | "utter":
                if action != "silence":
                    await hear(self.asking.session.receive_binary, 0.3, is_voice=True)
                if action != "voice":
                    await hear(self.asking.session.receive_binary, 0.8, is_voice=False)
            case "wait":
                for _ in range(5):
                    await asyncio.sleep(0)
            case float():
                await asyncio.sleep(action)
            case (who, approved, remember, is_edited):
                self._answer(getattr(self, who), remember, approved=approved, is_edited=is_edited)

    def _answer(self, client: Client, remember: str, *, approved: bool, is_edited: bool) -> None:
        """The latest question, open or not."""
        if requests := self.asking.of("approval_request"):
            edited = {"arguments": {"path": "b"}} if is_edited else {}
            client.answer(requests[-1]["id"], approved=approved, remember=remember, **edited)


@examples(1500)
@given(PLANS, WORDS, ACTIONS, st.booleans(), st.booleans())
def test_every_request_is_resolved_once_and_before_its_turn_ends(
    plans: list[list[AskStep]], words: list[str], actions: list[Action], is_spoken: bool, by_voice: bool
) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        room = runner.run(play(plans, words, actions, is_spoken=is_spoken, by_voice=by_voice))

    check_asking(room.asking)
    check_both(room.asking, room.other)
    assert not room.stranger.of("approval_request", "approval_resolved")
    assert room.asking.approvals._open == {}
    assert room.asking.approvals._clients == {}


async def play(
    plans: list[list[AskStep]], words: list[str], actions: list[Action], *, is_spoken: bool, by_voice: bool
) -> Room:
    broker = memory_broker(config.ApprovalSettings(by_voice=by_voice, timeout_s=20))
    heard = speech(FakeRecognizer(*words), FakeSynthesizer())
    stranger = Principal("10.0.0.9", is_local=False, user_id="eve")
    async with (
        Client(*plans, broker=broker, speech=heard) as asking,
        Client(broker=broker) as other,
        Client(broker=broker, principal=stranger) as eve,
    ):
        asking.send("configure", voice=is_spoken)
        asking.session.greet()
        eve.session.greet()
        room = Room(asking, other, eve)
        for action in actions:
            await room.do(action)
        for client in (asking, other, eve):
            await client.flushed()
            await client.session.aclose()
            client.outbox.finish(1000, "")
            assert client._writer is not None
            await client._writer
        return room


def check_asking(client: Client) -> None:
    frames = [frame for frame in client.frames if frame["type"] != "transcript"]  # that names a turn yet to come
    check_turns(frames)
    for turn_id in {frame["turn_id"] for frame in client.of("turn_start")}:
        check_turn([frame for frame in frames if frame.get("turn_id") == turn_id])
    open_id: str | None = None
    for frame in client.of("approval_request", "approval_resolved", "turn_end"):
        match frame["type"]:
            case "approval_request":
                assert open_id is None, "one at a time"
                open_id = frame["id"]
            case "turn_end":
                assert open_id is None, "it was resolved before"
            case _ if frame["by"] == "remembered":
                assert open_id is None
                assert frame["tool"]
            case _:
                assert frame["id"] == open_id
                open_id = None
    assert open_id is None


def check_both(asking: Client, other: Client) -> None:
    """The two are told the same, and at most one of them is told that it was its answer."""
    outcome = {frame["id"]: frame for frame in asking.of("approval_resolved")}
    assert not [frame for frame in other.frames if "turn_id" in frame]
    shown = Counter(frame["id"] for frame in other.of("approval_request"))
    for frame in other.of("approval_resolved"):
        assert shown[frame["id"]]
        mine, theirs = outcome[frame["id"]], frame
        assert mine["approved"] == theirs["approved"]
        if theirs["by"] == "user":
            assert mine["by"] == "other_client"
        elif mine["by"] in ("user", "voice"):
            assert theirs["by"] == "other_client"
        else:
            assert mine["by"] == theirs["by"]
    assert all(count == 1 for count in Counter(f["id"] for f in other.of("approval_resolved")).values())
