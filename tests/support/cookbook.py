"""The skills of docs/cookbook.md, as files."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "cookbook.md"
_FILE = re.compile(r"^`(?P<path>[\w.-]+(?:/[\w.-]+)+)`\n\n```\w+\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def write_cookbook(folder: Path) -> Path:
    """Write every file of the page below the folder, as its reader would, and return the folder."""
    for file in _FILE.finditer(PAGE.read_text("utf-8")):
        path = folder / file["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file["text"], "utf-8")
    return folder
