"""server/log.py"""

import io
import json
import logging
import re
import socket
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from server import config, log
from tests.support.server_process import ServerProcess

TOKEN = "a-token-of-anna-that-is-long-enough"


@pytest.fixture
def out() -> Iterator[io.StringIO]:
    """What is logged; the log of the test run is put back."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield io.StringIO()
    root.handlers[:] = handlers
    root.setLevel(level)


def test_lines_carry_the_session_and_the_turn_of_their_task(out: io.StringIO) -> None:
    log.set_up(config.LogSettings(format="json"), out)
    logging.getLogger("here").info("before %s", 1)
    session, turn = log.session_id.set("s1"), log.turn_id.set("t1")
    logging.getLogger("here").warning("within")
    log.session_id.reset(session)
    log.turn_id.reset(turn)

    before, within = (json.loads(line) for line in out.getvalue().splitlines())
    assert {key: before[key] for key in before if key != "time"} == {
        "level": "info",
        "logger": "here",
        "message": "before 1",
    }
    assert (within["level"], within["session"], within["turn"]) == ("warning", "s1", "t1")


def test_text_is_one_line_for_a_person(out: io.StringIO) -> None:
    log.set_up(config.LogSettings(format="text"), out)
    turn = log.turn_id.set("t1")
    logging.getLogger("here").warning("careful")
    log.turn_id.reset(turn)

    assert out.getvalue().endswith("WARNING here [turn t1]: careful\n")


def test_a_traceback_stays_in_its_json_line(out: io.StringIO) -> None:
    log.set_up(config.LogSettings(format="auto"), out)
    try:
        raise ValueError("broken")
    except ValueError:
        logging.getLogger("here").exception("failed")

    [line] = out.getvalue().splitlines()
    assert "ValueError: broken" in json.loads(line)["exception"]


def test_the_level_holds_for_all_and_chatty_libraries_are_quieter(out: io.StringIO) -> None:
    log.set_up(config.LogSettings(level="warning", format="json"), out)
    logging.getLogger("here").info("unheard")
    logging.getLogger("httpx2").info("unheard")
    logging.getLogger("aiohttp.websocket").warning("unheard")

    assert out.getvalue() == ""


def test_nothing_in_a_message_begins_a_line_or_moves_the_cursor(out: io.StringIO) -> None:
    log.set_up(config.LogSettings(format="text"), out)
    hostile = "anna\r\n12:00:00 INFO    server: user ops has logged in\x1b[2J\x07\x9b1m\u2028\tend"
    logging.getLogger("here").warning("user %s", hostile)
    try:
        raise ValueError(hostile)
    except ValueError:
        logging.getLogger("here").exception("failed")

    lines = out.getvalue().split("\n")
    assert lines[0].endswith(
        r"user anna\r\n12:00:00 INFO    server: user ops has logged in\x1b[2J\x07\x9b1m\u2028" + "\tend"
    )
    assert all(line.startswith("    ") for line in lines[2:-1])
    assert not any(letter in out.getvalue() for letter in "\r\x1b\x07\x9b\u2028")


def test_a_file_name_that_is_not_utf8_costs_no_json_line(out: io.StringIO) -> None:
    log.set_up(config.LogSettings(format="json"), out)

    logging.getLogger("here").warning("skipped %s", "b\udcff.txt")

    assert json.loads(out.getvalue())["message"] == "skipped b?.txt"


def test_nothing_in_a_message_begins_a_json_line(out: io.StringIO) -> None:
    log.set_up(config.LogSettings(format="json"), out)
    hostile = 'anna"}\r\n{"level": "info"}\u2028\x1b[2J'
    logging.getLogger("here").warning("user %s", hostile)

    [line] = out.getvalue().split("\n")[:-1]
    assert json.loads(line)["message"] == f"user {hostile}"
    assert "\x1b" not in line


def test_beyond_its_clients_quota_a_line_is_left_out_and_the_log_says_how_many() -> None:
    out, clock = io.StringIO(), [0.0]
    handler = log.LimitedHandler(out, clock=lambda: clock[0])
    logger = logging.getLogger("here, alone")
    logger.propagate = False
    logger.addHandler(handler)

    token = log.client.set("user anna")
    for _ in range(200):
        logger.warning("x" * 10_000)
    log.client.reset(token)
    logger.warning("not hers")
    assert out.getvalue().endswith("not hers\n")
    assert len(out.getvalue()) <= log.BYTES_A_MINUTE
    gone = 200 - log.BYTES_A_MINUTE // 10_000
    assert handler.quotas.left_out == gone

    clock[0] = 60.0
    logger.warning("later")
    assert out.getvalue().endswith(f"{gone} lines of user anna were left out: too many in a minute\nlater\n")


@pytest.mark.slow
def test_whoever_has_not_logged_in_fills_no_disk(tmp_path: Path) -> None:
    """Seven thousand wrong tokens make lines of a megabyte; another address is logged meanwhile."""
    settings = {"security": {"auth": "token", "tokens": [{"user": "anna", "token": TOKEN, "operator": True}]}}
    with ServerProcess(tmp_path, settings=settings, environ={"PARLEY_LOG__FORMAT": "json"}) as server:
        port = int(server.url.rpartition(":")[2])
        body = b'{"token":"wrong"}'
        attempt = b"POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        attempt += b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        began_s = time.monotonic()
        with socket.create_connection(("127.0.0.1", port)) as stranger:
            for _ in range(70):
                stranger.sendall(attempt * 100)
                answered = 0
                while answered < 100:
                    answered += stranger.recv(1 << 20).count(b"HTTP/1.1 4")
        other = HTTPConnection("127.0.0.1", port, source_address=("127.0.0.2", 0))
        other.request("POST", "/api/login", body, {"Content-Type": "application/json", "Host": "localhost"})
        other.getresponse().read()
        other.request("GET", "/metrics", headers={"Authorization": f"Bearer {TOKEN}", "Host": "localhost"})
        metrics = other.getresponse().read().decode()
        other.close()
        lines = server.log().splitlines()

    minutes = (time.monotonic() - began_s) / 60
    assert sum(map(len, lines)) < (1.02 + minutes) * log.BYTES_A_MINUTE
    assert "127.0.0.2" in lines[-1]
    gone = int(float(re.findall(r"(?m)^parley_log_left_out (\S+)", metrics)[0]))
    assert gone > 0
    assert f"{gone} lines of address 127.0.0.1 were left out" in server.log()
