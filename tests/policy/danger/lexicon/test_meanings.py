"""Words of other languages mean what they mean, and English stays as it is."""

import pytest

from server.policy.danger.lexicon.meanings import key_of, meanings


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("konto_löschen", ("account", "delete")),
        ("supprimer_fichier", ("delete", "file")),
        ("puertaAbrir", ("door", "open")),
        ("удалить_файл", ("delete", "file")),
        ("メール送信", ("mail", "send")),
        ("云主机", ("instance",)),
        ("予定を一括削除", ("appointment", "all", "delete")),
        ("delete_user", ("delete", "user")),
        ("天气", ("天气",)),
    ],
)
def test_a_name_is_read_word_by_word(name: str, meant: tuple[str, ...]) -> None:
    assert meanings(name) == meant


@pytest.mark.parametrize("form", ["löschen", "löscht", "gelöscht", "Löschung"])
def test_a_stem_is_known_in_its_forms(form: str) -> None:
    assert meanings(form) == ("delete",)


@pytest.mark.parametrize(
    ("name", "key"),
    [("aktion", "action"), ("操作", "action"), ("кому", "to"), ("betreff", "subject"), ("consulta", "query")],
)
def test_names_of_arguments_are_read_in_english(name: str, key: str) -> None:
    assert key_of(name) == key


@pytest.mark.parametrize("name", ["file_path", "maxTokens", "X-Custom", "a", "file-name"])
def test_an_english_name_of_an_argument_stays_as_it_is_written(name: str) -> None:
    assert key_of(name) == name
