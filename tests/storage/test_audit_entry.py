"""The body of an entry is canonical, whether it is short enough to stay whole or not."""

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from server.storage.audit_entry import MAX_TEXT, AuditEntry, body_of

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abcé", max_size=3), inner, max_size=3),
)


@given(
    arguments=VALUES,
    result=st.sampled_from(["", "ran", "é" * (MAX_TEXT // 2), "x" * MAX_TEXT]),
    message=st.sampled_from(["", "because", "y" * (MAX_TEXT - 90)]),
    details=st.dictionaries(st.sampled_from("cab"), VALUES),
    result_bytes=st.none() | st.integers(0, 9),
)
@example(arguments={}, result="", message="", details={}, result_bytes=None)
@example(arguments={"z": {}, "a": None}, result="", message="", details={"b": {}, "a": 1}, result_bytes=0)
def test_a_body_has_what_is_not_empty_in_the_order_of_its_names(**given: Any) -> None:
    entry = AuditEntry(phase="post_tool_use", ts_us=17, outcome="ran", **given)

    body = body_of(entry)

    told = {"phase": "post_tool_use", "ts_us": 17, "outcome": "ran", **given}
    kept = {name: value for name, value in told.items() if value is not None and value not in ("", {})}
    if given["arguments"] == "":
        kept["arguments"] = ""
    assert body == json.dumps(kept, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def test_what_is_too_long_is_cut_wherever_it_stands() -> None:
    entry = AuditEntry(phase="p", ts_us=1, result="x" * (MAX_TEXT + 1), arguments={"a": "y" * 20_000})

    tree = json.loads(body_of(entry))

    assert tree["result"] == "x" * (MAX_TEXT - 1) + "…"
    assert tree["arguments"] == {"cut": True, "bytes": 20_008, "begins": '{"a":"' + "y" * (MAX_TEXT - 6)}
