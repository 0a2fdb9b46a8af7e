"""Signatures of persistent hooks, which come back from a client as ordinary messages.

A signature proves only that a server with the key once injected this text. It
can be replayed, and grants nothing.
"""

import base64
import hashlib
import hmac
import json
import logging
import os
import secrets
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

logger = logging.getLogger(__name__)

MIN_KEY_BYTES = 16
MAX_FILE_BYTES = 64 * 1024
NEW_FILE = "# signs persistent hooks; one key per line, the first signs\n{key}\n"

_HASH = "sha256"
_compact_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class SecretFileError(Exception):
    """The key file cannot be used. The text names the file and the cure, never a key."""


class Signer:
    """Signs with the first key, verifies with all of them: put a new key first to replace an old one."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        """Raise ValueError without a key."""
        if not keys:
            raise ValueError("a Signer needs at least one key")
        self._keys = {_key_id(key): key for key in reversed(keys)}
        self._signing_id = _key_id(keys[0])

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> "Signer":
        """Read `path`, or create it with one new key; replicas and restarts share the file.

        One key a line; blank lines and lines that begin with # are skipped. A
        missing file appears whole, with mode 0600; of several processes that
        start at once, one creates it and all read the same key. Raises SecretFileError.
        """
        file = Path(path)
        try:
            if not file.exists():
                _create(file)
            found = file.stat()
            if found.st_size > MAX_FILE_BYTES:
                raise SecretFileError(f"the key file {file} is larger than {MAX_FILE_BYTES // 1024} KiB")
            data = file.read_bytes()
        except OSError as error:
            raise SecretFileError(f"the key file {file} cannot be used: {error.strerror}") from error
        if found.st_mode & 0o077:
            logger.warning("the key file %s can be read by others: chmod 600 it", file)
        return cls(_parse(file, data))

    def derived_keys(self, purpose: str) -> list[bytes]:
        """Return a key for another purpose for each of ours: the first signs, all verify."""
        keys = [self._keys[self._signing_id], *(key for name, key in self._keys.items() if name != self._signing_id)]
        return [hmac.digest(key, b"parley key for " + purpose.encode(), _HASH) for key in keys]

    def sign(self, skill: str, name: str, role: str, content: str) -> str:
        return _signature(self._signing_id, self._keys[self._signing_id], (skill, name, role, content))

    def verify(self, sig: str, skill: str, name: str, role: str, content: str) -> bool:
        """Return whether the signature is ours, in the same time wherever a forgery differs. Never raises."""
        parts = sig.split(".")
        key = self._keys.get(parts[1]) if len(parts) == 3 else None
        if key is None:
            return False
        expected = _signature(parts[1], key, (skill, name, role, content))
        return hmac.compare_digest(sig.encode(errors="surrogatepass"), expected.encode())


def _signature(key_id: str, key: bytes, fields: Iterable[str]) -> str:
    # surrogatepass: half of a surrogate pair in a client's text must not raise
    signed = _compact_json(["v1", *fields]).encode(errors="surrogatepass")
    mac = base64.urlsafe_b64encode(hmac.digest(key, signed, _HASH)).decode()
    return f"v1.{key_id}.{mac.removesuffix('=')}"


def _key_id(key: bytes) -> str:
    return hashlib.sha256(b"parley key id\0" + key).hexdigest()[:12]


def _create(file: Path) -> None:
    """Write beside the file and link it into place: it appears whole, for the first comer only."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(dir=file.parent)  # mode 0600
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(NEW_FILE.format(key=secrets.token_urlsafe()).encode())
            out.flush()
            os.fsync(out.fileno())
        os.link(draft, file)
    except FileExistsError:
        pass  # another process was first: its key is the key
    finally:
        Path(draft).unlink()


def _parse(file: Path, data: bytes) -> list[bytes]:
    keys = []
    for number, line in enumerate(data.splitlines(), start=1):
        key = line.strip()
        if not key or key.startswith(b"#"):
            continue
        if len(key) < MIN_KEY_BYTES:
            raise SecretFileError(
                f"line {number} of the key file {file} is shorter than {MIN_KEY_BYTES} characters: "
                'make a key with `python -c "import secrets; print(secrets.token_urlsafe(32))"`'
            )
        keys.append(key)
    if not keys:
        raise SecretFileError(f"the key file {file} contains no key: remove it, and a new one is created")
    return keys
