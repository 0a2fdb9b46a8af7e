"""clients/talk/history.py"""

from typing import Any

from clients.talk.history import History


def frames(turn_id: str, *steps: str, audio: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """`"text"`: a sentence; `"text…"`: one whose end does not come; `"text_"`: of none yet; `"#name"`: a hook."""
    made: list[dict[str, Any]] = [{"type": "turn_start", "turn_id": turn_id}]
    for index, step in enumerate(steps):
        if step.startswith("#"):
            made.append(hook(turn_id, step[1:]))
            continue
        text = step.rstrip("…_")
        made.append({"type": "text", "turn_id": turn_id, "delta": text})
        if step.endswith("_"):
            continue
        made.append({"type": "sentence", "turn_id": turn_id, "index": index, "text": text, "audio": audio})
        if not step.endswith("…"):
            made.append({"type": "sentence_end", "turn_id": turn_id, "index": index})
    return made


def hook(turn_id: str, name: str) -> dict[str, Any]:
    fields = {"role": "system", "content": name.upper(), "name": name, "skill": "s", "sig": "v1", "timing": "t"}
    return {"type": "hook", "turn_id": turn_id, **fields}


def end(turn_id: str, **fields: Any) -> dict[str, Any]:
    return {"type": "turn_end", "turn_id": turn_id, "reason": "completed", **fields}


def take(history: History, *made: dict[str, Any]) -> None:
    for frame in made:
        history.take(frame)


def contents(history: History) -> list[str]:
    return [f"{message['role'][0]}:{message['content']}" for message in history.messages]


def test_sentences_become_one_message_when_the_turn_ends() -> None:
    history = History()
    history.user("hi")
    take(history, *frames("t1", "One.", " Two."))
    assert contents(history) == ["u:hi"]
    take(history, end("t1"))

    assert contents(history) == ["u:hi", "a:One. Two."]


def test_a_hook_stands_between_what_was_said_before_and_after_it() -> None:
    history = History()
    history.user("hi")
    take(history, *frames("t1", "#a", "One.", "#b", " Two."), end("t1"))

    assert contents(history) == ["u:hi", "s:A", "a:One.", "s:B", "a: Two."]
    assert history.messages[1] == {"role": "system", "content": "A", "_hook": "a", "_skill": "s", "_sig": "v1"}


def test_a_sentence_that_does_not_end_was_not_heard() -> None:
    history = History()
    history.user("hi")
    take(history, *frames("t1", "One.", " Two…"), end("t1"))

    assert contents(history) == ["u:hi", "a:One."]


def test_a_rollback_takes_the_turn_and_its_question_back() -> None:
    history = History()
    history.user("kept")
    take(history, *frames("t1", "One."), end("t1"))
    history.user("hi")
    take(history, *frames("t2", "#a", "Two."), end("t2", rollback=True))

    assert contents(history) == ["u:kept", "a:One."]


def test_the_next_question_cuts_the_turn_and_of_what_still_comes_only_hooks_count() -> None:
    history = History()
    history.user("hi")
    take(history, *frames("t1", "One.", " Two…"))
    history.user("stop")
    take(history, {"type": "sentence_end", "turn_id": "t1"}, hook("t1", "late"), end("t1"))
    take(history, *frames("t2", "Yes."), end("t2"))

    assert contents(history) == ["u:hi", "a:One.", "s:LATE", "u:stop", "a:Yes."]


def test_typed_words_that_cut_a_turn_keep_all_that_was_shown_of_it() -> None:
    history = History()
    history.user("hi")
    take(history, *frames("t1", "One.", "#a", " Two.…", " Thr_", audio={"format": "pcm16", "sample_rate": 8000}))
    history.user("stop", is_typed=True)
    take(history, {"type": "text", "turn_id": "t1", "delta": "ee."}, end("t1"))
    take(history, *frames("t2", "Yes."), end("t2"))

    assert contents(history) == ["u:hi", "a:One.", "s:A", "a: Two. Thr", "u:stop", "a:Yes."]


def test_a_lost_connection_keeps_what_was_shown_and_of_a_spoken_reply_what_was_heard() -> None:
    kept = []
    for audio in (None, {"format": "pcm16", "sample_rate": 8000}):
        history = History()
        history.user("hi")
        take(history, *frames("t1", "One.", " Two.…", " Thr_", audio=audio))
        history.cut()
        kept.append(contents(history)[1:])

    assert kept == [["a:One. Two. Thr"], ["a:One."]]


def test_the_state_is_that_of_the_last_turn_that_has_one_and_was() -> None:
    history = History()
    history.user("one")
    take(history, *frames("t1", "Yes."), end("t1", state="after t1"))
    assert history.state == "after t1"
    history.user("two", is_typed=True)
    take(history, *frames("t2", "Yes."), end("t2"))
    assert history.state == "after t1"
    history.user("three", is_typed=True)
    take(history, *frames("t3"), end("t3", rollback=True, state="after t3"))
    assert history.state == "after t1"
    take(history, *frames("t4", "Be…"))

    history.user("five", is_typed=True)
    take(history, end("t4", reason="interrupted", state="after t4"))

    assert history.state == "after t4"


def test_a_nudged_turn_that_never_was_takes_no_message_of_the_user_along() -> None:
    history = History()
    history.user("Hi")
    take(history, *frames("t1", "Hello."), end("t1"))
    take(history, *frames("t2", "Still there?"), end("t2"))
    start, *rest = frames("t3", "Hm?")
    take(history, start | {"trigger": "nudge"}, *rest, end("t3", rollback=True))

    assert contents(history) == ["u:Hi", "a:Hello.", "a:Still there?"]
