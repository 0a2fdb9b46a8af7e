"""server/status.py"""

from dataclasses import dataclass
from pathlib import Path

import pytest

from server.gateway.probes import ReadinessStage, StageState
from server.status import ServerStatus, mcp_notice
from skills_engine import SkillsLibrary


@dataclass
class SomeDatabase:
    is_up: bool
    name: str = "SQLite"


@pytest.mark.parametrize(
    ("is_up", "stage"), [(True, ("ready", "SQLite")), (False, ("missing", "SQLite does not answer"))]
)
def test_the_stage_of_the_storage_says_whether_it_answers(
    tmp_path: Path, is_up: bool, stage: tuple[StageState, str]
) -> None:
    status = ServerStatus(SkillsLibrary(tmp_path))

    status.show_storage(SomeDatabase(is_up))  # type: ignore[arg-type]

    assert ReadinessStage("storage", *stage) in status.readiness.stages


def test_a_server_of_tools_that_is_lost_is_a_warning_and_one_that_is_back_is_news() -> None:
    assert [mcp_notice(code, "").level for code in ("mcp_server_lost", "mcp_server_back")] == ["warning", "info"]
