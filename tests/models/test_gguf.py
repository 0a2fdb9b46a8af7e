"""What is read of a GGUF file before it is loaded, and the context that the free memory allows."""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from server.config import LlmSettings
from server.errors import ProviderUnreachable
from server.llm.embedded_process import model_path
from server.models.file_model import FileModel, fit_memory, free_memory
from server.models.gguf import ModelHeader, NotAModel, read_header
from tests.support.gguf_files import QWEN_4B, entry, header, text

GB = 1_000_000_000
HEADER = ModelHeader(architecture="qwen3", trained_tokens=262_144, token_bytes=147_456)


def written(path: Path, entries: Mapping[str, Any], *, count: int | None = None) -> Path:
    path.write_bytes(header(entries, count=count))
    return path


def test_the_included_model_has_the_header_that_its_authors_published() -> None:
    assert read_header(model_path()) == ModelHeader(architecture="llama", trained_tokens=8192, token_bytes=23_040)


def test_a_token_takes_what_keys_and_values_of_all_layers_take(tmp_path: Path) -> None:
    assert read_header(written(tmp_path / "a.gguf", QWEN_4B)) == HEADER


def test_layers_may_differ(tmp_path: Path) -> None:
    mixed = {**QWEN_4B, "qwen3.attention.head_count_kv": [8, 0, 0, 8], "qwen3.block_count": 4}

    assert read_header(written(tmp_path / "a.gguf", mixed)).token_bytes == 2 * 16 * 256


def test_nothing_is_read_behind_the_beginning_of_the_vocabulary(tmp_path: Path) -> None:
    path = written(tmp_path / "a.gguf", {**QWEN_4B, "tokenizer.ggml.model": "gpt2"}, count=1 << 60)

    assert read_header(path) == HEADER


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<!doctype html><title>Not found</title>",
        b"GGUF",
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1 << 63),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<I", 99),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<IIQ", 9, 4, 1 << 62),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + entry("general.architecture", "clip"),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + entry("general.architecture", "a") + entry("a.block_count", "many"),
    ],
)
def test_what_is_no_model_is_named(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(body)

    with pytest.raises(NotAModel, match=r"broken\.gguf"):
        read_header(path)


@pytest.mark.parametrize(
    ("free_bytes", "slots", "slot_tokens"),
    [
        (64 * GB, 2, 16_384),
        (7 * GB, 2, 12_288),
        (5 * GB, 1, 11_264),
        (4 * GB, 1, 4608),
    ],
)
def test_the_context_is_what_the_free_memory_holds(free_bytes: int, slots: int, slot_tokens: int) -> None:
    settings = fit_memory(Path("m.gguf"), HEADER, int(2.5 * GB), free_bytes)

    assert (settings.slots, settings.slot_tokens) == (slots, slot_tokens)
    assert int(2.5 * GB) + slots * slot_tokens * HEADER.token_bytes + (settings.cache_mib << 20) < free_bytes


def test_too_little_memory_is_told_with_what_is_needed() -> None:
    with pytest.raises(NotAModel, match=r"it needs 3\.9 GB of memory, and 3\.5 GB are free; choose a smaller model"):
        fit_memory(Path("m.gguf"), HEADER, int(2.5 * GB), int(3.5 * GB))


def memory_of(root: Path, *, limit: str) -> Path:
    (root / "proc").mkdir()
    (root / "proc/meminfo").write_text("MemTotal: 9000 kB\nMemFree: 1 kB\nMemAvailable:    8000 kB\n")
    group = root / "sys/fs/cgroup"
    group.mkdir(parents=True)
    (group / "memory.max").write_text(limit)
    (group / "memory.current").write_text("3000000\n")
    (group / "memory.stat").write_text("anon 1000000\ninactive_file 2000000\n")
    return root


@pytest.mark.parametrize(("limit", "free_bytes"), [("max\n", 8_192_000), ("5000000\n", 4_000_000)])
def test_a_container_has_no_more_memory_than_its_limit(tmp_path: Path, limit: str, free_bytes: int) -> None:
    assert free_memory(memory_of(tmp_path, limit=limit)) == free_bytes


def test_where_the_system_does_not_say_it_half_of_the_memory_counts_as_free(tmp_path: Path) -> None:
    assert free_memory(tmp_path) > 0


@pytest.mark.asyncio
async def test_a_file_that_has_gone_is_told_with_the_cure(tmp_path: Path) -> None:
    model = FileModel(LlmSettings(), tmp_path / "gone.gguf")

    with pytest.raises(ProviderUnreachable, match=r"gone\.gguf is missing: `python -m server\.models` lists"):
        await model.start()
