"""Copies what the page loads from npm packages to frontend/vendor. Needs Python alone: `python3 scripts/vendor.py`.

What npm has installed is copied. Any other package is fetched in the version that package-lock.json names, and refused
if its hash is another than there. Browsers know no packages, so modules that import one by name import its file instead.
"""

import base64
import hashlib
import io
import json
import os
import re
import tarfile
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "frontend/vendor"
TIMEOUT_S = 10

FILES = {
    "temml": {
        "dist/temml.mjs": "temml.js",
        "dist/Temml-Local.css": "temml.css",
        "dist/Temml.woff2": "Temml.woff2",
    },
    "pdfjs-dist": {
        "legacy/build/pdf.min.mjs": "pdf.js",
        "legacy/build/pdf.worker.min.mjs": "pdf.worker.js",
    },
    "@highlightjs/cdn-assets": {"es/highlight.min.js": "highlight.js"},
}
MODULES = {
    **dict.fromkeys(
        [
            "@codemirror/autocomplete",
            "@codemirror/commands",
            "@codemirror/lang-json",
            "@codemirror/lang-yaml",
            "@codemirror/language",
            "@codemirror/lint",
            "@codemirror/search",
            "@codemirror/state",
            "@codemirror/streamparser",
            "@codemirror/view",
            "@lezer/common",
            "@lezer/highlight",
            "@lezer/json",
            "@lezer/lr",
            "@lezer/markdown",
            "@lezer/yaml",
        ],
        "dist/index",
    ),
    "@marijn/find-cluster-break": "src/index",
    "crelt": "index",
    "style-mod": "src/style-mod",
    "w3c-keyname": "index",
}
"""The module of each package without its ending; .d.ts, the types that tsc checks with, stands beside .js."""
IMPORTED = re.compile(r"""\bfrom (["'])(@?[a-z][\w./-]*)\1""")

Reader = Callable[[str], bytes]


def copied() -> dict[str, dict[str, str]]:
    """Return the files to copy: package → place in it → place in frontend/vendor."""
    modules = {
        name: {f"{module}{ending}": f"codemirror/{_file_name(name)}{ending}" for ending in (".js", ".d.ts")}
        for name, module in MODULES.items()
    }
    return {**FILES, **modules}


def _file_name(package: str) -> str:
    return package.removeprefix("@").replace("/", "-")


def _copy(package: str, files: dict[str, str], locked: dict[str, Any]) -> None:
    read = _installed(package, locked["version"]) or _fetched(package, locked)
    for source, target in files.items():
        content = read(source)
        if package in MODULES:
            content = IMPORTED.sub(_by_file, content.decode()).encode()
        path = TARGET / target
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _by_file(imported: re.Match[str]) -> str:
    package = imported[2]
    return f'from "./{_file_name(package)}.js"' if package in MODULES else imported[0]


def _installed(package: str, version: str) -> Reader | None:
    folder = ROOT / "node_modules" / package
    try:
        is_locked = json.loads((folder / "package.json").read_bytes())["version"] == version
    except (OSError, ValueError, KeyError):
        return None
    return (lambda name: (folder / name).read_bytes()) if is_locked else None


def _fetched(package: str, locked: dict[str, Any]) -> Reader:
    registry = os.environ.get("NPM_CONFIG_REGISTRY", "https://registry.npmjs.org").rstrip("/")
    address = f"{registry}/{package}/-/{package.rpartition('/')[2]}-{locked['version']}.tgz"
    with urllib.request.urlopen(address, timeout=TIMEOUT_S) as answer:  # noqa: S310  the registry is the user's choice
        packed = answer.read()
    return unpacked(packed, locked["integrity"])


def unpacked(packed: bytes, integrity: str) -> Reader:
    """Return a reader of the files of a package. Raises ValueError if `packed` has another hash than `integrity`."""
    algorithm, _, expected = integrity.partition("-")
    found = base64.b64encode(hashlib.new(algorithm, packed).digest()).decode()
    if found != expected:
        raise ValueError(f"a package has the hash {algorithm}-{found}, not {integrity} as in package-lock.json")
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        files = {member.name.partition("/")[2]: archive.extractfile(member) for member in archive if member.isfile()}
        contents = {name: file.read() for name, file in files.items() if file is not None}
    return contents.__getitem__


def main() -> None:
    """Copy everything, or raise at the first package that cannot be had."""
    lock = json.loads((ROOT / "package-lock.json").read_bytes())["packages"]
    packages = copied()
    with ThreadPoolExecutor(len(packages)) as pool:  # all at once: without a network none waits for another's timeout
        jobs = [
            pool.submit(_copy, package, files, lock[f"node_modules/{package}"]) for package, files in packages.items()
        ]
        for job in jobs:
            job.result()


if __name__ == "__main__":
    main()
