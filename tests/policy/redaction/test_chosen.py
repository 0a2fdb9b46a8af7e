"""What a person may have chosen as a password, and what labels, messages, references and programs say in its place."""

import pytest

from server.policy.redaction.chosen import is_chosen, is_no_identifier


@pytest.mark.parametrize(
    "value",
    [
        "Sommerwind im Mai",
        "brume-sur-le-lac",
        "Tulpe;Gras;17",
        "Bürste&Kamm",
        "quatro gatos no telhado",
        "Wäsche/Leine",
        "hora_de_la_siesta",
        "Mühle.am.Bach",
        "4711",
    ],
)
def test_people_choose_nearly_anything(value: str) -> None:
    assert is_chosen(value, is_quoted=True)


@pytest.mark.parametrize(
    "value",
    [
        "abc",
        " Sommerwind",
        "Mot de passe",
        "Enter a new one",
        "Passwort vergessen",
        "see the wiki",
        "siehe Tresor",
        "Which one is it?",
        "[encrypted]",
        "${DB_PASSWORD}",
        "<from the vault>",
        "docs/onboarding.md",
        "/etc/app/pw",
        "@pw.txt",
        "id=npmrc,src=x",
        "getpass()",
        'prompt("…")',
        "请联系管理员获取",
    ],
)
def test_labels_messages_references_and_calls_are_no_passwords(value: str) -> None:
    assert not is_chosen(value, is_quoted=True)


@pytest.mark.parametrize(
    "value", ["cfg.smtp.pw", "form_field", "newValue", "row['pw']", "&self.pw", "a || b", "MAX_LENGTH", "--stdin"]
)
def test_without_quotes_program_text_is_none_either(value: str) -> None:
    assert not is_chosen(value, is_quoted=False)


def test_a_sign_an_accent_or_a_space_makes_no_name_of_anything() -> None:
    assert is_no_identifier("Wäsche")
    assert is_no_identifier("a&b")
    assert not is_no_identifier("my-app.tls_2")
