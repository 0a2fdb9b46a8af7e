"""Whether words sound complete: a hint for the length of a silence."""

import pytest

from server.speech.outlook import sounds_complete


@pytest.mark.parametrize(
    "text",
    [
        "What is the weather like?",
        "Turn it on.",
        "Yes.",
        "I want more.",
        "What time is it?",
        'She said "stop."',
        "Who are you talking to?",
        "我想知道天气。",
        "今日はいい天気ですね。",
        "आज मौसम अच्छा है।",
        "ما هي عاصمة فرنسا؟",
        "What is that for?",
    ],
)
def test_a_sentence_that_is_whole_may_end_soon(text: str) -> None:
    assert sounds_complete(text) is True


@pytest.mark.parametrize(
    "text",
    [
        "I would like to know if",
        "I'd like a ticket to the",
        "I'd like a ticket to the.",
        "Give me bread, butter and",
        "Well,",
        "The thing is...",
        "The thing is…",
        "My name is Anna and um.",
        "我想去但是",
        "我想去，",
        "أريد أن أذهب،",
        "እኔ፣",
        "行きたいけど",
        "Because.",
    ],
)
def test_a_sentence_that_hangs_in_the_air_is_waited_for(text: str) -> None:
    assert sounds_complete(text) is False


@pytest.mark.parametrize("text", ["", "  ", "hello there", "今天天气"])
def test_words_that_do_not_tell_leave_it_open(text: str) -> None:
    assert sounds_complete(text) is None
