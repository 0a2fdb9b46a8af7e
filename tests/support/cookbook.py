"""The skills of docs/cookbook.md, as files, and which of their hooks a model read."""

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "cookbook.md"
_FILE = re.compile(r"^`(?P<path>[\w.-]+(?:/[\w.-]+)+)`\n\n```\w+\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def write_cookbook(folder: Path) -> Path:
    """Write every file of the page below the folder, as its reader would, and return the folder."""
    for file in _FILE.finditer(PAGE.read_text("utf-8")):
        path = folder / file["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file["text"], "utf-8")
    return folder


def hooks_in(messages: list[dict[str, Any]], skill: Path) -> str:
    """Return the names of the hooks' files whose texts these messages hold."""
    return " ".join(name for name, _ in hook_texts_in(messages, skill))


def hook_texts_in(messages: list[dict[str, Any]], skill: Path) -> list[tuple[str, str]]:
    """Return name and text of each hook's file that these messages hold; a variable stands for any words."""
    found = []
    for file in sorted((skill / "hooks").glob("*.md")):
        pattern = re.sub(r"\\{\\{[\w.\\]+\\}\\}", "[^{}]+", re.escape(file.read_text("utf-8").strip()))
        texts = [str(message["content"]) for message in messages]
        found += [(file.stem, text) for text in texts if re.fullmatch(pattern, text)]
    return found
