"""Lists of codes and words, spoken digits, answers, keys, tables."""

import pytest

from server.policy.redaction.scan import secrets_in
from tests.policy.redaction.trades.texts import clean, missed

WORDS = "velvet orbit cactus jelly mango trumpet island harvest puzzle stem gravity oblige"
SECRET = [
    ("# Wachtwoorden oma (kerst 2023)\n\nZiggo: ziggo4anneke\nhuisarts 020", "ziggo4anneke"),
    ("Passwörter\n========\n- Mail: Fluss&Tal9", "Fluss&Tal9"),
    ("I made an app password and it shows bvnw lqzt ykrd mmse but it fails", "bvnw lqzt ykrd mmse"),
    ("Name  PIN\nAnna  1234\nBen   8890", "8890"),
    ("device | owner | unlock code\n-------+-------+------\ngate | anna | *3309#", "*3309#"),
    ("| Dienst | Kennwort |\n|---|---|\n| NAS | Tafelschwamm |", "Tafelschwamm"),
    # lists
    ("Codici di backup\n\n2841 9907   5510 3826\n7093 1148", "5510 3826"),
    ("TAN-Liste Nr. 47\n001 482913   002 770521\n003 115846", "770521"),
    ('FileVault "if you forget" MQ7D-2XKV-98TL-HHZC-0R4B-WP3N', "MQ7D-2XKV-98TL"),
    (f"the ledger, in the drawer\n\n{WORDS}\n\nDO NOT LOSE", WORDS),
    # spoken
    ("Your verification code is four, one, nine, nine.", "four, one, nine, nine"),
    ("der Code ist vier vier eins neun", "vier vier eins neun"),
    # what a bank asks for
    ("security q: mother's city → Sighisoara\n", "Sighisoara"),
    ("first pet: Biscuit Malone\n", "Biscuit Malone"),
    # keys
    ("Ihr Wahlschlüssel: hQ7m-Rt2x-V9kd", "hQ7m-Rt2x-V9kd"),
    ("Wi-Fi（2階）　暗号化キー 8d21f4e07b39a", "8d21f4e07b39a"),
    # tables
    ('"Utente"\t"Parola d\'ordine"\n"anna"\t"ecceAgnusDei3"', "ecceAgnusDei3"),
    ("| Was | Passwort (neu) | seit |\n|---|---|---|\n| Box | 83105527 | 2023 |", "83105527"),
    ('name,login,password\n"Bank, neu",anna,Xq82-lemon', "Xq82-lemon"),
]
HARMLESS = [
    "Doppelte Passwörter: 6\nAbleitung: Argon2id, 20 Runden",
    "Passwords\nRotation: every-90-days\nOwner: security team",
    "an app password is one that only will work once from here",
    "codes = ['011001', '110010', '101011', '111000']",
    "codes = (type_of(value),\n    'UInt','uint16','uint32','uint64','uint128')",
    "keys = [0, 0, 1, 14, 200, 33, 7, 9, 18, 22]",
    "key = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]",
    "token_keys = [3, 1, 4, 1, 5, 9, 2, 6, 5]",
    "recovery codes: int8, uint16, float32",
    "recovery, restore\n'randreal1',\n'randreal2',\n'randres53'",
    "error codes 100001, 100002, 100003",
    "certificate backup 30820321 30820209 A0030201",
    "wallet: we walk the dog and then he sees his mother with her friend on the long road",
    "The code has one, two, three, four parts",
    "Das Codewort für die Abholung vereinbaren Sie bitte mit der Gruppenleitung.",
    "EDDSA-Schlüssel: siehe Seite 12",
    "| Dienst | Passwort |\n|---|---|\n| Mail | see label underneath |",
    '["first_token", "first token"],\n["first_sentence", "first sentence"],',
]
NEAR_MISSES = [
    "passwords\n",
    "app password abcd efgh ",
    "backup codes abc-def-1 ", "codes 123456 ", "wallet abandon ", "first pet: ", "code one two three ", "Schlüssel a ", "| password | a |\n", 'password,a\n"',
]  # fmt: skip


@pytest.mark.parametrize("given", SECRET)
def test_what_is_told_by_its_place_is_taken_out(given: tuple[str, str]) -> None:
    assert missed(given) == []


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_stands_alike_stays(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize("piece", NEAR_MISSES)
def test_no_text_takes_more_than_linear_time(piece: str) -> None:
    secrets_in((piece * (65_536 // len(piece) + 1))[:65_536])
