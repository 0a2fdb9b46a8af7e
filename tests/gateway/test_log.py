"""server/log.py"""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from server import config, log


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


def test_nothing_in_a_message_begins_a_json_line(out: io.StringIO) -> None:
    log.set_up(config.LogSettings(format="json"), out)
    hostile = 'anna"}\r\n{"level": "info"}\u2028\x1b[2J'
    logging.getLogger("here").warning("user %s", hostile)

    [line] = out.getvalue().split("\n")[:-1]
    assert json.loads(line)["message"] == f"user {hostile}"
    assert "\x1b" not in line
