"""The reference of all frames, for people and as AsyncAPI, made from their schemas and examples: `python -m scripts.protocol_reference docs`."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from scripts.frame_schemas import frames_schema
from server.wire.frames import CLIENT_FRAMES, PROTOCOL, SERVER_FRAMES

NAME: Final = "protocol-reference.md"
ASYNCAPI: Final = "asyncapi.json"
_HEAD = """# Frames of `parley.v1`

One frame after another: fields, an example and errors. What they mean together stands in [protocol.md](protocol.md), which also describes the binary messages.
This page is made by `make schemas` from the [schemas](schemas) and [examples](schemas/examples.json), as is an [AsyncAPI document](schemas/asyncapi.json) for tools.

Fields without a default must be sent by the client, and are always sent by the server unless they are marked "may be missing". Any frame of a client may get an `error`
`frame_malformed`, `frame_type_unknown`, `frame_invalid` (with the `path` of the field), `message_too_large` or `rate_limited`; a binary message `audio_misaligned`,
`message_too_large` or `speech_unavailable`.
"""


_LIMITS: Final = {
    "minimum": "from {}",
    "maximum": "to {}",
    "minLength": "min. {} characters",
    "maxLength": "max. {} characters",
    "minItems": "min. {} items",
    "maxItems": "max. {} items",
}
_SHORT_CHARS: Final = 120


class FrameExample(msgspec.Struct, forbid_unknown_fields=True):
    """A frame as it is sent, with the errors and notices that it may get besides those of any frame."""

    frame: dict[str, Any]
    errors: dict[str, str] = {}
    """Error codes with their causes."""
    notices: list[str] = []


def load_examples(docs: Path) -> dict[str, list[FrameExample]]:
    """Return the examples of each side, `client` and `server`."""
    text = (docs / "schemas" / "examples.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, list[FrameExample]])


def render(examples: Mapping[str, Sequence[FrameExample]]) -> str:
    """Return the text of the page."""
    parts = [_HEAD]
    for side, title, frames in (
        ("client", "Client → server", CLIENT_FRAMES),
        ("server", "Server → client", SERVER_FRAMES),
    ):
        definitions = frames_schema(frames, title)["$defs"]
        by_type = {_type_of(definitions[frame.__name__]): definitions[frame.__name__] for frame in frames}
        parts.append(f"## {title}\n")
        parts += (part for each in examples[side] for part in _section(each, by_type))
        names = sorted({name for each in by_type.values() for name in _references(each, definitions)})
        parts.append(f"### Values in frames of the {side}\n")
        parts += (part for name in names for part in _value(name, definitions[name]))
    return "\n".join(parts)


def asyncapi(examples: Mapping[str, Sequence[FrameExample]]) -> str:
    """Return the frames as a document of AsyncAPI 3, whose payloads are the published schemas."""
    messages: dict[str, Any] = {}
    operations = {}
    for side, action, frames in (("client", "receive", CLIENT_FRAMES), ("server", "send", SERVER_FRAMES)):
        names = {str(frame.__struct_config__.tag): frame.__name__ for frame in frames}
        for each in examples[side]:
            name = names[each.frame["type"]]
            schema = {"$ref": f"./{side}-frames.schema.json#/$defs/{name}"}
            payload = {"schemaFormat": "application/schema+json;version=draft-07", "schema": schema}
            messages[name] = {"name": each.frame["type"], "payload": payload, "examples": [{"payload": each.frame}]}
        operations[f"{side}Frames"] = {
            "action": action,
            "channel": {"$ref": "#/channels/socket"},
            "messages": [{"$ref": f"#/channels/socket/messages/{name}"} for name in names.values()],
        }
    document = {
        "asyncapi": "3.0.0",
        "info": {"title": "Parley", "version": PROTOCOL, "description": "Text messages of the WebSocket `/ws`."},
        "channels": {"socket": {"address": "/ws", "messages": messages}},
        "operations": operations,
    }
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _type_of(definition: Mapping[str, Any]) -> str:
    return str(definition["properties"]["type"]["enum"][0])


def _section(example: FrameExample, by_type: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    definition = by_type[example.frame["type"]]
    yield f"### `{example.frame['type']}`\n"
    yield from _described(definition)
    yield f"```json\n{_json(example.frame)}\n```\n"
    yield from _fields(definition)
    if example.errors:
        yield "| error | when |\n|---|---|"
        yield from (f"| `{code}` | {cause} |" for code, cause in example.errors.items())
        yield ""
    if example.notices:
        yield f"Notices: {', '.join(f'`{code}`' for code in example.notices)}; [their meaning](protocol.md#notices).\n"


def _json(frame: Mapping[str, Any]) -> str:
    """Return the frame on one line if that is short."""
    line = json.dumps(frame, ensure_ascii=False)
    return line if len(line) <= _SHORT_CHARS else json.dumps(frame, ensure_ascii=False, indent=2)


def _value(name: str, definition: Mapping[str, Any]) -> Iterator[str]:
    yield f"#### {name}\n"
    yield from _described(definition)
    yield from _fields(definition)


def _described(definition: Mapping[str, Any]) -> Iterator[str]:
    if description := definition.get("description"):
        yield " ".join(description.split()) + "\n"


def _fields(definition: Mapping[str, Any]) -> Iterator[str]:
    fields = {name: field for name, field in definition["properties"].items() if name not in ("type", "ref")}
    if not fields:
        return
    yield "| field | value | default |\n|---|---|---|"
    for name, field in fields.items():
        required = name in definition.get("required", ())
        default = "" if required else f"`{json.dumps(field['default'])}`" if "default" in field else "may be missing"
        yield f"| `{name}` | {_kind(field)} | {default} |"
    yield ""


def _kind(field: Mapping[str, Any]) -> str:
    """Return what a value may be, in words."""
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    if "anyOf" in field:
        return " or ".join(_kind(each) for each in field["anyOf"])
    if "enum" in field:
        return ", ".join(f"`{json.dumps(each)}`" for each in field["enum"])
    kind = str(field.get("type", "any value"))
    if "prefixItems" in field:
        kind += f" of {' and '.join(_kind(each) for each in field['prefixItems'])}"
    elif "items" in field:
        kind += f" of {_kind(field['items'])}"
    if isinstance(field.get("additionalProperties"), dict):
        kind += f" of {_kind(field['additionalProperties'])}"
    limits = [words.format(field[key]) for key, words in _LIMITS.items() if key in field]
    if description := field.get("description"):
        limits.append(description)
    return f"{kind} ({'; '.join(limits)})" if limits else kind


def _references(value: Any, definitions: Mapping[str, Any], seen: frozenset[str] = frozenset()) -> set[str]:
    """Return the names of all values that stand in this one, however deep."""
    names = set(_named(value)) - seen
    return names.union(*(_references(definitions[name], definitions, seen | names) for name in names))


def _named(value: Any) -> Iterator[str]:
    match value:
        case {"$ref": str(target)}:
            yield target.rpartition("/")[2]
        case dict():
            for each in value.values():
                yield from _named(each)
        case list():
            for each in value:
                yield from _named(each)


def main(docs: Path) -> None:
    examples = load_examples(docs)
    (docs / NAME).write_text(render(examples), "utf-8")
    (docs / "schemas" / ASYNCAPI).write_text(asyncapi(examples), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
