"""The tables: ours are sound, the operator's is merged over them, a wrong line is named with its cure."""

from pathlib import Path

import pytest

from server.errors import ConfigError
from server.toolguard.redaction.redact import redactor
from server.toolguard.redaction.secrets_table import read_table

OWN = """
[names]
passwords = "zauberwort"
unless = "public"

[values]
words = "simsalabim"
patterns = ['intern-\\w+']

[forms.badge]
keywords = ["badge "]
regex = 'badge (?P<s>[A-Z]{3}-\\d{4})'

[issuers.acme_key]
marks = "acme_live_ acme_test_"
then = '[a-z0-9]{12}'
source = "docs.acme.example"
"""


def test_our_tables_are_sound() -> None:
    table = read_table(None)

    assert len(table.issuers) > 180
    assert [name for name, issuer in table.issuers.items() if not issuer.source] == []
    assert [name for name, form in table.forms.items() if form.back and form.reach > 100] == []


def test_the_operators_table_is_merged_over_ours(tmp_path: Path) -> None:
    own = tmp_path / "secrets.toml"
    own.write_text(OWN, "utf-8")
    text = "zauberwort: Hokus-4417!x badge ABC-1234 acme_live_0123456789ab password: Tundra-4417!x"

    before = redactor(None).redact_text(text)[1]
    clean, counts = redactor(own).redact_text(text)

    assert before == {"named": 1}
    assert counts == {"named": 2, "badge": 1, "acme_key": 1}
    assert clean == "zauberwort: [REDACTED] badge [REDACTED] [REDACTED] password: [REDACTED]"
    assert redactor(own).redact_text("password: 'simsalabim'")[1] == {}
    assert redactor(own).redact_text("password=intern-4711x")[1] == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[forms.a]\nkeywords = ['abc']\nregex = '('", "forms.a: regex is not a valid regular expression"),
        ("[forms.a]\nkeywords = []\nregex = 'a'", "forms.a: Expected `array` of length >= 1"),
        ("[forms.a]\nkeywords = ['abc']\nregexp = 'a'", "forms.a: Object contains unknown field `regexp`"),
        ("[forms.a]\nkeywords = ['abc']\nregex = 'a'\nlook = 'odd'", "unknown field `look`"),
        ("[forms.a]\nkeywords = ['abc']\nregex = 'a'\nlooks = 'strange'", "forms.a: Invalid enum value 'strange'"),
        ("[issuers.b]\nmarks = 'b_'\nthen = '['", "issuers.b: then is not a valid regular expression"),
        ("[names]\npassword = 'x'", "unknown field `password`"),
        ("[values]\npatterns = ['(']", "patterns is not a valid regular expression"),
        ("forms = 3", "forms: Expected `object`"),
        ("names = [", "not valid TOML"),
    ],
)
def test_a_wrong_line_is_named_with_file_key_and_cure(tmp_path: Path, text: str, words: str) -> None:
    own = tmp_path / "own.toml"
    own.write_text(text, "utf-8")

    with pytest.raises(ConfigError) as raised:
        redactor(own)

    assert str(raised.value).startswith(f"{own}: ")
    assert words in str(raised.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        redactor(tmp_path / "none.toml")
