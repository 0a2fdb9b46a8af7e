"""Skills that come in through the studio: a zip, a lorebook or a git repository; shown first, then added as shown."""

import hashlib
import re
from base64 import b64decode
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta, Struct

from skill_tools.sharing.bundle import SharingError
from skill_tools.sharing.install import add_skill, put_skill, require_free
from skill_tools.sharing.lorebook import read_lorebook, spec_name
from skill_tools.sharing.share_command import describe
from skill_tools.sharing.sources import Arrival, SkillSource, fetch, parse_source
from skill_tools.studio.skill_files import EditError, SkillFiles
from skills_engine.diagnostics import visible_text

_URL: Final = re.compile(r"https://[^/]+/.+")
_ZIP: Final = b"PK"


class ArrivalRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    source: Annotated[str, Meta(max_length=2000)]
    """The https:// URL of a git repository, with `@REF` and `#PATH` as needed; or the name of a file that is sent."""
    data: Annotated[str, Meta(max_length=1_000_000)] = ""
    """The file in base64: the zip of a skill, or a lorebook."""
    digest: str = ""
    """The digest of what was shown, to add it; empty to look at it first."""


class Arrivals(Struct, frozen=True, kw_only=True):
    names: list[str]
    text: str
    """Files, hooks with their texts, tools, and the verdict of lint and tests, as the command `add` shows them."""
    digest: str
    is_added: bool


def receive(files: SkillFiles, request: ArrivalRequest, is_over: Callable[[], bool]) -> tuple[Arrivals, list[Arrival]]:
    """Read the skills and what to show of them, until the client has left. Blocks. Raises EditError and OSError."""
    try:
        arrivals, notes = _read(request, is_over)
        for one in arrivals:
            require_free(files.root, one.name)
        digest = hashlib.sha256("\n".join(f"{one.name} {one.bundle.digest}" for one in arrivals).encode()).hexdigest()
        if request.digest and request.digest != digest:
            raise EditError("version_stale", f"{request.source} is no longer what was shown: look at it again")
        text = visible_text("\n\n".join([*(describe(one, files.root).text for one in arrivals), *notes]))
    except (SharingError, ValueError) as error:
        raise EditError("source_invalid", str(error)) from error
    names = [one.name for one in arrivals]
    return Arrivals(names=names, text=text, digest=digest, is_added=bool(request.digest)), arrivals


def put_in(files: SkillFiles, arrivals: Iterable[Arrival]) -> None:
    """Add the skills. Blocks. Raises EditError, SharingError and OSError."""
    for one in arrivals:
        is_pinned = one.source.kind == "git"  # of a file, nothing leads back to its source
        put = partial(add_skill, arrival=one) if is_pinned else partial(put_skill, name=one.name, bundle=one.bundle)
        files.create(one.name, put)


def _read(request: ArrivalRequest, is_over: Callable[[], bool]) -> tuple[list[Arrival], list[str]]:
    """Return the skills, and what of a lorebook has no counterpart. Raises SharingError, ValueError and OSError."""
    if not request.data:
        if not _URL.fullmatch(request.source):  # a path would lead into the server's own files
            raise SharingError("expected a file, or a git URL such as https://example.org/skills.git#path/of/skill")
        return [fetch(parse_source(request.source), is_over=is_over)], []
    data = b64decode(request.data, validate=True)
    name = spec_name(Path(request.source).stem) or "added"
    source = SkillSource("zip", request.source)
    if not data.startswith(_ZIP):
        book = read_lorebook(data, name)
        return [Arrival(one, source, None, bundle) for one, bundle in book.skills.items()], book.differences
    arrival = fetch(SkillSource("zip", f"{name}.zip"), data=data)
    return [replace(arrival, source=source)], []
