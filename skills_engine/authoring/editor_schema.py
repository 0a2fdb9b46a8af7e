"""The JSON Schema of hooks.json, for editors: made from the struct that the loader checks with."""

import json
from pathlib import Path

import msgspec

from skills_engine.hooks_config import HooksDocument

SCHEMA_FILE = Path(__file__).resolve().parent.parent / "hooks.schema.json"
"""The committed copy, which a `$schema` key of a hooks.json may point to."""


def schema_text() -> str:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Prompt hooks of a skill",
        **msgspec.json.schema(HooksDocument),
    }
    return json.dumps(schema, indent=2) + "\n"
