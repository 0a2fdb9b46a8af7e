"""Logins told as pairs, and links that let in whoever has them."""

import pytest

from server.policy.redaction.scan import secrets_in
from tests.policy.redaction.trades.texts import clean, missed

SECRET = [
    ("Wi-Fi: Cafe, key milch-schaum", "milch-schaum"),
    ("WLAN im Büro: Name Planlos, Schlüssel rotkehlchen", "rotkehlchen"),
    # pairs
    ("WLAN „Klabauter“ / Ahoi!Ahoi!Ahoi!", "Ahoi!Ahoi!Ahoi!"),
    ("Guest: HARBOR-GUEST, lobster.bisque.19", "lobster.bisque.19"),
    ("log in with anna@example.org / Elsa-is-over-it", "Elsa-is-over-it"),
    ("Editors: wed-admin / Bouquet!Toss!0914", "Bouquet!Toss!0914"),
    # links
    ("https://ent.example/compte/reinit?jeton=2bRJOdXwTJJSt1oGupt1phhVjgNI&lang=fr", "2bRJOdXwTJJSt1oGupt1phhVjgNI"),
    ("https://drive.example/s/CP5VEhCktFqPiWyUNzVqHQQP", "CP5VEhCktFqPiWyUNzVqHQQP"),
    ("join us: discord.gg/xKq7TmWz2p", "xKq7TmWz2p"),
]
HARMLESS = [
    "The wifi driver has no key handling",
    "wifi: press the key labelled WPS",
    "scale = numpy.array(std / Std_f8, dtype=std.dtype)",
    'session = Session(str(model_dir / "g2pw-v2.Onnx"), options)',
    "https://git.example/?p=glibc.git;a=commit;h=5b17fd0da62bf923cb61d1bb7b08cf2e1f1f9c1a",
    "#define XF86XK_Back\t\t0x1008FF26   /* on the Internet */\n#define XF86XK_UWB\t\t0x1008FF96",
    "networkType, NetworkType.IPV4",
    "network_type: Ipv4-Network",
    "git@github.com:acme/app.git and ssh://git@git.example:2222/app.git",
    "network address, eg, 2001:db8::1000/124",
    "[chat](https://discord.gg/R9ASRAmHnA)",
    "https://cdn.example/d/2024/06/report-final.pdf",
]
NEAR_MISSES = ["wifi a / ", "login a, ", "anna@example.org / a ", "https://a/reset/", "https://a.b/s/a/"]


@pytest.mark.parametrize("given", SECRET)
def test_what_is_told_by_its_place_is_taken_out(given: tuple[str, str]) -> None:
    assert missed(given) == []


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_stands_alike_stays(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize("piece", NEAR_MISSES)
def test_no_text_takes_more_than_linear_time(piece: str) -> None:
    secrets_in((piece * (65_536 // len(piece) + 1))[:65_536])
