"""JSON Schemas of all frames, made from the structs: `python -m scripts.frame_schemas docs/schemas`."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from server.wire import server_frames
from server.wire.frames import CLIENT_FRAMES, PROTOCOL, SERVER_FRAMES

FILES = {"client-frames.schema.json": CLIENT_FRAMES, "server-frames.schema.json": SERVER_FRAMES}


def frames_schema(frames: Sequence[type[msgspec.Struct]], title: str) -> dict[str, Any]:
    """Return one schema (draft 2020-12) that any of `frames` satisfies."""
    references, definitions = msgspec.json.schema_components(frames, ref_template="#/$defs/{name}")
    for name in definitions.keys() & vars(server_frames):
        definitions[name]["required"] = _always_sent(getattr(server_frames, name), definitions[name])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "oneOf": list(references),
        "$defs": dict(sorted(definitions.items())),
    }


def _always_sent(struct: type[msgspec.Struct], definition: dict[str, Any]) -> list[str]:
    """Return the fields that are always there: all but those typed with UnsetType."""
    may_miss = {field.encode_name for field in msgspec.structs.fields(struct) if field.default is msgspec.UNSET}
    return [name for name in definition["properties"] if name not in may_miss]


def render() -> dict[str, str]:
    """File name → text of the schema."""
    return {
        name: json.dumps(frames_schema(frames, f"{PROTOCOL} {name.split('.')[0]}"), indent=2) + "\n"
        for name, frames in FILES.items()
    }


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in render().items():
        (folder / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/schemas"))
