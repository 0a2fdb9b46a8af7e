"""The commands' own decisions, where they can be asked without installing anything."""

import base64
import hashlib
import io
import os
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from scripts import vendor
from scripts.mutants import change_of, function_of, unnoticed, without_survivors

ROOT = Path(__file__).parent.parent


def run(script: str, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "scripts" / script, *arguments],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def old_python(folder: Path, name: str) -> Path:
    """Answers every question with no, as a Python 3.10 does to ours."""
    program = folder / name
    program.write_text("#!/bin/sh\necho Python 3.10.0\nexit 1\n", "utf-8")
    program.chmod(0o755)
    return program


def test_a_python_that_is_too_old_is_refused_by_name(tmp_path: Path) -> None:
    python = old_python(tmp_path, "python3")

    found = run("find-python.sh", PYTHON=str(python))

    assert found.returncode == 1
    assert found.stderr == f"PYTHON={python} is not a Python 3.11 to 3.14\n"


def test_without_a_fit_python_the_cure_is_told(tmp_path: Path) -> None:
    old_python(tmp_path, "python3")
    for tool in ("env", "bash", "cat"):
        (tmp_path / tool).symlink_to(f"/usr/bin/{tool}" if Path(f"/usr/bin/{tool}").exists() else f"/bin/{tool}")

    found = run("find-python.sh", PATH=str(tmp_path), PYTHON="")

    assert found.returncode == 1
    assert "needs Python 3.11, 3.12, 3.13 or 3.14; this machine has Python 3.10.0" in found.stderr
    assert "PYTHON=/path/to/python3.12 make run" in found.stderr


@pytest.mark.parametrize(
    ("script", "variable", "path", "said"),
    [
        (["chromium.sh"], "CHROMIUM", "/nowhere/chromium", "does not start"),
        (["find-service.sh", "postgresql"], "POSTGRES_BIN", "/nowhere", "holds no initdb and postgres"),
        (["find-service.sh", "nginx"], "NGINX", "/nowhere/nginx", "does not start"),
    ],
)
def test_a_program_that_does_not_start_is_refused_by_name(
    script: list[str], variable: str, path: str, said: str
) -> None:
    found = run(*script, **{variable: path})

    assert (found.returncode, found.stdout, found.stderr) == (1, "", f"{variable}={path} {said}\n")


@pytest.mark.parametrize(
    ("program", "status", "told"),
    [
        ("exit 0", 0, "requirements.txt: no known vulnerabilities"),
        ("echo Name Version ID; exit 1", 1, "requirements.txt: vulnerable"),
        ("echo 'ERROR: a: not found on PyPI' >&2; exit 1", 2, "requirements.txt: NOT AUDITED, because"),
    ],
)
def test_a_lock_that_could_not_be_audited_is_told_from_one_without_vulnerabilities(
    tmp_path: Path, program: str, status: int, told: str
) -> None:
    fake = tmp_path / "pip-audit"
    fake.write_text(f"#!/bin/sh\n{program}\n", "utf-8")
    fake.chmod(0o755)

    found = run("audit.sh", "requirements.txt", PIP_AUDIT=str(fake))

    assert (found.returncode, told in found.stdout + found.stderr) == (status, True)


def test_a_mutant_is_known_by_its_function_and_its_change() -> None:
    assert function_of("skills_engine.signing.xǁSignerǁsign__mutmut_12") == "skills_engine.signing.Signer.sign"
    assert function_of("server.agent.reply.x_read__mutmut_1") == "server.agent.reply.read"
    diff = "--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n def f():\n-    return 1\n+    return 2\n"
    assert change_of(diff) == "- return 1\n+ return 2"


def test_of_the_mutants_that_were_chosen_those_count_that_nothing_noticed() -> None:
    results = "    a.x_f__mutmut_1: survived\n    a.x_f__mutmut_2: timeout\n    b.x_g__mutmut_1: not checked\n"

    assert unnoticed(results, []) == ["a.x_f__mutmut_1", "b.x_g__mutmut_1"]
    assert unnoticed(results, ["a.*"]) == ["a.x_f__mutmut_1"]


def test_what_survived_a_run_before_is_tried_again() -> None:
    verdicts = {"killed": 1, "broke": 3, "survived": 0, "timed out": 36, "without tests": 33, "new": None}

    assert [name for name, code in without_survivors(verdicts).items() if code is not None] == ["killed", "broke"]


def test_a_package_is_read_only_if_its_hash_is_the_locked_one() -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        member = tarfile.TarInfo("package/dist/index.js")
        member.size = 4
        archive.addfile(member, io.BytesIO(b"code"))
    digest = base64.b64encode(hashlib.sha512(packed.getvalue()).digest()).decode()

    assert vendor.unpacked(packed.getvalue(), f"sha512-{digest}")("dist/index.js") == b"code"
    with pytest.raises(ValueError, match=r"not sha512-other as in package-lock\.json"):
        vendor.unpacked(packed.getvalue(), "sha512-other")


def test_no_copied_module_imports_a_package_by_name() -> None:
    modules = sorted((ROOT / "frontend/vendor/codemirror").glob("*.js"))
    imported = {
        name for path in modules for name in re.findall(r'(?m)^import .*from ["\'](.+)["\']', path.read_text("utf-8"))
    }

    assert len(modules) == len(vendor.MODULES)
    assert {name.removeprefix("./") for name in imported} <= {path.name for path in modules}


def test_the_lan_address_has_the_port_that_the_server_took_and_a_code_of_it() -> None:
    segno = pytest.importorskip("segno")
    from scripts.lan_address import with_address

    told, listening, address, *code, ready = with_address(
        ["data: /d\n", "listening on https://0.0.0.0:9123\n", "model: m\n"], "192.0.2.7"
    )

    assert (told, listening, ready) == ("data: /d\n", "listening on https://0.0.0.0:9123\n", "model: m\n")
    assert "open https://192.0.2.7:9123 there" in address
    cells = [re.fullmatch(r"\x1b\[30;107m([ ▄▀█]+)\x1b\[0m\n", line)[1] for line in code]  # type: ignore[index]
    rows = [[cell in black for cell in line] for line in cells for black in ("▀█", "▄█")]
    expected = segno.make("https://192.0.2.7:9123", micro=False).matrix_iter(border=4)
    assert rows[: len(cells[0])] == [[bool(module) for module in row] for row in expected]
