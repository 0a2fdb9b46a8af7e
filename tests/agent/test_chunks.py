"""Every chunk says which of its fields is set."""

import pytest

from server.agent.chunks import LLMChunk, NoticeGiven


@pytest.mark.parametrize(
    ("chunk", "kind"),
    [
        (LLMChunk(text="Hi"), "text"),
        (LLMChunk(hook={"name": "a"}), "hook"),
        (LLMChunk(notice=NoticeGiven("a", "info", "b")), "notice"),
        (LLMChunk(reply_end=True), "reply_end"),
        (LLMChunk(model_request=True), "model_request"),
        (LLMChunk(held=True), "held"),
    ],
)
def test_the_kind_of_a_chunk_is_the_field_that_is_set(chunk: LLMChunk, kind: str) -> None:
    assert chunk.kind == kind


def test_a_chunk_without_a_field_is_none() -> None:
    with pytest.raises(ValueError, match="no field set"):
        _ = LLMChunk().kind
