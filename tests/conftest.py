"""What holds for every test.

Random tests draw the same examples in every run, however slow the machine.
With FAIL_ON_SKIP=1 (`make test`) a skipped test is a failed run. With MUTANTS=1
(`make mutants`) a failing example is not shrunk: that it failed is all that counts.
"""

import functools
import gc
import os
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from tests.model.profile import examples

settings.register_profile("parley", examples(250))
settings.load_profile("parley")
if os.environ.get("MUTANTS"):
    settings.register_profile("mutants", phases=[Phase.explicit, Phase.generate])
    settings.load_profile("mutants")

gc.disable()  # until all tests are collected: what imports make is no garbage

SLOW = (
    "clients/talk/",
    "clients/test_models.py",
    "deploy/",
    "gateway/test_example_client.py",
    "gateway/test_process.py",
    "hook_tools/test_trial.py",
    "hooks/process/test_host.py",
    "hooks/process/test_process_hook.py",
    "hooks/test_examples.py",
    "hooks/test_gates.py",
    "hostile/",
    "llm/test_embedded_process.py",
    "models/test_file_model.py",
    "toolguard/danger/test_hostile_calls.py",
    "toolguard/redaction/test_scan_time.py",
    "policy/test_late_loading.py",
    "policy/test_policy_server.py",
    "session/test_client_call_sequences.py",
    "session/test_replica_broker.py",
    "skill_tools/studio/",
    "skill_tools/test_example_skills.py",
    "skill_tools/test_sharing_live.py",
    "skill_tools/test_sources.py",
    "skills_engine/test_watching.py",
    "tools/mcp/test_mcp_connection.py",
    "tools/mcp/test_http.py",
    "tools/mcp/test_servers.py",
)
"""Files that start servers, programs or models anew for each test, or try many orders; `make check` leaves them out."""

LONG = (
    "storage/test_question_replicas.py",
    "e2e/test_voice.py",
    "speech/test_engines.py",
    "clients/talk/",
    "storage/test_processes.py",
    "hostile/",
    "llm/test_embedded_process.py",
    "models/test_file_model.py",
    "tools/mcp/",
    "e2e/",
    "hooks/",
    "session/",
    "model/",
)
"""Begun first, in this order: a file goes to one worker, and none should be left with a long one at the end."""

_HERE = Path(__file__).parent
_skipped: list[str] = []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _name(item.path).startswith(SLOW):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: _place(item.path))


def pytest_collection_finish() -> None:
    gc.enable()
    gc.freeze()  # seven thousand tests and all they import: the collector need not look at them again and again


@functools.cache
def _name(file: Path) -> str:
    """Seen from here; empty where it stands elsewhere."""
    return file.relative_to(_HERE).as_posix() if file.is_relative_to(_HERE) else ""


@functools.cache
def _place(file: Path) -> int:
    return next((number for number, start in enumerate(LONG) if _name(file).startswith(start)), len(LONG))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        _skipped.append(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        _skipped.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _skipped and os.environ.get("FAIL_ON_SKIP") and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _skipped and os.environ.get("FAIL_ON_SKIP"):
        terminalreporter.write_line(
            f"{len(_skipped)} skipped: a missing part fails this run; ALLOW_SKIP=1 make test lets it pass", red=True
        )
