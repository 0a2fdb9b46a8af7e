"""Arguments that are places: private files that leave, files of the system that are written, files that are emptied."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from server.policy.danger.arguments import keys
from server.policy.danger.arguments.call import Call
from server.policy.danger.lexicon.meanings import meanings
from server.policy.danger.paths import is_key, is_private, is_protected, is_scratch

_SENDING: Final = frozenset(
    "upload send share attach post publish email mail transfer paste push commit import".split()
)
_WRITING: Final = frozenset(
    "write append edit create save put patch update upload download move copy rename extract unzip unpack replace symlink conf config configure "
    "link insert install touch overwrite store export chmod permissions set modify".split()
)
_COPYING: Final = frozenset("copy move cp mv link symlink read_aloud duplicate".split())
_ACTIONS: Final = frozenset("action operation op mode command cmd method".split())
_MAX_ACTION_CHARS: Final = 40
_REPLACING: Final = frozenset("write overwrite save replace put edit update set".split())
_KEEPING: Final = frozenset("append create".split())
_SOURCES: Final = ("from", "source", "src", "url")
_NAMES: Final = ("name", "to", "uri")
"""May be a path."""
_FILES: Final = (
    "path",
    "file",
    "filename",
    "file_path",
    "page",
    "document",
    "doc",
    "note",
    "key",
    "document_id",
    "page_id",
    "id",
)
_MAX_PATH_CHARS: Final = 300


def writes(call: Call) -> bool:
    return not _WRITING.isdisjoint(call.words) or not _WRITING.isdisjoint(_done(call))


def _done(call: Call) -> Iterator[str]:
    """Words of the action that the call names."""
    for key in _ACTIONS.intersection(call.given):
        if isinstance(action := call.given[key], str) and len(action) < _MAX_ACTION_CHARS:
            yield from meanings(action)


def by_paths(call: Call) -> str | None:
    words = frozenset((*call.words, *_done(call)))
    if words & _COPYING and any(map(is_key, _paths(call))):
        return "a private key is copied"
    if words & _SENDING and any(map(is_private, _paths(call))):
        return "a private file leaves"
    if not words & _WRITING:
        return None
    if any(text == "/dev/null" for key, text in call.texts if key in keys.PATHS):
        return "moves into nothing"
    if any(is_protected(path) for path in _written(call, is_moved=bool(words & {"move", "rename"}))):
        return "writes where the system or the login is set up"
    return "empties a file" if words & _REPLACING and not words & _KEEPING and _is_emptied(call.given) else None


def _paths(call: Call) -> Iterator[str]:
    """Texts that look like one."""
    for _, text in call.texts:
        is_path = len(text) < _MAX_PATH_CHARS and any(sign in text for sign in "/.\\")
        if is_path and " " not in text.strip() and "://" not in text:
            yield text


def _written(call: Call, *, is_moved: bool) -> Iterator[str]:
    for key, value in call.leaves:
        if key not in keys.PATHS or not isinstance(value, str) or "://" in value:
            continue
        if key in _SOURCES and not is_moved:
            continue
        if key in _NAMES and "/" not in value and "\\" not in value:
            continue
        yield value


def _is_emptied(given: Mapping[str, Any]) -> bool:
    path = next((given[key] for key in _FILES if isinstance(given.get(key), str)), "")
    content = next((given[key] for key in keys.CONTENTS if key in given), None)
    return content == "" and path != "" and not is_scratch(path)
