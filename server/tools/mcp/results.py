"""What an MCP tool gives → what the model reads and the user sees. Pure."""

from typing import Any, Final

import msgspec
from mcp import types

from server.tool_calls import ToolAnswer

MAX_FILES: Final = 8


def read_result(result: types.CallToolResult) -> ToolAnswer:
    """Texts in their order; pictures, sound and other files become media, named in the text where they stood.

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
        texts.append(_as_json(result.structured_content))
    return ToolAnswer(for_llm="\n".join(texts), is_error=result.is_error, media=tuple(files))


def _read_block(block: types.ContentBlock) -> tuple[str, str | None]:
    """Its text, and its file as a `data:` URL."""
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
        case types.EmbeddedResource():
            return _read_resource(block.resource)


def _read_resource(resource: types.TextResourceContents | types.BlobResourceContents) -> tuple[str, str | None]:
    if isinstance(resource, types.TextResourceContents):
        return resource.text, None
    return f"[file {resource.uri}]", f"data:{_kind(resource.mime_type or '')};base64,{resource.blob}"


def _kind(mime_type: str) -> str:
    """What a data: URL may hold there; what the file is, its bytes will tell."""
    return mime_type if mime_type.isascii() and not set(mime_type) & set(";,\r\n") else ""


def _as_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
