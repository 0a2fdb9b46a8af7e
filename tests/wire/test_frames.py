"""Frames as values: any of them goes over the wire and comes back, and fits the schema that is published."""

import json
import operator
from functools import cache, reduce
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts import frame_schemas as schemas
from server.wire import codec
from server.wire.frames import CLIENT_FRAMES, SERVER_FRAMES, AnyClientFrame, Chat, Message
from tests.model.profile import examples

ALL_FRAMES = [*CLIENT_FRAMES, *SERVER_FRAMES]
ANY_SERVER_FRAME: Any = reduce(operator.or_, SERVER_FRAMES)

# hypothesis writes no lone surrogates into text, as JSON text has none
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def _strategy(info: msgspec.inspect.Type) -> st.SearchStrategy[Any]:
    """Values of a field's type, as msgspec describes it."""
    match info:
        case msgspec.inspect.Metadata(type=inner):
            return _strategy(inner)
        case msgspec.inspect.AnyType():
            return json_values
        case msgspec.inspect.NoneType():
            return st.none()
        case msgspec.inspect.BoolType():
            return st.booleans()
        case msgspec.inspect.IntType(ge=least, le=most):
            return st.integers(-(2**53) if least is None else least, 2**53 if most is None else most)
        case msgspec.inspect.FloatType(ge=least, le=most):
            return st.floats(least, most, allow_nan=False, allow_infinity=False)
        case msgspec.inspect.StrType(pattern=None, min_length=least, max_length=most):
            return st.text(min_size=least or 0, max_size=min(most or 20, 20))
        case msgspec.inspect.StrType(pattern=pattern):
            return (
                st.just("data:image/png;base64,AA==")
                if "image" in str(pattern)
                else st.from_regex("[A-Za-z]{1,8}", fullmatch=True)
            )
        case msgspec.inspect.LiteralType(values=values):
            return st.sampled_from(values)
        case msgspec.inspect.UnionType(types=types):
            return st.one_of(*map(_strategy, types))
        case msgspec.inspect.ListType(item_type=item):
            return st.lists(_strategy(item), max_size=3)
        case msgspec.inspect.DictType(key_type=key, value_type=value):
            return st.dictionaries(_strategy(key), _strategy(value), max_size=3)
        case msgspec.inspect.TupleType(item_types=items):
            return st.tuples(*map(_strategy, items))
        case msgspec.inspect.StructType(cls=cls):
            return struct_strategy(cls)
    raise AssertionError(f"no values for {info}")


@cache
def struct_strategy(cls: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    required: dict[str, st.SearchStrategy[Any]] = {}
    optional: dict[str, st.SearchStrategy[Any]] = {}
    info = msgspec.inspect.type_info(cls)
    assert isinstance(info, msgspec.inspect.StructType)
    for field in info.fields:
        name = field.name
        (required if field.required else optional)[name] = _strategy(
            field.type
        )  # UNSET is how a field is left out, and no type
    return st.fixed_dictionaries(required, optional=optional).map(lambda values: cls(**values))


def client_frames() -> st.SearchStrategy[Any]:
    frames = st.one_of(*map(struct_strategy, CLIENT_FRAMES))
    return frames.map(_as_the_codec_wants)


def _as_the_codec_wants(frame: Any) -> Any:
    """What stands in no type: names of tools differ, messages hold what their role needs, and a chat ends with the user's."""
    if getattr(frame, "tools", None):
        tools = {tool.name: msgspec.structs.replace(tool, parameters={}) for tool in frame.tools}
        frame = msgspec.structs.replace(frame, tools=list(tools.values()))
    if not hasattr(frame, "messages"):
        return frame
    messages = [_fitting(message) for message in frame.messages]
    if isinstance(frame, Chat):
        messages.append(Message(role="user", content="Hi"))
    return msgspec.structs.replace(frame, messages=messages)


def _fitting(message: Message) -> Message:
    return msgspec.structs.replace(
        message,
        content=message.content if message.content is not None else "",
        tool_calls=message.tool_calls if message.role == "assistant" else None,
        tool_call_id=message.tool_call_id or "c1",
    )


several = examples(600)


@several
@given(frame=client_frames())
def test_any_frame_of_a_client_comes_back_as_it_was(frame: AnyClientFrame) -> None:
    data = msgspec.json.encode(frame)

    assert codec.decode(data, max_messages=10) == frame


@several
@given(frame=st.one_of(*map(struct_strategy, SERVER_FRAMES)))
def test_any_frame_of_the_server_comes_back_as_it_was(frame: Any) -> None:
    data = codec.encode(frame)

    assert msgspec.json.decode(data, type=ANY_SERVER_FRAME) == frame


@several
@given(frame=client_frames())
def test_what_a_client_may_send_fits_the_published_schema(frame: AnyClientFrame) -> None:
    _validator("client-frames.schema.json").validate(json.loads(msgspec.json.encode(frame)))


@several
@given(frame=st.one_of(*map(struct_strategy, SERVER_FRAMES)))
def test_what_the_server_sends_fits_the_published_schema(frame: Any) -> None:
    _validator("server-frames.schema.json").validate(json.loads(codec.encode(frame)))


@cache
def _validator(name: str) -> jsonschema.Draft202012Validator:
    schema = json.loads(schemas.render()[name])
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("frame", ALL_FRAMES, ids=lambda frame: str(frame.__struct_config__.tag))
def test_each_side_s_schema_has_the_frame_by_its_type(frame: type[msgspec.Struct]) -> None:
    name = "client-frames.schema.json" if frame in CLIENT_FRAMES else "server-frames.schema.json"
    schema = json.loads(schemas.render()[name])

    definition = schema["$defs"][frame.__name__]
    assert {"$ref": f"#/$defs/{frame.__name__}"} in schema["oneOf"]
    assert definition["properties"]["type"] == {"enum": [frame.__struct_config__.tag]}
    assert "type" in definition["required"]


@pytest.mark.parametrize("value", ["a b", "", "x" * 65, "a\n"])
def test_the_schema_refuses_a_turn_id_that_the_codec_refuses(value: str) -> None:
    frame = {"type": "interrupt", "turn_id": value}

    assert not _validator("client-frames.schema.json").is_valid(frame)


def test_schemas_are_written_where_they_are_told(tmp_path: Path) -> None:
    schemas.main(tmp_path / "deep" / "schemas")

    written = {file.name: file.read_text("utf-8") for file in (tmp_path / "deep" / "schemas").iterdir()}
    assert written == schemas.render()
    assert all(text.endswith("}\n") for text in written.values())


def test_frames_have_types_of_their_own() -> None:
    for side in (CLIENT_FRAMES, SERVER_FRAMES):
        tags = [frame.__struct_config__.tag for frame in side]
        assert len(set(tags)) == len(tags)
