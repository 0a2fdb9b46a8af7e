"""Signatures of persistent hooks."""

import base64
import hashlib
import hmac
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_engine import SecretFileError, Signer
from skills_engine.signing import MAX_FILE_BYTES

KEY, OTHER = b"k" * 16, b"o" * 32
MAKE_A_KEY = '`python -c "import secrets; print(secrets.token_urlsafe(32))"`'
HOOK = ("tutor", "hint", "system", "Sag “ä” \\ \n 你好")


@pytest.fixture
def private_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_a_signature_is_the_hmac_of_the_compact_array() -> None:
    signature = Signer([KEY]).sign(*HOOK)

    version, key_id, mac = signature.split(".")
    signed = json.dumps(["v1", *HOOK], ensure_ascii=False, separators=(",", ":")).encode()
    assert version == "v1"
    assert key_id == hashlib.sha256(b"parley key id\0" + KEY).hexdigest()[:12]
    assert base64.urlsafe_b64decode(mac + "=") == hmac.digest(KEY, signed, "sha256")


def test_a_signature_has_one_form() -> None:
    assert re.fullmatch(r"v1\.[0-9a-f]{12}\.[A-Za-z0-9_-]{43}", Signer([KEY]).sign(*HOOK))


def test_what_was_signed_verifies_and_nothing_else() -> None:
    signer = Signer([KEY])
    signature = signer.sign(*HOOK)

    assert signer.verify(signature, *HOOK)
    for place in range(4):
        changed = list(HOOK)
        changed[place] += "x"
        assert not signer.verify(signature, *changed)


def test_text_cannot_move_between_the_fields() -> None:
    signer = Signer([KEY])

    assert not signer.verify(signer.sign("a", "b", "system", "c"), "a", 'b","system', "", "c")
    assert not signer.verify(signer.sign("ab", "", "system", "c"), "a", "b", "system", "c")


@pytest.mark.parametrize(
    "change",
    [
        lambda sig: "",
        lambda sig: "v1",
        lambda sig: sig[:-1],
        lambda sig: sig + "=",
        lambda sig: sig + ".x",
        lambda sig: "v2" + sig[2:],
        lambda sig: sig.replace(sig.split(".")[1], "0" * 12),
        lambda sig: sig[:-1] + ("A" if sig[-1] != "A" else "E"),
        lambda sig: sig[:-1] + "ä",
        lambda sig: sig[:-1] + "\ud800",
        lambda sig: f"v1.{sig.split('.')[1]}.",
    ],
)
def test_a_changed_signature_does_not_verify(change: object) -> None:
    signer = Signer([KEY])
    assert callable(change)

    assert signer.verify(change(signer.sign(*HOOK)), *HOOK) is False


@given(st.text(st.characters()), st.text(st.characters()), st.text())
def test_any_text_can_be_asked_about(sig: str, name: str, content: str) -> None:
    signer = Signer([KEY])

    assert not signer.verify(sig, "tutor", name, "user", content)
    assert signer.verify(signer.sign("tutor", name, "user", content), "tutor", name, "user", content)


def test_half_of_a_surrogate_pair_can_be_signed_and_asked_about() -> None:
    signer = Signer([KEY])

    assert signer.verify(signer.sign("tutor", "hint", "user", "\ud800"), "tutor", "hint", "user", "\ud800")
    assert not signer.verify(signer.sign("tutor", "hint", "user", "\ud800"), "tutor", "hint", "user", "\ud801")


def test_the_first_key_signs_and_all_verify() -> None:
    old, new = Signer([OTHER]), Signer([KEY, OTHER])

    assert new.sign(*HOOK) == Signer([KEY]).sign(*HOOK)
    assert new.verify(old.sign(*HOOK), *HOOK)
    assert not old.verify(new.sign(*HOOK), *HOOK)


def test_keys_for_another_purpose_tell_nothing_of_ours_and_keep_their_order() -> None:
    both, old = Signer([KEY, OTHER]), Signer([OTHER])

    derived = both.derived_keys("media urls")

    assert derived == [hmac.digest(key, b"parley key for media urls", "sha256") for key in (KEY, OTHER)]
    assert old.derived_keys("media urls") == derived[1:]
    assert not set(both.derived_keys("cookies")) & {*derived, KEY, OTHER}


def test_a_signer_needs_a_key() -> None:
    with pytest.raises(ValueError, match=r"^a Signer needs at least one key$"):
        Signer([])


@pytest.mark.usefixtures("private_umask")
def test_a_missing_file_is_made_once_for_the_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")  # the draft is made beside the file, where a link can reach it
    path = tmp_path / "new" / "data" / "secret"

    signature = Signer.from_file(path).sign(*HOOK)

    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    comment, key, end = path.read_text().split("\n")
    assert comment == "# signs persistent hooks; one key per line, the first signs"
    assert (len(key), end) == (43, "")
    assert [entry.name for entry in path.parent.iterdir()] == ["secret"]
    assert Signer.from_file(str(path)).verify(signature, *HOOK)
    assert Signer([key.encode()]).sign(*HOOK) == signature


def test_two_files_hold_two_keys(tmp_path: Path) -> None:
    one, two = Signer.from_file(tmp_path / "one"), Signer.from_file(tmp_path / "two")

    assert not one.verify(two.sign(*HOOK), *HOOK)


def test_processes_that_start_at_once_get_the_same_key(tmp_path: Path) -> None:
    program = (
        "import sys; from skills_engine import Signer; print('ready', flush=True); sys.stdin.readline();"
        "print(Signer.from_file(sys.argv[1]).sign('a', 'b', 'c', 'd'))"
    )
    path = str(tmp_path / "data" / "secret")
    command = [sys.executable, "-c", program, path]
    started = [
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
        )
        for _ in range(2)
    ]
    for process in started:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"

    for process in started:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    signatures = {process.communicate()[0] for process in started}

    assert [process.returncode for process in started] == [0] * 2
    assert signatures == {Signer.from_file(path).sign("a", "b", "c", "d") + "\n"}


def test_a_key_file_is_one_key_a_line_with_comments_and_blanks(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(b"# ours\r\n\n  " + KEY + b"  \r\n\t\n" + OTHER)
    path.chmod(0o600)

    signer = Signer.from_file(path)

    assert signer.sign(*HOOK) == Signer([KEY]).sign(*HOOK)
    assert signer.verify(Signer([OTHER]).sign(*HOOK), *HOOK)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the key file {} contains no key: remove it, and a new one is created"),
        (b"# only\n\n", "the key file {} contains no key: remove it, and a new one is created"),
        (
            KEY + b"\n\n" + b"k" * 15,
            "line 3 of the key file {} is shorter than 16 characters: make a key with " + MAKE_A_KEY,
        ),
        (b"k" * (MAX_FILE_BYTES + 1), "the key file {} is larger than 64 KiB"),
    ],
)
def test_a_useless_key_file_is_refused_with_the_cure(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "secret"
    path.write_bytes(data)

    with pytest.raises(SecretFileError) as raised:
        Signer.from_file(path)

    assert str(raised.value) == message.format(path)


def test_the_longest_key_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(b"k" * MAX_FILE_BYTES)

    assert Signer.from_file(path).sign(*HOOK) == Signer([b"k" * MAX_FILE_BYTES]).sign(*HOOK)


def test_a_path_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    with pytest.raises(SecretFileError) as raised:
        Signer.from_file(tmp_path / "file" / "secret")
    assert str(raised.value) == f"the key file {tmp_path}/file/secret cannot be used: File exists"

    with pytest.raises(SecretFileError) as raised:
        Signer.from_file(tmp_path)
    assert str(raised.value) == f"the key file {tmp_path} cannot be used: Is a directory"


@pytest.mark.parametrize(("mode", "is_said"), [(0o600, False), (0o400, False), (0o640, True), (0o604, True)])
def test_a_key_that_others_can_read_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, is_said: bool
) -> None:
    path = tmp_path / "secret"
    path.write_bytes(KEY)
    path.chmod(mode)

    Signer.from_file(path)

    said = [(logging.WARNING, f"the key file {path} can be read by others: chmod 600 it")]
    assert [(record.levelno, record.message) for record in caplog.records] == (said if is_said else [])


def test_no_key_shows_in_a_signer_or_its_signature(tmp_path: Path) -> None:
    signer = Signer([KEY])

    assert KEY.decode() not in repr(signer) + signer.sign(*HOOK)
