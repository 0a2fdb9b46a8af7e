"""Tools of this client: commands that the model may have run, each described in a JSON file."""

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

MAX_OUTPUT_BYTES: Final = 1 << 20
_KEYS: Final = {"name", "description", "parameters", "command"}


class ToolFileError(Exception):
    """A file of tools that cannot be used; the text names it and the cure."""


class LocalTools:
    """`descriptions` are for `configure.tools`. Raises ToolFileError for a file that describes no tool."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self.descriptions: list[dict[str, Any]] = []
        self._commands: dict[str, list[str]] = {}
        for path in paths:
            description = _read(path)
            self._commands[description["name"]] = description.pop("command")
            self.descriptions.append(description)

    async def run(self, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """Return what the command prints, and whether it failed. It reads the arguments as JSON. Cancelling ends it."""
        command = self._commands.get(name)
        if command is None:
            return f"this client has no tool {name}", True
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
        except OSError as error:
            return f"{name} cannot be run: {error}", True
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(arguments).encode())
            process.stdin.close()
            try:
                output = await process.stdout.readexactly(MAX_OUTPUT_BYTES)
            except asyncio.IncompleteReadError as all_of_it:
                output = all_of_it.partial
                await process.wait()
            return output.decode(errors="replace"), process.returncode not in (0, None)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


def _read(path: Path) -> dict[str, Any]:
    try:
        description: Any = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ToolFileError(f"{path}: no readable JSON file: {error}") from error
    is_tool = isinstance(description, dict) and {"name", "command"} <= description.keys() <= _KEYS
    if not is_tool or not isinstance(description["name"], str) or not _is_command(description["command"]):
        keys = "name, command (a list of strings), description and parameters (a JSON Schema)"
        raise ToolFileError(f"{path}: no description of a tool: an object with {keys} is expected")
    tool: dict[str, Any] = description
    return tool


def _is_command(value: object) -> bool:
    return isinstance(value, list) and value != [] and all(isinstance(word, str) for word in value)
