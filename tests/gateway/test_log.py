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
    log.set_up(config.Log(format="json"), out)
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
    log.set_up(config.Log(format="text"), out)
    turn = log.turn_id.set("t1")
    logging.getLogger("here").warning("careful")
    log.turn_id.reset(turn)

    assert out.getvalue().endswith("WARNING here [turn t1]: careful\n")


def test_a_traceback_stays_in_its_json_line(out: io.StringIO) -> None:
    log.set_up(config.Log(format="auto"), out)
    try:
        raise ValueError("broken")
    except ValueError:
        logging.getLogger("here").exception("failed")

    [line] = out.getvalue().splitlines()
    assert "ValueError: broken" in json.loads(line)["exception"]


def test_the_level_holds_for_all_and_chatty_libraries_are_quieter(out: io.StringIO) -> None:
    log.set_up(config.Log(level="warning", format="json"), out)
    logging.getLogger("here").info("unheard")
    logging.getLogger("httpx2").info("unheard")
    logging.getLogger("aiohttp.websocket").warning("unheard")

    assert out.getvalue() == ""
