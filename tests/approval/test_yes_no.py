"""server/approval/asking.py: which words are a yes, which a no; everything else is neither."""

import pytest

from server.approval.asking import LANGUAGES, is_lasting_yes, yes_or_no


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Yes.", "en", True),
        ("YES, please!", "en-GB", True),
        ("no", "en", False),
        ("No, no, no!", "en", False),
        ("Don’t do it.", "en", False),
        ("ja bitte", "de", True),
        ("Nein, danke.", "de-AT", False),
        ("是的。", "zh", True),
        ("可 以", "zh-CN", True),
        ("不可以", "zh", False),
        ("不，不要", "zh", None),
        ("はい、お願いします。", "ja", True),
        ("いいえ", "ja", False),
        ("Oui, bien sûr !", "fr", True),
        ("Non merci", "fr-CA", False),
        ("¡Sí!", "es", True),
        ("no, gracias", "es", False),
        ("ＯＫ", "ja", True),
    ],
)
def test_a_whole_utterance_is_a_yes_or_a_no(text: str, language: str, *, expected: bool | None) -> None:
    assert yes_or_no(text, language) is expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "…",
        "yes but use the other file",
        "no wait yes",
        "yesterday",
        "is that a yes?",
        "I said nothing",
        "know",
    ],
)
@pytest.mark.parametrize("language", [None, "en", "de", "zh"])
def test_anything_more_or_else_is_neither(text: str, language: str | None) -> None:
    assert yes_or_no(text, language) is None


@pytest.mark.parametrize("text", ["do it", "of course", "うん", "いいです", "大丈夫", "bien sûr", "claro", "natürlich"])
def test_a_yes_that_may_be_the_rest_of_a_refusal_is_none(text: str) -> None:
    assert yes_or_no(text, None) is None


def test_only_the_users_own_language_counts_where_it_is_known() -> None:
    assert yes_or_no("oui", "en") is None
    assert yes_or_no("oui", None) is True
    assert yes_or_no("oui", "tlh") is True, "there is no list for it: every list counts"


def test_no_word_is_a_yes_in_one_language_and_a_no_in_another() -> None:
    yes = frozenset().union(*(words.yes for words in LANGUAGES.values()))
    no = frozenset().union(*(words.no for words in LANGUAGES.values()))

    assert not yes & no
    assert "" not in yes | no


@pytest.mark.parametrize("language", sorted(LANGUAGES.keys() - {"zh"}))  # 不可以 cannot do without 可以
def test_no_refusal_becomes_a_yes_when_its_beginning_or_its_end_is_lost(language: str) -> None:
    words = LANGUAGES[language]

    clipped = {(no, yes) for no in words.no for yes in words.yes if no.startswith(yes) or no.endswith(yes)} - {
        ("никогда", "да")
    }  # one word, not two
    assert clipped == set()


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_a_lasting_yes_is_a_yes_and_no_plain_one(language: str) -> None:
    words = LANGUAGES[language]

    assert words.lasting_yes
    assert not words.lasting_yes & (words.yes | words.no)
    for phrase in words.lasting_yes:
        assert yes_or_no(phrase, language) is True
        assert is_lasting_yes(phrase, language)
    assert not any(is_lasting_yes(phrase, language) for phrase in words.yes | words.no)


def test_a_lasting_yes_is_a_whole_utterance() -> None:
    assert is_lasting_yes("Yes, always!", "en-GB")
    assert is_lasting_yes("Ja, immer.", None)
    assert not is_lasting_yes("yes always and delete the rest", "en")
    assert not is_lasting_yes("always", "en")


@pytest.mark.parametrize("text", ["no, " * 1000 + "no", "yes\u0301\u0323" * 30_000])
def test_what_is_longer_than_any_answer_is_neither_and_is_not_normalised(text: str) -> None:
    assert yes_or_no(text, "en") is None
    assert not is_lasting_yes(text, "en")
