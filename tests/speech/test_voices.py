"""Which voice says which part of a text, and how long texts are cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.speech.voices import MAX_PIECE_CHARS, LanguageRun, language_runs, pieces, primary


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Hello there.", None, [("en", "Hello there.")]),
        ("Hello 世界, my friend.", None, [("en", "Hello "), ("cmn", "世界, "), ("en", "my friend.")]),
        ("我喜欢编程。", "zh-CN", [("cmn", "我喜欢编程。")]),
        ("我喜歡你", "yue", [("yue", "我喜歡你")]),
        ("今日はいい天気", None, [("ja", "今日はいい天気")]),
        ("今日", "ja-JP", [("ja", "今日")]),
        ("안녕하세요", None, [("ko", "안녕하세요")]),
        ("Привет!", None, [("ru", "Привет!")]),
        ("Привіт!", "uk", [("uk", "Привіт!")]),
        ("Guten Tag", "de-AT", [("de", "Guten Tag")]),
        ("Guten Tag", None, [("en", "Guten Tag")]),
        ("OK", "zh", [("en", "OK")]),
        ("12 个苹果", None, [("cmn", "12 个苹果")]),
        ("42", None, [("en", "42")]),
        ("42", "zh", [("cmn", "42")]),
        ("… — !", None, []),
        ("", None, []),
    ],
)
def test_each_script_finds_its_reader(text: str, language: str | None, expected: list[tuple[str, str]]) -> None:
    assert language_runs(text, language) == [LanguageRun(*pair) for pair in expected]


def test_language_tags_are_cut_to_what_engines_know() -> None:
    assert [primary(tag) for tag in ("de-AT", "zh-Hant-TW", "EN_us", "", None)] == ["de", "cmn", "en", None, None]


@given(st.text(max_size=400), st.sampled_from([None, "en", "de", "zh", "ja", "ru"]))
def test_no_character_is_lost_between_voices(text: str, language: str | None) -> None:
    found = language_runs(text, language)

    assert "".join(part.text for part in found) in ("", text)
    assert bool(found) or not any(character.isalpha() and character.isascii() for character in text)


@given(st.text(alphabet="ab ,.。", max_size=1000))
def test_long_texts_are_cut_and_nothing_is_lost(text: str) -> None:
    cut = pieces(text)

    assert "".join(cut) == text
    assert all(0 < len(piece) <= MAX_PIECE_CHARS for piece in cut)


@pytest.mark.parametrize(
    ("clause", "end"),
    [
        ("One clause of some forty characters length, ", "length, "),
        ("एक वाक्य जो लगभग चालीस अक्षरों का है और यहीं समाप्त होता है। ", "है। "),
        ("ایک جملہ جو تقریباً چالیس حروف کا ہے اور یہیں ختم ہوتا ہے۔ ", "ہے۔ "),
        ("جملة من نحو أربعين حرفا تنتهي بفاصلة هنا، ", "هنا، "),
        ("这是一个大约有二十个字的句子，用来测试切分的位置。", "位置。"),
        ("Մի նախադասություն մոտ քառասուն տառից։ ", "տառից։ "),
    ],
)
def test_a_long_text_is_cut_at_its_last_clause_in_any_script(clause: str, end: str) -> None:
    assert pieces(clause * 10)[0].endswith(end)


def test_no_number_or_name_is_cut_at_its_mark() -> None:
    text = "The value is " + "3.14159 or 1,000.50 at 10:30 on example.org and " * 8

    assert all(piece.endswith(" ") for piece in pieces(text))
