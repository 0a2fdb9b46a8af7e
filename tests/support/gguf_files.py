"""GGUF files for tests: headers without a model, and the included model with a chat template that knows tools."""

import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

_KEY = b"tokenizer.chat_template"
_ALIGNMENT = 32

CALLS_TOOLS = """\
{%- if tools %}
<|im_start|>system
{%- if messages[0].role == 'system' %}{{ '\\n' + messages[0].content }}{% endif %}

# Tools

<tools>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
</tools>

For each call, return a json object within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
{{ '\\n' }}
{%- elif messages[0].role == 'system' %}
{{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'user' %}
{{- '<|im_start|>user\\n' + message.content + '<|im_end|>\\n' }}
{%- elif message.role == 'system' and not loop.first %}
{{- raise_exception('System message must be at the beginning.') }}
{%- elif message.role == 'assistant' %}
{{- '<|im_start|>assistant\\n' }}
{%- if message.content %}{{ message.content }}{% endif %}
{%- for call in message.tool_calls or [] %}
{{- '\\n<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
{{- call.function.arguments | tojson }}
{{- '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- elif message.role == 'tool' %}
{{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}
{%- endif %}
"""
"""A template like those of Qwen: tools in XML tags, `system` messages only at the beginning, thoughts that can be off."""


QWEN_4B: Final[Mapping[str, Any]] = {
    "general.architecture": "qwen3",
    "qwen3.context_length": 262_144,
    "qwen3.block_count": 36,
    "qwen3.embedding_length": 2560,
    "qwen3.attention.head_count": 32,
    "qwen3.attention.head_count_kv": 8,
    "qwen3.attention.key_length": 128,
    "qwen3.attention.value_length": 128,
}


def header(entries: Mapping[str, Any] = QWEN_4B, *, count: int | None = None) -> bytes:
    """Return the beginning of a file with these entries: strings, whole numbers and lists of those."""
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, len(entries) if count is None else count)
    return head + b"".join(entry(key, value) for key, value in entries.items())


def entry(key: str, value: str | int | list[int]) -> bytes:
    if isinstance(value, str):
        return text(key) + struct.pack("<I", 8) + text(value)
    if isinstance(value, list):
        items = b"".join(struct.pack("<I", item) for item in value)
        return text(key) + struct.pack("<IIQ", 9, 4, len(value)) + items
    return text(key) + struct.pack("<II", 4, value)


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def copy_with_template(source: Path, target: Path, template: str) -> None:
    data = source.read_bytes()
    at = data.index(_KEY) + len(_KEY) + 4
    [length] = struct.unpack_from("<Q", data, at)
    head_end = _end_of_header(data, at + 8 + length)
    body = template.encode()
    head = data[:at] + struct.pack("<Q", len(body)) + body + data[at + 8 + length : head_end]
    tensors = data[_aligned(head_end) :]
    target.write_bytes(head + b"\0" * (_aligned(len(head)) - len(head)) + tensors)


def _end_of_header(data: bytes, at: int) -> int:
    """Return the end of the last tensor's entry: name, dimensions, type and offset."""
    [tensors] = struct.unpack_from("<Q", data, 8)
    first = re.compile(rb"token_embd\.weight").search(data, at)
    assert first is not None
    at = first.start() - 8
    for _ in range(tensors):
        [length] = struct.unpack_from("<Q", data, at)
        at += 8 + length
        [dimensions] = struct.unpack_from("<I", data, at)
        at += 4 + 8 * dimensions + 4 + 8
    return at


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
