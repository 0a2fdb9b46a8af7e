"""The rule engines are loaded when a policy first names a handler that needs them, never before."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # each starts an interpreter

LATE = ("server.toolguard.danger", "server.toolguard.redaction", "hyperscan")
BUILD = """
import asyncio, sys
from pathlib import Path
from server import config
from server.app import App
hooks = config.HooksSettings({hooks})
data = config.DataSettings(dir=Path({folder!r}))
made = config.Config(data=data, hooks=hooks)
async def main():
    app = await App.build(made, {{"PATH": ""}})
    {then}
asyncio.run(main())
"""
STORE = """
    from server.policy.document import read_document
    async with app.storage.running(), asyncio.timeout(60):
        document = read_document('{"pre_tool_use": [{"type": "dangerous_confirmation"}]}')
        assert not any(name.startswith("server.toolguard.danger") for name in sys.modules)
        await app.policies.save("user", "anna", document, if_version=0)
        while not {"server.toolguard.danger.judge", "server.toolguard.redaction.redact"} <= set(sys.modules):
            await asyncio.sleep(0.01)
"""
PRINT = """
import sys
print(*[name for name in sys.modules if name.startswith({late!r})])
"""


def loaded_by(code: str) -> set[str]:
    """Parts of the engines that are loaded after `code` has run in a process of its own."""
    code = f"{code}\n{PRINT.format(late=LATE)}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {part for part in LATE for name in done.stdout.split() if name == part or name.startswith(f"{part}.")}


def test_the_server_without_a_policy_loads_no_rules(tmp_path: Path) -> None:
    assert loaded_by(BUILD.format(folder=str(tmp_path), hooks="", then="")) == set()


@pytest.mark.parametrize(
    ("handler", "expected"),
    [("audit_log", {"server.toolguard.redaction"}), ("dangerous_confirmation", {*LATE[:2]})],
)
def test_a_policy_in_parley_yaml_loads_what_its_handlers_need(tmp_path: Path, handler: str, expected: set[str]) -> None:
    hooks = f"pre_tool_use=[config.PolicyHandler(type={handler!r})]"

    assert expected <= loaded_by(BUILD.format(folder=str(tmp_path), hooks=hooks, then=""))


def test_a_stored_policy_loads_what_its_handlers_need(tmp_path: Path) -> None:
    assert {*LATE[:2]} <= loaded_by(BUILD.format(folder=str(tmp_path), hooks="", then=STORE))
