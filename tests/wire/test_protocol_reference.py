"""docs/protocol-reference.md and the examples in it."""

import re
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest

from scripts.frame_schemas import FILES, frames_schema
from scripts.protocol_reference import ASYNCAPI, NAME, FrameExample, asyncapi, load_examples, render
from server.wire.frames import CLIENT_FRAMES, SERVER_FRAMES, ErrorCode

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = load_examples(DOCS)
OF_BOTH = [pytest.param(side, each, id=f"{side} {each.frame['type']}") for side in EXAMPLES for each in EXAMPLES[side]]
NOTICES = set(re.findall(r"`(\w+)`", (DOCS / "protocol.md").read_text("utf-8").split("### Notices")[1].split("###")[0]))


def test_the_page_and_the_asyncapi_document_are_what_make_schemas_writes() -> None:
    assert (DOCS / NAME).read_text("utf-8") == render(EXAMPLES)
    assert (DOCS / "schemas" / ASYNCAPI).read_text("utf-8") == asyncapi(EXAMPLES)


@pytest.mark.parametrize(("side", "frames"), [("client", CLIENT_FRAMES), ("server", SERVER_FRAMES)])
def test_every_frame_has_one_example(side: str, frames: tuple[Any, ...]) -> None:
    types = [each.frame["type"] for each in EXAMPLES[side]]

    assert sorted(types) == sorted(frame.__struct_config__.tag for frame in frames)


@pytest.mark.parametrize(("side", "example"), OF_BOTH)
def test_an_example_fits_the_schema_and_names_no_field_or_code_that_is_not_there(
    side: str, example: FrameExample
) -> None:
    schema = frames_schema(FILES[f"{side}-frames.schema.json"], side)
    [definition] = [
        each for each in schema["$defs"].values() if each["properties"].get("type") == {"enum": [example.frame["type"]]}
    ]

    jsonschema.Draft202012Validator({**definition, "$defs": schema["$defs"]}).validate(example.frame)
    assert example.frame.keys() <= definition["properties"].keys()
    assert example.errors.keys() <= set(get_args(ErrorCode))
    assert set(example.notices) <= NOTICES
