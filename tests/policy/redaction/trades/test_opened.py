"""Codes for doors, safes, phones and logins, as people write them down; and numbers that are none."""

import pytest

from server.policy.redaction.scan import secrets_in
from tests.policy.redaction.trades.texts import clean, missed

SECRET = [
    ("Schlüsselkasten hinten am Carport, 3-3-7-1", "3-3-7-1"),
    ("The safe: turn right to 34, left to 12, right to 27", "right to 34, left to 12, right to 27"),
    ("Geheimzahl steht hier: 5561", "5561"),
    ("The lockbox is on the left, code 4471, push the lever", "4471"),
    ("O código do portão mudou, agora é 2580A", "2580A"),
    ("Haustürcode (ab 22 Uhr): 120812", "120812"),
    ("Kod do zamka w drzwiach: 0 5 1 7", "0 5 1 7"),
    ("Seminarraum: Schrankcode <strong>3012</strong>", "3012"),
    ("Il codice è cambiato, adesso: 7351", "7351"),
    ("Vaš kod za prijavu na portal 3 je 518 043", "518 043"),
    ("あなたの認証番号は 【8315】 です。", "8315"),
    ("Код для входу: 8 0 1 4.", "8 0 1 4"),
    ("TAN 883 104 für den Auftrag", "883 104"),
    # alone on a line below
    ("Saisissez le code ci-dessous :\n\n    714 036\n\nMerci", "714 036"),
    ("<p>Use the code below</p>\n<p>H4T9QD</p>", "H4T9QD"),
    # the thing that it opens says enough
    ("Tresor: L20-R55-L31, zweimal prüfen", "L20-R55-L31"),
    ("unit gate        #2951", "#2951"),
    ("sleutelkluis 1906\n", "1906"),
    ("Side gate (X2075)", "X2075"),
    ("Front door (keypad) ........ 583196", "583196"),
    ("Gate chain has a 4-dial lock. 0 7 1 9.", "0 7 1 9"),
    ("The alarm beeps. Press 882013 then the tick", "882013"),
]
HARMLESS = [
    "safe codes (Antoine du Hamel) [#36026](https://example.org/1)",
    "all source code Copyright 1990 1991 by them",
    "  1285  9.0.0641  missing part of the new option code\n  1777  9.0.0642  breakindent",
    "decode gzip (to avoid linking crc code)\n     18-19: 0 (reserved)",
    "the minimum <code>MTU</code> is 1280 octets, <code>x</code> P1938R3",
    "If code is neither an integer equal to 1000 nor null",
    "the combination of this and fixing #953105 makes it",
    "update version pin (#345)",
    '{"code": "FR-48", "name": "Lozère"}, {"code": "DE-BY"',
    "It defaults to octal code 0o666, and is useless code on 64-bit builds",
    "required to generate a card security code (CSC2); commented-out code (ERA001)",
    "dbcsCode = dbcsCode % 12600",
    "hard-codes list of IEEE754 architectures",
    "HTTP error code 4471",
    "Código postal 48220, Abadiño. Código de barras 841079320",
    "process exited with code 1371",
    "code: 200",
    "the ansi codes to win32",
    "It decodes the bytes according to PEP-0263",
    "remove unsafe removes ([#372])",
    "codes: Copyright 2003-2012",
    "def code(self): return 1234",
    "booking code ABC123, invoice code RE-2026-00417",
    "Use code WELCOME10 for 10 % off",
    "if code == 4401 or code != 4404: raise",
    'data.decode("latin1")  # RFC 6455',
    "The new code review takes 30 minutes",
    "alarm at 0700 Uhr, doors close at 18:30",
    "Safe built in 2021, €180",
    "gate 22, locker fee 1500 EUR",
    "plus code 8FWCUEC7+XR",
    "Discount code: ask at the door",
    "unlock steps 1 2 3 4 5",
    "the code 138****5012 was sent",
    "f5c25da Leave the code\nb7e5a5c Take no year for a code\nd3485d9 Correct the ARM code\n10f4257 Add a door",
    "-rwxr-xr-x 1 root root 3 Mar 12 2023 man-recode\n-rwxr-xr-x 1 root root 151152 Mar 12 2023 mandb",
    "microcode\t: 0x1000065",
    "the exception code 0xE06D7363, and the ARM code on Cortex-A9",
    "hold the input lock (CVE-2022-49737) in code (LP: #1860143)",
    "g10 Code GmbH           2001-06-07",
    "a code other than 1000",
    "if code is sent and strlen(body) > 5000",
    "Files: ivtv code\nCopyright: 2004, 2006, 2007",
]
NEAR_MISSES = [
    "code 12",
    "PIN 1 ",
    "the code is now ",
    "door code ",
    "safe - ",
    "code: \n",
    "code\n\n│ ",
    "press 1",
    "0 7 1 9 code ",
]


@pytest.mark.parametrize("given", SECRET)
def test_what_opens_something_is_taken_out(given: tuple[str, str]) -> None:
    assert missed(given) == []


@pytest.mark.parametrize("text", HARMLESS)
def test_other_numbers_stay(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize("piece", NEAR_MISSES)
def test_no_text_takes_more_than_linear_time(piece: str) -> None:
    secrets_in((piece * (65_536 // len(piece) + 1))[:65_536])
