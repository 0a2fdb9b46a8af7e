"""How long a scan takes and how long it holds the event loop: both grow with the text alone."""

import asyncio
import time
from contextlib import suppress
from typing import Any

import pytest

from server.policy.scan_handler import SecretScanner
from server.toolguard import scans
from server.toolguard.redaction.redact import redactor
from server.toolguard.redaction.scanner import Scanner
from server.toolguard.redaction.secrets_table import read_table
from server.toolguard.scans import ScanTooSlow
from tests.model.profile import IS_SOAK

OURS = redactor(None)

TABLE = read_table(None)
KEYWORDS = sorted(
    {*Scanner(TABLE).names.keywords(), *(word for form in TABLE.forms.values() for word in form.keywords)}
)
MARKS = sorted({mark for issuer in TABLE.issuers.values() for mark in issuer.marks.split()})
FILLS = ("", "=", ": ", '="', "='a' ", " a ", "-", "/", ".", "(", ', "', "\n", " is ", "a1", "> ", "A1b2C3d4E5")
HOSTILE = (
    "a", "=", '"', " ", "\n", "/", "-", "@", "|", "\\", "eyJ", "eyJaaaaaaaaaaaa.", "-----BEGIN PRIVATE KEY-----", "1234 ", "ßéł", "İ",
    "-----BEGIN RSA PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n", "://a:", "://a:b", "password: {", 'password":{"value', "seed abc ", "recovery codes ",
    "password,a\n", " password |", "password: [", "password:\n - a", "key='value' ", "password> < ", "password \t,/ ", "cookie: a=b;", "curl -u a ", "login: a / ",
)  # fmt: skip
LIMIT_S = 3.0
"""Ten times what is promised for 64 KB on an idle machine; what grows by the square takes minutes."""


def cpu_s(text: str) -> float:
    started = time.thread_time()
    OURS.redact_text(text)
    return time.thread_time() - started


def repeated(piece: str, length: int) -> str:
    return (piece * (length // len(piece) + 1))[:length]


def test_assignments_to_every_keyword_take_linear_time() -> None:
    assert [word for word in KEYWORDS if cpu_s(repeated(f"{word}=", 4096)) > LIMIT_S / 16] == []


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.timeout(120)
@pytest.mark.parametrize("fill", FILLS)
def test_near_misses_of_every_keyword_take_linear_time(fill: str) -> None:
    length = 65_536 if IS_SOAK else 4096
    slow = [word for word in KEYWORDS if cpu_s(repeated(word + fill, length)) > LIMIT_S * length / 65_536]

    assert slow == []


def test_near_misses_of_every_mark_take_linear_time() -> None:
    assert [mark for mark in MARKS if cpu_s(repeated(mark + "a1-", 4096)) > LIMIT_S / 16] == []


@pytest.mark.parametrize("piece", HOSTILE)
def test_repeated_pieces_take_linear_time(piece: str) -> None:
    assert cpu_s(repeated(piece, 65_536)) < LIMIT_S


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "piece", ["password(", "key=", "WIFI:", "-----BEGIN PRIVATE KEY-----", "密码 ", "cookie: a=b;"]
)
def test_a_mebibyte_takes_no_longer_than_the_limit(piece: str) -> None:
    started = time.thread_time()
    with suppress(ScanTooSlow):
        OURS.redact_text(repeated(piece, 1 << 20))
    assert time.thread_time() - started < 2 * scans.LIMIT_S


@pytest.mark.parametrize("text", ["INFO session 12 of anna: token=abc123, 17 ms\n" * 24_000, "密码 " * 50_000])
async def test_a_scan_in_a_thread_lets_the_event_loop_run(text: str) -> None:
    """Not the 2 ms that are promised, which no loaded machine keeps: the loop runs many times while one scan does."""
    turns = 0
    scan = asyncio.create_task(SecretScanner().scan_text(text))
    while not scan.done():
        await asyncio.sleep(0.0005)
        turns += 1
    assert scan.exception() is None or isinstance(scan.exception(), ScanTooSlow)

    assert turns >= 10


@pytest.mark.parametrize(
    ("text", "is_brief"),
    [
        ("INFO turn of anna, 17 ms\n" * 160, True),
        (f"[{'17, ' * 1000}17]", True),
        ("password(=" * 400, False),
        (f'["{"seed abc " * 400}"]', False),
    ],
)
async def test_a_short_text_goes_on_in_a_thread_where_it_would_hold_the_event_loop(text: str, is_brief: bool) -> None:
    scanner = SecretScanner()
    scanner.load()

    scan = asyncio.create_task(scanner.scan_text(text))
    await asyncio.sleep(0)

    assert scan.done() is is_brief
    assert await scan == OURS.redact_result(text)


@pytest.mark.parametrize(
    ("arguments", "is_brief"),
    [
        ({"code": "print(1)\n" * 400}, True),
        ({"to": ["anna"], "options": {"depth": 3, "where": None}}, True),
        (7, True),
        ({"code": "print(1)\n" * 500}, False),
        ({"a": "x " * 1200, "b": ["y " * 1200]}, False),
        ([[{"n": n} for n in range(30)] for _ in range(3)], False),
    ],
    ids=lambda value: repr(value)[:40],
)
async def test_long_or_many_arguments_are_scanned_in_a_thread(arguments: Any, is_brief: bool) -> None:
    scan = asyncio.create_task(SecretScanner().conceal(arguments))
    await asyncio.sleep(0)

    assert scan.done() is is_brief
    assert (await scan)[0] is arguments
