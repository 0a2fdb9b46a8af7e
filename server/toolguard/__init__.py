"""Judges tool calls and redacts secrets: two engines over tables, which know no other part of the server."""

from typing import Final, Literal

REDACTED: Final = "[REDACTED]"
"""Text that people and logs see in place of a secret."""

Permission = Literal["READ", "WRITE", "EXTERNAL"]
"""Class of what a call may touch. A tool without a declaration is EXTERNAL."""
