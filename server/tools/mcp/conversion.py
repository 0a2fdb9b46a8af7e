"""Tools and results of MCP servers, converted to ours. Pure.

A server is code that we did not write: names, descriptions and schemas may hold
anything, and what cannot be tools is left out, one by one, with the reason.
"""

import hashlib
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Final

import msgspec
from mcp import types

from server.config import McpServerSettings
from server.llm.language_model import ToolSpec
from server.toolguard import Permission
from server.tools.registry import Tool
from server.tools.tool_calls import ToolAnswer
from skills_engine.diagnostics import without_invisible

MAX_TOOLS: Final = 128
MAX_NAME_CHARS: Final = 64
"""The longest name of a tool that providers take."""
MAX_DESCRIPTION_CHARS: Final = 2000
MAX_INSTRUCTIONS_CHARS: Final = 4000
MAX_SCHEMA_BYTES: Final = 32_768

_UNFIT: Final = re.compile(r"[^A-Za-z0-9_-]")
_HASH_CHARS: Final = 6

_NOT_AT_THE_TOP: Final = frozenset(("$ref", "allOf", "anyOf", "oneOf", "not", "enum", "const", "if", "then", "else"))

RemoteCall = Callable[[str, dict[str, Any]], Awaitable[ToolAnswer]]


def convert_tools(
    server: str, settings: McpServerSettings, listed: Iterable[types.Tool], *, call: RemoteCall, timeout_s: float
) -> tuple[list[Tool], list[str]]:
    """Take the tools in the order listed; of two with one name, the first.

    Returns also, for the log, why others were left out; at most one reason for a tool.
    """
    tools: dict[str, Tool] = {}
    left_out: list[str] = []
    seen: set[str] = set()
    for tool in listed:
        if tool.name in seen or not _is_wanted(tool.name, settings):
            continue
        seen.add(tool.name)
        if problem := _problem(tool):
            left_out.append(f"{tool.name[:80]!r}: {problem}")
        elif len(tools) >= MAX_TOOLS:
            left_out.append(f"all but {MAX_TOOLS} tools; choose with tools.mcp.{server}.tools")
            break
        else:
            name = _name(server, tool.name, tools)
            tools[name] = Tool(
                spec=ToolSpec(name=name, description=_description(tool), parameters=model_schema(tool.input_schema)),
                run=partial(call, tool.name),
                permission=_permission(tool, settings),
                destructive=_hint(tool, "destructive_hint") if settings.trust_hints else None,
                timeout_s=timeout_s,
            )
    return list(tools.values()), left_out


def _is_wanted(name: str, settings: McpServerSettings) -> bool:
    return settings.tools is None or any(fnmatchcase(name, glob) for glob in settings.tools)


def _problem(tool: types.Tool) -> str | None:
    schema = tool.input_schema
    if not tool.name.strip():
        return "it has no name"
    if tool.execution is not None and tool.execution.task_support == "required":
        return "it runs as a task only, which is not supported"
    if schema.get("type", "object") != "object":
        return "its arguments are not an object"
    if not isinstance(schema.get("properties", {}), Mapping):
        return "its properties are not an object"
    try:
        size = len(msgspec.json.encode(model_schema(schema)))
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        return "its schema is not JSON, or nested too deep"
    if size > MAX_SCHEMA_BYTES:
        return f"its schema is larger than {MAX_SCHEMA_BYTES >> 10} KiB"
    return None


def _name(server: str, remote: str, tools: Mapping[str, Tool]) -> str:
    """Return `<server>__<tool>` of letters, digits, _ and -; a name that had to be changed is the same every time."""
    name = f"{server}__{_UNFIT.sub('_', remote)}"
    if len(name) > MAX_NAME_CHARS or name in tools:
        mark = hashlib.sha256(remote.encode(errors="surrogatepass")).hexdigest()[:_HASH_CHARS]
        name = f"{name[: MAX_NAME_CHARS - _HASH_CHARS - 1]}_{mark}"
    return name


def _description(tool: types.Tool) -> str:
    return _cleaned(tool.description or tool.title or "", MAX_DESCRIPTION_CHARS)


def convert_instructions(server: str, given: str | None) -> str:
    """Return what a server says about the use of its tools, as the system prompt holds it, or ""."""
    text = _cleaned(given or "", MAX_INSTRUCTIONS_CHARS)
    return text and f"How to use the tools whose names begin with {server}__:\n{text}"


def _cleaned(given: str, max_chars: int) -> str:
    text = without_invisible(given).strip()
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"


def _permission(tool: types.Tool, settings: McpServerSettings) -> Permission:
    for glob, permission in settings.permissions.items():
        if fnmatchcase(tool.name, glob):
            return permission
    return "READ" if settings.trust_hints and _hint(tool, "read_only_hint") else settings.permission


def _hint(tool: types.Tool, name: str) -> bool | None:
    return getattr(tool.annotations, name, None)


def model_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema for the model, which arguments are checked against: without what makes providers refuse a call.

    They want an object at the top and no alternatives there; references lead
    nowhere but into the schema; of patterns each knows another dialect.
    """
    shown = {key: value for key, value in _without_refused(schema).items() if key not in _NOT_AT_THE_TOP}
    return {**shown, "type": "object", "properties": shown.get("properties", {})}


def _without_refused(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_refused(inner) for inner in value]
    if not isinstance(value, Mapping):
        return value
    return {str(key): _without_refused(inner) for key, inner in value.items() if not _is_refused(key, inner)}


def _is_refused(key: str, value: Any) -> bool:
    """Return whether providers refuse this keyword. A property of that name has a schema as its value, and stays."""
    if key == "$ref":
        return isinstance(value, str) and not value.startswith("#/")
    return key in ("$schema", "$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "pattern") and isinstance(value, str)


MAX_FILES: Final = 8


def read_result(result: types.CallToolResult) -> ToolAnswer:
    """Read texts in their order; pictures, sound and other files become media, named in the text where they stood.

    Structured content is read where there is no text: servers give the same twice.
    """
    texts: list[str] = []
    files: list[str] = []
    for block in result.content:
        text, file = _read_block(block)
        if file is not None and len(files) >= MAX_FILES:
            text, file = "[a further file, left out]", None
        if text:
            texts.append(text)
        if file is not None:
            files.append(file)
    if result.structured_content is not None and not any(isinstance(b, types.TextContent) for b in result.content):
        texts.append(msgspec.json.encode(result.structured_content).decode())
    return ToolAnswer(for_llm="\n".join(texts), is_error=result.is_error, media=tuple(files))


def _read_block(block: types.ContentBlock) -> tuple[str, str | None]:
    match block:
        case types.TextContent():
            return block.text, None
        case types.ImageContent():
            return "[image]", f"data:{_kind(block.mime_type)};base64,{block.data}"
        case types.AudioContent():
            return "[sound]", f"data:{_kind(block.mime_type)};base64,{block.data}"
        case types.ResourceLink():
            title = block.title or block.name
            return f"{title}: {block.uri}" + (f" ({block.description})" if block.description else ""), None
        case types.EmbeddedResource(resource=resource):
            if isinstance(resource, types.TextResourceContents):
                return resource.text, None
            return f"[file {resource.uri}]", f"data:{_kind(resource.mime_type or '')};base64,{resource.blob}"


def _kind(mime_type: str) -> str:
    """Return the type as a data: URL may hold it; the file is known by its bytes anyway."""
    return mime_type if mime_type.isascii() and not set(mime_type) & set(";,\r\n") else ""
