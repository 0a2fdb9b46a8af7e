"""What every database takes as text."""


def storable(text: str, limit: int) -> str:
    """`text` cut to `limit`, without NUL and halves of surrogate pairs."""
    return text[:limit].replace("\0", "\ufffd").encode("utf-8", "replace").decode()
